"""Scores on the gold scale by maps that are fitted on other pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.evaluation.errors import cross_fitted, isotonic
from sentbook.io import ConfigError


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 5)), min_size=12, max_size=40))
def test_the_isotonic_map_is_monotone_and_on_the_scale(points: list[tuple[float, float]]) -> None:
    cosine, gold = np.array(points).T
    scores = isotonic(cosine, gold)(np.linspace(-1, 1, 21))
    assert (np.diff(scores) >= -1e-12).all()
    assert gold.min() - 1e-9 <= scores.min() and scores.max() <= gold.max() + 1e-9


def test_a_fitted_map_never_sees_its_own_pair() -> None:
    random = np.random.default_rng(2)
    cosine, gold = random.uniform(0, 1, 50), random.uniform(0, 5, 50)
    before = cross_fitted(cosine, gold, folds=50)
    gold[7] = 5 - gold[7]
    assert cross_fitted(cosine, gold, folds=50)[7] == pytest.approx(before[7])
    with pytest.raises(ConfigError, match="5 pairs cannot be split into 10 folds"):
        cross_fitted(cosine[:5], gold[:5])
