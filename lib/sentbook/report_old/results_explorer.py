"""The data of the page on which a reader sorts, filters and compares recorded results, and the table that stands there
without JavaScript.

Each recorded run becomes rows of methods and columns of data sets: values by seed, intervals, the paper's value, the
protocol and the place on the run's page. The page brings its largest run; each other one is a script of its own, which
the page loads when a reader chooses that table, with a server or without one. What the page does with them is in
``book/_static/explore/results.js``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sentbook.evaluation.predictions import INTERVALS
from sentbook.io import ConfigError
from sentbook.records import Metric, Run
from sentbook.report_old import numbers
from sentbook.report_old.markup import row_key, script
from sentbook.report_old.names import readable
from sentbook.report_old.pages import title
from sentbook.report_old.summary import full_name, group_and_label, is_average, ordered, printed, reported
from sentbook.report_old.table import Cell, Row, Table, command
from sentbook.runs.papers import paper_of

# A run that has the same numbers by many protocols has a page of its own.
_BY_PROTOCOL = "protocols"
PAGE = "results.md"
# The folder in ``book/_generated`` whose files the book serves as they are.
STATIC = "_static"


class Column(NamedTuple):
    """One data set in one measure; ``variant`` counts the protocols by which a method has several numbers of it."""

    dataset: str
    metric: str
    variant: int

    @property
    def is_mean(self) -> bool:
        """Whether it is a mean over other columns, which no further mean takes in."""
        return self.dataset == "total_avg" or self.dataset.endswith(" mean")


def fragments(runs: Sequence[Run]) -> dict[str, str]:
    """The generated part of the page, which names all runs and has the largest one, and a script a run for the others.

    Args:
        runs: those with rows, in the order of the book.

    Returns:
        File name in ``book/_generated`` to Markdown and JavaScript.
    """
    shown = [run for run in runs if run.metrics and _BY_PROTOCOL not in run.extra]
    if not shown:
        return {PAGE: "No run is recorded yet.\n"}
    first = max(shown, key=lambda run: len({(row.method, row.dataset, row.metric) for row in run.metrics}))
    made = [run_data(run) for run in shown]
    data = {"first": made[shown.index(first)], "runs": [{key: one[key] for key in ("name", "title")} for one in made]}
    held = f'<div id="results-explorer">{static_table(first).html()}</div>\n\n{script("results-data", data)}\n'
    others = [one for one, run in zip(made, shown, strict=True) if run is not first]
    texts = {one["name"]: json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in others}
    # Named as `results.js` asks for it.
    files = {
        f"{STATIC}/recorded/{name.replace('/', '-')}.js": f"sentbook.keep({text});\n" for name, text in texts.items()
    }
    return {PAGE: held} | files


# -- one run -----------------------------------------------------------------------------------------------------------


def run_data(run: Run) -> dict[str, Any]:
    """Give a run's methods, columns, cells and tests, by places in lists; values in the unit that they are shown in."""
    cells = _cells(run)
    columns = ordered(column for _, column in cells)
    metrics = ordered(column.metric for column in columns)
    methods, protocols = ordered(row.method for row in run.metrics), ordered(row.protocol for row in run.metrics)
    trainings = ordered(tuple(row.seed for row in rows) for rows in cells.values())
    visible = set(_visible(run, columns))
    theirs, intervals = _printed(run), run.extra.get(INTERVALS, {})
    letters = run.extra.get("letters", {})
    found = []
    for (method, column), rows in cells.items():
        low, high = intervals.get(column.metric, {}).get(column.dataset, {}).get(method, (None, None))
        plain = not column.variant
        held = [
            methods.index(method),
            columns.index(column),
            protocols.index(rows[0].protocol),
            rows[0].n,
            trainings.index(tuple(row.seed for row in rows)),
            [_scaled(row.value, column.metric, 2) for row in rows],
            row_key(method, column.dataset, column.metric),
            _scaled(low, column.metric) if plain else None,
            _scaled(high, column.metric) if plain else None,
            _scaled(theirs.get(column.metric, {}).get((method, column.dataset)), column.metric) if plain else None,
            letters.get(column.metric, {}).get(column.dataset, {}).get(method) if plain else None,
        ]
        while held[-1] is None:
            held.pop()
        found.append(held)
    return {
        "name": f"{run.paper}/{run.experiment}",
        "title": f"{paper_of(run.paper).name}, {title(run.experiment).lower()}",
        "profile": run.profile,
        "command": command(run.paper, run.experiment, run.profile),
        "methods": [readable(method) for method in methods],
        "protocols": [readable(protocol) for protocol in protocols],
        "seeds": trainings,
        "metrics": [
            {
                "metric": numbers.name(metric),
                "unit": numbers.short(metric),
                "digits": numbers.digits(metric),
                "lower": numbers.lower_is_better(metric),
                "hundred": numbers.factor(metric) == 100.0,
            }
            for metric in metrics
        ],
        # What a column has not is left out.
        "columns": [
            {
                name: value
                for name, value in {
                    "key": "~".join((column.dataset, column.metric, *[str(column.variant)] * (column.variant > 0))),
                    "label": _label(column.dataset),
                    "how": _variant_words(column, cells),
                    "mean": column.is_mean,
                    "part": _part_of(column, columns),
                    "shown": column in visible,
                    "measure": metrics.index(column.metric),
                }.items()
                if value is not False and value != ""
            }
            for column in columns
        ],
        "cells": found,
        **_tests(run, methods, columns),
    }


