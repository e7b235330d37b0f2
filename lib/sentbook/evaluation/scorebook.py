"""Scores of many methods and seeds on the same pairs, and every number that is computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook import records as results
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics, sts
from sentbook.evaluation.protocols import Aggregation, Measure, Protocol, Score
from sentbook.evaluation.sts import MEASURES, TOTAL, by_year
from sentbook.system.errors import NumericalError
from sentbook.training.correlation import pearson

Array = NDArray[np.float64]


class ScoreBook:
    """Per-pair scores by method, seed and data set.

    Rows of a table are the sets, the mean of each group of sets (``STS2012/avg``) and ``total_avg``.

    Args:
        sets: the scored pairs, in the table's order.
        total: the sets that ``total_avg`` is the mean of; None: all but STS 2016, which validates.
    """

    def __init__(self, sets: Sequence[ScoredPairs], total: Sequence[str] | None = None) -> None:
        self._sets = {pairs.name: pairs for pairs in sets}
        counted = [name for name in self._sets if not name.startswith("STS2016")]
        self.total = counted if total is None else list(total)
        # STS12 stands beside the sets that it pools, whose average is of them alone.
        parted = [pairs for pairs in sets if "/" in pairs.name]
        groups = {year: [pairs.name for pairs in members] for year, members in by_year(parted).items()}
        self._members = {f"{year}/avg": names for year, names in groups.items() if len(names) > 1} | {TOTAL: self.total}
        self._scores: dict[str, dict[int, dict[str, Array]]] = {}
        self._counts: dict[tuple[str, int], NDArray[np.uint8]] = {}
        self._resampled: dict[tuple[str, str, str, int], Array] = {}

    # -- contents ------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The data sets."""
        return list(self._sets)

    @property
    def averages(self) -> list[str]:
        """The rows that are means of sets."""
        return list(self._members)

    @property
    def methods(self) -> list[str]:
        return list(self._scores)

    def seeds(self, method: str) -> list[int]:
        return list(self._scores[method])

    def pairs(self, name: str) -> ScoredPairs:
        return self._sets[name]

    def gold(self, name: str) -> Array:
        return self._sets[name].gold

    def add(self, method: str, seed: int, dataset: str, scores: ArrayLike) -> None:
        """Take the (N,) scores of one method, seed and set.

        Raises:
            ValueError: another number of scores than pairs, or a set that is not in the book.
            NumericalError: a score is NaN or infinite.
        """
        array = np.asarray(scores, dtype=np.float64)
        if dataset not in self._sets or array.shape != self.gold(dataset).shape:
            raise ValueError(f"{method}, seed {seed}: {array.shape} scores do not fit {dataset}.")
        if not np.isfinite(array).all():
            raise NumericalError(
                f"{method}, seed {seed}: a score on {dataset} is NaN or infinite; train it with a lower learning rate."
            )
        self._scores.setdefault(method, {}).setdefault(seed, {})[dataset] = array
        self._resampled = {key: values for key, values in self._resampled.items() if key[0] != method}

    def only(self, methods: Sequence[str]) -> ScoreBook:
        """The book of these methods alone, with the same resamples."""
        found = ScoreBook(list(self._sets.values()), self.total)
        found._scores = {method: self._scores[method] for method in methods}
        found._counts = self._counts
        return found

    def stacked(self, method: str, dataset: str) -> Array:
        """(S, N) scores, a row a seed."""
        return np.stack([by_set[dataset] for by_set in self._scores[method].values()])

    def mean_scores(self, method: str, dataset: str) -> Array:
        """(N,) scores, averaged over seeds."""
        return np.asarray(self.stacked(method, dataset).mean(axis=0))

    def members(self, row: str) -> list[str]:
        """The sets behind a row: itself, or those that it averages."""
        return self._members.get(row, [row])

    # -- numbers -------------------------------------------------------------------------------------------------------

    def value(self, method: str, seed: int, row: str, measure: Measure = Measure.PEARSON) -> float:
        """One cell of a table for one seed; an average is the plain mean over its sets."""
        compute, scores = MEASURES[measure], self._scores[method][seed]
        return float(np.mean([compute(scores[name], self.gold(name)) for name in self.members(row)]))

    def values(self, method: str, row: str, measure: Measure = Measure.PEARSON) -> list[float]:
        """A cell for every seed."""
        return [self.value(method, seed, row, measure) for seed in self.seeds(method)]

    def metric_rows(
        self, protocol: Protocol, rows: Sequence[str] | None = None, methods: Sequence[str] | None = None
    ) -> list[results.Metric]:
        """The ledger's rows: every method, seed and row under ``protocol``, whichever its aggregation.

        Args:
            rows: sets or averages; None: all. A protocol that is per set has no averages.
            methods: None: all.
        """
        if rows is None:
            rows = self.names if protocol.aggregation is Aggregation.PER_SET else [*self.names, *self.averages]
        members = {row: [self._sets[name] for name in self.members(row)] for row in rows}
        return [
            results.Metric(
                method=method,
                dataset=row,
                metric=str(protocol.measure),
                protocol=str(protocol),
                seed=seed,
                value=sts.evaluate(self._scores[method][seed], members[row], protocol),
                n=sum(map(len, members[row])),
            )
            for method in (self.methods if methods is None else methods)
            for seed in self.seeds(method)
            for row in rows
        ]

    def relatedness_rows(
        self, tokens: Any = "ptb", *, score: Score = Score.TRAINED_HEAD, detail: str = ""
    ) -> list[results.Metric]:
        """Pearson, Spearman and MSE of scores on the gold scale."""
        return [
            row
            for measure in (Measure.PEARSON, Measure.SPEARMAN, Measure.MSE)
            for row in self.metric_rows(Protocol(score, measure, tokens=tokens, detail=detail), self.names)
        ]

    # -- comparisons ---------------------------------------------------------------------------------------------------

    def _resample(self, name: str, resamples: int) -> NDArray[np.uint8]:
        """(R, N) counts of a set's pairs, drawn once for all methods; an item is never drawn 256 times."""
        key = (name, resamples)
        if key not in self._counts:
            drawn = statistics.resample_counts(len(self.gold(name)), resamples, [0, self.names.index(name)])
            self._counts[key] = drawn.astype(np.uint8)
        return self._counts[key]

    def _bootstrap(self, method: str, row: str, metric: str, resamples: int) -> Array:
        """(R,) resampled values of a row; the resamples of a set are the same for every method."""
        key = (method, row, metric, resamples)
        if key not in self._resampled:
            parts = self.members(row)
            if parts == [row]:
                counts, stacked = self._resample(row, resamples), self.stacked(method, row)
                self._resampled[key] = statistics.bootstrap(metric, stacked, self.gold(row), counts)  # type: ignore[arg-type]
            else:
                by_set = [self._bootstrap(method, name, metric, resamples) for name in parts]
                self._resampled[key] = np.mean(by_set, axis=0)
        return self._resampled[key]

    def difference(
        self, a: str, b: str, row: str | None = None, metric: str = "pearson", resamples: int = 2000
    ) -> results.Test:
        """A - B on a row (None: the first set) by the paired bootstrap over pairs, seeds pooled."""
        row = self.names[0] if row is None else row
        measure = Measure(metric)
        point = float(np.mean(self.values(a, row, measure)) - np.mean(self.values(b, row, measure)))
        sampled = self._bootstrap(a, row, metric, resamples) - self._bootstrap(b, row, metric, resamples)
        found = statistics.from_bootstrap(point, sampled)
        return results.Test(
            kind="paired bootstrap",
            a=a,
            b=b,
            dataset=row,
            metric=metric,
            estimate=found.estimate,
            low=found.low,
            high=found.high,
            p=found.p,
        )

    def interval(self, method: str, row: str, metric: str = "pearson", resamples: int = 2000) -> statistics.Estimate:
        """One method's value on a row, mean over seeds, with its interval over pairs."""
        low, high = np.percentile(self._bootstrap(method, row, metric, resamples), [2.5, 97.5])
        return statistics.Estimate(float(np.mean(self.values(method, row, Measure(metric)))), float(low), float(high))

    def table_tests(self, a: str, b: str, resamples: int = 2000) -> list[results.Test]:
        """A - B on every row; Holm's correction over the sets, and apart from them over the averages.

        Williams' test of each set, on scores averaged over seeds, stands beside the bootstrap as a second opinion.
        """
        families = [
            [self.difference(a, b, name, resamples=resamples) for name in self.names],
            [self.difference(a, b, row, resamples=resamples) for row in self.averages],
            [self._williams(a, b, name) for name in self.names],
        ]
        tests: list[results.Test] = []
        for family in families:
            adjusted = statistics.holm([1.0 if test.p is None else test.p for test in family])
            tests += [test.model_copy(update={"p_holm": p}) for test, p in zip(family, adjusted, strict=True)]
        return tests

    def _williams(self, a: str, b: str, name: str) -> results.Test:
        first, second, gold = self.mean_scores(a, name), self.mean_scores(b, name), self.gold(name)
        r_a, r_b = pearson(first, gold), pearson(second, gold)
        _, p = statistics.williams(r_a, r_b, pearson(first, second), len(gold))
        gap = r_a - r_b  # the test gives no interval; the difference stands for its bounds
        return results.Test(
            kind="williams", a=a, b=b, dataset=name, metric="pearson", estimate=gap, low=gap, high=gap, p=p
        )
