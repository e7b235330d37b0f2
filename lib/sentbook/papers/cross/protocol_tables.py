"""Why one encoder has many numbers on one test set: what the page on protocols and its notebook draw of a run."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sentbook.data.readers.sts import SETS
from sentbook.evaluation.protocols import Aggregation
from sentbook.records import Run, Test
from sentbook.report_old import numbers
from sentbook.report_old.figures import WIDTH, captioned, legend_above, of_a_run, row_axes
from sentbook.report_old.names import readable
from sentbook.report_old.style import MARKERS, Palette
from sentbook.report_old.summary import group_and_label, is_average, ordered, where_printed
from sentbook.report_old.svg import Plot, render
from sentbook.report_old.table import TEXT, Cell, Row, Table
from sentbook.report_old.view import of_run
from sentbook.runs import printed as printed_numbers

YEAR = "STS2014/avg"
# The order in which the fields of a protocol act on a number, and what a run calls its choices.
FIELDS = ("tokens", "score", "measure", "aggregation")
HOUSE, STEP = "our protocol", "paired bootstrap, step"
DROPPED, INNER = "unknown words dropped", "inner product in place of the cosine"
BENCHMARK_HEAD, UNSEEN = "head trained on STS-B", "pairs met in pre-training left out"
WITH_TRAINING = "the three sets with training pairs"
_TOKENS = {
    "ptb": "Penn Treebank",
    "ptb-cased": "Penn Treebank, cased",
    "words": "words without punctuation",
    "whitespace": "split at spaces",
    "content": "without stop words",
}
_SETS_OF_2012 = ("MSRpar", "MSRvid", "SMT-eur")


# -- what a run holds --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """A run's numbers by protocol and row."""

    run: Run

    @property
    def encoder(self) -> str:
        return str(self.run.extra["encoder"])

    @property
    def how(self) -> str:
        """How the numbers came about, in words."""
        return (
            f"{self.encoder}, mean of {numbers.counted(len(self.run.provenance.seeds), 'seed')} \u00b7 "
            f"correlations \u00d7 100 \u00b7 our protocol: {self.run.extra['house']}"
        )

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


def short_name(row: str) -> str:
    """
    Example:
        >>> short_name("STS2014/avg"), short_name("SICK2014"), short_name("STSB-test")
        ('STS 2014', 'SICK 2014', 'STSB-test')
    """
    group, label = group_and_label(row)
    return group or label


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# -- all choices -------------------------------------------------------------------------------------------------------


@of_a_run
def path(run: Run, row: str = YEAR, *, caption: str = "") -> Plot:
    """From our protocol to those of the lowest and of the highest number, a choice a step, with its interval."""
    held = Held(run)
    row = row if row in held.years else held.years[0]
    steps = {(test.a, test.b): test for test in run.tests if test.kind == STEP and test.dataset == row}
    ways: list[list[str]] = run.extra["paths"][row]
    lines: list[tuple[str, float | None, Test | None]] = []
    for title, way in zip(("Down to the lowest", "Up to the highest"), ways, strict=True):
        lines += [(title, None, None), (HOUSE, held.means[way[0], row], None)]
        lines += [(_step(held, a, b), held.means[b, row], steps[b, a]) for a, b in itertools.pairwise(way)]

    def draw(figure: Figure, palette: Palette) -> None:
        axes, phone = figure.subplots(), figure.get_figwidth() < WIDTH
        gap, room = ("\n", 16) if phone else ("\u2003", 80)
        labels = [(textwrap.fill(readable(label), room), value is None) for label, value, _ in lines]
        _lay_out(axes, labels, f"{short_name(row)}, correlation \u00d7 100")
        before = 0.0
        for y, (_, value, test) in enumerate(lines):
            if value is None:
                continue
            at, colour, text = 100 * value, palette.ink, numbers.plain(100 * value)
            if test is not None:
                colour = palette.hues[0] if test.estimate > 0 else palette.hues[1]
                axes.plot([before, at], [y, y], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
                axes.plot([before, before], [y - 1, y], color=palette.soft, linewidth=0.7, linestyle=":")
                text += f"{gap}{numbers.shown(test.estimate, test.metric, signed=True)} "
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
        alt=f"{held.encoder} on {short_name(row)}: from {low} to {high} by choice of protocol alone, a step a choice.",
        narrow=True,
    )


def _step(held: Held, before: str, after: str) -> str:
    a, b = held.fields[before], held.fields[after]
    [name] = [name for name in FIELDS if a[name] != b[name]]
    return f"tokens: {words(b[name])}" if name == "tokens" else words(b[name])


def words(choice: str) -> str:
    """Name a measure or a tokenisation as a reader does; other choices are named so already."""
    return numbers.name(choice, unit=False) if choice in ("pearson", "spearman") else _TOKENS.get(choice, choice)


def _lay_out(axes: Axes, labels: Sequence[tuple[str, bool]], unit: str) -> None:
    row_axes(axes, labels)
    axes.set_xlabel(unit)
    axes.grid(axis="x")


