"""The CNN-LSTM models: their encoder, and what each of the four writes from its vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from sentbook.report.markup import Fragment, esc
from sentbook.report.style import Palette
from sentbook.report.svg import Plot, render

# A unit of the drawings is a point, and matplotlib keeps 3 of them free on each side.
_MARGIN = 6.0
_ENCODER = (264.0, 352.0)
_MODEL = (132.0, 168.0)

_SENTENCE = ("we", "sat", "down", "by", "the", "sea")
_SAME = "we sat down\nby the sea"
_NEXT = "but the water\nwas too cold"
_WIDTHS = (3, 4, 5)
_DECODER, _PARAGRAPH = 3, 4  # places in the palette; the first three are those of the widths

# Five small drawings flow where one large drawing would shrink: the models stand beside the encoder, on a phone below.
# The first selector is longer than the one that keeps other figures wide.
_LAYOUT = (
    ".sentbook.sentbook-models .sb-plot svg{min-width:0;margin:0 auto}"
    ".sentbook-models .sb-models{display:flex;flex-wrap:wrap;align-items:center;gap:18px;max-width:780px}"
    ".sentbook-models .sb-encoder{flex:1 1 18.6rem;max-width:376px}"
    ".sentbook-models .sb-four{flex:1.1 1 19.4rem;max-width:386px;display:grid;gap:20px 12px;"
    "grid-template-columns:repeat(2,minmax(0,1fr))}"
)


class _Model(NamedTuple):
    """A model: its name, its drawing, and the words that stand for it."""

    name: str
    draw: Callable[[Axes, Palette], None]
    alt: str


def architecture_cnn_lstm(*, caption: str = "", filters: int = 800) -> Fragment:
    """The encoder of all models, and the autoencoder, future predictor, composite and hierarchical model.

    Five drawings that reflow: two columns on a wide page, the encoder above the models on a narrow one.

    Source: Gan et al. 2017, section 2 and equations 1-8; windows and filters from section 4. The sentences are ours.

    Args:
        caption: shown below.
        filters: of each width.
    """
    encoder = _encoder(filters)
    models = [_plot(_MODEL, _titled(model), model.alt) for model in _MODELS]
    shown = f'<div class="sb-encoder">{_both(encoder)}</div>'
    shown += f'<div class="sb-four">{"".join(f"<div>{_both(model)}</div>" for model in models)}</div>'
    below = f"<figcaption>{esc(caption)}</figcaption>" if caption else ""
    said = " ".join(plot.alt for plot in (encoder, *models))
    return Fragment(
        body=f'<style>{_LAYOUT}</style><figure><div class="sb-models">{shown}</div>{below}</figure>',
        kind="sentbook-models",
        markdown=f"Figure: {said}",
    )


def _both(plot: Plot) -> str:
    return f'<div class="sb-plot only-light">{plot.light}</div><div class="sb-plot only-dark">{plot.dark}</div>'


def _plot(size: tuple[float, float], draw: Callable[[Axes, Palette], None], alt: str) -> Plot:
    wide, high = size

    def drawing(figure: Figure, palette: Palette) -> None:
        axes = figure.subplots()
        axes.set_xlim(0, wide)
        axes.set_ylim(0, high)
        axes.set_axis_off()
        draw(axes, palette)

    return render(drawing, size=((wide + _MARGIN) / 72, (high + _MARGIN) / 72), caption="", alt=alt)


# -- the encoder -----------------------------------------------------------------------------------------------------

# Of a row of windows and of its numbers: from row to row, its height, from number to number; numbers shown a window.
_ROW, _HIGH, _NEXT_TO, _SHOWN = 14.5, 11.5, 13.5, 3
_PART = 14.0


def _encoder(filters: int) -> Plot:
    wide, high = _ENCODER
    middle, gap = 169.0, 92.0

    def draw(axes: Axes, palette: Palette) -> None:
        _title(axes, wide / 2, high - 7, "Encoder")
        _words(axes, palette, middle)
        for index, width in enumerate(_WIDTHS):
            y = middle + gap * (1 - index)
            maxima = _branch(axes, palette, index, width, y, middle)
            _segment(axes, palette, index, maxima, y, middle)
            _text(axes, 252, _segment_middle(index, middle), str(filters), palette.hues[index], size=8.5)
        heads = ((31, "words"), (102, "windows"), (173, "tanh"), (232, "maximum"))
        for x, text in heads:
            _text(axes, x, high - 30, text, palette.ink, weight="bold")
        feet = (
            (31, "a vector\neach"),
            (102, "h words\nin a row"),
            (173, "a number\na window"),
            (232, "over time,\none a filter"),
        )
        for x, text in feet:
            _lines(axes, x, 13, text, palette.soft)
        above = _segment_middle(0, middle) + _PART * _SHOWN / 2 + 9
        _text(axes, 232, above, "z", palette.ink, size=11, weight="bold", style="italic")

    said = f"{_WIDTHS[0]}, {_WIDTHS[1]} and {_WIDTHS[2]}"
    return _plot(
        _ENCODER,
        draw,
        f"The encoder, from left to right: the words' vectors; windows of {said} words in a row; {filters} filters "
        "for each width, whose tanh is one number a window; each filter's maximum over time. "
        f"The {filters * len(_WIDTHS):,} maxima are the sentence's vector z.",
    )


def _words(axes: Axes, palette: Palette, middle: float) -> None:
    step = 18.0
    for index, word in enumerate(_SENTENCE):
        y = middle + step * ((len(_SENTENCE) - 1) / 2 - index)
        axes.text(30, y, word, ha="right", va="center", fontsize=9, style="italic")
        for cell in range(4):
            strength = 0.18 + 0.62 * ((index * 7 + cell * 5) % 11) / 10
            at = (34 + cell * 5.0, y - 5.5)
            axes.add_patch(Rectangle(at, 5.0, 11.0, facecolor=palette.soft, alpha=strength, linewidth=0))
        axes.add_patch(Rectangle((34, y - 5.5), 20, 11, fill=False, edgecolor=palette.soft, linewidth=0.7))


def _branch(axes: Axes, palette: Palette, index: int, width: int, y: float, middle: float) -> list[float]:
    """All windows of one width, a row each; beside each row a few filters' values; each filter's largest framed.

    Returns:
        The largest values.
    """
    hue, cell, left, values = palette.hues[index], 8.0, 78.0, 154.0
    rows = len(_SENTENCE) - width + 1
    _arrow(axes, palette, (58, middle + (y - middle) * 0.4), (74, y))
    table = [[0.15 + 0.7 * ((row * 5 + f * 4 + width * 3) % 7) / 6 for f in range(_SHOWN)] for row in range(rows)]
    for row in range(rows):
        bottom = y + _ROW * ((rows - 1) / 2 - row) - _HIGH / 2
        for word in range(len(_SENTENCE)):
            inside = row <= word < row + width
            axes.add_patch(
                Rectangle(
                    (left + word * cell, bottom),
                    cell,
                    _HIGH,
                    facecolor=hue if inside else "none",
                    alpha=0.75 if inside else 0.6,
                    edgecolor=hue if inside else palette.faint,
                    linewidth=0.6,
                )
            )
        for number, strength in enumerate(table[row]):
            at = (values + number * _NEXT_TO, bottom)
            axes.add_patch(Rectangle(at, 11, _HIGH, facecolor=hue, alpha=strength, linewidth=0))
    largest = [max(column) for column in zip(*table, strict=True)]
    for number, value in enumerate(largest):
        row = [line[number] for line in table].index(value)
        at = (values + number * _NEXT_TO, y + _ROW * ((rows - 1) / 2 - row) - _HIGH / 2)
        axes.add_patch(Rectangle(at, 11, _HIGH, fill=False, edgecolor=palette.ink, linewidth=1.2, zorder=3))
    below = y - _ROW * rows / 2 - 6
    _text(axes, left + 3 * cell, below, f"h = {width}", hue, size=8.5, weight="bold")
    _arrow(axes, palette, (left + len(_SENTENCE) * cell + 5, y), (values - 5, y))
    return largest


def _segment_middle(index: int, middle: float) -> float:
    return middle + _SHOWN * _PART * (1 - index)


def _segment(axes: Axes, palette: Palette, index: int, maxima: Sequence[float], y: float, middle: float) -> None:
    """One width's share of z."""
    centre = _segment_middle(index, middle)
    for number, strength in enumerate(maxima):
        at = (225, centre + _PART * (_SHOWN / 2 - 1 - number))
        axes.add_patch(Rectangle(at, 14, _PART, facecolor=palette.hues[index], alpha=strength, linewidth=0))
    bottom = centre - _PART * _SHOWN / 2
    axes.add_patch(Rectangle((225, bottom), 14, _PART * _SHOWN, fill=False, edgecolor=palette.soft, linewidth=0.8))
    _arrow(axes, palette, (199, y), (220, centre + (y - centre) * 0.1))


