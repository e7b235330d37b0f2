from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error

from sentbook.evaluation import statistics
from sentbook.records import Test
from sentbook.training.correlation import mse, pearson, spearman

METRICS: dict[Any, Any] = {
    "pearson": pearson,
    "spearman": spearman,
    "mse": mse,
    "mae": mean_absolute_error,
    "mean": lambda x, y: np.mean(x),
    "accuracy": lambda x, y: accuracy_score(y, x),
    "f1": lambda x, y: f1_score(y, x, zero_division=0),
}
seeds = st.integers(0, 2**32 - 1)


def sample(metric: str, shape: tuple[int, int], rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """(S, N) scores that know something of their (N,) gold; gold has ties."""
    gold = rng.integers(0, 2 if metric in ("accuracy", "f1") else 6, shape[1]).astype(float)
    scores = gold + rng.normal(size=shape)
    return (scores > 0.5).astype(float) if metric in ("accuracy", "f1") else scores, gold


@pytest.mark.parametrize("metric", METRICS)
def test_bootstrap_is_the_metric_of_the_repeated_items(metric: Any) -> None:
    """Brute force: build each resample item by item, and call the plain metric."""
    scores, gold = sample(metric, (3, 40), np.random.default_rng(1))
    counts = statistics.resample_counts(40, 300, [5])  # more than one block of 250
    expected = [
        [METRICS[metric](np.repeat(row, times), np.repeat(gold, times)) for times in counts.astype(int)]
        for row in scores
    ]
    for drawn in (counts, counts.astype(np.uint8)):
        found = statistics.bootstrap(metric, scores, gold, drawn)
        np.testing.assert_allclose(found, np.mean(expected, axis=0), atol=1e-12)


@settings(max_examples=25)
@given(seed=seeds, scale=st.floats(1e-9, 1e9), shift=st.floats(-1, 1), metric=st.sampled_from(["pearson", "spearman"]))
def test_an_affine_map_of_scores_changes_no_correlation(seed: int, scale: float, shift: float, metric: Any) -> None:
    rng = np.random.default_rng(seed)
    gold = rng.normal(size=30)
    scores = gold + rng.normal(size=(2, 30))
    counts = statistics.resample_counts(30, 40, [seed])
    np.testing.assert_allclose(
        statistics.bootstrap(metric, scale * (scores + shift), gold, counts),
        statistics.bootstrap(metric, scores, gold, counts),
        atol=1e-6,
    )


def test_a_constant_system_has_correlation_0_in_every_resample() -> None:
    gold = np.arange(20.0)
    counts = statistics.resample_counts(20, 50, [0])
    for metric in ("pearson", "spearman"):
        assert not statistics.bootstrap(metric, np.full((2, 20), 0.1), gold, counts).any()  # type: ignore[arg-type]
    # A resample that happens to draw one item 20 times is constant too.
    alone = np.zeros((1, 20), dtype=np.float32)
    alone[0, 3] = 20
    assert statistics.bootstrap("pearson", gold, gold, alone) == [0]


def test_resamples_draw_as_many_items_as_there_are() -> None:
    counts = statistics.resample_counts(50, 200, [1, 2])
    assert (counts.sum(axis=1) == 50).all()
    assert counts.mean() == 1
    np.testing.assert_array_equal(counts, statistics.resample_counts(50, 200, [1, 2]))
    assert (counts != statistics.resample_counts(50, 200, [1, 3])).any()


def test_p_counts_both_tails_and_is_never_0() -> None:
    values = np.arange(1.0, 100)  # 99 resamples, all above 0
    assert statistics.from_bootstrap(50, values).p == pytest.approx(2 / 100)
    assert statistics.from_bootstrap(50, -values).p == pytest.approx(2 / 100)
    assert statistics.from_bootstrap(0, np.zeros(10)).p == 1


def test_seed_interval_is_scipys_t_interval() -> None:
    values = [0.61, 0.64, 0.60, 0.66, 0.62]
    found = statistics.seed_interval(values)
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.estimate, found.low, found.high) == pytest.approx((np.mean(values), interval.low, interval.high))
    assert statistics.seed_interval([0.5]) == statistics.Estimate(0.5, 0.5, 0.5)


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm(p_values: list[float]) -> None:
    adjusted = statistics.holm(p_values)
    assert all(raw <= new <= 1 for raw, new in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(np.array(adjusted)[order]) >= 0)
    # By definition: the largest of (m - i) p_(i) so far, at most 1.
    m = len(p_values)
    for rank, index in enumerate(order):
        assert adjusted[index] == max(min(1, (m - i) * p_values[order[i]]) for i in range(rank + 1))


@settings(max_examples=25)
@given(seed=seeds, half=st.floats(0, 1), shift=st.floats(-1, 1))
@example(seed=0, half=0.0, shift=5.4e-114)
def test_seeds_widen_an_interval_over_items(seed: int, half: float, shift: float) -> None:
    """By nothing where there is one seed or no spread; as Welch's t alone where items have no width."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=4), rng.normal(size=3)
    spread = statistics.seed_spread(first, second)
    welch = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert spread == pytest.approx((welch.high - welch.low) / 2)
    assert statistics.seed_spread(first + shift, second - shift) == pytest.approx(spread)
    assert statistics.seed_spread(first[:1], [shift] * 3) == pytest.approx(0, abs=1e-12)
    items = statistics.Estimate(shift, shift - 0.1, shift + 0.2)
    wide = statistics.two_levels(items, half)
    assert wide.low <= items.low + 1e-12 and wide.high >= items.high - 1e-12 and wide.estimate == shift
    alone = statistics.two_levels(statistics.Estimate(shift, shift, shift), half)
    assert (alone.low, alone.high) == pytest.approx((shift - half, shift + half))


def test_a_p_is_of_the_side_of_an_interval_that_is_nearer_to_0_and_one_that_lacks_is_1() -> None:
    sides = ((0.1, 0.05, 0.4), (-0.1, -0.4, -0.05))
    right, left = (statistics.two_levels(statistics.Estimate(*ends, p=0.01), 0.02).p for ends in sides)
    assert right == left and right is not None and right < 0.05
    row = {"kind": "k", "a": "A", "b": "B", "dataset": "d", "metric": "m", "estimate": 0.1, "low": 0, "high": 1}
    assert [one.p_holm for one in statistics.corrected([Test(**row, p=0.01), Test(**row)])] == [0.02, 1.0]


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0, 10.0])
def test_an_interval_over_three_seeds_a_side_covers_what_it_says(spread: float) -> None:
    rng, times, ours = np.random.default_rng(0), 3000, 0
    for _ in range(times):
        first, second = rng.normal(0, spread, (2, 3))
        found = first.mean() - second.mean() + rng.normal()  # the luck of items has a standard deviation of 1
        wide = statistics.two_levels(
            statistics.Estimate(found, found - 1.96, found + 1.96), statistics.seed_spread(first, second)
        )
        ours += wide.low <= 0 <= wide.high
    assert 0.945 <= ours / times <= 0.985
