"""Figures: one style, drawn in light colours, shown as SVG inside the page; the same numbers give the same bytes."""

from __future__ import annotations

import hashlib
import io
import re
import sys
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from sentbook.evaluation.statistics import seed_interval
from sentbook.io import ConfigError
from sentbook.judge.claims import papers
from sentbook.judge.evidence import lower_is_better
from sentbook.records import CurvePoint, Run
from sentbook.report import numbers
from sentbook.report.html import Shown, captioned
from sentbook.report.summary import Values, by_year, headings, is_average, ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sentbook.report.page import Page

Names = Sequence[str] | None  # methods or data sets; None: those of the record
# Okabe and Ito (2008): distinguishable with every common colour vision.
COLOURS = ("#0067a5", "#c8500a", "#00805f", "#a8467f", "#b37a00", "#3d97d1", "#5b5b5b")
GREY = "#5c6670"


def style() -> AbstractContextManager[None]:
    """Draw with the book's matplotlib style inside a ``with``."""
    import matplotlib

    return matplotlib.rc_context(fname=str(files("sentbook.report") / "static" / "figures.mplstyle"))


def subplots(height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """Make an empty figure in the book's style, ``height`` inches high, for `figure`."""
    from matplotlib.figure import Figure

    with style():
        drawing = Figure(figsize=(7.2, height), layout="constrained")
        return drawing, drawing.subplots(rows, columns, **options)


def colour(method: str, methods: Sequence[str]) -> str:
    """Return a method's colour: its place in its paper's list in ``papers.yaml``, else the next that is free."""
    kept = {name: at for paper in papers().values() for at, name in enumerate(paper.colours)}
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


def _legend(page: Page, drawing: Figure, axes: Axes, methods: Sequence[str]) -> dict[str, str]:
    """Name the colours of methods in a line above the axes, and return them."""
    inks = {name: colour(name, methods) for name in methods}
    with style():
        marks = [axes.plot([], [], "o", color=ink, ms=6, label=page.label(name))[0] for name, ink in inks.items()]
        drawing.legend(handles=marks, loc="outside upper left", ncols=4, handletextpad=0.2, columnspacing=1.2)
    return inks


def _lines(page: Page, rows: Names, held: Sequence[str], what: str) -> tuple[Figure, Axes, dict[str, int]]:
    """Make axes with a line per data set, headings between them, and return the height of each.

    The data sets are those asked for, or all that a run has where it has none of these.

    Raises:
        ConfigError: the run has nothing to draw.
    """
    if not held:
        raise ConfigError(f"This run holds no {what}; see its .metrics and .tests.")
    lines = headings([name for name in rows or () if name in held] or held)
    drawing, axes = subplots(0.9 + 0.26 * len(lines))
    axes.set_yticks(range(len(lines)), [page.label(name or label, label) for name, label in lines])
    for (name, _), tick in zip(lines, axes.get_yticklabels(), strict=True):
        tick.set_fontweight("normal" if name else "bold")
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    return drawing, axes, {name: at for at, (name, _) in enumerate(lines) if name is not None}


def dumbbell(page: Page, a: str, b: str, *, rows: Names = None, caption: str = "") -> Shown:
    """Draw A and B on each data set of the record: ours filled, a tick per seed, the paper's hollow.

    Raises:
        ConfigError: the record has neither method.
    """
    if page.run is None:
        return page.unrecorded
    values, paper, hollow, failed = Values.measured(page.run, page.protocol), Values.printed(page.paper), False, 0
    drawing, axes, at = _lines(page, rows, values.datasets((a, b)), f"number of {a} or {b}")
    inks = _legend(page, drawing, axes, (a, b))
    for (name, y), (method, shift) in product(at.items(), ((a, -0.16), (b, 0.16))):
        measure = values.metric_on(name, None)
        look: Any = {"color": inks[method], "ms": 6, "zorder": 3}
        scale = numbers.factor(measure)
        seeds = [scale * value for value in values.at(method, name, measure)]
        # A run that diverged must not stretch the axis for all others.
        ticks = [value for value in seeds if scale == 1 or value >= np.median(seeds) - abs(np.median(seeds)) / 2]
        failed += len(seeds) - len(ticks)
        axes.plot(ticks, [y + shift] * len(ticks), "|", color=inks[method], ms=8, alpha=0.6)
        if seeds:
            axes.plot([np.mean(seeds)], [y + shift], "o", **look)
        if (theirs := paper.mean(method, name, measure)) is not None:
            hollow = bool(axes.plot([scale * theirs], [y + shift], "o", mfc="white", **look))
    axes.set_xlabel(numbers.name(measure))
    note = f"Filled: ours, a tick per seed.{' Hollow: the paper.' if hollow else ''}"
    note += f" {numbers.counted(failed, 'run')} below half of the median not drawn." if failed else ""
    alt = f"{page.label(a)} and {page.label(b)} on {numbers.counted(len(at), 'row')}; the table has the numbers."
    return figure(drawing, caption=caption, alt=alt, note=note)


def forest(page: Page, a: str, b: str, *, rows: Names = None, caption: str = "") -> Shown:
    """Draw A - B of the record with its 95 % interval on each data set; filled where the interval excludes zero.

    Raises:
        ConfigError: the record has no tested difference of A and B.
    """
    if page.run is None:
        return page.unrecorded
    values, difference = Values.measured(page.run, page.protocol), page.difference(a, b)
    names = by_year(test.dataset for test in page.run.tests)
    tests = {name: one for name in names if (one := values.test(a, b, name, values.metric_on(name, None)))}
    drawing, axes, at = _lines(page, rows, list(tests), f"tested difference of {a} and {b}")
    axes.axvline(0, color=GREY, linewidth=0.9, zorder=1)
    for name, y in at.items():
        test, mean, scale = tests[name], is_average(name), numbers.factor(tests[name].metric)
        ink = colour(a if (test.estimate > 0) != lower_is_better(test.metric) else b, (a, b))
        face = "white" if test.low <= 0 <= test.high else ink
        axes.plot([test.low * scale, test.high * scale], [y, y], color=ink, linewidth=2.2 if mean else 1.3)
        axes.plot([test.estimate * scale], [y], "D" if mean else "o", color=ink, mfc=face, ms=6, zorder=3)
        place: Any = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
        axes.annotate(numbers.tested(test), (1.01, y), fontsize=8.5, weight="bold" if mean else None, **place)
    axes.set_xlabel(f"{difference}, {numbers.name(test.metric)}")
    note = f"Bars: 95 % ({test.kind}). Filled: the interval excludes zero."
    note += " Diamonds: averages." if any(map(is_average, at)) else ""
    alt = f"{difference} on {numbers.counted(len(at), 'row')}, with the numbers."
    return figure(drawing, caption=caption, alt=alt, note=note)


def bars(
    page: Page, methods: Names = None, *, rows: Names = None, metric: str = "", reference: str = "", caption: str = ""
) -> Shown:
    """Draw a bar of the record per method in a group per data set, the averages unless ``rows`` names others.

    Args:
        reference: a method whose mean is taken off, so that small differences show.

    Raises:
        ConfigError: the record has nothing to draw, or no ``reference``.
    """
    import seaborn  # a second, only on the pages that need it

    if page.run is None:
        return page.unrecorded
    values = Values.measured(page.run, page.protocol)
    shown = [name for name in methods or values.methods if name in values.methods and name != reference]
    sets = values.datasets(shown)
    names = [name for name in rows or filter(is_average, sets) if name in sets] or sets
    lying = len(names) == 1  # then each bar has its name at its side
    drawing, axes = subplots(0.9 + 0.26 * len(shown) if lying else 3.0)
    inks = {name: colour(name, shown) for name in shown} if lying else _legend(page, drawing, axes, shown)
    measure, held = "", []
    for name, method in product(names, shown):
        measure = values.metric_on(name, metric)
        base = values.mean(reference, name, measure) if reference else 0.0
        if base is None:
            raise ConfigError(f"This run holds no {measure} of the reference {reference} on {name}.")
        seeds = [numbers.factor(measure) * (value - base) for value in values.at(method, name, measure)]
        held += [{"row": name, "method": method, "value": value} for value in seeds]
    along, across, order = ("y", "x", shown) if lying else ("x", "y", names)
    look: Any = {along: "method" if lying else "row", across: "value", "order": order, "hue_order": shown}
    look |= {"palette": inks, "saturation": 1, "legend": False, "err_kws": {"color": GREY}}
    look |= {"errorbar": lambda seeds: astuple(seed_interval(seeds))[1:3]}
    seaborn.barplot(pd.DataFrame(held), hue="method", ax=axes, **look)
    less = f"\nless {page.label(reference)}" if reference else ""
    labels = [textwrap.fill(page.label(name), 40 if lying else 12) for name in order]
    axes.set(**{f"{along}ticks": range(len(order)), f"{along}ticklabels": labels, f"{along}label": ""})
    axes.set(**{f"{across}label": f"{numbers.name(measure)}{less}"})
    axes.grid(axis=across)
    alt = f"{', '.join(map(page.label, shown))} on {numbers.counted(len(names), 'row')}; the table has the numbers."
    return figure(drawing, caption=caption, alt=alt, note="Bars: means; whiskers: 95 % over seeds.")


def curve(
    page: Page,
    *,
    split: str = "validation",
    metric: str = "",
    methods: Names = None,
    points: Sequence[CurvePoint] | None = None,
    label: str | None = None,
    caption: str = "",
    run: Run | None = None,
) -> Shown:
    """Draw a metric over the training examples seen, a line per seed.

    Args:
        split: ``validation``, ``test`` or ``train``.
        metric: empty: the first that was followed.
        points: some of the record's, under other names; None: all of them.
        label: of the upright axis, in place of split and metric.

    Raises:
        ConfigError: the run holds no such curve.
    """
    import seaborn  # a second, only on the pages that need it

    parts = []
    for one, words in page.runs(run, caption):
        every = one.curves if points is None or one is run else points
        held = [point for point in every if point.split == split and point.method in (methods or [point.method])]
        measure = metric or next((point.metric for point in held), "")
        held = [point for point in held if point.metric == measure]
        if not held:
            raise ConfigError(f"This run holds no curve of {metric or 'any metric'} on {split}; see its .curves.")
        drawing, axes = subplots(2.7)
        inks = _legend(page, drawing, axes, ordered(methods or (point.method for point in held)))
        frame = pd.DataFrame(map(dict, held)).eval(f"value = {numbers.factor(measure)} * value")
        look: Any = {"hue": "method", "palette": inks, "units": "seed", "estimator": None, "legend": False}
        seaborn.lineplot(frame, x="step", y="value", ax=axes, alpha=0.75, linewidth=1.2, **look)
        axes.xaxis.set_major_formatter(lambda step, _: f"{step / 1000:,g} k")
        axes.set(xlabel="training examples seen", ylabel=label or f"{split}: {numbers.name(measure)}")
        axes.grid()
        alt = f"{numbers.name(measure)} of {', '.join(map(page.label, inks))} while training."
        parts.append(figure(drawing, caption=words, alt=alt, note="A line per seed."))
    return page.together(parts)
