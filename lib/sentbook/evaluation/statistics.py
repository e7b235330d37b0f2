"""Intervals and tests: the paired bootstrap over items, and the spread over seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from sentbook.records import Estimate, Test
from sentbook.training.correlation import centred, finite

Array = NDArray[np.float64]
Counts = NDArray[np.float32] | NDArray[np.uint8] | Array


# -- bootstrap ---------------------------------------------------------------------------------------------------------


def resample_counts(items: int, resamples: int, seed: Sequence[int]) -> NDArray[np.float32]:
    """Return (R, N) how often each item is drawn in each resample of N items with replacement."""
    rng = np.random.default_rng(list(seed))
    return rng.multinomial(items, np.full(items, 1 / items), size=resamples).astype(np.float32)


def _standardised(values: Array) -> Array:
    """Centred and scaled; 0 where constant, see `centred`.

    Pearson's r does not change by it, and most rounding error of the weighted sums goes.
    """
    found = centred(values)
    return found / found.std() if found.any() else found


def _correlation(n: Array, x: Array, y: Array, xx: Array, yy: Array, xy: Array) -> Array:
    """r from sums over n items each; 0 where either side is constant in the resample."""
    xx, yy, xy = xx - x * x / n, yy - y * y / n, xy - x * y / n
    varies = np.minimum(xx, yy) > 1e-12 * n
    return np.divide(xy, np.sqrt(np.where(varies, xx * yy, 1)), out=np.zeros_like(xy), where=varies)


def _weighted_pearson(counts: Array, table: Array, gold: Array) -> Array:
    """(S, R) Pearson's r of the items taken ``counts`` times: five sums by one matrix product."""
    x, y = np.stack([_standardised(row) for row in table]), _standardised(gold)
    seeds = len(x)
    sums = counts @ np.concatenate([x, x * x, x * y, y[None], (y * y)[None]]).T
    sx, sxx, sxy = (sums[:, part * seeds : (part + 1) * seeds].T for part in range(3))
    return _correlation(counts.sum(axis=1), sx, sums[:, -2], sxx, sums[:, -1], sxy)


def _resampled_ranks(counts: Array, x: Array) -> Array:
    """(R, N) mean ranks that each item has among the items taken ``counts`` times (ties share their mean rank)."""
    values, group = np.unique(x, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(values)))
    in_group = np.add.reduceat(counts[:, order], starts, axis=1)
    upto = np.cumsum(in_group, axis=1)
    return np.asarray((upto - (in_group - 1) / 2)[:, group])


def _weighted_spearman(counts: Array, table: Array, gold: Array) -> Array:
    """(S, R) Spearman's rho: the items are ranked anew in every resample, since its repeats are ties."""
    n = counts.sum(axis=1)

    def ranked(values: Array) -> Array:
        return (_resampled_ranks(counts, values) - (counts.shape[1] + 1) / 2) / counts.shape[1]

    def sums(values: Array) -> Array:
        return np.einsum("rn,rn->r", counts, values)

    y = ranked(gold)
    sy, syy = sums(y), sums(y * y)
    rows = []
    for row in table:
        x = ranked(row)
        rows.append(_correlation(n, sums(x), sy, sums(x * x), syy, sums(x * y)))
    return np.stack(rows)


# Measures that are a mean over items, of (S, N) predictions and (N,) gold.
MEANS: Mapping[str, Callable[[Array, Array], Array]] = {
    "mse": lambda x, y: (x - y) ** 2,
    "mae": lambda x, y: np.abs(x - y),
    "accuracy": lambda x, y: (x == y).astype(np.float64),
    "mean": lambda x, y: x,
}


def bootstrap(metric: str, scores: ArrayLike, gold: ArrayLike, counts: Counts) -> Array:
    """Return (R,) values of ``metric`` over the resamples, the mean over seeds in each.

    A constant prediction has correlation 0.

    Args:
        metric: ``pearson``, ``spearman``, ``mse`` or ``mae`` of scores; ``accuracy`` or ``f1`` of labels, class 1 the
            positive; ``mean`` of scores that are their own measure.
        scores: (S, N), a row a seed, or (N,).
        gold: (N,).
        counts: (R, N) from `resample_counts`; the same for every method compared.

    Raises:
        ValueError: the shapes do not fit.
        NumericalError: a score is NaN or infinite.
    """
    table, target = np.atleast_2d(finite(scores)), finite(gold)
    if target.ndim != 1 or table.shape[1:] != target.shape or counts.shape[1:] != target.shape:
        raise ValueError(f"Scores {table.shape}, gold {target.shape} and counts {counts.shape} do not fit.")
    result = np.empty((len(table), len(counts)))
    for start in range(0, len(counts), 250):  # bounds the memory of the (R, N) ranks
        rows = slice(start, start + 250)
        part = counts[rows].astype(np.float64)
        if metric == "pearson":
            result[:, rows] = _weighted_pearson(part, table, target)
        elif metric == "spearman":
            result[:, rows] = _weighted_spearman(part, table, target)
        elif metric == "f1":
            positive = (table == 1).astype(np.float64)
            true = (positive * (target == 1)) @ part.T
            found = positive @ part.T + part @ (target == 1).astype(np.float64)
            result[:, rows] = np.divide(2 * true, found, out=np.zeros_like(true), where=found > 0)
        else:
            result[:, rows] = MEANS[metric](table, target) @ part.T / part.sum(axis=1)
    return np.asarray(result.mean(axis=0))


