"""Tables 3, 4 and 5 of Gan et al. 2017: a row an encoder, in blocks, a column a data set and measure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pandas as pd

from sentbook.data.tasks import NAMES
from sentbook.evaluation.statistics import Estimate
from sentbook.evaluation.taskbook import INTERVALS, PAIRS
from sentbook.records import Run, Verdict
from sentbook.report import numbers
from sentbook.report.marks import row_mark, run_name
from sentbook.report.markup import Fragment, esc, from_paper, pipes, table
from sentbook.report.summary import Summary, full_name, group_and_label, ordered, over_seeds, printed, where_printed
from sentbook.report.tables import _badge_text, _best, badges, not_run
from sentbook.runs.verdicts import scores

FIXED = "+emb."
# In the order of the tables; what is not named here is a mark, or printed alone.
ENCODERS = ("autoencoder", "future predictor", "hierarchical model", "composite model", "combine", "random CNN")
TASK_DEPENDENT = ("CNN", "AdaSent", "Bi-CNN-MI", "MPSSM-CNN", "DVSA", "m-RNN", "Bi-LSTM", "Tree-LSTM")
BLOCKS = ("Learned words", "Fixed words", "Marks", "Printed, generic", "Printed, for one task")
SICK, COCO = "SICK2014-test", "COCO-1k"
_SIGNS: dict[Verdict, tuple[str, str]] = {
    "reproduced": ("\u2713", "printed value reached"),
    "not reproduced": ("\u2717", "below the printed value"),
    "inconclusive": ("\u2248", "below the printed value, without an interval"),
}
_DIRECTIONS = {"annotation": "Image annotation", "search": "Image search"}


class Column(NamedTuple):
    """One number of every method; neighbours of the same ``group`` share a heading."""

    dataset: str
    metric: str
    group: str
    head: str

    @property
    def title(self) -> str:
        return f"{self.group} {self.head}" if self.group else self.head

    @property
    def label(self) -> str:
        """Of the frame's columns."""
        return f"{self.dataset} {self.metric}"


@dataclass
class _Held:
    """A column's values by method, ours with an interval where there is one."""

    paper: dict[str, float] = field(default_factory=dict)
    ours: dict[str, Summary] = field(default_factory=dict)
    protocols: list[str] = field(default_factory=list)
    over_examples: bool = False


def block_of(method: str, *, ours: bool) -> str:
    """The block of the table in which a method stands.

    Args:
        ours: whether the run holds it; else it is printed alone.

    Example:
        >>> block_of("combine", ours=True), block_of("combine+emb.", ours=False), block_of("SDAE+emb.", ours=False)
        ('Learned words', 'Fixed words', 'Printed, generic')
    """
    if method.removesuffix(FIXED) in ENCODERS:
        return BLOCKS[1] if method.endswith(FIXED) else BLOCKS[0]
    if ours:
        return BLOCKS[2]
    return BLOCKS[4] if method in TASK_DEPENDENT else BLOCKS[3]


# -- the three tables ------------------------------------------------------------------------------------------------


def classification_table(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    protocol: object = None,
    caption: str = "",
    just_made: bool = False,
    command: str = "make run NOTEBOOK=cnn_lstm/table3 PROFILE=small",
) -> Fragment:
    """Table 3: accuracy on every task, and F1 on tasks of pairs; Args, Raises: as `methods_table`."""
    in_run = {row.dataset for row in run.metrics} if run is not None else set()
    in_paper = set(reported["dataset"]) if reported is not None else set()
    shown = in_run | in_paper if not in_run or in_run & in_paper else in_run
    columns = []
    for name in (name for name in NAMES if name in shown):
        group = full_name(*group_and_label(name))
        columns.append(Column(name, "accuracy", group, numbers.short("accuracy")))
        columns += [Column(name, "f1", group, numbers.short("f1"))] if name in PAIRS else []
    return methods_table(
        run, reported, columns, protocol=protocol, caption=caption, just_made=just_made, command=command
    )


def ranking_table(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    dataset: str = COCO,
    protocol: object = None,
    caption: str = "",
    just_made: bool = False,
    command: str = "make run NOTEBOOK=cnn_lstm/table4 PROFILE=small",
) -> Fragment:
    """Table 4: R@1 and median rank in both directions; Args, Raises: as `methods_table`."""
    columns = [
        Column(dataset, f"{direction}_{metric}", title, head)
        for direction, title in _DIRECTIONS.items()
        for metric, head in (("R@1", "R@1 \u00d7 100"), ("MedR", "med. rank"))
    ]
    return methods_table(
        run, reported, columns, protocol=protocol, caption=caption, just_made=just_made, command=command
    )


