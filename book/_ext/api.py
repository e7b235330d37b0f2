"""Turn the docstrings' Markdown into what autodoc reads; Sphinx's own autosummary writes the pages of the package."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_DISPLAY = re.compile(r"^([ \t]*)\$\$(.+?)\$\$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<![\\`$\w])\$([^$\n]+(?:\n[^$\n]+)?)\$(?![\w$])")
_TABLE = re.compile(r"(?:^[ \t]*\|.*\n?)+", re.MULTILINE)
# Headings in Google's style that napoleon does not know.
_NAMED = re.compile(r"^([ \t]*)(Source|Deviations|Shapes|Assumptions|Cost|Equation):", re.MULTILINE)
_CODE = re.compile(r":(\n[ \t]*\n[ \t]*    \S)")
_VERBATIM = re.compile(r"(``.+?``|:?[\w:]*`[^`]+`|\.\. math::.*|^[ \t]*(?:>>>|\.\.\.).*)", re.MULTILINE)


def markdown_to_rst(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Rewrite equations, tables and named paragraphs of a docstring in place; escape what is markup in RST alone."""

    def display(found: re.Match[str]) -> str:
        return f"\n{found[1]}.. math:: {' '.join(found[2].split())}\n\n{found[1]}"

    def table(found: re.Match[str]) -> str:
        return "\n::\n\n" + "".join(f"    {line}\n" for line in found[0].splitlines()) + "\n"

    text = _DISPLAY.sub(display, _CODE.sub(r"::\1", "\n".join(lines)))
    text = _INLINE.sub(lambda found: f":math:`{' '.join(found[1].split())}`", text)
    text = re.sub(r"(?<!`)(`[^`\n]+`)(?=\w)", r"\1\\ ", text)  # a plural after a name
    parts = _VERBATIM.split(text)
    parts[::2] = [
        part if _TABLE.search(part) else re.sub(r"(\||_(?!\w)|\*(?=\w)(?![^*\n]*\w\*))", r"\\\1", part)
        for part in parts[::2]
    ]
    text = _TABLE.sub(table, "".join(parts))
    lines[:] = _NAMED.sub(r"\n\1**\2:**", text).split("\n")
