"""Yes or no from scores: thresholds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.training.correlation import finite

Array = NDArray[np.float64]


def threshold(scores: ArrayLike, labels: ArrayLike) -> float:
    """Return the threshold that decides most of these pairs rightly: yes where the score reaches it.

    Candidates lie halfway between neighbouring distinct scores, and beyond the least and the greatest; of several that
    are best, the nearest to .5.

    Args:
        scores: (N,) in [0, 1].
        labels: (N,) of 0 and 1.

    Raises:
        NumericalError: a score is NaN or infinite.

    Example:
        >>> threshold([0.1, 0.4, 0.6, 0.9], [0, 1, 1, 1])
        0.25
    """
    values, gold = finite(scores), np.asarray(labels) == 1
    distinct = np.unique(values)
    halfway = (distinct[1:] + distinct[:-1]) / 2
    halfway = np.where(halfway > distinct[:-1], halfway, distinct[1:])  # between two floats without a third
    bounds = np.concatenate([[min(distinct[0] - 0.5, 0.0)], halfway, [max(distinct[-1] + 0.5, 1.0)]])
    right = np.array([np.count_nonzero((values >= bound) == gold) for bound in bounds])
    best = bounds[right == right.max()]
    return float(best[np.argmin(np.abs(best - 0.5))])


def decide(scores: ArrayLike, bound: float) -> Array:
    """Return (N,) of 1 where the score reaches ``bound``, else 0.

    Raises:
        NumericalError: a score is NaN or infinite.
    """
    return (finite(scores) >= bound).astype(np.float64)
