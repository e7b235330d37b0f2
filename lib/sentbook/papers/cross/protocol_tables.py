"""Why one encoder has many numbers on one test set: single choices, their paths and spread, and the printed numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sentbook.data.readers.sts import SETS
from sentbook.evaluation.protocols import Aggregation
from sentbook.papers.cross.protocols import BENCHMARK_HEAD, DROPPED, FIELDS, HOUSE, INNER, STEP, UNSEEN, WITH_TRAINING
from sentbook.records import Run, Test
from sentbook.report import numbers
from sentbook.report.figures import WIDTH, captioned, of_a_run
from sentbook.report.markup import Fragment, esc, run_name
from sentbook.report.style import MARKERS, Palette
from sentbook.report.summary import group_and_label, is_average, ordered, where_printed
from sentbook.report.svg import Plot, render
from sentbook.report.table import TEXT, Cell, Row, Table, badges, not_run
from sentbook.report.tables import difference_cell
from sentbook.report.view import of_view
from sentbook.runs import ledger
from sentbook.runs import printed as printed_numbers

COMMAND = "make run NOTEBOOK=cross/protocols PROFILE=small"
YEAR = "STS2014/avg"
_SETS_OF_2012 = ("MSRpar", "MSRvid", "SMT-eur")
_STATED = ("score", "measure", "aggregation", "sets")


# -- what a run holds --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Held:
    """A run's numbers by protocol and row."""

    run: Run

    @property
    def encoder(self) -> str:
        return str(self.run.extra["encoder"])

    @cached_property
    def rows(self) -> list[str]:
        return ordered(row.dataset for row in self.run.metrics)

    @property
    def years(self) -> list[str]:
        return [row for row in self.rows if is_average(row)]

    @cached_property
    def fields(self) -> dict[str, dict[str, str]]:
        """Protocol -> its fields."""
        return {str(item["protocol"]): item for item in self.run.extra["protocols"]}

    @property
    def house(self) -> dict[str, str]:
        return self.fields[self.run.extra["house"]]

    @cached_property
    def values(self) -> dict[tuple[str, str], list[float]]:
        """(Protocol, row) -> a value a seed."""
        found: dict[tuple[str, str], list[float]] = {}
        for row in self.run.metrics:
            found.setdefault((row.protocol, row.dataset), []).append(row.value)
        return found

    @cached_property
    def means(self) -> dict[tuple[str, str], float]:
        return {at: float(np.mean(values)) for at, values in self.values.items()}

    def named(self, row: str, **changes: str) -> str:
        """The protocol on ``row`` that differs from the house's by ``changes``; empty where it was not measured."""
        wanted = self.house | changes | ({} if is_average(row) else {"aggregation": str(Aggregation.PER_SET)})
        return next((name for name, held in self.fields.items() if {**wanted, "protocol": name} == held), "")

    def combinations(self) -> list[dict[str, str]]:
        """The fields of every protocol on a year that is no choice moved alone."""
        per_set = str(Aggregation.PER_SET)
        return [f for f in self.fields.values() if not f["detail"] and f["aggregation"] != per_set]

    def effects(self) -> dict[str, dict[str, Test]]:
        """Choice -> row -> its effect, the largest mean distance over the years where it moves anything first."""
        found: dict[str, dict[str, Test]] = {}
        for test in self.run.tests:
            if test.b == HOUSE:
                found.setdefault(test.a, {})[test.dataset] = test
        sizes = {
            choice: [abs(test.estimate) for row, test in tests.items() if is_average(row)]
            for choice, tests in found.items()
        }
        return dict(sorted(found.items(), key=lambda item: -float(np.mean(sizes[item[0]] or [0.0]))))


def _short(row: str) -> str:
    """
    Example:
        >>> _short("STS2014/avg"), _short("SICK2014"), _short("STSB-test")
        ('STS 2014', 'SICK 2014', 'STSB-test')
    """
    group, label = group_and_label(row)
    return group or label


