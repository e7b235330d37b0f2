"""Two pictures: the model of word sets, and why its first layer needs no map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from sentbook.report.diagram import _WORDS, _arrow
from sentbook.report.style import Palette
from sentbook.report.svg import Plot, render

# A unit of the drawings is a twentieth of an inch.
_WIDE = 136.0
_LAMBDA = (0.4502, 0.5498)
FIRST, INTERIOR, LAST = range(3)
_CLASSES = ("first", "interior", "last")


def architecture_wsv(*, caption: str = "", k: int = 3) -> Plot:
    """WSV-SCNN-SV: words, the map of their sets, 3x3 convolution, the k largest cells of each filter, their mean.

    Source: Yao et al. (2018), section 3 and figure 1.
    """
    high = 61.0

    def draw(figure: Figure, palette: Palette) -> None:
        axes = _canvas(figure, high)
        middle = 32.0
        _word_column(axes, palette, middle)
        _word_map(axes, palette, middle)
        sheets = _feature_maps(axes, palette, middle, k)
        _largest(axes, palette, sheets, k)
        heads = (
            (9, "words"),
            (43, "map of word sets"),
            (81.5, "convolution"),
            (105, f"{k} largest"),
            (126, "sentence vector"),
        )
        for x, text in heads:
            axes.text(x, high - 2.5, text, ha="center", va="center", fontsize=9, fontweight="bold")
        feet = (
            (9, "w\u2081 \u2026 w\u2099\nd numbers each"),
            (43, "\u03bb\u2081 w\u1d62 + \u03bb\u2082 w\u2c7c\nfor every pair of words"),
            (81.5, "3 \u00d7 3, ReLU:\nF maps of n \u00d7 n"),
            (105, "cells of each\nfilter\u2019s map"),
            (126, "a number\na filter: F"),
        )
        for x, text in feet:
            _lines(axes, x, 4.5, text, palette.soft)

    return render(
        draw,
        size=(_WIDE / 20, high / 20),
        caption=caption,
        alt=(
            "The model from left to right: word vectors; a square map with a weighted sum of two words in each cell; "
            f"F filters of three by three cells with ReLU; the {k} largest cells of each filter; their mean is one "
            "number of the sentence vector."
        ),
    )


def exact_layer(*, caption: str = "", k: int = 3, n: int = 6) -> Plot:
    """Why the convolution of the additive map is a sum of a row's term and a column's term, and which sums can be
    among the k largest.

    Equation:
        ``Y[i, j] = R[i] + C[j]``, where R is the sequence for the class of column j and C that for the class of row i;
        the class (first, interior, last) says which taps of the kernel stay inside the map. Of sums x + y of ranks r
        and s only those with ``r s <= k`` can be among the k largest.

    Args:
        k: of the k-max pool.
        n: words of the drawn sentence, at least 4.
    """
    high = 79.0
    pairs = [(r, s) for r in range(1, k + 1) for s in range(1, k + 1) if r * s <= k]

    def draw(figure: Figure, palette: Palette) -> None:
        axes = _canvas(figure, high)
        colours = (palette.hues[1], palette.hues[0], palette.hues[2])
        _classes_of_the_map(axes, palette, colours, n)
        _taps(axes, palette, colours)
        _ranks(axes, palette, colours[INTERIOR], k, len(pairs))

    return render(
        draw,
        size=(_WIDE / 20, high / 20),
        caption=caption,
        alt=(
            "Each cell of the convolved map is a row term plus a column term. An index is first, interior or last, by "
            "the taps of the kernel that stay inside the map, which makes nine classes of cells: four corners, four "
            f"edges, the interior. Of the interior's sums only the {len(pairs)} pairs of ranks with a product of at "
            f"most {k} can be among the {k} largest."
        ),
    )


def _lines(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    """Centred lines, each a text of its own: the page's face is narrower than the one that matplotlib measures."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        at = y + 3.5 * ((len(lines) - 1) / 2 - number)
        axes.text(x, at, line, ha="center", va="center", fontsize=8.5, color=colour)


