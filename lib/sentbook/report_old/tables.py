"""Tables that any paper uses: the paper's numbers beside ours, tests, claims, cost, provenance, frames as they are.

Each takes a run, or a `sentbook.report_old.view.View`, which also shows the run just made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd

from sentbook.io import ConfigError
from sentbook.judge import judge
from sentbook.records import Run, Test
from sentbook.report_old import numbers, templates
from sentbook.report_old.markup import Fragment, Html, Recorded, esc, folded, run_name, verdict, why
from sentbook.report_old.names import rule_of
from sentbook.report_old.summary import (
    Summary,
    corrected,
    full_name,
    group_and_label,
    headings,
    interval_words,
    is_average,
    ordered,
    over_seeds,
    printed,
    significant,
    test_of,
    where_printed,
)
from sentbook.report_old.table import LEFT, TEXT, Cell, Row, Table, is_toy, time_of
from sentbook.report_old.view import of_recorded, of_run, of_view

Key = TypeVar("Key", bound=Hashable)
_Values = Mapping[tuple[str, str], Summary]  # by method and data set
_Sources = tuple[Mapping[tuple[str, str], float], _Values, _Values]
_Contrast = Mapping[str, tuple[Test, float, float, float]]  # a row's test with estimate and interval of A - B


def best(values: Mapping[Key, float], metric: str, places: int | None = None) -> set[Key]:
    """The keys of the best value as printed; empty for a single value; values that print alike are all best."""
    if len(values) < 2:
        return set()
    places = numbers.digits(metric) if places is None else places
    rounded = {key: round(value * numbers.factor(metric), places) for key, value in values.items()}
    top = min(rounded.values()) if numbers.lower_is_better(metric) else max(rounded.values())
    return {key for key, value in rounded.items() if value == top}


# -- the comparison --------------------------------------------------------------------------------------------------


def beside_words(run: Run | None) -> tuple[str, dict[str, Any]]:
    """Call a third run, ours at the paper's size or the reader's, which has no page, and say what marks its cells."""
    full = run is not None and run.profile == "paper"
    return ("paper\u2019s size", {"run": run_name(run)}) if full else ("your run", {"data": True})


class _Block:
    """The columns of one method, whose rows are data sets, or of one metric, whose rows are methods.

    Args:
        sources: the values of the paper, of the recorded run and of the reader's by method and data set.
        where: the paper's are printed.
        beside: the third source, None without one.
        method, dataset: the one that all rows share.
    """

    def __init__(
        self,
        title: str,
        metric: str,
        places: int | None,
        sources: _Sources,
        rows: Sequence[str],
        where: str,
        beside: Run | None,
        *,
        method: str = "",
        dataset: str = "",
    ) -> None:
        self.title, self.metric, self.where, self.method, self.dataset = title, metric, where, method, dataset
        self.beside, self.marks = ("", {}) if beside is None else beside_words(beside)
        self.places = numbers.digits(metric) if places is None else places
        paper, ours, yours, key = *sources, self.key
        self.paper = {row: paper[key(row)] for row in rows if key(row) in paper}
        self.ours = {row: ours[key(row)] for row in rows if key(row) in ours}
        self.yours = {row: yours[key(row)] for row in rows if key(row) in yours}

    def key(self, row: str) -> tuple[str, str]:
        """The method and the data set of a row."""
        return self.method or row, self.dataset or row

    @property
    def columns(self) -> list[str]:
        third = self.yours if self.beside else self.paper.keys() & self.ours.keys()
        held = {"paper": self.paper, "recorded" if self.beside else "ours": self.ours, self.beside or "diff.": third}
        return [name for name, values in held.items() if values]

    def values(self, column: str) -> dict[str, float]:
        if column == "paper":
            return self.paper
        found = self.yours if column == self.beside else self.ours
        return {row: summary.value for row, summary in found.items()} if column != "diff." else {}

    def cell(self, row: str, column: str, spread: Callable[..., str], strong: bool) -> Cell:
        """One cell; what the paper did not print is a dash, what was not run stays empty."""
        theirs, summary = self.paper.get(row), (self.yours if column == self.beside else self.ours).get(row)
        names = (*self.key(row), self.metric)
        if column == "paper":
            text = numbers.shown(theirs, self.metric, places=self.places)
            return Cell(text, best=strong, paper=self.where if theirs is not None else "")
        if column == "diff.":
            if summary is None or theirs is None:
                return Cell(kind="sb-soft")
            text = numbers.shown(summary.value - theirs, self.metric, places=self.places, signed=True)
            return Cell(text, row=names, kind="sb-soft")
        if summary is None:
            return Cell()
        text = numbers.shown(summary.value, self.metric, places=self.places)
        cell = Cell(text, spread(summary.low, summary.high, self), best=strong, row=names)
        return cell._replace(**self.marks) if column == self.beside else cell


@of_view
def comparison(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    rows: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    metric: str = "pearson",
    caption: str = "",
    tests: Iterable[Test] | None = None,
    pair: tuple[str, str] | None = None,
    interval: str = "brackets",
    protocol: object = None,
    places: int | None = None,
    notes: Mapping[str, str] | None = None,
    beside: Run | None = None,
) -> Table:
    """Set the paper's table beside ours: per data set and method paper, ours with its interval, and the difference.

    Columns without any value are left out, so a run on other data sets than the paper's shows its own numbers alone.

    Args:
        run: the recorded run, or None: then the paper's numbers under a notice that says how to make ours.
        reported: the paper's numbers, columns method, dataset, metric, value (see `summary.reported`); None: none.
        rows: data sets in the paper's order; None: the paper's where one of them was run, else the run's.
        methods: None: the paper's, then those that only the run has.
        metric: its values are stored in [-1, 1] and shown x100 where it is a correlation or a share.
        tests: comparisons of ``pair``; None: those of the run.
        pair: (A, B): adds the column A - B with its interval and a star where Holm's p is below .05.
        interval: ``brackets`` or ``half`` (half-width).
        protocol: which protocols, where the run holds several for a cell.
        places: decimals; None: by the metric.
        notes: remarks beside a row or group heading, e.g. ``{"STS2016": "validation"}``.
        beside: a run of the reader's, or of ours at the paper's size, shown in place of the difference.

    Raises:
        ConfigError: a cell was scored under two protocols; ``interval`` is neither word.
    """
    sources, protocols = _sources(run, reported, beside, metric, protocol)
    run_rows, paper_rows = (ordered(dataset for _, dataset in cells) for cells in (sources[1], sources[0]))
    if rows is None:
        shared = set(run_rows) & set(paper_rows)
        rows = ordered([*paper_rows, *run_rows]) if shared or not run_rows else run_rows
    if methods is None:
        kept = {method for method, dataset in sources[0] if dataset in set(rows)}
        methods = ordered([*[m for m, _ in sources[0] if m in kept], *[m for m, _ in sources[1]]])
    where = where_printed(reported)
    blocks = [_Block(name, metric, places, sources, rows, where, beside, method=name) for name in methods]
    found = list(run.tests if tests is None and run is not None else tests or [])
    contrast, of_yours = (
        corrected({row: test for row in rows if pair and (test := test_of(given, *pair, row, metric))})
        for given in (found, beside.tests if beside is not None else [])
    )
    grid = _Grid(blocks, rows, group_and_label, interval, pair, contrast, of_yours)
    return Table(
        "Data set", grid.columns, grid.rows(notes or {}), caption, grid.how(numbers.name(metric), protocols),
        grid.foot(), run=run, badged=True,
    )  # fmt: skip


def _sources(
    run: Run | None, reported: pd.DataFrame | None, beside: Run | None, metric: str, protocol: object
) -> tuple[_Sources, list[str]]:
    """What the paper printed, what was recorded and what the reader's run gave, and under which protocols."""
    (ours, protocols), (yours, _) = (
        over_seeds(of, metric, protocol=protocol) if of is not None else ({}, []) for of in (run, beside)
    )
    return (printed(reported, metric), ours, yours), protocols


