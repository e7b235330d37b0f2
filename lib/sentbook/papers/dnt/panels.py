"""Figures of several pages: tested differences in a panel per encoder, and what a search tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from sentbook import report
from sentbook.papers.dnt.winners import encoder_of, row_label
from sentbook.records import Run, Test
from sentbook.report.figures import COLOURS, GREY
from sentbook.report.html import Shown


def differences(
    tests: Sequence[Test],
    row: Callable[[Test], str],
    kind: Callable[[Test], str] = lambda test: "",
    *,
    axis: str,
    caption: str,
) -> Shown:
    """Draw each test's difference x 100 with its interval; filled where the interval excludes zero.

    The axes end at 20, so that a failed run stretches nothing.

    Args:
        row: the label of a test's line.
        kind: what its colour stands for.
        axis: what the axis is called.
    """
    encoders, rows, kinds = (
        list(dict.fromkeys(map(name, tests))) for name in (lambda test: encoder_of(test.a), row, kind)
    )
    drawing, panels = report.subplots(0.9 + 0.26 * len(rows), 1, len(encoders), sharex=True, sharey=True, squeeze=False)
    for test in tests:
        axes, number = panels[0][encoders.index(encoder_of(test.a))], kinds.index(kind(test))
        at, ink = rows.index(row(test)) + 0.34 * (number - (len(kinds) - 1) / 2), COLOURS[number]
        low, estimate, high = np.clip([100 * test.low, 100 * test.estimate, 100 * test.high], -20, 20)
        axes.plot([low, high], [at, at], color=ink, linewidth=1.3)
        axes.plot(estimate, at, "o", color=ink, mfc="white" if test.low <= 0 <= test.high else ink, ms=5, clip_on=False)
    for axes, encoder in zip(panels[0], encoders, strict=True):
        axes.axvline(0, color=GREY, linewidth=0.9, zorder=1)
        axes.set(title=encoder, xlim=(-20, 20), ylim=(len(rows) - 0.4, -0.6))
        axes.set_xticks((-10, 0, 10))
        axes.set_yticks(range(len(rows)), rows)
        axes.grid(axis="x")
    drawing.supxlabel(axis, fontsize=9)
    if len(kinds) > 1:
        marks = [panels[0][0].plot([], [], "o", color=COLOURS[at], label=name)[0] for at, name in enumerate(kinds)]
        drawing.legend(handles=marks, loc="outside upper left", ncols=4, frameon=False)
    ahead = sum(test.estimate > 0 for test in tests)
    alt = f"{axis}: {len(tests)} differences in {len(encoders)} panels, {ahead} above zero."
    note = "Bars: 95 % over seeds and pairs. Filled: the interval excludes zero. What lies beyond 20 is at the edge."
    return report.figure(drawing, caption=caption, alt=alt, note=note)


def search(run: Run, methods: Sequence[str], dataset: str, *, caption: str) -> Shown:
    """Draw the best development value at each learning rate that a run's searches tried, a line per method."""
    held = [one for one in run.searches if one.dataset == dataset and one.method in methods]
    tried = pd.DataFrame([{"method": one.method} | point for one in held for point in one.tried])
    best = tried.groupby(["method", "learning_rate"]).development.max().unstack(0)[list(methods)]
    drawing, axes = report.subplots(2.8)
    for method in methods:
        words = f"{encoder_of(method)} {row_label(method)}" if " row" in method else method
        axes.plot(best.index, 100 * best[method], "o-", color=report.colour(method, methods), ms=4, label=words)
    axes.set(xscale="log", xlabel="learning rate", ylabel=f"development pairs of {dataset}, × 100")
    axes.set_xticks(best.index, [f"{rate:g}" for rate in best.index])
    axes.minorticks_off()
    axes.grid()
    drawing.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    alt = f"Development value over the learning rate, {len(methods)} lines."
    return report.figure(drawing, caption=caption, alt=alt, note="The best of the points with a rate; the first seed.")