# -- the models ------------------------------------------------------------------------------------------------------

_CENTRE = _MODEL[0] / 2
_SIDES = (31.0, 101.0)
# From top to bottom: the sentence that is read, the encoder, its vector, the decoder, the sentence that is written.
_READ, _CNN, _Z, _LSTM, _WRITTEN, _FOOT = 139.0, 110.0, 89.0, 67.0, 36.0, 8.0


def _titled(model: _Model) -> Callable[[Axes, Palette], None]:
    def draw(axes: Axes, palette: Palette) -> None:
        _title(axes, _CENTRE, _MODEL[1] - 7, model.name)
        model.draw(axes, palette)

    return draw


def _read(axes: Axes, palette: Palette) -> None:
    """From a sentence to z."""
    _lines(axes, _CENTRE, _READ, _SAME, palette.ink, style="italic")
    _arrow(axes, palette, (_CENTRE, _READ - 12), (_CENTRE, _CNN + 9))
    _box(axes, palette, _CENTRE, _CNN, "CNN", palette.soft)
    _arrow(axes, palette, (_CENTRE, _CNN - 8.5), (_CENTRE, _Z + 6))
    _vector(axes, palette, _CENTRE, _Z, 36, 8, palette.hues)
    _text(axes, _CENTRE + 25, _Z, "z", palette.ink, style="italic", weight="bold")


