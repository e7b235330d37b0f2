"""The four groups of overlap and meaning, errors on the gold scale, and what of them the ledger takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data.types import ScoredPairs
from sentbook.evaluation import error_groups
from sentbook.evaluation.error_groups import FAR, AllPairs, all_pairs
from sentbook.evaluation.predictions import sts_predictions
from sentbook.evaluation.statistics import resample_counts

SAME, OTHER, NEAR = "a small dog runs in the park", "prices of crude oil fell again", "a small cat runs in the park"
GROUPS = ["low overlap, close", "high overlap, close", "high overlap, far", "low overlap, far", "all pairs"]


def test_overlap_and_the_papers_four_groups() -> None:
    assert error_groups.jaccard(["A dog, runs!", "", "x"], ["a dog sits", "", "y"]).tolist() == [0.5, 0.0, 0.0]
    members = error_groups.Thresholds().members([0.1, 0.9, 0.9, 0.1, 0.4], [5, 5, 0, 0, 5])
    assert list(members) == GROUPS[:4]
    assert [np.flatnonzero(mask).tolist() for mask in members.values()] == [[0], [1], [2], [3]]


# -- maps to the gold scale --------------------------------------------------------------------------------------------


def test_maps_that_are_not_fitted() -> None:
    np.testing.assert_allclose(error_groups.paper_map([-1, 0, 0.052, 1]), [0, 2.5, 2.63, 5])
    assert error_groups.mapped([1.5, 4.0], [1.0, 5.0], "identity").tolist() == [1.5, 4.0]


def test_affine_map_equals_least_squares_and_stays_on_the_scale() -> None:
    random = np.random.default_rng(1)
    cosine = random.uniform(-0.2, 1, 100)
    gold = np.clip(4 * cosine + 0.5 + random.normal(0, 0.1, 100), 0, 5)
    slope, offset = np.polyfit(cosine, gold, 1)
    fitted = error_groups.affine_map(cosine, gold)
    np.testing.assert_allclose(fitted([0.3, 0.5]), slope * np.array([0.3, 0.5]) + offset)
    assert gold.min() <= fitted(-9.0) <= fitted(9.0) <= gold.max()
    assert float(error_groups.affine_map([0.5, 0.5], [1.0, 3.0])(0.9)) == 2.0  # constant cosines: the mean


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 5)), min_size=12, max_size=40))
def test_isotonic_map_is_monotone_and_on_the_scale(points: list[tuple[float, float]]) -> None:
    cosine, gold = np.array(points).T
    scores = error_groups.isotonic_map(cosine, gold)(np.linspace(-1, 1, 21))
    assert (np.diff(scores) >= -1e-12).all()
    assert gold.min() - 1e-9 <= scores.min() and scores.max() <= gold.max() + 1e-9


def test_a_fitted_map_never_sees_its_own_pair() -> None:
    random = np.random.default_rng(2)
    cosine, gold = random.uniform(0, 1, 50), random.uniform(0, 5, 50)
    before = error_groups.mapped(cosine, gold, "affine", folds=50)
    gold[7] = 5 - gold[7]
    assert error_groups.mapped(cosine, gold, "affine", folds=50)[7] == pytest.approx(before[7])


# -- groups ------------------------------------------------------------------------------------------------------------


def made() -> AllPairs:
    """120 pairs, 30 a group; by the paper's map B is off by .4, A by .1, but by .9 on close pairs of high overlap."""
    rng = np.random.default_rng(0)
    high, close = np.tile([False, True, True, False], 30), np.tile([True, True, False, False], 30)
    gold = np.where(close, 4.5, 0.75) + rng.uniform(-0.3, 0.3, 120)
    signs, truth = rng.choice([-1, 1], 120), gold / 2.5 - 1
    a, b = truth + signs * np.where(high & close, -0.9, 0.1) / 2.5, truth + signs * 0.4 / 2.5
    second = [NEAR if one else OTHER for one in high]
    return AllPairs([SAME] * 120, second, gold, {"A": np.stack([a, a]), "B": b[None]})


