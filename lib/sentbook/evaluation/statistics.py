"""Intervals and tests: the paired bootstrap over items, spread over seeds, and tests of dependent correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from sentbook.system.errors import NumericalError

Array = NDArray[np.float64]
Counts = NDArray[np.float32] | NDArray[np.uint8] | Array
MetricName = Literal["pearson", "spearman", "mse", "accuracy", "f1"]


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


def _standardised(values: Array) -> Array:
    """Centred and scaled, so that no threshold depends on the unit; 0 where constant up to rounding.

    Pearson's r does not change by it, and most rounding error of the weighted sums goes.
    """
    centred = values - values.mean()
    spread = centred.std()
    return centred / spread if spread > 1e-12 * np.abs(values).max() else np.zeros_like(values)


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


def bootstrap_by_seed(metric: MetricName, scores: ArrayLike, gold: ArrayLike, counts: Counts) -> Array:
    """(S, R) values of ``metric`` for each seed and resample; a constant prediction has correlation 0.

    Args:
        metric: ``accuracy`` and ``f1`` take labels for scores, and class 1 as the positive one.
        scores: (S, N), a row a seed, or (N,).
        gold: (N,).
        counts: (R, N) from `resample_counts`; the same for every method compared.

    Raises:
        ValueError: the shapes do not fit.
        NumericalError: a score is NaN or infinite.
    """
    table, target = np.atleast_2d(np.asarray(scores, dtype=np.float64)), np.asarray(gold, dtype=np.float64)
    if target.ndim != 1 or table.shape[1:] != target.shape or counts.shape[1:] != target.shape:
        raise ValueError(f"Scores {table.shape}, gold {target.shape} and counts {counts.shape} do not fit.")
    if not (np.isfinite(table).all() and np.isfinite(target).all()):
        raise NumericalError("A score is NaN or infinite; train the encoder again with a lower learning rate.")
    result = np.empty((len(table), len(counts)))
    for start in range(0, len(counts), 250):  # bounds the memory of the (R, N) ranks
        rows = slice(start, start + 250)
        part = counts[rows].astype(np.float64)
        if metric == "pearson":
            result[:, rows] = _weighted_pearson(part, table, target)
        elif metric == "spearman":
            result[:, rows] = _weighted_spearman(part, table, target)
        elif metric == "mse":
            result[:, rows] = ((table - target) ** 2) @ part.T / part.sum(axis=1)
        elif metric == "accuracy":
            result[:, rows] = (table == target).astype(np.float64) @ part.T / part.sum(axis=1)
        else:
            positive = (table == 1).astype(np.float64)
            true = (positive * (target == 1)) @ part.T
            found = positive @ part.T + part @ (target == 1).astype(np.float64)
            result[:, rows] = np.divide(2 * true, found, out=np.zeros_like(true), where=found > 0)
    return result


def bootstrap(metric: MetricName, scores: ArrayLike, gold: ArrayLike, counts: Counts) -> Array:
    """(R,) values of ``metric`` over the resamples, the mean over seeds in each; see `bootstrap_by_seed`."""
    return np.asarray(bootstrap_by_seed(metric, scores, gold, counts).mean(axis=0))


def from_bootstrap(point: float, values: Array) -> Estimate:
    r"""Percentile interval of the (R,) resampled differences, and their p.

    $p = 2 (1 + \min(\#\{d \le 0\}, \#\{d \ge 0\})) / (R + 1)$, at most 1.
    """
    low, high = np.percentile(values, [2.5, 97.5])
    tails = (1 + np.count_nonzero(values <= 0), 1 + np.count_nonzero(values >= 0))
    return Estimate(point, float(low), float(high), float(min(1.0, 2 * min(tails) / (len(values) + 1))))


def _resampled_mean(
    metric: MetricName,
    scores: Sequence[ArrayLike],
    gold: Sequence[ArrayLike],
    resamples: int,
    seed: int,
    seed_weights: Array | None,
) -> tuple[float, Array]:
    """The metric, averaged over seeds and then over sets: as measured, and (R,) resampled."""
    if not gold or len(scores) != len(gold):
        raise ValueError(f"{len(scores)} sets of scores do not fit {len(gold)} sets of gold.")
    point, sampled = 0.0, np.zeros(resamples)
    for index, (table, target) in enumerate(zip(scores, gold, strict=True)):
        items = len(np.asarray(target))
        point += float(bootstrap(metric, table, target, np.ones((1, items)))[0])
        by_seed = bootstrap_by_seed(metric, table, target, resample_counts(items, resamples, [seed, index]))
        sampled += by_seed.mean(axis=0) if seed_weights is None else (seed_weights.T * by_seed).sum(axis=0)
    return point / len(gold), sampled / len(gold)


def _seed_weights(scores: Sequence[ArrayLike], resamples: int, seed: Sequence[int]) -> Array:
    """(R, S) shares of the seeds in each resample of them. One draw serves all sets: a seed is one trained encoder."""
    sizes = {len(np.atleast_2d(np.asarray(table))) for table in scores}
    if len(sizes) != 1:
        raise ValueError(f"Seeds can be resampled only where every set has the same ones, not {sorted(sizes)}.")
    (size,) = sizes
    return np.random.default_rng(list(seed)).multinomial(size, np.full(size, 1 / size), size=resamples) / size


def paired_bootstrap(
    metric: MetricName,
    a: Sequence[ArrayLike],
    b: Sequence[ArrayLike],
    gold: Sequence[ArrayLike],
    *,
    resamples: int = 2000,
    seed: int = 0,
    resample_seeds: bool = False,
) -> Estimate:
    r"""A - B, averaged over seeds and then over K sets, by the paired bootstrap over items.

    $$\hat d = \frac{1}{K} \sum_k \Big( \frac{1}{S_a} \sum_s m(a_{ks}, y_k)
      - \frac{1}{S_b} \sum_s m(b_{ks}, y_k) \Big)$$

    Items are drawn within each set, and one draw serves A, B and all seeds. Percentile interval; two-sided
    $p = 2 (1 + \min(\#\{d^* \le 0\}, \#\{d^* \ge 0\})) / (R + 1)$, at most 1.

    Args:
        a, b: for each set (S, N_k) scores, a row a seed; A and B may have different numbers of seeds.
        gold: for each set (N_k,).
        resample_seeds: draw seeds as well (of A and of B apart): the interval is then of new trainings on new items
            and not of these trainings on new items. With few seeds it is a rough one.

    Raises:
        ValueError: the shapes do not fit.
        NumericalError: a score is NaN or infinite.

    Assumptions: items are independent draws within a set; the sets are fixed.
    Source: Efron and Tibshirani 1993, chapters 13 and 16; Berg-Kirkpatrick et al. 2012 for paired systems.
    """
    points, samples = [], []
    for side, scores in enumerate((a, b)):
        weights = _seed_weights(scores, resamples, [seed, len(gold), side]) if resample_seeds else None
        point, sampled = _resampled_mean(metric, scores, gold, resamples, seed, weights)
        points.append(point)
        samples.append(sampled)
    return from_bootstrap(points[0] - points[1], samples[0] - samples[1])


def system_interval(
    metric: MetricName,
    scores: Sequence[ArrayLike],
    gold: Sequence[ArrayLike],
    *,
    resamples: int = 2000,
    seed: int = 0,
    resample_seeds: bool = False,
) -> Estimate:
    """One system's value with its percentile interval; arguments and errors as `paired_bootstrap`. It has no p."""
    weights = _seed_weights(scores, resamples, [seed, len(gold), 0]) if resample_seeds else None
    point, sampled = _resampled_mean(metric, scores, gold, resamples, seed, weights)
    low, high = np.percentile(sampled, [2.5, 97.5])
    return Estimate(point, float(low), float(high))


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


def _check_correlations(r_a: float, r_b: float, r_ab: float, n: int) -> float:
    """The determinant |R| of the three correlations.

    Raises:
        ValueError: fewer than four items, or three numbers that no data can have as their correlations.
    """
    if n < 4:
        raise ValueError("A test of two dependent correlations needs at least four items.")
    determinant = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    if max(abs(r_a), abs(r_b), abs(r_ab)) > 1 or determinant < -1e-9:
        raise ValueError(f"{r_a}, {r_b} and {r_ab} cannot be the correlations of three variables.")
    return max(determinant, 0.0)


def williams(r_a: float, r_b: float, r_ab: float, n: int) -> tuple[float, float]:
    r"""Williams' t for two correlations with the same gold on the same n items, and its two-sided p (n - 3 df).

    $$t = (r_a - r_b) \sqrt{\frac{(n-1)(1+r_{ab})}{2\frac{n-1}{n-3}|R| + \bar r^2 (1-r_{ab})^3}}, \quad
      |R| = 1 - r_a^2 - r_b^2 - r_{ab}^2 + 2 r_a r_b r_{ab}$$

    Args:
        r_a, r_b: correlations of A and of B with gold.
        r_ab: correlation of A with B.

    Assumptions: A, B and gold are jointly normal. Two predictions that are one up to a positive scale have t = 0.
    Source: Williams 1959; Steiger 1980, equation 7.

    Raises:
        ValueError: fewer than four items, or three numbers that cannot be correlations of three variables.

    Example:
        >>> t, p = williams(0.4, 0.5, 0.1, 103)  # Steiger's case A
        >>> round(t, 2), round(p, 2)
        (-0.89, 0.37)
    """
    determinant = _check_correlations(r_a, r_b, r_ab, n)
    if abs(r_a - r_b) < 1e-12:
        return 0.0, 1.0
    mean = (r_a + r_b) / 2
    scale = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r_ab) ** 3
    if scale <= 0:  # r_ab = 1 up to rounding
        return 0.0, 1.0
    t = (r_a - r_b) * np.sqrt((n - 1) * (1 + r_ab) / scale)
    return float(t), float(2 * stats.t.sf(abs(t), n - 3))


def steiger(r_a: float, r_b: float, r_ab: float, n: int) -> tuple[float, float]:
    r"""Steiger's Z of the same question, on Fisher's scale, and its two-sided p.

    $$Z = (z_a - z_b) \sqrt{\frac{n-3}{2 - 2 s}}, \quad
      s = \frac{r_{ab}(1 - 2 \bar r^2) - \frac{1}{2} \bar r^2 (1 - 2 \bar r^2 - r_{ab}^2)}{(1 - \bar r^2)^2}$$

    Args, assumptions: as `williams`.
    Source: Steiger 1980, equations 3 and 14 (the two correlations averaged in the covariance).

    Raises:
        ValueError: as `williams`, or a correlation with gold of 1 or -1, whose z is infinite.
    """
    _check_correlations(r_a, r_b, r_ab, n)
    if max(abs(r_a), abs(r_b)) == 1:
        raise ValueError("Steiger's test needs correlations with gold between -1 and 1, both excluded.")
    mean = (r_a + r_b) / 2
    covariance = (r_ab * (1 - 2 * mean**2) - 0.5 * mean**2 * (1 - 2 * mean**2 - r_ab**2)) / (1 - mean**2) ** 2
    if abs(r_a - r_b) < 1e-12 or covariance >= 1:
        return 0.0, 1.0
    z = (np.arctanh(r_a) - np.arctanh(r_b)) * np.sqrt((n - 3) / (2 - 2 * covariance))
    return float(z), float(2 * stats.norm.sf(abs(z)))


# -- paired decisions --------------------------------------------------------------------------------------------------


def mcnemar(a_right: ArrayLike, b_right: ArrayLike) -> tuple[int, int, float]:
    """Items that A alone and B alone got right, and the exact two-sided p of "as many": a binomial of one half.

    Args:
        a_right, b_right: (N,) booleans, whether each item was classified rightly.

    Source: McNemar 1947; the exact form, since disagreements may be few.

    Raises:
        ValueError: the lengths differ.

    Example:
        >>> mcnemar([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0])
        (5, 0, 0.0625)
    """
    first, second = np.asarray(a_right, dtype=bool), np.asarray(b_right, dtype=bool)
    if first.shape != second.shape:
        raise ValueError(f"McNemar's test needs the same items on both sides, not {first.shape} and {second.shape}.")
    only_a, only_b = int((first & ~second).sum()), int((second & ~first).sum())
    p = float(stats.binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0
    return only_a, only_b, p


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