@of_view
def by_metric(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    dataset: str,
    methods: Sequence[str] | None = None,
    metrics: Sequence[str] = ("pearson", "spearman", "mse"),
    caption: str = "",
    interval: str = "brackets",
    protocol: object = None,
    places: Mapping[str, int] | None = None,
    beside: Run | None = None,
) -> Table:
    """Show one data set, a method a row, a metric a group of columns; otherwise as `comparison`."""
    found = {metric: _sources(run, reported, beside, metric, protocol) for metric in metrics}
    if methods is None:
        methods = ordered(m for (paper, ours, _), _ in found.values() for m, d in [*paper, *ours] if d == dataset)
    blocks = [
        _Block(
            numbers.short(metric), metric, (places or {}).get(metric), sources, methods,
            where_printed(reported), beside, dataset=dataset,
        )
        for metric, (sources, _) in found.items()
    ]  # fmt: skip
    grid = _Grid(blocks, methods, lambda method: ("", method), interval, down=True)
    protocols = ordered(one for _, met in found.values() for one in met)
    return Table(
        "Method", grid.columns, grid.rows({}), caption,
        grid.how(full_name(*group_and_label(dataset)), protocols), run=run, badged=True,
    )  # fmt: skip


class _Grid:
    """The columns and rows that both comparisons share.

    Args:
        naming: of a row: the heading that it stands under and its label.
        pair, contrast, yours: A and B, and A - B in each row, of the recorded run and of the reader's.
        down: a column's values are ranked, not a row's.
    """

    def __init__(
        self,
        blocks: Sequence[_Block],
        rows: Sequence[str],
        naming: Callable[[str], tuple[str, str]],
        interval: str,
        pair: tuple[str, str] | None = None,
        contrast: _Contrast = {},  # noqa: B006 (never changed)
        yours: _Contrast = {},  # noqa: B006
        *,
        down: bool = False,
    ) -> None:
        if interval not in ("brackets", "half"):
            raise ConfigError(f"interval is {interval!r}; choose brackets or half.")
        self.blocks, self.naming, self.contrast = [b for b in blocks if b.columns], naming, contrast
        self.yours, self.pair, self.down, self._half = yours, pair, down, interval == "half"
        self.places = [
            r for r in rows if r in contrast or any(r in b.values(c) for b in self.blocks for c in b.columns)
        ]
        self.columns = [(block.title, column) for block in self.blocks for column in block.columns]
        if contrast and pair:
            title = f"{pair[0]} {numbers.MINUS} {pair[1]}"
            self.columns.append((title, f"{'recorded' if yours else 'ours'}, 95 %"))
            self.columns += [(title, f"{blocks[0].beside}, 95 %")] if yours else []

    def how(self, first: str, protocols: Sequence[str]) -> str:
        """How the numbers were made: what they are, the protocols, what the brackets hold."""
        seeds = [summary.seeds for block in self.blocks for summary in block.ours.values()]
        return " \u00b7 ".join(filter(None, [first, "; ".join(protocols), interval_words(seeds) if seeds else ""]))

    def spread(self, low: float | None, high: float | None, block: _Block, *, signed: bool = False) -> str:
        if self._half:
            return numbers.half_width(low, high, block.metric, places=block.places)
        return numbers.interval(low, high, block.metric, places=block.places, signed=signed)

    def best(self, row: str) -> set[tuple[int, str]]:
        """(Block, column) of the best values: along a row, or down a column whose metric is its own."""
        found = set()
        for column in ("paper", "ours", "recorded", *{block.beside for block in self.blocks}):
            held = {at: block.values(column) for at, block in enumerate(self.blocks) if column in block.columns}
            along = {at: values[row] for at, values in held.items() if row in values}
            for at, values in held.items():
                block = self.blocks[at]
                if self.down and row in best(values, block.metric, block.places):
                    found.add((at, column))
                if not self.down and at in best(along, block.metric, block.places):
                    found.add((at, column))
        return found

    def rows(self, notes: Mapping[str, str]) -> list[Row]:
        lines: list[Row] = []
        group = ""
        for row, label in headings(self.places, self.naming):
            if row is None:
                group = label
                member = next(r for r in self.places if self.naming(r)[0] == label)
                lines.append(Row(label, head=True, note=notes.get(member.partition("/")[0], "")))
                continue
            strong = self.best(row)
            cells = [
                block.cell(row, column, self.spread, (at, column) in strong)
                for at, block in enumerate(self.blocks)
                for column in block.columns
            ]
            cells += [self._contrast(self.contrast, row)] if self.contrast else []
            if self.contrast and self.yours:
                cells.append(self._contrast(self.yours, row)._replace(**self.blocks[0].marks))
            starts, group = self.naming(row)[0] != group, self.naming(row)[0]
            lines.append(Row(label, cells, start=starts, own=is_average(row), note=notes.get(row, "")))
        return lines

    def _contrast(self, contrast: _Contrast, row: str) -> Cell:
        """A - B with its star; its p is the tooltip."""
        if row not in contrast:
            return Cell()
        test, estimate, low, high = contrast[row]
        block = self.blocks[0]
        p = test.p_holm if test.p_holm is not None else test.p
        return Cell(
            numbers.shown(estimate, block.metric, places=block.places, signed=True),
            self.spread(low, high, block, signed=True),
            after="*" if test.p_holm is not None and significant(test) else "",
            row=(test.a, test.b, test.dataset, test.metric),
            title="" if p is None else f"p {'' if p < 0.001 or p > 0.999 else '= '}{numbers.p_value(p)}",
        )

    def foot(self) -> str:
        if not self.contrast or self.pair is None:
            return ""
        tests = [found[0] for found in self.contrast.values()]
        stars = f"* p < .05 after Holm: {sum(map(significant, tests))} of {len(tests)} rows. "
        return (
            f"{self.pair[0]} {numbers.MINUS} {self.pair[1]}: difference of ours with its 95 % interval "
            f"({' and '.join(ordered(test.kind for test in tests))}). "
            f"{stars if any(test.p_holm is not None for test in tests) else ''}Bold: best of its row."
        )


