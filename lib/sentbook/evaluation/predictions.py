"""Predictions: what methods say of every item of every data set, and every number computed from it."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics
from sentbook.evaluation.classification import Classified
from sentbook.evaluation.protocols import MEASURES, Aggregation, Measure, Protocol, Score, measure_on
from sentbook.evaluation.statistics import Estimate, corrected, from_bootstrap, percentiles, seed_spread, two_levels
from sentbook.io import ConfigError, NumericalError
from sentbook.records import Metric, Scores, Test, rounded

Array = NDArray[np.float64]
Counts = NDArray[np.uint8]
Row = str | Sequence[str]  # a data set, a mean of several by its name, or the data sets of a mean
KIND = "paired bootstrap"
AND_SEEDS = ", t over seeds"
OVER_ITEMS = "bootstrap over items"
TOTAL = "total_avg"
# Classification tasks of pairs, which have F1 beside accuracy.
PAIRS = ("MSRP", "miniworld/paraphrase")


class Predictions:
    """Scores or labels by method, data set and seed, on the same items for every method.

    A row of a table is a data set or a mean of several. Intervals and tests resample the items of each data set by
    itself, the same for every method. A value is the mean over seeds. A test is of new trainings on new items, see
    `sentbook.evaluation.statistics.two_levels`; an interval, and a test without ``resample_seeds``, is of these
    trainings on new items.

    Args:
        sets: scored pairs, or gold by name, in the table's order; more come with `add`.
        means: row -> the data sets whose plain mean it is.
        measures: data set -> what is computed of it; the first is meant where none is named.
        stream: data set -> the seed of the draw of its items; None: by its place.

    Attributes:
        table: method and data set -> seed -> (N,) scores or labels, as a record keeps them.
        gold: data set -> (N,) gold scores or labels.
        pairs: data set -> its sentences, where they are known.

    Assumptions: items are independent draws within a data set; the data sets are fixed.
    Source: Efron and Tibshirani 1993, chapters 13 and 16; Berg-Kirkpatrick et al. 2012 for paired systems.

    Example:
        >>> toy = decision_predictions("toy", np.arange(60) % 2)
        >>> for method, wrong in (("A", 6), ("B", 18)):
        ...     toy.add(method, 1, "toy", np.where(np.arange(60) < wrong, 1 - toy.gold["toy"], toy.gold["toy"]))
        >>> found = toy.difference("A", "B")
        >>> round(found.estimate, 2), found.low > 0
        (0.2, True)
    """

    def __init__(
        self,
        sets: Iterable[ScoredPairs] | Mapping[str, ArrayLike] = (),
        *,
        means: Mapping[str, Sequence[str]] | None = None,
        measures: Callable[[str], Sequence[Measure]] = lambda name: (measure_on(name),),
        stream: Callable[[str], Sequence[int]] | None = None,
    ) -> None:
        self.pairs = {} if isinstance(sets, Mapping) else {pairs.name: pairs for pairs in sets}
        golds = sets if isinstance(sets, Mapping) else {name: pairs.gold for name, pairs in self.pairs.items()}
        self.gold = {name: np.asarray(gold, dtype=np.float64) for name, gold in golds.items()}
        self.means = {row: list(names) for row, names in (means or {}).items()}
        self.measures = measures
        self.stream = stream or (lambda name: [0, self.names.index(name)])
        self.table: dict[tuple[str, str], dict[int | None, Array]] = {}
        self._folds: dict[str, NDArray[np.int64]] = {}
        self._protocols: dict[str, str] = {}
        self._counts: dict[tuple[str, int], Counts] = {}
        self._resampled: dict[tuple[str, str, tuple[int | None, ...], Measure, int], Array] = {}

    # -- contents ------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The data sets."""
        return list(self.gold)

    @property
    def methods(self) -> list[str]:
        """The methods, in the order in which they came."""
        return list(dict.fromkeys(method for method, _ in self.table))

    def members(self, row: Row) -> list[str]:
        """Return the data sets behind a row: itself, or those that it averages."""
        return self.means.get(row, [row]) if isinstance(row, str) else list(row)

    def place(self, row: str, protocol: str) -> str:
        """Name the data set or mean of a row under a protocol: ``MR, SentEval`` where that is kept, else ``MR``."""
        held = (one for one in [*self.names, *self.means] if one.startswith(f"{row}, "))
        return next((one for one in held if {*one.split(", ")[1:]} <= {*protocol.split(", ")}), row)

    def seeds(self, method: str, row: Row) -> list[int | None]:
        """Return the seeds of a method that were judged on all of a row."""
        first, *others = [self.table.get((method, name), {}) for name in self.members(row)] or [{}]
        return [seed for seed in first if all(seed in other for other in others)]

    def has(self, method: str, row: Row) -> bool:
        """Tell whether any seed of a method was judged on a row."""
        return bool(self.seeds(method, row))

    def stacked(self, method: str, dataset: str, row: Row = "") -> Array:
        """Return (S, N) values, a row a seed that was judged on the data set, and on all of ``row``."""
        return np.stack([self.table[method, dataset][seed] for seed in self.seeds(method, row or dataset)])

    def add(
        self, method: str, seed: int | None, dataset: str, values: ArrayLike, gold: ArrayLike | None = None
    ) -> None:
        """Take the (N,) scores or labels of one method, seed and data set, rounded to what a record keeps of them.

        Args:
            gold: of a data set that is not known before, or to be checked against what is known.

        Raises:
            ValueError: another number of values than items, or a data set without gold.
            NumericalError: a value is NaN or infinite.
        """
        array, where = np.asarray(values, dtype=np.float64), f"{method}, seed {seed}"
        if gold is not None:
            given = np.asarray(gold, dtype=np.float64)
            if not np.array_equal(self.gold.setdefault(dataset, given), given):
                raise ValueError(f"{where}: {dataset} has other examples here than before.")
        if dataset not in self.gold or array.shape != self.gold[dataset].shape:
            raise ValueError(f"{where}: {array.shape} values do not fit {dataset}.")
        if not np.isfinite(array).all():
            raise NumericalError(
                f"{where}: a score on {dataset} is NaN or infinite; train it with a lower learning rate."
            )
        self.table.setdefault((method, dataset), {})[seed] = rounded(array)
        self._resampled.clear()

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
        self.add(method, seed, dataset, found.predicted, found.gold)
        self._folds[dataset] = found.fold

    def with_table(self, table: Mapping[tuple[str, str], Mapping[int | None, Array]]) -> Predictions:
        """Return other predictions for the same data sets, with the same resamples."""
        found = copy.copy(self)
        found.table, found._resampled = {key: dict(by_seed) for key, by_seed in table.items()}, {}
        return found

    def stored(self) -> Scores:
        """Return what a record keeps, from which `restored` makes the same numbers and intervals."""
        measures = {row: [str(measure) for measure in self.measures(row)] for row in [*self.names, *self.means]}
        layout = {
            "means": self.means,
            "measures": measures,
            "streams": {name: list(self.stream(name)) for name in self.names},
            "protocols": self._protocols,
        }
        cells = [(method, name) for method in self.methods for name in self.names]
        held = {(m, seed, n): values for m, n in cells for seed, values in self.table.get((m, n), {}).items()}
        return Scores(self.gold, held, self._folds, layout)

    @classmethod
    def restored(cls, scores: Scores) -> Predictions:
        """Return the predictions that a record keeps; sentences of pairs are not among it."""
        layout = scores.layout
        found = cls(
            scores.gold,
            means=layout["means"],
            measures=lambda row: [Measure(name) for name in layout["measures"][row]],
            stream=layout["streams"].__getitem__,
        )
        found._folds = {name: fold.astype(np.int64) for name, fold in scores.folds.items()}
        found._protocols = dict(layout["protocols"])
        for (method, seed, name), values in scores.predictions.items():
            found.add(method, seed, name, values)
        return found

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _measure(self, row: Row, metric: str | None) -> Measure:
        return self.measures(row if isinstance(row, str) else row[0])[0] if metric is None else Measure(metric)

    def _weights(self, row: Row, aggregation: Aggregation) -> list[int] | None:
        return [len(self.gold[name]) for name in self.members(row)] if aggregation is Aggregation.WEIGHTED else None

    def _parts(self, name: str) -> Sequence[Any]:
        """Return the items of each outer fold; of a set without folds all."""
        fold = self._folds.get(name)
        return [slice(None)] if fold is None else [fold == number for number in range(fold.max() + 1)]

    def values(
        self, method: str, row: Row, metric: str | None = None, aggregation: Aggregation = Aggregation.MEAN
    ) -> dict[int | None, float]:
        r"""Return one cell of a table for every seed that was judged on it.

        A mean of K data sets: $\frac{1}{K} \sum_k r_k$. Size-weighted: $\sum_k N_k r_k / \sum_k N_k$. Pooled: one $r$
        over all pairs. A constant prediction has $r = 0$ (SentEval's convention), in its own set or in the pool.

        Raises:
            ValueError: several data sets under an aggregation that is per set.
        """
        measure, names = MEASURES[self._measure(row, metric)], self.members(row)
        if aggregation is Aggregation.PER_SET and len(names) > 1:
            raise ValueError(f"{len(names)} sets do not make one number {aggregation}.")

        def value(seed: int | None) -> float:
            said, gold = [self.table[method, name][seed] for name in names], [self.gold[name] for name in names]
            if aggregation is Aggregation.POOLED:
                return measure(np.concatenate(said), np.concatenate(gold))
            by_set = [
                np.mean([measure(one[part], right[part]) for part in self._parts(name)])
                for name, one, right in zip(names, said, gold, strict=True)
            ]
            return float(np.average(by_set, weights=self._weights(row, aggregation)))

        return {seed: value(seed) for seed in self.seeds(method, row)}

    def mean(
        self, method: str, row: Row, metric: str | None = None, aggregation: Aggregation = Aggregation.MEAN
    ) -> float:
        """Return a cell, the mean over its seeds.

        Raises:
            KeyError: no seed was judged on it.
        """
        if not self.has(method, row):
            raise KeyError(f"{method} was not judged on {row}.")
        return float(np.mean(list(self.values(method, row, metric, aggregation).values())))

    def metric_rows(
        self,
        protocol: Protocol | str | None = None,
        rows: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
    ) -> list[Metric]:
        """Return the rows of a record: every method, seed and row, in its measure.

        Args:
            protocol: with its measure and aggregation; or in words; None: that of the data sets' labels.
            rows: data sets or averages; None: all. What is per set or in words has no averages.
            methods: None: all.
            metrics: of a protocol in words; None: all measures of the row.
        """
        typed = protocol if isinstance(protocol, Protocol) else None
        how = typed.aggregation if typed else Aggregation.PER_SET
        rows = [*self.names, *(() if how is Aggregation.PER_SET else self.means)] if rows is None else rows
        if protocol is None and (missing := [row for row in rows if row not in self._protocols]):
            raise ConfigError(f"{missing[0]} has no protocol of its own; name one, such as protocol=COSINE_PEARSON.")
        cells = [(method, row) for method in (self.methods if methods is None else methods) for row in rows]
        return [
            Metric(
                method=method,
                dataset=row,
                metric=str(measure),
                protocol=self._protocols[row] if protocol is None else str(protocol),
                seed=seed,
                value=value,
                n=sum(len(self.gold[name]) for name in self.members(row)),
            )
            for method, row in cells
            for measure in ([typed.measure] if typed else metrics or self.measures(row))
            for seed, value in self.values(method, row, measure, how).items()
        ]

    def relatedness_rows(self, score: Score = Score.TRAINED_HEAD, detail: str = "") -> list[Metric]:
        """Return Pearson, Spearman and MSE of scores on the gold scale."""
        measures = (Measure.PEARSON, Measure.SPEARMAN, Measure.MSE)
        protocols = [Protocol(score, measure, detail=detail) for measure in measures]
        return [row for protocol in protocols for row in self.metric_rows(protocol, self.names)]

    # -- intervals and comparisons -------------------------------------------------------------------------------------

    def drawn(self, name: str, resamples: int) -> Counts:
        """Return (R, N) how often each item is drawn in each resample, the same for all methods."""
        if (name, resamples) not in self._counts:
            drawn = statistics.resample_counts(len(self.gold[name]), resamples, self.stream(name))
            self._counts[name, resamples] = drawn.astype(np.uint8)  # an item is never drawn 256 times
        return self._counts[name, resamples]

    def _of_set(self, methods: Sequence[str], row: Row, name: str, measure: Measure, resamples: int) -> list[Array]:
        keys = [(method, name, tuple(self.seeds(method, row)), measure, resamples) for method in methods]
        for method, key in zip(methods, keys, strict=True):
            if key not in self._resampled:
                table, gold = self.stacked(method, name, row), self.gold[name]
                self._resampled[key] = statistics.bootstrap(measure, table, gold, self.drawn(name, resamples))
        return [self._resampled[key] for key in keys]

    def resampled(
        self,
        methods: Sequence[str],
        row: Row,
        metric: str | None = None,
        resamples: int = 2000,
        *,
        aggregation: Aggregation = Aggregation.MEAN,
    ) -> list[Array]:
        """Return for each method (R,) values of a row on resampled items, the mean over its seeds in each."""
        measure, names = self._measure(row, metric), self.members(row)
        if aggregation is Aggregation.POOLED:
            counts = np.concatenate([self.drawn(name, resamples) for name in names], axis=1)
            gold = np.concatenate([self.gold[name] for name in names])
            pooled = [np.concatenate([self.stacked(method, name, row) for name in names], axis=1) for method in methods]
            return [statistics.bootstrap(measure, table, gold, counts) for table in pooled]
        by_set = [self._of_set(methods, row, name, measure, resamples) for name in names]
        weights = self._weights(row, aggregation)
        return [np.asarray(np.average(parts, axis=0, weights=weights)) for parts in zip(*by_set, strict=True)]

    def interval(self, method: str, row: Row, metric: str | None = None, resamples: int = 2000) -> Estimate:
        """Return one method's value on a row, the mean over its seeds, with its 95 % interval over items."""
        (sampled,) = self.resampled([method], row, metric, resamples)
        return percentiles(self.mean(method, row, metric), sampled)

    def difference(
        self,
        a: str,
        b: str,
        row: Row | None = None,
        metric: str | None = None,
        resamples: int = 2000,
        *,
        resample_seeds: bool = True,
    ) -> Test:
        """Return A - B on a row (None: the first data set) by the paired bootstrap over items, or over items and seeds.

        Raises:
            ValueError: a mean of no data sets.
            KeyError: A or B was not judged on it.
        """
        row = self.names[0] if row is None else row
        if not row:
            raise ValueError("A mean difference needs at least one data set.")
        point = self.mean(a, row, metric) - self.mean(b, row, metric)
        first, second = self.resampled([a, b], row, metric, resamples)
        found, kind = from_bootstrap(point, first - second), KIND
        half = seed_spread(*(list(self.values(method, row, metric).values()) for method in (a, b)))
        if resample_seeds and half:
            found, kind = two_levels(found, half), KIND + AND_SEEDS
        dataset = row if isinstance(row, str) else f"mean of {', '.join(row)}"
        return Test.of(found, kind=kind, a=a, b=b, dataset=dataset, metric=str(self._measure(row, metric)))

    def compared(
        self, sides: Sequence[str], row: Row, metric: str | None, resamples: int, *, resample_seeds: bool = False
    ) -> Test:
        """Return the value of one method on a row with its interval over items, or A - B of two, see `difference`."""
        if len(sides) == 2:
            return self.difference(sides[0], sides[1], row, metric, resamples, resample_seeds=resample_seeds)
        found, measure = self.interval(sides[0], row, metric, resamples), self._measure(row, metric)
        return Test.of(found, kind=OVER_ITEMS, a=sides[0], b="", dataset=str(row), metric=str(measure))

    def table_tests(self, a: str, b: str, resamples: int = 2000) -> list[Test]:
        """Return A - B in every cell that both have; Holm's correction over these, and apart over the averages."""
        both = [name for name in (*self.names, *self.means) if self.has(a, name) and self.has(b, name)]
        cells = [(name, measure) for name in both if name not in self.means for measure in self.measures(name)]
        families = [
            [self.difference(a, b, name, measure, resamples) for name, measure in cells],
            [self.difference(a, b, row, resamples=resamples) for row in both if row in self.means],
        ]
        return [test for family in families for test in corrected(family)]


