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
    order = np.argsort(values, kind="stable")
    values, gold = values[order], gold[order]
    # Deciding no on the first m pairs: only a cut between distinct scores can be made by a threshold.
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]])
    below = np.concatenate([[0], np.cumsum(gold)])[cuts]  # yes among the first m
    quality = (cuts - below + gold.sum() - below) / len(values)
    halfway = (values[1:] + values[:-1]) / 2
    halfway = np.where(halfway > values[:-1], halfway, values[1:])  # between two floats without a third
    bounds = np.concatenate([[min(values[0] - 0.5, 0.0)], halfway, [max(values[-1] + 0.5, 1.0)]])[cuts]
    best = np.flatnonzero(quality >= quality.max() - 1e-12)
    return float(bounds[best[np.argmin(np.abs(bounds[best] - 0.5))]])


def decide(scores: ArrayLike, bound: float) -> Array:
    """Return (N,) of 1 where the score reaches ``bound``, else 0.

    Raises:
        NumericalError: a score is NaN or infinite.
    """
    return (finite(scores) >= bound).astype(np.float64)
