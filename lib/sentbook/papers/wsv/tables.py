"""The model among the systems of a shared task: figures 5 and 7 of Yao et al. 2018, as a table and as a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sentbook.io import ConfigError
from sentbook.records import Run
from sentbook.report_old import numbers
from sentbook.report_old.figures import WIDTH, captioned, of_a_run, row_axes
from sentbook.report_old.style import MARKERS, Palette
from sentbook.report_old.summary import (
    Summary,
    full_name,
    group_and_label,
    interval_words,
    ordered,
    over_seeds,
    printed,
    reported,
    where_printed,
)
from sentbook.report_old.svg import Plot, render
from sentbook.report_old.table import TEXT, Cell, Row, Table
from sentbook.report_old.tables import beside_words
from sentbook.report_old.view import of_view
from sentbook.runs import ledger

# Most systems are printed with three decimals.
_PLACES = {"mse": 3}
_OURS = "WSV-SCNN-SV"


class System(NamedTuple):
    """A row of the ranking.

    Attributes:
        whose: empty for another system of the paper; of the paper's model ``paper``, ``ours``, or what a run that
            stands beside ours is called.
        note: its source, as printed or as run; one that begins with ``derived`` is of a value the paper does not print.
        values: by metric, what is printed as of no seed.
        marks: of its cells.
    """

    method: str
    whose: str
    note: str
    values: dict[str, Summary]
    marks: dict[str, Any]

    @property
    def name(self) -> str:
        name = _OURS if self.method == "ours" else self.method
        return f"{name}, {self.whose}" if self.whose else name

    @property
    def own(self) -> bool:
        """Whether it was run here."""
        return self.whose not in ("", "paper")

    @property
    def derived(self) -> bool:
        return self.note.startswith("derived")

    def order(self, *metrics: str) -> list[float]:
        """Numbers that are smaller for the better system, whichever way a metric runs; a missing one is the worst."""
        signs = {metric: 1 if numbers.lower_is_better(metric) else -1 for metric in metrics}
        return [signs[m] * self.values[m].value if m in self.values else math.inf for m in metrics]


class Ranking:
    """Printed systems and ours, sorted by the first metric, the best first.

    Args:
        run: None: the printed systems alone.
        reported: columns method, dataset, metric, value, and possibly ``note``: the source.
        ours: our methods; a printed system of the same name is the paper's value of it.
        dataset, metrics: the test set and the columns.
        protocol: in full or a part of it, such as ``threshold .5``, where the run holds several for a cell.
        beside: a run of the reader's, whose methods stand among the others.

    Raises:
        ConfigError: a cell was scored under two protocols and ``protocol`` does not choose, or it names none.
    """

    def __init__(
        self,
        run: Run | None,
        reported: pd.DataFrame | None,
        *,
        ours: Sequence[str],
        dataset: str,
        metrics: Sequence[str],
        protocol: object = None,
        beside: Run | None = None,
    ) -> None:
        self.metrics = metrics
        self.protocols: list[str] = []
        theirs: dict[str, dict[str, Summary]] = {}
        for metric in metrics:
            for (method, on), value in printed(reported, metric).items():
                if on == dataset:
                    theirs.setdefault(method, {})[metric] = Summary(value, None, None, 0, 0, ())
        notes = _notes(reported, dataset, metrics)
        found = [System(m, "paper" if m in ours else "", notes.get(m, ""), held, {}) for m, held in theirs.items()]
        for (whose, marks), of in ((("ours", {}), run), (beside_words(beside), beside)):
            if of is None:
                continue
            on_set = of.model_copy(update={"metrics": [row for row in of.metrics if row.dataset == dataset]})
            held_by: dict[str, dict[str, Summary]] = {method: {} for method in ours}
            for metric in metrics:
                cells, met = over_seeds(on_set, metric, protocol=protocol)
                self.protocols = ordered([*self.protocols, *met])
                for method in ours:
                    held_by[method] |= {metric: cells[method, dataset]} if (method, dataset) in cells else {}
            for method, held in held_by.items():
                seeds = max((summary.seeds for summary in held.values()), default=0)
                note = f"this run, {numbers.counted(seeds, 'seed')}"
                found += [System(method, whose, note, held, marks)] if held else []
        self.systems = sorted(found, key=lambda system: system.order(*metrics))
        self.seeds = [summary.seeds for system in found if system.own for summary in system.values.values()]

    def place(self, system: System, metric: str) -> tuple[int, int]:
        """The place of one of ours among the other printed systems, and how many there are with it."""
        others = [other for other in self.systems if not other.whose and metric in other.values]
        return 1 + sum(other.order(metric) < system.order(metric) for other in others), len(others) + 1

    @property
    def places(self) -> str:
        """Where each of ours stands among the others, by each metric, in words."""
        lines = []
        for system in (system for system in self.systems if system.own):
            held = {metric: self.place(system, metric) for metric in self.metrics if metric in system.values}
            if any(size > 1 for _, size in held.values()):
                said = [f"{place} of {size} by {_in_a_sentence(metric)}" for metric, (place, size) in held.items()]
                lines.append(f"{system.name}: place {', '.join(said)}.")
        return " ".join(lines)


def _notes(reported: pd.DataFrame | None, dataset: str, metrics: Sequence[str]) -> dict[str, str]:
    """The sources of a printed system's values."""
    if reported is None or "note" not in reported.columns:
        return {}
    chosen = reported[(reported["dataset"] == dataset) & reported["metric"].isin(list(metrics))].dropna()
    notes = chosen["note"].astype(str).groupby(chosen["method"].astype(str))
    return {str(method): "; ".join(ordered(found)) for method, found in notes}


