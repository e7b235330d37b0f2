"""Labels of many methods and seeds on the same examples, and every number that is computed from them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sentbook import records as results
from sentbook.evaluation import statistics
from sentbook.evaluation.classification import Classified
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.scorebook import ScoreBook
from sentbook.evaluation.statistics import Estimate

Array = NDArray[np.float64]
KIND = "paired bootstrap"
INTERVALS = "intervals over examples"
PAIRS = ("MSRP", "miniworld/paraphrase")


class TaskBook:
    r"""Predicted labels by method, seed and data set, each data set under one protocol.

    Intervals and tests are of the paired bootstrap over the judged examples, seeds pooled; those of a mean over data
    sets resample each data set by itself. A difference of accuracies

    $$\hat d = \frac{1}{N} \sum_i \Big( \frac{1}{S_a} \sum_s a_{si} - \frac{1}{S_b} \sum_s b_{si} \Big)$$

    depends on the examples only by how many seeds of A and of B are right, so that the counts of these few kinds of
    examples are drawn (multinomially) instead of the examples, which has the same distribution.

    Deviations: a value is the mean over outer folds, as the protocols have it; resampled values pool the folds, whose
    sizes differ by an example.

    Args:
        pairs: data sets that have F1 beside accuracy.

    Example:
        >>> from sentbook.evaluation.classification import SKIP_THOUGHTS_TREC
        >>> book, gold = TaskBook(), np.arange(60) % 2
        >>> for method, wrong in (("A", 6), ("B", 18)):
        ...     labels = np.where(np.arange(60) < wrong, 1 - gold, gold)
        ...     one = (np.zeros_like(gold), np.ones((1, 9)), np.ones(1))  # a fold, a mean a C, the C chosen
        ...     book.add(method, 1, "TREC", Classified(SKIP_THOUGHTS_TREC, gold, labels, *one))
        >>> found = book.difference("A", "B", "TREC")
        >>> round(found.estimate, 2), found.low > 0
        (0.2, True)
    """

    def __init__(self, pairs: Sequence[str] = PAIRS) -> None:
        self.pairs = tuple(pairs)
        self._found: dict[str, dict[str, dict[int | None, Classified]]] = {}

    # -- contents ------------------------------------------------------------------------------------------------------

    @property
    def methods(self) -> list[str]:
        return list(self._found)

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(name for by_set in self._found.values() for name in by_set))

    @property
    def cells(self) -> list[tuple[str, Measure]]:
        """The columns of the table: every data set's accuracy, and F1 of those of pairs."""
        return [(name, measure) for name in self.datasets for measure in self.measures(name)]

    def measures(self, dataset: str) -> list[Measure]:
        return [Measure.ACCURACY, Measure.F1] if dataset in self.pairs else [Measure.ACCURACY]

    def has(self, method: str, dataset: str) -> bool:
        return dataset in self._found.get(method, {})

    def seeds(self, method: str, dataset: str) -> list[int | None]:
        return list(self._found[method][dataset])

    def add(self, method: str, seed: int | None, dataset: str, classified: Classified) -> None:
        """Take the labels of one method, seed and data set.

        Raises:
            ValueError: other examples or another protocol than the data set's before; F1 of several folds.
        """
        held = next((other for by_set in self._found.values() for other in by_set.get(dataset, {}).values()), None)
        if held is not None and not np.array_equal(held.gold, classified.gold):
            raise ValueError(f"{method}, seed {seed}: {dataset} has other examples here than before.")
        if held is not None and held.protocol != classified.protocol:
            raise ValueError(
                f"{method}, seed {seed}: {dataset} was judged by '{held.protocol}', not by '{classified.protocol}'."
            )
        if dataset in self.pairs and classified.fold.any():
            raise ValueError(f"{method}, seed {seed}: F1 of {dataset} is of one test and not of several folds.")
        self._found.setdefault(method, {}).setdefault(dataset, {})[seed] = classified

    def right(self, method: str, dataset: str) -> NDArray[np.bool_]:
        """(S, N) whether each label is right, a row a seed."""
        return np.stack([found.right for found in self._found[method][dataset].values()])

    def predicted(self, method: str, dataset: str) -> NDArray[np.int64]:
        """(S, N) labels, a row a seed."""
        return np.stack([found.predicted for found in self._found[method][dataset].values()])

    def gold(self, dataset: str) -> NDArray[np.int64]:
        """(N,) the right labels.

        Raises:
            KeyError: no method was judged on the data set.
        """
        return next(iter(next(by_set[dataset] for by_set in self._found.values() if dataset in by_set).values())).gold

    # -- numbers -------------------------------------------------------------------------------------------------------

    def values(self, method: str, dataset: str, measure: Measure = Measure.ACCURACY) -> list[float]:
        """A value for every seed."""
        return [found.value(measure) for found in self._found[method][dataset].values()]

    def mean(self, method: str, dataset: str, measure: Measure = Measure.ACCURACY) -> float:
        """The mean over seeds."""
        return float(np.mean(self.values(method, dataset, measure)))

    def metric_rows(self) -> list[results.Metric]:
        """The ledger's rows: every method, data set, seed and measure."""
        return [
            found.metric(method, dataset, seed, measure)
            for method, by_set in self._found.items()
            for dataset, by_seed in by_set.items()
            for measure in self.measures(dataset)
            for seed, found in by_seed.items()
        ]

    def interval(
        self, method: str, dataset: str, measure: Measure = Measure.ACCURACY, resamples: int = 2000
    ) -> Estimate:
        """One method's value, mean over seeds, with its 95 % interval over examples."""
        (sampled,) = self._bootstrap([method], dataset, measure, resamples)
        low, high = np.percentile(sampled, [2.5, 97.5])
        return Estimate(self.mean(method, dataset, measure), float(low), float(high))

    def extra(self, resamples: int = 2000) -> dict[str, Any]:
        """For a run's ``extra``: measure -> data set -> method -> the ends of its interval over examples."""
        found: dict[str, dict[str, dict[str, list[float]]]] = {}
        for dataset, measure in self.cells:
            for method in self.methods:
                if self.has(method, dataset):
                    ends = self.interval(method, dataset, measure, resamples)
                    found.setdefault(str(measure), {}).setdefault(dataset, {})[method] = [ends.low, ends.high]
        return {INTERVALS: found}

    # -- comparisons ---------------------------------------------------------------------------------------------------

    def difference(
        self, a: str, b: str, dataset: str, measure: Measure = Measure.ACCURACY, resamples: int = 2000
    ) -> results.Test:
        """A - B on one data set."""
        return self.mean_difference(a, b, [dataset], measure, resamples, name=dataset)

    def mean_difference(
        self,
        a: str,
        b: str,
        datasets: Sequence[str],
        measure: Measure = Measure.ACCURACY,
        resamples: int = 2000,
        *,
        name: str = "",
    ) -> results.Test:
        """A - B, the plain mean over several data sets.

        Args:
            name: of the mean; empty: ``mean of MR, CR``.

        Raises:
            ValueError: no data sets.
            KeyError: A or B was not judged on one of them.
        """
        if not datasets:
            raise ValueError("A mean difference needs at least one data set.")
        point, sampled = 0.0, np.zeros(resamples)
        for dataset in datasets:
            first, second = self._bootstrap([a, b], dataset, measure, resamples)
            sampled += (first - second) / len(datasets)
            point += (self.mean(a, dataset, measure) - self.mean(b, dataset, measure)) / len(datasets)
        found = statistics.from_bootstrap(point, sampled)
        return results.Test(
            kind=KIND,
            a=a,
            b=b,
            dataset=name or f"mean of {', '.join(datasets)}",
            metric=str(measure),
            estimate=found.estimate,
            low=found.low,
            high=found.high,
            p=found.p,
        )

    def table_tests(self, a: str, b: str, resamples: int = 2000) -> list[results.Test]:
        """A - B in every column where both were judged, Holm's correction over these."""
        columns = [(name, measure) for name, measure in self.cells if self.has(a, name) and self.has(b, name)]
        return corrected([self.difference(a, b, name, measure, resamples) for name, measure in columns])

    def _bootstrap(self, methods: Sequence[str], dataset: str, measure: Measure, resamples: int) -> list[Array]:
        """For each method (R,) values, the mean over its seeds; one draw serves all methods of a call."""
        rng = np.random.default_rng([0, zlib.crc32(dataset.encode())])
        if measure is Measure.ACCURACY:
            kinds, sizes = _kinds(np.stack([self.right(method, dataset).mean(axis=0) for method in methods]))
            shares = _drawn(sizes, resamples, rng) @ kinds.T / sizes.sum()
            return [np.asarray(column) for column in shares.T]
        name = _f1(measure)
        tables = [self.predicted(method, dataset) == 1 for method in methods]
        gold = self.gold(dataset) == 1
        kinds, sizes = _kinds(np.concatenate([gold[None], *tables]).astype(np.float64))
        counts = _drawn(sizes, resamples, rng)
        ends = np.cumsum([1, *map(len, tables)])
        return [
            statistics.bootstrap(name, kinds[start:end], kinds[0], counts) for start, end in pairwise(ends.tolist())
        ]