# -- tests -----------------------------------------------------------------------------------------------------------


@of_run
def tests(run: Run, *, caption: str = "Tests") -> Table:
    """List every comparison of the run: estimate of A - B, interval, p and Holm's p."""
    kinds = ordered(test.kind for test in run.tests)
    several = len(kinds) > 1
    rows = [
        Row(
            full_name(*group_and_label(test.dataset)),
            [
                f"{test.a} {numbers.MINUS} {test.b}",
                *([test.kind] if several else []),
                numbers.short(test.metric),
                numbers.shown(test.estimate, test.metric, signed=True),
                # A test that gives p alone is stored with an interval of no width.
                numbers.interval(test.low, test.high, test.metric, signed=True) if test.high > test.low else "",
                numbers.p_value(test.p),
                numbers.p_value(test.p_holm),
            ],
            row=(test.a, test.b, test.dataset, test.metric),
        )
        for test in run.tests
    ]
    heads = ["A \u2212 B", *(["Test"] if several else []), "Metric", "Estimate", "95 %", "p", "Holm"]
    left = {0: TEXT, 1: LEFT} if several else {0: TEXT}
    return Table("Data set", heads, rows, caption, ", ".join(kinds), run=run, kinds=left)


@of_run
def test_matrix(run: Run, *, caption: str = "Differences", label: Callable[[str], str] = str) -> Table:
    """Show the run's tests, a row a comparison A - B and a column a set and measure; bold where Holm's p is below .05.

    The interval stands below each difference. ``label`` says how a method is called in the table.
    """
    columns = ordered((t.dataset, t.metric) for t in run.tests)
    several = Counter(dataset for dataset, _ in columns)
    found = {(t.a, t.b, t.dataset, t.metric): t for t in run.tests}
    rows = [
        Row(
            Html(f'{esc(label(a))}<span class="sb-ci">{numbers.MINUS} {esc(label(b))}</span>'),
            [difference_cell(found.get((a, b, dataset, metric))) for dataset, metric in columns],
        )
        for a, b in ordered((t.a, t.b) for t in run.tests)
    ]
    heads = [
        full_name(*group_and_label(dataset)) + (f", {numbers.short(metric)}" if several[dataset] > 1 else "")
        for dataset, metric in columns
    ]
    metrics = ", ".join(ordered(numbers.name(test.metric) for test in run.tests))
    kinds = "; ".join(ordered(test.kind for test in run.tests))
    how = f"{metrics} \u00b7 {kinds}, 95 % below \u00b7 bold: p below .05 by Holm\u2019s method over a row"
    kind = "sentbook-table sentbook-contrasts"
    return Table("A \u2212 B", heads, rows, caption, how, run=run, wrap=True, kind=kind)