def _canvas(figure: Figure, high: float) -> Axes:
    axes = figure.subplots()
    axes.set_xlim(0, _WIDE)
    axes.set_ylim(0, high)
    axes.set_axis_off()
    return axes


# -- the model -------------------------------------------------------------------------------------------------------

_CELL = 5.2


def _hue(palette: Palette, word: int) -> str:
    return palette.hues[word % len(palette.hues)]


def _mixed(one: str, other: str, weights: tuple[float, float] = _LAMBDA) -> str:
    red, green, blue = (weights[0] * a + weights[1] * b for a, b in zip(to_rgb(one), to_rgb(other), strict=True))
    return to_hex((red, green, blue))


def _word_column(axes: Axes, palette: Palette, middle: float) -> None:
    for index, word in enumerate(_WORDS):
        y = middle + _CELL * ((len(_WORDS) - 1) / 2 - index)
        axes.text(8.6, y, word, ha="right", va="center", fontsize=9, style="italic")
        for cell in range(5):
            strength = 0.35 + 0.6 * ((index * 7 + cell * 5) % 11) / 10
            box = Rectangle((10 + cell * 1.7, y - 1.9), 1.7, 3.8, facecolor=_hue(palette, index), alpha=strength)
            axes.add_patch(box)


def _word_map(axes: Axes, palette: Palette, middle: float) -> None:
    """The grid, with a chip of each row's and each column's word; a window of 3x3 cells stands out."""
    n = len(_WORDS)
    left, top = 30.0, middle + n * _CELL / 2
    _arrow(axes, palette, (19.6, middle), (25.2, middle))
    for i in range(n):
        y = top - (i + 1) * _CELL
        axes.add_patch(Rectangle((left - 2.6, y + 0.5), 1.5, _CELL - 1, facecolor=_hue(palette, i)))
        axes.add_patch(Rectangle((left + i * _CELL + 0.5, top + 1.1), _CELL - 1, 1.5, facecolor=_hue(palette, i)))
        for j in range(n):
            colour = _mixed(_hue(palette, i), _hue(palette, j))
            axes.add_patch(Rectangle((left + j * _CELL, y), _CELL, _CELL, facecolor=colour, alpha=0.85, linewidth=0))
    for colour, wide in ((palette.paper, 3.8), (palette.ink, 1.8)):
        at = (left + 2 * _CELL, top - 4 * _CELL)
        axes.add_patch(Rectangle(at, 3 * _CELL, 3 * _CELL, fill=False, edgecolor=colour, linewidth=wide))
    _arrow(axes, palette, (left + n * _CELL + 1.4, middle), (left + n * _CELL + 6.6, middle))


def _feature_maps(axes: Axes, palette: Palette, middle: float, k: int) -> list[list[tuple[float, float]]]:
    """Three sheets, one above the other; where the k largest cells of the front one are."""
    n, cell = len(_WORDS), 3.0
    size = n * cell
    found: list[list[tuple[float, float]]] = []
    values = np.random.default_rng(3).permutation(n * n).reshape(n, n) / (n * n - 1)
    for number, (dx, dy) in enumerate(((7.0, 7.0), (3.5, 3.5), (0.0, 0.0))):
        left, bottom = 69.5 + dx, middle - size / 2 - 3.5 + dy
        axes.add_patch(Rectangle((left, bottom), size, size, facecolor=palette.paper, edgecolor="none"))
        shown = np.roll(values, (number * 2, number), axis=(0, 1))
        largest = np.sort(shown, axis=None)[-k]
        places = []
        for row in range(n):
            for column in range(n):
                x, y = left + column * cell, bottom + (n - 1 - row) * cell
                top = bool(shown[row, column] >= largest)
                strength = 0.06 + 0.5 * shown[row, column] ** 2 if not top else 1.0
                box = Rectangle((x, y), cell, cell, facecolor=palette.hues[0], alpha=strength, linewidth=0)
                axes.add_patch(box)
                if top:
                    places.append((x + cell / 2, y + cell / 2))
        axes.add_patch(Rectangle((left, bottom), size, size, fill=False, edgecolor=palette.soft, linewidth=0.8))
        found.append(places)
    return found


