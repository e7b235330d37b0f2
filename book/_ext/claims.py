"""Claims with their verdicts: the list of a paper, and the page of all verdicts with its filters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from markupsafe import Markup, escape

from _ext.html import render, title
from sentbook.judge import Entry, chance, counts, gather
from sentbook.judge.papers import paper_of, papers
from sentbook.records import Finding
from sentbook.report import numbers

# How sure a cause is.
_CAUSES = {"tested": "Tested cause", "guess": "Likely cause, not tested", "scope": "What it would need"}
_BOUNDS = ("at least", "at most", "to be above", "to be below", "to stay below")
_ID = re.compile(r"\b(?:cse|cnnlstm|wsv|dnt)-\d\d\b")


@cache
def entries(profile: str = "small") -> tuple[Entry, ...]:
    """Return every claim of the book, judged on the runs of a profile."""
    return tuple(gather(profile))


def paper_claims(paper: str) -> Markup:
    """Return the claims of a paper as a list of lines that unfold."""
    return render("claims.html", groups=_groups([one for one in entries() if one.paper == paper]), **_helpers())


def all_verdicts() -> Markup:
    """Return the counts by paper, the filters, and every claim as a line that unfolds to its card."""
    held = entries()
    by_paper = {paper_of(name).name if name in papers() else name: row for name, row in counts(held).items()}
    return render(
        "verdicts.html",
        counts=by_paper,
        shown=[name for name in next(iter(by_paper.values())) if any(row[name] for row in by_paper.values())],
        chance=chance(held),
        papers={name: paper_of(name).name for name in papers()},
        groups=_groups(held),
        **_helpers(),
    )


def value(finding: Finding | None) -> str:
    """Print a number of a claim: a value in its unit or a count of so many, after the bound's words, as "at least"."""
    if finding is None:
        return numbers.DASH
    bound = f"{finding.what.removeprefix('to be ')} " if finding.what.startswith(_BOUNDS) else ""
    if finding.of is not None:
        return f"{bound}{finding.value:g} of {finding.of} {finding.unit}"
    return bound + _number(finding, finding.value)


def interval(finding: Finding | None) -> str:
    """Print the interval of a number; nothing where it has none."""
    if finding is None or finding.low is None or finding.high is None:
        return ""
    return f"[{_number(finding, finding.low)}, {_number(finding, finding.high)}]"


def _number(finding: Finding, found: float) -> str:
    if 0 < abs(found) <= 1e-5:  # a distance
        return f"{found:.0e}"
    return numbers.shown(found, finding.unit, signed=finding.what == "difference" or numbers.MINUS in finding.what)


def linked(text: str) -> Markup:
    """Escape a text and link the claims that it names to their cards."""
    return Markup(_ID.sub(r'<a href="verdicts.html#\g<0>">\g<0></a>', str(escape(text))))


def _groups(held: Sequence[Entry]) -> dict[tuple[str, str], list[Entry]]:
    """Group claims by paper and experiment, in their order."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in held:
        found.setdefault((entry.paper, entry.experiment), []).append(entry)
    return found


def _helpers() -> dict[str, object]:
    return {
        "value": value,
        "interval": interval,
        "linked": linked,
        "title": title,
        "paper_of": paper_of,
        "states": _CAUSES,
    }
