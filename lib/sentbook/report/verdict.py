"""The verdict box that opens a page, and the fold that closes it: claims, substitutes, searches, cost, provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from sentbook.judge import Entry
from sentbook.records import Finding, Run, Search, Test
from sentbook.report import numbers
from sentbook.report.html import Shown, render
from sentbook.report.summary import difference_name, full_name, is_average, ordered, readable
from sentbook.report.table import table

_STATES = {"tested": "Tested cause", "guess": "Likely cause, not tested", "scope": "What it would need"}
_COUNTS = ("seconds", "words", "parameters", "files")
# What a bound asks of ours, before its number.
_RELATIONS = {
    "at least": "at least ",
    "at most": "at most ",
    "at most so far from 0": "within ± ",
    "to stay below": "below ",
    "to be above": "above ",
    "to be below": "below ",
}


# -- numbers of a claim ------------------------------------------------------------------------------------------------


def _number(value: float, finding: Finding) -> str:
    """Print a value in the unit of its finding."""
    if finding.unit == "distance":
        return f"{value:.0e}" if value else "0"
    if finding.unit in _COUNTS or finding.unit == "rank":
        return numbers.plain(value, 0)
    signed = finding.what == "difference" or numbers.MINUS in finding.what
    if finding.unit in ("likeness", "difference"):
        return numbers.plain(value * 100, signed=signed)
    return numbers.shown(value, finding.unit, places=2 if finding.unit == "ratio" else None, signed=signed)


def value(finding: Finding | None) -> str:
    """Print what a claim names: a value, or a count of so many."""
    if finding is None:
        return numbers.DASH
    relation = _RELATIONS.get(finding.what, "")
    if finding.of is not None:
        return f"{relation}{finding.value:g} of {finding.of} {finding.unit}"
    return relation + _number(finding.value, finding)


def interval(finding: Finding | None) -> str:
    """Print the interval of a finding; nothing where it has none."""
    if finding is None or finding.low is None or finding.high is None:
        return ""
    return f"[{_number(finding.low, finding)}, {_number(finding.high, finding)}]"


# -- the box -----------------------------------------------------------------------------------------------------------


def box(run: Run, claims: Sequence[Entry], measured: str) -> Shown:
    """Open a page: verdict, what we found, the paper's number, ours and its interval, the tested cause.

    Args:
        measured: what a page without a claim found, in one sentence.
    """
    if not claims:
        body = render("verdict", claim=None, chip="measured", sentence=measured, boxes=[], cause=None, small=_made(run))
        return Shown(body)
    main, *others = sorted(claims, key=lambda claim: not claim.main)
    cause = None
    if main.cause is not None:
        by = main.cause.by
        cause = {"head": _STATES[main.cause.state], "said": main.cause.cause, "by": by, "page": by and f"../{by}.ipynb"}
    counts = Counter(claim.verdict for claim in others)
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    more = f"{numbers.counted(len(others), 'more claim')} in the details below: {counted}." if others else ""
    substitutes = "Substitutes stand in for the paper's data, see the details." if run.provenance.substitutions else ""
    small = " ".join(filter(None, [*main.notes, _made(run), substitutes, more]))
    body = render(
        "verdict",
        claim=main,
        chip=main.verdict,
        sentence=main.sentence or measured,
        boxes=_boxes(main),
        cause=cause,
        small=readable(small),
    )
    return Shown(body)


def _boxes(claim: Entry) -> list[tuple[str, str]]:
    """Give the paper's number, ours and its interval, each under its name."""
    ours, printed = claim.ours, claim.printed
    if ours is None:
        return []
    what = readable(ours.what)
    unit = "" if ours.of is not None or ours.unit in ("rank", "distance") else numbers.name(ours.unit, short=True)
    paper = "the paper" if printed is not None and printed.how == "printed" else "the rule asks"
    boxes = [(paper, value(printed))] if printed is not None else []
    boxes.append((", ".join(filter(None, (f"ours: {what}", unit))), value(ours)))
    if ends := interval(ours):
        boxes.append((f"95 % interval, {numbers.counted(len(claim.seeds), 'seed')} ({ours.how})", ends))
    return boxes


def _made(run: Run) -> str:
    """Say what a run measured."""
    methods, sets = (ordered(getattr(row, name) for row in run.metrics) for name in ("method", "dataset"))
    sets = [name for name in sets if not is_average(name)]
    seeds = numbers.counted(len(run.provenance.seeds), "seed")
    if not run.metrics:
        return f"Recorded with profile {run.profile}."
    return (
        f"Recorded with profile {run.profile}: {numbers.counted(len(methods), 'method')} on "
        f"{numbers.counted(len(sets), 'data set')}, {seeds}."
    )


# -- the fold ----------------------------------------------------------------------------------------------------------


