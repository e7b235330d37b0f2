"""Tables of Zhang et al. 2018: table 4 (a row a transfer setting, a column a data set), who wins, sizes of the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from sentbook.data import suites
from sentbook.evaluation.predictions import KIND
from sentbook.evaluation.protocols import TEST_MEASURES as MEASURES
from sentbook.papers.dnt.winners import (
    CHOSEN,
    LEVEL,
    SETTINGS,
    SMALLEST,
    encoder_of,
    is_row,
    named,
    row_label,
    setting_of,
    tie_group,
    within,
)
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.markup import Fragment
from sentbook.report.summary import (
    Summary,
    full_name,
    group_and_label,
    mean_of_seeds,
    ordered,
    over_seeds,
    printed,
    significant,
    test_of,
    where_printed,
)
from sentbook.report.table import Cell, Row, Table, not_run
from sentbook.report.tables import best, difference_cell
from sentbook.report.view import of_view

_COMMAND = "make run NOTEBOOK=dnt/table4 PROFILE=small"
_STSB = suites.TEST_NAMES["stsb"]
_TIED = "\u2248"
At = tuple[str, str]  # a row, a data set
Values = dict[At, float]


# -- what a run holds ------------------------------------------------------------------------------------------------


def _held(run: Run | None) -> tuple[dict[At, Summary], str]:
    """The cells of a run in each data set's own measure, and how they were made."""
    found: dict[At, Summary] = {}
    words: list[str] = []
    if run is None:
        return {}, "as printed"
    for metric in ordered(MEASURES.values()):
        rows = [row for row in run.metrics if MEASURES.get(row.dataset) == metric and is_row(row.method)]
        cells, protocols = over_seeds(run.model_copy(update={"metrics": rows}), str(metric))
        found |= cells
        # The measure stands in the column's head.
        words += [protocol.replace(f", {metric}, ", ", ", 1) for protocol in protocols]
    how = ["; ".join(ordered(words))] if words else []
    how += [mean_of_seeds(summary.seeds for summary in found.values())] if found else []
    return found, " \u00b7 ".join(how) or "as printed"


def means(run: Run | None) -> Values:
    """(Row, data set) -> its value in the data set's own measure, the mean over seeds."""
    return {at: summary.value for at, summary in _held(run)[0].items()}


def _in_paper(reported: pd.DataFrame | None) -> Values:
    found: Values = {}
    for metric in ordered(MEASURES.values()):
        cells = printed(reported, str(metric))
        found |= {(m, d): v for (m, d), v in cells.items() if MEASURES.get(d) == metric and is_row(m)}
    return found


def _columns(ours: Values, paper: Values) -> list[str]:
    """The test sets in the order of the table; of a run on other sets than the paper's, those of the run alone."""
    run_sets, paper_sets = {d for _, d in ours}, {d for _, d in paper}
    shown = run_sets | paper_sets if not run_sets or run_sets & paper_sets else run_sets
    return [name for name in suites.TEST_NAMES.values() if name in shown]


def _rows(ours: Values, paper: Values, columns: Sequence[str]) -> dict[str, list[str]]:
    """Encoder -> its methods in the paper's order."""

    def place(method: str) -> tuple[int, bool, bool]:
        words = row_label(method)
        return SETTINGS.index(setting_of(method)), " KL" in words, "words updated" not in words

    methods = ordered(m for m, d in [*paper, *ours] if d in columns)
    encoders: dict[str, list[str]] = {}
    for method in methods:
        encoders.setdefault(encoder_of(method), []).append(method)
    return {encoder: sorted(found, key=place) for encoder, found in encoders.items()}


# -- table 4 ---------------------------------------------------------------------------------------------------------


def _marked(values: Values, encoders: Mapping[str, Sequence[str]], columns: Iterable[str]) -> dict[At, Cell]:
    """Give each value a cell: bold the best of its encoder, underlined the best of all, as printed, so maybe several.

    STSB's development pairs stand before its test pairs.
    """
    found: dict[At, Cell] = {}
    for dataset in columns:
        metric = str(MEASURES[dataset])
        groups = [{m: values[m, dataset] for m in rows if (m, dataset) in values} for rows in encoders.values()]
        overall = best({method: value for group in groups for method, value in group.items()}, metric)
        for group in groups:
            for method, value in group.items():
                dev = [values[method, suites.STSB_DEV]] if (method, suites.STSB_DEV) in values else []
                parts = [*(dev if dataset == _STSB else []), value]
                text = "/".join(numbers.shown(part, metric) for part in parts)
                top = method in best(group, metric)
                found[method, dataset] = Cell(text, best=top, underlined=method in overall)
    return found


