"""The table of Zhang et al. 2018: a row a transfer, a column a data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pandas as pd

from sentbook.data import suites
from sentbook.evaluation.predictions import INTERVALS
from sentbook.evaluation.protocols import TEST_MEASURES
from sentbook.judge.evidence import Evidence
from sentbook.papers.dnt.winners import (
    CHOSEN,
    SETTINGS,
    encoder_of,
    is_row,
    named,
    of_settings,
    row_label,
    setting_of,
    tie_group,
)
from sentbook.records import Run, Search
from sentbook.report_old import numbers
from sentbook.report_old.figures import paired_dots
from sentbook.report_old.markup import Fragment
from sentbook.report_old.summary import (
    Summary,
    full_name,
    group_and_label,
    mean_of_seeds,
    ordered,
    over_seeds,
    printed,
    where_printed,
)
from sentbook.report_old.table import Cell, Row, Table
from sentbook.report_old.tables import best
from sentbook.report_old.view import of_run, of_view
from sentbook.runs import ledger
from sentbook.runs.printed import table

MEASURES = {name: str(measure) for name, measure in TEST_MEASURES.items()}  # each data set's own
_STSB = suites.TEST_NAMES["stsb"]
_TIED = "\u2248"
At = tuple[str, str]  # a row, a data set
Values = Mapping[At, float]


# -- what a run holds ------------------------------------------------------------------------------------------------


def held(run: Run | None) -> tuple[dict[At, Summary], str]:
    """The cells of a run in each data set's own measure, and how they were made.

    A cell is the mean over seeds; its interval is the one that claims are judged by, over new trainings and new pairs,
    where the run has that over pairs.
    """
    cells: dict[At, Summary] = {}
    words: list[str] = []
    over: list[str] = []
    if run is not None:
        rows = [row for row in run.metrics if MEASURES.get(row.dataset) == row.metric and is_row(row.method)]
        for metric in ordered(MEASURES.values()):
            found, protocols = over_seeds(run.model_copy(update={"metrics": rows}), metric)
            cells |= found
            # The measure stands in the column's head.
            words += [protocol.replace(f", {metric}, ", ", ", 1) for protocol in protocols]
        intervals, evidence = run.extra.get(INTERVALS, {}), Evidence(run)
        for (method, dataset), summary in cells.items():
            metric = MEASURES[dataset]
            if method in intervals.get(metric, {}).get(dataset, {}):
                around, _ = evidence.measured(method, dataset, metric)
                cells[method, dataset] = replace(summary, low=around.low, high=around.high)
                over = ["95 % over seeds and pairs in a cell's title"]
    seeds = [summary.seeds for summary in cells.values()]
    how = ["; ".join(ordered(words)), mean_of_seeds(seeds), *over] if cells else ["as printed"]
    return cells, " \u00b7 ".join(how)


def means(run: Run | None) -> dict[At, float]:
    """(Row, data set) -> its value in the data set's own measure, the mean over seeds."""
    return {at: summary.value for at, summary in held(run)[0].items()}


def shown_sets(ours: Values, paper: Values) -> list[str]:
    """The test sets in the order of table 4; of a run on other sets than the paper's, those of the run alone."""
    run_sets, paper_sets = ({dataset for _, dataset in values} for values in (ours, paper))
    shown = run_sets | paper_sets if not run_sets or run_sets & paper_sets else run_sets
    return [name for name in suites.TEST_NAMES.values() if name in shown]


def by_encoder(methods: Iterable[str]) -> dict[str, list[str]]:
    """Encoder -> its methods in the paper's order."""

    def place(method: str) -> tuple[int, bool, bool]:
        words = row_label(method)
        return SETTINGS.index(setting_of(method)), " KL" in words, "words updated" not in words

    found: dict[str, list[str]] = {}
    for method in ordered(methods):
        found.setdefault(encoder_of(method), []).append(method)
    return {encoder: sorted(held, key=place) for encoder, held in found.items()}


def title(dataset: str) -> str:
    """A data set's name in a head or at a row."""
    return full_name(*group_and_label(dataset))


# -- table 4 ---------------------------------------------------------------------------------------------------------