def _label(dataset: str) -> str:
    """The head of a column: a year's average is called as the year."""
    group, name = group_and_label(dataset)
    return group if group and is_average(dataset) else full_name(group, name)


def _cells(run: Run) -> dict[tuple[str, Column], list[Metric]]:
    """Method and column -> its rows, one a seed."""
    by_protocol: dict[tuple[str, str, str], dict[str, list[Metric]]] = {}
    for row in run.metrics:
        by_protocol.setdefault((row.method, row.dataset, row.metric), {}).setdefault(row.protocol, []).append(row)
    return {
        (method, Column(dataset, metric, variant)): rows
        for (method, dataset, metric), found in by_protocol.items()
        for variant, rows in enumerate(found.values())
    }


def _visible(run: Run, columns: Sequence[Column]) -> list[Column]:
    """What is shown at first: the run's own choice, else every data set but the parts of a year that has an average."""
    chosen = [tuple(one) for one in run.extra.get("columns", ())]
    if chosen:
        return [column for column in columns if (column.dataset, column.metric) in chosen and not column.variant]
    return [column for column in columns if not column.variant and not _part_of(column, columns)]


def _part_of(column: Column, columns: Sequence[Column]) -> str:
    """The average that a column is a part of, by its data set; empty where there is none."""
    year = f"{column.dataset.partition('/')[0]}/avg"
    held = any((one.dataset, one.metric) == (year, column.metric) for one in columns)
    return year if held and "/" in column.dataset and not is_average(column.dataset) else ""


def _variant_words(column: Column, cells: Mapping[tuple[str, Column], Sequence[Metric]]) -> str:
    """The words of a further protocol that the first one does not have, as ``pooled pairs``."""
    if not column.variant:
        return ""
    method, rows = next((method, rows) for (method, one), rows in cells.items() if one == column)
    first = cells[method, column._replace(variant=0)][0].protocol.split(", ")
    return ", ".join(word for word in rows[0].protocol.split(", ") if word not in first) or rows[0].protocol


def _printed(run: Run) -> dict[str, dict[tuple[str, str], float]]:
    """Measure -> (method, data set) -> what the paper prints in the table of the run's name."""
    try:
        frame = reported(run.paper, run.experiment)
    except ConfigError:
        return {}
    if frame["value"].dtype == object:  # a table of settings, in words
        return {}
    return {metric: printed(frame, metric) for metric in ordered(row.metric for row in run.metrics)}


def _tests(run: Run, methods: Sequence[str], columns: Sequence[Column]) -> dict[str, Any]:
    """The differences with an interval that the run tested: methods, column, difference, ends, kind."""
    kinds = ordered(test.kind for test in run.tests)
    found = []
    for test in run.tests:
        column = Column(test.dataset, test.metric, 0)
        if test.low < test.high and column in columns and {test.a, test.b} <= set(methods):
            spare = 0 if "seed" in test.kind else 1  # else the page widens the ends by what seeds add
            ends = [_scaled(value, test.metric, spare) for value in (test.estimate, test.low, test.high)]
            places = [methods.index(test.a), methods.index(test.b), columns.index(column)]
            found.append([*places, *ends, kinds.index(test.kind)])
    return {"kinds": kinds, "tests": found}


def _scaled(value: float | None, metric: str, spare: int = 1) -> float | None:
    """Round to ``spare`` decimals more than the page shows; to more where its own rounding would then differ."""
    if value is None:
        return None
    whole, shown = value * numbers.factor(metric), numbers.digits(metric) + 1
    rounded = (round(whole, decimals) for decimals in range(shown + spare, 16))
    same = (one for one in rounded if all(f"{one:.{at}f}" == f"{whole:.{at}f}" for at in (shown - 1, shown)))
    return next(same, whole)


# -- without JavaScript ------------------------------------------------------------------------------------------------


def static_table(run: Run) -> Table:
    """The means over seeds of a run's first columns, a row a method."""
    cells = _cells(run)
    columns = _visible(run, ordered(column for _, column in cells))
    rows = []
    for method in ordered(row.method for row in run.metrics):
        line = []
        for column in columns:
            held = cells.get((method, column), [])
            mean = sum(row.value for row in held) / len(held) if held else None
            line.append(Cell(numbers.shown(mean, column.metric), row=(method, column.dataset, column.metric)))
        rows.append(Row(method, line))
    heads = [(_label(column.dataset), numbers.short(column.metric)) for column in columns]
    name = f"{paper_of(run.paper).name}, {title(run.experiment).lower()}"
    how = "With JavaScript this table can be sorted, filtered and compared, and every other recorded one with it."
    return Table("Encoder", heads, rows, name, how, run=run)
