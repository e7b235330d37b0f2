"""Table 4 of Zhang et al. 2018, ours and theirs: a row a transfer setting, a column a data set; and who wins a cell."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from sentbook.data import suites
from sentbook.evaluation.winners import (
    CHOSEN,
    KIND,
    LEVEL,
    MEASURES,
    SETTINGS,
    SMALLEST,
    encoder_of,
    is_row,
    named,
    setting_of,
    tie_group,
    within,
)
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.cost import Cell, Row, grouped
from sentbook.report.marks import row_key, row_mark, run_name
from sentbook.report.markup import Fragment, esc, from_paper, pipes, table
from sentbook.report.summary import (
    Summary,
    full_name,
    group_and_label,
    ordered,
    over_seeds,
    printed,
    significant,
    test_of,
    where_printed,
)
from sentbook.report.tables import _badge_text, _best, badges, not_run

_COMMAND = "make run NOTEBOOK=dnt/table4 PROFILE=small"
_STSB = suites.TEST_NAMES["stsb"]
_TIED = "\u2248"
_ROW = re.compile(r"\] ?(?P<loss>MSE|KL)?(?: ?(?P<number>row[12]))?(?P<rest>.*)")
Values = dict[tuple[str, str], float]


# -- what a run holds ------------------------------------------------------------------------------------------------


@dataclass
class _Held:
    """Cells of a run in each data set's own measure, and its choices."""

    ours: dict[tuple[str, str], Summary] = field(default_factory=dict)
    protocols: list[str] = field(default_factory=list)
    chosen: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def values(self) -> Values:
        return {cell: summary.value for cell, summary in self.ours.items()}


def _held(run: Run | None, protocol: object) -> _Held:
    found = _Held()
    if run is None:
        return found
    for metric in ordered(MEASURES.values()):
        rows = [row for row in run.metrics if MEASURES.get(row.dataset) == metric and is_row(row.method)]
        cells, protocols = over_seeds(run.model_copy(update={"metrics": rows}), str(metric), protocol=protocol)
        found.ours |= cells
        # The measure stands in the column's head.
        found.protocols += [words.replace(f", {metric}, ", ", ", 1) for words in protocols]
    found.chosen = run.extra.get(CHOSEN, {})
    return found


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
        found = _ROW.search(method)
        loss, number = (found["loss"], found["number"]) if found else (None, None)
        return SETTINGS.index(setting_of(method)), loss == "KL", number != "row1"

    methods = ordered(m for m, d in [*paper, *ours] if d in columns)
    encoders: dict[str, list[str]] = {}
    for method in methods:
        encoders.setdefault(encoder_of(method), []).append(method)
    return {encoder: sorted(found, key=place) for encoder, found in encoders.items()}


def row_label(method: str) -> str:
    """A row under its encoder's heading; a row without a number has its words frozen, as the paper's InferSent has.

    Example:
        >>> row_label("GRAN [NT] KL row1"), row_label("InferSent [DNT]"), row_label("GRAN [FT] MSE")
        ('NT KL, words updated', 'DNT, words frozen', 'FT MSE')
    """
    setting, found = setting_of(method), _ROW.search(method)
    loss, number, rest = (found["loss"], found["number"], found["rest"].strip()) if found else (None, None, "")
    words = ""
    if setting in ("NT", "DNT"):
        words = ", words updated" if number == "row1" else ", words frozen"
    return f"{setting}{f' {loss}' if loss else ''}{words}{f', {rest}' if rest else ''}"


# -- table 4 ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Winners:
    """The methods that are the best of their encoder, and of all, by data set; as printed, so several may be."""

    of_encoder: set[tuple[str, str]]
    overall: set[tuple[str, str]]


def _winners(values: Values, encoders: Mapping[str, Sequence[str]], columns: Iterable[str]) -> _Winners:
    of_encoder: set[tuple[str, str]] = set()
    overall: set[tuple[str, str]] = set()
    for dataset in columns:
        metric = str(MEASURES[dataset])
        places = numbers.digits(metric)
        groups = [[m for m in methods if (m, dataset) in values] for methods in encoders.values()]
        for methods in groups:
            of_encoder |= {(m, dataset) for m in _best({m: values[m, dataset] for m in methods}, metric, places)}
        every = {m: values[m, dataset] for methods in groups for m in methods}
        overall |= {(m, dataset) for m in _best(every, metric, places)}
    return _Winners(of_encoder, overall)


