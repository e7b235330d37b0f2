"""Figures of the notebooks and the book. Each function returns a `Plot` that shows itself in light and dark pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from sentbook.records import Run, Test
from sentbook.report import numbers
from sentbook.report.marks import Recorded, run_name
from sentbook.report.markup import Fragment
from sentbook.report.style import MARKERS, Palette, place
from sentbook.report.summary import (
    Centre,
    centre_and_interval,
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
)
from sentbook.report.svg import Plot, render
from sentbook.system.errors import ConfigError

WIDTH = 6.8
_ROW = 0.235
P = ParamSpec("P")


def _of_a_run(draw: Callable[Concatenate[Run, P], Plot]) -> Callable[Concatenate[Run | None, P], Plot | Fragment]:
    """A run that is not there has no figure: nothing is shown, since the table above it says how to make the run."""

    @wraps(draw)
    def drawn(run: Run | None, *args: P.args, **options: P.kwargs) -> Plot | Fragment:
        return Fragment("") if run is None else replace(draw(run, *args, **options), run=run_name(run))

    return drawn


# -- training curves -------------------------------------------------------------------------------------------------


@_of_a_run
def training_curves(
    run: Run,
    *,
    metric: str = "pearson",
    split: str | None = None,
    methods: Sequence[str] | None = None,
    caption: str = "",
    height: float = 3.0,
) -> Plot:
    """A metric over the training examples seen: a line a method (mean of its seeds) in its band (95 % t-interval).

    Raises:
        ConfigError: the run holds no such curve.
    """
    points = [p for p in run.curves if p.metric == metric and (split is None or p.split == split)]
    names = list(methods) if methods is not None else ordered(p.method for p in points)
    points = [p for p in points if p.method in names]
    if not points:
        held = ordered((p.split, p.metric) for p in run.curves)
        raise ConfigError(f"{run.paper}/{run.experiment} holds no curve of {metric!r} on {split!r}; it holds {held}.")
    splits = ordered(p.split for p in points)
    if len(splits) > 1:
        raise ConfigError(f"{metric!r} was followed on {splits}; choose one with split=.")
    lines = {name: _curve([p for p in points if p.method == name], metric) for name in names}
    lines = {name: line for name, line in lines.items() if len(line[0])}

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        for name, (steps, middle, low, high) in lines.items():
            colour = palette.of(name, names)
            axes.fill_between(steps, low, high, color=colour, alpha=0.18, linewidth=0)
            marker = MARKERS[place(name, names) % len(MARKERS)]
            axes.plot(
                steps,
                middle,
                color=colour,
                label=name,
                marker=marker,
                markersize=3.4,
                markevery=_every(len(steps)),
            )
        axes.set_xlabel("Training examples seen")
        axes.set_ylabel(f"{numbers.name(metric)}, {splits[0]}")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _thousands(value)))
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        axes.grid(axis="y")
        axes.margins(x=0.01)
        _legend(axes, len(lines))

    last = ", ".join(
        f"{name} ends at {numbers.plain(line[1][-1], numbers.digits(metric))}" for name, line in lines.items()
    )
    seeds = [len({p.seed for p in points if p.method == name}) for name in lines]
    return render(
        draw,
        size=(WIDTH, height),
        caption=_sentence(caption, f"Lines: {interval_words('mean', seeds)}, shaded."),
        alt=f"{numbers.name(metric)} on {splits[0]} over training examples seen; {last}.",
    )


def _curve(points: Sequence[object], metric: str) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Steps, and mean and interval over seeds, at the steps all seeds reached (all steps where none is common)."""
    frame = pd.DataFrame([p.model_dump() for p in points])  # type: ignore[attr-defined]
    if frame.empty:
        return (np.array([]),) * 4
    wide = frame.pivot_table(index="step", columns="seed", values="value", aggfunc="last").sort_index()
    common = wide.dropna()
    wide = common if len(common) else wide
    rows = [centre_and_interval(row.dropna().to_list()) for _, row in wide.iterrows()]
    scale = numbers.factor(metric)
    middle = np.array([row[0] for row in rows]) * scale
    low = np.array([row[0] if row[1] is None else row[1] for row in rows]) * scale
    high = np.array([row[0] if row[2] is None else row[2] for row in rows]) * scale
    return wide.index.to_numpy(), middle, low, high


# -- A against B -----------------------------------------------------------------------------------------------------


