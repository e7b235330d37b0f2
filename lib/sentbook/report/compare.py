"""The one table that compares: the paper's numbers, ours, and their difference.

Rows and columns come from the record. A run in memory adds columns "yours"; data sets that it alone has are in a table
of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sentbook.records import Run, Test
from sentbook.report import numbers
from sentbook.report.html import Shown
from sentbook.report.summary import Key, Values, changes, headings, is_average, ordered
from sentbook.report.table import AVERAGE, HEADING, Cell, Row, of_cells

if TYPE_CHECKING:
    from sentbook.report.page import Page

PAPER, OURS, YOURS = "paper", "ours", "yours"
Sources = dict[str, Values]
Keys = Callable[[str, str], Key]  # row and head -> method, data set, metric


def comparison(
    page: Page,
    methods: Sequence[str] | None = None,
    *,
    rows: Sequence[str] | None = None,
    metric: str | Mapping[str, str] | None = None,
    difference: tuple[str, str] | None = None,
    gap: bool = False,
    places: int | None = None,
    caption: str = "",
    run: Run | None = None,
) -> Shown:
    """Compare methods, a row per data set: the paper's number, ours, and the interval of A - B.

    Args:
        methods: in the order shown; None: all of the record.
        rows: data sets; None: all of the record.
        metric: one, or one by data set; None: Pearson's r, else the data set's first.
        difference: A and B, whose tested difference A - B gets a column.
        gap: a column ours - paper for each method.
        places: decimals, in place of the metric's.
        run: a run in memory, shown in columns "yours".
    """
    parts = []
    for sources, values, wanted, words in _tables(page, rows, caption, run):
        shown = _methods(methods, sources)
        held = values.datasets(shown)
        sets = held if wanted is None else [name for name in wanted if name in held]
        metrics = {name: values.metric_on(name, metric) for name in sets}
        lines: list[Row] = []
        for name, label in headings(sets):
            kind = HEADING if name is None else AVERAGE if is_average(name) else ""
            lines.append((name, page.label(name or label, label), kind))

        def key(row: str, head: str, metrics: Mapping[str, str] = metrics) -> Key:
            return head, row, metrics[row]

        columns = _columns(sources, sets, [(name, page.label(name)) for name in shown], key, places, gap)
        notes = list(_notes(sources, [key(row, head) for row in sets for head in shown]))
        for name, source in sources.items():
            found = {row: source.test(*difference, row, metrics[row]) for row in sets} if difference else {}
            tests = {row: test for row, test in found.items() if test is not None}
            if difference and tests:
                label = numbers.difference(*map(page.label, difference))
                columns[label, name] = {row: (numbers.tested(test, places=places), "") for row, test in tests.items()}
                notes += [_wins(label, tests, sources[PAPER])] if name == OURS else []
        parts.append(of_cells(lines, columns, caption=words, note=" ".join(notes)))
    return page.together(parts)


def by_method(
    page: Page,
    methods: Sequence[str] | None = None,
    *,
    datasets: Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    metric: str | Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    gap: bool = False,
    places: int | None = None,
    caption: str = "",
    run: Run | None = None,
) -> Shown:
    """Compare methods, a row per method: a column group per data set, or per metric of one data set.

    Args:
        datasets: those shown; with ``metrics`` the one that they are of.
        metrics: head the columns in place of data sets.
        groups: headings over methods, with the methods below each; a method of none comes first.
        methods, metric, gap, places, run: as in `comparison`.
    """
    parts = []
    for sources, values, wanted, words in _tables(page, datasets, caption, run):
        shown = _methods(methods, sources)
        held = values.datasets(shown)
        sets = held if wanted is None else [name for name in wanted if name in held]
        grouped = {name: group for group, members in (groups or {}).items() for name in members}
        order = [*(name for name in shown if name not in grouped), *(name for name in grouped if name in shown)]
        lines: list[Row] = []
        for name in order:
            group = grouped.get(name, "")
            if group and group not in [label for _, label, _ in lines]:
                lines.append((None, group, HEADING))
            lines.append((name, page.label(name), ""))
        measured = {name: values.metric_on(name, metric) for name in sets}

        def key(row: str, head: str, sets: list[str] = sets, measured: Mapping[str, str] = measured) -> Key:
            return (row, sets[0], head) if metrics else (row, head, measured[head])

        heads = [(name, numbers.name(name, short=True)) for name in metrics] or [(one, page.label(one)) for one in sets]
        columns = _columns(sources, order, heads, key, places, gap)
        notes = _notes(sources, [key(row, head) for row in order for head, _ in heads])
        parts.append(of_cells(lines, columns, caption=words, note=" ".join(notes)))
    return page.together(parts)


def _tables(
    page: Page, rows: Sequence[str] | None, caption: str, run: Run | None
) -> Iterator[tuple[Sources, Values, Sequence[str] | None, str]]:
    """Give sources, the run that decides rows and columns, data sets and caption: the record's, then the run's own."""
    ours, yours = Values.measured(page.run, page.protocol), Values.measured(run, page.protocol)
    if page.run is not None:
        yield {PAPER: page.printed, OURS: ours, YOURS: yours}, ours, rows, caption
    own = [name for name in yours.datasets(yours.methods) if name not in ours.datasets(ours.methods)]
    if run is not None and own:
        words = f"Your run, on data sets that the record does not have. {'; '.join(changes(run))}."
        yield {YOURS: yours}, yours, own, words


def _methods(methods: Sequence[str] | None, sources: Sources) -> list[str]:
    """Return the methods shown, those that any source has; by default all of the record, then those of the run."""
    held = {name: source.methods for name, source in sources.items()}
    known = [*held.get(OURS, ()), *held[YOURS]]
    return ordered(known if methods is None else [name for name in methods if name in {*known, *held.get(PAPER, ())}])


def _columns(
    sources: Sources, rows: Sequence[str], heads: Sequence[tuple[str, str]], key: Keys, places: int | None, gap: bool
) -> dict[tuple[str, str], dict[str, Cell]]:
    """Return the cells of each head and source by row; bold is the best of ours and nothing else."""
    best: dict[tuple[str, str], float] = {}
    for method, dataset, metric in [key(row, head) for row in rows for head, _ in heads] if OURS in sources else ():
        choose = min if numbers.lower_is_better(metric) else max
        means = (sources[OURS].mean(method, dataset, metric), best.get((dataset, metric)))
        best |= {(dataset, metric): choose(held)} if (held := [one for one in means if one is not None]) else {}
    columns: dict[tuple[str, str], dict[str, Cell]] = {}
    for head, label in heads:
        for name, source in sources.items():
            cells = {}
            for row in rows:
                *_, metric = place = key(row, head)
                text = numbers.shown(source.mean(*place), metric, places=places)
                strong = text == numbers.shown(best.get(place[1:]), metric, places=places) != numbers.DASH
                cells[row] = text, "sb-paper" if name == PAPER else "sb-best" if strong and name == OURS else ""
            if any(text != numbers.DASH for text, _ in cells.values()):
                columns[label, name] = cells
        if gap and {(label, PAPER), (label, OURS)} <= columns.keys():
            cells = {}
            for row in rows:
                place = key(row, head)
                ours, paper = (sources[name].mean(*place) for name in (OURS, PAPER))
                apart = None if ours is None or paper is None else ours - paper
                cells[row] = numbers.shown(apart, place[2], places=places, signed=True), ""
            columns[label, f"ours {numbers.MINUS} paper"] = cells
    return columns


def _notes(sources: Sources, keys: Sequence[Key]) -> Iterator[str]:
    """Say what the numbers are: metric, seeds, what is bold, and what was changed in a run in memory."""
    yield f"{', '.join(map(numbers.name, ordered(metric for *_, metric in keys)))}."
    ours, yours = sources[OURS].run if OURS in sources else None, sources[YOURS]
    if ours is not None:
        seeds = len(ours.provenance.seeds)
        yield f"Ours: {'one seed' if seeds == 1 else f'mean of {seeds} seeds'}; bold: best of ours."
        if yours.run is not None and any(yours.mean(*key) is not None for key in keys):
            yield f"Yours: {'; '.join(changes(yours.run))}."


def _wins(label: str, tests: Mapping[str, Test], paper: Values) -> str:
    """Count the data sets, averages apart, on which A is above B: those that the paper prints, where it prints any."""
    sets = {row: test for row, test in tests.items() if not is_average(row)}
    pairs = {row: [paper.mean(one, row, test.metric) for one in (test.a, test.b)] for row, test in sets.items()}
    theirs = {row: first > second for row, (first, second) in pairs.items() if first is not None and second is not None}
    counted = [test for row, test in sets.items() if row in theirs or not theirs]
    above = sum(test.estimate > 0 for test in counted)
    sure = sum(test.low > 0 for test in counted), sum(test.high < 0 for test in counted)
    return (
        f"{label}: in brackets the 95 % interval ({next(iter(tests.values())).kind}). It is above 0 on {above} of "
        f"{len(counted)} sets{f', in the paper on {sum(theirs.values())}' if theirs else ''}; "
        f"the interval is above 0 on {sure[0]} and below 0 on {sure[1]}."
    )