def crc(name: str) -> list[int]:
    """Seed a stream by a text, the same on every machine.

    Example:
        >>> crc("MR")
        [0, 2171278191]
    """
    return [0, zlib.crc32(name.encode())]


# -- predictions of the rooms' data ------------------------------------------------------------------------------------


def sts_predictions(sets: Sequence[ScoredPairs], total: Sequence[str] | None = None) -> Predictions:
    """Make predictions of scored pairs, with the mean of each group of sets (``STS2012/avg``) and ``total_avg``.

    Args:
        total: the sets that ``total_avg`` is the mean of; None: all but STS 2016, which validates. The papers differ:
            table 1 of Jiao et al. 2018 averages 19 STS sets and SICK, table 5 the 19 sets alone.
    """
    groups: dict[str, list[str]] = {}
    for name in (pairs.name for pairs in sets if "/" in pairs.name):  # STS12 is next to the sets that it pools
        groups.setdefault(f"{name.partition('/')[0]}/avg", []).append(name)
    counted = [pairs.name for pairs in sets if not pairs.name.startswith("STS2016")] if total is None else list(total)
    return Predictions(sets, means={row: names for row, names in groups.items() if len(names) > 1} | {TOTAL: counted})


def relatedness_predictions(dataset: str) -> Predictions:
    """Make predictions of a data set's test pairs, on its gold scale; SICK's bear the name of table 3."""
    test = suites.pairs(dataset, "test")
    return sts_predictions([replace(test, name="SICK2014-test") if dataset == "sick" else test])


def decision_predictions(name: str, gold: ArrayLike) -> Predictions:
    """Make predictions of yes (1) and no (0) for the pairs of one data set, with accuracy and the F1 of yes."""
    return Predictions({name: gold}, measures=lambda name: (Measure.ACCURACY, Measure.F1))


def task_predictions() -> Predictions:
    """Make predictions of labels of classification tasks, with accuracy, and F1 for those of pairs."""
    both = (Measure.ACCURACY, Measure.F1)
    return Predictions(measures=lambda name: both if name in PAIRS else both[:1], stream=crc)
