"""Well-formed HTML by small hands: everything that comes from outside goes through `esc`.

Fragments hold no blank line, so that they also survive inside Markdown. A number that a run recorded stands in a link
without an address (`why`); `sentbook.report_old.pedigree` gives it one when a page of the book is laid out.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sentbook.report_old.names import readable_html
from sentbook.report_old.style import style_tag

# What XML forbids, and the marks that turn the direction of text and so could disguise it.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


class Html(str):
    """Text that is safe HTML already; `esc` leaves it as it is."""

    __slots__ = ()


def esc(text: object) -> Html:
    """Make any text safe in HTML content and in quoted attributes; control characters become a replacement sign."""
    if isinstance(text, Html):
        return text
    cleaned = _FORBIDDEN.sub("\ufffd", str(text))
    return Html(html.escape(re.sub(r"[ \t\r\n]+", " ", cleaned), quote=True))


def attributes(**given: object) -> Html:
    """Write HTML attributes, empty ones left out; a list holds words, of which empty ones are left out too.

    Example:
        >>> attributes(id="", title="a & b", **{"class": ["x", "", "y"]})
        ' title="a &amp; b" class="x y"'
    """
    words = {name: " ".join(filter(None, value)) if isinstance(value, list) else value for name, value in given.items()}
    return Html("".join(f' {name}="{esc(value)}"' for name, value in words.items() if value))


def badge(text: str, kind: str = "") -> str:
    return f'<li class="sb-badge{f" sb-badge-{kind}" if kind else ""}">{esc(text)}</li>'


def script(name: str, data: object) -> str:
    """Write data for a page's script into the page, on one line, so that it is there without a server too.

    Example:
        >>> script("x", ["</script>", 1])
        '<script type="application/json" id="x">["\\\\u003c/script>",1]</script>'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def folded(summary: str, items: Sequence[str]) -> Html:
    """Fold a list of ready HTML under its summary."""
    return Html(
        f"<details><summary>{esc(summary)}</summary><ul>{''.join(f'<li>{i}</li>' for i in items)}</ul></details>"
    )


def verdict(value: str) -> Html:
    """Write a verdict in words, with a sign beside the colour."""
    signs = {"reproduced": "\u2713", "exceeded": "\u2191", "not reproduced": "\u2717", "inconclusive": "\u2248"}
    sign = signs.get(value, "\u2013")
    return Html(f'<span class="verdict verdict-{esc(value.replace(" ", "-"))}">{sign} {esc(value)}</span>')


# -- which run a number is of ------------------------------------------------------------------------------------------


class Recorded(Protocol):
    """A run, or a study that will record one."""

    @property
    def paper(self) -> str: ...
    @property
    def experiment(self) -> str: ...
    @property
    def profile(self) -> str: ...


def run_name(of: Recorded | None) -> str:
    """``<profile>/<paper>/<experiment>``; empty without a run."""
    return f"{of.profile}/{of.paper}/{of.experiment}" if of is not None else ""


def row_key(*names: str) -> str:
    """Abbreviate a row of a results file: (method, dataset, metric), (a, b, dataset, metric), or a claim's id.

    Example:
        >>> row_key("CSE", "STS2012/MSRpar", "pearson")
        'ece98cc5'
    """
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:8]


def row_id(profile: str, key: str) -> str:
    """The anchor of a row on a run's page; of the profile as a whole without ``key``."""
    return f"{profile}-{key}" if key else f"profile-{profile}"


def of_run(name: str) -> str:
    """The attributes of an element whose numbers are of the run ``name``; none without a name."""
    return attributes(**{"data-run": name, "title": f"run {name}"}) if name else ""


def why(text: object, run: str, row: str = "", title: str = "", *, hidden: bool = False) -> Html:
    """Put ``text`` into a link to the page of its run: a link without an address until the book is laid out.

    Args:
        run: as `run_name`, or a profile alone; empty: no link.
        row: as `row_key`; empty: the run as a whole.
        title: the cell's own tooltip, in place of "Why this number" (book/_static/tables.js).
        hidden: the text serves the link alone, and is not shown without an address.
    """
    if not run:
        return Html("") if hidden else esc(text)
    marks = attributes(**{"data-run": run, "data-row": row, "title": title}) + ' hidden=""' * hidden
    return Html(f"<a{marks}>{esc(text)}</a>")


# -- pieces of a page --------------------------------------------------------------------------------------------------


class Piece:
    """What shows itself in a notebook and on a page: `body`, in an element that says whose numbers it holds."""

    body: str
    kind: str
    facts: bool

    @property
    def of(self) -> str:
        """The name of the run whose numbers these are, or empty."""
        raise NotImplementedError

    def html(self, *, style: bool = True) -> str:
        """The piece; without its style sheet where the page has it already."""
        if not self.body:
            return ""
        marks = of_run(self.of) + (' data-kind="facts"' if self.facts else "")
        return (
            f'<div class="sentbook {self.kind}"{marks}>{style_tag() if style else ""}{readable_html(self.body)}</div>'
        )

    def _repr_html_(self) -> str:
        return self.html()

    def __bool__(self) -> bool:
        return bool(self.body)


@dataclass(frozen=True)
class Fragment(Piece):
    """A piece of a page from ready HTML.

    Attributes:
        body: HTML without the outer element and style sheet.
        kind: class of the outer element.
        run: ``<profile>/<paper>/<experiment>`` of the run whose numbers these are; empty where there is none.
        facts: the numbers are no result: sizes of data sets, settings, what a paper printed.
    """

    body: str
    kind: str = "sentbook-table"
    run: str = ""
    facts: bool = False

    @property
    def of(self) -> str:
        return self.run

    def __repr__(self) -> str:
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", self.body)).strip()[:200]


def pipes(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Write a Markdown table; the first ``left`` columns aligned left, the others right."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    rule = "|" + "|".join(":--" if index < left else "--:" for index in range(len(head))) + "|"
    return "\n".join([line(head), rule, *[line(row) for row in rows]])
