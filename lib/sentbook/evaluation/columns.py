"""A column of a wide table: one number of each method, and what resampling the items makes of it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook import records as results
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics, ties
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.statistics import MetricName
from sentbook.evaluation.taskbook import INTERVALS

Array = NDArray[np.float64]
COLUMNS, LETTERS = "columns", "letters"
KIND = "paired bootstrap, p adjusted for all pairs of the column"


@dataclass(frozen=True)
class Items:
    """What is judged: gold scores or labels of N items. Items of the same ``key`` are resampled together."""

    key: str
    gold: Array

    @classmethod
    def of(cls, pairs: ScoredPairs) -> Items:
        """Pairs are the same items wherever their sentences are the same, whatever was asked of them."""
        return cls("\n".join([*pairs.first, *pairs.second]), pairs.gold)

    def drawn(self, resamples: int) -> NDArray[np.float32]:
        """(R, N) how often each item is in each resample."""
        return statistics.resample_counts(len(self.gold), resamples, [0, zlib.crc32(self.key.encode())])


@dataclass(frozen=True)
class Column:
    """One number of each method.

    Attributes:
        values: by method, the mean over its seeds.
        sampled: by method (R,) values over resamples of the items, the mean over its seeds in each.
        n: items behind it.
    """

    name: str
    measure: str
    values: Mapping[str, float]
    sampled: Mapping[str, Array]
    n: int

    @property
    def methods(self) -> list[str]:
        return list(self.values)

    @property
    def best(self) -> str:
        """The method of the highest value; of equals the first."""
        return max(self.values, key=lambda method: self.values[method])

    def interval(self, method: str) -> tuple[float, float]:
        """The 95 % percentile interval over items."""
        low, high = np.percentile(self.sampled[method], [2.5, 97.5])
        return float(low), float(high)

    @cached_property
    def p(self) -> NDArray[np.float64]:
        """(M, M) p-values of all pairs of methods, see `sentbook.evaluation.ties.all_pairs`."""
        names = self.methods
        return ties.all_pairs([self.values[m] for m in names], np.stack([self.sampled[m] for m in names]))

    def letters(self) -> dict[str, str]:
        """By method the letters it shares with those that the test cannot tell from it."""
        found = ties.letters([self.values[m] for m in self.methods], self.p < ties.LEVEL)
        return dict(zip(self.methods, found, strict=True))

    def tests(self) -> list[results.Test]:
        """The best method minus every other one; the interval is of this difference alone, p is adjusted."""
        best = self.best
        place = self.methods.index(best)
        made = []
        for other, method in enumerate(self.methods):
            if method == best:
                continue
            plain = statistics.from_bootstrap(
                self.values[best] - self.values[method], self.sampled[best] - self.sampled[method]
            )
            made.append(
                results.Test(
                    kind=KIND,
                    a=best,
                    b=method,
                    dataset=self.name,
                    metric=self.measure,
                    estimate=plain.estimate,
                    low=plain.low,
                    high=plain.high,
                    p=float(self.p[place, other]),
                )
            )
        return made


def column(
    name: str,
    measure: Measure,
    parts: Sequence[Items],
    tables: Mapping[str, Sequence[ArrayLike]],
    resamples: int,
) -> Column:
    """Each method's value, the plain mean over ``parts``.

    Args:
        tables: by method, for each part (S, N) scores or labels, a row a seed.

    Raises:
        ValueError, NumericalError: as `sentbook.evaluation.statistics.bootstrap`.

    Example:
        >>> gold = np.arange(50) % 2
        >>> found = column("X", Measure.ACCURACY, [Items("X", gold)], {"all": [gold], "none": [1 - gold]}, 200)
        >>> found.values["all"], found.letters()
        (1.0, {'all': 'a', 'none': 'b'})
    """
    metric = cast(MetricName, str(measure))
    points, sampled = dict.fromkeys(tables, 0.0), {method: np.zeros(resamples) for method in tables}
    for place, items in enumerate(parts):
        counts, whole = items.drawn(resamples), np.ones((1, len(items.gold)))
        for method, by_part in tables.items():
            points[method] += float(statistics.bootstrap(metric, by_part[place], items.gold, whole)[0]) / len(parts)
            sampled[method] += statistics.bootstrap(metric, by_part[place], items.gold, counts) / len(parts)
    return Column(name, str(measure), points, sampled, sum(len(items.gold) for items in parts))


def mean_of(name: str, measure: str, columns: Iterable[Column]) -> Column:
    """The plain mean over columns, of the methods that all of them hold."""
    parts = list(columns)
    methods = [method for method in parts[0].methods if all(method in part.values for part in parts)]
    return Column(
        name,
        measure,
        {method: float(np.mean([part.values[method] for part in parts])) for method in methods},
        {method: np.mean([part.sampled[method] for part in parts], axis=0) for method in methods},
        sum(part.n for part in parts),
    )


def summary(columns: Iterable[Column]) -> dict[str, Any]:
    """For a run's ``extra``: the columns' order, and by measure, column and method the interval and the letters."""
    order: list[list[str]] = []
    ends: dict[str, dict[str, dict[str, list[float]]]] = {}
    groups: dict[str, dict[str, dict[str, str]]] = {}
    for one in columns:
        order.append([one.name, one.measure])
        ends.setdefault(one.measure, {})[one.name] = {method: list(one.interval(method)) for method in one.methods}
        groups.setdefault(one.measure, {})[one.name] = one.letters()
    return {COLUMNS: order, INTERVALS: ends, LETTERS: groups}
