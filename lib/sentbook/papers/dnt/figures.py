"""How scores of a transfer grow with the share of its training pairs."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from sentbook.data.suites import STSB_DEV
from sentbook.evaluation.statistics import Estimate, seed_interval
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.figures import WIDTH, of_a_run
from sentbook.report.style import MARKERS, Palette
from sentbook.report.summary import full_name, group_and_label, is_average, ordered
from sentbook.report.svg import Plot, render

_SHARE = re.compile(r"(?P<row>.+) (?P<percent>\d+) %$")


class _Line(NamedTuple):
    shares: list[int]
    values: list[Estimate]


def _lines(run: Run) -> dict[str, dict[str, _Line]]:
    """Data set -> row -> its values by share; only metrics with a share in their method count."""
    seen: dict[tuple[str, str, int], list[float]] = {}
    for metric in run.metrics:
        match = _SHARE.match(metric.method)
        if match and metric.dataset != STSB_DEV and not is_average(metric.dataset):
            seen.setdefault((metric.dataset, match["row"], int(match["percent"])), []).append(metric.value)
    found: dict[str, dict[str, _Line]] = {}
    for (dataset, row, share), values in sorted(seen.items(), key=lambda item: item[0][2]):
        line = found.setdefault(dataset, {}).setdefault(row, _Line([], []))
        line.shares.append(share)
        line.values.append(seed_interval(values))
    return found


@of_a_run
def share_curves(run: Run, *, caption: str = "") -> Plot:
    """A panel a data set: each row's value over the share of training pairs; dashed: unsupervised evaluation.

    Bands are 95 % intervals over seeds.
    """
    found = _lines(run)
    datasets = [name for name in ordered(m.dataset for m in run.metrics) if name in found]
    rows = ordered(row for name in datasets for row in found[name])
    untrained = {m.dataset: m.value for m in run.metrics if "[UE]" in m.method}
    columns = 2 if len(datasets) == 4 else min(len(datasets), 3)
    height = 2.5 * -(-len(datasets) // columns)

    def draw(figure: Figure, palette: Palette) -> None:
        grid = np.atleast_1d(figure.subplots(-(-len(datasets) // columns), columns)).ravel()
        for axes in grid[len(datasets) :]:
            axes.set_visible(False)
        for axes, dataset in zip(grid, datasets, strict=False):
            for row, line in found[dataset].items():
                colour, place = palette.of(row, rows), rows.index(row)
                middle, low, high = (
                    np.array([100 * getattr(value, part) for value in line.values])
                    for part in ("estimate", "low", "high")
                )
                axes.fill_between(line.shares, low, high, color=colour, alpha=0.18, linewidth=0)
                axes.plot(line.shares, middle, color=colour, marker=MARKERS[place], markersize=3.4, label=row)
            ends = [100 * value.estimate for line in found[dataset].values() for value in line.values]
            # The band of an unsteady training may be wider than the panel.
            axes.set_ylim(min(ends) - 12, max([*ends, 100 * untrained.get(dataset, 0)]) + 6)
            if dataset in untrained:
                axes.axhline(100 * untrained[dataset], color=palette.soft, linestyle="--", linewidth=1, label="UE")
            axes.set_title(full_name(*group_and_label(dataset)))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
            axes.grid(axis="y")
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=4, borderaxespad=0.2)

    said = "; ".join(
        f"{full_name(*group_and_label(dataset))}: "
        + ", ".join(f"{row} from {_end(line, 0)} to {_end(line, -1)}" for row, line in found[dataset].items())
        for dataset in datasets
    )
    words = f"{caption.rstrip('.')}. " if caption else ""
    return render(
        draw,
        size=(WIDTH, height + 0.4),
        caption=f"{words}Lines: means over seeds with 95 % intervals, shaded; dashed: unsupervised evaluation.",
        alt=f"Correlation over the share of training pairs. {said}.",
    )


def _end(line: _Line, at: int) -> str:
    return numbers.plain(100 * line.values[at].estimate)