def _how(held: _Held) -> str:
    seeds = len(held.run.provenance.seeds)
    return (
        f"{held.encoder}, mean of {seeds} seed{'' if seeds == 1 else 's'} \u00b7 correlations \u00d7 100 \u00b7 "
        f"our protocol: {held.run.extra['house']}"
    )


# -- one choice at a time ----------------------------------------------------------------------------------------------


@of_view
def effects(
    run: Run | None,
    *,
    caption: str = "What one choice does",
    just_made: bool = False,
    command: str = COMMAND,
    changes: Sequence[str] = (),
) -> Table | Fragment:
    """Show a row a choice, a column a test set: how far the number moves when that choice alone is another.

    First our number with its interval; then the choices, the largest first; then what the luck of pairs and seeds does.
    """
    if run is None:
        return not_run(command)
    held = _Held(run)
    means, values, sets = held.means, held.values, held.rows
    metric = str(held.house["measure"])
    inside = {row: (run.extra["intervals"][row]["low"], run.extra["intervals"][row]["high"]) for row in sets}
    key = {row: (held.encoder, row, metric) for row in sets}
    ours = [
        Cell(numbers.shown(means[held.named(row), row], metric), numbers.interval(*inside[row], metric), row=key[row])
        for row in sets
    ]
    rows = [Row(HOUSE.capitalize(), ours, own=True)]
    for choice, tests in held.effects().items():
        rows.append(Row(_capital(choice), [difference_cell(tests.get(row), numbers.DASH) for row in sets]))
    rows.append(Row("For comparison", head=True))
    halves = [(high - low) / 2 for low, high in inside.values()]
    rows.append(Row("Other pairs", [f"\u00b1 {numbers.shown(half, metric)}" for half in halves]))
    if len(run.provenance.seeds) > 1:
        apart = {row: float(np.ptp(values[held.named(row), row])) for row in sets}
        rows.append(
            Row("Best less worst seed", [Cell(numbers.shown(apart[row], metric), row=key[row]) for row in sets])
        )
    return Table(
        "Choice",
        [_short(row) for row in sets],
        rows,
        caption,
        f"{_how(held)} \u00b7 paired bootstrap over pairs, 95 % below \u00b7 bold: p below .05 by "
        "Holm\u2019s method over a row",
        f"{numbers.DASH}: nothing to choose there. Other pairs: half the width of our number\u2019s own interval.",
        run=run,
        badged=True,
        just_made=just_made,
        changes=changes,
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# -- all choices -------------------------------------------------------------------------------------------------------


@of_a_run
def path(run: Run, row: str = YEAR, *, caption: str = "") -> Plot:
    """From our protocol to those of the lowest and of the highest number, a choice a step, with its interval."""
    held = _Held(run)
    row = row if row in held.years else held.years[0]
    steps = {(test.a, test.b): test for test in run.tests if test.kind == STEP and test.dataset == row}
    ways: list[list[str]] = run.extra["paths"][row]
    lines: list[tuple[str, float | None, Test | None]] = []
    for title, way in zip(("Down to the lowest", "Up to the highest"), ways, strict=True):
        lines += [(title, None, None), (HOUSE, held.means[way[0], row], None)]
        lines += [(_step(held, a, b), held.means[b, row], steps[b, a]) for a, b in itertools.pairwise(way)]

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        _lay_out(axes, [label for label, *_ in lines], f"{_short(row)}, correlation \u00d7 100")
        before = 0.0
        for y, (_, value, test) in enumerate(lines):
            if value is None:
                axes.get_yticklabels()[y].set_fontweight("bold")
                continue
            at, colour, text = 100 * value, palette.ink, numbers.plain(100 * value)
            if test is not None:
                colour = palette.hues[0] if test.estimate > 0 else palette.hues[1]
                axes.plot([before, at], [y, y], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
                axes.plot([before, before], [y - 1, y], color=palette.soft, linewidth=0.7, linestyle=":")
                text += f"\u2003{numbers.shown(test.estimate, test.metric, signed=True)} "
                text += numbers.interval(test.low, test.high, test.metric, signed=True)
            axes.plot([at], [y], marker="D" if test is None else "o", markersize=5.2, color=colour)
            _beside(axes, y, text)
            before = at
        axes.margins(x=0.06)

    low, high = (numbers.plain(100 * held.means[way[-1], row]) for way in ways)
    order = "steps in the order text, score, measure, year; in another order they would be others"
    return render(
        draw,
        size=(WIDTH, 0.8 + 0.27 * len(lines)),
        caption=captioned(caption, f"{held.encoder}; {order}. 95 % over pairs."),
        alt=f"{held.encoder} on {_short(row)}: from {low} to {high} by the choice of protocol alone, a step a choice.",
    )


def _step(held: _Held, before: str, after: str) -> str:
    a, b = held.fields[before], held.fields[after]
    [name] = [name for name in FIELDS if a[name] != b[name]]
    return {"tokens": f"{b[name]} tokens", "measure": numbers.name(b["measure"], unit=False)}.get(name, b[name])


def _lay_out(axes: Axes, labels: Sequence[str], unit: str) -> None:
    axes.set_ylim(len(labels) - 0.5, -0.6)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xlabel(unit)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _beside(axes: Axes, y: float, text: str) -> None:
    at = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 8}
    axes.annotate(text, (1.01, y), annotation_clip=False, **at)  # type: ignore[arg-type]


@of_a_run
def spread(run: Run, *, caption: str = "") -> Plot:
    """Every combination's number on every test set: a dot each, ours a diamond."""
    held = _Held(run)
    house, dots = held.house, dict[str, list[tuple[dict[str, str], float]]]()
    for (name, row), mean in held.means.items():
        if not held.fields[name]["detail"]:
            dots.setdefault(row, []).append((held.fields[name], 100 * mean))
    kinds = ordered(fields["score"] for found in dots.values() for fields, _ in found)
    ends = {row: [numbers.plain(end(value for _, value in dots[row])) for end in (min, max)] for row in held.rows}

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        _lay_out(axes, list(map(_short, held.rows)), "Correlation \u00d7 100")
        for (y, row), (place, kind), alone in itertools.product(enumerate(held.rows), enumerate(kinds), (False, True)):
            found = [v for f, v in dots[row] if f["score"] == kind and (f["tokens"] == house["tokens"]) == alone]
            colour = palette.hues[place]
            axes.plot(
                found, [y - 0.17 + 0.34 * place] * len(found), linestyle="none", marker=MARKERS[place], markersize=4.6,
                color=colour, markerfacecolor=colour if alone else "none", markeredgewidth=0.9, alpha=0.9,
                label=f"{kind}, {house['tokens']} tokens" if alone and not y else None,
            )  # fmt: skip
        for y, row in enumerate(held.rows):
            axes.plot(
                [100 * held.means[held.named(row), row]], [y - 0.17], linestyle="none", marker="D", markersize=8.5,
                markerfacecolor="none", color=palette.ink, label=None if y else HOUSE,
            )  # fmt: skip
            _beside(axes, y, numbers.DASH.join(ends[row]))
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, borderaxespad=0.2, handletextpad=0.3)

    said = "; ".join(f"{_short(row)} from {' to '.join(ends[row])}" for row in held.rows)
    note = f"{held.encoder}; hollow: other tokenisations. At the right the lowest and the highest number."
    return render(
        draw,
        size=(WIDTH, 0.95 + 0.42 * len(held.rows)),
        caption=captioned(caption, note),
        alt=f"The same vectors under every protocol: {said}.",
    )


