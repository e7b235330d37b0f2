"""The model among the systems of a shared task: figures 5 and 7 of Yao et al. 2018, as a table and as a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.figures import WIDTH, captioned, of_a_run
from sentbook.report.style import MARKERS, Palette
from sentbook.report.summary import (
    Summary,
    full_name,
    group_and_label,
    interval_words,
    ordered,
    over_seeds,
    printed,
    where_printed,
)
from sentbook.report.svg import Plot, render
from sentbook.report.table import TEXT, Cell, Row, Table, not_run
from sentbook.report.tables import make_command
from sentbook.report.view import of_view
from sentbook.system.errors import ConfigError

# Most systems are printed with three decimals.
_PLACES = {"mse": 3}
_OURS = "WSV-SCNN-SV"


@dataclass(frozen=True)
class System:
    """A row of the ranking.

    Attributes:
        whose: empty for another system of the paper; ``paper``, ``ours`` or ``your run`` for the paper's model.
        values: by metric.
        note: its source, as printed or as run; one that begins with ``derived`` is of a value the paper does not print.
        summaries: of what was run here, by metric.
    """

    method: str
    whose: str
    values: Mapping[str, float]
    note: str
    summaries: Mapping[str, Summary] = field(default_factory=dict)

    @property
    def name(self) -> str:
        name = _OURS if self.method == "ours" else self.method
        return f"{name}, {self.whose}" if self.whose else name

    @property
    def own(self) -> bool:
        """Whether it was run here."""
        return bool(self.summaries)

    @property
    def derived(self) -> bool:
        return self.note.startswith("derived")

    def order(self, metrics: Sequence[str]) -> list[float]:
        """Numbers that are smaller for the better system, whichever way a metric runs; a missing one is the worst."""
        signs = {metric: 1 if numbers.lower_is_better(metric) else -1 for metric in metrics}
        return [signs[m] * self.values[m] if m in self.values else math.inf for m in metrics]


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
        self.metrics, self._ours = metrics, ours
        self.protocols: list[str] = []
        systems = self._printed(reported, dataset)
        for whose, of in (("ours", run), ("your run", beside)):
            systems += self._run(of, whose, dataset, protocol) if of is not None else []
        self.systems = sorted(systems, key=lambda system: system.order(metrics))
        self.seeds = [summary.seeds for system in self.systems for summary in system.summaries.values()]

    def _printed(self, reported: pd.DataFrame | None, dataset: str) -> list[System]:
        values: dict[str, dict[str, float]] = {}
        for metric in self.metrics:
            for (method, of), value in printed(reported, metric).items():
                if of == dataset:
                    values.setdefault(method, {})[metric] = value
        notes: dict[str, list[str]] = {}
        if reported is not None and "note" in reported.columns:
            chosen = reported[(reported["dataset"] == dataset) & reported["metric"].isin(list(self.metrics))].dropna()
            for method, note in zip(chosen["method"], chosen["note"], strict=True):
                notes.setdefault(str(method), []).append(str(note))
        return [
            System(method, "paper" if method in self._ours else "", held, "; ".join(ordered(notes.get(method, []))))
            for method, held in values.items()
        ]

    def _run(self, run: Run, whose: str, dataset: str, protocol: object) -> list[System]:
        found: dict[str, dict[str, Summary]] = {method: {} for method in self._ours}
        on = run.model_copy(update={"metrics": [row for row in run.metrics if row.dataset == dataset]})
        for metric in self.metrics:
            cells, protocols = over_seeds(on, metric, protocol=protocol)
            self.protocols = ordered([*self.protocols, *protocols])
            for (method, _), summary in cells.items():
                if method in found:
                    found[method][metric] = summary
        systems = []
        for method, held in found.items():
            seeds = max((summary.seeds for summary in held.values()), default=0)
            note = f"this run, {seeds} seed{'' if seeds == 1 else 's'}"
            values = {metric: summary.value for metric, summary in held.items()}
            systems += [System(method, whose, values, note, held)] if held else []
        return systems

    def place(self, system: System, metric: str) -> tuple[int, int]:
        """The place of one of ours among the other printed systems, and how many there are with it."""
        others = [other for other in self.systems if not other.whose and metric in other.values]
        better = sum(other.order([metric]) < system.order([metric]) for other in others)
        return better + 1, len(others) + 1

    @property
    def places(self) -> str:
        """Where each of ours stands among the others, by each metric, in words."""
        lines = []
        for system in self.systems:
            held = {metric: self.place(system, metric) for metric in self.metrics if metric in system.values}
            if system.own and any(size > 1 for _, size in held.values()):
                said = [f"{place} of {size} by {_in_a_sentence(metric)}" for metric, (place, size) in held.items()]
                lines.append(f"{system.name}: place {', '.join(said)}.")
        return " ".join(lines)


def _in_a_sentence(metric: str) -> str:
    """The metric's name, small unless it begins with a person's name or a letter that stands for itself."""
    name = numbers.name(metric, unit=False)
    return name if name.startswith(("Pearson", "Spearman", "F1")) else name[:1].lower() + name[1:]


@of_view
def ranking(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    dataset: str,
    metrics: Sequence[str],
    caption: str = "",
    just_made: bool = False,
    beside: Run | None = None,
    changes: Sequence[str] = (),
    **options: Any,
) -> Table:
    """Show the systems, ours tinted and with the interval over seeds, each with its source.

    Args:
        options: as of `Ranking`.

    Raises:
        ConfigError: as `Ranking`.
    """
    found = Ranking(run, reported, dataset=dataset, metrics=metrics, beside=beside, **options)
    where, rows = where_printed(reported), []
    with_notes = any(system.note for system in found.systems)
    for system in found.systems:
        cells = []
        for metric in metrics:
            value, summary = system.values.get(metric), system.summaries.get(metric)
            places = _PLACES.get(metric)
            text = numbers.shown(value, metric, places=places)
            if summary is not None:
                around = numbers.interval(summary.low, summary.high, metric, places=places)
                cells.append(Cell(text, around, row=(system.method, dataset, metric), data=system.whose == "your run"))
            elif value is not None:
                cells.append(Cell(text, "derived" if system.derived else "", paper=system.note or where))
            else:
                cells.append(Cell(text))
        cells += [Cell(system.note, paper="" if system.own else where)] if with_notes else []
        rows.append(Row(system.name, cells, own=system.own))
    how = [full_name(*group_and_label(dataset)), *found.protocols, f"sorted by {_in_a_sentence(metrics[0])}"]
    how += [interval_words("mean", found.seeds)] if found.seeds else []
    return Table(
        "System",
        [*(numbers.short(metric) for metric in metrics), *(["Source"] if with_notes else [])],
        rows,
        caption,
        " \u00b7 ".join(how),
        found.places,
        run=run,
        badged=True,
        just_made=just_made,
        notice=not_run(make_command(reported)) if run is None else None,
        kinds={len(metrics): TEXT} if with_notes else {},
        changes=changes,
    )


@of_a_run
def ranking_dots(
    run: Run,
    reported: pd.DataFrame | None = None,
    *,
    dataset: str,
    metrics: Sequence[str],
    caption: str = "",
    beside: Run | None = None,
    **options: Any,
) -> Plot:
    """Draw the ranking, a panel a metric: ours filled with the interval over seeds, printed systems hollow.

    Args:
        options: as of `Ranking`.

    Raises:
        ConfigError: the run holds none of ours; otherwise as `Ranking`.
    """
    found = Ranking(run, reported, dataset=dataset, metrics=metrics, beside=beside, **options)
    systems = found.systems
    if not any(system.own for system in systems):
        raise ConfigError(f"{run.paper}/{run.experiment} holds no {metrics[0]} of {options['ours']} on {dataset}.")

    def draw(figure: Figure, palette: Palette) -> None:
        all_axes = np.atleast_1d(figure.subplots(1, len(metrics), sharey=True))
        for axes, metric in zip(all_axes, metrics, strict=True):
            scale = numbers.factor(metric)
            for y, system in enumerate(systems):
                if system.own:
                    axes.axhspan(y - 0.5, y + 0.5, color=palette.faint, alpha=0.35, linewidth=0, zorder=0)
                if metric not in system.values:
                    continue
                colour = palette.hues[0] if system.own else palette.hues[1] if system.whose else palette.soft
                summary = system.summaries.get(metric)
                if summary is not None and summary.low is not None and summary.high is not None:
                    axes.plot([summary.low * scale, summary.high * scale], [y, y], color=colour, linewidth=1.6)
                marker, inside = MARKERS[2 if system.derived else 0], colour if system.own else "none"
                axes.plot(
                    system.values[metric] * scale, y, marker, color=colour, markersize=5.4, markerfacecolor=inside
                )
            axes.set_xlabel(numbers.name(metric) + ("\n(lower is better)" if numbers.lower_is_better(metric) else ""))
            axes.grid(axis="x")
            axes.margins(x=0.1)
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        all_axes[0].set_ylim(len(systems) - 0.4, -0.6)
        all_axes[0].set_yticks(range(len(systems)), [system.name for system in systems])
        for tick, system in zip(all_axes[0].get_yticklabels(), systems, strict=True):
            tick.set_fontweight("bold" if system.own else "normal")

    how = f"Filled: ours, {interval_words('mean', found.seeds)}."
    how += " Hollow: as printed." if any(not system.own for system in systems) else ""
    how += " Diamond: derived from what is printed." if any(system.derived for system in systems) else ""
    return render(
        draw,
        size=(WIDTH, max(1.6, 0.85 + 0.25 * len(systems))),
        caption=captioned(caption, how),
        alt=f"Systems by {numbers.name(metrics[0])}. {found.places}".strip(),
    )
