"""Define the look of all outputs: one colour-blind safe palette, drawn once, that follows the page's theme.

A figure is drawn in the light colours; each colour is then replaced by a CSS variable of the same meaning (see
`Palette.variables`), whose light and dark values stand in ``static/outputs.css``. Outputs carry that style sheet,
because JupyterLab and exported notebooks do not load the book's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from sentbook.runs.papers import catalogue

if TYPE_CHECKING:
    from matplotlib.colors import LinearSegmentedColormap

# Okabe and Ito (2008): distinguishable with every common colour vision. The dark set of outputs.css has the same hues.
HUES = ("#0067a5", "#c8500a", "#00805f", "#a8467f", "#b37a00", "#3d97d1", "#5b5b5b")
MARKERS = ("o", "s", "D", "^", "v", "P", "X")


@dataclass(frozen=True)
class Palette:
    """The colours that a figure is drawn in. ``paper`` is what shows through hollow markers."""

    ink: str = "#1f2328"
    soft: str = "#5c6670"
    faint: str = "#d5dae0"
    paper: str = "#ffffff"
    hues: tuple[str, ...] = HUES

    def of(self, method: str, methods: Sequence[str]) -> str:
        """The colour of ``method`` among ``methods``: known methods keep theirs, others take the free ones in order."""
        return self.hues[place(method, methods) % len(self.hues)]

    def ramp(self, colour: str) -> LinearSegmentedColormap:
        """A colour map from almost nothing to the full colour, so that more is stronger on a light and a dark page."""
        from matplotlib.colors import LinearSegmentedColormap, to_rgb  # tables alone need no matplotlib

        return LinearSegmentedColormap.from_list("sentbook", [(*to_rgb(colour), 0.06), (*to_rgb(colour), 1.0)])

    def variables(self) -> dict[str, str]:
        """Colour -> the CSS variable that takes its place, with the colour itself for pages without the style sheet."""
        named = {"ink": self.ink, "grey": self.soft, "faint": self.faint, "ground": self.paper}
        named |= {f"hue-{number}": colour for number, colour in enumerate(self.hues)}
        return {colour: f"var(--sb-{name},{colour})" for name, colour in named.items()}


PALETTE = Palette()
_STATIC = resources.files("sentbook.report_old") / "static"


@cache
def kept() -> dict[str, int]:
    """The places of the methods that keep their colour from page to page, as their papers list them."""
    return {method: at for paper in catalogue().values() for at, method in enumerate(paper.colours)}


def place(method: str, methods: Sequence[str]) -> int:
    """The method's place in the palette; stable for the methods in `kept`, first come for the rest."""
    if method in kept():
        return kept()[method]
    taken = {kept().get(other) for other in methods}
    free = [index for index in range(len(HUES)) if index not in taken] or [0]
    unnamed = [other for other in methods if other not in kept()]
    return free[unnamed.index(method) % len(free)] if method in unnamed else free[0]


@cache
def rc() -> Any:
    """Matplotlib's settings for a figure, those of ``static/figures.mplstyle``."""
    from matplotlib import rc_params_from_file

    return rc_params_from_file(str(_STATIC / "figures.mplstyle"), use_default_template=False)


@cache
def style_sheet(name: str = "outputs") -> str:
    """A style sheet of this room, without comments and needless space."""
    text = (_STATIC / f"{name}.css").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", "", text)
    return re.sub(r"\s*([{};])\s*", r"\1", text).replace(";}", "}")


def style_tag() -> str:
    """The style sheet as an element, to stand inside each output."""
    return f"<style>{style_sheet()}</style>"


def without_sheet(html: str) -> str:
    """Take the style sheet out of outputs, for the book's pages: they load it once."""
    return re.sub(r"<style>\.sentbook\{.*?</style>", "", html)
