"""Every encoder in every setting: the matrix with letters for ties, and quality against speed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from sentbook.evaluation.predictions import INTERVALS
from sentbook.papers.cross.columns import CLASSIFICATION, COLUMNS, LETTERS, SIMILARITY
from sentbook.papers.dnt.winners import SETTINGS, encoder_of, named, setting_of
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.figures import WIDTH, captioned, of_a_run, thousands
from sentbook.report.markup import Fragment, Html, esc
from sentbook.report.style import MARKERS, Palette
from sentbook.report.summary import full_name, group_and_label, ordered
from sentbook.report.svg import Plot, render
from sentbook.report.table import Cell, Row, Table, not_run
from sentbook.report.view import of_view

COMMAND = "make run NOTEBOOK=cross/matrix PROFILE=small"
SHOWN = tuple(setting for setting in SETTINGS if setting != "NT")
_TIMES, _POOLED = "\u00d7", "pooled pairs"


# -- what a run holds --------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A column of the matrix."""

    dataset: str
    metric: str

    @property
    def title(self) -> str:
        if self.dataset in (SIMILARITY, CLASSIFICATION):
            return "Mean"
        group, name = group_and_label(self.dataset)
        group = "Mini-world domains" if group == "domains" else group
        return group if name == "Average" else full_name(group, name)


class Shown(NamedTuple):
    """A number with its interval over items and its letters."""

    value: float
    low: float
    high: float
    letters: str


@dataclass(frozen=True)
class Matrix:
    """The cells of a run."""

    run: Run

    @cached_property
    def places(self) -> list[Place]:
        return [Place(*found) for found in self.run.extra[COLUMNS]]

    @cached_property
    def cells(self) -> dict[tuple[str, Place], Shown]:
        """(Method, column) -> the mean over seeds; of a year the mean of its sets."""
        values: dict[tuple[str, str, str], list[float]] = {}
        for row in self.run.metrics:
            if _POOLED not in row.protocol:
                values.setdefault((row.method, row.dataset, row.metric), []).append(row.value)
        found = {}
        for place in self.places:
            for method, letters in self.run.extra[LETTERS][place.metric][place.dataset].items():
                low, high = self.run.extra[INTERVALS][place.metric][place.dataset][method]
                value = float(np.mean(values[method, place.dataset, place.metric]))
                found[method, place] = Shown(value, low, high, letters)
        return found

    @cached_property
    def missing(self) -> dict[str, str]:
        """Method -> why it has no numbers."""
        return dict(self.run.extra["missing"])

    @cached_property
    def encoders(self) -> list[str]:
        """The encoders with a speed, then those that are missing altogether."""
        return ordered([*(item["encoder"] for item in self.run.extra["speeds"]), *map(encoder_of, self.missing)])

    @cached_property
    def speeds(self) -> dict[str, dict[str, Any]]:
        return {item["encoder"]: item for item in self.run.extra["speeds"]}

    @property
    def without_training(self) -> set[str]:
        """The encoders that are not trained here."""
        return {encoder_of(method) for method in self.missing}

    def best(self, place: Place, but: frozenset[str] | set[str] = frozenset()) -> set[str]:
        """The methods that share a letter with the best one of a column: those that the test cannot tell from it.

        Args:
            but: encoders to leave out.
        """
        column = {m: cell for (m, at), cell in self.cells.items() if at == place and encoder_of(m) not in but}
        top = max(column.values(), key=lambda cell: cell.value)
        return {method for method, cell in column.items() if set(cell.letters) & set(top.letters)}

    def wins(self, mean: str, but: frozenset[str] | set[str] = frozenset()) -> Counter[str]:
        """In how many columns of a part a method is not told from the best one; the mean and F1 do not count.

        Args:
            but: encoders to leave out.
        """
        places = [place for place in self.part(mean)[:-1] if place.metric != "f1"]
        return Counter(method for place in places for method in self.best(place, but))

    def part(self, mean: str) -> list[Place]:
        """The columns up to the mean ``similarity mean``, or those after it up to ``classification mean``."""
        end = next(at for at, place in enumerate(self.places) if place.dataset == mean)
        start = next((at + 1 for at, place in enumerate(self.places[:end]) if place.dataset == SIMILARITY), 0)
        return self.places[start : end + 1]