def _largest(axes: Axes, palette: Palette, sheets: Sequence[Sequence[tuple[float, float]]], k: int) -> None:
    """The k largest of three filters, and the vector of their means."""
    rows = (44.0, 32.0, 20.0)
    for index, y in enumerate(rows):
        for number in range(k):
            x = 105 + (number - (k - 1) / 2) * 4.0
            box = Rectangle((x - 1.5, y - 1.5), 3.0, 3.0, facecolor=palette.hues[0], alpha=1.0 - 0.18 * number)
            axes.add_patch(box)
        _arrow(axes, palette, (95.4, rows[1] + (y - rows[1]) * 0.35), (98.4, y))
        _arrow(axes, palette, (111.4, y), (122.4, y))
        axes.add_patch(
            Rectangle((123.6, y - 6), 4.8, 12, facecolor=palette.hues[0], alpha=(0.85, 0.5, 0.68)[index], linewidth=0)
        )
    axes.text(116.9, rows[0] + 2.6, "mean", ha="center", va="center", fontsize=8.5)
    axes.add_patch(Rectangle((123.6, rows[-1] - 6), 4.8, 36, fill=False, edgecolor=palette.soft, linewidth=0.8))


# -- the exact layer -------------------------------------------------------------------------------------------------


def _class_of(index: int, n: int) -> int:
    return FIRST if index == 0 else LAST if index == n - 1 else INTERIOR


def _strength(index: int, kind: int, salt: int) -> float:
    return 0.3 + 0.65 * ((index * 7 + kind * 4 + salt) % 11) / 10


def _classes_of_the_map(axes: Axes, palette: Palette, colours: Sequence[str], n: int) -> None:
    """The grid of nine classes between the three row sequences (left) and the three column sequences (above).

    A cell's lower left half has the colour of its row's term, its upper right half that of its column's.
    """
    cell, gap, narrow = 36.0 / n, 1.3, 3.6
    left, top = 23.0, 56.0

    def start(index: int) -> float:
        return index * cell + gap * _class_of(index, n)

    for kind in range(3):
        off = (narrow + 0.8) * (3 - kind) + 1.6
        for index in range(n):
            for at, size, salt in (
                ((left - off, top - start(index) - cell), (narrow, cell), 0),
                ((left + start(index), top + off - narrow), (cell, narrow), 3),
            ):
                strength = _strength(index, kind, salt)
                box = Rectangle(
                    at, *size, facecolor=colours[kind], alpha=strength, edgecolor=palette.paper, linewidth=0.6
                )
                axes.add_patch(box)
    for i in range(n):
        for j in range(n):
            x, y = left + start(j), top - start(i) - cell
            row, column = _class_of(j, n), _class_of(i, n)
            corners = ((x, y + cell), (x, y), (x + cell, y), (x + cell, y + cell))
            for points, kind, strength in (
                (corners[:3], row, _strength(i, row, 0)),
                ((corners[0], *corners[2:]), column, _strength(j, column, 3)),
            ):
                axes.add_patch(Polygon(points, facecolor=colours[kind], alpha=strength, linewidth=0))
            axes.add_patch(Rectangle((x, y), cell, cell, fill=False, edgecolor=palette.paper, linewidth=0.8))
    wide = start(n - 1) + cell
    axes.text(left + wide / 2, top + 19.2, "column terms C\u2c7c", ha="center", va="center", fontsize=9)
    axes.text(left - 19, top - wide / 2, "row terms R\u1d62", ha="center", va="center", fontsize=9, rotation=90)
    # One cell of an edge, with the two elements that it adds.
    i, j = n - 3, n - 1
    for at, size in (
        ((left + start(j), top - start(i) - cell), (cell, cell)),
        ((left - (narrow + 0.8) - 1.6, top - start(i) - cell), (narrow, cell)),
        ((left + start(j), top + 2 * (narrow + 0.8) + 1.6 - narrow), (cell, narrow)),
    ):
        axes.add_patch(Rectangle(at, *size, fill=False, edgecolor=palette.ink, linewidth=1.6, zorder=5))
    axes.text(
        left + wide / 2,
        top - wide - 4.2,
        "Y\u1d62\u2c7c = R\u1d62 + C\u2c7c",
        ha="center",
        va="center",
        fontsize=10.5,
        fontweight="bold",
    )
    text = "R by the column\u2019s class, C by the row\u2019s:\n4 corners, 4 edges, the interior"
    _lines(axes, left + wide / 2, top - wide - 10.4, text, palette.soft)