def _shown(values: Values, method: str, dataset: str) -> str:
    """A value; of STSB both, development pairs first."""
    metric = str(MEASURES[dataset])
    parts = [values[method, dataset]]
    if dataset == _STSB and (method, suites.STSB_DEV) in values:
        parts.insert(0, values[method, suites.STSB_DEV])
    return "/".join(numbers.shown(part, metric) for part in parts)


def _marked(values: Values, method: str, dataset: str, winners: _Winners) -> tuple[str, str]:
    """HTML and Markdown of a value: bold the best of its encoder, underlined the best of all; empty where none is."""
    if (method, dataset) not in values:
        return "", ""
    words = _shown(values, method, dataset)
    html = esc(words)
    if (method, dataset) in winners.overall:
        html, words = f"<u>{html}</u>", f"_{words}_"
    if (method, dataset) in winners.of_encoder:
        html, words = f'<strong class="sb-best">{html}</strong>', f"**{words}**"
    return html, words


def _tied(run: Run | None, held: _Held, encoders: Iterable[str], columns: Iterable[str]) -> set[tuple[str, str]]:
    """The chosen rows of settings that share their cell's tie group with another one."""
    found: set[tuple[str, str]] = set()
    if run is None:
        return found
    for dataset in columns:
        for encoder in encoders:
            group = tie_group(run.tests, encoder, dataset)
            rows = [held.chosen.get(dataset, {}).get(named(encoder, setting)) for setting in group]
            found |= {(row, dataset) for row in rows if row and len(group) > 1}
    return found


def cells_table(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    protocol: object = None,
    caption: str = "",
    just_made: bool = False,
    command: str = _COMMAND,
) -> Fragment:
    """Every row of every encoder on every data set, ours with the paper's value small below.

    STSB's cell shows development and test pairs; its best is judged on the test pairs. Ours is the mean over seeds,
    whose interval the cell's title holds.

    Args:
        run: its metrics name rows as table 4 does; ``tests`` and ``extra`` are those of
            `sentbook.evaluation.winners.compare`, without which no tie is marked. None: the paper's numbers alone.
        reported: the paper's table 4; left out where the run shares no data set with it.
        protocol: one or a sequence, where the run holds several for a cell.

    Raises:
        ConfigError: a cell was scored under two protocols and ``protocol`` does not choose.
    """
    held, paper = _held(run, protocol), _in_paper(reported)
    ours = held.values
    columns = _columns(ours, paper)
    encoders = _rows(ours, paper, columns)
    best_ours, best_paper = _winners(ours, encoders, columns), _winners(paper, encoders, columns)
    tied, where = _tied(run, held, encoders, columns), where_printed(reported)
    bodies, flat, records = [], [], []
    for encoder, methods in encoders.items():
        body = f'<tr class="sb-group"><th scope="rowgroup" class="sb-first">{esc(encoder)}</th>'
        body += f'<td colspan="{len(columns)}"></td></tr>'
        for method in methods:
            record: dict[str, object] = {"encoder": encoder, "method": method}
            cells, words = "", [f"{encoder} {row_label(method)}"]
            for dataset in columns:
                own, title = _own_cell(held, method, dataset, best_ours, tied)
                theirs = _marked(paper, method, dataset, best_paper)
                if own[0]:
                    small = f"<span{from_paper(where, 'sb-ci')}>{theirs[0]}</span>" if theirs[0] else ""
                    mark = row_mark(method, dataset, str(MEASURES[dataset]))
                    cells += f'<td class="sb-start"{title}{mark}>{own[0]}{small}</td>'
                elif theirs[0]:
                    small = f'<span class="sb-ci">{theirs[0]}</span>' if ours else theirs[0]
                    cells += f"<td{from_paper(where, 'sb-start')}>{small}</td>"
                else:
                    cells += '<td class="sb-start"></td>'
                words.append(own[1] + (f" ({theirs[1]})" if ours and theirs[1] else theirs[1]))
                record |= _numbers(held, paper, method, dataset) | {f"{dataset} tied": (method, dataset) in tied}
            body += f'<tr><th scope="row" class="sb-first">{esc(row_label(method))}</th>{cells}</tr>'
            flat.append(words)
            records.append(record)
        bodies.append(body)
    titles = [_title(dataset, ours, paper) for dataset in columns]
    how, foot = _how(held), _foot(bool(ours), any(d in columns for _, d in paper), bool(tied)) + _too_few(run)
    notice = not_run(command) if run is None else None
    above = notice.body if notice else badges(run, just_made=just_made) if run is not None else ""
    top = (f"<strong>{esc(caption)}</strong>" if caption else "") + f'<span class="sb-how">{esc(how)}</span>'
    inner = table(_head(titles, columns), bodies, top, label=caption or "Transfer settings") if bodies else ""
    said = notice.markdown if notice else _badge_text(run, just_made) if run is not None else ""
    parts = (caption and f"**{caption}**", how, said, pipes(["Row", *titles], flat) if flat else "", foot)
    return Fragment(
        above + inner + f'<p class="sb-foot">{esc(foot)}</p>',
        markdown="\n\n".join(part for part in parts if part),
        frame=pd.DataFrame.from_records(records),
        run=run_name(run),
    )