def _marked(values: Values, encoders: Mapping[str, Sequence[str]], columns: Iterable[str]) -> dict[At, Cell]:
    """Give each value a cell: bold the best of its encoder, underlined the best of all, as printed, so maybe several.

    STSB's development pairs stand before its test pairs.
    """
    found: dict[At, Cell] = {}
    for dataset in columns:
        metric = MEASURES[dataset]
        groups = [{m: values[m, dataset] for m in rows if (m, dataset) in values} for rows in encoders.values()]
        overall = best({method: value for group in groups for method, value in group.items()}, metric)
        for group in groups:
            for method, value in group.items():
                dev = [values[method, suites.STSB_DEV]] if (method, suites.STSB_DEV) in values else []
                parts = [*(dev if dataset == _STSB else []), value]
                text = "/".join(numbers.shown(part, metric) for part in parts)
                found[method, dataset] = Cell(text, best=method in best(group, metric), underlined=method in overall)
    return found


def _tied(run: Run | None, encoders: Iterable[str], columns: Sequence[str]) -> set[At]:
    """The chosen rows of settings that share their cell's tie group with another one."""
    found: set[At] = set()
    if run is None:
        return found
    for encoder, dataset in product(encoders, columns):
        chosen = run.extra.get(CHOSEN, {}).get(dataset, {})
        group = tie_group(run.tests, encoder, dataset)
        rows = [chosen[named(encoder, setting)] for setting in group if named(encoder, setting) in chosen]
        found |= {(row, dataset) for row in rows if len(group) > 1}
    return found


@of_view
def cells_table(
    run: Run | None, reported: pd.DataFrame | None = None, *, caption: str = "", beside: Run | None = None
) -> Table:
    """Show every row of every encoder on every data set, ours with the paper's value small below.

    STSB's cell shows development and test pairs; its best is judged on the test pairs. Ours is the mean over seeds,
    whose interval the cell's title holds.

    Args:
        run: its metrics name rows as table 4 does; ``tests`` and ``extra`` are those of dnt/table4, without which no
            tie is marked. None: the paper's numbers alone.
        reported: the paper's table 4; left out where the run shares no data set with it.
        beside: a run of the reader's, small below ours.

    Raises:
        ConfigError: a cell was scored under two protocols.
    """
    (summaries, how), where = held(run), where_printed(reported)
    ours = {at: summary.value for at, summary in summaries.items()}
    cells = [(at, m, value) for m in ordered(MEASURES.values()) for at, value in printed(reported, m).items()]
    paper = {at: value for at, metric, value in cells if MEASURES.get(at[1]) == metric and is_row(at[0])}
    columns = shown_sets(ours, paper)
    encoders = by_encoder(method for method, dataset in [*paper, *ours] if dataset in columns)
    own, theirs, yours = (_marked(values, encoders, columns) for values in (ours, paper, means(beside)))
    tied = _tied(run, encoders, columns)

    def cell(at: At) -> Cell:
        below = [theirs[at]._replace(paper=where)] if at in theirs else []
        below += [yours[at]._replace(before="yours ")] if at in yours else []
        if at in own:
            summary, metric = summaries[at], MEASURES[at[1]]
            around = numbers.interval(summary.low, summary.high, metric)
            title = ", ".join(filter(None, (around, numbers.counted(summary.seeds, "seed"))))
            after = f" {_TIED}" if at in tied else ""
            return own[at]._replace(below=below, after=after, row=(*at, metric), title=title)
        if at in theirs:
            return Cell(below=below, paper=where) if ours else theirs[at]._replace(paper=where)
        return Cell()

    rows = []
    for encoder, methods in encoders.items():
        rows.append(Row(encoder, head=True))
        rows += [Row(row_label(method), [cell((method, dataset)) for dataset in columns]) for method in methods]
    both = any(name == suites.STSB_DEV for _, name in [*ours, *paper])
    heads = [
        ("STSB dev/test" if dataset == _STSB and both else title(dataset), numbers.short(MEASURES[dataset]))
        for dataset in columns
    ]
    foot = ["Small: the paper."] if ours and any(d in columns for _, d in paper) else []
    foot += ["Yours: the run of this notebook."] if yours else []
    foot.append("Bold: best row of its encoder. Underlined: best of its column.")
    if tied:
        foot.append(
            f"{_TIED}: the settings of a cell that are not significantly below its best one, where there are any, and "
            "that one (p < .05 after Holm over the cells of a comparison; paired bootstrap, t over seeds)."
        )
    return Table("Row", heads, rows, caption or "Transfer settings", how, " ".join(foot), run=run, badged=True)


