"""What a rule may ask of a recorded run: values, intervals and differences, over new trainings and new items.

A claim about models asks what new trainings would score on new items: its intervals are over seeds and items. A claim
about given encoders asks for new items alone.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np

from sentbook.data.suites import TEST_NAMES
from sentbook.evaluation.predictions import AND_SEEDS, Predictions
from sentbook.evaluation.statistics import Estimate, seed_spread, two_levels
from sentbook.judge import printed as tables
from sentbook.judge.claims import at
from sentbook.records import Metric, Run, Search, Test

NAMED = {"spearman": ", \u03c1", "mse": ", MSE"}  # said of a number beside its data set
# Errors, time and memory, and ranks of what was looked for.
_LOWER = re.compile(r"mse|mae|loss|(milli)?seconds|peak_mebibytes|perplexity.*|median_rank|.*MedR")


class Missing(Exception):
    """A claim needs a number that this run does not have; the message says which."""


class Place(NamedTuple):
    """A method on a data set in a measure."""

    method: str
    dataset: str
    metric: str


@dataclass(frozen=True)
class Number:
    """A number that a verdict looked at: a value of a method, a difference of two, a finding, or a count.

    Attributes:
        unit: a measure (in [-1, 1] where it is bounded), or what is counted.
        low, high: the ends of its 95 % interval; of no width where it has none.
        how: how the interval was made, empty where there is none; of what ours is compared with, where it is from.
        of: a count of so many.
        a, b: what was trained for it.
        printed: the same, as the paper prints it.
    """

    what: str
    unit: str
    value: float
    low: float = 0.0
    high: float = 0.0
    how: str = ""
    of: int | None = None
    a: Place | None = None
    b: Place | None = None
    printed: float | None = None

    def better(self, goal: float = 0.0) -> tuple[float, float, float]:
        """Return by how much it, and the ends of its interval, are better than ``goal``."""
        value, low, high = (end - goal for end in (self.value, self.low, self.high))
        return (-value, -high, -low) if lower_is_better(self.unit) else (value, low, high)


def lower_is_better(metric: str) -> bool:
    """Tell whether a smaller value of a measure is the better one."""
    return _LOWER.fullmatch(metric) is not None


def best(values: Mapping[str, float], metric: str) -> str:
    """Name the best by their values."""
    return (min if lower_is_better(metric) else max)(values, key=lambda name: values[name])


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
        book: the predictions behind the run, where its record is being made.
        made: numbers from these predictions, which the run does not hold.
        ahead: sides, as ``("a", place)``, that are taken to be as good as may be.
    """

    run: Run
    about: str = "models"
    protocol: str = ""
    book: Predictions | None = None
    made: list[Test] = field(default_factory=list)
    ahead: Collection[tuple[str, Place | None]] = ()

    @cached_property
    def _rows(self) -> Mapping[tuple[str, str, str], list[Metric]]:
        found = defaultdict(list)
        for row in self.run.metrics:
            if self.protocol in row.protocol:
                found[row.method, row.dataset, row.metric].append(row)
        return dict(found)

    def metric(self, row: str) -> str:
        """Name the measure of a row where the claim names none: the first that is recorded."""
        if row.endswith(" (F1)"):
            return "f1"
        return next((metric for _, name, metric in self._rows if name == members(row)[0]), "pearson")

    def chosen(self, method: str, dataset: str) -> str:
        """Name the recorded row of a method that stands for several, of which development pairs chose one."""
        return str(self.run.findings.get("chosen rows", {}).get(dataset, {}).get(method, method))

    def seeds(self, method: str, row: str, metric: str) -> Mapping[int | None, float]:
        """Return the value of every seed, of a mean of data sets their mean.

        Raises:
            Missing: the method has no number on a data set of the row.
        """
        by_set: list[dict[int | None, float]] = []
        for name in members(row):
            held = self._rows.get((self.chosen(method, name), name, metric), [])
            if len({one.protocol for one in held}) != 1:
                raise Missing(f"needs {method} on {name}{' under one protocol' if held else ''}")
            by_set.append({one.seed: one.value for one in held})
        shared = [seed for seed in by_set[0] if all(seed in one for one in by_set)]
        return {seed: float(np.mean([one[seed] for one in by_set])) for seed in shared}

    def mean(self, method: str, row: str, metric: str) -> float:
        """Return the mean over seeds."""
        return float(np.mean(list(self.seeds(method, row, metric).values())))

    def searches(self, place: Place) -> list[Search]:
        """Return the searches of a method on a data set."""
        own = [search for search in self.run.searches if search.method == place.method]
        return [search for search in own if TEST_NAMES.get(search.dataset, search.dataset) in ("", place.dataset)]

    def measured(self, row: str, metric: str, a: str, b: str = "") -> Number:
        """Return A's value on a row, or A - B: as it was recorded, or from the scores per item.

        Raises:
            Missing: it is neither.
        """
        sides = [name for name in (a, b) if name]
        for name in sides:
            self.seeds(name, row, metric)
        held = map(Test.model_validate, self.run.findings.get("measured", ()))
        for test in [*self.run.tests, *held, *self.made]:
            sign = {(a, b): 1, (b, a): -1}.get((test.a, test.b), 0)
            if sign and test.kind != "williams" and test.metric == metric and test.dataset in (row, dataset_of(row)):
                low, high = sorted((sign * test.low, sign * test.high))
                ends = {"estimate": sign * test.estimate, "low": low, "high": high}
                return self.number(test.model_copy(update={"a": a, "b": b, "dataset": row, **ends}))
        names = [self.chosen(name, dataset_of(row)) for name in sides]
        place = members(row) if row.startswith("mean of ") else dataset_of(row)
        if self.book and all(self.book.has(name, place) for name in names):
            resamples = int(self.run.provenance.config.get("resamples", 2000))
            one = self.book.compared(names, place, metric, resamples)
            self.made.append(one.model_copy(update={"a": a, "b": b, "dataset": dataset_of(row)}))
            return self.number(self.made[-1].model_copy(update={"dataset": row}))
        raise Missing(f"needs {a} against {b} on {row}" if b else f"needs the interval of {a} on {row}")

    def number(self, test: Test) -> Number:
        """Return the number of a test, its interval widened by what seeds add where the claim is about models."""
        try:
            seeds = {name: self.seeds(name, test.dataset, test.metric) for name in (test.a, test.b) if name}
        except Missing:  # of a finding, whose sides need no rows
            seeds = {}
        value, low, high, how = test.estimate, test.low, test.high, test.kind
        if self.about == "models" and "seeds" not in how and "runs" not in how and low < high:
            half = seed_spread(*(list(side.values()) for side in seeds.values()))
            wide = two_levels(Estimate(value, low, high), half)
            low, high, how = wide.low, wide.high, how + AND_SEEDS * (half > 0)
        a, b = (Place(one, dataset_of(test.dataset), test.metric) if one in seeds else None for one in (test.a, test.b))
        for side, place in (("a", a), ("b", b)):
            if (side, place) in self.ahead:
                rises = (side == "a") != lower_is_better(test.metric)
                value, low, high = (inf, low, inf) if rises else (-inf, -inf, high)
        sides = " − ".join(f"({one})" if " - " in one else one for one in (test.a, test.b) if one)
        what = " on ".join(filter(None, (sides, test.dataset))) + NAMED.get(test.metric, "")
        return Number(what, test.metric, value, low, high, how if low < high else "", a=a, b=b)

    def printed(self, names: Iterable[str], row: str, metric: str, table: str = "") -> tuple[float, str]:
        """Return the best of what the paper prints of methods, and whose it is.

        Args:
            table: the experiment's own where none is named.

        Raises:
            ConfigError: it is not printed.
        """
        place, sets = (self.run.paper, table or self.run.experiment), members(row)
        found = {name: float(np.mean([tables.value(*place, name, one, metric) for one in sets])) for name in names}
        return found[name := best(found, metric)], name

    def rivals(self, name: str, row: str, metric: str, table: str = "") -> list[str]:
        """Name the other methods, or settings, that the paper prints in the column of a method."""
        frame = tables.table(self.run.paper, table or self.run.experiment)
        held = frame[(frame["dataset"] == members(row)[0]) & (frame["metric"] == metric)]
        return [other for other in held["setting" if "setting" in held else "method"].unique() if other != name]

    def finding(self, name: str) -> Any:
        """Return a finding of the run, ``name`` or ``name.part``.

        Raises:
            Missing: nothing of that name.
        """
        found = at(self.run.findings, name)
        if found in (None, [], {}):
            raise Missing(f"needs {name}, which this run did not measure")
        return found
