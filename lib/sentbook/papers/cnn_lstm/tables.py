"""Tables 3, 4 and 5 of Gan et al. 2017: a row an encoder, in blocks, a column a data set and measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pandas as pd

from sentbook.data.tasks import NAMES
from sentbook.evaluation.predictions import PAIRS
from sentbook.records import Run, Verdict
from sentbook.report_old import numbers
from sentbook.report_old.markup import Html
from sentbook.report_old.summary import (
    Summary,
    full_name,
    group_and_label,
    mean_of_seeds,
    ordered,
    over_examples,
    over_seeds,
    printed,
    where_printed,
)
from sentbook.report_old.table import Cell, Row, Table
from sentbook.report_old.tables import beside_words, best
from sentbook.report_old.view import of_view

FIXED = "+emb."
# In the order of the tables; what is not named here is a baseline, or printed alone.
ENCODERS = (
    *("autoencoder", "future predictor", "hierarchical model", "composite model", "combine"),
    *("random CNN", "random wide CNN", "random LSTM"),
)
# How rows begin, or end, in which one thing is moved.
MOVED = ("hierarchical model (", "wide ", "projected ", "LSTM ", "all sentences")
TASK_DEPENDENT = ("CNN", "AdaSent", "Bi-CNN-MI", "MPSSM-CNN", "DVSA", "m-RNN", "Bi-LSTM", "Tree-LSTM")
BLOCKS = ("Learned words", "Fixed words", "One thing moved", "Marks", "Printed, generic", "Printed, for one task")
SICK, COCO = "SICK2014-test", "COCO-1k"
_SIGNS: dict[Verdict, tuple[str, str]] = {
    "reproduced": ("\u2713", "printed value within the interval"),
    "exceeded": ("\u2191", "above the printed value"),
    "not reproduced": ("\u2717", "below the printed value"),
    "inconclusive": ("\u2248", "without an interval"),
}


class Column(NamedTuple):
    """One number of every method; neighbours of the same ``group`` share a heading."""

    dataset: str
    metric: str
    group: str
    head: str


@dataclass
class _Held:
    """A column's values by method, ours with an interval where there is one."""

    paper: dict[str, float] = field(default_factory=dict)
    ours: dict[str, Summary] = field(default_factory=dict)
    yours: dict[str, Summary] = field(default_factory=dict)
    protocols: list[str] = field(default_factory=list)
    over_examples: bool = False
    beside: str = ""


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
        return BLOCKS[2] if method.startswith(MOVED) or method.endswith(MOVED) else BLOCKS[3]
    return BLOCKS[5] if method in TASK_DEPENDENT else BLOCKS[4]


# -- the columns of the three tables -----------------------------------------------------------------------------------


def classification_columns(run: Run | None, reported: pd.DataFrame | None) -> list[Column]:
    """Make table 3's columns: accuracy on every task, and F1 on tasks of pairs."""
    in_run = {row.dataset for row in run.metrics} if run is not None else set()
    in_paper = set(reported["dataset"]) if reported is not None else set()
    shown = in_run | in_paper if not in_run or in_run & in_paper else in_run
    return [
        Column(name, metric, full_name(*group_and_label(name)), numbers.short(metric))
        for name in NAMES
        if name in shown
        for metric in (("accuracy", "f1") if name in PAIRS else ("accuracy",))
    ]


def ranking_columns(run: Run | None, reported: pd.DataFrame | None) -> list[Column]:
    """Make table 4's columns: R@1 and median rank in both directions, on what the run ranked."""
    dataset = run.metrics[0].dataset if run is not None else COCO
    return [
        Column(dataset, f"{direction}_{metric}", title, head)
        for direction, title in (("annotation", "Image annotation"), ("search", "Image search"))
        for metric, head in (("R@1", "R@1 \u00d7 100"), ("MedR", "med. rank"))
    ]


def relatedness_columns(run: Run | None, reported: pd.DataFrame | None) -> list[Column]:
    """Make table 5's columns: Pearson's r, Spearman's rho and squared error."""
    dataset = run.metrics[0].dataset if run is not None else SICK
    group = full_name(*group_and_label(dataset))
    return [Column(dataset, metric, group, numbers.short(metric)) for metric in ("pearson", "spearman", "mse")]


# -- the table ---------------------------------------------------------------------------------------------------------


@of_view
def methods_table(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    columns: Callable[[Run | None, pd.DataFrame | None], Sequence[Column]],
    protocol: object = None,
    caption: str = "",
    beside: Run | None = None,
) -> Table:
    """Show ours with its interval and a sign whether the printed value was reached; the paper's and yours stand below.

    Ours is the mean over seeds. Its interval is the one over examples that ``run.extra`` holds (see
    `sentbook.evaluation.predictions.Predictions.intervals`), else the t-interval over seeds, else none.

    Args:
        run: methods spelt as the paper's; None: the paper's numbers under a notice that says how to make ours.
        reported: the paper's table; left out where the run shares no data set with it.
        columns: one of the three above.
        protocol: one or a sequence, where the run holds several for a cell.
        beside: a run of the reader's.

    Raises:
        ConfigError: a cell was scored under two protocols and ``protocol`` does not choose.
    """
    shown = columns(run, reported)
    held = [_held(run, reported, beside, column, protocol) for column in shown]
    where = where_printed(reported)
    rows = []
    for title, methods in _blocks(held).items():
        tops = [_best(part, column.metric, methods) for part, column in zip(held, shown, strict=True)]
        rows.append(Row(title, head=True))
        for method in methods:
            parts = zip(held, shown, tops, strict=True)
            rows.append(Row(method, [_cell(part, method, column, top, where) for part, column, top in parts]))
    heads = [(column.group, column.head) for column in shown]
    return Table("Method", heads, rows, caption, _how(held), _foot(held), run=run, badged=True)


