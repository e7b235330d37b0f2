"""Figures of Yao et al. 2018: what the exact layer and a training cost, and the model among other systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from sentbook.papers.wsv.tables import (
    BASE,
    EXACT,
    MEBIBYTES,
    MILLISECONDS,
    TIMES,
    Lengths,
    dimension_of,
    lengths_of,
    places_words,
    ratios_of,
    seconds_of,
    summaries_of,
    systems_of,
)
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.figures import WIDTH, captioned, of_a_run
from sentbook.report.style import MARKERS, Palette
from sentbook.report.summary import Summary, interval_words, ordered, printed
from sentbook.report.svg import Plot, render
from sentbook.system.errors import ConfigError

# Where more lengths were measured than fit, the speed-up is written at so many.
_WRITTEN = 4


@of_a_run
def cost_against_length(
    run: Run, *, split: str | None = None, caption: str = "", base: str = BASE, exact: str = EXACT
) -> Plot:
    """Milliseconds of a step (logarithmic) and peak memory against sentence length, the convolution of the map beside
    the exact layer; the speed-up is written at some lengths.

    Args:
        run: the recorded benchmark, or None.
        split: which sizes, where the run holds several.
        base, exact: names of the two methods in the run.

    Raises:
        ConfigError: the run holds no such measurements; several splits and none chosen.
    """
    methods = (base, exact)
    split, found = lengths_of(run, split, methods)
    ratios = ratios_of(found[MILLISECONDS, base], found[MILLISECONDS, exact])
    panels = [metric for metric in (MILLISECONDS, MEBIBYTES) if any((metric, method) in found for method in methods)]
    titles = {MILLISECONDS: "Time, ms", MEBIBYTES: "Peak memory, MiB"}

    def draw(figure: Figure, palette: Palette) -> None:
        all_axes = np.atleast_1d(figure.subplots(1, len(panels)))
        for axes, metric in zip(all_axes, panels, strict=True):
            for index, method in enumerate(methods):
                if (metric, method) in found:
                    _line(axes, found[metric, method], palette.hues[1 - index], MARKERS[1 - index], method)
            axes.set_title(titles[metric])
            axes.set_xlabel("Words in the sentence, n")
            axes.grid(axis="y")
            axes.margins(x=0.1, y=0.12)
            if metric == MILLISECONDS:
                _logarithmic(axes)
                _speed_up(axes, found[metric, base], found[metric, exact], ratios, palette)
            else:
                axes.set_ylim(bottom=0)
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2, borderaxespad=0.1, handlelength=1.8)

    rounds = max(lengths.rounds for lengths in found.values())
    said = ", ".join(f"{ratio:.1f} times at n = {n}" for n, ratio in _some(ratios))
    how = f"Forward and backward, {split}, {run.provenance.device}. Lines: median of {rounds} rounds; bands: all."
    return render(
        draw,
        size=(WIDTH, 3.1),
        caption=captioned(caption, how),
        alt=f"Time and memory against sentence length; the {exact} is faster than {base}: {said}.",
    )


def _some(ratios: Mapping[int, float]) -> list[tuple[int, float]]:
    """A few lengths spread evenly, the first and the last among them."""
    items = list(ratios.items())
    if len(items) <= _WRITTEN:
        return items
    return [items[round(place)] for place in np.linspace(0, len(items) - 1, _WRITTEN)]


def _line(axes: Axes, lengths: Lengths, colour: str, marker: str, label: str) -> None:
    axes.fill_between(lengths.n, lengths.low, lengths.high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(lengths.n, lengths.median, color=colour, marker=marker, markersize=4, label=label, zorder=3)


def _speed_up(axes: Axes, base: Lengths, exact: Lengths, ratios: Mapping[int, float], palette: Palette) -> None:
    """A thin line from one median to the other; the ratio below, where lines that rise leave room."""
    last = max(ratios, default=0)
    for n, ratio in _some(ratios):
        above, below = base.at(n), exact.at(n)
        if above is None or below is None:
            continue
        axes.plot([n, n], [below[0], above[0]], color=palette.soft, linewidth=0.7, linestyle=(0, (2, 2)), zorder=1)
        axes.annotate(
            f"{numbers.plain(ratio, 1)}{TIMES}",
            (n, below[0]),
            xytext=(4, -7) if n == last else (3, -4),
            textcoords="offset points",
            ha="right" if n == last else "left",
            va="top",
            fontsize=8.5,
        )


def _logarithmic(axes: Axes) -> None:
    """Plain numbers at 1, 2 and 5 of each power of ten."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", "\u202f")))
    axes.yaxis.set_minor_locator(NullLocator())


