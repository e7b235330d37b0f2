"""Measures, and how a number was computed, as a value that travels with it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from sentbook.data import suites
from sentbook.data.text import Tokenisation
from sentbook.evaluation.statistics import MEANS
from sentbook.training import correlation
from sentbook.training.correlation import Array, finite


class Score(StrEnum):
    """Where a pair's score comes from."""

    COSINE = "cosine"
    TRAINED_HEAD = "trained head"
    TRAINED_COSINE = "trained cosine"
    TRAINED_DISTANCE = "trained distance"


class Measure(StrEnum):
    """What is computed from scores and gold."""

    PEARSON = "pearson"
    SPEARMAN = "spearman"
    MSE = "mse"
    MAE = "mae"
    ACCURACY = "accuracy"
    F1 = "f1"
    MEAN = "mean"


class Aggregation(StrEnum):
    """How the sets of a year become one number."""

    PER_SET = "per set"
    MEAN = "mean of sets"
    WEIGHTED = "size-weighted mean of sets"
    POOLED = "pooled pairs"


@dataclass(frozen=True)
class Protocol:
    """One way to a number; `str` is what table headers print.

    Attributes:
        detail: what else decides the number, such as the epoch or the threshold.

    Example:
        >>> str(Protocol(Score.COSINE, Measure.PEARSON))
        'cosine, pearson, mean of sets, ptb tokens'
    """

    score: Score
    measure: Measure
    aggregation: Aggregation = Aggregation.MEAN
    tokens: Tokenisation = "ptb"
    detail: str = ""

    def __str__(self) -> str:
        words = f"{self.score}, {self.measure}, {self.aggregation}, {self.tokens} tokens"
        return f"{words}, {self.detail}" if self.detail else words


def f1(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Return the harmonic mean of precision and recall of class 1; 0 where nothing is or is called class 1."""
    found, right = np.stack([predicted, gold]) == 1
    return 2 * int((found & right).sum()) / max(int(found.sum() + right.sum()), 1)


def _mean_of(name: str) -> Callable[[ArrayLike, ArrayLike], float]:
    return lambda predicted, gold: float(MEANS[name](*np.stack([predicted, gold])).mean())


MEASURES: dict[Measure, Callable[[ArrayLike, ArrayLike], float]] = {
    **{Measure(name): _mean_of(name) for name in MEANS},
    **{Measure(name): measure for name, measure in correlation.MEASURES.items()},
    Measure.F1: f1,
}
COSINE_PEARSON = Protocol(Score.COSINE, Measure.PEARSON)
# What the authors of each test set ask for, by its name in tables.
TEST_MEASURES: dict[str, Measure] = {
    suites.STSB_DEV: Measure(suites.measure_of("stsb")),
    **{name: Measure(suites.measure_of(dataset)) for dataset, name in suites.TEST_NAMES.items()},
}


def measure_on(name: str) -> Measure:
    """Return the correlation that a test set's authors ask for, of it or a part of it; Pearson's where they name none.

    Example:
        >>> str(measure_on("PAC")), str(measure_on("STS12/MSRpar"))
        ('spearman', 'pearson')
    """
    return TEST_MEASURES.get(name) or TEST_MEASURES.get(name.partition("/")[0]) or Measure.PEARSON


# -- yes or no from scores ---------------------------------------------------------------------------------------------


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