def _held(
    run: Run | None, reported: pd.DataFrame | None, beside: Run | None, column: Column, protocol: object
) -> _Held:
    found = _Held({m: v for (m, d), v in printed(reported, column.metric).items() if d == column.dataset})
    if run is None:
        return found
    cells, found.protocols = _cells(run, column, protocol)
    recorded = over_examples(run)
    for method, summary in cells.items():
        ends = [recorded.get((method, *column[:2], one)) for one in found.protocols]
        if of_these := next(filter(None, ends), None):
            summary = replace(summary, low=of_these[0], high=of_these[1])
            found.over_examples = True
        found.ours[method] = summary
    found.yours = _cells(beside, column, protocol)[0] if beside is not None else {}
    found.beside = beside_words(beside)[0]
    return found


def _cells(run: Run, column: Column, protocol: object) -> tuple[dict[str, Summary], list[str]]:
    rows = [row for row in run.metrics if row.dataset == column.dataset]
    cells, protocols = over_seeds(run.model_copy(update={"metrics": rows}), column.metric, protocol=protocol)
    return {method: summary for (method, _), summary in cells.items()}, protocols


def _blocks(held: Sequence[_Held]) -> dict[str, list[str]]:
    """Block -> its methods, in the paper's order."""
    own = {method for part in held for method in part.ours}
    methods = ordered(method for part in held for method in [*part.paper, *part.ours])
    found: dict[str, list[str]] = {block: [] for block in BLOCKS}
    for method in methods:
        found[block_of(method, ours=method in own)].append(method)
    for block in BLOCKS[:2]:
        found[block].sort(key=lambda method: ENCODERS.index(method.removesuffix(FIXED)))
    return {block: names for block, names in found.items() if names}


def _best(part: _Held, metric: str, methods: Iterable[str]) -> tuple[set[str], set[str]]:
    """The best of some methods in a column, ours and the paper's; as printed, so several may be."""
    own = {method: summary.value for method, summary in part.ours.items()}
    ours, theirs = ({m: values[m] for m in methods if m in values} for values in (own, part.paper))
    return best(ours, metric), best(theirs, metric)


def _cell(part: _Held, method: str, column: Column, tops: tuple[set[str], set[str]], where: str) -> Cell:
    """One cell; ``where`` the paper's value is printed."""
    theirs, summary, metric = part.paper.get(method), part.ours.get(method), column.metric
    small = Cell()
    if theirs is not None:
        small = Cell(numbers.shown(theirs, metric), best=method in tops[1], paper=where)
    if summary is None:
        return small
    after = ""
    if theirs is not None:
        reached = _reached(summary, theirs, metric)
        sign, said = _SIGNS[reached]
        colour = f'class="verdict-{reached.replace(" ", "-")}"'
        after = Html(f' <span {colour} role="img" aria-label="{said}" title="{said}">{sign}</span>')
    below: list[str | Cell] = [numbers.interval(summary.low, summary.high, metric)]
    below += [small._replace(before="paper ")] if small.text else []
    if method in part.yours:
        below.append(f"{part.beside} {numbers.shown(part.yours[method].value, metric)}")
    text = numbers.shown(summary.value, metric)
    return Cell(text, below, after, best=method in tops[0], row=(method, column.dataset, metric))


def _reached(summary: Summary, theirs: float, metric: str) -> Verdict:
    """By the rule ``scores``: the interval holds the printed value, or lies on one side of it."""
    low, high = (summary.value if end is None else end for end in (summary.low, summary.high))
    better = -1 if numbers.lower_is_better(metric) else 1
    low, high = sorted((better * (low - theirs), better * (high - theirs)))
    if not low < high:
        return "inconclusive"
    return "exceeded" if low > 0 else "not reproduced" if high < 0 else "reproduced"


def _how(held: Sequence[_Held]) -> str:
    words = ["; ".join(ordered(protocol for part in held for protocol in part.protocols))]
    seeds = sorted({summary.seeds for part in held for summary in part.ours.values()})
    if seeds:
        words.append(mean_of_seeds(seeds))
        if any(part.over_examples for part in held if part.ours):
            words.append("95 % intervals over examples")
        elif seeds[-1] > 1:
            words.append("95 % t-intervals over seeds")
    return " \u00b7 ".join(word for word in words if word) or "as printed"


def _foot(held: Sequence[_Held]) -> str:
    small = ["interval"] * any(part.ours for part in held)
    small += ["the paper\u2019s value"] * (bool(small) and any(part.paper for part in held))
    small += [f"{part.beside}\u2019s" for part in held if part.yours][:1]
    signs = "; ".join(f"{sign} {said}" for sign, said in _SIGNS.values()) + "." if len(small) > 1 else ""
    below = f"Small: {small[0]}{''.join(f', and {one}' for one in small[1:])}." if small else ""
    return " ".join(filter(None, (below, "Bold: best of its block.", signs)))
