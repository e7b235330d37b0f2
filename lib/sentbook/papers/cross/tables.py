"""Every encoder in every setting: the matrix with letters for ties, and what no other encoder beats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sentbook.evaluation.predictions import INTERVALS
from sentbook.papers.cross.columns import CLASSIFICATION, COLUMNS, LETTERS, SIMILARITY
from sentbook.papers.dnt.winners import SETTINGS, encoder_of, named
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.markup import Fragment, Html, esc
from sentbook.report.summary import full_name, group_and_label, ordered
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

    def points(self, mean: str) -> dict[str, tuple[float, float]]:
        """By method the sentences a second of its encoder, and its mean over a part's columns times 100."""
        found = {method: cell.value for (method, place), cell in self.cells.items() if place.dataset == mean}
        speeds = {name: float(one["sentences per second"]) for name, one in self.speeds.items()}
        return {method: (speeds[encoder_of(method)], 100 * value) for method, value in found.items()}

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
