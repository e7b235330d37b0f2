"""The verdict box that opens a page, and the fold that closes it: claims, substitutes, searches, cost, provenance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pandas as pd

from sentbook.judge import Entry, Number
from sentbook.judge.rules import name_of
from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.html import Shown, render
from sentbook.report.summary import full_name, ordered, readable
from sentbook.report.table import table

if TYPE_CHECKING:
    from sentbook.report.page import Page

_STATES = {"tested": "Tested cause", "guess": "Likely cause, not tested", "scope": "What it would need"}


def verdict(page: Page, measured: str = "") -> Shown:
    """Open a page: the verdict of its main claim, what we found, the paper's number, ours and its interval.

    Args:
        measured: one sentence on what was found, for a page without a claim.
    """
    run, claim = page.run, next(iter(page.claims), None)
    if run is None:
        return page.together([])
    counts = Counter(other.verdict for other in page.claims[1:])
    more = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    notes = [
        *(claim.notes if claim else ()),
        "Substitutes stand in for the paper\u2019s data." if run.provenance.substitutions else "",
        f"{numbers.counted(counts.total(), 'more claim')} in the details: {more}." if more else "",
    ]
    sentence = readable((claim.sentence.get(claim.verdict) if claim else "") or measured)
    words, boxes = readable(" ".join(filter(None, notes))), _boxes(claim, len(run.provenance.seeds)) if claim else {}
    return Shown(render("verdict", claim=claim, sentence=sentence, boxes=boxes, states=_STATES, notes=words))


def _boxes(claim: Entry, seeds: int) -> dict[str, Any]:
    """Give the paper's number, or what the rule asks, ours and its interval, and say which number it is."""
    printed, ours = claim.found.printed, claim.found.ours
    if ours is None:
        return {}
    asked = "paper" if printed is None or printed.how == "printed" else f"the rule asks, {printed.what}"
    shown = {asked: value(printed) if printed else "", "ours": value(ours), "95 % interval": interval(ours)}
    unit = "" if ours.of is not None or numbers.factor(ours.unit) == 1 else "\u00d7 100"
    about = (readable(ours.what), unit, ours.how, numbers.counted(seeds, "seed"))
    return {"numbers": {head: text for head, text in shown.items() if text}, "about": ", ".join(filter(None, about))}


def value(number: Number) -> str:
    """Print a number of a claim: a value in its unit, or a count of so many."""
    return _end(number, number.value) if number.of is None else f"{number.value:g} of {number.of} {number.unit}"


def interval(number: Number) -> str:
    """Print the interval of a number; nothing where it has none."""
    return f"[{_end(number, number.low)}, {_end(number, number.high)}]" if number.how else ""


def _end(number: Number, end: float) -> str:
    return numbers.shown(end, number.unit, signed=number.what == "difference" or numbers.MINUS in number.what)


# -- the fold ----------------------------------------------------------------------------------------------------------


def details(page: Page) -> Shown:
    """Close a page with what stands behind its numbers, in one fold."""
    run = page.run
    if run is None:
        return page.together([])
    tables = {"searches": run.searches and _searches(run), "cost": run.cost and _cost(run)}
    claims = page.claims and _claims(page.claims)
    return Shown(render("details", run=run, claims=claims, provenance=_provenance(run), **tables))


def _claims(claims: list[Entry]) -> Shown:
    """List each claim with its verdict, the numbers that decided it, its rule and its cause."""
    rows = []
    for claim in claims:
        why = [f"Rule: {name_of(claim.rule)}." if claim.rule else "", *claim.notes]
        why += [f"{_STATES[claim.why.state]}: {claim.why.says}"] if claim.why else []
        said = f"{claim.text} ({claim.source}{f': “{claim.quote}”' if claim.quote else ''})"
        rows.append([claim.id, said, claim.verdict, readable(claim.found.evidence), readable(" ".join(why))])
    return table(pd.DataFrame(rows, columns=["Claim", "It says", "Verdict", "Evidence", "Rule and cause"]))


def _searches(run: Run) -> Shown:
    """Show for each method what was tried, what was chosen, and whether its training still gained at its end."""
    rows = []
    for one in run.searches:
        name = f"{one.method} on {full_name(one.dataset)}" if one.dataset else one.method
        tried = "; ".join(f"{setting} {_setting(values)}" for setting, values in one.grid.items()) or "nothing"
        chosen = [f"{key} {_setting(to)}{' (grid edge)' * (key in one.at_edge)}" for key, to in one.chosen.items()]
        gain = None if one.last_quarter_gain is None else 100 * one.last_quarter_gain
        rows.append([name, one.trainings, tried, "; ".join(chosen) or numbers.DASH, gain])
    on = ", ".join(ordered(one.selected_on for one in run.searches if one.selected_on))
    note = f"{f'Chosen on {on}. ' if on else ''}Gain: of the validation value in the last quarter of training, × 100."
    return table(pd.DataFrame(rows, columns=["Method", "Points", "Tried", "Chosen", "Gain"]), note=note)


def _setting(value: Any) -> str:
    return str(value).strip("[]()").replace("'", "").replace(".0,", ",").removesuffix(".0")  # whole numbers as such


def _cost(run: Run) -> Shown:
    """Show what a training cost, mean over seeds."""
    frame = pd.DataFrame([row.model_dump(exclude={"seed"}) for row in run.cost])
    frame = frame.groupby("method", sort=False, as_index=False).mean()
    frame.columns = pd.Index(["Method", "Time", "Memory", "Parameters", "Examples per second"])
    note = f"Mean over runs, {run.provenance.device}. Memory: of the process. Parameters: without the word vectors."
    return table(frame, note=note, formats={"Time": numbers.minutes, "Memory": numbers.memory}, places=0)


def _provenance(run: Run) -> str:
    made = run.provenance
    packages = ", ".join(f"{name} {version}" for name, version in {"Python": made.python, **made.packages}.items())
    return (
        f"{run.name}, profile {run.profile}, seeds {', '.join(map(str, made.seeds))}, started {made.started}, "
        f"{numbers.minutes(made.wall_seconds)}, training {numbers.minutes(made.training_seconds)}, {made.device}, "
        f"commit {made.git_commit}{', stale: numbers were meant to change since' if run.stale else ''}; {packages}."
    )


def tests(page: Page, a: str | None = None, b: str | None = None, *, caption: str = "") -> Shown:
    """List the record's comparisons A - B in a fold, all or those of ``a`` and ``b``: interval, p and Holm's p."""
    if page.run is None:
        return page.together([])
    rows = [row for row in page.run.tests if a in (None, row.a) and b in (None, row.b)]
    cells = []
    for row in rows:
        names = [page.difference(row.a, row.b), page.label(row.dataset)]
        measured = [numbers.name(row.metric, short=True), numbers.tested(row)]
        cells.append([*names, *measured, numbers.p_value(row.p), numbers.p_value(row.p_holm)])
    frame = pd.DataFrame(cells, columns=["A \u2212 B", "Data set", "Metric", "Difference", "p", "p, Holm"])
    kinds = ", ".join(ordered(row.kind for row in rows))
    body = table(frame, caption=caption, note=f"In brackets: the 95 % interval ({kinds}).")
    return Shown(render("fold", summary=f"{numbers.counted(len(rows), 'comparison')} with p-values", body=body))