@_of_a_run
def forest(
    run: Run,
    *,
    a: str,
    b: str,
    metric: str = "pearson",
    rows: Sequence[str] | None = None,
    tests: Iterable[Test] | None = None,
    caption: str = "",
) -> Plot:
    """The difference A - B of each data set with its 95 % interval; filled where Holm's p is below .05.

    Averages are diamonds. The numbers stand at the right.

    Raises:
        ConfigError: the run holds no test of ``a`` against ``b``.
    """
    pool = list(run.tests if tests is None else tests)
    rows = ordered(test.dataset for test in pool if test.metric == metric) if rows is None else rows
    found = [(row, test_of(pool, a, b, row, metric)) for row in rows]
    items = [(row, *hit) for row, hit in found if hit is not None]
    if not items:
        raise ConfigError(f"{run.paper}/{run.experiment} holds no test of {a} against {b} by {metric}.")
    lines = headings([row for row, *_ in items])
    scale, places = numbers.factor(metric), numbers.digits(metric)
    by_row = {row: (test, estimate * scale, low * scale, high * scale) for row, test, estimate, low, high in items}

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        _row_axes(axes, lines, palette)
        axes.axvline(0, color=palette.soft, linewidth=0.9, zorder=1)
        for y, (row, _) in enumerate(lines):
            if row is None:
                continue
            test, estimate, low, high = by_row[row]
            sure = significant(test)
            better = (estimate < 0) if numbers.lower_is_better(metric) else (estimate > 0)
            colour = palette.of(a, (a, b)) if better else palette.of(b, (a, b))
            colour = colour if sure else palette.soft
            mean = is_average(row)
            axes.plot([low, high], [y, y], color=colour, linewidth=2.0 if mean else 1.3, zorder=2)
            axes.plot(
                [estimate],
                [y],
                marker="D" if mean else "o",
                markersize=6.0 if mean else 5.0,
                color=colour,
                zorder=3,
                markerfacecolor=colour if sure else palette.paper,
                markeredgewidth=1.2,
            )
            text = f"{numbers.plain(estimate, places, signed=True)} [{numbers.plain(low, places, signed=True)}, "
            text += f"{numbers.plain(high, places, signed=True)}]"
            axes.annotate(
                text,
                (1.01, y),
                xycoords=("axes fraction", "data"),
                va="center",
                ha="left",
                fontsize=8,
                fontweight="bold" if mean else "normal",
                annotation_clip=False,
            )
        unit = " \u00d7 100" if scale == 100 else ""
        axes.set_xlabel(f"{a} {numbers.MINUS} {b}, {numbers.name(metric, unit=False)}{unit}")
        axes.grid(axis="x")

    wins = sum(1 for _, (_, estimate, _, _) in by_row.items() if estimate > 0)
    sure = sum(1 for test, *_ in by_row.values() if significant(test))
    kinds = " and ".join(ordered(test.kind for test, *_ in by_row.values()))
    rule = "p < .05 after Holm" if any(t.p_holm is not None for t, *_ in by_row.values()) else "interval without zero"
    how = f"Filled: {rule}. Diamonds: averages. Bars: 95 % ({kinds})."
    return render(
        draw,
        size=(WIDTH, 0.75 + _ROW * len(lines)),
        caption=_sentence(caption, how),
        alt=f"Forest plot of {a} minus {b} on {len(items)} rows: {wins} differences above zero, {sure} significant.",
    )


