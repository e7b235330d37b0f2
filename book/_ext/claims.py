"""Claims with their verdicts: the list of a paper, and the page of all verdicts with its filters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from markupsafe import Markup, escape

from _ext.html import render, title
from sentbook.judge import DECIDED, Entry, Number, gather
from sentbook.judge.claims import papers
from sentbook.judge.rules import EACH, LEVEL, WHOLE, judgement, name_of
from sentbook.report import numbers, verdicts
from sentbook.report.summary import readable

# How sure a cause is.
_CAUSES = {"tested": "Tested cause", "guess": "Likely cause, not tested", "scope": "What it would need"}
_BOUNDS = ("at least", "at most", "to be above", "to be below", "to stay below", "within ±")
_ORDER = (*DECIDED, "inconclusive", "out of scale", "the paper contradicts itself", "not run", "all")
ID = re.compile(rf"\b(?:{'|'.join(paper.replace('_', '') for paper in papers())})-\d\d\b")


@cache
def entries(profile: str = "small") -> tuple[Entry, ...]:
    """Return every claim of the book, judged on the runs of a profile."""
    return tuple(gather(profile))


def paper_claims(paper: str) -> Markup:
    """Return the claims of a paper as a list of lines that unfold."""
    return render("claims.html", groups=_groups([one for one in entries() if one.paper == paper]), **_helpers())


def all_verdicts() -> Markup:
    """Return the counts by paper, the filters, and every claim as a line that unfolds to its card."""
    held, by_paper = entries(), counts(entries())
    return render(
        "verdicts.html",
        counts=by_paper,
        shown=[name for name in _ORDER if any(row[name] for row in by_paper.values())],
        chance=chance(held),
        papers={name: papers()[name].name for name in dict.fromkeys(entry.paper for entry in held)},
        groups=_groups(held),
        **_helpers(),
    )


def all_rules() -> Markup:
    """Return each rule as the sentence that it is documented by."""
    told = (" ".join(str(rule.__doc__).split()).split(". ", 1) for rule in (*EACH.values(), *WHOLE.values(), judgement))
    lines = Markup("").join(Markup("<dt>{}</dt><dd>{}</dd>").format(name, says) for name, says in told)
    return Markup("<details><summary>The rules, as the judge applies them</summary><dl>{}</dl></details>").format(lines)


def tally(paper: str) -> Markup:
    """Return how many claims of a paper have each verdict, and what was found on those that a page answers first."""
    held = [one for one in entries() if one.paper == paper and not one.own]
    by_verdict: Counter[str] = Counter(one.verdict for one in held)
    words = ", ".join(f"{by_verdict[name]} {name}" for name in _ORDER if by_verdict[name])
    line = Markup('<li>{} <span class="sb-chip" data-verdict="{}">{}</span> {}</li>')
    found = [
        line.format(one.sentence[one.verdict], one.verdict, one.verdict, linked(one.id))
        for one in held
        if one.verdict in one.sentence
    ]
    return Markup("<p>Of {} claims: {}.</p><ul>{}</ul>").format(len(held), words, Markup("").join(found))


def counts(entries: Sequence[Entry]) -> dict[str, Counter[str]]:
    """Count by the paper's name and verdict, with ``all``; claims of this book apart."""
    found: dict[str, Counter[str]] = {}
    for entry in sorted(entries, key=lambda entry: entry.own):
        name = "this book" if entry.own else papers()[entry.paper].name
        found.setdefault(name, Counter()).update([entry.verdict, "all"])
    return found


def chance(entries: Sequence[Entry]) -> dict[str, list[float]]:
    """Give by paper how often chance alone makes each of the verdicts wrong that intervals decided, at most.

    The levels of the rules bound it: "exceeded" or "not reproduced" of several parts falls if one does. There is no
    such bound for A wins k of n, nor for a printed value that our interval holds, which may hold others as well; and
    there is no chance in an exact number.
    """
    found: dict[str, list[float]] = {}
    for entry in entries:
        bounds = found.setdefault(papers()[entry.paper].name, [])
        rules, held = {one.rule for one in entry.parts or [entry]}, entry.verdict == "reproduced"
        unbound = rules & ({"wins", "identity", "scores"} if held else {"wins", "identity"})
        if not entry.own and entry.verdict in DECIDED and not unbound:
            bounds.append(min(1.0, LEVEL * (1 if held else max(1, len(entry.found.parts)))))
    return found


def value(number: Number | None) -> str:
    """Print a number of a claim, after the bound's words, as "at least"; a dash where there is none."""
    if number is None:
        return numbers.DASH
    bound = f"{number.what.removeprefix('to be ')} " if number.what.startswith(_BOUNDS) else ""
    return bound + verdicts.value(number)


def interval(number: Number | None) -> str:
    """Print the interval of a number; nothing where it has none."""
    return "" if number is None else verdicts.interval(number)


def linked(text: str) -> Markup:
    """Escape a text and link the claims that it names to their cards."""
    return Markup(ID.sub(r'<a href="verdicts.html#\g<0>">\g<0></a>', str(escape(text))))


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
        "readable": readable,
        "title": title,
        "name_of": name_of,
        "states": _CAUSES,
    }
