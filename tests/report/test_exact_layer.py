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
from matplotlib.figure import Figure

from sentbook.report import exact_layer
from sentbook.report.style import PALETTES, Palette, rc
from sentbook.report.svg import Plot

Check = Callable[[str], object]
HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)>"
DRAW: dict[str, Callable[..., Plot]] = {
    "architecture_wsv": exact_layer.architecture_wsv,
    "exact_layer": exact_layer.exact_layer,
}


@pytest.mark.parametrize("name", DRAW)
def test_pictures_are_well_formed_in_both_modes(name: str, well_formed: Check) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot = DRAW[name](caption=HOSTILE)
    html = plot.html()
    well_formed(html)
    assert plot.light != plot.dark and html.count('role="img"') == 2 and plot.alt
    assert "#ffffff" not in plot.dark and not re.search(r'(?:href|src)="(?!#)', html)
    assert plot == DRAW[name](caption=HOSTILE)


@pytest.mark.parametrize("name", DRAW)
def test_text_can_be_read(name: str) -> None:
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", DRAW[name]().light)]
    assert sizes and min(sizes) >= 8


@pytest.mark.parametrize("name", DRAW)
def test_no_text_covers_another(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the widest face of the list."""
    kept: dict[str, Any] = {}

    def keep(draw: Callable[[Figure, Palette], None], *, size: tuple[float, float], **_: object) -> None:
        kept.update(draw=draw, size=size)

    monkeypatch.setattr(exact_layer, "render", keep)
    DRAW[name]()
    with matplotlib.rc_context(rc("light")):
        figure = Figure(figsize=kept["size"], layout="constrained")
        FigureCanvasAgg(figure)
        kept["draw"](figure, PALETTES["light"])
        figure.canvas.draw()
        boxes = [(text.get_text(), text.get_window_extent()) for text in figure.axes[0].texts]
    width, height = figure.bbox.width, figure.bbox.height
    for text, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, text
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        apart = a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
        assert apart, f"{one!r} covers {other!r}"


def test_both_pictures_fit_on_one_page(well_formed: Check) -> None:
    well_formed(exact_layer.architecture_wsv().html() + exact_layer.exact_layer().html())


def test_the_model_names_its_steps() -> None:
    drawing = exact_layer.architecture_wsv(k=2).light
    for words in ("words", "map of word sets", "convolution", "2 largest", "mean", "sentence vector"):
        assert f">{words}</text>" in drawing


def test_the_rank_table_counts_its_pairs() -> None:
    plot = exact_layer.exact_layer(k=3)
    for words in ("first", "interior", "last", "r s \u2264 3", "5", "4 \u00b7 3", "21"):
        assert f">{words}</text>" in plot.light
    assert "the 5 pairs" in plot.alt
    assert ">9</text>" in exact_layer.exact_layer(k=1).light  # 1 + 4 + 4


def test_no_other_pair_of_ranks_is_among_the_largest() -> None:
    """What the table says, on random numbers: the k largest sums have ranks with r s <= k."""
    random = np.random.default_rng(0)
    for k, n in itertools.product((1, 2, 3, 5), (5, 8)):
        x, y = (np.sort(random.normal(size=n))[::-1] for _ in range(2))
        largest = np.argsort((x[:, None] + y).ravel())[::-1][:k]
        assert all((place // n + 1) * (place % n + 1) <= k for place in largest)


def test_the_drawn_classes_add_up_to_the_convolution() -> None:
    """What the grid says: every cell is its row's term for the column's class and its column's for the row's."""
    random = np.random.default_rng(1)
    n, (one, two) = 6, (0.45, 0.55)
    words, kernel = random.normal(size=n), random.normal(size=(3, 3))
    padded = np.pad(one * words[:, None] + two * words, 1)
    around = np.pad(words, 1)
    inside = {exact_layer.FIRST: [0, 1, 1], exact_layer.INTERIOR: [1, 1, 1], exact_layer.LAST: [1, 1, 0]}
    for i, j in itertools.product(range(n), repeat=2):
        row = one * (kernel @ inside[exact_layer._class_of(j, n)]) @ around[i : i + 3]
        column = two * (inside[exact_layer._class_of(i, n)] @ kernel) @ around[j : j + 3]
        assert row + column == pytest.approx((kernel * padded[i : i + 3, j : j + 3]).sum(), abs=1e-12)