def _write(axes: Axes, palette: Palette, x: float, start: float, text: str) -> None:
    """From z to a sentence."""
    _arrow(axes, palette, (start, _Z - 5.5), (x, _LSTM + 9))
    _box(axes, palette, x, _LSTM, "LSTM", palette.hues[_DECODER])
    _arrow(axes, palette, (x, _LSTM - 8.5), (x, _WRITTEN + 12.5))
    _lines(axes, x, _WRITTEN, text, palette.ink, style="italic")


def _autoencoder(axes: Axes, palette: Palette) -> None:
    _read(axes, palette)
    _write(axes, palette, _CENTRE, _CENTRE, _SAME)
    _text(axes, _CENTRE, _FOOT, "the same sentence", palette.soft, size=8.5)


def _future(axes: Axes, palette: Palette) -> None:
    _read(axes, palette)
    _write(axes, palette, _CENTRE, _CENTRE, _NEXT)
    _text(axes, _CENTRE, _FOOT, "the next sentence", palette.soft, size=8.5)


def _composite(axes: Axes, palette: Palette) -> None:
    _read(axes, palette)
    for x, start, text in zip(_SIDES, (_CENTRE - 12, _CENTRE + 12), (_SAME, _NEXT), strict=True):
        _write(axes, palette, x, start, text)
    _text(axes, _CENTRE, _FOOT, "both, a decoder each", palette.soft, size=8.5)


def _hierarchical(axes: Axes, palette: Palette) -> None:
    """Three steps: a state of the paragraph comes from the vectors before, and writes the step's sentence."""
    top, cnn, z, paragraph, sentence, written = 143.0, 124.5, 105.0, 84.0, 56.0, 33.5
    high, wide = 13.0, 24.0
    steps = (58.5, 88.5, 118.5)
    amber, decoder = palette.hues[_PARAGRAPH], palette.hues[_DECODER]
    for y, text, colour in ((paragraph, "paragraph", amber), (sentence, "sentence", decoder)):
        axes.text(44, y, text, ha="right", va="center", fontsize=8, color=colour)
    for number, x in enumerate(steps):
        _text(axes, x, top, "start" if number == 0 else f"s{_low(number)}", palette.ink, size=8.5)
        if number:
            _arrow(axes, palette, (x, top - 5.5), (x, cnn + high / 2 + 0.5))
            _box(axes, palette, x, cnn, "CNN", palette.soft, wide, high)
        _arrow(axes, palette, (x, cnn - high / 2 - 0.5 if number else top - 5.5), (x, z + 4.5))
        # The first vector is learned, not a sentence's.
        _vector(axes, palette, x - 3, z, 12, 7, palette.hues if number else (palette.soft,) * len(_WIDTHS))
        _text(axes, x + 9, z, f"z{_low(number)}", palette.ink, size=8.5)
        _arrow(axes, palette, (x, z - 4.5), (x, paragraph + high / 2 + 0.5))
        _box(axes, palette, x, paragraph, "LSTM", amber, wide, high, size=8)
        if number:
            _arrow(axes, palette, (steps[number - 1] + wide / 2 + 0.3, paragraph), (x - wide / 2 - 0.3, paragraph))
        _arrow(axes, palette, (x, paragraph - high / 2 - 0.5), (x, sentence + high / 2 + 0.5))
        _text(axes, x + 7.5, (paragraph + sentence) / 2, f"h{_low(number + 1)}", palette.ink, size=8.5)
        _box(axes, palette, x, sentence, "LSTM", decoder, wide, high, size=8)
        _arrow(axes, palette, (x, sentence - high / 2 - 0.5), (x, written + 5.5))
        _text(axes, x, written, f"s{_low(number + 1)}", palette.ink, size=8.5)
    _text(axes, _CENTRE, _FOOT, "a paragraph, in order", palette.soft, size=8.5)


