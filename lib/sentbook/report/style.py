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

if TYPE_CHECKING:
    from matplotlib.colors import LinearSegmentedColormap

# Okabe and Ito (2008): distinguishable with every common colour vision. The dark set of outputs.css has the same hues.
HUES = ("#0067a5", "#c8500a", "#00805f", "#a8467f", "#b37a00", "#3d97d1", "#5b5b5b")
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
# A method keeps its colour from page to page.
PLACES = {"CSE": 0, "PP": 1, "GRAN": 2, "ATT-CCG": 3}


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


def place(method: str, methods: Sequence[str]) -> int:
    """The method's place in the palette; stable for the methods in `PLACES`, first come for the rest."""
    if method in PLACES:
        return PLACES[method]
    taken = {PLACES[other] for other in methods if other in PLACES}
    free = [index for index in range(len(HUES)) if index not in taken] or [0]
    unnamed = [other for other in methods if other not in PLACES]
    return free[unnamed.index(method) % len(free)] if method in unnamed else free[0]


# Matplotlib settings: transparent ground, text kept as text, identifiers that do not change.
RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sentbook",
    "font.family": "DejaVu Sans",  # comes with matplotlib; the page replaces it by its own narrower face
    "font.size": 9.0,
    "text.color": PALETTE.ink,
    "text.parse_math": False,
    "axes.edgecolor": PALETTE.soft,
    "axes.labelcolor": PALETTE.ink,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.facecolor": "none",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "grid.color": PALETTE.faint,
    "grid.linewidth": 0.6,
    "xtick.color": PALETTE.soft,
    "ytick.color": PALETTE.soft,
    "xtick.labelcolor": PALETTE.ink,
    "ytick.labelcolor": PALETTE.ink,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
}


@cache
def style_sheet(name: str = "outputs") -> str:
    """A style sheet of this room, without comments and needless space."""
    text = (resources.files("sentbook.report") / "static" / f"{name}.css").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", "", text)
    return re.sub(r"\s*([{};])\s*", r"\1", text).replace(";}", "}")


def style_tag() -> str:
    """The style sheet as an element, to stand inside each output."""
    return f"<style>{style_sheet()}</style>"


def without_sheet(html: str) -> str:
    """Take the style sheet out of outputs, for the book's pages: they load it once."""
    return re.sub(r"<style>\.sentbook\{.*?</style>", "", html)
