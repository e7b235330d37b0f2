"""The verdict box that opens a page, and the fold that closes it: claims, substitutes, searches, cost, provenance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pandas as pd

from sentbook.judge import Entry
from sentbook.records import Finding, Run
from sentbook.report import numbers
from sentbook.report.html import Shown, render
from sentbook.report.summary import full_name, is_average, ordered, readable
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
    methods, sets = (ordered(getattr(row, name) for row in run.metrics) for name in ("method", "dataset"))
    scored = numbers.counted(sum(not is_average(name) for name in sets), "data set")
    notes = [
        *(claim.notes if claim else [f"{numbers.counted(len(methods), 'method')} on {scored}."]),
        "Substitutes stand in for the paper\u2019s data." if run.provenance.substitutions else "",
        f"{numbers.counted(counts.total(), 'more claim')} in the details: {more}." if more else "",
    ]
    sentence = (claim.sentence if claim else "") or measured
    words = readable(" ".join(filter(None, notes)))
    numbers_of = _boxes(claim) if claim else {}
    return Shown(render("verdict", claim=claim, sentence=sentence, boxes=numbers_of, states=_STATES, notes=words))


def _boxes(claim: Entry) -> dict[str, Any]:
    """Give the paper's number, or what the rule asks, ours and its interval, and say which number it is."""
    printed, ours = claim.printed, claim.ours
    if ours is None:
        return {}
    asked = "paper" if printed is None or printed.how == "printed" else f"the rule asks, {printed.what}"
    shown = {asked: _value(printed)} if printed is not None else {}
    shown |= {"ours": _value(ours)}
    if ours.low is not None and ours.high is not None:
        shown["95 % interval"] = f"[{_number(ours, ours.low)}, {_number(ours, ours.high)}]"
    unit = "" if ours.of is not None or numbers.factor(ours.unit) == 1 else "\u00d7 100"
    about = (readable(ours.what), unit, ours.how, numbers.counted(len(claim.seeds), "seed"))
    return {"numbers": shown, "about": ", ".join(filter(None, about))}


def _value(finding: Finding) -> str:
    """Print a value in its unit, or a count of so many."""
    return (
        _number(finding, finding.value) if finding.of is None else f"{finding.value:g} of {finding.of} {finding.unit}"
    )


def _number(finding: Finding, value: float) -> str:
    signed = finding.what == "difference" or numbers.MINUS in finding.what
    return numbers.shown(value, finding.unit, signed=signed)


# -- the fold ----------------------------------------------------------------------------------------------------------


def details(page: Page) -> Shown:
    """Close a page with what stands behind its numbers, in one fold."""
    run = page.run
    if run is None:
        return page.together([])
    body = render(
        "details",
        claims=_claims(page.claims).html if page.claims else "",
        substitutions=run.provenance.substitutions,
        searches=_searches(run).html if run.searches else "",
        cost=_cost(run).html if run.cost else "",
        provenance=_provenance(run),
    )
    return Shown(body)


def _claims(claims: list[Entry]) -> Shown:
    """List each claim with its verdict, the numbers that decided it, its rule and its cause."""
    rows = []
    for claim in claims:
        why = [f"Rule: {claim.rule_name or claim.rule}.", *claim.notes]
        why += [f"{_STATES[claim.cause.state]}: {claim.cause.cause}"] if claim.cause else []
        rows.append(
            {
                "Claim": claim.id,
                "It says": f"{'Ours: ' if claim.own else ''}{claim.text} ({claim.source})",
                "Verdict": claim.verdict,
                "Evidence": readable(claim.evidence),
                "Rule and cause": readable(" ".join(why)),
            }
        )
    return table(pd.DataFrame(rows))


def _searches(run: Run) -> Shown:
    """Show for each method what was tried, what was chosen, and whether its training still gained at its end."""
    rows = []
    for one in run.searches:
        chosen = [f"{name} {_setting(to)}{' (grid edge)' * (name in one.at_edge)}" for name, to in one.chosen.items()]
        rows.append(
            {
                "Method": f"{one.method} on {full_name(one.dataset)}" if one.dataset else one.method,
                "Points": one.trainings,
                "Tried": "; ".join(f"{name} {_setting(tried)}" for name, tried in one.grid.items()) or "nothing",
                "Chosen": "; ".join(chosen) or numbers.DASH,
                "Gain": None if one.last_quarter_gain is None else 100 * one.last_quarter_gain,
            }
        )
    on = ", ".join(ordered(one.selected_on for one in run.searches if one.selected_on))
    gain = "Gain: of the best validation value in the last quarter of training, × 100."
    return table(pd.DataFrame(rows), note=f"Chosen on {on}. {gain}" if on else gain)


def _setting(setting: Any) -> str:
    if isinstance(setting, list | tuple):
        return ", ".join(map(_setting, setting))
    return f"{setting:g}" if isinstance(setting, float) else str(setting)


def _cost(run: Run) -> Shown:
    """Show what a training cost, mean over seeds."""
    names = {
        "method": "Method",
        "seconds": "Time",
        "peak_memory_bytes": "Memory",
        "parameters": "Parameters",
        "examples_per_second": "Examples per second",
    }
    frame = pd.DataFrame([row.model_dump(exclude={"seed"}) for row in run.cost])
    frame = frame.groupby("method", sort=False, as_index=False).mean().rename(columns=names)
    note = f"Mean over runs, {run.provenance.device}. Parameters: without the word vectors."
    return table(frame, note=note, formats={"Time": numbers.minutes, "Memory": numbers.memory}, places=0)


def _provenance(run: Run) -> dict[str, str]:
    made = run.provenance
    return {
        "Run": f"{run.name}, profile {run.profile}, started {made.started.replace('T', ' ')}",
        "Commit": f"{made.git_commit}{', stale: numbers were meant to change since' if run.stale else ''}",
        "Seeds": ", ".join(map(str, made.seeds)),
        "Time": f"{numbers.minutes(made.wall_seconds)}, training {numbers.minutes(made.training_seconds)}",
        "Device": f"{made.device}, peak memory {numbers.memory(made.peak_memory_bytes)}",
        "Packages": f"Python {made.python}, {', '.join(f'{name} {one}' for name, one in made.packages.items())}",
        "Data": f"{numbers.counted(len(made.data), 'file')}, settings {made.config_hash}",
    }


def tests(page: Page, a: str | None = None, b: str | None = None, *, caption: str = "") -> Shown:
    """List the record's comparisons A - B in a fold, all or those of ``a`` and ``b``: interval, p and Holm's p."""
    if page.run is None:
        return page.together([])
    rows = [row for row in page.run.tests if a in (None, row.a) and b in (None, row.b)]
    frame = pd.DataFrame(
        {
            "A \u2212 B": numbers.difference(page.label(row.a), page.label(row.b)),
            "Data set": page.label(row.dataset),
            "Metric": numbers.name(row.metric, short=True),
            "Difference": numbers.tested(row),
            "p": numbers.p_value(row.p),
            "p, Holm": numbers.p_value(row.p_holm),
        }
        for row in rows
    )
    kinds = ", ".join(ordered(row.kind for row in rows))
    shown = table(frame, caption=caption, note=f"In brackets: the 95 % interval ({kinds}).")
    return Shown(render("fold", summary=f"{numbers.counted(len(rows), 'comparison')} with p-values", body=shown.html))
