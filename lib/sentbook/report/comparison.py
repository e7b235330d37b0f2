"""The one table that compares: the paper's numbers, ours, and their difference.

Rows and columns come from the record. A run in memory adds a column "yours", never a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from sentbook.io import ConfigError
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.html import Shown, both
from sentbook.report.summary import (
    Printed,
    Values,
    changes,
    difference_name,
    full_name,
    headings,
    is_average,
    label_of,
    ordered,
    seeds_in_words,
)
from sentbook.report.table import drawn

Across = Literal["method", "dataset", "metric"]
PAPER, OURS, YOURS = "paper", "ours", "yours"


@dataclass(frozen=True)
class Layout:
    """What a comparison shows.

    Attributes:
        methods: in the order shown; None: all of the run.
        rows: the data sets; None: all of the run on which one of ``methods`` was scored.
        metric: one for all data sets, or one by data set; None: Pearson's r, else the data set's first.
        metrics: those of a table whose columns are metrics.
        across: what heads the columns; the other of methods and data sets heads the rows.
        difference: A and B, whose tested difference A - B gets columns of its own.
        gap: whether each method has a column ours - paper.
        labels: what a method or data set is called in this table, by its name in the record.
        groups: headings over methods that are rows, with the methods below each.
        notes: words after the label of a data set or of its year, such as "validation".
        places: decimals, in place of the metric's.
    """

    methods: Sequence[str] | None = None
    rows: Sequence[str] | None = None
    metric: str | Mapping[str, str] | None = None
    metrics: Sequence[str] = ()
    across: Across = "method"
    difference: tuple[str, str] | None = None
    gap: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    places: int | None = None

    def label(self, name: str) -> str:
        """Name a method or data set as this table calls it."""
        return self.labels.get(name, name)


def comparison(
    record: Run | None, printed: Printed, layout: Layout, *, protocol: str | None, caption: str, run: Run | None
) -> Shown:
    """Compare the paper's numbers with the record, and with ``run`` where its data sets are those of the record."""
    ours, yours = Values(record, protocol), Values(run, protocol)
    shown = None if record is None else _table(ours, printed, yours, layout, caption)
    alone = None
    if run is not None:
        known = set(ours.datasets(ours.methods))
        rest = [name for name in yours.datasets(yours.methods) if name not in known]
        if rest:
            own = Layout(**{**vars(layout), "rows": rest})
            alone = _table(yours, Printed(pd.DataFrame()), Values(None), own, _title(run), name=YOURS)
    return both(shown, alone)


def _title(run: Run) -> str:
    return f"Your run, on data sets that the record does not have. {'; '.join(changes(run))}."


def _table(ours: Values, printed: Printed, yours: Values, layout: Layout, caption: str, name: str = OURS) -> Shown:
    """Draw the rows and columns of ``ours`` beside what the paper and a run in memory have in the same places."""
    grid = _Grid(ours, printed, yours, layout, name)
    if not grid.rows:
        raise ConfigError(f"{_named(ours.run)} holds no number of {layout.methods or 'any method'}; see its .metrics.")
    text, classes, labels = [], [], []
    for row, label in grid.rows:
        line = [("", "") for _ in grid.columns] if row is None else grid.line(row)
        kind = "sb-head" if row is None else "sb-average" if is_average(row) else ""
        text.append([cell for cell, _ in line])
        classes.append([f"{kind} {own}".strip() for _, own in line])
        labels.append(label)
    columns = pd.MultiIndex.from_tuples(grid.columns)
    note = " ".join(filter(None, grid.notes()))
    frames = (pd.DataFrame(rows, columns=columns, dtype=object) for rows in (text, classes))
    return drawn(next(frames), labels, next(frames), caption=caption, note=note)


