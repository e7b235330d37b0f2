"""Correlations of predictions with gold, in [-1, 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.io import NumericalError


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    r"""$r = \mathrm{cov}(x, y) / (\sigma_x \sigma_y)$ of two (N,) arrays; 0 where one is constant (as SentEval).

    Raises:
        ValueError: the lengths differ, or there are fewer than two items.
        NumericalError: a value is NaN or infinite.

    Example:
        >>> round(pearson([1, 2, 3], [1, 3, 2]), 4)
        0.5
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
        raise ValueError(f"A correlation needs two arrays of one length of at least 2, not {x.shape} and {y.shape}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise NumericalError("A score is NaN or infinite; train the encoder again with a lower learning rate.")
    x, y = x - x.mean(), y - y.mean()
    scale = np.sqrt((x @ x) * (y @ y))
    # Constant up to rounding is constant.
    if scale <= 1e-12 * len(x) * max(1.0, float(np.abs(x).max(initial=0) * np.abs(y).max(initial=0))):
        return 0.0
    return float(np.clip(x @ y / scale, -1, 1))


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Pearson's r of the ranks, ties sharing their mean rank; raises as `pearson`."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise NumericalError("A score is NaN or infinite; train the encoder again with a lower learning rate.")
    return pearson(_ranks(x), _ranks(y))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank (N,) values from 1, ties sharing their mean rank; scipy's function loads all of its statistics."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[which]


def mse(first: ArrayLike, second: ArrayLike) -> float:
    """Mean squared error of two (N,) arrays; lower is better."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape:
        raise ValueError(f"The mean squared error needs two arrays of one length, not {x.shape} and {y.shape}.")
    return float(np.mean((x - y) ** 2))


# By the name that `sentbook.data.suites.measure_of` and protocols use.
MEASURES = {"pearson": pearson, "spearman": spearman, "mse": mse}
