"""Architectures, drawn by code."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from sentbook.report.style import Palette
from sentbook.report.svg import Plot, render

_WORDS = ("two", "boys", "play", "in", "the", "sand")


def architecture_cse(*, caption: str = "", widths: tuple[int, ...] = (1, 2, 3), filters: int = 100) -> Plot:
    """The convolutional sentence encoder: words, windows of each width, filters, sum over positions, sentence vector.

    Source: Jiao et al. (2018), section 3.1 and figure 1.
    """

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        axes.set_xlim(0, 100)
        axes.set_ylim(-11, 61)
        axes.set_axis_off()
        middle = 29.0
        _words(axes, palette, middle)
        gap = 18.5
        tops = [middle + gap * ((len(widths) - 1) / 2 - index) for index in range(len(widths))]
        for index, (width, y) in enumerate(zip(widths, tops, strict=True)):
            _branch(axes, palette, width, y, palette.hues[index], filters)
        _vector(axes, palette, middle, tops, widths, filters)
        heads = ((9, "words"), (31.5, "windows"), (53.5, "filters"), (72.5, "sum pooling"), (91, "sentence vector"))
        for x, text in heads:
            axes.text(x, 59.5, text, ha="center", va="center", fontsize=9, fontweight="bold")
        feet = (
            (9, "x\u2081 \u2026 x\u2099\n300 numbers each"),
            (31.5, "every h words\nin a row"),
            (53.5, "c\u1d62 = w \u00b7 x + b"),
            (72.5, "\u0109 = c\u2081 + c\u2082 + \u2026"),
            (91, f"g = [\u0109\u2081, \u2026, \u0109\u2096]\nk = {filters * len(widths)}"),
        )
        for x, text in feet:
            axes.text(x, -8, text, ha="center", va="center", fontsize=8.5, color=palette.soft, linespacing=1.35)

    said = ", ".join(map(str, widths))
    return render(
        draw,
        size=(6.8, 3.9),
        caption=caption,
        alt=(
            f"The encoder from left to right: word vectors; windows of {said} words; {filters} filters for each width; "
            f"each filter's sum over all windows; the {filters * len(widths)} sums are the sentence vector."
        ),
    )


def _words(axes: Axes, palette: Palette, middle: float) -> None:
    step = 7.2
    for index, word in enumerate(_WORDS):
        y = middle + step * ((len(_WORDS) - 1) / 2 - index)
        axes.text(6.6, y, word, ha="right", va="center", fontsize=9, style="italic")
        for cell in range(5):
            strength = 0.18 + 0.62 * ((index * 7 + cell * 5) % 11) / 10
            axes.add_patch(
                Rectangle((8 + cell * 1.8, y - 1.9), 1.8, 3.8, facecolor=palette.soft, alpha=strength, edgecolor="none")
            )
        axes.add_patch(Rectangle((8, y - 1.9), 9, 3.8, fill=False, edgecolor=palette.soft, linewidth=0.7))


def _branch(axes: Axes, palette: Palette, width: int, y: float, colour: str, filters: int) -> None:
    """One window width: its windows, its filters' values, their sums."""
    _arrow(axes, palette, (18.2, 29 + (y - 29) * 0.45), (23.8, y))
    cell, high = 2.3, 3.6
    left = 31.5 - cell * len(_WORDS) / 2
    shown = min(3, len(_WORDS) - width + 1)
    for number in range(shown):
        level = y + 4.6 - number * 4.6
        for index in range(len(_WORDS)):
            inside = number <= index < number + width
            axes.add_patch(
                Rectangle(
                    (left + index * cell, level - high / 2),
                    cell,
                    high,
                    facecolor=colour if inside else "none",
                    alpha=0.75 if inside else 0.6,
                    edgecolor=palette.faint if not inside else colour,
                    linewidth=0.6,
                )
            )
    axes.text(31.5, y - 8.4, f"h = {width}", ha="center", va="center", fontsize=8.5, color=colour, fontweight="bold")
    _arrow(axes, palette, (39.6, y), (46.0, y))
    for number in range(3):
        for index in range(len(_WORDS) - width + 1):
            strength = 0.25 + 0.6 * ((number * 5 + index * 3 + width * 4) % 7) / 6
            axes.add_patch(
                Rectangle(
                    (47 + index * 2.2, y + 2.9 - number * 4.4),
                    2.2,
                    2.9,
                    facecolor=colour,
                    alpha=strength,
                    edgecolor="none",
                )
            )
    axes.text(53.5, y - 8.4, f"{filters} filters", ha="center", va="center", fontsize=8.5)
    _arrow(axes, palette, (61.3, y), (68.2, y))
    axes.add_patch(
        FancyBboxPatch(
            (69.6, y - 3.6),
            5.8,
            7.2,
            boxstyle="round,pad=0.3,rounding_size=1.4",
            facecolor="none",
            edgecolor=colour,
            linewidth=1.2,
        )
    )
    axes.text(72.5, y - 0.1, "\u03a3", ha="center", va="center", fontsize=13, color=colour)


def _vector(
    axes: Axes, palette: Palette, middle: float, tops: list[float], widths: tuple[int, ...], filters: int
) -> None:
    part = 13.0
    for index, y in enumerate(tops):
        centre = middle + part * ((len(widths) - 1) / 2 - index)
        _arrow(axes, palette, (76.8, y), (86.6, centre))
        colour = palette.hues[index]
        for cell in range(5):
            strength = 0.3 + 0.6 * ((index * 3 + cell * 4) % 6) / 5
            axes.add_patch(
                Rectangle(
                    (88, centre - part / 2 + cell * part / 5),
                    5.4,
                    part / 5,
                    facecolor=colour,
                    alpha=strength,
                    edgecolor="none",
                )
            )
        axes.text(94.8, centre, str(filters), ha="left", va="center", fontsize=8.5, color=colour)
    high = part * len(widths)
    axes.add_patch(Rectangle((88, middle - high / 2), 5.4, high, fill=False, edgecolor=palette.soft, linewidth=0.8))


def _arrow(axes: Axes, palette: Palette, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=7, color=palette.soft, linewidth=0.9, shrinkA=0, shrinkB=0
        )
    )
