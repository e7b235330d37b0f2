"""How everything in this room looks: one colour-blind safe palette, one light and one dark ink, one style sheet.

Outputs carry their own small style sheet, because JupyterLab and exported notebooks do not load the book's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

Mode = Literal["light", "dark"]

# Okabe and Ito (2008): distinguishable with every common colour vision; the dark set is the same hues, lightened.
HUES: dict[Mode, tuple[str, ...]] = {
    "light": ("#0067a5", "#c8500a", "#00805f", "#a8467f", "#b37a00", "#3d97d1", "#5b5b5b"),
    "dark": ("#66b8ee", "#ff9a5c", "#4fd1a5", "#ec9fcb", "#f2c14e", "#a5d8f7", "#bdbdbd"),
}
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
# A method keeps its colour from page to page.
PLACES = {"CSE": 0, "PP": 1, "GRAN": 2, "ATT-CCG": 3}


@dataclass(frozen=True)
class Palette:
    """The colours of one mode. ``paper`` is what shows through hollow markers."""

    mode: Mode
    ink: str
    soft: str
    faint: str
    paper: str
    hues: tuple[str, ...]

    def of(self, method: str, methods: Sequence[str]) -> str:
        """The colour of ``method`` among ``methods``: known methods keep theirs, others take the free ones in order."""
        return self.hues[place(method, methods) % len(self.hues)]


PALETTES: dict[Mode, Palette] = {
    "light": Palette("light", "#1f2328", "#5c6670", "#d5dae0", "#ffffff", HUES["light"]),
    "dark": Palette("dark", "#e8eaed", "#a7b0ba", "#4a525b", "#14181e", HUES["dark"]),
}


def place(method: str, methods: Sequence[str]) -> int:
    """The method's place in the palette; stable for the methods in `PLACES`, first come for the rest."""
    if method in PLACES:
        return PLACES[method]
    taken = {PLACES[other] for other in methods if other in PLACES}
    free = [index for index in range(len(HUES["light"])) if index not in taken] or [0]
    unnamed = [other for other in methods if other not in PLACES]
    return free[unnamed.index(method) % len(free)] if method in unnamed else free[0]


def rc(mode: Mode) -> Any:
    """Matplotlib settings of ``mode``: transparent ground, text kept as text, identifiers that do not change."""
    palette = PALETTES[mode]
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "sentbook",
        "font.family": "DejaVu Sans",  # comes with matplotlib; the page replaces it by its own narrower face
        "font.size": 9.0,
        "text.color": palette.ink,
        "text.parse_math": False,
        "axes.edgecolor": palette.soft,
        "axes.labelcolor": palette.ink,
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
        "grid.color": palette.faint,
        "grid.linewidth": 0.6,
        "xtick.color": palette.soft,
        "ytick.color": palette.soft,
        "xtick.labelcolor": palette.ink,
        "ytick.labelcolor": palette.ink,
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
def style_sheet() -> str:
    """The style sheet of all outputs, from ``outputs.css``, without comments and needless space."""
    text = (resources.files("sentbook.report") / "outputs.css").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", "", text)
    return re.sub(r"\s*([{};])\s*", r"\1", text).replace(";}", "}")


def style_tag() -> str:
    """The style sheet as an element, to stand inside each output."""
    return f"<style>{style_sheet()}</style>"