# -- the matrix --------------------------------------------------------------------------------------------------------


@of_view
def matrix(
    run: Run | None,
    mean: str = SIMILARITY,
    *,
    caption: str = "Encoders and settings",
    just_made: bool = False,
    command: str = COMMAND,
    changes: Sequence[str] = (),
) -> Table | Fragment:
    """Show a row an encoder and setting, a column a data set, their mean, and what the encoder costs.

    Beside each number the letters that it shares with those that the test cannot tell from it; bold: those that it
    cannot tell from the best. A row without numbers says why. A cell's title holds its interval.

    Args:
        run: None: a notice that says how to make it.
        mean: which part, by its last column: ``similarity mean`` or ``classification mean``.
    """
    if run is None:
        return not_run(command)
    held = Matrix(run)
    places = held.part(mean)
    best = {place: held.best(place) for place in places}
    rows = []
    for encoder in held.encoders:
        first = True
        for setting in SHOWN:
            method = named(encoder, setting)
            present = any((method, place) in held.cells for place in places)
            if not present and method not in held.missing:
                continue
            if present:
                cells = [_cell(held.cells.get((method, place)), method, place, best[place]) for place in places]
            else:
                cells = [Cell(f"not run: {held.missing[method]}", kind="sb-left sb-soft", span=len(places))]
            found = held.speeds.get(encoder)
            cells += [Cell(numbers.count(found["parameters"])), Cell(_ratio(found))] if found else [Cell(), Cell()]
            rows.append(Row(f"{encoder} {setting}", cells, start=first))
            first = False
    heads = [(place.title, numbers.short(place.metric)) for place in places]
    heads += [("Parameters", "no words"), ("Speed", "of PP\u2019s")]
    seeds = len(run.provenance.seeds)
    how = "one training each" if seeds == 1 else f"mean of {seeds} seeds"
    return Table(
        "Encoder",
        heads,
        rows,
        caption,
        f"\u00d7 100 \u00b7 {how} \u00b7 intervals over test items in the cells\u2019 titles",
        "Two rows of a column share a letter where the test cannot tell them apart (paired bootstrap over test items, "
        "p < .05 adjusted for all pairs of the column); bold: not told from the best. "
        "The test is of these trainings on new items, not of new trainings.",
        run=run,
        badged=True,
        just_made=just_made,
        changes=changes,
    )


def _cell(cell: Shown | None, method: str, place: Place, best: set[str]) -> Cell:
    if cell is None:
        return Cell()
    return Cell(
        numbers.shown(cell.value, place.metric),
        after=Html(f'<span class="sb-letters">{esc(cell.letters)}</span>'),
        best=method in best,
        row=(method, place.dataset, place.metric),
        title=numbers.interval(cell.low, cell.high, place.metric),
    )


def _ratio(speed: Mapping[str, Any]) -> str:
    return f"{numbers.plain(speed['ratio'], 2)}{_TIMES}"


# -- quality against speed ---------------------------------------------------------------------------------------------


