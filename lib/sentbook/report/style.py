"""How everything in this room looks: one colour-blind safe palette, one light and one dark ink, one style sheet.

Outputs carry their own small style sheet, because JupyterLab and exported notebooks do not load the book's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


def rc(mode: Mode) -> dict[str, Any]:
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


_DARK = (
    'html[data-theme="dark"] {0},body[data-jp-theme-light="false"] {0},body.vscode-dark {0}'  # book, JupyterLab, VS Code
)
_DARK_VARIABLES = "--sb-good:#5cc88f;--sb-bad:#ff8f7a;--sb-mid:#e8bb4a;--sb-mark:#5a4a12;--sb-accent:#66b8ee"

# A page that names no theme has a white ground, so light is the default and only a named dark theme changes it;
# `data-theme="auto"` leaves the choice to the reader's system.
CSS = "".join(
    line.strip()
    for line in (
        """
.sentbook{--sb-line:color-mix(in srgb,currentColor 16%,transparent);--sb-soft:color-mix(in srgb,currentColor 68%,transparent);
--sb-tint:color-mix(in srgb,currentColor 5%,transparent);--sb-good:#0a6b3d;--sb-bad:#b3261e;--sb-mid:#7a5600;--sb-mark:#fdeeb5;
--sb-accent:#0067a5;--sb-ground:var(--pst-color-background,var(--jp-layout-color0,Canvas));margin:1.25rem 0;line-height:1.4}
"""
        + _DARK.format(".sentbook")
        + "{"
        + _DARK_VARIABLES
        + "}"
        + '@media (prefers-color-scheme:dark){html[data-theme="auto"] .sentbook{'
        + _DARK_VARIABLES
        + "}}"
        + """
html[data-theme="dark"] .bd-content div.cell_output .text_html:has(.sentbook)
{background:transparent!important;color:inherit!important;padding:0!important}
.sentbook .sb-scroll{overflow-x:auto;-webkit-overflow-scrolling:touch}
.sentbook .sb-scroll:focus-visible{outline:2px solid var(--sb-accent);outline-offset:2px}
.sentbook table{border-collapse:collapse;border:0;width:auto;max-width:none;min-width:min(100%,22rem);margin:0;font-size:.86rem;
font-variant-numeric:tabular-nums lining-nums;caption-side:top;color:inherit;display:table;table-layout:auto}
.sentbook caption,.sentbook .sb-caption{text-align:left;padding:0 0 .5rem;color:inherit;font-size:.92rem;caption-side:top;font-weight:400}
.sentbook caption strong,.sentbook .sb-caption strong{display:block;font-weight:650}
.sentbook caption .sb-how{color:var(--sb-soft);font-size:.82rem;display:block}
.sentbook th,.sentbook td{padding:.28rem .7rem;border:0;text-align:right;vertical-align:baseline;background:none;white-space:nowrap;
font-weight:400;max-width:none}
.sentbook tr,.sentbook tbody tr:nth-child(odd),.sentbook tbody tr:nth-child(even){background:none}
.sentbook thead tr:first-child>*{border-top:1.5px solid currentColor;padding-top:.45rem}
.sentbook thead tr:last-child>*{border-bottom:1px solid currentColor}
.sentbook thead th{font-weight:600;vertical-align:bottom;text-align:right}
.sentbook thead th[scope=colgroup]{text-align:center;border-bottom:1px solid var(--sb-line)}
.sentbook thead tr:not(:first-child) th{font-weight:400;color:var(--sb-soft);font-size:.8rem}
.sentbook tbody:last-of-type tr:last-child>*{border-bottom:1.5px solid currentColor}
.sentbook tbody+tbody tr:first-child>*{border-top:1px solid var(--sb-line)}
.sentbook th.sb-first{position:sticky;left:0;z-index:1;background:var(--sb-ground);text-align:left;padding-left:.15rem}
.sentbook .sb-start{border-left:1px solid var(--sb-line)}
.sentbook tr.sb-group th{font-weight:650;text-align:left;padding-top:.5rem;font-size:.82rem;letter-spacing:.01em}
.sentbook tr.sb-average>*{background:var(--sb-tint);font-weight:550;border-top:1px solid var(--sb-line)}
.sentbook tr.sb-average th.sb-first{background:linear-gradient(var(--sb-tint),var(--sb-tint)),var(--sb-ground)}
.sentbook .sb-best{font-weight:750}
.sentbook .sb-ci{display:block;color:var(--sb-soft);font-size:.74rem;font-weight:400;line-height:1.2}
.sentbook .sb-soft{color:var(--sb-soft);font-weight:400}
.sentbook .sb-left,.sentbook td.sb-text{text-align:left;white-space:normal}
.sentbook td.sb-text{min-width:13rem;max-width:30rem}
.sentbook tbody th.sb-wrap{white-space:normal;min-width:6rem;max-width:9rem}
.sentbook .sb-badges{display:flex;flex-wrap:wrap;gap:.3rem;margin:.1rem 0 .6rem;padding:0;list-style:none}
.sentbook .sb-badge,.sentbook .verdict{display:inline-block;padding:.06rem .5rem;border:1px solid var(--sb-line);border-radius:1rem;
font-size:.74rem;white-space:nowrap;line-height:1.5}
.sentbook .sb-badge-new,.sentbook .sb-badge-substitute{color:var(--sb-mid);border-color:currentColor}
.sentbook .verdict{font-weight:600;border-color:currentColor}
.sentbook .verdict-reproduced{color:var(--sb-good)}
.sentbook .verdict-not-reproduced{color:var(--sb-bad)}
.sentbook .verdict-inconclusive{color:var(--sb-mid)}
.sentbook .verdict-not-run{color:var(--sb-soft);border-style:dashed}
.sentbook .sb-foot{color:var(--sb-soft);font-size:.78rem;margin:.45rem 0 0;max-width:44rem}
.sentbook .sb-notice,.sentbook .sb-box{border-left:3px solid var(--sb-mid);background:var(--sb-tint);padding:.6rem .9rem;margin:0 0 .8rem;
font-size:.88rem;border-radius:0 .25rem .25rem 0;max-width:46rem}
.sentbook .sb-notice strong,.sentbook .sb-box strong{display:block}
.sentbook .sb-box ul{margin:.3rem 0 0;padding-left:1.1rem}
.sentbook code{font-size:.85em;white-space:pre-wrap;overflow-wrap:anywhere}
.sentbook dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0;font-size:.84rem}
.sentbook dt{color:var(--sb-soft);font-weight:400}
.sentbook dd{margin:0;min-width:0;overflow-wrap:anywhere}
.sentbook details summary{cursor:pointer}
.sentbook details ul{margin:.25rem 0;padding-left:1.1rem}
.sentbook mark{background:var(--sb-mark);color:inherit;padding:0 .08em;border-radius:.15em}
.sentbook td.sb-pair{text-align:left;white-space:normal;min-width:15rem;max-width:34rem}
.sentbook td.sb-pair span{display:block}
.sentbook td.sb-pair span+span{margin-top:.15rem}
.sentbook figure,figure.sentbook{margin:1.5rem 0;max-width:none}
.sentbook .sb-plot{overflow-x:auto}
.sentbook .sb-plot svg{display:block;height:auto;min-width:25rem}
.sentbook .sb-plot svg text{font-variant-numeric:tabular-nums}
.sentbook figcaption{font-size:.88rem;color:inherit;text-align:left;margin-top:.5rem;max-width:46rem}
.sentbook .sb-plot.only-dark{display:none}
"""
        + _DARK.format(".sentbook .sb-plot.only-dark")
        + "{display:block}"
        + _DARK.format(".sentbook .sb-plot.only-light")
        + "{display:none}"
        + '@media (prefers-color-scheme:dark){html[data-theme="auto"] .sentbook .sb-plot.only-dark{display:block}'
        + 'html[data-theme="auto"] .sentbook .sb-plot.only-light{display:none}}'
        + "@media print{.sentbook .sb-scroll{overflow:visible}}"
        + "@media (max-width:40rem){.sentbook th,.sentbook td{padding:.25rem .45rem}.sentbook table{font-size:.8rem}"
        + ".sentbook th.sb-first{max-width:7.5rem;white-space:normal}.sentbook td.sb-text,.sentbook td.sb-pair{min-width:12rem}"
        + ".sentbook dl{grid-template-columns:1fr;gap:0}.sentbook dd{margin-bottom:.35rem}}"
    ).splitlines()
)


def style_tag() -> str:
    """The style sheet as an element, to stand inside each output."""
    return f"<style>{CSS}</style>"
