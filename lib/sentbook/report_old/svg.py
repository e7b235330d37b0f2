"""Render a drawing as one SVG element that stands inside HTML beside others and follows the page's theme."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

from sentbook.report_old.markup import esc, of_run, why
from sentbook.report_old.names import readable
from sentbook.report_old.style import PALETTE, Palette, rc, style_tag

Draw = Callable[[Figure, Palette], None]
_PHONE, _LEGEND = 3.75, 0.3  # inches: 360 px, and room for the legend's further lines
_FACES = "ui-sans-serif, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Plot:
    """A figure with its caption and the words that stand for it.

    Attributes:
        drawing: an SVG element with identifiers of its own, in colours of the page's theme.
        narrow: another for phones, or empty.
        caption: shown below.
        alt: read aloud in place of the drawing.
        run: as of `sentbook.report_old.markup.Fragment`.
    """

    drawing: str
    caption: str
    alt: str
    run: str = ""
    narrow: str = ""

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, *, style: bool = True) -> str:
        """The figure as an HTML element; without its style sheet where the page has it already."""
        link = why("Its run", self.run, hidden=True)
        caption = f"<figcaption>{esc(self.caption)} {link}</figcaption>" if self.caption else ""
        plot = f'<div class="sb-plot">{self.drawing}</div>'
        if self.narrow:
            plot = (
                f'<div class="sb-plot sb-wide">{self.drawing}</div><div class="sb-plot sb-narrow">{self.narrow}</div>'
            )
        tag = style_tag() if style else ""
        return f'<figure class="sentbook sentbook-figure"{of_run(self.run)}>{tag}{plot}{caption}</figure>'

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"


def render(draw: Draw, *, size: tuple[float, float], caption: str, alt: str, narrow: bool = False) -> Plot:
    """Draw in colours that the page's theme decides.

    Args:
        draw: fills an empty figure with the colours it is given.
        size: width and height in inches; 6.8 wide fills the column of a page.
        caption: shown below.
        alt: what the drawing shows, in a sentence.
        narrow: draw once more for phones, where text of the wide one would be too small to read.
    """
    alt = readable(alt)
    phone = inline(_drawn(draw, (_PHONE, size[1] + _LEGEND)), alt) if narrow else ""
    return Plot(inline(_drawn(draw, size), alt), readable(caption), alt, narrow=phone)


def _drawn(draw: Draw, size: tuple[float, float]) -> str:
    # Figure and canvas by hand: no pyplot state, no backend, nothing left open.
    with matplotlib.rc_context(rc()):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure, PALETTE)
        for text in figure.findobj(Text):
            text.set_text(readable(text.get_text()))  # type: ignore[attr-defined]
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def inline(text: str, alt: str) -> str:
    """Turn matplotlib's file into an element for a page: no prologue, no page-wide style, identifiers of its own, and
    CSS variables in place of the palette's colours."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Matplotlib's `*{...}` would restyle the whole page.
    text = re.sub(r"\s*<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>", "", text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # A hundredth of a point is finer than any screen: half the size. Inside tags only, never in a printed number.
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"-?\d+\.\d{3,}", _rounded, tag.group()), text)
    text = re.sub(r"font-family:\s*[^;\"]+", "font-family: inherit", text)
    text = re.sub(r"(font: [^;\"]*?\d(?:\.\d+)?px)\s+[^;\"]+", r"\1 inherit", text)
    prefix = f"sb{hashlib.sha256((alt + text).encode()).hexdigest()[:8]}-"
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}\1"', text)
    variables = PALETTE.variables()
    colours = re.compile(rf"(?<=fill: |roke: )(?:{'|'.join(variables)})\b")
    text = colours.sub(lambda colour: variables[colour.group()], text)
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
