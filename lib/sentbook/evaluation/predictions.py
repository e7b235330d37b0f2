"""The book of predictions: what methods say of every item of every data set, and every number computed from it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics
from sentbook.evaluation.classification import Classified
from sentbook.evaluation.protocols import Aggregation, Measure, Protocol, Score, measure_on
from sentbook.evaluation.statistics import Estimate, corrected, from_bootstrap, percentiles, seed_spread, two_levels
from sentbook.evaluation.sts import MEASURES, TOTAL, by_year
from sentbook.io import NumericalError
from sentbook.records import Metric, Scores, Test, rounded
from sentbook.training.correlation import pearson

Array = NDArray[np.float64]
Stream = Callable[[str], Sequence[int]]
Row = str | Sequence[str]  # a data set, a mean of several by its name, or the data sets of a mean
KIND = "paired bootstrap"
AND_SEEDS = ", t over seeds"
INTERVALS = "intervals over examples"
# Classification tasks of pairs, which have F1 beside accuracy.
PAIRS = ("MSRP", "miniworld/paraphrase")


# -- how items are resampled -------------------------------------------------------------------------------------------


def crc(name: str) -> list[int]:
    """Seed a stream by a text, the same on every machine.

    Example:
        >>> crc("MR")
        [0, 2171278191]
    """
    return [0, zlib.crc32(name.encode())]


class Draw:
    """Resamples of a data set's items: one draw serves all methods and seeds, so that differences are paired.

    Args:
        stream: data set -> the seed of its draw.
    """

    shared = True  # a method's resampled values do not depend on which methods they are compared with

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._counts: dict[tuple[str, int], NDArray[np.uint8]] = {}

    def counts(self, name: str, items: int, resamples: int) -> NDArray[np.uint8]:
        """(R, N) how often each item is drawn in each resample; an item is never drawn 256 times."""
        if (name, resamples) not in self._counts:
            drawn = statistics.resample_counts(items, resamples, self.stream(name))
            self._counts[name, resamples] = drawn.astype(np.uint8)
        return self._counts[name, resamples]

    def values(self, name: str, tables: Sequence[Array], gold: Array, metric: Measure, resamples: int) -> list[Array]:
        """For each (S, N) table the (R,) resampled values, the mean over its seeds in each."""
        counts = self.counts(name, len(gold), resamples)
        return [statistics.bootstrap(metric, table, gold, counts) for table in tables]


class _Masked(Draw):
    """The draw of whole data sets, read at some of their items."""

    def __init__(self, whole: Draw, kept: Mapping[str, NDArray[np.bool_]]) -> None:
        super().__init__(whole.stream)
        self._whole, self._kept = whole, kept

    def counts(self, name: str, items: int, resamples: int) -> NDArray[np.uint8]:
        kept = self._kept.get(name)
        if kept is None:
            return self._whole.counts(name, items, resamples)
        return self._whole.counts(name, len(kept), resamples)[:, kept]


class DrawKinds(Draw):
    r"""Resamples of labels by the kinds of examples that there are, which has the same distribution as `Draw`.

    A difference of accuracies

    $$\hat d = \frac{1}{N} \sum_i \Big( \frac{1}{S_a} \sum_s a_{si} - \frac{1}{S_b} \sum_s b_{si} \Big)$$

    depends on the examples only by how many seeds of A and of B are right, so that the counts of these few kinds of
    examples are drawn (multinomially) instead of the examples. The kinds depend on which methods are compared.
    """

    shared = False

    def values(self, name: str, tables: Sequence[Array], gold: Array, metric: Measure, resamples: int) -> list[Array]:
        rng = np.random.default_rng(list(self.stream(name)))
        if metric == Measure.ACCURACY:
            kinds, sizes = _kinds(np.stack([(table == gold).mean(axis=0) for table in tables]))
            shares = _drawn(sizes, resamples, rng) @ kinds.T / sizes.sum()
            return [np.asarray(column) for column in shares.T]
        if metric != Measure.F1:
            raise ValueError(f"Labels have accuracy and F1, not {metric}.")
        kinds, sizes = _kinds(np.concatenate([(gold == 1)[None], *(table == 1 for table in tables)]).astype(np.float64))
        counts = _drawn(sizes, resamples, rng)
        ends = np.cumsum([1, *map(len, tables)])
        return [
            statistics.bootstrap(metric, kinds[start:end], kinds[0], counts) for start, end in pairwise(ends.tolist())
        ]


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


# -- the book ----------------------------------------------------------------------------------------------------------


class Predictions:
    """Scores or labels by method, seed and data set, on the same items for every method.

    A row of a table is a data set or a mean of several. Intervals and tests resample the items of each data set by
    itself, the same for every method. A value is the mean over seeds. An interval is of new trainings on new items, see
    `sentbook.evaluation.statistics.two_levels`; without ``resample_seeds`` of these trainings on new items.

    Args:
        sets: scored pairs, or gold by name, in the table's order; more come with `add`.
        means: row -> the data sets whose plain mean it is.
        draw: how items are resampled; None: by the place of their data set.
        measures: data set -> what is computed of it; the first is meant where none is named.

    Assumptions: items are independent draws within a data set; the data sets are fixed.
    Source: Efron and Tibshirani 1993, chapters 13 and 16; Berg-Kirkpatrick et al. 2012 for paired systems.

    Example:
        >>> book = decision_predictions("toy", np.arange(60) % 2)
        >>> for method, wrong in (("A", 6), ("B", 18)):
        ...     book.add(method, 1, "toy", np.where(np.arange(60) < wrong, 1 - book.gold("toy"), book.gold("toy")))
        >>> found = book.difference("A", "B")
        >>> round(found.estimate, 2), found.low > 0
        (0.2, True)
    """

    def __init__(
        self,
        sets: Iterable[ScoredPairs] | Mapping[str, ArrayLike] = (),
        *,
        means: Mapping[str, Sequence[str]] | None = None,
        draw: Draw | None = None,
        measures: Callable[[str], Sequence[Measure]] = lambda name: (measure_on(name),),
    ) -> None:
        self._pairs: dict[str, ScoredPairs] = {}
        self._gold: dict[str, Array] = {}
        if isinstance(sets, Mapping):
            self._gold = {name: np.asarray(gold, dtype=np.float64) for name, gold in sets.items()}
        else:
            self._pairs = {pairs.name: pairs for pairs in sets}
            self._gold = {name: pairs.gold for name, pairs in self._pairs.items()}
        self._members = {row: list(names) for row, names in (means or {}).items()}
        self._draw = draw or Draw(lambda name: [0, self.names.index(name)])
        self._measures = measures
        self._folds: dict[str, NDArray[np.int64]] = {}
        self._protocols: dict[str, str] = {}
        self._values: dict[str, dict[int | None, dict[str, Array]]] = {}
        self._resampled: dict[tuple[str, str, str, int], Array] = {}

    # -- contents ------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The data sets."""
        return list(self._gold)

    @property
    def averages(self) -> list[str]:
        """The rows that are means of data sets."""
        return list(self._members)

    @property
    def total(self) -> list[str]:
        """The data sets behind the total average."""
        return self._members.get(TOTAL, [])

    @property
    def methods(self) -> list[str]:
        return list(self._values)

    def seeds(self, method: str, row: Row | None = None) -> list[int | None]:
        """The seeds of a method, or those that were judged on all of a row."""
        names = set() if row is None else set(self.members(row))
        return [seed for seed, by_set in self._values[method].items() if names <= by_set.keys()]

    def has(self, method: str, row: Row) -> bool:
        """Tell whether any seed of ``method`` was judged on the row."""
        return method in self._values and bool(self.seeds(method, row))

    def pairs(self, name: str) -> ScoredPairs:
        return self._pairs[name]

    def gold(self, name: str) -> Array:
        return self._gold[name]

    def members(self, row: Row) -> list[str]:
        """The data sets behind a row: itself, or those that it averages."""
        return self._members.get(row, [row]) if isinstance(row, str) else list(row)

    def measures(self, row: str) -> list[Measure]:
        """What is computed of a row, the one that is meant where none is named first."""
        return list(self._measures(row))

    @property
    def cells(self) -> list[tuple[str, Measure]]:
        """Every data set in every measure of it."""
        return [(name, measure) for name in self.names for measure in self.measures(name)]

    def add(self, method: str, seed: int | None, dataset: str, values: ArrayLike) -> None:
        """Take the (N,) scores or labels of one method, seed and data set, rounded to what a record keeps of them.

        Raises:
            ValueError: another number of values than items, a data set that is not in the book, or no labels where the
                data set has labels.
            NumericalError: a value is NaN or infinite.
        """
        array = np.asarray(values, dtype=np.float64)
        where = f"{method}, seed {seed}"
        if dataset not in self._gold or array.shape != self._gold[dataset].shape:
            raise ValueError(f"{where}: {array.shape} values do not fit {dataset}.")
        if not np.isfinite(array).all():
            raise NumericalError(
                f"{where}: a score on {dataset} is NaN or infinite; train it with a lower learning rate."
            )
        measures = self.measures(dataset)
        if Measure.ACCURACY in measures and not (array == np.abs(array.round())).all():
            raise ValueError(f"{where}: a value on {dataset} is no label.")
        if Measure.F1 in measures and not np.isin(array, (0, 1)).all():
            raise ValueError(f"{where}: a decision on {dataset} is neither 0 nor 1.")
        self._values.setdefault(method, {}).setdefault(seed, {})[dataset] = rounded(array)
        self._resampled = {key: found for key, found in self._resampled.items() if key[0] != method}

    def add_labels(self, method: str, seed: int | None, dataset: str, labels: ArrayLike, gold: ArrayLike) -> None:
        """Take labels of a data set whose gold comes with them, the same for every method; raises as `add`."""
        known = self._gold.setdefault(dataset, np.asarray(gold, dtype=np.float64))
        if not np.array_equal(known, np.asarray(gold)):
            raise ValueError(f"{method}, seed {seed}: {dataset} has other examples here than before.")
        self.add(method, seed, dataset, labels)

    def add_classified(self, method: str, seed: int | None, dataset: str, found: Classified) -> None:
        """Take the labels of one method, seed and data set, judged by the data set's one protocol.

        A value is the mean over the outer folds, as the protocols have it. Deviation: resampled values pool the folds,
        whose sizes differ by an example.

        Raises:
            ValueError: other examples or another protocol than the data set's before; F1 of several folds.
        """
        where, protocol = f"{method}, seed {seed}", str(found.protocol)
        if self._protocols.setdefault(dataset, protocol) != protocol:
            raise ValueError(f"{where}: {dataset} was judged by '{self._protocols[dataset]}', not by '{protocol}'.")
        if Measure.F1 in self.measures(dataset) and found.fold.any():
            raise ValueError(f"{where}: F1 of {dataset} is of one test and not of several folds.")
        self.add_labels(method, seed, dataset, found.predicted, found.gold)
        self._folds[dataset] = found.fold

    def only(self, methods: Iterable[str]) -> Predictions:
        """Copy the book with these methods alone, and with the same resamples."""
        found = Predictions(means=self._members, draw=self._draw, measures=self._measures)
        found._pairs, found._gold, found._folds = self._pairs, self._gold, self._folds
        found._protocols = self._protocols
        found._values = {name: {seed: dict(held) for seed, held in self._values[name].items()} for name in methods}
        found._resampled = {key: values for key, values in self._resampled.items() if key[0] in found._values}
        return found

    def take(self, other: Predictions, method: str, dataset: str, name: str) -> None:
        """Copy all seeds of ``method`` on a data set from another book, as those of ``name``."""
        for seed in other.seeds(method, dataset):
            self.add(name, seed, dataset, other._values[method][seed][dataset])

    def restricted(self, kept: Mapping[str, NDArray[np.bool_]]) -> Predictions:
        """Keep some pairs of each set, (N,) true where a pair counts, in the same resamples of the whole.

        Sets that are not named stay whole; one of which fewer than two pairs are left does not count.
        """
        masks = {name: kept[name] for name in self.names if name in kept}
        names = [name for name in self.names if name not in masks or masks[name].sum() > 1]
        means = {row: [name for name in members if name in names] for row, members in self._members.items()}
        found = Predictions(
            {name: self._gold[name][masks[name]] if name in masks else self._gold[name] for name in names},
            means={row: members for row, members in means.items() if members},
            draw=_Masked(self._draw, masks),
            measures=self._measures,
        )
        for method, by_seed in self._values.items():
            for seed, by_set in by_seed.items():
                for name, values in by_set.items():
                    if name in names:
                        found.add(method, seed, name, values[masks[name]] if name in masks else values)
        return found

    def stored(self) -> Scores:
        """Return what a record keeps, from which `restored` makes the same numbers and intervals."""
        rows = [*self.names, *self.averages]
        layout = {
            "means": self._members,
            "measures": {row: [str(measure) for measure in self.measures(row)] for row in rows},
            "streams": {name: list(self._draw.stream(name)) for name in self.names},
            "by_kind": isinstance(self._draw, DrawKinds),
            "protocols": self._protocols,
        }
        held = {
            (method, seed, name): values
            for method, by_seed in self._values.items()
            for seed, by_set in by_seed.items()
            for name, values in by_set.items()
        }
        return Scores(self._gold, held, self._folds, layout)

    @classmethod
    def restored(cls, scores: Scores) -> Predictions:
        """Return the predictions that a record keeps; sentences of pairs are not among it."""
        layout = scores.layout
        found = cls(
            scores.gold,
            means=layout["means"],
            draw=(DrawKinds if layout["by_kind"] else Draw)(layout["streams"].__getitem__),
            measures=lambda row: [Measure(name) for name in layout["measures"][row]],
        )
        found._folds = {name: fold.astype(np.int64) for name, fold in scores.folds.items()}
        found._protocols = dict(layout["protocols"])
        for (method, seed, name), values in scores.predictions.items():
            found.add(method, seed, name, values)
        return found

    def stacked(self, method: str, dataset: str) -> Array:
        """(S, N) values, a row a seed that was judged on the data set."""
        return np.stack([by_set[dataset] for by_set in self._values[method].values() if dataset in by_set])

    def mean_scores(self, method: str, dataset: str) -> Array:
        """(N,) values, averaged over seeds."""
        return np.asarray(self.stacked(method, dataset).mean(axis=0))

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _measure(self, row: Row, metric: str | None) -> Measure:
        return self.measures(row if isinstance(row, str) else row[0])[0] if metric is None else Measure(metric)

    def _sizes(self, row: Row) -> list[int]:
        return [len(self._gold[name]) for name in self.members(row)]

    def value(
        self,
        method: str,
        seed: int | None,
        row: Row,
        metric: str | None = None,
        aggregation: Aggregation = Aggregation.MEAN,
    ) -> float:
        r"""One cell of a table for one seed.

        A mean of K data sets: $\frac{1}{K} \sum_k r_k$. Size-weighted: $\sum_k N_k r_k / \sum_k N_k$. Pooled: one $r$
        over all pairs. A constant prediction has $r = 0$ (SentEval's convention), in its own set or in the pool.

        Raises:
            ValueError: several data sets under an aggregation that is per set.
        """
        measure, names = MEASURES[self._measure(row, metric)], self.members(row)
        held = self._values[method][seed]
        if aggregation is Aggregation.PER_SET and len(names) > 1:
            raise ValueError(f"{len(names)} sets do not make one number {aggregation}.")
        if aggregation is Aggregation.POOLED:
            pooled = np.concatenate([held[name] for name in names])
            return measure(pooled, np.concatenate([self._gold[name] for name in names]))
        values = []
        for name in names:
            folds = self._folds.get(name)
            parts = [slice(None)] if folds is None else [folds == number for number in range(folds.max() + 1)]
            values.append(float(np.mean([measure(held[name][part], self._gold[name][part]) for part in parts])))
        weights = self._sizes(row) if aggregation is Aggregation.WEIGHTED else None
        return float(np.average(values, weights=weights))

    def values(
        self, method: str, row: Row, metric: str | None = None, aggregation: Aggregation = Aggregation.MEAN
    ) -> list[float]:
        """A cell for every seed that was judged on it."""
        return [self.value(method, seed, row, metric, aggregation) for seed in self.seeds(method, row)]

    def mean(
        self, method: str, row: Row, metric: str | None = None, aggregation: Aggregation = Aggregation.MEAN
    ) -> float:
        """A cell, the mean over its seeds.

        Raises:
            KeyError: no seed was judged on it.
        """
        if not self.has(method, row):
            raise KeyError(f"{method} was not judged on {row}.")
        return float(np.mean(self.values(method, row, metric, aggregation)))

    def metric_rows(
        self,
        protocol: Protocol | str | None = None,
        rows: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
    ) -> list[Metric]:
        """The ledger's rows: every method, seed and row; of what is no typed protocol every measure of the row.

        Args:
            protocol: with its measure and aggregation; or in words; None: that of the data sets' labels.
            rows: data sets or averages; None: all. What is per set or in words has no averages.
            methods: None: all.
            metrics: of a protocol in words; None: the row's.
        """
        typed = protocol if isinstance(protocol, Protocol) else None
        how = typed.aggregation if typed else Aggregation.PER_SET
        if rows is None:
            rows = self.names if how is Aggregation.PER_SET else [*self.names, *self.averages]
        found = []
        for method in self.methods if methods is None else methods:
            if typed:
                cells = [(seed, row, typed.measure) for seed in self.seeds(method) for row in rows]
            else:
                measured = [(row, Measure(one)) for row in rows for one in metrics or self.measures(row)]
                cells = [(seed, row, one) for row, one in measured for seed in self.seeds(method, row)]
            found += [
                Metric(
                    method=method,
                    dataset=row,
                    metric=str(measure),
                    protocol=self._protocols[row] if protocol is None else str(protocol),
                    seed=seed,
                    value=self.value(method, seed, row, measure, how),
                    n=sum(self._sizes(row)),
                )
                for seed, row, measure in cells
                if seed in self.seeds(method, row)
            ]
        return found

    def relatedness_rows(
        self, tokens: Any = "ptb", *, score: Score = Score.TRAINED_HEAD, detail: str = ""
    ) -> list[Metric]:
        """Pearson, Spearman and MSE of scores on the gold scale."""
        return [
            row
            for measure in (Measure.PEARSON, Measure.SPEARMAN, Measure.MSE)
            for row in self.metric_rows(Protocol(score, measure, tokens=tokens, detail=detail), self.names)
        ]

    # -- intervals and comparisons -------------------------------------------------------------------------------------

    def resampled(
        self,
        methods: Sequence[str],
        row: Row,
        metric: str | None = None,
        resamples: int = 2000,
        *,
        aggregation: Aggregation = Aggregation.MEAN,
    ) -> list[Array]:
        """For each method (R,) values of a row on resampled items; one draw serves all."""
        measure, names = self._measure(row, metric), self.members(row)
        if aggregation is Aggregation.POOLED:
            counts = np.concatenate([self._draw.counts(n, len(self._gold[n]), resamples) for n in names], axis=1)
            gold = np.concatenate([self._gold[name] for name in names])
            pooled = [np.concatenate([self.stacked(method, name) for name in names], axis=1) for method in methods]
            return [statistics.bootstrap(measure, table, gold, counts) for table in pooled]
        by_set = [self._of_set(methods, name, measure, resamples) for name in names]
        weights = self._sizes(row) if aggregation is Aggregation.WEIGHTED else None
        return [np.asarray(np.average(parts, axis=0, weights=weights)) for parts in zip(*by_set, strict=True)]

    def _of_set(self, methods: Sequence[str], name: str, measure: Measure, resamples: int) -> list[Array]:
        def drawn(some: Sequence[str]) -> list[Array]:
            tables = [self.stacked(method, name) for method in some]
            return self._draw.values(name, tables, self._gold[name], measure, resamples)

        if not self._draw.shared:
            return drawn(methods)
        for method in methods:
            if (method, name, measure, resamples) not in self._resampled:
                (self._resampled[method, name, measure, resamples],) = drawn([method])
        return [self._resampled[method, name, measure, resamples] for method in methods]

    def interval(
        self,
        method: str,
        row: str,
        metric: str | None = None,
        resamples: int = 2000,
        *,
        aggregation: Aggregation = Aggregation.MEAN,
        resample_seeds: bool = True,
    ) -> Estimate:
        """One method's value on a row, mean over seeds, with its 95 % interval over items, or over both."""
        (sampled,) = self.resampled([method], row, metric, resamples, aggregation=aggregation)
        found = percentiles(self.mean(method, row, metric, aggregation), sampled)
        half = seed_spread(self.values(method, row, metric, aggregation)) if resample_seeds else 0.0
        return two_levels(found, half)

    def intervals(
        self, metrics: Sequence[str] | None = None, resamples: int = 2000
    ) -> dict[str, dict[str, dict[str, dict[str, list[float]]]]]:
        """For a run's ``extra``: measure -> data set -> method -> the ends of its interval over items.

        Args:
            metrics: None: what is computed of each data set.
        """
        found: dict[str, dict[str, dict[str, list[float]]]] = {}
        for row, measure in [(name, metric) for name in self.names for metric in metrics or self.measures(name)]:
            for method in self.methods:
                if self.has(method, row):
                    ends = self.interval(method, row, measure, resamples, resample_seeds=False)
                    found.setdefault(str(measure), {}).setdefault(row, {})[method] = [ends.low, ends.high]
        return {INTERVALS: found}

    def difference(
        self,
        a: str,
        b: str,
        row: Row | None = None,
        metric: str | None = None,
        resamples: int = 2000,
        *,
        aggregation: Aggregation = Aggregation.MEAN,
        resample_seeds: bool = True,
    ) -> Test:
        """A - B on a row (None: the first data set) by the paired bootstrap over items, or over items and seeds.

        Raises:
            ValueError: a mean of no data sets.
            KeyError: A or B was not judged on it.
        """
        row = self.names[0] if row is None else row
        if not row:
            raise ValueError("A mean difference needs at least one data set.")
        point = self.mean(a, row, metric, aggregation) - self.mean(b, row, metric, aggregation)
        first, second = self.resampled([a, b], row, metric, resamples, aggregation=aggregation)
        found, kind = from_bootstrap(point, first - second), KIND
        half = seed_spread(*(self.values(method, row, metric, aggregation) for method in (a, b)))
        if resample_seeds and half:
            found, kind = two_levels(found, half), KIND + AND_SEEDS
        dataset = row if isinstance(row, str) else f"mean of {', '.join(row)}"
        return Test.of(found, kind=kind, a=a, b=b, dataset=dataset, metric=str(self._measure(row, metric)))

    def differences(
        self, pairs: Iterable[tuple[str, str]], metrics: Sequence[str], resamples: int = 2000
    ) -> list[Test]:
        """A - B of several pairs of methods on the first data set, each in several metrics, as `difference` finds them.

        Args:
            pairs: of A and B.
        """
        return [self.difference(a, b, metric=metric, resamples=resamples) for a, b in pairs for metric in metrics]

    def table_tests(self, a: str, b: str, resamples: int = 2000) -> list[Test]:
        """A - B in every cell where both were judged; Holm's correction over these, and apart over the averages.

        Williams' test of each set's correlation, on scores averaged over seeds, stands beside the bootstrap as a second
        opinion.
        """
        cells = [(name, measure) for name, measure in self.cells if self.has(a, name) and self.has(b, name)]
        families = [
            [self.difference(a, b, name, measure, resamples) for name, measure in cells],
            [self.difference(a, b, row, resamples=resamples) for row in self.averages],
            [self._williams(a, b, name) for name, measure in cells if measure is Measure.PEARSON],
        ]
        return [test for family in families for test in corrected(family)]

    def _williams(self, a: str, b: str, name: str) -> Test:
        first, second, gold = self.mean_scores(a, name), self.mean_scores(b, name), self.gold(name)
        r_a, r_b = pearson(first, gold), pearson(second, gold)
        _, p = statistics.williams(r_a, r_b, pearson(first, second), len(gold))
        gap = r_a - r_b  # the test gives no interval; the difference stands for its bounds
        return Test.of(Estimate(gap, gap, gap, p), kind="williams", a=a, b=b, dataset=name, metric="pearson")