test_matrix.__test__ = tests.__test__ = False  # type: ignore[attr-defined]  # no functions of pytest


def difference_cell(test: Test | None, absent: str = "") -> Cell:
    """A difference with its interval below, bold where the test is significant; ``absent`` stands for no test."""
    if test is None:
        return Cell(absent)
    return Cell(
        numbers.shown(test.estimate, test.metric, signed=True),
        numbers.interval(test.low, test.high, test.metric, signed=True),
        best=significant(test),
        row=(test.a, test.b, test.dataset, test.metric),
    )


# -- claims, provenance, cost, substitutions -------------------------------------------------------------------------


@of_recorded
@of_run
def claims(run: Run, *, caption: str = "Claims") -> Table | Fragment:
    """List each claim of the paper that this experiment tests, its verdict, and the numbers the rule looked at."""
    if not (judged := [] if is_toy(run) else judge(run)):
        if is_toy(run):
            return Fragment("<p>A run on toy data carries no verdict.</p>")
        return Fragment("<p>This experiment tests no claim of the paper's text.</p>")
    rows = []
    for claim in judged:
        said = templates.html("said", claim=claim)
        evidence = Cell(claim.evidence, "; ".join([f"Rule: {rule_of(claim)}", *claim.notes]))
        label = Html(f"<code>{esc(claim.id)}</code>")
        rows.append(Row(label, [said, verdict(claim.verdict), evidence], row=(claim.id,)))
    found = [one for claim in judged for one in (claim.ours, *(part.ours for part in claim.parts)) if one]
    over = ordered(one.how for one in found if one.low is not None and one.how)
    how = f"intervals: {'; '.join(over)}" if over else ""
    heads = ["The paper says", "Verdict", "Evidence"]
    return Table("Claim", heads, rows, caption, how, run=run, kinds={0: TEXT, 1: LEFT, 2: TEXT}, wrap=True)