def _narrow(aggregation: str) -> str:
    return {"mean of sets": "mean", "size-weighted mean of sets": "weighted", "pooled pairs": "pooled"}[aggregation]


def every(run: Run | None, *, caption: str = "Every combination", command: str = COMMAND) -> Fragment:
    """Show all combinations on all test sets, folded."""
    if run is None:
        return not_run(command)
    held = _Held(run)
    means, sets, known = held.means, held.rows, held.combinations()
    rows = []
    for score in ordered(fields["score"] for fields in known):
        rows.append(Row(_capital(score), head=True))
        for fields in (fields for fields in known if fields["score"] == score):
            changes = {name: fields[name] for name in ("score", "measure", "tokens", "aggregation")}
            cells = [
                Cell(
                    numbers.plain(100 * means[held.named(row, **changes), row]),
                    row=(held.encoder, row, fields["measure"]),
                )
                for row in sets
            ]
            measure, way = numbers.short(fields["measure"]).split(" ")[0], _narrow(fields["aggregation"])
            label = f"{fields['tokens']}, {measure}, {way}"
            rows.append(Row(label, cells, own=fields["protocol"] == run.extra["house"]))
    shown = Table("Protocol", [_short(row) for row in sets], rows, caption, _how(held), run=run)
    summary = f"{len(known)} protocols on {len(sets)} test sets"
    body = f"{badges(run)}<details><summary>{summary}</summary>{shown.body}</details>"
    return Fragment(body, run=run_name(run))


