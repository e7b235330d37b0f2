from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from sentbook.report import encoder_decoder, exact_layer
from sentbook.report.markup import esc
from sentbook.report.style import PALETTES, Palette, rc, style_sheet
from sentbook.report.svg import Plot

Check = Callable[[str], Any]
HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)>"
MODELS = ("Autoencoder", "Future predictor", "Composite model", "Hierarchical model")


@pytest.fixture(scope="module")
def html() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return encoder_decoder.architecture_cnn_lstm(caption=HOSTILE).html()


@pytest.fixture(scope="module")
def drawings(html: str) -> list[str]:
    """The encoder's, then a model each, for light pages."""
    return re.findall(r'<div class="sb-plot only-light">(.*?</svg>)</div>', html)


def test_the_picture_is_well_formed_in_both_modes(html: str, well_formed: Check) -> None:
    root = well_formed(html)
    assert len(list(root.iter("figcaption"))) == 1 and esc(HOSTILE) in html
    assert html.count('role="img"') == 2 * 5 and not re.search(r'(?:href|src)="(?!#)', html)
    light, dark = (re.findall(rf'<div class="sb-plot only-{mode}">(.*?</svg>)</div>', html) for mode in PALETTES)
    assert len(light) == len(dark) == 5 and not set(light) & set(dark)
    assert PALETTES["light"].ink not in "".join(dark) and PALETTES["dark"].ink not in "".join(light)


def test_it_is_drawn_the_same_again(html: str) -> None:
    assert encoder_decoder.architecture_cnn_lstm(caption=HOSTILE).html() == html


def test_it_stands_beside_another_figure(html: str, well_formed: Check) -> None:
    well_formed(html + exact_layer.architecture_wsv().html())


def test_no_caption_no_element() -> None:
    assert "<figcaption" not in encoder_decoder.architecture_cnn_lstm().html()


def test_text_can_be_read_on_a_phone(html: str, drawings: list[str]) -> None:
    """Of 390 pixels the page and a scroll bar take 48; the models stand two in a row."""
    row_gap, gap = map(int, re.findall(r"gap:(\d+)px (\d+)px", html)[0])
    assert row_gap >= gap
    for number, drawing in enumerate(drawings):
        room = 342 if number == 0 else (342 - gap) / 2
        box = re.search(r'viewBox="0 0 ([\d.]+)', drawing)
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", drawing)]
        assert box and sizes and min(sizes) * room / float(box.group(1)) >= 9.5


def test_the_models_may_be_narrower_than_other_figures(html: str) -> None:
    """The page's rule for figures comes again with every later output, so that ours must be the more specific one."""
    general = re.search(r"([^{}]+)\{[^{}]*min-width:\s*25rem[^{}]*\}", style_sheet())
    ours = re.search(r"([^{}>]+)\{min-width:0[^{}]*\}", html)
    assert general and ours
    assert ours.group(1).count(".") > general.group(1).count(".")
    assert 'class="sentbook sentbook-models"' in html


