"""Why this number: the marks of a table become links to the run that its numbers are of, when a page is laid out.

Report functions name the run on the outer element (``data-run``) and, where it is cheap, the row of the ledger that a
cell shows (``data-row``). In JupyterLab and in a single file the marks stay marks, with a tooltip; in the book each
cell with a number leads to ``book/_runs/<paper>/<experiment>.html``, and the badges say when a run is stale.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from sentbook.report.markup import badge
from sentbook.runs import ledger, lineage
from sentbook.system.paths import root

RUNS = "book/_runs"
ALL_RUNS = "book/runs"
# Cells whose numbers are no result of a run: those that a paper printed, and those of data sets and sentences.
NOT_OURS = frozenset({"sb-paper", "sb-data"})
_TITLE = "Why this number"
_PIECES = re.compile(r"(<[/!a-zA-Z][^>]*>)")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})


def listed(folder: str = RUNS) -> list[str]:
    """The files of the table of contents under ``folder``, in its order.

    Example:
        >>> listed()[0]
        'book/_runs/cse/table1'
    """
    return [file for file in _files((root() / "_toc.yml").read_text(encoding="utf-8")) if file.startswith(f"{folder}/")]


@cache
def _files(contents: str) -> tuple[str, ...]:
    def walk(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (str(node["file"]),) if "file" in node else ()
            for value in node.values():
                yield from walk(value)
        elif isinstance(node, list):
            for value in node:
                yield from walk(value)

    return tuple(walk(yaml.safe_load(contents)))


def row_id(profile: str, key: str) -> str:
    """The anchor of a row on a run's page; of the profile as a whole without ``key``."""
    return f"{profile}-{key}" if key else f"profile-{profile}"


def split(name: str) -> tuple[str, str, str]:
    """``small/cse/table1`` -> paper, experiment, profile; a profile may hold a stroke."""
    profile, paper, experiment = name.rsplit("/", 2)
    return paper, experiment, profile


def stale_words(changed: list[str]) -> str:
    """What a badge says of `sentbook.runs.lineage.changed`; empty where the run is fresh.

    Example:
        >>> stale_words(["lib/sentbook/optim.py"]), stale_words(["unknown"]), stale_words([])
        ('stale: 1 file changed since', 'sources not recorded', '')
    """
    if changed == lineage.UNKNOWN:
        return "sources not recorded"
    if changed == lineage.EARLIER:
        return "recorded by earlier code"
    return f"stale: {len(changed)} file{'' if len(changed) == 1 else 's'} changed since" if changed else ""


def linked(body: str, page: str) -> str:
    """``body`` with links from its numbers to the pages of their runs.

    A number of a run that is not recorded, or has no page in the table of contents, stays as it is.

    Args:
        body: HTML of this package's making, or Markdown that holds such.
        page: where it will stand, as in the table of contents, e.g. ``book/_executed/cse/table1``.
    """
    return _Linker(page, {}).all(body) if "data-run=" in body else body


def link_outputs(notebook: Any, page: str) -> None:
    """`linked` in all outputs of a notebook that is laid out as ``page``."""
    stale: dict[str, str] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "data-run=" in (html := "".join(output.get("data", {}).get("text/html", ""))):
                output["data"]["text/html"] = _Linker(page, stale).all(html)


@dataclass
class _Element:
    """An open element, with what holds for all inside it."""

    tag: str
    run: str
    row: str
    title: bool  # a cell's own tooltip, which a link's would hide
    ours: bool
    badges: bool = False


class _Linker:
    """Reads markup from left to right with the open elements on a stack; all that is not a link is kept to the byte."""

    def __init__(self, page: str, stale: dict[str, str]) -> None:
        self._folder = posixpath.dirname(page)
        self._listed = frozenset(listed())
        self._targets: dict[str, str] = {}
        self._stale = stale  # run to what its badge says, for all outputs of a page
        self._open = [_Element("", "", "", False, True)]
        self._waiting = ""  # what the next text is to be a link for: td, dd (an entry) or ul (badges)

    def all(self, body: str) -> str:
        out: list[str] = []
        drawing = False
        for piece in _PIECES.split(body):
            if _PIECES.fullmatch(piece) is None:
                out.append(piece if drawing else self._text(piece))
                continue
            tag = piece.strip("</>").split(None, 1)[0].lower()
            if tag == "svg":
                drawing = not piece.startswith("</")
            if drawing or tag in _VOID or tag == "svg" or piece.startswith("<!"):
                out.append(piece)
            elif piece.startswith("</"):
                out.append(self._end(tag) + piece)
            else:
                self._start(tag, dict(_ATTRIBUTE.findall(piece)))
                out.append(re.sub(r' data-row="[^"]*"', "", piece))
        return "".join(out)

    def _start(self, tag: str, names: dict[str, str]) -> None:
        above = self._open[-1]
        run, row = names.get("data-run", above.run), names.get("data-row", above.row)
        ours = above.ours and tag != "a" and not NOT_OURS & set(names.get("class", "").split())
        title = "title" in names if tag == "td" else above.title
        badges = tag == "ul" and names.get("aria-label") == "Which run"
        self._open.append(_Element(tag, run, row, title, ours, badges))
        if tag == "td" or (tag == "dd" and "data-row" in names) or badges:
            self._waiting = tag

    def _end(self, tag: str) -> str:
        """What stands before the end of an element."""
        inside = self._open[-1]
        if len(self._open) > 1:
            self._open.pop()
        before = ""
        if tag == "ul" and inside.badges:
            before = self._stale_badge(inside.run)
        elif tag == "figcaption" and (to := self._address(inside.run, "")):
            before = f' <a href="{to}">Its run</a>'
        if tag in ("td", "dd", "ul"):
            self._waiting = ""
        return before

    def _text(self, text: str) -> str:
        """The text, with a link where one is waited for and belongs."""
        inside = self._open[-1]
        if not (self._waiting and inside.ours and _says(text, self._waiting)):
            return text
        to = self._address(inside.run, inside.row)
        if not to:
            return text
        title = f' title="{_TITLE}"' if self._waiting == "td" and not inside.title else ""
        self._waiting = ""
        bare = text.strip()
        return text.replace(bare, f'<a href="{to}"{title}>{bare}</a>', 1)

    def _address(self, run: str, row: str) -> str:
        """Of the run's page, relative to this one; empty where there is none."""
        if run not in self._targets:
            self._targets[run] = self._page_of(run)
        to = self._targets[run]
        if not to or "/" not in run:
            return to
        return f"{to}#{row_id(split(run)[2], row)}"

    def _page_of(self, run: str) -> str:
        if not run:
            return ""
        if "/" not in run:  # a whole profile
            return posixpath.relpath(f"{ALL_RUNS}.html", self._folder)
        paper, experiment, profile = split(run)
        page = f"{RUNS}/{paper}/{experiment}"
        if page not in self._listed or not ledger.path_of(paper, experiment, profile).is_file():
            return ""
        return posixpath.relpath(f"{page}.html", self._folder)

    def _stale_badge(self, run: str) -> str:
        if run not in self._stale:
            found = ledger.read(*split(run)) if self._address(run, "") else None
            self._stale[run] = stale_words(lineage.changed(found)) if found is not None else ""
        words = self._stale[run]
        return badge(words, "stale") if words else ""


def _says(text: str, waiting: str) -> bool:
    """Whether a link belongs here: a cell's text needs a number, others any text."""
    return bool(re.search(r"\d", re.sub(r"&[#\w]+;", "", text)) if waiting == "td" else text.strip())
