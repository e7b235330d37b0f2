"""What a claim is judged on: values, intervals and differences of a book of predictions, rows of a run, findings.

A claim about models asks what new trainings would score on new items: its intervals are over seeds and items. A claim
about given encoders asks for new items alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from sentbook.evaluation.predictions import AND_SEEDS, INTERVALS, PAIRS
from sentbook.evaluation.protocols import Measure, measure_on
from sentbook.evaluation.statistics import Estimate, seed_spread, two_levels
from sentbook.io import ConfigError
from sentbook.records import Cost, CurvePoint, Level, Metric, Run, Test
from sentbook.runs import printed as tables

MEAN = "mean of single sentences"
OVER_ITEMS = "bootstrap over items"
Place = tuple[str, str]
# Less is better in these: errors, and ranks of what was looked for.
_LOWER = re.compile(r"mse|mae|.*MedR")
# Beyond any value of a measure.
_FAR = 1e9


class Rows:
    """A book of the rows that a run records, in place of predictions.

    Where a run has a number by two protocols, the one that it names first counts.

    Args:
        intervals: measure -> data set -> method -> the ends of its interval.
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        tests: Sequence[Test],
        intervals: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]],
    ) -> None:
        self.metrics, self.tests, self.intervals = metrics, tests, intervals

    @property
    def methods(self) -> list[str]:
        """The methods of the rows."""
        return list(dict.fromkeys(row.method for row in self.metrics))

    @property
    def names(self) -> list[str]:
        """The data sets of the rows."""
        return list(dict.fromkeys(row.dataset for row in self.metrics))

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Every data set in every measure of it."""
        return [(name, measure) for name in self.names for measure in self.measures(name)]

    @property
    def total(self) -> list[str]:
        """The data sets behind the total average of STS."""
        return [name for name in self.names if not name.startswith("STS2016") and not name.endswith("avg")]

    def measures(self, row: str) -> list[str]:
        """What is computed of a data set."""
        if not any(one.metric == Measure.ACCURACY for one in self.metrics):
            return [str(measure_on(row))]
        return [str(Measure.ACCURACY), *([str(Measure.F1)] if row in PAIRS else [])]

    def has(self, method: str, row: str) -> bool:
        """Whether the method has a number on a data set."""
        return any((one.method, one.dataset) == (method, row) for one in self.metrics)

    def _of(self, method: str, row: str, measure: str | None = None) -> list[Metric]:
        held = [one for one in self.metrics if (one.method, one.dataset) == (method, row)]
        held = [one for one in held if one.metric == str(measure or held[0].metric)]
        return [one for one in held if one.protocol == held[0].protocol]

    def seeds(self, method: str, row: str) -> list[int | None]:
        """The seeds of a method; None where nothing was trained."""
        return [one.seed for one in self._of(method, row)]

    def values(self, method: str, row: str, measure: str) -> list[float]:
        """A value for every seed."""
        return [one.value for one in self._of(method, row, measure)]

    def interval(self, method: str, row: str, measure: str, *_: Any, **__: Any) -> Estimate:
        """One value with its recorded interval."""
        low, high = self.intervals.get(str(measure), {}).get(row, {}).get(method, (None, None))
        if low is None or high is None:
            raise Missing(f"needs the interval of {method} on {row}")
        return Estimate(float(np.mean(self.values(method, row, measure))), low, high)

    def difference(self, a: str, b: str, row: str | Sequence[str], measure: str, *_: Any, **__: Any) -> Test:
        """A - B as it was tested, or B - A turned about."""
        row = row if isinstance(row, str) else f"mean of {', '.join(row)}"
        for test in self.tests:
            if (test.dataset, test.metric) == (row, str(measure)) and test.kind != "williams":
                if (test.a, test.b) == (a, b):
                    return test
                if (test.a, test.b) == (b, a):
                    return turned(test)
        raise Missing(f"needs {a} against {b} on {row}")


class Missing(Exception):
    """A claim needs a number that this run does not have; the message says which."""


@dataclass
class Evidence:
    """What rules may ask of one experiment.

    Attributes:
        book: predictions, or `Rows`.
        findings: what neither holds, by name: a number, an `Estimate`, a `Test`, a list of these, or a mapping.
        run: the run's own record, for what bounds a verdict.
        about: what the intervals are over.
        asked: method and data set -> the trainings behind the numbers that a rule took.
        pairs: the two sides of each comparison.
        doubted: under-tuned sides, which might be better than they were.
        side: which side of a comparison is taken to be as good as it might be, where it is doubted.
        weighed: those of ``doubted`` that a rule met.
        untuned: parts of the names of rows in which nothing was to be chosen, see `sentbook.runs.claims.ClaimSpec`.
    """

    paper: str
    experiment: str
    book: Any
    resamples: int = 2000
    metrics: Sequence[Metric] = ()
    tests: Sequence[Test] = ()
    curves: Sequence[CurvePoint] = ()
    cost: Sequence[Cost] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    findings: Mapping[str, Any] = field(default_factory=dict)
    run: Run | None = None
    about: Level = "models"
    asked: dict[Place, int] = field(default_factory=dict)
    pairs: list[tuple[Place, Place]] = field(default_factory=list)
    doubted: Collection[Place] = ()
    side: Literal["a", "b"] = "a"
    weighed: set[Place] = field(default_factory=set)
    untuned: Sequence[str] = ()

    @classmethod
    def of(cls, run: Run, book: Any = None, resamples: int = 2000, findings: Mapping[str, Any] | None = None) -> Any:
        """Gather what a run holds, beside its book."""
        rows = {name: getattr(run, name) for name in ("metrics", "tests", "curves", "cost", "extra")}
        held = Rows(run.metrics, run.tests, run.extra.get(INTERVALS, {})) if book is None else book
        return cls(run.paper, run.experiment, held, resamples, findings=findings or {}, run=run, **rows)

    # -- contents ------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The data sets, and ``MSRP (F1)`` where F1 stands beside accuracy."""
        cells = [(name, str(measure)) for name, measure in self.book.cells]
        return list(dict.fromkeys(f"{name} (F1)" if measure == Measure.F1 else name for name, measure in cells))

    @property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """Rows by the name of a group: ``all``, ``data sets``, ``total`` (of the total average), or the book's own."""
        found = {"all": self.names, "data sets": list(self.book.names), "total": getattr(self.book, "total", [])}
        return {**found, **getattr(self.book, "groups", {})}

    def rows(self, where: str | Sequence[str] | None) -> list[str]:
        """Name the rows that a claim is about: one, a list, or a group; None: the book's first."""
        if where is None:
            return self.names[:1]
        return list(self.groups.get(where, [where]) if isinstance(where, str) else where)

    def metric(self, row: str) -> str:
        """Name the measure of a row where the claim names none."""
        return "f1" if row.endswith(" (F1)") else str(self.book.measures(self._sets(row)[0])[0])

    def _sets(self, row: str) -> list[str]:
        """The data sets whose numbers are needed: of a mean over single sentences those without F1."""
        if row != MEAN:
            return [dataset_of(row)]
        found = [name for name in self.book.names if len(self.book.measures(name)) == 1]
        if not found:
            raise Missing("needs a task of single sentences")
        return found

    def need(self, methods: Iterable[str], row: str) -> None:
        """Make sure that the methods were judged on a row.

        Raises:
            Missing: one was not.
        """
        for method in methods:
            for name in self._sets(row):
                if not self.book.has(method, name):
                    raise Missing(f"needs {method} on {name}")

    # -- numbers -------------------------------------------------------------------------------------------------------

    def mean(self, method: str, row: str, metric: str) -> float:
        """The mean over seeds."""
        self.need([method], row)
        return float(np.mean(self.book.values(method, dataset_of(row), metric)))

    def measured(self, method: str, row: str, metric: str) -> tuple[Estimate, str]:
        """One value with its interval, and what that is over; without an upper end where the method is doubted."""
        self.need([method], row)
        found, how = self._over_seeds(*self._of_items(method, row, metric), row, metric, method)
        if self._doubts(method, row):
            found = replace(found, **({"low": -_FAR} if less_is_better(metric) else {"high": _FAR}))
        return found, how

    def _of_items(self, method: str, row: str, metric: str) -> tuple[Estimate, str]:
        return self.book.interval(method, dataset_of(row), metric, self.resamples, resample_seeds=False), OVER_ITEMS

    def difference(self, a: str, b: str, row: str, metric: str) -> Test:
        """A - B on a row, with its interval."""
        self.need([a, b], row)
        return self.at_level(self._compared(a, b, row, metric), row)

    def _compared(self, a: str, b: str, row: str, metric: str) -> Test:
        where = self._sets(row) if row == MEAN else dataset_of(row)
        found = self.book.difference(a, b, where, metric, self.resamples, resample_seeds=False)
        return found if row == MEAN else found.model_copy(update={"dataset": row})

    def at_level(self, test: Test, row: str = "") -> Test:
        """Give a comparison over items the interval that the claim asks for, and keep in mind what was compared.

        One whose methods have no row of their own on its data set stays as it is.
        """
        row = row or test.dataset
        books = (self.book, Rows(self.metrics, (), {}))
        cells = [(side, name) for side in (test.a, test.b) for name in self._sets(row)]
        book = next((one for one in books if all(one.has(*cell) for cell in cells)), None)
        if book is None:
            return test
        self.pairs.append((self._place(test.a, row), self._place(test.b, row)))
        value = Estimate(test.estimate, test.low, test.high, test.p)
        found, kind = self._over_seeds(value, test.kind, row, test.metric, test.a, test.b, book=book)
        if self._doubts(getattr(test, self.side), row):
            better = _FAR if (self.side == "a") != less_is_better(test.metric) else -_FAR
            ends = {"low": found.low, "high": found.high, "high" if better > 0 else "low": better}
            return test.model_copy(update={**ends, "estimate": better if better * test.estimate < 0 else test.estimate})
        if kind == test.kind:
            return test
        return test.model_copy(
            update={"kind": kind, "low": found.low, "high": found.high, "p": found.p, "p_holm": None}
        )

    def _doubts(self, method: str, row: str) -> bool:
        """Whether a method is doubted on a row, which is kept in mind."""
        if found := self.doubted and (place := self._place(method, row)) in self.doubted:
            self.weighed.add(place)
        return bool(found)

    def _place(self, method: str, row: str) -> Place:
        """Name the method and the data set of a cell."""
        found: Place = self.book.place(method, row) if hasattr(self.book, "place") else (method, dataset_of(row))
        return found

    def _seeds(self, book: Any, method: str, row: str) -> Sequence[int | None]:
        """The seeds that a method has on every data set of a row."""
        return min((book.seeds(method, name) for name in self._sets(row)), key=len)

    def spread(self, book: Any, row: str, metric: str, *methods: str) -> float:
        """What seeds add to each half of an interval of one method, or of the difference of two."""
        sides = []
        for method in methods:
            seeds = len(self._seeds(book, method, row))
            values = [book.values(method, name, metric)[:seeds] for name in self._sets(row)]
            sides.append(np.mean(values, axis=0))
        return seed_spread(*sides)

    def _over_seeds(
        self, found: Estimate, how: str, row: str, metric: str, *methods: str, book: Any = None
    ) -> tuple[Estimate, str]:
        """Widen an interval over items by what seeds add, where the claim is about models."""
        book = book or self.book
        for method in methods:
            trainings = sum(seed is not None for seed in self._seeds(book, method, row))
            place = self._place(method, row)
            self.asked[place] = min(self.asked.get(place, trainings), trainings)
        half = self.spread(book, row, metric, *methods)
        over_seeds = "seeds" in how or "runs" in how
        if self.about != "models" or over_seeds or not found.low < found.high or not half:
            return found, how
        return two_levels(found, half), how + AND_SEEDS

    def printed(self, method: str, row: str, metric: str, table: str = "") -> float:
        """A value of the paper's table, the experiment's own where none is named.

        Raises:
            Missing: it is not printed.
        """
        if hasattr(self.book, "printed"):
            return float(self.book.printed(method, row))
        try:
            found = [
                tables.value(self.paper, table or self.experiment, method, name, metric) for name in self._sets(row)
            ]
        except ConfigError as error:
            raise Missing(f"needs a row that the paper prints; it prints no {metric} of {method} on {row}") from error
        return float(np.mean(found))

    def finding(self, name: str) -> Any:
        """What the notebook found and handed over, or recorded beside its rows.

        Raises:
            Missing: nothing of that name.
        """
        for held in (self.findings, self.extra):
            if name in held:
                return held[name]
        raise Missing(f"needs {name}, which this run did not measure")


def less_is_better(metric: str) -> bool:
    """Tell whether less of a measure is better: errors, and ranks of what was looked for."""
    return _LOWER.fullmatch(metric) is not None


def turned(test: Test) -> Test:
    """B - A."""
    return test.model_copy(
        update={"a": test.b, "b": test.a, "estimate": -test.estimate, "low": -test.high, "high": -test.low}
    )


def dataset_of(row: str) -> str:
    """Name the data set of a column: ``MSRP`` of ``MSRP (F1)``."""
    return row.removesuffix(" (F1)")