def test_errors_and_differences_of_each_group() -> None:
    pairs = made()
    frame = error_groups.groups(pairs.first, pairs.second, pairs.gold, pairs.scores, a="A", b="B", resamples=200)
    first = frame[frame["map"] == "paper"]
    assert first["group"].tolist() == GROUPS and first["n"].tolist() == [30, 30, 30, 30, 120]
    assert first["A"].tolist() == pytest.approx([0.1, 0.9, 0.1, 0.1, 0.3]) and first["B"].tolist() == pytest.approx(
        [0.4] * 5
    )
    assert frame["difference"].tolist() == pytest.approx((frame["A"] - frame["B"]).tolist())
    assert (frame["difference low"] - 1e-12 <= frame["difference"]).all()
    # The same error on every pair of a group leaves the bootstrap nothing to vary; over all pairs it varies.
    (*_, one, low), (*_, other, high) = first["difference low"], first["difference high"]
    assert one == pytest.approx(other) and low < -0.1 < high


def test_a_group_without_pairs_has_no_number() -> None:
    """Such a group is NaN in the frame, which no ledger takes."""
    pairs = made()
    kept = np.array([second == OTHER for second in pairs.second])  # no pair of high overlap
    frame = error_groups.groups(
        [SAME] * 60, [OTHER] * 60, pairs.gold[kept],
        {method: scores[:, kept] for method, scores in pairs.scores.items()}, a="A", b="B", maps=("paper",),
        resamples=50,
    )  # fmt: skip
    assert frame["n"].tolist() == [30, 0, 0, 30, 60] and frame["A"].isna().tolist() == [False, True, True, False, False]


# -- every pair of a book ----------------------------------------------------------------------------------------------


def test_all_pairs_of_one_scale_in_the_books_order() -> None:
    rng = np.random.default_rng(3)
    sets = [
        ScoredPairs("STS2012/a", ["a1", "a2"], ["A1", "A2"], np.array([1.0, 4.0]), (0, 5)),
        ScoredPairs("SICK2014", ["s"] * 3, ["S"] * 3, np.array([1.0, 2.0, 3.0]), (1, 5)),
        ScoredPairs("STS2016/b", ["b1", "b2", "b3"], ["B1", "B2", "B3"], np.array([0.0, 1.5, 5.0]), (0, 5)),
    ]
    scores = sts_predictions(sets)
    for seed in range(3):
        for pairs in sets:
            scores.add("A", seed, pairs.name, rng.uniform(-1, 1, len(pairs)))
    found = all_pairs(scores)
    assert (found.first, found.second) == (["a1", "a2", "b1", "b2", "b3"], ["A1", "A2", "B1", "B2", "B3"])
    assert found.gold.tolist() == [1, 4, 0, 1.5, 5]
    expected = np.hstack([scores.stacked("A", name) for name in ("STS2012/a", "STS2016/b")])
    np.testing.assert_array_equal(found.scores["A"], expected)


def test_overestimation_by_brute_force() -> None:
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 26, 80) / 5
    exact = gold[None] / 2.5 - 1  # a score equals gold: the map alone does not overestimate it
    pairs = AllPairs([""] * 80, [""] * 80, gold, {"A": rng.uniform(-1, 1, (3, 80)), "exact": exact})
    far = [index for index in range(80) if gold[index] <= FAR]
    draws = resample_counts(len(far), 150, [0]).astype(int)
    for test in pairs.overestimation(150):
        excess = np.array([np.mean([2.5 * (row[i] + 1) - gold[i] for row in pairs.scores[test.a]]) for i in far])
        sampled = [np.repeat(excess, times).mean() for times in draws]
        assert test.estimate == pytest.approx(excess.mean() if test.a == "A" else 0, abs=1e-12)
        assert (test.low, test.high) == pytest.approx(np.percentile(sampled, [2.5, 97.5]), abs=1e-12)
        assert test.dataset == f"{len(far)} pairs of gold at most 1.5"