def _in_a_sentence(metric: str) -> str:
    """The metric's name, small unless it begins with a person's name or a letter that stands for itself."""
    name = numbers.name(metric, unit=False)
    return name if name.startswith(("Pearson", "Spearman", "F1")) else name[:1].lower() + name[1:]


@of_view
def ranking(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    caption: str = "",
    beside: Run | None = None,
    **options: Any,
) -> Table:
    """Show the systems, ours tinted and with the interval over seeds, each with its source.

    Args:
        options: as of `Ranking`.

    Raises:
        ConfigError: as `Ranking`.
    """
    found = Ranking(run, reported, beside=beside, **options)
    where, metrics, dataset = where_printed(reported), found.metrics, options["dataset"]
    with_notes = any(system.note for system in found.systems)
    rows = []
    for system in found.systems:
        cells = []
        for metric in metrics:
            summary, places = system.values.get(metric), _PLACES.get(metric)
            cell = Cell(numbers.shown(summary.value if summary else None, metric, places=places))
            if summary is not None and system.own:
                around = numbers.interval(summary.low, summary.high, metric, places=places)
                names = (system.method, dataset, metric)
                cell = cell._replace(below=around, row=names, **system.marks)
            elif summary is not None:
                cell = cell._replace(below="derived" if system.derived else "", paper=system.note or where)
            cells.append(cell)
        cells += [Cell(system.note, paper="" if system.own else where)] if with_notes else []
        rows.append(Row(system.name, cells, own=system.own))
    how = [full_name(*group_and_label(dataset)), *found.protocols, f"sorted by {_in_a_sentence(metrics[0])}"]
    how += [interval_words(found.seeds)] if found.seeds else []
    return Table(
        "System",
        [*(numbers.short(metric) for metric in metrics), *(["Source"] if with_notes else [])],
        rows,
        caption,
        " \u00b7 ".join(how),
        found.places,
        run=run,
        badged=True,
        kinds={len(metrics): TEXT} if with_notes else {},
    )


@of_a_run
def ranking_dots(
    run: Run, reported: pd.DataFrame | None = None, *, caption: str = "", beside: Run | None = None, **options: Any
) -> Plot:
    """Draw the ranking, a panel a metric: ours filled with the interval over seeds, printed systems hollow.

    Args:
        options: as of `Ranking`.

    Raises:
        ConfigError: the run holds none of ours; otherwise as `Ranking`.
    """
    found = Ranking(run, reported, beside=beside, **options)
    systems, metrics = found.systems, found.metrics
    if not any(system.own for system in systems):
        where = f"{options['ours']} on {options['dataset']}"
        raise ConfigError(f"{run.paper}/{run.experiment} holds no {metrics[0]} of {where}.")

    def draw(figure: Figure, palette: Palette) -> None:
        all_axes = np.atleast_1d(figure.subplots(1, len(metrics), sharey=True))
        for axes, metric in zip(all_axes, metrics, strict=True):
            scale = numbers.factor(metric)
            for y, system in enumerate(systems):
                if system.own:
                    axes.axhspan(y - 0.5, y + 0.5, color=palette.faint, alpha=0.35, linewidth=0, zorder=0)
                if (summary := system.values.get(metric)) is None:
                    continue
                colour = palette.hues[0] if system.own else palette.hues[1] if system.whose else palette.soft
                if summary.low is not None and summary.high is not None:
                    axes.plot([summary.low * scale, summary.high * scale], [y, y], color=colour, linewidth=1.6)
                marker, inside = MARKERS[2 if system.derived else 0], colour if system.own else "none"
                axes.plot(summary.value * scale, y, marker, color=colour, markersize=5.4, markerfacecolor=inside)
            axes.set_xlabel(numbers.name(metric) + ("\n(lower is better)" if numbers.lower_is_better(metric) else ""))
            axes.grid(axis="x")
            axes.margins(x=0.1)
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        row_axes(all_axes[0], [(system.name, system.own) for system in systems])

    how = f"Filled: ours, {interval_words(found.seeds)}."
    how += " Hollow: as printed." if any(not system.own for system in systems) else ""
    how += " Diamond: derived from what is printed." if any(system.derived for system in systems) else ""
    return render(
        draw,
        size=(WIDTH, max(1.6, 0.85 + 0.25 * len(systems))),
        caption=captioned(caption, how),
        alt=f"Systems by {numbers.name(metrics[0])}. {found.places}".strip(),
    )


def fragments() -> dict[str, str]:
    """Make the figure at the top of the paper's page: file name in ``book/_generated`` to HTML."""
    run = ledger.read("wsv", "figure5", "small")
    if run is None:
        return {}
    drawn = ranking_dots(
        run,
        reported("wsv", "figure5"),
        caption="SICK: the model among the systems of SemEval 2014",
        ours=["ours"],
        dataset="SICK2014-test",
        metrics=("pearson", "spearman", "mse"),
    )
    return {"wsv_front.md": drawn.html()}
