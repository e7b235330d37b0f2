from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sentbook.data.types import ScoredPairs
from sentbook.evaluation import error_groups
from sentbook.evaluation.error_groups import FAR, AllPairs, all_pairs, group_rows, group_tests
from sentbook.evaluation.predictions import Predictions, sts_predictions
from sentbook.evaluation.statistics import resample_counts

SAME, OTHER = "a small dog runs in the park", "prices of crude oil fell again"
NEAR = "a small cat runs in the park"
GROUPS = ["low overlap, close", "high overlap, close", "high overlap, far", "low overlap, far", "all pairs"]


def made(seed: int = 0) -> AllPairs:
    """120 pairs, 30 a group; by the paper's map B is off by exactly .4 everywhere, A by .1, but by .9 on close pairs
    of high overlap."""
    rng = np.random.default_rng(seed)
    high, close = np.tile([False, True, True, False], 30), np.tile([True, True, False, False], 30)
    gold = np.where(close, 4.5, 0.75) + rng.uniform(-0.3, 0.3, 120)
    signs = rng.choice([-1, 1], 120)
    truth = gold / 2.5 - 1
    a = truth + signs * np.where(high & close, -0.9, 0.1) / 2.5
    b = truth + signs * 0.4 / 2.5
    return AllPairs(
        first=[SAME] * 120,
        second=[NEAR if one else OTHER for one in high],
        gold=gold,
        scores={"A": np.stack([a, a]), "B": b[None]},
    )


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    pairs = made()
    return error_groups.groups(
        pairs.first, pairs.second, pairs.gold, pairs.scores, a="A", b="B", maps=("paper", "isotonic"), resamples=200
    )


def test_errors_of_each_group_become_rows(frame: pd.DataFrame) -> None:
    rows = group_rows(frame, ["A", "B"])
    assert [row.dataset for row in rows if row.method == "A"] == [
        f"{how} map/{group}" for how in ("paper", "isotonic") for group in GROUPS
    ]
    assert {row.metric for row in rows} == {"mae"}
    assert {row.seed for row in rows} == {None}
    by_paper = {(row.method, row.dataset.split("/")[1]): row for row in rows if row.dataset.startswith("paper")}
    assert [by_paper["A", group].value for group in GROUPS] == pytest.approx([0.1, 0.9, 0.1, 0.1, 0.3])
    assert [by_paper["B", group].value for group in GROUPS] == pytest.approx([0.4] * 5)
    assert [by_paper["A", group].n for group in GROUPS] == [30, 30, 30, 30, 120]
    assert [row.method for row in group_rows(frame, ["B"])] == ["B"] * 10


def test_differences_of_each_group_become_tests(frame: pd.DataFrame) -> None:
    tests = group_tests(frame, "A", "B")
    assert {(test.a, test.b, test.metric, test.kind) for test in tests} == {("A", "B", "mae", "paired bootstrap")}
    by_paper = {test.dataset.split("/")[1]: test for test in tests if test.dataset.startswith("paper")}
    assert [by_paper[group].estimate for group in GROUPS] == pytest.approx([-0.3, 0.5, -0.3, -0.3, -0.1])
    # The same error on every pair of a group leaves the bootstrap nothing to vary; over all pairs it varies.
    assert by_paper["low overlap, far"].low == pytest.approx(by_paper["low overlap, far"].high)
    assert by_paper["all pairs"].low < -0.1 < by_paper["all pairs"].high
    for test in tests:
        assert test.low - 1e-12 <= test.estimate <= test.high + 1e-12
    rows = {(row.method, row.dataset): row.value for row in group_rows(frame, ["A", "B"])}
    for test in tests:
        assert test.estimate == pytest.approx(rows["A", test.dataset] - rows["B", test.dataset])