def efficient(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names that no other one beats in both numbers, by the first number, falling.

    Args:
        points: name -> (speed, quality), higher being better in both; one that is as good in one number and better in
            the other beats too.

    Example:
        >>> efficient({"fast": (9, 1), "good": (1, 9), "both": (5, 5), "worse": (4, 4)})
        ['fast', 'both', 'good']
    """
    kept = [
        name
        for name, (x, y) in points.items()
        if not any((a >= x and b >= y) and (a, b) != (x, y) for a, b in points.values())
    ]
    return sorted(kept, key=lambda name: -points[name][0])


@of_a_run
def pareto(run: Run, *, caption: str = "") -> Plot:
    """Mean quality against sentences a second (logarithmic), a panel for similarity and one for classification.

    The settings of an encoder have one speed. Joined: those that no other one beats in both.
    """
    held = Matrix(run)
    panels = {}
    for title, mean in (("Similarity", SIMILARITY), ("Classification", CLASSIFICATION)):
        place = next(place for place in held.places if place.dataset == mean)
        panels[title] = {
            method: (held.speeds[encoder_of(method)]["sentences per second"], 100 * cell.value)
            for (method, at), cell in held.cells.items()
            if at == place
        }
    best = {title: efficient(points) for title, points in panels.items()}

    def draw(figure: Figure, palette: Palette) -> None:
        for axes, (title, points) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
            _panel(axes, title, points, best[title], palette)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=len(SHOWN), borderaxespad=0.1, handlelength=1.2)

    said = "; ".join(f"{title.lower()}: {', '.join(map(_plain, names))}" for title, names in best.items())
    note = "Mean of the columns against speed on one thread. Joined: not beaten in both by any other."
    return render(
        draw,
        size=(WIDTH, 3.9),
        caption=captioned(caption, note),
        alt=f"Quality against speed of every encoder and setting. Efficient, fastest first: {said}.",
    )


def _plain(method: str) -> str:
    return f"{encoder_of(method)} {setting_of(method)}"


def _panel(
    axes: Axes, title: str, points: Mapping[str, tuple[float, float]], best: Sequence[str], palette: Palette
) -> None:
    for index, setting in enumerate(SHOWN):
        chosen = [point for method, point in points.items() if setting_of(method) == setting]
        if chosen:
            x, y = zip(*chosen, strict=True)
            axes.plot(
                x, y, linestyle="none", marker=MARKERS[index], markersize=4.6, color=palette.hues[index], label=setting
            )
    x, y = zip(*(points[method] for method in best), strict=True)
    axes.plot(x, y, color=palette.soft, linewidth=1.0, zorder=1)
    rates = [rate for rate, _ in points.values()]
    axes.set_xscale("log")
    axes.set_xlim(min(rates) / 1.5, max(rates) * 1.5)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(*axes.get_xlim())))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: thousands(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_title(title)
    axes.set_xlabel("Sentences a second")
    axes.set_ylabel("Mean \u00d7 100")
    axes.grid(axis="y")
    axes.margins(y=0.06)
    _names(axes, points, palette)


def _ticks(low: float, high: float) -> list[float]:
    """One, two and five of each power of ten between the limits; where those are many, one and three, or one."""
    for steps in ((1, 2, 5), (1, 3), (1,)):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        if len(found) <= 5:
            return found
    return found


def _names(axes: Axes, points: Mapping[str, tuple[float, float]], palette: Palette) -> None:
    """The encoders' names above the panel in the order of speed, each with a thin line to its best point."""
    tops: dict[str, tuple[float, float]] = {}
    for method, point in points.items():
        encoder = encoder_of(method)
        tops[encoder] = max(tops.get(encoder, point), point, key=lambda found: found[1])
    low, high = axes.get_ylim()
    ceiling = high + 0.1 * (high - low)
    axes.set_ylim(low, high + 0.5 * (high - low))
    order = sorted(tops, key=lambda encoder: tops[encoder])
    for encoder, x in zip(order, np.geomspace(*axes.get_xlim(), len(order) + 2)[1:-1], strict=True):
        speed, top = tops[encoder]
        axes.plot([speed, x], [top, ceiling], color=palette.faint, linewidth=0.7, zorder=0)
        axes.annotate(
            encoder, (x, ceiling), xytext=(0, 2), textcoords="offset points", fontsize=8, rotation=90,
            ha="center", va="bottom", color=palette.ink,
        )  # fmt: skip