def test_no_text_covers_another_or_leaves_its_box(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the widest face of the list."""
    kept: list[tuple[Callable[[Figure, Palette], None], tuple[float, float]]] = []

    def keep(draw: Callable[[Figure, Palette], None], *, size: tuple[float, float], alt: str, **_: object) -> Plot:
        kept.append((draw, size))
        return Plot("", "", "", alt)

    monkeypatch.setattr(encoder_decoder, "render", keep)
    encoder_decoder.architecture_cnn_lstm()
    assert len(kept) == 5
    boxed = 0
    for draw, size in kept:
        with matplotlib.rc_context(rc("light")):
            figure = Figure(figsize=size, layout="constrained")
            FigureCanvasAgg(figure)
            draw(figure, PALETTES["light"])
            figure.canvas.draw()
            texts = [(text.get_text(), text.get_window_extent()) for text in figure.axes[0].texts]
            frames = [
                patch.get_window_extent() for patch in figure.axes[0].patches if isinstance(patch, FancyBboxPatch)
            ]
        for text, box in texts:
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height, text
            for frame in frames:
                if frame.x0 < (box.x0 + box.x1) / 2 < frame.x1 and frame.y0 < (box.y0 + box.y1) / 2 < frame.y1:
                    assert frame.x0 <= box.x0 and box.x1 <= frame.x1, text
                    boxed += 1
                else:
                    apart = box.x1 <= frame.x0 or frame.x1 <= box.x0 or box.y1 <= frame.y0 or frame.y1 <= box.y0
                    assert apart, f"{text!r} crosses a box"
        for (one, a), (other, b) in itertools.combinations(texts, 2):
            apart = a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
            assert apart, f"{one!r} covers {other!r}"
    assert boxed == 2 * (2 + 2 + 3 + 8)  # each box is a ground and a line


def test_the_encoder_names_its_steps(drawings: list[str]) -> None:
    for words in ("words", "windows", "tanh", "maximum", "h = 3", "h = 4", "h = 5", "z"):
        assert f">{words}</text>" in drawings[0]
    assert drawings[0].count(">800</text>") == 3 and "The 2,400 maxima" in drawings[0]
    small = encoder_decoder.architecture_cnn_lstm(filters=200)
    assert small.html().count(">200</text>") == 2 * 3 and "The 600 maxima" in small.markdown


def test_each_model_writes_its_sentences(drawings: list[str]) -> None:
    # The sentence read and written again, the next one, the decoders.
    expected = ((2, 0, 1), (1, 1, 1), (2, 1, 2))
    for name, drawing, (said, then, decoders) in zip(MODELS[:3], drawings[1:4], expected, strict=True):
        assert f">{name}</text>" in drawing and drawing.count(">CNN</text>") == 1
        assert drawing.count(">we sat down</text>") == said
        assert drawing.count(">but the water</text>") == then
        assert drawing.count(">LSTM</text>") == decoders


def test_the_hierarchy_never_shows_a_sentence_to_its_own_decoder(drawings: list[str]) -> None:
    """h of a step comes from the vector of the step before: of three sentences written only two are read."""
    drawing = drawings[4]
    assert f">{MODELS[3]}</text>" in drawing
    assert drawing.count(">LSTM</text>") == 2 * 3 and drawing.count(">CNN</text>") == 2
    at = {
        text: [float(x) for x in re.findall(rf'x="([\d.]+)"[^>]*>{text}</text>', drawing)]
        for text in ("start", "s\u2081", "s\u2082", "s\u2083", "z\u2080", "z\u2081", "z\u2082", "h\u2081", "h\u2083")
    }
    assert [len(at[text]) for text in ("start", "s\u2081", "s\u2082", "s\u2083")] == [1, 2, 2, 1]
    # Written one step before it is read.
    for text in ("s\u2081", "s\u2082"):
        assert abs(at[text][0] - at[text][1]) == pytest.approx(30, abs=1)
    assert at["z\u2080"] == pytest.approx(at["h\u2081"], abs=2) and at["z\u2082"] == pytest.approx(at["h\u2083"], abs=2)


def test_the_framed_numbers_are_the_largest_and_make_up_z() -> None:
    """One frame a filter, around the largest number of its column, which is handed on to z; h words a window."""
    palette = PALETTES["light"]
    for index, width in enumerate((3, 4, 5)):
        axes = Figure().subplots()
        maxima = encoder_decoder._branch(axes, palette, index, width, 100.0, 100.0)
        rectangles = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        frames = [box for box in rectangles if not box.get_fill()]
        numbers = [box for box in rectangles if box.get_fill() and box.get_linewidth() == 0]
        windows = [box for box in rectangles if box.get_fill() and box.get_linewidth() > 0]
        assert len(frames) == len(maxima) == 3
        for frame, value in zip(frames, maxima, strict=True):
            column = {box.get_y(): float(box.get_alpha() or 0) for box in numbers if box.get_x() == frame.get_x()}
            assert len(column) == 6 - width + 1
            assert value == max(column.values()) == column[frame.get_y()]
        inside = np.array([box.get_facecolor() == to_rgba(palette.hues[index], 0.75) for box in windows])
        assert inside.reshape(-1, 6).sum(axis=1).tolist() == [width] * (6 - width + 1)
        # The numbers of a window stand beside it.
        assert {box.get_y() for box in numbers} == {box.get_y() for box in windows}
