"""The one table that compares: the paper's numbers, ours, and their difference.

Rows and columns come from the record. A run in memory adds columns "yours"; data sets that it alone has are in a table
of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sentbook.judge.evidence import lower_is_better
from sentbook.records import Run, Test
from sentbook.report import numbers
from sentbook.report.html import Shown
from sentbook.report.summary import Key, Values, changes, headings, is_average, ordered
from sentbook.report.table import AVERAGE, HEADING, Cell, Row, of_cells

if TYPE_CHECKING:
    from sentbook.report.page import Page

PAPER, OURS, YOURS = "paper", "ours", "yours"
Sources = dict[str, Values]


def comparison(
    page: Page,
    methods: Sequence[str] | None = None,
    *,
    rows: Sequence[str] | None = None,
    metric: str | Mapping[str, str] | None = None,
    difference: tuple[str, str] | None = None,
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
        places: decimals, in place of the metric's.
        run: a run in memory, shown in columns "yours".
    """
    parts = []
    for sources, shown, sets, words in _tables(page, methods, rows, caption, run):
        metrics = {name: _main(sources).metric_on(name, metric) for name in sets}
        kinds: dict[str | None, str] = {None: HEADING} | {name: AVERAGE for name in filter(is_average, sets)}
        lines = [(name, page.label(name or label, label), kinds.get(name, "")) for name, label in headings(sets)]
        keys = {(row, head): (head, row, metrics[row]) for row in sets for head in shown}
        columns, notes = _columns(sources, {name: page.label(name) for name in shown}, keys, places)
        for name, source in sources.items():
            tests = {row: test for row in sets if difference and (test := source.test(*difference, row, metrics[row]))}
            if difference and tests:
                label = page.difference(*difference)
                columns[label, name] = {row: (numbers.tested(test, places=places), "") for row, test in tests.items()}
                notes += [_wins(label, tests, sources[PAPER])] if name == OURS else []
        parts.append(_drawn(lines, columns, words, notes))
    return page.together(parts)


def by_method(
    page: Page,
    methods: Sequence[str] | None = None,
    *,
    datasets: Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    metric: str | Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    caption: str = "",
    run: Run | None = None,
) -> Shown:
    """Compare methods, a row per method: a column group per data set, or per metric of one data set.

    Args:
        datasets: those shown; with ``metrics`` a single one.
        metrics: head the columns in place of data sets.
        groups: headings over methods, with the methods below each; a method of none comes first.
        methods, metric, run: as in `comparison`.
    """
    parts, grouped = [], {name: group for group, members in (groups or {}).items() for name in members}
    for sources, shown, sets, words in _tables(page, methods, datasets, caption, run):
        order = [*(name for name in shown if name not in grouped), *(name for name in grouped if name in shown)]
        lines: list[Row] = []
        for name in order:
            if grouped.get(name) not in (None, *(label for _, label, _ in lines)):
                lines.append((None, grouped[name], HEADING))
            lines.append((name, page.label(name), ""))
        heads = {name: page.label(name) for name in sets}
        keys = {(row, head): (row, head, _main(sources).metric_on(head, metric)) for row in order for head in sets}
        if metrics:
            heads = {name: numbers.name(name, short=True) for name in metrics}
            keys = {(row, head): (row, sets[0], head) for row in order for head in metrics}
        columns, notes = _columns(sources, heads, keys)
        parts.append(_drawn(lines, columns, words, notes))
    return page.together(parts)


def _tables(
    page: Page, methods: Sequence[str] | None, rows: Sequence[str] | None, caption: str, run: Run | None
) -> Iterator[tuple[Sources, list[str], list[str], str]]:
    """Give sources, methods, data sets and caption of the record's table, and of one of the run's own data sets."""
    tables: list[tuple[Sources, Sequence[str] | None, str]] = []
    shared, own = _split(run, page.run)
    if page.run is not None and (shared is None or shared.metrics):
        paper, ours = Values.printed(page.paper), Values.measured(page.run, page.protocol)
        tables = [({PAPER: paper, OURS: ours, YOURS: Values.measured(shared, page.protocol)}, rows, caption)]
    if own is not None and own.metrics:
        words = f"Your run, {', '.join(changes(own))}, on data sets that the record does not have."
        tables.append(({YOURS: Values.measured(own, page.protocol)}, None, words))
    for sources, wanted, words in tables:
        held = {name: source.methods for name, source in sources.items()}
        known = [*held.get(OURS, ()), *held[YOURS]]
        shown = ordered(known if methods is None else [one for one in methods if one in {*known, *held.get(PAPER, ())}])
        sets = [name for name in _main(sources).datasets(shown) if wanted is None or name in wanted]
        if sets:
            yield sources, shown, sets if wanted is None else [name for name in wanted if name in sets], words