def _taps(axes: Axes, palette: Palette, colours: Sequence[str]) -> None:
    """The kernel for each class of a column: one column of taps falls off the map at either end."""
    axes.text(
        105,
        75.2,
        "a column\u2019s class: which taps stay inside",
        ha="center",
        va="center",
        fontsize=9,
        fontweight="bold",
    )
    size = 4.0
    for kind, x in ((FIRST, 85.0), (INTERIOR, 105.0), (LAST, 125.0)):
        out = {FIRST: 0, LAST: 2}.get(kind)
        for row in range(3):
            for column in range(3):
                at = (x + (column - 1.5) * size, 62.5 + (1 - row) * size)
                inside = column != out
                box = Rectangle(
                    at,
                    size,
                    size,
                    facecolor=colours[kind] if inside else "none",
                    alpha=0.8 if inside else 1.0,
                    edgecolor=palette.paper if inside else palette.soft,
                    linewidth=0.8,
                    linestyle="-" if inside else (0, (2, 2)),
                )
                axes.add_patch(box)
        axes.text(x, 55.2, _CLASSES[kind], ha="center", va="center", fontsize=9, color=colours[kind], fontweight="bold")


def _ranks(axes: Axes, palette: Palette, colour: str, k: int, pairs: int) -> None:
    """The products of ranks; those of at most k are filled."""
    size, shown = 6.0, max(k + 1, 4)
    left, top = 83.0, 33.0
    axes.text(
        105, 43.2, f"which sums can be among the {k} largest", ha="center", va="center", fontsize=9, fontweight="bold"
    )
    axes.text(left + shown * size / 2, top + 5.0, "rank s of C\u2c7c", ha="center", va="center", fontsize=8.5)
    axes.text(
        left - 5.6, top - shown * size / 2, "rank r of R\u1d62", ha="center", va="center", fontsize=8.5, rotation=90
    )
    for r in range(1, shown + 1):
        axes.text(left + (r - 0.5) * size, top + 1.6, str(r), ha="center", va="center", fontsize=8, color=palette.soft)
        axes.text(left - 2.0, top - (r - 0.5) * size, str(r), ha="center", va="center", fontsize=8, color=palette.soft)
        for s in range(1, shown + 1):
            inside = r * s <= k
            x, y = left + (s - 1) * size, top - r * size
            box = Rectangle((x, y), size, size, facecolor=colour if inside else "none", edgecolor=palette.faint)
            box.set_linewidth(0.8)
            axes.add_patch(box)
            axes.text(
                x + size / 2,
                y + size / 2,
                str(r * s),
                ha="center",
                va="center",
                fontsize=9 if inside else 8,
                color=palette.paper if inside else palette.soft,
                fontweight="bold" if inside else "normal",
            )
    under = top - shown * size - 3.0
    axes.text(left + shown * size / 2, under, f"r s \u2264 {k}", ha="center", va="center", fontsize=9)
    lines = (
        ("interior:", str(pairs)),
        ("four edges:", f"4 \u00b7 {k}"),
        ("four corners:", "4"),
        ("together:", str(pairs + 4 * k + 4)),
    )
    for number, (words, count) in enumerate(lines):
        weight = "bold" if number == len(lines) - 1 else "normal"
        y = top - 2.6 - number * 5.0
        axes.text(128, y, words, ha="right", va="center", fontsize=9, fontweight=weight)
        axes.text(134.5, y, count, ha="right", va="center", fontsize=9, fontweight=weight)
    axes.text(134.5, top - 2.6 - len(lines) * 5.0, "in place of n\u00b2 sums", ha="right", va="center", fontsize=9)


__all__ = ["architecture_wsv", "exact_layer"]
