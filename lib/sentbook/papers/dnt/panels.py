"""Figures of several pages: tested differences in a panel per encoder, and what a search tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    limit: float = 20.0,
    axis: str,
    caption: str,
) -> Shown:
    """Draw each test's difference x 100 with its interval; filled where the interval excludes zero.

    Args:
        row: the label of a test's line.
        kind: what its colour stands for.
        limit: where the axis ends; a triangle marks what lies beyond, so that a failed run stretches nothing.
        axis: what the axis is called.
    """
    encoders, rows, kinds = (
        list(dict.fromkeys(map(name, tests))) for name in (lambda test: encoder_of(test.a), row, kind)
    )
    drawing, panels = report.subplots(0.9 + 0.26 * len(rows), 1, len(encoders), sharex=True, sharey=True, squeeze=False)
    for test in tests:
        axes, number = panels[0][encoders.index(encoder_of(test.a))], kinds.index(kind(test))
        at, ink = rows.index(row(test)) + 0.34 * (number - (len(kinds) - 1) / 2), COLOURS[number]
        low, estimate, high = (max(-limit, min(limit, 100 * value)) for value in (test.low, test.estimate, test.high))
        axes.plot([low, high], [at, at], color=ink, linewidth=1.3)
        for end, mark in ((low, "<"), (high, ">")):
            if abs(end) == limit:
                axes.plot([end], [at], mark, color=ink, ms=4, clip_on=False)
        if abs(estimate) < limit:
            axes.plot([estimate], [at], "o", color=ink, mfc="white" if test.low <= 0 <= test.high else ink, ms=5)
    for axes, encoder in zip(panels[0], encoders, strict=True):
        axes.axvline(0, color=GREY, linewidth=0.9, zorder=1)
        axes.set(title=encoder, xlim=(-limit, limit), ylim=(len(rows) - 0.4, -0.6))
        axes.set_xticks((-limit / 2, 0, limit / 2))
        axes.set_yticks(range(len(rows)), rows)
        axes.grid(axis="x")
    drawing.supxlabel(axis, fontsize=9)
    if len(kinds) > 1:
        marks = [panels[0][0].plot([], [], "o", color=COLOURS[at], label=name)[0] for at, name in enumerate(kinds)]
        drawing.legend(handles=marks, loc="outside upper left", ncols=4, frameon=False)
    ahead = sum(test.estimate > 0 for test in tests)
    alt = f"{axis}: {len(tests)} differences in {len(encoders)} panels, {ahead} above zero."
    note = "Bars: 95 % over seeds and pairs. Filled: the interval excludes zero. A triangle: the interval goes on."
    return report.figure(drawing, caption=caption, alt=alt, note=note)


def search(run: Run, methods: Sequence[str], dataset: str, *, caption: str) -> Shown:
    """Draw the best development value at each learning rate that a run's searches tried, a line per method.

    Args:
        dataset: one that the run does not have: its first.
    """
    known = [one.dataset for one in run.searches if one.method in methods]
    held = [one for one in run.searches if one.dataset == (dataset if dataset in known else known[0])]
    drawing, axes = report.subplots(2.8)
    for one in (one for method in methods for one in held if one.method == method):
        best: dict[float, float] = {}
        for point in one.tried:
            if point["development"] is not None:
                rate = point["learning_rate"]
                best[rate] = max(best.get(rate, -100.0), 100 * point["development"])
        ink = report.colour(one.method, methods)
        words = f"{encoder_of(one.method)} {row_label(one.method)}" if " row" in one.method else one.method
        axes.plot(sorted(best), [best[rate] for rate in sorted(best)], "o-", color=ink, ms=4, label=words)
    rates = sorted({point["learning_rate"] for one in held for point in one.tried if one.method in methods})
    axes.set(xscale="log", xlabel="learning rate", ylabel=f"development pairs of {held[0].dataset}, × 100")
    axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
    axes.minorticks_off()
    axes.grid()
    drawing.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    alt = f"Development value over the learning rate, {len(methods)} lines."
    return report.figure(drawing, caption=caption, alt=alt, note="The best of the points with a rate; the first seed.")