# -- books of the rooms' data ------------------------------------------------------------------------------------------


def sts_predictions(
    sets: Sequence[ScoredPairs], total: Sequence[str] | None = None, draw: Draw | None = None
) -> Predictions:
    """A book of scored pairs, with the mean of each group of sets (``STS2012/avg``) and ``total_avg``.

    Args:
        total: the sets that ``total_avg`` is the mean of; None: all but STS 2016, which validates. The papers differ:
            table 1 of Jiao et al. 2018 averages 19 STS sets and SICK, table 5 the 19 sets alone.
    """
    counted = [pairs.name for pairs in sets if not pairs.name.startswith("STS2016")]
    # STS12 stands beside the sets that it pools, whose average is of them alone.
    groups = by_year([pairs for pairs in sets if "/" in pairs.name])
    means = {f"{year}/avg": [pairs.name for pairs in members] for year, members in groups.items() if len(members) > 1}
    return Predictions(sets, means=means | {TOTAL: counted if total is None else list(total)}, draw=draw)


def relatedness_predictions(dataset: str) -> Predictions:
    """An empty book for the scored test pairs of a data set, on its gold scale; SICK's bear the name of table 3."""
    test = suites.pairs(dataset, "test")
    return sts_predictions([replace(test, name="SICK2014-test") if dataset == "sick" else test])


def decision_predictions(name: str, gold: ArrayLike) -> Predictions:
    """A book of yes (1) and no (0) for the pairs of one data set, with accuracy and the F1 of yes."""
    draw = Draw(lambda name: [0, 0])
    return Predictions({name: gold}, draw=draw, measures=lambda name: (Measure.ACCURACY, Measure.F1))


def task_predictions(pairs: Sequence[str] = PAIRS, draw: Draw | None = None) -> Predictions:
    """A book of labels of classification tasks, with accuracy, and F1 for those of ``pairs``; see `DrawKinds`."""

    def measures(name: str) -> tuple[Measure, ...]:
        return (Measure.ACCURACY, Measure.F1) if name in pairs else (Measure.ACCURACY,)

    return Predictions({}, draw=draw or DrawKinds(crc), measures=measures)