def _own_cell(
    held: _Held, method: str, dataset: str, winners: _Winners, tied: set[tuple[str, str]]
) -> tuple[tuple[str, str], str]:
    """Our value as HTML and Markdown, and the attribute with its interval."""
    summary = held.ours.get((method, dataset))
    if summary is None:
        return ("", ""), ""
    mark = f" {_TIED}" if (method, dataset) in tied else ""
    html, words = _marked(held.values, method, dataset, winners)
    around = numbers.interval(summary.low, summary.high, str(MEASURES[dataset]))
    seeds = f"{summary.seeds} seed{'' if summary.seeds == 1 else 's'}"
    return (html + mark, words + mark), f' title="{esc(f"{around}, {seeds}" if around else seeds)}"'


def _numbers(held: _Held, paper: Values, method: str, dataset: str) -> dict[str, object]:
    """The numbers of a cell in the unit shown."""
    scale, summary = numbers.factor(str(MEASURES[dataset])), held.ours.get((method, dataset))
    found = {"paper": paper.get((method, dataset))}
    found |= {"ours": None, "low": None, "high": None}
    if summary is not None:
        found |= {"ours": summary.value, "low": summary.low, "high": summary.high}
    return {f"{dataset} {name}": math.nan if value is None else value * scale for name, value in found.items()}


def _title(dataset: str, ours: Values, paper: Values) -> str:
    both = dataset == _STSB and any(name == suites.STSB_DEV for _, name in [*ours, *paper])
    return "STSB dev/test" if both else full_name(*group_and_label(dataset))


def _head(titles: Sequence[str], columns: Sequence[str]) -> str:
    first = '<tr><th scope="col" rowspan="2" class="sb-first">Row</th>'
    first += "".join(f'<th scope="col" class="sb-start">{esc(title)}</th>' for title in titles)
    second = "".join(
        f'<th scope="col" class="sb-start">{esc(numbers.short(str(MEASURES[dataset])))}</th>' for dataset in columns
    )
    return f"{first}</tr><tr>{second}</tr>"


def _how(held: _Held) -> str:
    parts = ["; ".join(ordered(held.protocols))] if held.protocols else []
    seeds = sorted({summary.seeds for summary in held.ours.values()})
    if seeds:
        several = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}{numbers.DASH}{seeds[-1]}"
        parts.append("one seed" if seeds[-1] == 1 else f"mean of {several} seeds")
    return " \u00b7 ".join(parts) or "as printed"


def _too_few(run: Run | None) -> str:
    """A warning where the resamples are too few for any p to be significant."""
    smallest = run.extra.get(SMALLEST, 0.0) if run is not None else 0.0
    if smallest < LEVEL:
        return ""
    p = numbers.p_value(smallest)
    return f" The resamples are too few for so many cells: no p can be below {p}, so that nothing is significant."


def _foot(ours: bool, paper: bool, tied: bool) -> str:
    parts = ["Small: the paper."] if ours and paper else []
    parts.append("Bold: best row of its encoder. Underlined: best of its column.")
    if tied:
        parts.append(
            f"{_TIED}: the row, chosen on development pairs, of a setting that is not significantly below the best one "
            "of its cell, where there are several such (paired bootstrap, p < .05 after Holm over the cells)."
        )
    return " ".join(parts)


# -- who wins --------------------------------------------------------------------------------------------------------


