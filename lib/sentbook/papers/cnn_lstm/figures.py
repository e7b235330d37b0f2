"""What pre-training gains when a classifier is fine-tuned: by task, and by the share of labels. Figure 3 of Gan et al.

All functions read the rows and tests of `sentbook.papers.cnn_lstm.fine_tuning`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from sentbook.papers.cnn_lstm.claims import PRETRAINED, RANDOM, share_of
from sentbook.records import Run
from sentbook.report import numbers, tables
from sentbook.report.figures import WIDTH, captioned, legend_above, of_a_run
from sentbook.report.markup import Fragment
from sentbook.report.style import MARKERS, Palette
from sentbook.report.summary import (
    Summary,
    centre_and_interval,
    full_name,
    group_and_label,
    interval_words,
    is_average,
    ordered,
    over_seeds,
    printed,
)
from sentbook.report.svg import Plot, render
from sentbook.report.table import Table
from sentbook.report.view import of_view
from sentbook.system.errors import ConfigError

STARTS = (RANDOM, PRETRAINED)
_WORDS = {RANDOM: "random parameters", PRETRAINED: "pre-trained composite model"}
_HUES = {RANDOM: 1, PRETRAINED: 0}

Cells = Mapping[tuple[str, str], Summary]


def _cells(run: Run) -> Cells:
    cells, _ = over_seeds(run, "accuracy")
    return {(method, dataset): cell for (method, dataset), cell in cells.items() if method in STARTS}


def _differences(run: Run, dataset: str) -> list[float]:
    """Pre-trained minus random, run by run."""
    values = {
        (row.method, row.seed): row.value for row in run.metrics if row.dataset == dataset and row.metric == "accuracy"
    }
    runs = ordered(seed for method, seed in values if method == RANDOM)
    return [values[PRETRAINED, seed] - values[RANDOM, seed] for seed in runs if (PRETRAINED, seed) in values]


def _gain(run: Run, dataset: str) -> str:
    """The mean difference in points; a dash where no run has both starts."""
    found = _differences(run, dataset)
    return numbers.shown(centre_and_interval(found)[0], "accuracy", signed=True) if found else numbers.DASH


def _bars(axes: Axes, palette: Palette, start: str, places: Sequence[float], found: Sequence[Summary]) -> None:
    """Points with their intervals."""
    colour = palette.hues[_HUES[start]]
    for place, cell in zip(places, found, strict=True):
        if cell.low is not None and cell.high is not None:
            axes.errorbar(
                [place],
                [100 * cell.value],
                yerr=[[100 * (cell.value - cell.low)], [100 * (cell.high - cell.value)]],
                color=colour,
                linewidth=1.3,
                capsize=3,
                zorder=3,
            )
    axes.plot(
        places,
        [100 * cell.value for cell in found],
        linestyle="none",
        marker=MARKERS[_HUES[start]],
        markersize=5.2,
        color=colour,
        label=_WORDS[start],
        zorder=4,
    )


@of_a_run
def by_task(run: Run, reported: pd.DataFrame | None = None, *, caption: str = "", height: float = 3.1) -> Plot:
    """Accuracy of both starts on each task with all labels, and on the tasks' average; the gain stands above.

    Points: means over runs, error bars: 95 % t-intervals.

    Args:
        reported: the paper's numbers of the figure; its mean gain is said in the caption.

    Raises:
        ConfigError: the run holds no accuracy of these starts.
    """
    cells = _cells(run)
    datasets = [name for name in ordered(dataset for _, dataset in cells) if share_of(name)[1] == 100]
    datasets.sort(key=is_average)
    if not datasets:
        raise ConfigError(f"{run.paper}/{run.experiment} holds no accuracy of {' or '.join(STARTS)}.")
    gains = {name: _gain(run, name) for name in datasets}

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        for index, start in enumerate(STARTS):
            at = [place for place, name in enumerate(datasets) if (start, name) in cells]
            found = [cells[start, datasets[place]] for place in at]
            _bars(axes, palette, start, [place + 0.28 * (index - 0.5) for place in at], found)
        axes.margins(x=0.06, y=0.16)
        top = axes.get_ylim()[1]
        for place, name in enumerate(datasets):
            if is_average(name):
                axes.axvspan(place - 0.5, place + 0.5, color=palette.faint, alpha=0.3, linewidth=0, zorder=0)
            weight = "bold" if is_average(name) else "normal"
            axes.text(place, top, gains[name], ha="center", va="top", fontsize=8.5, fontweight=weight)
        axes.set_xlim(-0.5, len(datasets) - 0.5)
        axes.set_xticks(range(len(datasets)), [_label(name, "\n") for name in datasets])
        axes.tick_params(axis="x", length=0)
        axes.set_ylabel(numbers.name("accuracy"))
        axes.grid(axis="y")
        legend_above(axes)

    paper = _printed_gain(reported)
    how = f"Points: {_over_runs(cells, datasets)}. Above: pre-trained minus random, in points."
    if paper is not None:
        how += f" The paper\u2019s mean gain over its five tasks: {paper}."
    said = "; ".join(
        f"{_label(name)} {_value(cells, RANDOM, name)} and {_value(cells, PRETRAINED, name)}, gain {gains[name]}"
        for name in datasets
    )
    return render(
        draw,
        size=(WIDTH, height),
        caption=captioned(caption, how),
        alt=f"Accuracy from random and from pre-trained parameters: {said}.",
    )


@of_a_run
def by_share(run: Run, reported: pd.DataFrame | None = None, *, caption: str = "", height: float = 3.0) -> Plot:
    """Accuracy of both starts over the share of labels, a panel a task; the paper's printed values hollow.

    Points: means over runs, each with other sentences; error bars: 95 % t-intervals.

    Raises:
        ConfigError: the run holds no task with two shares.
    """
    cells = _cells(run)
    paper = printed(reported, "accuracy")
    shares: dict[str, dict[float, str]] = {}
    for _, dataset in cells:
        if not is_average(dataset):
            task, percent = share_of(dataset)
            shares.setdefault(task, {})[percent] = dataset
    shares = {task: dict(sorted(found.items())) for task, found in shares.items() if len(found) > 1}
    if not shares:
        raise ConfigError(f"{run.paper}/{run.experiment} holds no task with two shares of its labels.")
    hollow = {
        (start, dataset): paper[start, dataset]
        for found in shares.values()
        for dataset in found.values()
        for start in STARTS
        if (start, dataset) in paper
    }

    def draw(figure: Figure, palette: Palette) -> None:
        panels = figure.subplots(1, len(shares), squeeze=False)[0]
        for axes, (task, found) in zip(panels, shares.items(), strict=True):
            step = 0.006 * (max(found) - min(found))  # so that bars stand side by side
            for index, start in enumerate(STARTS):
                held = [(percent, cells[start, name]) for percent, name in found.items() if (start, name) in cells]
                at = [percent + step * (2 * index - 1) for percent, _ in held]
                colour = palette.hues[_HUES[start]]
                axes.plot(at, [100 * cell.value for _, cell in held], color=colour, linewidth=1.2, zorder=2)
                _bars(axes, palette, start, at, [cell for _, cell in held])
                printed_here = [(p, hollow[start, name]) for p, name in found.items() if (start, name) in hollow]
                if printed_here:
                    axes.plot(
                        [percent + 3 * step * (2 * index - 1) for percent, _ in printed_here],
                        [100 * value for _, value in printed_here],
                        linestyle="none",
                        marker=MARKERS[_HUES[start]],
                        markersize=6.2,
                        markerfacecolor="none",
                        markeredgecolor=colour,
                        markeredgewidth=1.1,
                        label=f"{_WORDS[start]}, paper",
                        zorder=5,
                    )
            axes.set_title(full_name(*group_and_label(task)))
            axes.set_xticks(list(found))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
            axes.set_xlabel("Share of the labels")
            axes.grid(axis="y")
            axes.margins(x=0.04, y=0.08)
        panels[0].set_ylabel(numbers.name("accuracy"))
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2, borderaxespad=0.2)

    names = [name for found in shares.values() for name in found.values()]
    how = f"Points: {_over_runs(cells, names)}, each run with other sentences."
    how += " Hollow: the paper." if hollow else ""
    said = "; ".join(
        f"{_label(task)}: "
        + ", ".join(
            f"{percent:g} % {_value(cells, RANDOM, name)} and {_value(cells, PRETRAINED, name)}"
            for percent, name in found.items()
        )
        for task, found in shares.items()
    )
    return render(
        draw,
        size=(WIDTH, height),
        caption=captioned(caption, how),
        alt=f"Accuracy from random and from pre-trained parameters over the share of labels; {said}.",
    )


@of_view
def table(
    run: Run | None,
    reported: pd.DataFrame | None = None,
    *,
    caption: str = "Accuracy by start",
    just_made: bool = False,
    beside: Run | None = None,
    changes: Sequence[str] = (),
) -> Table | Fragment:
    """The numbers of both figures: accuracies by start, the paper's where it prints them, and the gain with its test.

    Tasks with all labels stand first, then their average, then shares, rising.
    """
    paper = ordered(dataset for _, dataset in printed(reported, "accuracy"))
    ours = ordered(dataset for _, dataset in _cells(run)) if run is not None else []
    # Of other tasks than the paper's its rows would stand empty beside ours.
    rows = ordered([*ours, *(name for name in paper if not ours or name in ours)])
    rows.sort(key=lambda name: (share_of(name)[1] < 100, is_average(name), share_of(name)[1]))
    return tables.comparison(
        run,
        reported,
        rows=rows,
        methods=STARTS,
        metric="accuracy",
        caption=caption,
        pair=(PRETRAINED, RANDOM),
        just_made=just_made,
        command="make run NOTEBOOK=cnn_lstm/figure3 PROFILE=small",
        beside=beside,
        changes=changes,
    )


def _label(dataset: str, between: str = " ") -> str:
    if is_average(dataset):
        return "Mean"
    group, label = group_and_label(dataset)
    return f"{group}{between}{label}" if group else label


def _value(cells: Cells, start: str, dataset: str) -> str:
    return numbers.shown(cells[start, dataset].value if (start, dataset) in cells else None, "accuracy")


def _over_runs(cells: Cells, datasets: Sequence[str]) -> str:
    """What points and bars are, as a caption says it."""
    words = interval_words("mean", [cell.seeds for (_, name), cell in cells.items() if name in datasets])
    return words.replace("one seed: no interval over seeds", "one run, no interval").replace("seeds", "runs")


def _printed_gain(reported: pd.DataFrame | None) -> str | None:
    """The paper's mean gain in points."""
    found = printed(reported, "accuracy_gain")
    return numbers.plain(100 * next(iter(found.values())), 2, signed=True) if found else None
