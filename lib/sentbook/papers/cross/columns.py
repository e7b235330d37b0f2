"""A column of the matrix: one number of each method, and what resampling the items makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics, ties
from sentbook.evaluation.predictions import INTERVALS, Draw, Predictions, crc
from sentbook.evaluation.protocols import Measure
from sentbook.records import Test

Array = NDArray[np.float64]
COLUMNS, LETTERS = "columns", "letters"
SIMILARITY, CLASSIFICATION = "similarity mean", "classification mean"
KIND = "paired bootstrap, p adjusted for all pairs of the column"


def by_text(sets: Iterable[ScoredPairs]) -> Draw:
    """Draw pairs by their sentences: the same items wherever these are the same, whatever was asked of them."""
    texts = {pairs.name: "\n".join([*pairs.first, *pairs.second]) for pairs in sets}
    return Draw(lambda name: crc(texts[name]))


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

    def tests(self) -> list[Test]:
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
            test = Test.of(plain, kind=KIND, a=best, b=method, dataset=self.name, metric=self.measure)
            made.append(test.model_copy(update={"p": float(self.p[place, other])}))
        return made


def column(book: Predictions, row: str, measure: Measure, resamples: int) -> Column:
    """The value on a row of each method that was judged on all of it, the plain mean over its data sets.

    Example:
        >>> from sentbook.evaluation.predictions import task_predictions
        >>> book = task_predictions(draw=Draw(crc))
        >>> for method, share in (("all", 50), ("none", 0)):
        ...     book.add_labels(method, 1, "X", (np.arange(50) % 2 + (np.arange(50) >= share)) % 2, np.arange(50) % 2)
        >>> found = column(book, "X", Measure.ACCURACY, 200)
        >>> found.values["all"], found.letters()
        (1.0, {'all': 'a', 'none': 'b'})
    """
    methods, parts = [method for method in book.methods if book.has(method, row)], book.members(row)
    points, sampled = dict.fromkeys(methods, 0.0), {method: np.zeros(resamples) for method in methods}
    for name in parts:
        whole = np.ones((1, len(book.gold(name))))
        for method in methods:
            value = statistics.bootstrap(measure, book.stacked(method, name), book.gold(name), whole)
            points[method] += float(value[0]) / len(parts)
            sampled[method] += book.resampled([method], name, measure, resamples)[0] / len(parts)
    return Column(row, str(measure), points, sampled, sum(len(book.gold(name)) for name in parts))


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
