"""Gold scores on the classes 1..K of a classifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.io import DataError

Array = NDArray[np.float64]
Limits = tuple[float, float]


def shift_to_classes(gold: ArrayLike, scale: Limits) -> tuple[Array, int]:
    r"""Gold scores shifted to begin at 1, and the number K of classes whose expectation they are.

    $y + 1 - y_{\min}$ and $K = y_{\max} - y_{\min} + 1$: y + 1 and 6 on 0 to 5, y + 1 and 5 on 0 to 4, y + 3 and 5 on
    -2 to 2; SICK's 1 to 5 stays.

    Source: Zhang et al. 2018, section 4.3, which takes a score in [1, K] as given.
    Deviations: SentEval gives STS Benchmark's scores from 0 to 5 five classes, so that targets of scores below 1 do not
    sum to one.

    Args:
        gold: (N,) scores on ``scale``.
        scale: whole limits.

    Returns:
        (N,) in [1, K], and K.

    Raises:
        ValueError: limits that do not rise, or are not whole.
        DataError: a score outside ``scale``.

    Example:
        >>> scores, classes = shift_to_classes([-2, 0.5, 2], (-2, 2))
        >>> scores.tolist(), classes
        ([1.0, 3.5, 5.0], 5)
    """
    low, high = _rising(scale)
    if low != int(low) or high != int(high):
        raise ValueError(f"A scale from {low:g} to {high:g} has no whole classes.")
    return _inside(gold, scale) + (1 - low), int(high - low) + 1


def _rising(limits: Limits) -> Limits:
    low, high = limits
    if not low < high:
        raise ValueError(f"The limits {low:g} and {high:g} do not rise.")
    return limits


def _inside(gold: ArrayLike, scale: Limits) -> Array:
    low, high = _rising(scale)
    scores = np.asarray(gold, dtype=np.float64)
    outside = ~((scores >= low) & (scores <= high))  # so NaN is outside
    if outside.any():
        raise DataError(
            f"{outside.sum()} of {outside.size} gold scores lie outside {low:g} to {high:g}; name the scale on which "
            "they are published."
        )
    return scores