@_of_a_run
def paired_dots(
    run: Run,
    reported: pd.DataFrame | None = None,
    *,
    a: str,
    b: str,
    metric: str = "pearson",
    rows: Sequence[str] | None = None,
    centre: Centre = "mean",
    protocol: object = None,
    caption: str = "",
) -> Plot:
    """Both methods on each data set: ours filled with the interval over seeds, the paper's values hollow.

    Raises:
        ConfigError: neither method was run.
    """
    ours, _ = over_seeds(run, metric, protocol=protocol, centre=centre)
    paper = printed(reported, metric)
    rows = ordered(dataset for method, dataset in [*paper, *ours] if method in (a, b)) if rows is None else rows
    rows = [row for row in rows if (a, row) in ours or (b, row) in ours]
    if not rows:
        raise ConfigError(f"{run.paper}/{run.experiment} holds no {metric} of {a} or {b}.")
    lines = headings(rows)
    scale = numbers.factor(metric)
    any_paper = any((method, row) in paper for method in (a, b) for row in rows)

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        _row_axes(axes, lines, palette)
        labelled: set[str] = set()
        for y, (row, _) in enumerate(lines):
            if row is None:
                continue
            centres = [ours[method, row].value * scale for method in (a, b) if (method, row) in ours]
            if len(centres) == 2:
                axes.plot(centres, [y, y], color=palette.faint, linewidth=3.2, zorder=1)
            for shift, method in ((-0.16, a), (0.16, b)):
                colour = palette.of(method, (a, b))
                marker = MARKERS[place(method, (a, b)) % len(MARKERS)]
                if (method, row) in paper:
                    label = f"{method}, paper"
                    axes.plot(
                        [paper[method, row] * scale],
                        [y + shift],
                        linestyle="none",
                        marker=marker,
                        markersize=5.2,
                        markerfacecolor="none",
                        markeredgecolor=colour,
                        markeredgewidth=1.1,
                        zorder=2,
                        label=None if label in labelled else label,
                    )
                    labelled.add(label)
                if (method, row) in ours:
                    cell = ours[method, row]
                    label = f"{method}, ours"
                    if cell.low is not None and cell.high is not None:
                        axes.plot(
                            [cell.low * scale, cell.high * scale],
                            [y + shift] * 2,
                            color=colour,
                            linewidth=1.3,
                            zorder=3,
                        )
                    axes.plot(
                        [cell.value * scale],
                        [y + shift],
                        linestyle="none",
                        marker=marker,
                        markersize=5.2,
                        color=colour,
                        zorder=4,
                        label=None if label in labelled else label,
                    )
                    labelled.add(label)
        axes.set_xlabel(numbers.name(metric))
        axes.grid(axis="x")
        _legend(axes, len(labelled))

    gaps = [ours[a, row].value - ours[b, row].value for row in rows if (a, row) in ours and (b, row) in ours]
    seeds = [cell.seeds for (method, row), cell in ours.items() if method in (a, b) and row in rows]
    how = f"Filled: ours, {interval_words(centre, seeds)}." + (" Hollow: the paper." if any_paper else "")
    return render(
        draw,
        size=(WIDTH, 1.0 + (_ROW + 0.025) * len(lines)),
        caption=_sentence(caption, how),
        alt=f"{a} and {b} on {len(rows)} rows by {numbers.name(metric)}; {a} is higher on {sum(g > 0 for g in gaps)}.",
    )


# -- ablations -------------------------------------------------------------------------------------------------------


@_of_a_run
def ablation_bars(
    run: Run,
    *,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    metric: str = "pearson",
    reference: str | None = None,
    centre: Centre = "mean",
    protocol: object = None,
    caption: str = "",
    height: float = 3.1,
) -> Plot:
    """Grouped bars with intervals over seeds: a group a data set, a bar a variant.

    Args:
        reference: a variant; the bars are then differences to it (seed by seed where the seeds agree), so that small
            effects show without a cut axis. Without it bars start at zero.

    Raises:
        ConfigError: the run holds nothing to draw, or no ``reference``.
    """
    cells, _ = over_seeds(run, metric, protocol=protocol, centre=centre)
    methods = ordered(m for m, _ in cells) if methods is None else list(methods)
    datasets = ordered(d for _, d in cells) if datasets is None else list(datasets)
    if reference is not None and not any((reference, d) in cells for d in datasets):
        raise ConfigError(f"{run.paper}/{run.experiment} holds no {metric} of the reference {reference!r}.")
    scale = numbers.factor(metric)
    bars: dict[tuple[str, str], tuple[float, float | None, float | None]] = {}
    for method in methods:
        for dataset in datasets:
            if (method, dataset) not in cells or (reference is not None and (reference, dataset) not in cells):
                continue
            values = np.array(cells[method, dataset].values)
            if reference is not None:
                base = np.array(cells[reference, dataset].values)
                values = values - (base if len(base) == len(values) else base.mean())
            bars[method, dataset] = tuple(  # type: ignore[assignment]
                None if v is None else v * scale for v in centre_and_interval(values.tolist(), centre)
            )
    drawn = [m for m in methods if m != reference and any((m, d) in bars for d in datasets)]
    if not drawn:
        raise ConfigError(f"{run.paper}/{run.experiment} holds no {metric} to draw.")

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        width = 0.8 / len(drawn)
        for index, method in enumerate(drawn):
            at = [i for i, dataset in enumerate(datasets) if (method, dataset) in bars]
            found = [bars[method, datasets[i]] for i in at]
            x = np.array(at) - 0.4 + width * (index + 0.5)
            colour = palette.of(method, drawn)
            axes.bar(x, [v for v, _, _ in found], width * 0.9, color=colour, alpha=0.85, label=method, linewidth=0)
            for position, (_, low, high) in zip(x, found, strict=True):
                if low is not None and high is not None:
                    axes.plot([position, position], [low, high], color=palette.ink, linewidth=1.1)
        axes.axhline(0, color=palette.soft, linewidth=0.9)
        axes.set_xticks(range(len(datasets)), [full_name(*group_and_label(d)) for d in datasets])
        axes.tick_params(axis="x", length=0)
        unit = numbers.name(metric)
        axes.set_ylabel(f"{unit}\nminus {reference}" if reference else unit)
        axes.grid(axis="y")
        _legend(axes, len(drawn))

    seeds = [cell.seeds for (m, d), cell in cells.items() if m in drawn and d in datasets]
    said = "; ".join(
        f"{m} {numbers.plain(_mean([bars[m, d][0] for d in datasets if (m, d) in bars]), 2, signed=bool(reference))}"
        for m in drawn
    )
    return render(
        draw,
        size=(WIDTH, height),
        caption=_sentence(caption, f"Bars: {interval_words(centre, seeds)}."),
        alt=f"Bars of {numbers.name(metric)}{f' minus {reference}' if reference else ''}; means: {said}.",
    )


