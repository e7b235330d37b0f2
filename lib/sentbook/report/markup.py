"""Well-formed HTML by small hands: everything that comes from outside goes through `esc`.

Fragments hold no blank line, so that they also survive inside Markdown.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from sentbook.report.style import style_tag

# What XML forbids, and the marks that turn the direction of text and so could disguise it.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def esc(text: object) -> str:
    """Any text, safe in HTML content and in quoted attributes; control characters become a replacement sign."""
    cleaned = _FORBIDDEN.sub("\ufffd", str(text))
    return html.escape(re.sub(r"[ \t\r\n]+", " ", cleaned), quote=True)


def badge(text: str, kind: str = "") -> str:
    return f'<li class="sb-badge{f" sb-badge-{kind}" if kind else ""}">{esc(text)}</li>'


def verdict(value: str) -> str:
    """A verdict in words, with a sign beside the colour."""
    sign = {"reproduced": "\u2713", "not reproduced": "\u2717", "inconclusive": "\u2248"}.get(value, "\u2013")
    return f'<span class="verdict verdict-{esc(value.replace(" ", "-"))}">{sign} {esc(value)}</span>'


def of_run(name: str) -> str:
    """The attributes of an element whose numbers are of the run ``name``; none without a name."""
    return f' data-run="{esc(name)}" title="run {esc(name)}"' if name else ""


def from_paper(where: str, classes: str = "") -> str:
    """The attributes of an element whose numbers a paper printed, such as ``table 1 of the CSE paper``."""
    return f' class="{f"{classes} sb-paper".strip()}" title="printed in {esc(where)}"'


@dataclass(frozen=True)
class Fragment:
    """A piece of a page: shows itself in a notebook, gives Markdown to a terminal.

    Attributes:
        body: HTML without the outer element and style sheet.
        kind: class of the outer element.
        markdown: the same for readers without HTML.
        frame: the numbers, in the units shown.
        run: ``<profile>/<paper>/<experiment>`` of the run whose numbers these are; empty where there is none.
        facts: the numbers are no result: sizes of data sets, settings, what a paper printed.
    """

    body: str
    kind: str = "sentbook-table"
    markdown: str = ""
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    run: str = ""
    facts: bool = False

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, *, style: bool = True) -> str:
        """The fragment; without its style sheet where the page has it already."""
        if not self.body:
            return ""
        marks = of_run(self.run) + (' data-kind="facts"' if self.facts else "")
        return f'<div class="sentbook {self.kind}"{marks}>{style_tag() if style else ""}{self.body}</div>'

    def to_markdown(self) -> str:
        return self.markdown

    def to_frame(self) -> pd.DataFrame:
        return self.frame.copy()

    def __repr__(self) -> str:
        return self.markdown

    def __bool__(self) -> bool:
        return bool(self.body)


def pipes(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table; the first ``left`` columns aligned left, the others right."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    rule = "|" + "|".join(":--" if index < left else "--:" for index in range(len(head))) + "|"
    return "\n".join([line(head), rule, *[line(row) for row in rows]])


def table(head: str, bodies: Sequence[str], caption: str, *, label: str) -> str:
    """A scrolling table; ``head`` and ``bodies`` are rows of HTML, one body a group.

    The caption stands above the part that scrolls, so that a phone shows all of it.
    """
    groups = "".join(f"<tbody>{body}</tbody>" for body in bodies)
    top = f'<div class="sb-caption">{caption}</div>' if caption else ""
    return (
        f'{top}<div class="sb-scroll" role="region" tabindex="0" aria-label="{esc(label)}">'
        f'<table aria-label="{esc(label)}">'
        f"<thead>{head}</thead>{groups}</table></div>"
    )


def simple(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    *,
    left: int = 1,
    label: str = "",
    text: frozenset[int] = frozenset(),
    wrap: bool = False,
    marks: Sequence[str] = (),
    of_data: bool = False,
) -> str:
    """A table of ready HTML cells; heads are plain text. The first column sticks.

    Args:
        left: this many columns align left, the others right.
        text: columns of running text, which may break into lines.
        wrap: so may the first column.
        marks: for each row the row of the ledger that it shows, see `sentbook.report.marks.row_key`.
        of_data: the running text holds sentences of a data set or of a decoder; a number in them is no result.
    """
    wrapped, running = " sb-wrap" if wrap else "", "sb-text sb-data" if of_data else "sb-text"
    top = "".join(
        f'<th scope="col" class="{"sb-first" if i == 0 else "sb-left" if i < left else ""}">{esc(h)}</th>'
        for i, h in enumerate(head)
    )
    keyed = [f' data-row="{mark}"' for mark in marks] or [""] * len(rows)
    body = "".join(
        f"<tr{mark}>"
        + "".join(
            f'<th scope="row" class="sb-first{wrapped}">{cell}</th>'
            if i == 0
            else f'<td class="{running if i in text else "sb-left" if i < left else ""}">{cell}</td>'
            for i, cell in enumerate(row)
        )
        + "</tr>"
        for row, mark in zip(rows, keyed, strict=True)
    )
    return table(f"<tr>{top}</tr>", [body], caption, label=label or "Table")