def wins_table(
    run: Run | None,
    *,
    protocol: object = None,
    caption: str = "",
    just_made: bool = False,
    command: str = _COMMAND,
) -> Fragment:
    """Per encoder and data set: the settings that share the best place, by test and by the paper's rule of .002, and
    DNT minus each other setting with its interval and Holm's p.

    Args:
        run: with ``tests`` and ``extra`` of `sentbook.evaluation.winners.compare`; else as of `cells_table`.

    Raises:
        ConfigError: as `cells_table`.
    """
    if run is None:
        return not_run(command)
    held = _held(run, protocol)
    columns = _columns(held.values, {})
    rows, records, flat, counts = [], [], [], np.zeros(4, dtype=int)
    for encoder in _rows(held.values, {}, columns):
        rows.append(Row(encoder, head=True))
        for dataset in columns:
            label = full_name(*group_and_label(dataset))
            chosen = {s: held.chosen.get(dataset, {}).get(named(encoder, s), "") for s in SETTINGS}
            near = within({s: held.values[row, dataset] for s, row in chosen.items() if (row, dataset) in held.values})
            group = tie_group(run.tests, encoder, dataset)
            record: dict[str, object] = {"encoder": encoder, "data set": dataset, "metric": str(MEASURES[dataset])}
            record |= {"tie group": ", ".join(group), "within .002": ", ".join(near)}
            cells, ahead = [Cell(", ".join(group)), Cell(", ".join(near))], []
            for other in SETTINGS[:-1]:
                found = _difference(run, encoder, other, dataset)
                cells += found.cells
                record |= found.record
                ahead.append(found.ahead)
            rows.append(Row(label, tuple(cells)))
            records.append(record)
            flat.append([f"{encoder}, {label}", *[f"{cell.text} {cell.around}".strip() for cell in cells]])
            counts += ["DNT" in near, near == ["DNT"], "DNT" in group, all(ahead)]
    groups = [("Best settings", ("by test", "within .2 points"))]
    groups += [(f"DNT {numbers.MINUS} {other}", ("points", "p, Holm")) for other in SETTINGS[:-1]]
    foot = (
        f"Of {len(records)} cells DNT is best or within .2 points of the best in {counts[0]}, in {counts[1]} of them "
        f"alone; not significantly below the best in {counts[2]}; significantly above every other setting in "
        f"{counts[3]}. Bold: p < .05 after Holm over the cells of the comparison (paired bootstrap). Rows are "
        f"chosen on development pairs.{_too_few(run)}"
    )
    how = f"points: r or \u03c1 \u00d7 100 \u00b7 {_how(held)}"
    made = grouped("Data set", groups, rows, records, run=run, caption=caption, how=how, foot=foot, just_made=just_made)
    titles = ["Cell", *[f"{title}, {head}" for title, heads in groups for head in heads]]
    parts = (caption and f"**{caption}**", how, _badge_text(run, just_made), pipes(titles, flat), foot)
    return replace(made, markdown="\n\n".join(part for part in parts if part))


class _Difference(NamedTuple):
    """DNT minus another setting in a cell; ``ahead`` where it is significantly above."""

    cells: list[Cell]
    record: dict[str, object]
    ahead: bool


def _difference(run: Run, encoder: str, other: str, dataset: str) -> _Difference:
    metric, name = str(MEASURES[dataset]), f"DNT - {other}"
    keys = (name, f"{name} low", f"{name} high", f"{name} p")
    found = test_of(run.tests, named(encoder, "DNT"), named(encoder, other), dataset, metric, KIND)
    if found is None:
        return _Difference([Cell(), Cell()], dict.fromkeys(keys, math.nan), False)
    test, *bounds = found
    estimate, low, high = bounds
    p = test.p_holm if test.p_holm is not None else test.p
    text, around = numbers.shown(estimate, metric, signed=True), numbers.interval(low, high, metric, signed=True)
    shown = [value * numbers.factor(metric) for value in bounds]
    mark = row_key(test.a, test.b, test.dataset, test.metric)
    return _Difference(
        [Cell(text, around, bold=significant(test), row=mark), Cell(numbers.p_value(p), row=mark)],
        dict(zip(keys, [*shown, math.nan if p is None else p], strict=True)),
        significant(test) and estimate > 0,
    )


__all__ = ["cells_table", "row_label", "wins_table"]