# -- printed numbers ---------------------------------------------------------------------------------------------------


@cache
def registry() -> dict[str, list[dict[str, Any]]]:
    """``papers/cross/protocols.yaml``: how printed numbers were computed, and what tools print."""
    text = (files("sentbook.papers") / "cross" / "protocols.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def by_its_sets(paper: str, table: str, method: str, year: int) -> tuple[float, float, float] | None:
    """A printed year's average, and the mean and the size-weighted mean of the sets printed with it, all in [-1, 1].

    Example:
        >>> [round(100 * value, 1) for value in by_its_sets("cse", "table2", "GRAN", 2014)]
        [75.9, 75.9, 77.3]
    """
    known = _of(printed_numbers.table(paper, table), method)
    names = [f"STS{year}/{name}" for name, _, _ in SETS[year]]
    if f"STS{year}/avg" not in known or not all(name in known for name in names):
        return None
    values, sizes = [known[name] for name in names], [size for *_, size in SETS[year]]
    return known[f"STS{year}/avg"], float(np.mean(values)), float(np.average(values, weights=sizes))


def _of(frame: pd.DataFrame, method: str) -> dict[str, float]:
    """Row -> what a table prints of a method."""
    rows = frame[frame["method"] == method]
    return dict(zip(rows["dataset"].astype(str), rows["value"].astype(float), strict=True))


def printed(*, caption: str = "Printed numbers by protocol") -> Fragment:
    """The papers' numbers of each year, a table for each protocol as they state it, with the tools that print the same.

    Where a paper prints a year's sets, its average is held against their mean and their size-weighted mean.
    """
    by_protocol: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for entry in (*registry()["systems"], *registry()["tools"]):
        by_protocol.setdefault(tuple(entry.get(name, "") for name in _STATED), []).append(entry)
    body = "".join(
        f'<div style="margin-top:1.3rem">{_one_protocol(said, entries).body}</div>'
        for said, entries in by_protocol.items()
    )
    foot = (
        "\u2713: the printed averages are the means of the printed sets, and not their size-weighted means. Numbers "
        "of one table compare with each other; with those of another table they do not."
    )
    return Fragment(f'<strong>{esc(caption)}</strong>{body}<p class="sb-foot">{esc(foot)}</p>', facts=True)


def _one_protocol(said: tuple[str, ...], entries: Sequence[Mapping[str, Any]]) -> Table | Fragment:
    score, measure, aggregation, sets = said
    words = (
        _capital(score or "score not said"),
        numbers.name(measure, unit=False),
        aggregation or "aggregation not said",
        sets,
    )
    lines, tools, sources = [], [], []
    for entry in entries:
        if "methods" not in entry:
            tools.append(f"{entry['name']} ({entry['from']})")
            continue
        sources.append(entry["from"])
        frame = printed_numbers.table(entry["paper"], entry["table"])
        for method in entry["methods"]:
            tick = " \u2713" if _is_the_mean(entry, method) else ""
            label = f"{method} ({entry['table'].replace('table', 'table ')}){tick}"
            lines.append((label, _years(frame, method), where_printed(frame), entry.get("tokens", "not said")))
    known = ", ".join(filter(None, words))
    if not lines:
        return Fragment(f'<div class="sb-caption"><strong>{esc(known)}</strong>{esc("; ".join(tools))}</div>')
    years = [year for year in SETS if any(year in found for _, found, *_ in lines)]
    rows = [
        Row(
            label,
            [
                *(Cell(numbers.plain(100 * found[y]), paper=where) if y in found else Cell() for y in years),
                tokens,
            ],
        )
        for label, found, where, tokens in lines
    ]
    also = f"Said by: {'; '.join(ordered(sources))}." + (f" So prints {'; '.join(tools)}." if tools else "")
    [paper] = {entry["paper"].upper() for entry in entries if "paper" in entry}
    heads = [*(f"STS {year}" for year in years), "Tokens"]
    return Table(f"{paper} paper", heads, rows, known, foot=also, kinds={len(years): TEXT})


def _years(frame: pd.DataFrame, method: str) -> dict[int, float]:
    """What was printed of each year; of 2012 also under the name of its three sets."""
    known = _of(frame, method)
    names = {year: next((n for n in (f"STS{year}/avg", f"STS{year - 2000}") if n in known), "") for year in SETS}
    return {year: known[name] for year, name in names.items() if name}


def _is_the_mean(entry: Mapping[str, Any], method: str) -> bool:
    """Whether the printed averages are the means of the printed sets in all years, and weighted means not in all."""
    found = [by for year in SETS if (by := by_its_sets(entry["paper"], entry["table"], method, year)) is not None]
    # Sets and average are rounded to a tenth of a point each.
    plain = all(abs(average - mean) <= 0.0011 for average, mean, _ in found)
    weighted = all(abs(average - mean) <= 0.0011 for average, _, mean in found)
    return bool(found) and plain and not weighted


def twice(run: Run | None, *, caption: str = "One encoder, printed twice: GRAN on STS 2012") -> Table:
    """GRAN's number of 2012 in two papers, what its printed sets give by each aggregation, and ours by each."""
    frame = printed_numbers.table("cse", "table2")
    known = _of(frame, "GRAN")
    sizes = {name: size for name, _, size in SETS[2012]}
    three = [known[f"STS2012/{name}"] for name in _SETS_OF_2012]
    weighted = float(np.average(three, weights=[sizes[name] for name in _SETS_OF_2012]))
    first, second = where_printed(frame), where_printed(printed_numbers.table("dnt", "table4"))
    theirs = [
        ("Five sets", Aggregation.MEAN, known["STS2012/avg"], first, ""),
        ("Three sets", Aggregation.MEAN, float(np.mean(three)), first, "from its sets"),
        ("Three sets", Aggregation.WEIGHTED, weighted, first, "from its sets"),
        (
            "Three sets",
            Aggregation.POOLED,
            printed_numbers.value("dnt", "table4", "GRAN [UE]", "STS12"),
            second,
            "aggregation not said",
        ),
    ]
    held = _Held(run) if run is not None and "STS2012/avg" in _Held(run).rows else None
    rows = []
    for label, way, value, where, note in theirs:
        cells = [Cell(numbers.plain(100 * value), note or where, paper=where)]
        if held is not None:
            detail = WITH_TRAINING if label.startswith("Three") else ""
            name = held.named("STS2012/avg", aggregation=str(way), detail=detail)
            ours = numbers.plain(100 * held.means[name, "STS2012/avg"])
            cells.append(Cell(ours, row=(held.encoder, "STS2012/avg", held.house["measure"])))
        rows.append(Row(f"{label}, {way}", cells))
    heads = ["GRAN, printed", *([f"{held.encoder}, ours"] if held else [])]
    how = "Pearson\u2019s r \u00d7 100, cosine"
    return Table("STS 2012", heads, rows, caption, how, run=run if held else None, badged=True, facts=held is None)


# -- the page ----------------------------------------------------------------------------------------------------------

# What a reader looks for, by choice; tokenisations not named here are what their name says.
_ADVICE: dict[str, str] = {
    WITH_TRAINING: "Which sets? Of STS 2012 some papers have five, some the three that came with training pairs.",
    UNSEEN: "Did the encoder train on sentences of the test set? Captions and headlines of STS return in many corpora.",
    "tokens: ptb-cased": "Is the text lower-cased where the word vectors are? A capital letter makes a word unknown.",
    "tokens: words": "Are marks kept?",
    "tokens: whitespace": "Are marks cut from words? Split at spaces alone, \u201cend.\u201d is no known word.",
    "tokens: content": "Are stop words kept?",
    "tokens: stems": "Are words left as they are? Stems of words have no vectors, or others.",
    DROPPED: "What becomes of unknown words: one vector for all, or nothing?",
    INNER: "Are vectors scaled to length one? An inner product is no cosine.",
    "trained head": "Cosine, or a head trained on scored pairs? Of which data set, and is it the test\u2019s own kind?",
    BENCHMARK_HEAD: "A head of STS-B: its training pairs are pairs of these very years.",
    "Spearman in place of Pearson": "Pearson\u2019s r or Spearman\u2019s \u03c1?",
    str(Aggregation.WEIGHTED): "Is the mean of the sets weighted by their size (SentEval\u2019s wmean)?",
    str(Aggregation.POOLED): "Are all pairs of a year pooled (\u201call\u201d of SimCSE\u2019s SentEval)?",
}


def checklist(run: Run | None, *, row: str = YEAR, command: str = COMMAND) -> Table | Fragment:
    """What to look for, in the order of the measured size: how far each choice moves one year, and all of them."""
    if run is None:
        return not_run(command)
    held = _Held(run)
    row = row if row in held.years else held.years[0]
    rows = []
    for number, (choice, by_row) in enumerate(held.effects().items(), start=1):
        years = [100 * by_row[name].estimate for name in held.years if name in by_row]
        test = by_row.get(row)
        one = numbers.DASH if test is None else numbers.shown(test.estimate, test.metric, signed=True)
        low, high = (numbers.plain(edge, signed=True) for edge in (min(years), max(years)))
        all_years = low if len(years) == 1 else f"{low} to {high}"
        names = (choice, HOUSE, row, test.metric) if test else ()
        rows.append(Row(f"{number}. {_capital(choice)}", [_ADVICE.get(choice, ""), one, all_years], row=names))
    return Table(
        "Choice",
        ["What to look for", _short(row), "All years"],
        rows,
        "What moves a number, the largest first",
        f"{_how(held)} \u00b7 change of the number when this choice alone is moved; by the mean size over the years",
        run=run,
        badged=True,
        kinds={0: TEXT},
        wrap=True,
        kind="sentbook-table sentbook-wide",
    )


def fragments() -> dict[str, str]:
    """Make the page's generated parts from the recorded run: file name in ``book/_generated`` to HTML."""
    run = ledger.read("cross", "protocols", "small")
    shown: dict[str, Plot | Table | Fragment] = {
        "path": path(run, caption="STS 2014: the same vectors, a choice a step"),
        "checklist": checklist(run),
        "twice": twice(run),
        "spread": spread(run, caption="Every combination of score, measure, aggregation and tokenisation"),
    }
    return {f"protocols_{name}.md": part.html() for name, part in shown.items()}
