"""Intervals and tests: the paired bootstrap over items, spread over seeds, and tests of dependent correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Array = NDArray[np.float64]
MetricName = Literal["pearson", "spearman", "mse"]


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval and, for a difference, the two-sided p of "it is 0"."""

    estimate: float
    low: float
    high: float
    p: float | None = None


# -- bootstrap ---------------------------------------------------------------------------------------------------------


def resample_counts(items: int, resamples: int, seed: Sequence[int]) -> NDArray[np.float32]:
    """(R, N): how often each item is drawn in each resample of N items with replacement."""
    rng = np.random.default_rng(list(seed))
    return rng.multinomial(items, np.full(items, 1 / items), size=resamples).astype(np.float32)


def _weighted_pearson(counts: Array, x: Array, y: Array) -> Array:
    """(R,) Pearson's r of the items taken ``counts`` times; ``x``, ``y`` are (N,) or (R, N)."""
    total = counts.sum(axis=1)
    # Centred by the plain mean first: the shift cancels, and so does most rounding error.
    x, y = x - x.mean(), y - y.mean()

    def sums(values: Array) -> Array:
        return counts @ values if values.ndim == 1 else np.einsum("rn,rn->r", counts, values)

    sx, sy = sums(x), sums(y)
    xx, yy, xy = sums(x * x) - sx * sx / total, sums(y * y) - sy * sy / total, sums(x * y) - sx * sy / total
    scale = np.sqrt(np.maximum(xx, 0) * np.maximum(yy, 0))
    return np.divide(xy, scale, out=np.zeros_like(xy), where=scale > 1e-12)


def _resampled_ranks(counts: Array, x: Array) -> Array:
    """(R, N) mean ranks that each item has among the items taken ``counts`` times (ties share their mean rank)."""
    values, group = np.unique(x, return_inverse=True)
    in_group = np.zeros((len(counts), len(values)))
    np.add.at(in_group.T, group, counts.T)
    upto = np.cumsum(in_group, axis=1)
    return (upto - (in_group - 1) / 2)[:, group]


def bootstrap(metric: MetricName, scores: ArrayLike, gold: ArrayLike, counts: NDArray[np.float32]) -> Array:
    """(R,) values of ``metric`` over the resamples, the mean over seeds in each.

    Args:
        scores: (S, N), a row a seed.
        gold: (N,).
        counts: (R, N) from `resample_counts`; the same for every method compared.
    """
    table, target = np.atleast_2d(np.asarray(scores, dtype=np.float64)), np.asarray(gold, dtype=np.float64)
    if metric == "mse":
        return counts.astype(np.float64) @ ((table - target) ** 2).mean(axis=0) / counts.sum(axis=1)
    result = np.zeros(len(counts))
    for start in range(0, len(counts), 250):  # bounds the memory of the (R, N) ranks
        part = counts[start : start + 250].astype(np.float64)
        goal = _resampled_ranks(part, target) if metric == "spearman" else target
        for row in table:
            x = _resampled_ranks(part, row) if metric == "spearman" else row
            result[start : start + 250] += _weighted_pearson(part, x, goal)
    return result / len(table)


def from_bootstrap(point: float, values: Array) -> Estimate:
    """Percentile interval of the resampled ``values``, and $p = 2 \\min(P(d \\le 0), P(d \\ge 0))$ with one added to each count."""
    low, high = np.percentile(values, [2.5, 97.5])
    tails = (1 + np.count_nonzero(values <= 0), 1 + np.count_nonzero(values >= 0))
    return Estimate(point, float(low), float(high), float(min(1.0, 2 * min(tails) / (len(values) + 1))))


# -- seeds -------------------------------------------------------------------------------------------------------------


def seed_interval(values: ArrayLike) -> Estimate:
    """Mean over seeds with its 95 % t-interval; a single seed has no interval (low = high = value)."""
    array = np.asarray(values, dtype=np.float64)
    mean = float(array.mean())
    if len(array) < 2:
        return Estimate(mean, mean, mean)
    half = float(stats.t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array)))
    return Estimate(mean, mean - half, mean + half)


# -- dependent correlations --------------------------------------------------------------------------------------------


def williams(r_a: float, r_b: float, r_ab: float, n: int) -> tuple[float, float]:
    r"""Williams' t for two correlations with the same gold on the same n items, and its two-sided p (n - 3 df).

    $$t = (r_a - r_b) \sqrt{\frac{(n-1)(1+r_{ab})}{2\frac{n-1}{n-3}|R| + \bar r^2 (1-r_{ab})^3}}, \quad
      |R| = 1 - r_a^2 - r_b^2 - r_{ab}^2 + 2 r_a r_b r_{ab}$$

    Source: Williams 1959; Steiger 1980, equation 7.

    Raises:
        ValueError: fewer than four items.
    """
    if n < 4:
        raise ValueError("Williams' test needs at least four items.")
    if r_a == r_b:
        return 0.0, 1.0
    determinant = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    mean = (r_a + r_b) / 2
    t = (r_a - r_b) * np.sqrt((n - 1) * (1 + r_ab) / (2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r_ab) ** 3))
    return float(t), float(2 * stats.t.sf(abs(t), n - 3))


def steiger(r_a: float, r_b: float, r_ab: float, n: int) -> tuple[float, float]:
    r"""Steiger's Z of the same question, on Fisher's scale, and its two-sided p.

    $$Z = (z_a - z_b) \sqrt{\frac{n-3}{2 - 2 s}}, \quad
      s = \frac{r_{ab}(1 - 2 \bar r^2) - \frac{1}{2} \bar r^2 (1 - 2 \bar r^2 - r_{ab}^2)}{(1 - \bar r^2)^2}$$

    Source: Steiger 1980, equations 12 and 14 (pooled estimate of r).
    """
    if n < 4:
        raise ValueError("Steiger's test needs at least four items.")
    mean = (r_a + r_b) / 2
    covariance = (r_ab * (1 - 2 * mean**2) - 0.5 * mean**2 * (1 - 2 * mean**2 - r_ab**2)) / (1 - mean**2) ** 2
    if covariance >= 1:
        return 0.0, 1.0
    z = (np.arctanh(r_a) - np.arctanh(r_b)) * np.sqrt((n - 3) / (2 - 2 * covariance))
    return float(z), float(2 * stats.norm.sf(abs(z)))


# -- many tests --------------------------------------------------------------------------------------------------------


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given.

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
