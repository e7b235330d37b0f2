"""A year of STS under every protocol, and the rows of a table: sets, averages of years, total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.protocols import Aggregation, Protocol
from sentbook.system.errors import DataError
from sentbook.training.correlation import MEASURES

__all__ = ["MEASURES"]
TOTAL = "total_avg"
Scores = Mapping[str, NDArray[np.float64]]


class Row(NamedTuple):
    """A cell of a table: the set or average, its value, and the number of pairs behind it."""

    dataset: str
    value: float
    n: int


def evaluate(scores: Scores, sets: Sequence[ScoredPairs], protocol: Protocol) -> float:
    r"""One number for ``sets``.

    Mean: $\frac{1}{K} \sum_k r_k$. Size-weighted: $\sum_k N_k r_k / \sum_k N_k$. Pooled: one $r$ over all pairs.
    A constant prediction has $r = 0$ (SentEval's convention), in its own set or in the pool.

    Args:
        scores: (N,) for each set, by its name.
        sets: at least one; exactly one where the protocol is per set.

    Raises:
        DataError: a set has no scores, or another number of scores than pairs.
        ValueError: no set, or several sets under a protocol that is per set.
        NumericalError: a score is NaN or infinite.
    """
    if not sets or (protocol.aggregation is Aggregation.PER_SET and len(sets) > 1):
        raise ValueError(f"{len(sets)} sets do not make one number {protocol.aggregation}.")
    for pairs in sets:  # before pooling, where two wrong lengths could cancel
        shape = scores[pairs.name].shape if pairs.name in scores else None
        if shape != (len(pairs),):
            raise DataError(f"{pairs.name} has {len(pairs)} pairs but scores of shape {shape}; score it again.")
    measure = MEASURES[protocol.measure]
    if protocol.aggregation is Aggregation.POOLED:
        pooled = np.concatenate([scores[pairs.name] for pairs in sets])
        return measure(pooled, np.concatenate([pairs.gold for pairs in sets]))
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


def year_averages(scores: Scores, sets: Sequence[ScoredPairs], protocol: Protocol) -> list[Row]:
    """``STS2012/avg`` and its like for every year of more than one set, in order."""
    return [
        Row(f"{year}/avg", evaluate(scores, members, protocol), sum(map(len, members)))
        for year, members in by_year(sets).items()
        if len(members) > 1
    ]


def table(
    scores: Scores, sets: Sequence[ScoredPairs], protocol: Protocol, total: Sequence[str] | None = None
) -> list[Row]:
    """Every row of a table: the sets, then (unless the protocol is per set) the years' averages and ``total_avg``.

    Args:
        total: names of the sets behind ``total_avg``; None: all of ``sets``. The papers differ: table 1 of Jiao et al.
            2018 averages 19 STS sets and SICK, table 5 the 19 sets alone.

    Raises:
        KeyError: a name of ``total`` is not among ``sets``.
        DataError, NumericalError: as `evaluate`.
    """
    rows = [Row(pairs.name, evaluate(scores, [pairs], protocol), len(pairs)) for pairs in sets]
    if protocol.aggregation is Aggregation.PER_SET:
        return rows
    by_name = {pairs.name: pairs for pairs in sets}
    counted = [by_name[name] for name in (by_name if total is None else total)]
    summary = Row(TOTAL, evaluate(scores, counted, protocol), sum(map(len, counted)))
    return [*rows, *year_averages(scores, sets, protocol), summary]