def _tied(run: Run | None, encoders: Iterable[str], columns: Iterable[str]) -> set[At]:
    """The chosen rows of settings that share their cell's tie group with another one."""
    found: set[At] = set()
    if run is None:
        return found
    for encoder, dataset in product(encoders, columns):
        group = tie_group(run.tests, encoder, dataset)
        chosen = run.extra.get(CHOSEN, {}).get(dataset, {})
        rows = [chosen[named(encoder, setting)] for setting in group if named(encoder, setting) in chosen]
        found |= {(row, dataset) for row in rows if len(group) > 1}
    return found


@of_view
def cells_table(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    caption: str = "",
    just_made: bool = False,
    command: str = _COMMAND,
    beside: Run | None = None,
    changes: Sequence[str] = (),
) -> Table:
    """Show every row of every encoder on every data set, ours with the paper's value small below.

    STSB's cell shows development and test pairs; its best is judged on the test pairs. Ours is the mean over seeds,
    whose interval the cell's title holds.

    Args:
        run: its metrics name rows as table 4 does; ``tests`` and ``extra`` are those of
            `sentbook.papers.dnt.winners.compare`, without which no tie is marked. None: the paper's numbers alone.
        reported: the paper's table 4; left out where the run shares no data set with it.
        beside: a run of the reader's, small below ours; ``changes``: what it changed, in words.

    Raises:
        ConfigError: a cell was scored under two protocols.
    """
    (held, how), paper, where = _held(run), _in_paper(reported), where_printed(reported)
    ours = {at: summary.value for at, summary in held.items()}
    columns = _columns(ours, paper)
    encoders = _rows(ours, paper, columns)
    own, theirs, yours = (_marked(values, encoders, columns) for values in (ours, paper, means(beside)))
    tied = _tied(run, encoders, columns)

    def cell(at: At) -> Cell:
        below = [theirs[at]._replace(paper=where)] if at in theirs else []
        below += [yours[at]._replace(before="yours ")] if at in yours else []
        if at in own:
            metric, tie = str(MEASURES[at[1]]), f" {_TIED}" if at in tied else ""
            return own[at]._replace(below=below, after=tie, row=(*at, metric), title=_interval(held[at], metric))
        if at in theirs:
            return Cell(below=below, paper=where) if ours else theirs[at]._replace(paper=where)
        return Cell()

    rows = []
    for encoder, methods in encoders.items():
        rows.append(Row(encoder, head=True))
        rows += [Row(row_label(method), [cell((method, dataset)) for dataset in columns]) for method in methods]
    foot = ["Small: the paper."] if ours and any(d in columns for _, d in paper) else []
    foot += ["Yours: the run of this notebook."] if yours else []
    foot.append("Bold: best row of its encoder. Underlined: best of its column.")
    if tied:
        foot.append(
            f"{_TIED}: the row, chosen on development pairs, of a setting that is not significantly below the best one "
            "of its cell, where there are several such (paired bootstrap, p < .05 after Holm over the cells)."
        )
    heads = [(_title(d, ours, paper), numbers.short(str(MEASURES[d]))) for d in columns]
    return Table(
        "Row",
        heads,
        rows,
        caption or "Transfer settings",
        how,
        " ".join(foot) + _too_few(run),
        run=run,
        badged=True,
        just_made=just_made,
        notice=not_run(command) if run is None else None,
        changes=changes,
    )


def _interval(summary: Summary, metric: str) -> str:
    around = numbers.interval(summary.low, summary.high, metric)
    seeds = f"{summary.seeds} seed{'' if summary.seeds == 1 else 's'}"
    return f"{around}, {seeds}" if around else seeds


def _title(dataset: str, ours: Values, paper: Values) -> str:
    both = dataset == _STSB and any(name == suites.STSB_DEV for _, name in [*ours, *paper])
    return "STSB dev/test" if both else full_name(*group_and_label(dataset))


def _too_few(run: Run | None) -> str:
    """A warning where the resamples are too few for any p to be significant."""
    smallest = run.extra.get(SMALLEST, 0.0) if run is not None else 0.0
    if smallest < LEVEL:
        return ""
    p = numbers.p_value(smallest)
    return f" The resamples are too few for so many cells: no p can be below {p}, so that nothing is significant."


# -- who wins --------------------------------------------------------------------------------------------------------


