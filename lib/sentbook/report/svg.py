"""One drawing, rendered for light and for dark pages, as SVG that may stand inside HTML beside others."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from sentbook.report.markup import esc, of_run
from sentbook.report.style import PALETTES, Mode, Palette, rc, style_tag
from sentbook.system.files import write_atomically

Draw = Callable[[Figure, Palette], None]
_FACES = "ui-sans-serif, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Plot:
    """A figure in both modes with its caption and the words that stand for it.

    Attributes:
        light, dark: SVG elements with identifiers of their own.
        caption: shown below.
        alt: read aloud in place of the drawing.
        run: as of `sentbook.report.markup.Fragment`.
    """

    light: str
    dark: str
    caption: str
    alt: str
    run: str = ""

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, *, style: bool = True) -> str:
        """A figure element that shows the drawing of the page's mode."""
        # The drawings stand in a division of their own: the book's theme hides captions that are siblings of a mode.
        caption = f"<figcaption>{esc(self.caption)}</figcaption>" if self.caption else ""
        return (
            f'<figure class="sentbook sentbook-figure"{of_run(self.run)}>{style_tag() if style else ""}'
            f'<div><div class="sb-plot only-light">{self.light}</div>'
            f'<div class="sb-plot only-dark">{self.dark}</div></div>'
            f"{caption}</figure>"
        )

    def save(self, path: Path) -> list[Path]:
        """Write ``<path>-light.svg`` and ``<path>-dark.svg``; for pages that are not HTML."""
        written = []
        for mode, text in (("light", self.light), ("dark", self.dark)):
            target = path.with_name(f"{path.stem}-{mode}.svg")
            write_atomically(target, '<?xml version="1.0" encoding="utf-8"?>\n' + text + "\n")
            written.append(target)
        return written

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"


def render(draw: Draw, *, size: tuple[float, float], caption: str, alt: str) -> Plot:
    """Draw twice, once for each mode.

    Args:
        draw: fills an empty figure with the colours it is given; it is called once a mode.
        size: width and height in inches; 6.8 wide fills the column of a page.
        caption: shown below.
        alt: what the drawing shows, in a sentence.
    """
    return Plot(_one(draw, size, "light", alt), _one(draw, size, "dark", alt), caption, alt)


def _one(draw: Draw, size: tuple[float, float], mode: Mode, alt: str) -> str:
    # Figure and canvas by hand: no pyplot state, no backend, nothing left open.
    with matplotlib.rc_context(rc(mode)):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure, PALETTES[mode])
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return inline(stream.getvalue(), mode, alt)


def inline(text: str, mode: str, alt: str) -> str:
    """Matplotlib's file as an element for a page: no prologue, no page-wide style, identifiers that clash with none."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Matplotlib's `*{...}` would restyle the whole page.
    text = re.sub(r"\s*<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>", "", text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # A hundredth of a point is finer than any screen: half the size. Inside tags only, never in a printed number.
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"-?\d+\.\d{3,}", _rounded, tag.group()), text)
    text = re.sub(r"font-family:\s*[^;\"]+", "font-family: inherit", text)
    text = re.sub(r"(font: [^;\"]*?\d(?:\.\d+)?px)\s+[^;\"]+", r"\1 inherit", text)
    prefix = f"sb{hashlib.sha256((mode + alt + text).encode()).hexdigest()[:8]}-"
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}\1"', text)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    shape = f'viewBox="{box.group(0)[9:-1]}"' if box else ""
    width = float(box.group(1)) * 96 / 72 if box else 640.0
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {shape} role="img" '
        f'aria-label="{esc(alt)}" style="width:100%;max-width:{width:.0f}px;stroke-linejoin:round;stroke-linecap:butt;'
        f'font-family:{_FACES}">'
    )
    text = re.sub(r"<svg[^>]*>", lambda _: root, text, count=1)
    return re.sub(r"\n\s*", "\n", text).strip().replace("\n", " ")


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")