@of_a_run
def cost_against_dimension(run: Run, reported: pd.DataFrame | None = None, *, caption: str = "") -> Plot:
    """Seconds of a training (logarithmic) against the dimension of the word vectors: ours, and the paper's hollow.

    Args:
        run: its ``cost`` names the dimension in the method, as in ``WSV-SCNN-SV d=300 L=1``; or None.
        reported: the paper's table with ``train_seconds_10ep``.

    Raises:
        ConfigError: no method of the run's cost names a dimension.
    """
    in_paper = {m: v for (m, _), v in printed(reported, "train_seconds_10ep").items()}
    seconds = seconds_of(run)
    # Of several models of a dimension the one that the paper has, else the first.
    first = [m for m in seconds if m in in_paper] + [m for m in seconds if m not in in_paper]
    ours: dict[int, Summary] = {}
    for method in first:
        if (d := dimension_of(method)) is not None:
            ours.setdefault(d, seconds[method])
    paper = {d: v for m, v in in_paper.items() if (d := dimension_of(m)) is not None}
    if not ours:
        held = ordered(row.method for row in run.cost)
        raise ConfigError(f"{run.paper}/{run.experiment} holds no cost of a method with d=...; it holds {held}.")
    ours = dict(sorted(ours.items()))
    paper = dict(sorted(paper.items()))
    shared = [d for d in ours if d in paper]
    faster = all(ours[d].value <= paper[d] for d in shared)

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        colour = palette.hues[0]
        if paper:
            axes.plot(
                list(paper),
                list(paper.values()),
                color=palette.soft,
                linewidth=1.1,
                linestyle=(0, (4, 3)),
                marker=MARKERS[1],
                markersize=5.2,
                markerfacecolor=palette.paper,
                markeredgecolor=palette.soft,
                label="the paper, ten epochs",
            )
        for d, cell in ours.items():
            if cell.low is not None and cell.high is not None and cell.low > 0:
                axes.plot([d, d], [cell.low, cell.high], color=colour, linewidth=1.3)
        axes.plot(
            list(ours), [s.value for s in ours.values()], color=colour, marker=MARKERS[0], markersize=5.2, label="ours"
        )
        for values, own in ((paper, False), ({d: s.value for d, s in ours.items()}, True)):
            for d, value in values.items():
                axes.annotate(
                    f"{numbers.count(value)} s",
                    (d, value),
                    xytext=(0, -9 if own == faster else 9),
                    textcoords="offset points",
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=colour if own else palette.ink,
                )
        _logarithmic(axes)
        axes.margins(x=0.08, y=0.16)
        axes.set_xticks(sorted({*ours, *paper}))
        axes.set_xlabel("Dimension of the word vectors, d")
        axes.set_ylabel("Seconds of a training")
        axes.grid(axis="y")
        figure.legend(loc="outside upper left", ncols=2, borderaxespad=0.1, handlelength=2.2)

    said = ", ".join(f"{numbers.count(cell.value)} at {d}" for d, cell in ours.items())
    how = f"Ours: {interval_words('mean', [cell.seeds for cell in ours.values()])}, on {run.provenance.device}."
    how += " The paper does not name its computer." if paper else ""
    return render(
        draw,
        size=(WIDTH, 3.1),
        caption=captioned(caption, how),
        alt=f"Seconds of a training against the dimension of the word vectors; ours: {said}.",
    )


@of_a_run
def ranking_bars(
    run: Run,
    reported: pd.DataFrame | None = None,
    *,
    ours: Sequence[str],
    dataset: str,
    metrics: Sequence[str],
    protocol: object = None,
    caption: str = "",
) -> Plot:
    """The ranking as dots, a panel a metric: ours filled with the interval over seeds, printed systems hollow.

    Args: as `ranking`.

    Raises:
        ConfigError: the run holds none of ``ours``; otherwise as `ranking`.
    """
    cells, _ = summaries_of(run, metrics, dataset, protocol)
    systems = systems_of(reported, cells, ours, dataset, metrics)
    if not any(system.own for system in systems):
        raise ConfigError(f"{run.paper}/{run.experiment} holds no {metrics[0]} of {' or '.join(ours)} on {dataset}.")
    derived = any(system.derived for system in systems)

    def draw(figure: Figure, palette: Palette) -> None:
        all_axes = np.atleast_1d(figure.subplots(1, len(metrics), sharey=True))
        for axes, metric in zip(all_axes, metrics, strict=True):
            scale = numbers.factor(metric)
            for y, system in enumerate(systems):
                if system.own:
                    axes.axhspan(y - 0.5, y + 0.5, color=palette.faint, alpha=0.35, linewidth=0, zorder=0)
                if metric not in system.values:
                    continue
                colour = palette.hues[0] if system.own else palette.hues[1] if system.method in ours else palette.soft
                summary = system.summaries.get(metric)
                if summary is not None and summary.low is not None and summary.high is not None:
                    axes.plot([summary.low * scale, summary.high * scale], [y, y], color=colour, linewidth=1.6)
                axes.plot(
                    [system.values[metric] * scale],
                    [y],
                    linestyle="none",
                    marker=MARKERS[2] if system.derived else MARKERS[0],
                    markersize=5.4,
                    color=colour,
                    markerfacecolor=colour if system.own else "none",
                    markeredgewidth=1.2,
                )
            axes.set_xlabel(numbers.name(metric) + ("\n(lower is better)" if numbers.lower_is_better(metric) else ""))
            axes.grid(axis="x")
            axes.margins(x=0.1)
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        first = all_axes[0]
        first.set_ylim(len(systems) - 0.4, -0.6)
        first.set_yticks(range(len(systems)), [system.name for system in systems])
        for tick, system in zip(first.get_yticklabels(), systems, strict=True):
            tick.set_fontweight("bold" if system.own else "normal")

    seeds = [summary.seeds for system in systems for summary in system.summaries.values()]
    how = f"Filled: ours, {interval_words('mean', seeds)}."
    how += " Hollow: as printed." if any(not system.own for system in systems) else ""
    how += " Diamond: derived from what is printed." if derived else ""
    return render(
        draw,
        size=(WIDTH, 0.85 + 0.25 * len(systems)),
        caption=captioned(caption, how),
        alt=f"Systems by {numbers.name(metrics[0])}. {places_words(systems, metrics, ours)}".strip(),
    )
