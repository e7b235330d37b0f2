"""The measures by their names, and the years of STS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.protocols import Measure
from sentbook.training import correlation


def accuracy(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Share of the labels that are right."""
    return float((np.asarray(predicted) == np.asarray(gold)).mean())


def f1(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Harmonic mean of precision and recall of class 1; 0 where nothing is or is called class 1."""
    found, right = np.asarray(predicted) == 1, np.asarray(gold) == 1
    return 2 * int((found & right).sum()) / max(int(found.sum() + right.sum()), 1)


MEASURES = {
    **{Measure(name): measure for name, measure in correlation.MEASURES.items()},
    Measure.ACCURACY: accuracy,
    Measure.F1: f1,
}
TOTAL = "total_avg"


def year_of(name: str) -> str:
    """``STS2012`` of ``STS2012/MSRpar``; a set without a slash is a group of its own."""
    return name.split("/", 1)[0]


def by_year(sets: Sequence[ScoredPairs]) -> dict[str, list[ScoredPairs]]:
    """The sets of each year, in order."""
    years: dict[str, list[ScoredPairs]] = {}
    for pairs in sets:
        years.setdefault(year_of(pairs.name), []).append(pairs)
    return years