def relatedness_table(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    dataset: str = SICK,
    protocol: object = None,
    caption: str = "",
    just_made: bool = False,
    command: str = "make run NOTEBOOK=cnn_lstm/table5 PROFILE=small",
) -> Fragment:
    """Table 5: Pearson's r, Spearman's rho and squared error; Args, Raises: as `methods_table`."""
    columns = [
        Column(dataset, metric, full_name(*group_and_label(dataset)), numbers.short(metric))
        for metric in ("pearson", "spearman", "mse")
    ]
    return methods_table(
        run, reported, columns, protocol=protocol, caption=caption, just_made=just_made, command=command
    )


# -- any of them -----------------------------------------------------------------------------------------------------


def methods_table(
    run: Run | None,
    reported: pd.DataFrame | None,
    columns: Sequence[Column],
    *,
    protocol: object = None,
    caption: str = "",
    just_made: bool = False,
    command: str = "make run PROFILE=small",
) -> Fragment:
    """Ours with its interval and a sign whether the printed value was reached, the printed value below.

    Ours is the mean over seeds. Its interval is the one over examples that ``run.extra`` holds (see
    `sentbook.evaluation.taskbook.TaskBook.extra`), else the t-interval over seeds, else none.

    Args:
        run: methods spelt as the paper's; None: the paper's numbers under a notice that says how to make ours.
        reported: the paper's table; left out where the run shares no data set with it.
        protocol: one or a sequence, where the run holds several for a cell.

    Raises:
        ConfigError: a cell was scored under two protocols and ``protocol`` does not choose.
    """
    held = {column: _held(run, reported, column, protocol) for column in columns}
    ours, paper = (any(getattr(part, name) for part in held.values()) for name in ("ours", "paper"))
    blocks = _blocks(held.values())
    bold = _bold(held, blocks)
    where = where_printed(reported)
    bodies, flat, records = [], [], []
    for title, methods in blocks.items():
        body = f'<tr class="sb-group"><th scope="rowgroup" class="sb-first">{esc(title)}</th>'
        body += f'<td colspan="{len(columns)}"></td></tr>'
        for method in methods:
            cells = [_cell(held[column], method, column, bold, where) for column in columns]
            inner = "".join(cell.html for cell in cells)
            body += f'<tr><th scope="row" class="sb-first">{esc(method)}</th>{inner}</tr>'
            flat.append([method, *[cell.words for cell in cells]])
            record: dict[str, object] = {"block": title, "method": method}
            for column, cell in zip(columns, cells, strict=True):
                record |= {f"{column.label} {name}": value for name, value in cell.numbers.items()}
            records.append(record)
        bodies.append(body)
    how, foot = _how(held.values()), _foot(ours, paper)
    notice = not_run(command) if run is None else None
    above = notice.body if notice else badges(run, just_made=just_made) if run is not None else ""
    top = (f"<strong>{esc(caption)}</strong>" if caption else "") + f'<span class="sb-how">{esc(how)}</span>'
    inner = table(_head(columns), bodies, top, label=caption or "Encoders") if bodies else ""
    said = notice.markdown if notice else _badge_text(run, just_made) if run is not None else ""
    titles = ["Method", *[column.title for column in columns]]
    parts = (caption and f"**{caption}**", how, said, pipes(titles, flat) if flat else "", foot)
    return Fragment(
        above + inner + f'<p class="sb-foot">{esc(foot)}</p>',
        markdown="\n\n".join(part for part in parts if part),
        frame=pd.DataFrame.from_records(records),
        run=run_name(run),
    )


def _held(run: Run | None, reported: pd.DataFrame | None, column: Column, protocol: object) -> _Held:
    found = _Held({m: v for (m, d), v in printed(reported, column.metric).items() if d == column.dataset})
    if run is None:
        return found
    rows = [row for row in run.metrics if row.dataset == column.dataset]
    cells, protocols = over_seeds(run.model_copy(update={"metrics": rows}), column.metric, protocol=protocol)
    ends = run.extra.get(INTERVALS, {}).get(column.metric, {}).get(column.dataset, {})
    for (method, _), summary in cells.items():
        if method in ends:
            low, high = ends[method]
            summary = replace(summary, low=float(low), high=float(high))
            found.over_examples = True
        found.ours[method] = summary
    found.protocols = protocols
    return found


def _blocks(held: Iterable[_Held]) -> dict[str, list[str]]:
    """Block -> its methods, in the paper's order."""
    parts = list(held)
    own = {method for part in parts for method in part.ours}
    methods = ordered(method for part in parts for method in [*part.paper, *part.ours])
    found: dict[str, list[str]] = {block: [] for block in BLOCKS}
    for method in methods:
        found[block_of(method, ours=method in own)].append(method)
    for block in BLOCKS[:2]:
        found[block].sort(key=lambda method: ENCODERS.index(method.removesuffix(FIXED)))
    return {block: names for block, names in found.items() if names}


