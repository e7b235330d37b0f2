"""Correlations of predictions with gold, in [-1, 1]."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.io import NumericalError

Array = NDArray[np.float64]


def finite(scores: ArrayLike) -> Array:
    """Return scores as an array.

    Raises:
        NumericalError: a score is NaN or infinite.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise NumericalError("A score is NaN or infinite; train the encoder again with a lower learning rate.")
    return values


def centred(values: Array) -> Array:
    """Subtract the mean of (N,) values; where they are constant up to rounding, in whatever unit, return exact zeros.

    Example:
        >>> centred(np.array([0.1, 0.1, 0.1])).tolist(), centred(np.array([1.0, 3.0])).tolist()
        ([0.0, 0.0, 0.0], [-1.0, 1.0])
    """
    found = values - values.mean()
    return found if found.std() > 1e-12 * np.abs(values).max() else np.zeros_like(values)


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    r"""Return $r = \mathrm{cov}(x, y) / (\sigma_x \sigma_y)$ of two (N,) arrays; 0 where one is constant (SentEval).

    Raises:
        ValueError: the lengths differ, or there are fewer than two items.
        NumericalError: a value is NaN or infinite.

    Example:
        >>> round(pearson([1, 2, 3], [1, 3, 2]), 4)
        0.5
    """
    x, y = finite(first), finite(second)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
        raise ValueError(f"A correlation needs two arrays of one length of at least 2, not {x.shape} and {y.shape}.")
    x, y = centred(x), centred(y)
    scale = np.sqrt((x @ x) * (y @ y))
    return float(np.clip(x @ y / scale, -1, 1)) if scale else 0.0


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Return Pearson's r of the ranks, ties sharing their mean rank; raises as `pearson`."""
    return pearson(_ranks(finite(first)), _ranks(finite(second)))


def _ranks(values: Array) -> Array:
    """Rank (N,) values from 1, ties sharing their mean rank; scipy's function loads all of its statistics."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[which]


def mse(first: ArrayLike, second: ArrayLike) -> float:
    """Return the mean squared error of two (N,) arrays; lower is better. Unlike `pearson` it checks nothing."""
    return float(np.mean((np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)) ** 2))


# By the name that `sentbook.data.suites.measure_of` and protocols use.
MEASURES = {"pearson": pearson, "spearman": spearman, "mse": mse}