def _split(run: Run | None, record: Run | None) -> tuple[Run | None, Run | None]:
    """Split a run into the items that the record has too, and its own: a name of other items is another data set."""
    if run is None:
        return None, None
    known = {(row.dataset, row.n) for row in (record.metrics if record else ())}
    own = {row.dataset for row in run.metrics if (row.dataset, row.n) not in known}
    parts = []
    for wanted in (False, True):
        metrics, tests = ([row for row in rows if (row.dataset in own) is wanted] for rows in (run.metrics, run.tests))
        parts.append(run.model_copy(update={"metrics": metrics, "tests": tests}))
    return parts[0], parts[1]


def _main(sources: Sources) -> Values:
    """Return the run that decides rows and columns."""
    return sources.get(OURS, sources[YOURS])


def _columns(
    sources: Sources, heads: Mapping[str, str], keys: Mapping[tuple[str, str], Key], places: int | None = None
) -> tuple[dict[tuple[str, str], dict[str, Cell]], list[str]]:
    """Return the cells of each head and source by row, and what the numbers are; bold is the best of ours alone."""
    found: dict[tuple[str, str], list[float]] = {}
    for method, dataset, metric in keys.values() if OURS in sources else ():
        mean = sources[OURS].mean(method, dataset, metric)
        found.setdefault((dataset, metric), []).extend([] if mean is None else [mean])
    columns: dict[tuple[str, str], dict[str, Cell]] = {}
    for head, label in heads.items():
        for name, source in sources.items():
            cells = {}
            for row, (method, dataset, metric) in ((row, key) for (row, of), key in keys.items() if of == head):
                text = numbers.shown(source.mean(method, dataset, metric), metric, places=places)
                means = found[dataset, metric] if name == OURS else []
                best = (min if lower_is_better(metric) else max)(means, default=None)
                strong = len(means) > 1 and text == numbers.shown(best, metric, places=places)
                cells[row] = text, "sb-best" if strong else "sb-paper" if name == PAPER else ""
            if any(text != numbers.DASH for text, _ in cells.values()):
                columns[label, name] = cells
    notes = [f"{', '.join(map(numbers.name, ordered(metric for *_, metric in keys.values())))}."]
    yours = sources[YOURS].run
    counts = [len(values) for key in keys.values() if (values := _main(sources).at(*key))]
    if OURS in sources and counts:
        many = " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))
        notes.append(f"Ours: {'one value a cell' if many == '1' else f'mean of {many} seeds'}; bold: best of ours.")
        notes += [f"Yours: {', '.join(changes(yours))}."] if yours and YOURS in {name for _, name in columns} else []
    return columns, notes


def _drawn(lines: list[Row], columns: Mapping[tuple[str, str], dict[str, Cell]], words: str, notes: list[str]) -> Shown:
    """Draw the cells of heads and sources; a line of heads that says "ours" over every column is left out."""
    ours = {name for _, name in columns} == {OURS}
    heads = {head[0] if ours else head: cells for head, cells in columns.items()}
    return of_cells(lines, heads, caption=words, note=" ".join(notes))


def _wins(label: str, tests: Mapping[str, Test], paper: Values) -> str:
    """Count the data sets, averages apart, on which A is above B: those that the paper prints, where it prints any."""
    sets = {row: test for row, test in tests.items() if not is_average(row)}
    pairs = {row: [paper.mean(one, row, test.metric) for one in (test.a, test.b)] for row, test in sets.items()}
    theirs = {row: first > second for row, (first, second) in pairs.items() if first is not None and second is not None}
    counted = [test for row, test in sets.items() if row in theirs or not theirs]
    above = sum(test.estimate > 0 for test in counted)
    sure, below = sum(test.low > 0 for test in counted), sum(test.high < 0 for test in counted)
    printed = f", in the paper on {sum(theirs.values())}" if theirs else ""
    said = f"{label}: in brackets the 95 % interval ({next(iter(tests.values())).kind})."
    counts = f"It is above 0 on {above} of {len(counted)} sets{printed}; the interval is above 0 on {sure}"
    return f"{said} {counts} and below 0 on {below}." if len(counted) > 1 else said
