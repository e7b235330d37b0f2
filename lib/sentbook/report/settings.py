"""The four transfer settings, drawn by code."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from sentbook.report.style import Palette
from sentbook.report.svg import Plot, render


class _Column(NamedTuple):
    """A setting: its name, what moves, what stands on top, and what its loss compares."""

    name: str
    moving: frozenset[str]
    top: str
    loss: str


_COLUMNS = (
    _Column("Unsupervised\nevaluation", frozenset(), "cosine", "no training"),
    _Column("Feature\ntransfer", frozenset({"top"}), "classifier", "MSE or KL of\ntwo distributions"),
    _Column("Network\ntransfer", frozenset({"top", "enc", "wem"}), "classifier", "MSE or KL of\ntwo distributions"),
    _Column("Direct network\ntransfer", frozenset({"enc", "wem"}), "cosine", "squared error of\nthe cosine"),
)
_SIDES = (-5.2, 5.2)
_WIDTH, _HEIGHT = 9.4, 7.5


def transfer_settings(*, caption: str = "") -> Plot:
    """Words, encoder and what stands on top of a pair, in each setting: coloured where the transfer moves it.

    Source: Zhang et al. 2018, sections 2 and 3, and table 3.
    """

    def draw(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        axes.set_xlim(0, 100)
        axes.set_ylim(-3, 61)
        axes.set_axis_off()
        for index, column in enumerate(_COLUMNS):
            _column(axes, palette, 12.5 + 25 * index, column)

    return render(
        draw,
        size=(6.8, 4.0),
        caption=caption,
        alt=(
            "Four columns, each with word vectors, an encoder and a score of a pair. Unsupervised evaluation moves "
            "nothing and takes the cosine; feature transfer trains a classifier alone; network transfer trains "
            "classifier, encoder and, or not, the words; direct network transfer trains encoder and words through the "
            "cosine."
        ),
    )


def _column(axes: Axes, palette: Palette, x: float, column: _Column) -> None:
    axes.text(x, 57, column.name, ha="center", va="center", fontsize=9.5, fontweight="bold", linespacing=1.2)
    for side, at in zip("LR", _SIDES, strict=True):
        axes.text(x + at, 1, f"sentence {side}", ha="center", va="center", fontsize=8, color=palette.soft)
        _arrow(axes, palette, (x + at, 2.8), (x + at, 5.6))
        _box(axes, palette, x + at, 10, "words", moves="wem" in column.moving, hue=palette.hues[2])
        _arrow(axes, palette, (x + at, 14.4), (x + at, 17.4))
        _box(axes, palette, x + at, 21.8, "encoder", moves="enc" in column.moving, hue=palette.hues[0])
        _arrow(axes, palette, (x + at, 26.2), (x + at / 2.4, 31.4))
    top = "top" in column.moving
    _box(axes, palette, x, 36, column.top, moves=top, hue=palette.hues[1], width=2 * _WIDTH)
    _arrow(axes, palette, (x, 40.4), (x, 43.6))
    axes.text(x, 47.3, column.loss, ha="center", va="center", fontsize=8.5, color=palette.soft, linespacing=1.3)


def _box(
    axes: Axes, palette: Palette, x: float, y: float, text: str, *, moves: bool, hue: str, width: float = _WIDTH
) -> None:
    style = "round,pad=0,rounding_size=1.1"
    corner = (x - width / 2, y - _HEIGHT / 2)
    edge = hue if moves else palette.soft
    ground = FancyBboxPatch(
        corner,
        width,
        _HEIGHT,
        boxstyle=style,
        facecolor=hue if moves else "none",
        alpha=0.22 if moves else 1,
        linewidth=0,
    )
    line = FancyBboxPatch(
        corner,
        width,
        _HEIGHT,
        boxstyle=style,
        facecolor="none",
        edgecolor=edge,
        linewidth=1.6 if moves else 0.9,
        linestyle="-" if moves else (0, (3, 2)),
    )
    axes.add_patch(ground)
    axes.add_patch(line)
    axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color=palette.ink if moves else palette.soft)


def _arrow(axes: Axes, palette: Palette, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=6, color=palette.soft, linewidth=0.8, shrinkA=0, shrinkB=0
        )
    )