def _beside(axes: Axes, y: float, text: str) -> None:
    at = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 8}
    axes.annotate(text, (1.01, y), annotation_clip=False, **at)  # type: ignore[arg-type]


@of_a_run
def spread(run: Run, *, caption: str = "") -> Plot:
    """Every combination's number on every test set: a dot each, ours a diamond."""
    held = Held(run)
    house, dots = held.house, dict[str, list[tuple[dict[str, str], float]]]()
    for (name, row), mean in held.means.items():
        if not held.fields[name]["detail"]:
            dots.setdefault(row, []).append((held.fields[name], 100 * mean))
    kinds = ordered(fields["score"] for found in dots.values() for fields, _ in found)
    ends = {row: [numbers.plain(end(value for _, value in dots[row])) for end in (min, max)] for row in held.rows}

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        _lay_out(axes, [(short_name(row), False) for row in held.rows], "Correlation \u00d7 100")
        for (y, row), (place, kind), alone in itertools.product(enumerate(held.rows), enumerate(kinds), (False, True)):
            found = [v for f, v in dots[row] if f["score"] == kind and (f["tokens"] == house["tokens"]) == alone]
            colour = palette.hues[place]
            axes.plot(
                found, [y - 0.17 + 0.34 * place] * len(found), linestyle="none", marker=MARKERS[place], markersize=4.6,
                color=colour, markerfacecolor=colour if alone else "none", markeredgewidth=0.9, alpha=0.9,
                label=f"{kind}, {words(house['tokens'])} tokens" if alone and not y else None,
            )  # fmt: skip
        for y, row in enumerate(held.rows):
            axes.plot(
                [100 * held.means[held.named(row), row]], [y - 0.17], linestyle="none", marker="D", markersize=8.5,
                markerfacecolor="none", color=palette.ink, label=None if y else HOUSE,
            )  # fmt: skip
            _beside(axes, y, numbers.DASH.join(ends[row]))
        legend_above(axes)

    said = "; ".join(f"{short_name(row)} from {' to '.join(ends[row])}" for row in held.rows)
    note = f"{held.encoder}; hollow: other tokenisations. At the right the lowest and the highest number."
    return render(
        draw,
        size=(WIDTH, 0.95 + 0.42 * max(3, len(held.rows))),  # beside a legend of several lines on a phone
        caption=captioned(caption, note),
        alt=f"The same vectors under every protocol: {said}.",
        narrow=True,
    )


# -- printed numbers ---------------------------------------------------------------------------------------------------


def _of(frame: pd.DataFrame, method: str) -> dict[str, float]:
    """Row -> what a table prints of a method."""
    rows = frame[frame["method"] == method]
    return dict(zip(rows["dataset"].astype(str), rows["value"].astype(float), strict=True))


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
    held = Held(run) if run is not None and "STS2012/avg" in Held(run).rows else None
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
    return Table("STS 2012", heads, rows, caption, how, run=run if held else None, badged=bool(held), facts=not held)


# -- the page ----------------------------------------------------------------------------------------------------------

# What a reader looks for, by choice; tokenisations not named here are what their name says.
_ADVICE: dict[str, str] = {
    WITH_TRAINING: "Which sets? Of STS 2012 some papers have five, some the three that came with training pairs.",
    UNSEEN: "Did the encoder train on sentences of the test set? Captions and headlines of STS return in many corpora.",
    "tokens: ptb-cased": "Is the text lower-cased where the word vectors are? A capital letter makes a word unknown.",
    "tokens: words": "Is punctuation kept?",
    "tokens: whitespace": "Is punctuation cut from words? Split at spaces alone, \u201cend.\u201d is no known word.",
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


@of_run
def checklist(run: Run, *, row: str = YEAR) -> Table:
    """What to look for, in the order of the measured size: how far each choice moves one year, and all of them."""
    held = Held(run)
    row = row if row in held.years else held.years[0]
    rows = []
    for number, (choice, by_row) in enumerate(held.effects().items(), start=1):
        years = [100 * by_row[name].estimate for name in held.years if name in by_row]
        test = by_row.get(row)
        one = numbers.DASH if test is None else numbers.shown(test.estimate, test.metric, signed=True)
        low, high = (numbers.plain(edge, signed=True) for edge in (min(years), max(years)))
        all_years = low if len(years) == 1 else f"{low} to {high}"
        names = (choice, HOUSE, row, test.metric) if test else ()
        rows.append(Row(f"{number}. {capital(choice)}", [_ADVICE.get(choice, ""), one, all_years], row=names))
    return Table(
        "Choice",
        ["What to look for", short_name(row), "All years"],
        rows,
        "What moves a number, the largest first",
        f"{held.how} \u00b7 change of the number when this choice alone is moved; by the mean size over the years",
        run=run,
        badged=True,
        kinds={0: TEXT},
        wrap=True,
        kind="sentbook-table sentbook-wide",
    )