def details(run: Run, claims: Sequence[Entry]) -> Shown:
    """Close a page with what stands behind its numbers, in one fold."""
    substitutions = run.provenance.substitutions
    words = [
        (len(claims), numbers.counted(len(claims), "claim")),
        (len(substitutions), numbers.counted(len(substitutions), "substitute")),
        (len(run.searches), f"{len(run.searches):,} searches"),
        (len(run.cost), "cost"),
        (1, "provenance"),
    ]
    body = render(
        "details",
        contents=", ".join(name for count, name in words if count),
        claims=_claims(claims).html if claims else "",
        substitutions=substitutions,
        searches=_searches(run.searches).html if run.searches else "",
        cost=_cost(run).html if run.cost else "",
        provenance=_provenance(run),
    )
    return Shown(body)


def _claims(claims: Sequence[Entry]) -> Shown:
    """List each claim with its verdict, the paper's number, ours, and the rule with what bounds it."""
    rows = []
    for claim in claims:
        said = f"{'Ours: ' if claim.own else ''}{claim.text} ({claim.source})"
        why = [f"Rule: {claim.rule_name or claim.rule}.", *claim.notes]
        if claim.cause is not None:
            why.append(f"{_STATES[claim.cause.state]}: {claim.cause.cause}")
        shown = {
            "Claim": claim.id,
            "The paper says": said,
            "Verdict": claim.verdict,
            "Evidence": readable(claim.evidence),
        }
        rows.append(shown | {"Rule and cause": readable(" ".join(why))})
    return table(pd.DataFrame(rows))


def _searches(searches: Sequence[Search]) -> Shown:
    """Show for each method what was tried, what was chosen, and whether its training still gained at its end."""
    rows = []
    for one in searches:
        chosen = [f"{name} {_setting(to)}{' (grid edge)' * (name in one.at_edge)}" for name, to in one.chosen.items()]
        rows.append(
            {
                "Method": " on ".join(filter(None, (one.method, one.dataset and full_name(one.dataset)))),
                "Points": one.trainings,
                "Tried": "; ".join(f"{name} {_setting(tried)}" for name, tried in one.grid.items()) or "nothing",
                "Chosen": "; ".join(chosen) or numbers.DASH,
                "Gain": None if one.last_quarter_gain is None else 100 * one.last_quarter_gain,
            }
        )
    on = ", ".join(ordered(one.selected_on for one in searches if one.selected_on))
    note = (
        f"{f'Chosen on {on}. ' if on else ''}Gain: of the best validation value in the last quarter of training, × 100."
    )
    return table(pd.DataFrame(rows), note=note)


def _setting(setting: Any) -> str:
    if isinstance(setting, list | tuple):
        return ", ".join(map(_setting, setting))
    return f"{setting:g}" if isinstance(setting, float) else str(setting)


def _cost(run: Run) -> Shown:
    """Show seconds, memory, parameters without the word vectors, and examples a second; means over seeds."""
    groups = pd.DataFrame([row.model_dump() for row in run.cost]).groupby("method", sort=False)
    mean = groups[["seconds", "peak_memory_bytes", "parameters", "examples_per_second"]].mean()
    frame = pd.DataFrame(
        {
            "Method": list(mean.index),
            "Runs": groups["seed"].size().to_numpy(),
            "Time": mean["seconds"].map(numbers.minutes).to_numpy(),
            "Memory": mean["peak_memory_bytes"].map(numbers.memory).to_numpy(),
            "Parameters": mean["parameters"].round().astype(int).to_numpy(),
            "Examples per second": mean["examples_per_second"].round().astype(int).to_numpy(),
        }
    )
    return table(frame, note=f"Mean over runs, {run.provenance.device}. Parameters: without the word vectors.")


def _provenance(run: Run) -> list[tuple[str, str]]:
    made = run.provenance
    return [
        ("Run", f"{run.paper}/{run.experiment}, profile {run.profile}, started {made.started.replace('T', ' ')}"),
        ("Commit", f"{made.git_commit}{', stale: numbers were meant to change since' if run.stale else ''}"),
        ("Seeds", ", ".join(map(str, made.seeds))),
        ("Time", f"{numbers.minutes(made.wall_seconds)}, training {numbers.minutes(made.training_seconds)}"),
        ("Device", f"{made.device}, peak memory {numbers.memory(made.peak_memory_bytes)}"),
        ("Packages", f"Python {made.python}, {', '.join(f'{name} {one}' for name, one in made.packages.items())}"),
        ("Data", f"{numbers.counted(len(made.data), 'file')}, settings {made.config_hash}"),
    ]


def tests(rows: Sequence[Test], caption: str) -> Shown:
    """List comparisons: A - B with its interval, p and Holm's p."""
    frame = pd.DataFrame(
        {
            "A \u2212 B": difference_name(row.a, row.b),
            "Data set": full_name(row.dataset),
            "Test": row.kind,
            "Difference": f"{numbers.shown(row.estimate, row.metric, signed=True)} "
            f"{numbers.interval(row.low, row.high, row.metric, signed=True)}",
            "p": numbers.p_value(row.p),
            "p, Holm": numbers.p_value(row.p_holm),
        }
        for row in rows
    )
    metrics = ", ".join(numbers.name(metric) for metric in ordered(row.metric for row in rows))
    return table(frame, caption=caption, note=f"{metrics}. In brackets: the 95 % interval.")