class _Grid:
    """The rows, columns and cells of one table."""

    def __init__(self, ours: Values, printed: Printed, yours: Values, layout: Layout, name: str) -> None:
        self.ours, self.printed, self.yours, self.layout, self.name = ours, printed, yours, layout, name
        wanted = ours.methods if layout.methods is None else layout.methods
        self.methods = [one for one in wanted if one in {*ours.methods, *yours.methods, *printed.methods}]
        held = ours.datasets(self.methods)
        self.datasets = held if layout.rows is None else [one for one in layout.rows if one in held]
        self.heads = {"method": self.methods, "dataset": self.datasets, "metric": list(layout.metrics)}[layout.across]
        self.sources = [(PAPER, printed), (name, ours), (YOURS, yours)]
        self.rows = self._rows()
        keys = [row for row, _ in self.rows if row is not None]
        self.columns: list[tuple[str, str]] = []
        self._kinds: list[tuple[str, str]] = []  # head and source of each column
        for head in self.heads:
            present = [
                source
                for source, values in self.sources
                if any(values.mean(*self.key(row, head)) is not None for row in keys)
            ]
            present += ["gap"] if layout.gap and {PAPER, name} <= set(present) else []
            for source in present:
                self._kinds.append((head, source))
                self.columns.append((self._head(head), "ours \u2212 paper" if source == "gap" else source))
        self.tests = {}
        if layout.difference is not None and layout.across == "method":
            for source, values in ((name, ours), (YOURS, yours)):
                found = {row: values.test(*layout.difference, row, self.metric(row)) for row in keys}
                if any(found.values()):
                    self.tests[source] = found
                    self.columns.append((difference_name(*map(layout.label, layout.difference)), source))

    def metric(self, dataset: str) -> str:
        return self.ours.metric_on(dataset, self.layout.metric)

    def key(self, row: str, head: str) -> tuple[str, str, str]:
        """Method, data set and metric of a cell."""
        match self.layout.across:
            case "method":
                return head, row, self.metric(row)
            case "dataset":
                return row, head, self.metric(head)
            case "metric":
                return row, self.datasets[0], head

    def _head(self, head: str) -> str:
        match self.layout.across:
            case "method":
                return self.layout.label(head)
            case "dataset":
                return self.layout.labels.get(head, full_name(head))
            case "metric":
                return numbers.name(head, short=True)

    def _rows(self) -> list[tuple[str | None, str]]:
        layout = self.layout
        if layout.across != "method":
            grouped = [name for members in layout.groups.values() for name in members]
            rows: list[tuple[str | None, str]] = [
                (one, layout.label(one)) for one in self.methods if one not in grouped
            ]
            for group, members in layout.groups.items():
                inside = [(one, layout.label(one)) for one in members if one in self.methods]
                rows += [(None, group), *inside] if inside else []
            return rows
        named = {label_of(row)[0]: layout.notes.get(row.partition("/")[0], "") for row in self.datasets}
        lines = []
        for row, label in headings(self.datasets):
            note = layout.notes.get(row, "") if row is not None else named.get(label, "")
            lines.append((row, ", ".join(filter(None, (layout.labels.get(row or "", label), note)))))
        return lines

    def best(self, row: str, head: str) -> bool:
        """Tell whether ours is the best of the methods shown, as printed; a tie is bold on both sides."""
        method, dataset, metric = self.key(row, head)
        candidates = (
            self.methods if self.layout.across == "method" else [one for one, _ in self.rows if one is not None]
        )
        values = {one: self.ours.mean(one, dataset, metric) for one in candidates}
        printed = {
            one: round(value * numbers.factor(metric), self.places(metric))
            for one, value in values.items()
            if value is not None
        }
        choose = min if numbers.lower_is_better(metric) else max
        return self.name == OURS and len(printed) > 1 and printed.get(method) == choose(printed.values())

    def places(self, metric: str) -> int:
        return numbers.digits(metric) if self.layout.places is None else self.layout.places

    def line(self, row: str) -> list[tuple[str, str]]:
        """Return the text and the class of each cell of a row."""
        cells = []
        for head, source in self._kinds:
            key = self.key(row, head)
            metric, places = key[2], self.places(key[2])
            if source == "gap":
                ours, paper = self.ours.mean(*key), self.printed.mean(*key)
                value = None if ours is None or paper is None else ours - paper
                cells.append((numbers.shown(value, metric, places=places, signed=True), ""))
                continue
            value = dict(self.sources)[source].mean(*key)
            bold = source == OURS and self.best(row, head)
            kind = "sb-paper" if source == PAPER else "sb-best" if bold else ""
            cells.append((numbers.shown(value, metric, places=places), kind))
        for tests in self.tests.values():
            test, metric = tests[row], self.metric(row)
            if test is None:
                cells.append((numbers.DASH, "sb-difference"))
                continue
            estimate = numbers.shown(test.estimate, metric, places=self.places(metric), signed=True)
            ends = numbers.interval(test.low, test.high, metric, places=self.places(metric), signed=True)
            cells.append((f"{estimate} {ends}", "sb-difference"))
        return cells

    def notes(self) -> Iterable[str]:
        """Say how the numbers were made: metric, seeds, what is bold, how often A is ahead, what was changed."""
        keys = [self.key(row, head) for row, _ in self.rows if row is not None for head in self.heads]
        metrics = ordered(metric for _, _, metric in keys)
        if self.layout.across != "metric":
            yield ", ".join(map(numbers.name, metrics)) + "."
        run = self.ours.run
        if run is not None and self.name == OURS:
            yield f"Ours: {seeds_in_words(run)}, bold where best."
        if self.layout.difference is not None:
            yield from self._wins(*self.layout.difference)
        if self.yours.run is not None and any(source == YOURS for _, source in self.columns):
            yield f"Yours: {'; '.join(changes(self.yours.run))}."

    def _wins(self, a: str, b: str) -> Iterable[str]:
        """Count the data sets, averages apart, on which A is ahead of B."""
        tests = self.tests.get(self.name, {})
        sets = [row for row, test in tests.items() if test is not None and not is_average(row)]
        if not sets:
            return
        held = [test for row, test in tests.items() if row in sets and test is not None]
        sure = [sum(test.low > 0 for test in held), sum(test.high < 0 for test in held)]
        ahead = sum(test.estimate > 0 for test in held)
        yield (
            f"{difference_name(a, b)}: 95 % interval ({held[0].kind}). {a} is ahead on {ahead} of {len(sets)} sets; "
            f"the interval is above 0 on {sure[0]} and below 0 on {sure[1]}."
        )
        pairs = [
            (self.printed.mean(a, row, self.metric(row)), self.printed.mean(b, row, self.metric(row))) for row in sets
        ]
        both_printed = [(first, second) for first, second in pairs if first is not None and second is not None]
        if both_printed and self.name == OURS:
            theirs = sum(first > second for first, second in both_printed)
            yield f"In the paper it is ahead on {theirs} of {len(both_printed)}."


def _named(run: Run | None) -> str:
    return f"{run.paper}/{run.experiment}" if run is not None else "Nothing"