def corrected(family: Sequence[results.Test]) -> list[results.Test]:
    """The tests with Holm's p over all of them."""
    adjusted = statistics.holm([1.0 if test.p is None else test.p for test in family])
    return [test.model_copy(update={"p_holm": p}) for test, p in zip(family, adjusted, strict=True)]


def pair_intervals(
    book: ScoreBook,
    measures: Iterable[Measure] = (Measure.PEARSON, Measure.SPEARMAN, Measure.MSE),
    resamples: int = 2000,
) -> dict[str, Any]:
    """As `TaskBook.extra`, of the data sets of a book of scores."""
    found = {
        str(measure): {
            name: {method: _ends(book, method, name, measure, resamples) for method in book.methods}
            for name in book.names
        }
        for measure in measures
    }
    return {INTERVALS: found}


def _ends(book: ScoreBook, method: str, dataset: str, measure: Measure, resamples: int) -> list[float]:
    found = book.interval(method, dataset, str(measure), resamples)
    return [found.low, found.high]


def _kinds(columns: Array) -> tuple[Array, NDArray[np.int64]]:
    """(K, G) the distinct columns of a (K, N) table, and (G,) how often each occurs."""
    codes = np.zeros(columns.shape[1], dtype=np.int64)
    for row in columns:
        values, part = np.unique(row, return_inverse=True)
        _, codes = np.unique(codes * len(values) + part, return_inverse=True)  # again below N: no overflow
    _, first, sizes = np.unique(codes, return_index=True, return_counts=True)
    return columns[:, first], sizes


def _drawn(sizes: NDArray[np.int64], resamples: int, rng: np.random.Generator) -> Array:
    """(R, G) counts of each kind in resamples of all N examples."""
    return rng.multinomial(sizes.sum(), sizes / sizes.sum(), size=resamples).astype(np.float64)


def _f1(measure: Measure) -> Literal["f1"]:
    if measure is not Measure.F1:
        raise ValueError(f"Labels have accuracy and F1, not {measure}.")
    return "f1"
