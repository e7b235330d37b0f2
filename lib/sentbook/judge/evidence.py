"""What a rule may ask of a recorded run: values, intervals and differences, over new trainings and new items.

A claim about models asks what new trainings would score on new items: its intervals are over seeds and items. A claim
about given encoders asks for new items alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sentbook.evaluation.predictions import AND_SEEDS, INTERVALS, Predictions
from sentbook.evaluation.statistics import Estimate, seed_spread, two_levels
from sentbook.io import ConfigError
from sentbook.judge import printed as tables
from sentbook.records import Level, Run, Test

OVER_ITEMS = "bootstrap over items"
# Less is better in these: errors, seconds, and ranks of what was looked for.
_LOWER = re.compile(r"mse|mae|seconds|.*MedR")


class Missing(Exception):
    """A claim needs a number that this run does not have; the message says which."""


class Place(NamedTuple):
    """A method on a data set, as it was searched and trained."""

    method: str
    dataset: str


def less_is_better(metric: str) -> bool:
    """Tell whether less of a measure is better."""
    return _LOWER.fullmatch(metric) is not None


def turned(test: Test) -> Test:
    """Return B - A."""
    ends = {"estimate": -test.estimate, "low": -test.high, "high": -test.low}
    return test.model_copy(update={"a": test.b, "b": test.a, **ends})


def dataset_of(row: str) -> str:
    """Name the data set of a column: ``MSRP`` of ``MSRP (F1)``."""
    return row.removesuffix(" (F1)")


def members(row: str) -> list[str]:
    """Name the data sets of a row: those of ``mean of MR, CR``, else itself."""
    return row.removeprefix("mean of ").split(", ") if row.startswith("mean of ") else [dataset_of(row)]


@dataclass(frozen=True)
class Evidence:
    """A run as rules read it.

    Attributes:
        about: what the intervals are over.
        protocol: part of the protocol that counts, where a number is there under several.
        book: the predictions behind the run, where it recorded a score per item.
    """

    run: Run
    about: Level = "models"
    protocol: str = ""
    book: Predictions | None = None

    @cached_property
    def _rows(self) -> Mapping[tuple[str, str, str], Mapping[str, Mapping[int | None, float]]]:
        found: dict[tuple[str, str, str], dict[str, dict[int | None, float]]] = {}
        for row in self.run.metrics:
            if self.protocol in row.protocol:
                by_protocol = found.setdefault((row.method, row.dataset, row.metric), {})
                by_protocol.setdefault(row.protocol, {})[row.seed] = row.value
        return found

    def cells(self, where: str | list[str] | None, metric: str | list[str] | None) -> list[tuple[str, str]]:
        """Return the rows that a claim is about in its measures; None: the run's first data set, and a row's first."""
        if where is None and not self.run.metrics:
            raise Missing("needs a data set")
        rows = self.run.metrics[0].dataset if where is None else where
        measures = metric if isinstance(metric, list) else [metric]
        rows = [rows] if isinstance(rows, str) else rows
        return [(row, one or self.metric(row)) for row in rows for one in measures]

    def metric(self, row: str) -> str:
        """Name the measure of a row where the claim names none: the first that is recorded."""
        if row.endswith(" (F1)"):
            return "f1"
        return next((metric for _, name, metric in self._rows if name == members(row)[0]), "pearson")

    def chosen(self, method: str, dataset: str) -> str:
        """Name the recorded row of a method that stands for several, of which development pairs chose one."""
        return str(self.finding("chosen rows", {}).get(dataset, {}).get(method, method))

    def seeds(self, method: str, row: str, metric: str) -> Mapping[int | None, float]:
        """Return the value of every seed, of a mean of data sets their mean.

        Raises:
            Missing: the method has no number on a data set of the row.
        """
        by_set = []
        for name in members(row):
            held = self._rows.get((self.chosen(method, name), name, metric), {})
            if len(held) != 1:
                words = f"one protocol of {', '.join(held)} for" if held else ""
                raise Missing(" ".join(f"needs {words} {method} on {name}".split()))
            by_set += list(held.values())
        shared = [seed for seed in by_set[0] if all(seed in one for one in by_set)]
        return {seed: float(np.mean([one[seed] for one in by_set])) for seed in shared}

    def mean(self, method: str, row: str, metric: str) -> float:
        """Return the mean over seeds."""
        return float(np.mean(list(self.seeds(method, row, metric).values())))

    def trainings(self, place: Place) -> int:
        """Count the trainings behind a method's numbers on a data set; 0 where nothing was trained."""
        return sum(seed is not None for seed in self.seeds(*place, self.metric(place.dataset)))

    def value(self, method: str, row: str, metric: str) -> Test:
        """Return a method's value with its interval, as a test without a side B.

        Raises:
            Missing: it was not recorded.
        """
        seeds, where = self.seeds(method, row, metric), dataset_of(row)
        name, how = self.chosen(method, where), OVER_ITEMS
        if self.book and self.book.has(name, where):
            found = self.book.interval(name, where, metric, self.resamples)
            ends = found.low, found.high
        else:
            ends = self.run.extra.get(INTERVALS, {}).get(metric, {}).get(where, {}).get(name)
            for held in self.finding("intervals", []):
                if (held["method"], held["dataset"], held["metric"]) == (method, where, metric):
                    ends, how = (held["low"], held["high"]), held["how"]
        if not ends:
            raise Missing(f"needs the interval of {method} on {row}")
        mean = float(np.mean(list(seeds.values())))
        made = Test(kind=how, a=method, b="", dataset=row, metric=metric, estimate=mean, low=ends[0], high=ends[1])
        return self._over_seeds(made, seeds)

    def difference(self, a: str, b: str, row: str, metric: str) -> Test:
        """Return A - B on a row, as it was tested or turned about.

        Raises:
            Missing: it was not recorded.
        """
        sides = [self.seeds(method, row, metric) for method in (a, b)]
        first, second = (self.chosen(method, dataset_of(row)) for method in (a, b))
        where = members(row) if row.startswith("mean of ") else dataset_of(row)
        held = [*self.run.tests, *(Test.model_validate(one) for one in self.finding("differences", []))]
        if self.book and all(self.book.has(name, where) for name in (first, second)):
            made = self.book.difference(first, second, where, metric, self.resamples, resample_seeds=False)
            held = [made.model_copy(update={"a": a, "b": b, "dataset": row})]
        for test in (two for one in held if one.kind != "williams" for two in (one, turned(one))):
            if (test.a, test.b, test.metric) == (a, b, metric) and test.dataset in (row, dataset_of(row)):
                return self._over_seeds(test.model_copy(update={"dataset": row}), *sides)
        raise Missing(f"needs {a} against {b} on {row}")

    def at_level(self, test: Test) -> tuple[Test, bool]:
        """Return a test with the interval that the claim asks for, and whether its sides have rows of their own."""
        try:
            sides = [self.seeds(method, test.dataset, test.metric) for method in (test.a, test.b)]
        except Missing:
            return test, False
        return self._over_seeds(test, *sides), True

    @property
    def resamples(self) -> int:
        """How many resamples the run's intervals are of."""
        return int(self.run.provenance.config.get("resamples", 2000))

    def _over_seeds(self, test: Test, *sides: Mapping[Any, float]) -> Test:
        """Widen an interval over items by what seeds add, where the claim is about models."""
        half = seed_spread(*(list(side.values()) for side in sides))
        over = "seeds" in test.kind or "runs" in test.kind
        if self.about != "models" or over or not test.low < test.high or not half:
            return test
        found = two_levels(Estimate(test.estimate, test.low, test.high), half)
        return test.model_copy(update={"kind": test.kind + AND_SEEDS, "low": found.low, "high": found.high})

    def printed(self, method: str, row: str, metric: str, table: str = "") -> float:
        """Return a value of the paper's table, the experiment's own where none is named.

        Raises:
            Missing: it is not printed.
        """
        name = table or self.run.experiment
        try:
            found = [tables.value(self.run.paper, name, method, one, metric) for one in members(row)]
        except ConfigError as error:
            raise Missing(f"needs a row that the paper prints; it prints no {metric} of {method} on {row}") from error
        return float(np.mean(found))

    def finding(self, name: str, default: Any = None) -> Any:
        """Return a finding of the run, ``name`` or ``name.part``.

        Raises:
            Missing: nothing of that name, and no ``default``.
        """
        found: Any = self.run.findings
        for part in name.split("."):
            found = found.get(part, default) if isinstance(found, dict) else default
        if found is None or (default is None and isinstance(found, dict | list) and not found):
            raise Missing(f"needs {name}, which this run did not measure")
        return found