def _bold(held: Mapping[Column, _Held], blocks: Mapping[str, Sequence[str]]) -> dict[Column, tuple[set[str], set[str]]]:
    """The best methods of each block in a column, ours and the paper's; as printed, so several may be."""
    found: dict[Column, tuple[set[str], set[str]]] = {}
    for column, part in held.items():
        places = numbers.digits(column.metric)
        own = {method: summary.value for method, summary in part.ours.items()}
        best: tuple[set[str], set[str]] = (set(), set())
        for methods in blocks.values():
            for values, winners in zip((own, part.paper), best, strict=True):
                winners |= _best({m: values[m] for m in methods if m in values}, column.metric, places)
        found[column] = best
    return found


class _Cell(NamedTuple):
    """A cell as an element and as plain text, and its numbers in the unit shown."""

    html: str
    words: str
    numbers: dict[str, object]


def _cell(
    part: _Held, method: str, column: Column, bold: Mapping[Column, tuple[set[str], set[str]]], where: str
) -> _Cell:
    """One cell; ``where`` the paper's value is printed."""
    theirs, summary = part.paper.get(method), part.ours.get(method)
    metric, scale = column.metric, numbers.factor(column.metric)
    html, words, verdict = "", "", None
    record: dict[str, object] = {"paper": math.nan if theirs is None else theirs * scale}
    record |= {"ours": math.nan, "low": math.nan, "high": math.nan}
    if summary is not None:
        own = numbers.shown(summary.value, metric)
        html, words = _strong(own, method in bold[column][0])
        if theirs is not None:
            verdict = _reached(summary, theirs, metric)
            sign, said = _SIGNS[verdict]
            colour = verdict.replace(" ", "-")
            html += f' <span class="verdict-{colour}" role="img" aria-label="{said}" title="{said}">{sign}</span>'
            words += f" {sign}"
        around = numbers.interval(summary.low, summary.high, metric)
        html += f'<span class="sb-ci">{around}</span>' if around else ""
        words += f" {around}" if around else ""
        low, high = ((math.nan if end is None else end * scale) for end in (summary.low, summary.high))
        record |= {"ours": summary.value * scale, "low": low, "high": high}
    if theirs is not None:
        inner, plain = _strong(numbers.shown(theirs, metric), method in bold[column][1])
        html += f"<span{from_paper(where, 'sb-ci')}>paper {inner}</span>" if summary is not None else inner
        words += f" ({plain})" if summary is not None else plain
    marks = ' class="sb-start"' + row_mark(method, column.dataset, metric)
    if summary is None:
        marks = from_paper(where, "sb-start") if theirs is not None else ' class="sb-start"'
    return _Cell(f"<td{marks}>{html}</td>", words, record | {"verdict": verdict})


def _strong(text: str, bold: bool) -> tuple[str, str]:
    return (f'<strong class="sb-best">{esc(text)}</strong>', f"**{text}**") if bold else (esc(text), text)


def _reached(summary: Summary, theirs: float, metric: str) -> Verdict:
    """By the rule ``scores``: the interval holds the printed value, or ours is better."""
    low, high = (summary.value if end is None else end for end in (summary.low, summary.high))
    value = Estimate(summary.value, low, high)
    return scores(value, theirs, "", lower_is_better=numbers.lower_is_better(metric))[0]


def _head(columns: Sequence[Column]) -> str:
    """Two storeys: neighbours of one group under its name."""
    first = '<tr><th scope="col" rowspan="2" class="sb-first">Method</th>'
    second, place = "", 0
    while place < len(columns):
        group = columns[place].group
        width = 1
        while place + width < len(columns) and columns[place + width].group == group:
            width += 1
        first += f'<th scope="colgroup" colspan="{width}" class="sb-start">{esc(group)}</th>'
        second += "".join(
            f'<th scope="col" class="sb-start">{esc(column.head)}</th>' for column in columns[place : place + width]
        )
        place += width
    return f"{first}</tr><tr>{second}</tr>"


def _how(held: Iterable[_Held]) -> str:
    parts = list(held)
    words = ["; ".join(ordered(protocol for part in parts for protocol in part.protocols))]
    seeds = sorted({summary.seeds for part in parts for summary in part.ours.values()})
    if seeds:
        several = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}{numbers.DASH}{seeds[-1]}"
        words.append("one seed" if seeds[-1] == 1 else f"mean of {several} seeds")
        kinds = {part.over_examples for part in parts if part.ours}
        if True in kinds:
            words.append("95 % intervals over examples")
        elif seeds[-1] > 1:
            words.append("95 % t-intervals over seeds")
    return " \u00b7 ".join(word for word in words if word) or "as printed"


def _foot(ours: bool, paper: bool) -> str:
    if not ours:
        return "Bold: best of its block."
    if not paper:
        return "Small: interval. Bold: best of its block."
    signs = "; ".join(f"{sign} {said}" for sign, said in _SIGNS.values())
    return f"Small: interval, and the paper\u2019s value. Bold: best of its block. {signs}."


__all__ = [
    "Column",
    "block_of",
    "classification_table",
    "methods_table",
    "ranking_table",
    "relatedness_table",
]