_MODELS = (
    _Model(
        "Autoencoder",
        _autoencoder,
        "Autoencoder: the CNN makes z of a sentence, and an LSTM writes the same sentence from z.",
    ),
    _Model(
        "Future predictor",
        _future,
        "Future predictor: the CNN makes z of a sentence, and an LSTM writes the next sentence from z.",
    ),
    _Model(
        "Composite model",
        _composite,
        "Composite model: from one z, an LSTM writes the same sentence and a second LSTM the next one.",
    ),
    _Model(
        "Hierarchical model",
        _hierarchical,
        "Hierarchical model: an LSTM over the paragraph takes a start vector and then the z of each sentence; its "
        "state h after each writes, through the sentence LSTM, the sentence that follows.",
    ),
)


# -- small parts -----------------------------------------------------------------------------------------------------


def _low(number: int) -> str:
    """A digit as an index."""
    return chr(0x2080 + number)


def _title(axes: Axes, x: float, y: float, text: str) -> None:
    axes.text(x, y, text, ha="center", va="center", fontsize=10, fontweight="bold")


def _text(
    axes: Axes, x: float, y: float, text: str, colour: str, *, size: float = 9, weight: str = "normal",
    style: str = "normal",
) -> None:  # fmt: skip
    axes.text(x, y, text, ha="center", va="center", fontsize=size, color=colour, fontweight=weight, fontstyle=style)


def _lines(
    axes: Axes, x: float, y: float, text: str, colour: str, *, step: float = 10.5, style: str = "normal"
) -> None:
    """Centred lines, each a text of its own: the page's face is narrower than the one that matplotlib measures."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        _text(axes, x, y + step * ((len(lines) - 1) / 2 - number), line, colour, size=8.5, style=style)


def _vector(axes: Axes, palette: Palette, x: float, y: float, wide: float, high: float, hues: Sequence[str]) -> None:
    """A sentence's vector, a colour for each width."""
    part = wide / len(_WIDTHS)
    for index in range(len(_WIDTHS)):
        at = (x - wide / 2 + index * part, y - high / 2)
        axes.add_patch(Rectangle(at, part, high, facecolor=hues[index], alpha=0.75, linewidth=0))
    axes.add_patch(
        Rectangle((x - wide / 2, y - high / 2), wide, high, fill=False, edgecolor=palette.soft, linewidth=0.7)
    )


def _box(
    axes: Axes, palette: Palette, x: float, y: float, text: str, hue: str, wide: float = 42, high: float = 15,
    *, size: float = 8.5,
) -> None:  # fmt: skip
    style = "round,pad=0,rounding_size=2.5"
    corner = (x - wide / 2, y - high / 2)
    axes.add_patch(FancyBboxPatch(corner, wide, high, boxstyle=style, facecolor=hue, alpha=0.2, linewidth=0))
    axes.add_patch(FancyBboxPatch(corner, wide, high, boxstyle=style, facecolor="none", edgecolor=hue, linewidth=1.2))
    # Capitals have nothing below the line, for which the middle of a text leaves room.
    _text(axes, x, y - 0.8, text, palette.ink, size=size)


def _arrow(axes: Axes, palette: Palette, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=5.5, color=palette.soft, linewidth=0.8, shrinkA=0, shrinkB=0
        )
    )
