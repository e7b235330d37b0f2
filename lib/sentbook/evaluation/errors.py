"""What describes errors on pairs: their word overlap, and scores on the gold scale."""

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sentbook.io import ConfigError

Array = NDArray[np.float64]
WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
# What counts as high and low word overlap; Jiao et al. 2018, section 5.3 and table 6, give no bounds.
HIGH, LOW = 0.5, 0.25


def words(sentence: str) -> frozenset[str]:
    """Return the lower-cased words of a sentence."""
    return frozenset(word.lower() for word in WORD.findall(sentence))


def jaccard(first: Sequence[str], second: Sequence[str]) -> Array:
    """Return (N,) word overlaps |A & B| / |A | B| in [0, 1], of the sets of lower-cased words; 0 where both are empty.

    Example:
        >>> jaccard(["A dog, runs!", ""], ["a dog sits", ""]).tolist()
        [0.5, 0.0]
    """
    sets = [(words(a), words(b)) for a, b in zip(first, second, strict=True)]
    return np.array([len(a & b) / len(a | b) if a | b else 0.0 for a, b in sets])


def isotonic(scores: Array, gold: Array) -> Callable[[Array], Array]:
    """Fit the monotone step curve with the least squared error; beyond these pairs it stays constant."""
    from sklearn.isotonic import IsotonicRegression  # a second to load

    curve = IsotonicRegression(out_of_bounds="clip", increasing=True).fit(scores, gold)
    return lambda new: np.asarray(curve.predict(new), dtype=np.float64)


def cross_fitted(scores: Array, gold: Array, *, folds: int = 10) -> Array:
    """Map (N,) scores to the gold scale by `isotonic`, fitted on other pairs: those of the other folds (seed 0).

    Raises:
        ConfigError: there are fewer pairs than folds.
    """
    if not 2 <= folds <= len(scores):
        raise ConfigError(f"{len(scores)} pairs cannot be split into {folds} folds; give more pairs or fewer folds.")
    fold = np.random.default_rng(0).permutation(np.arange(len(scores)) % folds)
    found = np.empty_like(scores)
    for number in range(folds):
        inside = fold == number
        found[inside] = isotonic(scores[~inside], gold[~inside])(scores[inside])
    return found