# -- scores against gold ---------------------------------------------------------------------------------------------


def scatter(
    gold: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    caption: str = "",
    gold_label: str = "Gold similarity",
    score_label: str = "Cosine",
    run: Recorded | None = None,
) -> Plot:
    """Gold against predicted similarity, a panel a method; cells darken with the number of pairs. Holds no sentence.

    Args:
        gold: (N,).
        scores: method -> (N,).
        run: whose scores they are.
    """
    x = np.asarray(gold, dtype=float)
    panels = {name: np.asarray(values, dtype=float) for name, values in scores.items()}
    for name, values in panels.items():
        if values.shape != x.shape:
            raise ConfigError(f"The scores of {name} have shape {values.shape}, the gold {x.shape}; they must agree.")
    r = {name: float(np.corrcoef(x, values)[0, 1]) for name, values in panels.items()}

    def draw(figure: Figure, palette: Palette) -> None:
        all_axes = np.atleast_1d(figure.subplots(1, len(panels), sharex=True, sharey=True))
        for axes, (name, values) in zip(all_axes, panels.items(), strict=True):
            colour = palette.of(name, list(panels))
            if len(x) <= 400:
                axes.plot(
                    x, values, linestyle="none", marker="o", markersize=3, color=colour, alpha=0.45, markeredgewidth=0
                )
            else:
                axes.hexbin(
                    x, values, gridsize=(26, 15), mincnt=1, bins="log", cmap=palette.ramp(colour), linewidths=0.1
                )
            axes.set_title(f"{name}, r = {numbers.plain(r[name], 3)}")
            axes.set_xlabel(gold_label)
            axes.grid()
        all_axes[0].set_ylabel(score_label)

    width = WIDTH if len(panels) > 1 else WIDTH * 0.6
    said = ", ".join(f"{name} r = {numbers.plain(value, 3)}" for name, value in r.items())
    note = f"{numbers.count(len(x))} pairs." + (" The stronger the colour, the more pairs." if len(x) > 400 else "")
    alt = f"Gold similarity against predicted; {said}."
    plot = render(draw, size=(width, 3.1), caption=_sentence(caption, note), alt=alt)
    return replace(plot, run=run_name(run))


