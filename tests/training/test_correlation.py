from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sentbook.io import NumericalError
from sentbook.training.correlation import pearson, spearman

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=40)
@given(seed=seeds, n=st.integers(3, 60), levels=st.integers(2, 30))
def test_correlations_agree_with_scipy(seed: int, n: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, levels, n).astype(float), rng.normal(size=n)  # x has ties
    x[0], x[1] = 0, 1  # and is not constant
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("constant", [0.0, 0.1, -3.7, 1e6])
def test_a_constant_prediction_has_correlation_0_without_a_warning(constant: float) -> None:
    gold = np.arange(7.0)
    assert pearson(np.full(7, constant), gold) == 0
    assert spearman(np.full(7, constant), gold) == 0
    assert pearson(gold, np.full(7, constant)) == 0


@pytest.mark.parametrize("unit", [1e-14, 1e-7, 1e9])
def test_no_correlation_depends_on_the_unit_of_the_scores(unit: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20))
    for measure in (pearson, spearman):
        assert measure(unit * x, y) == pytest.approx(measure(x, y))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    for measure in (pearson, spearman):
        with pytest.raises(NumericalError, match="NaN or infinite"):
            measure([1.0, bad, 3.0], [1.0, 2.0, 3.0])
