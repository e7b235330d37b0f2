"""The four groups of overlap and meaning, and errors on the gold scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.evaluation import error_groups


def test_overlap() -> None:
    assert error_groups.jaccard(["A dog, runs!", "", "x"], ["a dog sits", "", "y"]).tolist() == [0.5, 0.0, 0.0]


def test_groups_are_the_papers_four() -> None:
    members = error_groups.Thresholds().members([0.1, 0.9, 0.9, 0.1, 0.4], [5, 5, 0, 0, 5])
    assert list(members) == ["low overlap, close", "high overlap, close", "high overlap, far", "low overlap, far"]
    assert [int(np.flatnonzero(mask)[0]) for mask in members.values()] == [0, 1, 2, 3]
    assert sum(mask.sum() for mask in members.values()) == 4


def test_the_papers_map() -> None:
    np.testing.assert_allclose(error_groups.paper_map([-1, 0, 0.052, 1]), [0, 2.5, 2.63, 5])


def test_scores_that_are_on_the_gold_scale_stay() -> None:
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
    changed = gold.copy()
    changed[7] = 5 - changed[7]
    assert error_groups.mapped(cosine, changed, "affine", folds=50)[7] == pytest.approx(before[7])