# -- what the development pairs chose --------------------------------------------------------------------------------


@of_run
def choices(run: Run, *, caption: str = "What the development pairs chose") -> Table | Fragment:
    """Show the learning rate chosen for each row on each data set, and in the cell's title what it was chosen from.

    Nothing for a run that records no search.
    """
    if not run.searches:
        return Fragment("")
    held = {(one.method, one.dataset): one for one in run.searches}
    columns = ordered(dataset for _, dataset in held)
    rows = []
    for encoder, methods in by_encoder(method for method, _ in held).items():
        rows.append(Row(encoder, head=True))
        for method in methods:
            searched = any(one.method == method and "embedding_update" in one.grid for one in run.searches)
            bare = method.removeprefix(f"{encoder} ").replace("[", "", 1).replace("]", "", 1)
            name = bare if searched else row_label(method)
            rows.append(Row(name, [_choice(held.get((method, dataset)), dataset) for dataset in columns]))
    counts = [one.trainings for one in run.searches]
    ends = " to ".join(ordered(map(str, (min(counts), max(counts)))))
    foot = (
        f"Each chosen among {ends} points (in a cell's title); those close to the best were tried with every seed. "
        "Below a rate: what else was searched. †: the rate is at the edge of those tried; a further one may be better."
    )
    how = "learning rates · " + "; ".join(ordered(one.selected_on for one in run.searches))
    return Table("Row", list(map(title, columns)), rows, caption, how, foot, run=run, facts=True)


def _choice(one: Search | None, dataset: str) -> Cell:
    if one is None:
        return Cell()

    def words(point: Mapping[str, Any]) -> list[str]:
        updated = {"lazy": "words updated", "frozen": "words frozen"}.get(point.get("embedding_update", ""))
        batches = f"batches of {point['batch_size']}" if "batch_size" in one.grid else None
        return list(filter(None, (updated, batches, "rescaled" if point.get("rescale") else None)))

    def shown(point: Mapping[str, Any]) -> str:
        value = point["development"]
        said = "diverged" if value is None else numbers.shown(value, MEASURES[dataset])
        return ", ".join((f"{point['learning_rate']:g}", *words(point))) + f": {said}"

    taken = next(point for point in one.tried if one.chosen.items() <= point.items())
    edge = "†" if "learning_rate" in one.at_edge else ""
    return Cell(f"{taken['learning_rate']:g}{edge}", words(taken), title="; ".join(map(shown, one.tried)))


def fragments() -> dict[str, str]:
    """Make the figure at the top of the paper's page: file name in ``book/_generated`` to HTML."""
    run, frame = ledger.read("dnt", "table4", "small"), table("dnt", "table4")
    if run is None:
        return {}
    chosen = of_settings(run)
    means: Any = _over_encoders(pd.DataFrame([row.model_dump() for row in chosen])).to_dict("records")
    metrics = [chosen[0].model_copy(update=row) for row in means]
    drawn = paired_dots(
        run.model_copy(update={"metrics": metrics}),
        _over_encoders(frame.assign(seed=1)),
        a="DNT",
        b="NT",
        metric="correlation",
        rows=[name for name in MEASURES if name != "STSB-dev"],
        caption="Direct network transfer (DNT) beside network transfer (NT), in the mean of three encoders",
    )
    return {"dnt_front.md": drawn.html()}


def _over_encoders(rows: pd.DataFrame) -> pd.DataFrame:
    """The best row of each encoder and setting in a data set's own measure, in the mean over encoders, by seed."""
    own = rows[rows["metric"] == rows["dataset"].map(MEASURES)]
    named_apart = own.assign(encoder=own["method"].map(encoder_of), method=own["method"].map(setting_of))
    cells = named_apart.groupby(["encoder", "method", "dataset", "seed"], sort=False)["value"].max()
    means = cells.groupby(["method", "dataset", "seed"], sort=False).mean().reset_index()
    return means.assign(metric="correlation")