@of_view
def wins_table(
    run: Run | None,
    *,
    caption: str = "",
    just_made: bool = False,
    command: str = _COMMAND,
    changes: Sequence[str] = (),
) -> Table | Fragment:
    """Show per encoder and data set which settings share the best place, by test and by the paper's rule of .002.

    Beside them DNT minus each other setting with its interval and Holm's p.

    Args:
        run: with ``tests`` and ``extra`` of `sentbook.papers.dnt.winners.compare`; else as of `cells_table`.

    Raises:
        ConfigError: as `cells_table`.
    """
    if run is None:
        return not_run(command)
    values, (_, how) = means(run), _held(run)
    columns = _columns(values, {})
    rows, counts = [], np.zeros(5, dtype=int)
    for encoder in _rows(values, {}, columns):
        rows.append(Row(encoder, head=True))
        for dataset in columns:
            rows_of = run.extra.get(CHOSEN, {}).get(dataset, {})
            chosen = {s: (rows_of.get(named(encoder, s), ""), dataset) for s in SETTINGS}
            near = within({setting: values[at] for setting, at in chosen.items() if at in values})
            group = tie_group(run.tests, encoder, dataset)
            cells, ahead = [Cell(", ".join(group)), Cell(", ".join(near))], []
            for other in SETTINGS[:-1]:
                metric = str(MEASURES[dataset])
                found = test_of(run.tests, named(encoder, "DNT"), named(encoder, other), dataset, metric, KIND)
                ahead.append(found is not None and significant(found[0]) and found[1] > 0)
                if found is None:
                    cells += [Cell(), Cell()]
                    continue
                p = found[0].p_holm if found[0].p_holm is not None else found[0].p
                points = difference_cell(*found)
                cells += [points, Cell(numbers.p_value(p), row=points.row)]
            rows.append(Row(full_name(*group_and_label(dataset)), cells))
            counts += [1, "DNT" in near, near == ["DNT"], "DNT" in group, all(ahead)]
    heads = [("Best settings", "by test"), ("Best settings", "within .2 points")]
    heads += [(f"DNT {numbers.MINUS} {other}", head) for other in SETTINGS[:-1] for head in ("points", "p, Holm")]
    foot = (
        f"Of {counts[0]} cells DNT is best or within .2 points of the best in {counts[1]}, in {counts[2]} of them "
        f"alone; not significantly below the best in {counts[3]}; significantly above every other setting in "
        f"{counts[4]}. Bold: p < .05 after Holm over the cells of the comparison (paired bootstrap). Rows are "
        f"chosen on development pairs.{_too_few(run)}"
    )
    how = f"points: r or \u03c1 \u00d7 100 \u00b7 {how}"
    return Table(
        "Data set", heads, rows, caption, how, foot, run=run, badged=True, just_made=just_made, changes=changes
    )


# -- what the development pairs chose --------------------------------------------------------------------------------


@of_view
def choices(
    run: Run | None,
    *,
    caption: str = "Learning rates that the development pairs chose",
    just_made: bool = False,
    command: str = _COMMAND,
    changes: Sequence[str] = (),
) -> Table | Fragment:
    """Show the learning rate chosen for each row on each data set, with the values of the others in its title."""
    if run is None:
        return not_run(command)
    held = {(one["method"], one["dataset"]): one for one in run.extra["chosen"]}
    columns = ordered(dataset for _, dataset in held)
    encoders: dict[str, list[str]] = {}
    for method, _ in held:
        encoders.setdefault(encoder_of(method), []).append(method)
    rows = []
    for encoder, methods in encoders.items():
        rows.append(Row(encoder, head=True))
        for method in ordered(methods):
            rows.append(Row(row_label(method), [_choice(held.get((method, dataset)), dataset) for dataset in columns]))
    heads = [full_name(*group_and_label(dataset)) for dataset in columns]
    foot = "Below a rate: its development value. The values of the other points of the grid stand in the cell's title."
    return Table("Row", heads, rows, caption, "first seed", foot, run=run, changes=changes)


def _choice(one: Mapping[str, Any] | None, dataset: str) -> Cell:
    if one is None:
        return Cell()

    def shown(value: float | None) -> str:
        return "diverged" if value is None else numbers.shown(value, str(MEASURES[dataset]))

    several = len({point["batch_size"] for point in one["tried"]}) > 1
    tried = [
        f"{point['learning_rate']:g}{', batches of ' + str(point['batch_size']) if several else ''}: "
        f"{shown(point['development'])}"
        for point in one["tried"]
    ]
    return Cell(f"{one['learning_rate']:g}", shown(one["development"]), title="; ".join(tried))
