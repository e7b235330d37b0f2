"""Figures: one style, drawn in light colours, shown as SVG inside the page; the same numbers give the same bytes."""

from __future__ import annotations

import hashlib
import io
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape

from sentbook.evaluation.statistics import seed_interval
from sentbook.io import ConfigError
from sentbook.records import CurvePoint, Run
from sentbook.report import numbers
from sentbook.report.html import Shown, captioned
from sentbook.report.summary import Printed, Values, difference_name, full_name, headings, is_average, ordered
from sentbook.runs.papers import catalogue

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008): distinguishable with every common colour vision.
COLOURS = ("#0067a5", "#c8500a", "#00805f", "#a8467f", "#b37a00", "#3d97d1", "#5b5b5b")
GREY = "#5c6670"
WIDTH = 7.2
_ROW = 0.26


def style() -> AbstractContextManager[None]:
    """Draw with the book's matplotlib style inside a ``with``."""
    import matplotlib

    with as_file(files("sentbook.report") / "static" / "figures.mplstyle") as path:
        return matplotlib.rc_context(fname=path)


def subplots(height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """Make an empty figure in the book's style, ``height`` inches high, for `figure`."""
    from matplotlib.figure import Figure

    with style():
        drawing = Figure(figsize=(WIDTH, height), layout="constrained")
        return drawing, drawing.subplots(rows, columns, **options)


def colour(method: str, methods: Sequence[str]) -> str:
    """Return a method's colour: its place in its paper's list in ``papers.yaml``, else the next that is free."""
    kept = {name: at for paper in catalogue().values() for at, name in enumerate(paper.colours)}
    free = [at for at in range(len(COLOURS)) if at not in {kept.get(name) for name in methods}] or [0]
    others = [name for name in methods if name not in kept]
    at = kept[method] if method in kept else free[others.index(method) % len(free)]
    return COLOURS[at % len(COLOURS)]


def figure(fig: Figure, *, caption: str = "", alt: str = "", note: str = "") -> Shown:
    """Show a matplotlib figure as SVG in the page.

    Args:
        fig: made by `subplots`, or any other; it is closed, so that JupyterLab does not show it twice.
        caption: what it shows; its first sentence is bold.
        alt: read aloud in its place.
        note: how it was drawn, below the caption.
    """
    buffer = io.StringIO()
    with style():
        fig.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(fig)
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # Identifiers of its own: figures of one page must not share clips and markers.
    prefix = f"f{hashlib.sha256((alt + text).encode()).hexdigest()[:8]}-"
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", text)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{escape(alt or caption)}" ', 1)
    return captioned(Markup('<div class="sb-plot">{}</div>').format(Markup(text.strip())), caption, note)


def _row_axes(datasets: Sequence[str], margin: float) -> tuple[Figure, Axes, dict[str, int]]:
    """Make axes with a line per data set, from the top, headings between them; and the height of each."""
    lines = headings(datasets)
    drawing, axes = subplots(margin + _ROW * len(lines))
    axes.set_yticks(range(len(lines)), [label for _, label in lines])
    for (name, _), tick in zip(lines, axes.get_yticklabels(), strict=True):
        tick.set_fontweight("normal" if name else "bold")
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    return drawing, axes, {name: at for at, (name, _) in enumerate(lines) if name is not None}


def _none(what: str, run: Run) -> ConfigError:
    return ConfigError(f"{run.paper}/{run.experiment} holds no {what}.")


def dumbbell(
    run: Run,
    printed: Printed,
    a: str,
    b: str,
    *,
    rows: Sequence[str] | None,
    metric: str | None,
    protocol: str | None,
    caption: str,
) -> Shown:
    """Draw two methods on each data set: ours filled with a tick per seed, the paper's hollow.

    Raises:
        ConfigError: the run has neither method.
    """
    values = Values(run, protocol)
    held = values.datasets((a, b))
    chosen = [name for name in (held if rows is None else rows) if name in held]
    if not chosen:
        raise _none(f"number of {a} or {b}", run)
    drawing, axes, at = _row_axes(chosen, 0.9)
    ends = {}
    for method, shift in ((a, -0.16), (b, 0.16)):
        ink = colour(method, (a, b))
        for name, y in at.items():
            measure = values.metric_on(name, metric)
            scale, seeds = numbers.factor(measure), values.at(method, name, measure)
            if seeds:
                ends[method] = (float(np.mean(seeds)) * scale, y + shift)
                axes.plot(np.array(seeds) * scale, [y + shift] * len(seeds), "|", color=ink, ms=8, alpha=0.6)
                axes.plot(*[[end] for end in ends[method]], "o", color=ink, ms=6, zorder=3)
            theirs = printed.mean(method, name, measure)
            if theirs is not None:
                axes.plot([theirs * scale], [y + shift], "o", mfc="white", mec=ink, ms=6, zorder=3)
    _legend(drawing, axes, [(a, colour(a, (a, b))), (b, colour(b, (a, b)))])
    axes.set_xlabel(numbers.name(values.metric_on(chosen[0], metric)))
    gaps = [(values.mean(a, n, m), values.mean(b, n, m)) for n in chosen for m in [values.metric_on(n, metric)]]
    ahead = sum(first > second for first, second in gaps if first is not None and second is not None)
    alt = f"{a} and {b} on {numbers.counted(len(chosen), 'row')}; {a} is higher on {ahead}."
    note = "Filled: ours, a tick per seed."
    hollow = any(
        printed.mean(method, name, values.metric_on(name, metric)) is not None for method in (a, b) for name in chosen
    )
    return figure(drawing, caption=caption, alt=alt, note=f"{note} Hollow: the paper." if hollow else note)


def _legend(drawing: Figure, axes: Axes, entries: Sequence[tuple[str, str]]) -> None:
    """Name the colours in a line above the axes."""
    with style():
        marks = [axes.plot([], [], "o", color=ink, ms=6, label=name)[0] for name, ink in entries]
        columns = min(len(entries), 4)
        drawing.legend(handles=marks, loc="outside upper left", ncols=columns, handletextpad=0.2, columnspacing=1.2)


def forest(
    run: Run,
    a: str,
    b: str,
    *,
    rows: Sequence[str] | None,
    metric: str | None,
    caption: str,
) -> Shown:
    """Draw the difference A - B of each data set with its 95 % interval; filled where the interval excludes zero.

    Raises:
        ConfigError: the run has no tested difference of A and B.
    """
    values = Values(run)
    names = ordered(test.dataset for test in run.tests) if rows is None else rows
    metrics = {name: values.metric_on(name, metric) for name in names}
    found = {name: test for name in names if (test := values.test(a, b, name, metrics[name])) is not None}
    if not found:
        raise _none(f"test of {a} against {b}", run)
    drawing, axes, at = _row_axes(list(found), 0.8)
    axes.axvline(0, color=GREY, linewidth=0.9, zorder=1)
    for name, test in found.items():
        measure = metrics[name]
        scale, better = numbers.factor(measure), (test.estimate > 0) != numbers.lower_is_better(measure)
        ink = colour(a if better else b, (a, b))
        sure, mean, y = not test.low <= 0 <= test.high, is_average(name), at[name]
        axes.plot([test.low * scale, test.high * scale], [y, y], color=ink, linewidth=2.2 if mean else 1.3)
        face = ink if sure else "white"
        axes.plot([test.estimate * scale], [y], "D" if mean else "o", color=ink, mfc=face, ms=6, zorder=3)
        words = numbers.shown(test.estimate, measure, signed=True)
        words += f" {numbers.interval(test.low, test.high, measure, signed=True)}"
        place = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
        axes.annotate(words, (1.01, y), fontsize=8.5, weight="bold" if mean else "normal", **place)
    unit = numbers.name(metrics[next(iter(found))])
    axes.set_xlabel(f"{difference_name(a, b)}, {unit}")
    sure = sum(not test.low <= 0 <= test.high for test in found.values())
    ahead = sum(test.estimate > 0 for test in found.values())
    rows_in_words = numbers.counted(len(found), "row")
    alt = f"{a} minus {b} on {rows_in_words}: {ahead} above zero, {sure} with an interval without zero."
    note = f"Bars: 95 % ({next(iter(found.values())).kind}). Filled: the interval excludes zero. Diamonds: averages."
    return figure(drawing, caption=caption, alt=alt, note=note)


def bars(
    run: Run,
    *,
    methods: Sequence[str] | None,
    rows: Sequence[str] | None,
    metric: str | None,
    protocol: str | None,
    reference: str | None,
    caption: str,
) -> Shown:
    """Draw a bar per method in a group per data set; with ``reference`` its mean is taken off.

    Raises:
        ConfigError: the run holds nothing to draw, or no ``reference``.
    """
    import pandas as pd
    import seaborn as sns

    values = Values(run, protocol)
    shown = [name for name in (values.methods if methods is None else methods) if name in values.methods]
    held = values.datasets(shown)
    names = [name for name in ([n for n in held if is_average(n)] or held if rows is None else rows) if name in held]
    records = []
    for name in names:
        measure = values.metric_on(name, metric)
        base = 0.0 if reference is None else values.mean(reference, name, measure)
        if base is None:
            raise _none(f"{measure} of the reference {reference}", run)
        seeds = [(method, value) for method in shown for value in values.at(method, name, measure)]
        records += [(full_name(name), m, (value - base) * numbers.factor(measure)) for m, value in seeds]
    if not records:
        raise _none(f"number of {', '.join(shown) or 'any method'}", run)
    frame = pd.DataFrame(records, columns=["dataset", "method", "value"])
    drawing, axes = subplots(3.0)
    inks = {name: colour(name, shown) for name in shown}
    with style():
        looks = {"hue": "method", "hue_order": shown, "palette": inks, "saturation": 1, "legend": False}
        whiskers = {"errorbar": _ends, "err_kws": {"linewidth": 1.2}}
        sns.barplot(frame, x="dataset", y="value", **looks, **whiskers, ax=axes)
    _legend(drawing, axes, list(inks.items()))
    unit = numbers.name(values.metric_on(names[0], metric))
    axes.set(xlabel="", ylabel=unit if reference is None else f"{difference_name('variant', reference)}, {unit}")
    axes.grid(axis="y")
    means = frame.groupby("method", sort=False)["value"].mean()
    alt = "Means: " + ", ".join(f"{name} {numbers.plain(float(value))}" for name, value in means.items()) + "."
    several = any(len(values.at(m, n, values.metric_on(n, metric))) > 1 for m in shown for n in names)
    return figure(drawing, caption=caption, alt=alt, note="Bars: mean; whiskers: 95 % over seeds." if several else "")


def _ends(values: Any) -> tuple[float, float]:
    """Return the 95 % t-interval over seeds; nothing to draw for one seed."""
    if len(values) < 2:
        return np.nan, np.nan
    found = seed_interval(list(values))
    return found.low, found.high


def curve(
    run: Run,
    *,
    split: str | None,
    metric: str | None,
    methods: Sequence[str] | None,
    points: Sequence[CurvePoint] | None,
    label: str | None,
    caption: str,
) -> Shown:
    """Draw a metric over the training examples seen, a line per seed.

    Raises:
        ConfigError: the run holds no such curve, or several and none was chosen.
    """
    import pandas as pd
    import seaborn as sns

    held = [point for point in (run.curves if points is None else points) if split in (None, point.split)]
    names = ordered(point.metric for point in held)
    measure = metric or next((name for name in ("pearson", "spearman", "accuracy") if name in names), *names[:1])
    held = [point for point in held if point.metric == measure and (methods is None or point.method in methods)]
    splits = ordered(point.split for point in held)
    if len(splits) != 1:
        offered = ordered((point.split, point.metric) for point in run.curves)
        raise ConfigError(f"Choose one curve with split= and metric=; the run holds {offered}.")
    shown = [name for name in (methods or ordered(p.method for p in held)) if any(p.method == name for p in held)]
    frame = pd.DataFrame([point.model_dump() for point in held])
    frame["value"] *= numbers.factor(measure)
    inks = {name: colour(name, shown) for name in shown}
    drawing, axes = subplots(2.7)
    with style():
        looks = {"hue": "method", "hue_order": shown, "palette": inks, "alpha": 0.75, "linewidth": 1.2, "legend": False}
        sns.lineplot(frame, x="step", y="value", units="seed", estimator=None, **looks, ax=axes)
    _legend(drawing, axes, list(inks.items()))
    axes.xaxis.set_major_formatter(lambda value, _: _steps(value))
    axes.set(xlabel="training examples seen", ylabel=label or f"{splits[0]}: {numbers.name(measure)}")
    axes.grid()
    last = frame[frame.groupby(["method", "seed"])["step"].transform("max") == frame["step"]]
    ends = last.groupby("method", sort=False)["value"].mean()
    alt = (
        "; ".join(f"{name} ends at {numbers.plain(float(ends[name]), numbers.digits(measure))}" for name in shown) + "."
    )
    return figure(
        drawing, caption=caption, alt=f"{numbers.name(measure)} while training. {alt}", note="A line per seed."
    )


def _steps(value: float) -> str:
    """Print a number of training examples."""
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k" if value >= 1e3 else f"{value:g}"