def from_bootstrap(point: float, values: Array) -> Estimate:
    r"""Return the percentile interval of the (R,) resampled differences, and their p.

    $p = 2 (1 + \min(\#\{d \le 0\}, \#\{d \ge 0\})) / (R + 1)$, at most 1.
    """
    tails = (1 + np.count_nonzero(values <= 0), 1 + np.count_nonzero(values >= 0))
    return replace(percentiles(point, values), p=float(min(1.0, 2 * min(tails) / (len(values) + 1))))


def percentiles(point: float, values: Array) -> Estimate:
    """Return ``point`` with the 95 % percentile interval of the (R,) resampled values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return Estimate(point, float(low), float(high))


def mean_bootstrap(values: ArrayLike, resamples: int, seed: Sequence[int]) -> Estimate:
    """Return the mean of N values, such as paired differences, by the bootstrap over them, with the p of "it is 0".

    Example:
        >>> found = mean_bootstrap([1.0, 2.0, 3.0, 2.0], 500, [0])
        >>> found.estimate, found.low > 1, found.p
        (2.0, True, 0.003992015968063872)
    """
    array = np.asarray(values, dtype=np.float64)
    means = resample_counts(len(array), resamples, seed) @ array / len(array)
    return from_bootstrap(float(array.mean()), means)


# -- seeds -------------------------------------------------------------------------------------------------------------


def seed_interval(values: ArrayLike) -> Estimate:
    r"""Return the mean over (n,) seeds with its 95 % t-interval, $\bar x \pm t_{n-1, .975}\, s / \sqrt{n}$.

    A single seed has no interval: low = high = value.
    """
    array = np.asarray(values, dtype=np.float64)
    mean = float(array.mean())
    if len(array) < 2:
        return Estimate(mean, mean, mean)
    half = float(special.stdtrit(len(array) - 1, 0.975) * array.std(ddof=1) / np.sqrt(len(array)))
    return Estimate(mean, mean - half, mean + half)


def seed_spread(*sides: ArrayLike) -> float:
    r"""Return half the 95 % t-interval of a mean over seeds, or of the difference of two, whose seeds are not paired.

    $$t_\nu \sqrt{\sum_i s_i^2 / n_i}, \quad
      \nu = \Big(\sum_i \frac{s_i^2}{n_i}\Big)^2 \Big/ \sum_i \frac{(s_i^2 / n_i)^2}{n_i - 1}$$

    A side of one seed adds nothing: its spread is not known, or it has none. Seeds with equal values may
    leave a spread of rounding.

    Source: Welch 1947.

    Example:
        >>> round(seed_spread([1.0, 2.0, 3.0]), 3), seed_spread([2.0]), seed_spread([2.0, 2.0], [1.0])
        (2.484, 0.0, 0.0)
    """
    arrays = [np.asarray(side, dtype=np.float64) for side in sides]
    parts = [(array.var(ddof=1) / len(array), len(array) - 1) for array in arrays if len(array) > 1]
    total = sum(part for part, _ in parts)
    if total <= 0:
        return 0.0
    freedom = 1 / sum((part / total) ** 2 / one for part, one in parts)  # squares of tiny variances are nothing
    return float(special.stdtrit(freedom, 0.975) * np.sqrt(total))


def two_levels(items: Estimate, half: float) -> Estimate:
    r"""Widen an interval over items by what seeds add: new trainings on new items.

    $$\hat\theta - \sqrt{(\hat\theta - l)^2 + h^2}, \quad \hat\theta + \sqrt{(u - \hat\theta)^2 + h^2}$$

    A difference keeps a p: that of the normal test whose interval ends where this one does on the side of 0, so that it
    is below .05 where the interval is without 0. With ``half`` of 0 all stays as it is. Drawing three seeds with
    replacement, as a bootstrap of both levels would, covers far less than 95 %: three seeds vary by two thirds of what
    they should, and their t is 4.3 and not 2.

    Assumptions: the luck of items and that of seeds add up; what they share counts twice, which is on the safe side.
    Source: Zou and Donner 2008 (limits of a sum from limits of its parts).
    """
    if not half:
        return items
    low = items.estimate - float(np.hypot(items.estimate - items.low, half))
    high = items.estimate + float(np.hypot(items.high - items.estimate, half))
    if items.p is None:
        return Estimate(items.estimate, low, high)
    width = items.estimate - low if items.estimate > 0 else high - items.estimate
    return Estimate(
        items.estimate, low, high, float(2 * special.ndtr(-special.ndtri(0.975) * abs(items.estimate) / width))
    )


# -- many tests --------------------------------------------------------------------------------------------------------


def holm(p_values: Sequence[float]) -> list[float]:
    r"""Return Holm's step-down adjusted p-values, in the order given.

    $\tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})$ with $p_{(1)} \le \ldots \le p_{(m)}$.

    Source: Holm 1979.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted, largest = np.empty(len(p_values)), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return [float(value) for value in adjusted]


def corrected(family: Sequence[Test]) -> list[Test]:
    """Return the tests with Holm's p over all of them; one without a p counts as 1."""
    adjusted = holm([1.0 if test.p is None else test.p for test in family])
    return [test.model_copy(update={"p_holm": p}) for test, p in zip(family, adjusted, strict=True)]