def test_a_group_without_pairs_has_no_number() -> None:
    """Such a group is NaN in the frame, which no ledger takes."""
    pairs = made()
    kept = np.array([second == OTHER for second in pairs.second])  # no pair of high overlap
    frame = error_groups.groups(
        [SAME] * kept.sum(), [OTHER] * kept.sum(), pairs.gold[kept],
        {method: scores[:, kept] for method, scores in pairs.scores.items()}, a="A", b="B", resamples=50,
    )  # fmt: skip
    left = ["low overlap, close", "low overlap, far", "all pairs"]
    assert len(frame) == 10
    expected = [f"{how} map/{group}" for how in ("paper", "isotonic") for group in left]
    assert [row.dataset for row in group_rows(frame, ["A"])] == expected
    assert [test.dataset for test in group_tests(frame, "A", "B")] == expected


# -- every pair of a book ----------------------------------------------------------------------------------------------


def book() -> Predictions:
    """Two sets on 0-5 and one on 1-5, three seeds of A and one of B."""
    rng = np.random.default_rng(3)
    sets = [
        ScoredPairs("STS2012/a", ["a1", "a2"], ["A1", "A2"], np.array([1.0, 4.0]), (0, 5)),
        ScoredPairs("SICK2014", ["s"] * 3, ["S"] * 3, np.array([1.0, 2.0, 3.0]), (1, 5)),
        ScoredPairs("STS2016/b", ["b1", "b2", "b3"], ["B1", "B2", "B3"], np.array([0.0, 1.5, 5.0]), (0, 5)),
    ]
    made = sts_predictions(sets)
    for method, count in (("A", 3), ("B", 1)):
        for seed in range(count):
            for pairs in sets:
                made.add(method, seed, pairs.name, rng.uniform(-1, 1, len(pairs)))
    return made


def test_all_pairs_of_one_scale_in_the_books_order() -> None:
    scores = book()
    found = all_pairs(scores)
    assert found.first == ["a1", "a2", "b1", "b2", "b3"]
    assert found.second == ["A1", "A2", "B1", "B2", "B3"]
    assert found.gold.tolist() == [1, 4, 0, 1.5, 5]
    assert {method: values.shape for method, values in found.scores.items()} == {"A": (3, 5), "B": (1, 5)}
    np.testing.assert_array_equal(found.scores["A"][:, :2], scores.stacked("A", "STS2012/a"))
    np.testing.assert_array_equal(found.scores["A"][:, 2:], scores.stacked("A", "STS2016/b"))


def test_overestimation_by_brute_force() -> None:
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 26, 80) / 5
    pairs = AllPairs([""] * 80, [""] * 80, gold, {"A": rng.uniform(-1, 1, (3, 80)), "B": rng.uniform(0, 1, (1, 80))})
    far = [index for index in range(80) if gold[index] <= FAR]
    found = pairs.overestimation(150)
    assert [test.a for test in found] == ["A", "B"]
    draws = resample_counts(len(far), 150, [0]).astype(int)
    for test in found:
        excess = np.array([np.mean([2.5 * (row[i] + 1) - gold[i] for row in pairs.scores[test.a]]) for i in far])
        sampled = [np.repeat(excess, times).mean() for times in draws]
        assert test.estimate == pytest.approx(excess.mean())
        assert (test.low, test.high) == pytest.approx(np.percentile(sampled, [2.5, 97.5]))
        assert test.dataset == f"{len(far)} pairs of gold at most 1.5"


def test_the_map_alone_overestimates_what_a_perfect_encoder_would_not() -> None:
    """Pairs of gold 1.5 at most have a cosine of -.4 at most where a score equals gold."""
    gold = np.tile([0.0, 0.5, 1.0, 1.5, 4.0], 10)
    exact = gold / 2.5 - 1
    pairs = AllPairs([""] * 50, [""] * 50, gold, {"exact": exact[None], "orthogonal": np.zeros((1, 50))})
    exactly, orthogonal = pairs.overestimation(200)
    assert (exactly.estimate, exactly.low, exactly.high) == pytest.approx((0, 0, 0), abs=1e-12)
    assert orthogonal.estimate == pytest.approx(2.5 - 0.75)
    assert orthogonal.low > 0