@of_recorded
def provenance(run: Run | None) -> Fragment:
    """List everything needed to make the numbers again, compactly; long lists fold."""
    if run is None:
        return Fragment("")
    made = run.provenance
    name = Html(f"<code>{esc(run.paper)}/{esc(run.experiment)}</code>, profile {esc(run.profile)}")
    entries = {"Run": why(name, run_name(run)), **facts(run)}
    entries["Data"] = "generated; no file read"
    if files := [f"<code>{esc(file)} {esc(digest[:12])}</code>" for file, digest in sorted(made.data.items())]:
        entries["Data"] = folded(f"{len(files)} files, with SHA-256", files)
    if settings := [f"<code>{esc(key)}: {esc(value)}</code>" for key, value in sorted(made.config.items())]:
        entries["Settings"] = folded(f"{len(settings)} values", settings)
    return Fragment(templates.html("facts", facts=entries), kind="sentbook-provenance", run=run_name(run))


def facts(run: Run) -> dict[str, str]:
    """List what is known of how a run was made: term -> words."""
    made = run.provenance
    return {
        "Commit": made.git_commit,
        "Configuration": made.config_hash,
        "Started": made.started.replace("T", " "),
        "Seeds": ", ".join(map(str, made.seeds)),
        "Device": made.device,
        "Time": time_of(run),
        "Peak memory": numbers.memory(made.peak_memory_bytes),
        "Python": made.python,
        "Packages": ", ".join(f"{name} {version}" for name, version in made.packages.items()) or "not recorded",
        "Substitutions": "; ".join(made.substitutions) or "none",
    }


@of_recorded
@of_run
def cost(run: Run, *, caption: str = "Cost of one training") -> Table | Fragment:
    """Show seconds, peak memory, parameters without the word vectors, and examples a second; means over seeds."""
    if not run.cost:
        return Fragment("<p>Nothing was trained in this experiment.</p>")
    by_method = pd.DataFrame([row.model_dump() for row in run.cost]).groupby("method", sort=False)
    seeds = by_method["seed"].nunique().to_dict()
    mean = by_method[["seconds", "peak_memory_bytes", "parameters", "examples_per_second"]].mean()
    rows = [
        Row(
            str(method),
            [
                str(seeds[str(method)]),
                numbers.minutes(row["seconds"]),
                numbers.memory(row["peak_memory_bytes"]),
                numbers.count(row["parameters"]),
                numbers.count(row["examples_per_second"]),
            ],
            row=("cost", str(method)),
        )
        for method, row in mean.iterrows()
    ]
    how = f"mean over seeds \u00b7 {run.provenance.device} \u00b7 parameters without the word vectors"
    return Table("Method", ["Seeds", "Time", "Memory", "Parameters", "Examples/s"], rows, caption, how, run=run)


