"""Figures of the notebooks and the book. Each function returns a `Plot` that shows itself in light and dark pages."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from sentbook.io import ConfigError
from sentbook.records import CurvePoint, Run, Test
from sentbook.report_old import numbers
from sentbook.report_old.markup import Fragment, Recorded, run_name
from sentbook.report_old.style import MARKERS, Palette, place
from sentbook.report_old.summary import (
    corrected,
    full_name,
    group_and_label,
    headings,
    interval_words,
    is_average,
    mean_and_interval,
    ordered,
    over_seeds,
    printed,
    significant,
    test_of,
)
from sentbook.report_old.svg import Plot, render
from sentbook.report_old.table import is_toy
from sentbook.report_old.view import View, of_view

WIDTH = 6.8
_ROW = 0.235
_BANDS = 5  # of more lines than this the bands would hide each other
P = ParamSpec("P")


def of_a_run(draw: Callable[Concatenate[Run, P], Plot]) -> Callable[Concatenate[View | Run | None, P], Any]:
    """Let a figure take a `View`, which has one figure a run, and leave out the figure of a run that is not there.

    The table above the figure says how to make that run. A figure of toy data says so in its caption.
    """

    @wraps(draw)
    def drawn(run: Run | None, *args: P.args, **options: P.kwargs) -> Plot | Fragment:
        return Fragment("") if run is None else of_its_run(draw(run, *args, **options), run)

    return of_view(drawn)


def of_its_run(plot: Plot, run: Recorded | None) -> Plot:
    """Let a figure lead to its run, and say in its caption where the run is on toy data."""
    return replace(plot, run=run_name(run), caption=captioned(plot.caption, "Toy data." if is_toy(run) else ""))


# -- training curves -------------------------------------------------------------------------------------------------


@of_a_run
def training_curves(
    run: Run,
    *,
    metric: str | None = None,
    split: str | None = None,
    methods: Sequence[str] | None = None,
    curves: Sequence[CurvePoint] | None = None,
    caption: str = "",
) -> Plot:
    """A metric over the training examples seen: a line a method (mean of its seeds) in its band (95 % t-interval).

    More lines than the palette has colours are dashed from there on, and more than five are drawn without bands.

    Args:
        metric: None: the correlation that was followed, Spearman's where there is no Pearson's.
        curves: some of the run's, under other names; None: all of them.

    Raises:
        ConfigError: the run holds no such curve.
    """
    points = [p for p in (run.curves if curves is None else curves) if split is None or p.split == split]
    metric = metric or next(
        (name for name in ("pearson", "spearman") if any(p.metric == name for p in points)), "pearson"
    )
    points = [p for p in points if p.metric == metric]
    names = list(methods) if methods is not None else ordered(p.method for p in points)
    points = [p for p in points if p.method in names]
    if not points:
        held = ordered((p.split, p.metric) for p in run.curves)
        raise ConfigError(f"{run.paper}/{run.experiment} holds no curve of {metric!r} on {split!r}; it holds {held}.")
    splits = ordered(p.split for p in points)
    if len(splits) > 1:
        raise ConfigError(f"{metric!r} was followed on {splits}; choose one with split=.")
    names = [name for name in names if any(p.method == name for p in points)]
    frame = pd.concat(_common_steps([p for p in points if p.method == name], metric) for name in names)
    seeds = [len({p.seed for p in points if p.method == name}) for name in names]
    banded = max(seeds) > 1 and len(names) <= _BANDS
    places = [place(name, names) for name in names]
    dashes = {name: (3, 1.5) if places[at] in places[:at] else "" for at, name in enumerate(names)}

    def draw(figure: Figure, palette: Palette) -> None:
        import seaborn as sns  # a second to load: notebooks that draw nothing with it need not wait

        axes = figure.subplots()
        sns.lineplot(
            frame, x="step", y="value", hue="method", style="method", estimator=_centre, ax=axes,
            errorbar=_interval if banded else None, err_kws={"linewidth": 0}, dashes=dashes,
            palette={name: palette.of(name, names) for name in names},
            markers={name: MARKERS[place(name, names) % len(MARKERS)] for name in names}, markersize=4,
            markeredgewidth=0, markevery=max(1, frame.step.nunique() // 12),
        )  # fmt: skip
        axes.set_xlabel("Training examples seen")
        axes.set_ylabel(textwrap.fill(f"{numbers.name(metric)}, {splits[0]}", 30))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: thousands(value)))
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        axes.grid(axis="y")
        axes.margins(x=0.01)
        # Of two or three seeds a t-interval may be wider than the scale: the panel holds what the seeds have, and room.
        low, high = frame.value.min(), frame.value.max()
        bottom, top = axes.get_ylim()
        if high > low:
            axes.set_ylim(max(bottom, low - 0.3 * (high - low)), min(top, high + 0.3 * (high - low)))
        legend_above(axes)

    ends = {name: _centre(part[part.step == part.step.max()].value) for name, part in frame.groupby("method")}
    last = ", ".join(f"{name} ends at {numbers.plain(ends[name], numbers.digits(metric))}" for name in names)
    how = interval_words(seeds)
    return render(
        draw,
        size=(WIDTH, 3.0 + legend_height(names)),
        caption=captioned(caption, f"Lines: {f'{how}, shaded' if banded else how.partition(' [')[0]}."),
        alt=f"{numbers.name(metric)} on {splits[0]} over training examples seen; {last}.",
    )


def _common_steps(points: Sequence[CurvePoint], metric: str) -> pd.DataFrame:
    """Scale the points of one method and keep the steps that all of its seeds reached; all where none is common."""
    frame = pd.DataFrame([p.model_dump() for p in points]).drop_duplicates(["step", "seed"], keep="last")
    frame["value"] *= numbers.factor(metric)
    common = frame[frame.groupby("step").seed.transform("nunique") == frame.seed.nunique()]
    return common if len(common) else frame


def _centre(values: pd.Series) -> float:
    return mean_and_interval(values.to_list())[0]


def _interval(values: pd.Series) -> tuple[float, float]:
    """The 95 % t-interval over seeds as seaborn asks for it; nothing to draw for a single seed."""
    _, low, high = mean_and_interval(values.to_list())
    return (np.nan, np.nan) if low is None or high is None else (low, high)


# -- A against B -----------------------------------------------------------------------------------------------------


@of_a_run
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
    by_row = corrected({row: hit for row, hit in found if hit is not None})
    if not by_row:
        raise ConfigError(f"{run.paper}/{run.experiment} holds no test of {a} against {b} by {metric}.")
    lines, scale = headings(list(by_row)), numbers.factor(metric)

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
            axes.plot([low * scale, high * scale], [y, y], color=colour, linewidth=2.0 if mean else 1.3, zorder=2)
            axes.plot(
                [estimate * scale], [y], marker="D" if mean else "o", markersize=6.0 if mean else 5.0, color=colour,
                zorder=3, markerfacecolor=colour if sure else palette.paper, markeredgewidth=1.2,
            )  # fmt: skip
            between = numbers.interval(low, high, metric, signed=True)
            axes.annotate(
                f"{numbers.shown(estimate, metric, signed=True)} {between}", (1.01, y),
                xycoords=("axes fraction", "data"), va="center", ha="left", fontsize=8,
                fontweight="bold" if mean else "normal", annotation_clip=False,
            )  # fmt: skip
        axes.set_xlabel(f"{a} {numbers.MINUS} {b}, {numbers.name(metric)}")
        axes.grid(axis="x")

    found_tests = [test for test, *_ in by_row.values()]
    wins = sum(estimate > 0 for _, estimate, *_ in by_row.values())
    kinds = " and ".join(ordered(test.kind for test in found_tests))
    rule = "p < .05 after Holm" if any(t.p_holm is not None for t in found_tests) else "interval without zero"
    how = f"Filled: {rule}. Diamonds: averages. Bars: 95 % ({kinds})."
    sure = sum(map(significant, found_tests))
    alt = f"Forest plot of {a} minus {b} on {len(by_row)} rows: {wins} differences above zero, {sure} significant."
    return render(draw, size=(WIDTH, 0.75 + _ROW * len(lines)), caption=captioned(caption, how), alt=alt)


@of_a_run
def paired_dots(
    run: Run,
    reported: pd.DataFrame | None = None,
    *,
    a: str,
    b: str,
    metric: str = "pearson",
    rows: Sequence[str] | None = None,
    protocol: object = None,
    caption: str = "",
) -> Plot:
    """Both methods on each data set: ours filled with each seed and the interval over them, the paper's values hollow.

    Raises:
        ConfigError: neither method was run.
    """
    ours, _ = over_seeds(run, metric, protocol=protocol)
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
        at = {row: y for y, (row, _) in enumerate(lines) if row is not None}
        for row, y in at.items():
            centres = [ours[method, row].value * scale for method in (a, b) if (method, row) in ours]
            if len(centres) == 2:
                axes.plot(centres, [y, y], color=palette.faint, linewidth=3.2, zorder=1)
        for shift, method in ((-0.16, a), (0.16, b)):
            colour = palette.of(method, (a, b))
            dots: dict[str, Any] = {
                "linestyle": "none", "marker": MARKERS[place(method, (a, b)) % len(MARKERS)], "markersize": 5.2,
                "color": colour,
            }  # fmt: skip
            hollow = [(paper[method, row] * scale, y + shift) for row, y in at.items() if (method, row) in paper]
            if hollow:
                label = f"{method}, paper"
                axes.plot(*zip(*hollow, strict=True), **dots, markerfacecolor="none", markeredgewidth=1.1, label=label)
            cells = [(ours[method, row], y + shift) for row, y in at.items() if (method, row) in ours]
            for cell, height in cells:
                if cell.low is not None and cell.high is not None:
                    ends = [cell.low * scale, cell.high * scale]
                    axes.plot(ends, [height] * 2, color=colour, linewidth=1.3, zorder=3)
                    cloud = [value * scale for value in cell.values]
                    axes.plot(cloud, [height] * len(cloud), "|", color=colour, markersize=6, alpha=0.6, zorder=3)
            if cells:
                values, heights = [cell.value * scale for cell, _ in cells], [y for _, y in cells]
                axes.plot(values, heights, **dots, zorder=4, label=f"{method}, ours")
        axes.set_xlabel(numbers.name(metric))
        axes.grid(axis="x")
        legend_above(axes)

    gaps = [ours[a, row].value - ours[b, row].value for row in rows if (a, row) in ours and (b, row) in ours]
    seeds = [cell.seeds for (method, row), cell in ours.items() if method in (a, b) and row in rows]
    how = f"Filled: ours, {interval_words(seeds)}." + (" Hollow: the paper." if any_paper else "")
    return render(
        draw,
        size=(WIDTH, 1.0 + (_ROW + 0.025) * len(lines)),
        caption=captioned(caption, how),
        alt=f"{a} and {b} on {len(rows)} rows by {numbers.name(metric)}; {a} is higher on {sum(g > 0 for g in gaps)}.",
        narrow=True,
    )


# -- ablations -------------------------------------------------------------------------------------------------------


@of_a_run
def ablation_bars(
    run: Run,
    *,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    metric: str = "pearson",
    reference: str | None = None,
    caption: str = "",
) -> Plot:
    """Grouped bars with intervals over seeds: a group a data set, a bar a variant.

    Args:
        datasets: None: the averages, or all where the run holds none.
        reference: a variant; the bars are then differences to it (seed by seed where the seeds agree), so that small
            effects show without a cut axis. Without it bars start at zero.

    Raises:
        ConfigError: the run holds nothing to draw, or no ``reference``.
    """
    cells, _ = over_seeds(run, metric)
    methods = ordered(m for m, _ in cells) if methods is None else list(methods)
    if datasets is None:
        held = ordered(d for _, d in cells)
        datasets = [d for d in held if is_average(d)] or held
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
                None if v is None else v * scale for v in mean_and_interval(values.tolist())
            )
    drawn = [m for m in methods if m != reference and any((m, d) in bars for d in datasets)]
    if not drawn:
        raise ConfigError(f"{run.paper}/{run.experiment} holds no {metric} to draw.")
    unit = numbers.name(metric)
    unit = f"{unit} minus {reference}" if reference else unit
    of_one = len(datasets) == 1  # then a variant is a row with its name, else a bar of each data set's group

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        thick = 0.7 if of_one else 0.8 / len(drawn)
        for index, method in enumerate(drawn):
            at = [index] if of_one else [i + thick * (index + 0.5) - 0.4 for i in range(len(datasets))]
            found = [(x, *bars[method, d]) for x, d in zip(at, datasets, strict=True) if (method, d) in bars]
            colour = palette.hues[0] if of_one else palette.of(method, drawn)
            place_bars = axes.barh if of_one else axes.bar
            positions, values = [x for x, *_ in found], [value for _, value, *_ in found]
            place_bars(positions, values, 0.9 * thick, color=colour, alpha=0.85, label=method, linewidth=0)
            for x, _, low, high in found:
                if low is not None and high is not None:
                    ends = ([low, high], [x, x]) if of_one else ([x, x], [low, high])
                    axes.plot(*ends, color=palette.ink, linewidth=1.1)
        if of_one:
            axes.axvline(0, color=palette.soft, linewidth=0.9)
            axes.set_yticks(range(len(drawn)), [textwrap.fill(name, 36) for name in drawn])
            axes.set_ylim(len(drawn) - 0.4, -0.6)
            axes.set_xlabel(f"{unit}, {full_name(*group_and_label(datasets[0]))}")
        else:
            axes.axhline(0, color=palette.soft, linewidth=0.9)
            shown = [full_name(*group_and_label(d)) for d in datasets]
            axes.set_xticks(range(len(datasets)), [textwrap.fill(name, max(9, 60 // len(datasets))) for name in shown])
            axes.set_ylabel(textwrap.fill(unit, 30))
            legend_above(axes)
        axes.tick_params(axis="y" if of_one else "x", length=0)
        axes.grid(axis="x" if of_one else "y")

    seeds = [cell.seeds for (m, d), cell in cells.items() if m in drawn and d in datasets]
    means = {m: float(np.mean([bars[m, d][0] for d in datasets if (m, d) in bars])) for m in drawn}
    said = "; ".join(f"{m} {numbers.plain(mean, 2, signed=bool(reference))}" for m, mean in means.items())
    return render(
        draw,
        size=(WIDTH, 0.7 + 0.29 * len(drawn) if of_one else 3.1 + legend_height(drawn)),
        caption=captioned(caption, f"Bars: {interval_words(seeds)}."),
        alt=f"Bars of {unit}; means: {said}.",
    )


# -- scores against gold ---------------------------------------------------------------------------------------------


def scatter(
    gold: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    caption: str = "",
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

    columns = 2 if len(panels) in (2, 4) else min(3, len(panels))
    lines = -(-len(panels) // columns)

    def draw(figure: Figure, palette: Palette) -> None:
        grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        for axes, (name, values) in zip(grid.flat, panels.items(), strict=False):
            colour = palette.of(name, list(panels))
            if len(x) <= 400:
                axes.plot(x, values, "o", markersize=3, color=colour, alpha=0.45, markeredgewidth=0)
            else:
                cells: dict[str, Any] = {"gridsize": (26, 15), "mincnt": 1, "bins": "log", "linewidths": 0.1}
                axes.hexbin(x, values, cmap=palette.ramp(colour), **cells)
            axes.set_title(textwrap.fill(f"{name}, r = {numbers.plain(r[name], 3)}", 72 // columns))
            axes.grid()
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        figure.supxlabel("Gold similarity", fontsize=9)
        figure.supylabel(score_label, fontsize=9)

    width = WIDTH if len(panels) > 1 else WIDTH * 0.6
    said = ", ".join(f"{name} r = {numbers.plain(value, 3)}" for name, value in r.items())
    note = f"{numbers.count(len(x))} pairs." + (" The stronger the colour, the more pairs." if len(x) > 400 else "")
    alt = f"Gold similarity against predicted; {said}."
    plot = render(draw, size=(width, 0.5 + 2.6 * lines), caption=captioned(caption, note), alt=alt)
    return of_its_run(plot, run)


def error_heatmap(
    overlap: ArrayLike,
    gold: ArrayLike,
    errors: Mapping[str, ArrayLike],
    *,
    overlap_edges: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    gold_edges: Sequence[float] = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0),
    caption: str = "",
    run: Recorded | None = None,
) -> Plot:
    """Mean absolute error by word overlap and gold similarity, a panel a method, the number printed in each cell.

    Args:
        overlap: (N,) in [0, 1].
        gold: (N,) on the data sets' scale.
        errors: method -> (N,) absolute errors on that scale.
        run: whose errors they are.
    """
    share, target = np.asarray(overlap, dtype=float), np.asarray(gold, dtype=float)
    edges = [np.asarray(gold_edges), np.asarray(overlap_edges)]
    rows, columns = (np.clip(values, ends[0], ends[-1]) for values, ends in zip((target, share), edges, strict=True))
    counts = np.histogram2d(rows, columns, bins=edges)[0]
    tables = {}
    for name, values in errors.items():
        total = np.histogram2d(rows, columns, bins=edges, weights=np.asarray(values, dtype=float))[0]
        tables[name] = np.where(counts >= 5, total / np.maximum(counts, 1), np.nan)
    finite = np.concatenate([table[np.isfinite(table)] for table in tables.values()])
    if not len(finite):
        raise ConfigError("No cell of the heat map holds five pairs; give more.")
    top = max(float(finite.max()), 1e-9)

    def draw(figure: Figure, palette: Palette) -> None:
        import seaborn as sns

        all_axes = np.atleast_1d(figure.subplots(1, len(tables), sharey=True))
        for axes, (name, table) in zip(all_axes, tables.items(), strict=True):
            sns.heatmap(
                table, ax=axes, cmap=palette.ramp(palette.hues[1]), vmin=0, vmax=top, cbar=False, annot=True,
                fmt=".2f", annot_kws={"fontsize": 8.5},
            )  # fmt: skip
            for text in axes.texts:
                text.set_color(palette.paper if float(text.get_text()) > 0.7 * top else palette.ink)
            axes.invert_yaxis()
            axes.set_title(name)
            axes.set_xticks(range(len(overlap_edges)), [f"{edge:g}" for edge in overlap_edges])
            axes.set_yticks(range(len(gold_edges)), [f"{edge:g}" for edge in gold_edges])
            axes.set_xlabel("Word overlap (Jaccard)")
            axes.tick_params(length=0, labelrotation=0)
        all_axes[0].set_ylabel("Gold similarity")

    said = "; ".join(
        f"{name} from {numbers.plain(np.nanmin(t), 2)} to {numbers.plain(np.nanmax(t), 2)}"
        for name, t in tables.items()
    )
    width = WIDTH if len(tables) > 1 else WIDTH * 0.6
    note = f"Mean absolute error; {numbers.count(len(share))} pairs; cells with fewer than five are left empty."
    alt = f"Heat map of the mean absolute error by word overlap and gold similarity: {said}."
    return of_its_run(render(draw, size=(width, 3.3), caption=captioned(caption, note), alt=alt), run)


# -- shared pieces ---------------------------------------------------------------------------------------------------


def row_axes(axes: Axes, labels: Sequence[tuple[str, bool]]) -> None:
    """Lay out a row a label, the first at the top, without an axis line; a label comes with whether it is bold."""
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), [label for label, _ in labels])
    for tick, (_, bold) in zip(axes.get_yticklabels(), labels, strict=True):
        tick.set_fontweight("bold" if bold else "normal")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _row_axes(axes: Axes, lines: Sequence[tuple[str | None, str]], palette: Palette) -> None:
    row_axes(axes, [(label, row is None or is_average(row)) for row, label in lines])
    for y, (row, _) in enumerate(lines):
        if row is not None and is_average(row):
            axes.axhspan(y - 0.5, y + 0.5, color=palette.faint, alpha=0.3, linewidth=0, zorder=0)


def _legend_columns(names: Sequence[str], width: float = WIDTH) -> int:
    """As many columns as so many inches have room for: 14 letters an inch, and a marker for each."""
    longest = max((max(map(len, textwrap.wrap(name, 80) or [""])) for name in names), default=1)
    return max(1, min(len(names), 5, int(width / (longest / 14 + 0.5))))


def legend_height(names: Sequence[str]) -> float:
    """Inches that a legend of several lines needs beyond the one that a figure has room for."""
    return 0.17 * (-(-len(names) // _legend_columns(names)) - 1)


def legend_above(axes: Axes) -> None:
    """Above the axes and over the whole width, so that it covers no line and takes no width from the axes."""
    handles, names = axes.get_legend_handles_labels()
    figure: Any = axes.figure
    columns = _legend_columns(names, figure.get_figwidth())
    if (drawn := axes.get_legend()) is not None:
        drawn.remove()
    figure.legend(
        handles, [textwrap.fill(name, 80) for name in names], loc="outside upper left", ncols=columns,
        borderaxespad=0.2, handlelength=1.6, columnspacing=1.5, handletextpad=0.5, labelspacing=0.3,
    )  # fmt: skip


def logarithmic(axes: Axes) -> None:
    """Let the y-axis be logarithmic, with plain numbers at 1, 2 and 5 of each power of ten."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", "\u202f")))
    axes.yaxis.set_minor_locator(NullLocator())


def thousands(value: float) -> str:
    """Write a count of examples short: ``2.5 k``, ``1 M``."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if abs(value) >= 1e3 else f"{value:g}"


def captioned(caption: str, note: str) -> str:
    """Join a caption and what is said of how the figure was made."""
    if not caption or not note:
        return caption or note
    return f"{caption if caption[-1] in '.?!' else caption + '.'} {note}"