def error_heatmap(
    overlap: ArrayLike,
    gold: ArrayLike,
    errors: Mapping[str, ArrayLike],
    *,
    overlap_edges: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    gold_edges: Sequence[float] = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0),
    least: int = 5,
    caption: str = "",
    run: Recorded | None = None,
) -> Plot:
    """Mean absolute error by word overlap and gold similarity, a panel a method, the number printed in each cell.

    Args:
        overlap: (N,) in [0, 1].
        gold: (N,) on the data sets' scale.
        errors: method -> (N,) absolute errors on that scale.
        least: cells with fewer pairs stay empty.
        run: whose errors they are.
    """
    share, target = np.asarray(overlap, dtype=float), np.asarray(gold, dtype=float)
    columns = np.clip(np.digitize(share, overlap_edges[1:-1]), 0, len(overlap_edges) - 2)
    rows = np.clip(np.digitize(target, gold_edges[1:-1]), 0, len(gold_edges) - 2)
    shape = (len(gold_edges) - 1, len(overlap_edges) - 1)
    counts = np.zeros(shape)
    np.add.at(counts, (rows, columns), 1)
    tables = {}
    for name, values in errors.items():
        total = np.zeros(shape)
        np.add.at(total, (rows, columns), np.asarray(values, dtype=float))
        tables[name] = np.where(counts >= least, total / np.maximum(counts, 1), np.nan)
    finite = np.concatenate([table[np.isfinite(table)] for table in tables.values()])
    if not len(finite):
        raise ConfigError(f"No cell of the heat map holds {least} pairs; give more pairs or a smaller `least`.")
    top = max(float(finite.max()), 1e-9)

    def draw(figure: Figure, palette: Palette) -> None:
        all_axes = np.atleast_1d(figure.subplots(1, len(tables), sharey=True))
        for axes, (name, table) in zip(all_axes, tables.items(), strict=True):
            ramp = palette.ramp(palette.of("PP", ("PP",)))
            axes.pcolormesh(
                np.arange(shape[1] + 1),
                np.arange(shape[0] + 1),
                np.ma.masked_invalid(table),
                cmap=ramp,
                vmin=0,
                vmax=top,
                edgecolors="none",
                linewidth=0,
                antialiased=False,
            )
            for row in range(shape[0]):
                for column in range(shape[1]):
                    value = table[row, column]
                    text = numbers.plain(float(value), 2)
                    strong = np.isfinite(value) and value > 0.55 * top
                    colour = palette.paper if strong else palette.ink if np.isfinite(value) else palette.soft
                    axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=colour, fontsize=8.5)
            axes.set_title(name)
            axes.set_xticks(range(shape[1] + 1), [_short(edge) for edge in overlap_edges])
            axes.set_yticks(range(shape[0] + 1), [_short(edge) for edge in gold_edges])
            axes.set_xlabel("Word overlap (Jaccard)")
            axes.tick_params(length=0)
            for spine in axes.spines.values():
                spine.set_visible(False)
        all_axes[0].set_ylabel("Gold similarity")

    said = "; ".join(
        f"{name} from {numbers.plain(np.nanmin(t), 2)} to {numbers.plain(np.nanmax(t), 2)}"
        for name, t in tables.items()
    )
    width = WIDTH if len(tables) > 1 else WIDTH * 0.6
    note = f"Mean absolute error; {numbers.count(len(share))} pairs; cells with fewer than {least} are left empty."
    plot = render(
        draw,
        size=(width, 3.3),
        caption=_sentence(caption, note),
        alt=f"Heat map of the mean absolute error by word overlap and gold similarity: {said}.",
    )
    return replace(plot, run=run_name(run))


# -- shared pieces ---------------------------------------------------------------------------------------------------


def _row_axes(axes: Axes, lines: Sequence[tuple[str | None, str]], palette: Palette) -> None:
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_yticks(range(len(lines)), [label for _, label in lines])
    for tick, (row, _) in zip(axes.get_yticklabels(), lines, strict=True):
        if row is None or is_average(row):
            tick.set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for y, (row, _) in enumerate(lines):
        if row is not None and is_average(row):
            axes.axhspan(y - 0.5, y + 0.5, color=palette.faint, alpha=0.3, linewidth=0, zorder=0)


def _legend(axes: Axes, entries: int) -> None:
    """Above the axes, so that it never covers a line."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=min(entries, 5),
        borderaxespad=0.2,
        handlelength=1.6,
        columnspacing=1.5,
        handletextpad=0.5,
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _every(length: int) -> int:
    return max(1, length // 12)


def _thousands(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if abs(value) >= 1e3 else f"{value:g}"


def _short(value: float) -> str:
    return f"{value:g}"


def _sentence(caption: str, note: str) -> str:
    if not caption:
        return note
    return f"{caption if caption[-1] in '.?!' else caption + '.'} {note}"


__all__ = [
    "Plot",
    "ablation_bars",
    "error_heatmap",
    "forest",
    "paired_dots",
    "scatter",
    "training_curves",
]