@of_recorded
def searches(run: Run | None, *, caption: str = "How settings were chosen") -> Table | Fragment:
    """Show for each method what was tried, what was chosen, and whether its training had become flat.

    A choice at the edge of what was tried, a side with fewer trainings, or a curve that still rose bounds a verdict.
    """
    if run is None or not run.searches:
        return Fragment("")
    rows = []
    for one in run.searches:
        gain = numbers.DASH if one.last_quarter_gain is None else numbers.plain(100 * one.last_quarter_gain, 2)
        tried = "; ".join(f"{setting_name(name)} {setting_value(values)}" for name, values in one.grid.items())
        chosen = "; ".join(
            f"{setting_name(name)} {setting_value(value)}{' (edge)' if name in one.at_edge else ''}"
            for name, value in one.chosen.items()
        )
        cells: list[Cell | str] = [
            str(one.trainings),
            Cell(tried or "nothing: as given"),
            Cell(chosen or numbers.DASH),
            Cell(gain),
        ]
        rows.append(Row(" on ".join(filter(None, (one.method, one.dataset))), cells))
    on = ", ".join(ordered(one.selected_on for one in run.searches if one.selected_on))
    how = f"chosen on {on}; × 100" if on else "× 100"
    foot = (
        "The gain is of the best validation value in the last quarter of the final training, mean over seeds. "
        "A number at the edge of those tried that is no better than its neighbour is no edge."
    )
    heads = ["Points", "Tried", "Chosen", "Gain"]
    return Table("Method", heads, rows, caption, how, foot, run=run, kinds={1: TEXT, 2: TEXT}, facts=True)


def setting_name(setting: str) -> str:
    """Name a setting as the field does."""
    return SETTINGS.get(setting, setting.replace("_", " "))


def setting_value(value: object) -> str:
    """Say a setting's value, or those of a range, as text."""
    if isinstance(value, tuple | list):
        return ", ".join(map(setting_value, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


# What a reader of the field calls the settings that are searched, where it is not their name.
SETTINGS = {
    "learning_rate": "rate",
    "composition_rate": "filters' rate",
    "pull_back_words": "λ_w",
    "composition_decay": "λ_c",
    "bucket": "batches of one length",
    "rescale": "vectors rescaled",
}


@of_recorded
def substitutions(run: Run | None) -> Fragment:
    """Name in a box what stands in for the paper's data, to be shown beside the numbers; empty if nothing does."""
    if run is None or not run.provenance.substitutions:
        return Fragment("", kind="sentbook-substitutions")
    why_said = (
        "These numbers come from substitutes, so a gap to the paper may be due to the data rather than to the method."
    )
    items = "".join(f"<li>{esc(line)}</li>" for line in run.provenance.substitutions)
    return Fragment(
        '<div class="sb-box" role="note"><strong>Not the paper\u2019s training data</strong>'
        f"{esc(why_said)}<ul>{items}</ul></div>",
        kind="sentbook-substitutions",
    )


def plain(frame: pd.DataFrame, caption: str = "", *, run: Recorded | None = None, facts: bool = False) -> Table:
    """Show a small frame as it is; the first column heads its rows, and text may break into lines.

    A column ``paper`` holds what the paper printed.

    Args:
        run: whose numbers they are, a study's before it is recorded.
        facts: the numbers are no result.
    """
    heads = [str(column) for column in frame.columns]
    text = [at for at, column in enumerate(frame.columns) if not pd.api.types.is_numeric_dtype(frame[column])]
    kinds = {at - 1: TEXT if at in text else LEFT for at in range(1, 1 + max(text, default=0))}
    rows = [
        Row(
            str(values[0]),
            [
                Cell(str(value), paper="the paper" if head == "paper" else "")
                for head, value in zip(heads[1:], values[1:], strict=True)
            ],
        )
        for values in frame.itertuples(index=False)
    ]
    return Table(heads[0] if heads else "", heads[1:], rows, caption, run=run, kinds=kinds, facts=facts)
