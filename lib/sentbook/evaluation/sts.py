"""A year of STS under every protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.correlation import mse, pearson, spearman
from sentbook.evaluation.protocols import Aggregation, Measure, Protocol

MEASURES = {Measure.PEARSON: pearson, Measure.SPEARMAN: spearman, Measure.MSE: mse}


def evaluate(scores: Mapping[str, NDArray[np.float64]], sets: Sequence[ScoredPairs], protocol: Protocol) -> float:
    r"""One number for ``sets``.

    Mean: $\frac{1}{K} \sum_k r_k$. Size-weighted: $\sum_k N_k r_k / \sum_k N_k$. Pooled: one $r$ over all pairs.

    Args:
        scores: (N,) for each set, by its name.

    Raises:
        KeyError: a set has no scores.
        ValueError: scores and gold differ in length.
    """
    measure = MEASURES[protocol.measure]
    if protocol.aggregation is Aggregation.POOLED:
        return measure(np.concatenate([scores[pairs.name] for pairs in sets]), np.concatenate([pairs.gold for pairs in sets]))
    values = [measure(scores[pairs.name], pairs.gold) for pairs in sets]
    weights = [len(pairs) for pairs in sets] if protocol.aggregation is Aggregation.WEIGHTED else None
    return float(np.average(values, weights=weights))


def year_of(name: str) -> str:
    """``STS2012`` of ``STS2012/MSRpar``; a set without a slash is a group of its own."""
    return name.split("/", 1)[0]


def by_year(sets: Sequence[ScoredPairs]) -> dict[str, list[ScoredPairs]]:
    """The sets of each year, in order."""
    years: dict[str, list[ScoredPairs]] = {}
    for pairs in sets:
        years.setdefault(year_of(pairs.name), []).append(pairs)
    return years
