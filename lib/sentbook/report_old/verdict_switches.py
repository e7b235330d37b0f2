"""Judge the recorded claims by other readings, for the switches of the page of verdicts; and the numbers of its dots.

Two readings can be changed: whether an interval is over pairs and seeds or over pairs alone, and whether a number above
the printed one counts or must lie within. The judge is that of `sentbook.runs.claims`, on what the run recorded: the
page's script (``book/_static/explore/verdicts.js``) chooses among its verdicts and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sentbook.evaluation.predictions import AND_SEEDS
from sentbook.evaluation.statistics import Estimate
from sentbook.records import Claim, Finding, Part, Run, Verdict
from sentbook.report_old import numbers
from sentbook.runs.claims import ClaimSpec, specifications
from sentbook.runs.evidence import Evidence, Missing
from sentbook.runs.limits import limited
from sentbook.runs.recorded import RecordedEvidence
from sentbook.runs.rules import applied
from sentbook.runs.verdict_ledger import VERDICTS, Entry
from sentbook.runs.verdicts import BOUND, Judgement, all_of

# What a dot's axes are: two values, two differences, two shares of rows.
KINDS = SCORE, DIFFERENCE, COUNT = "score", "difference", "count"
IN_HUNDREDTHS = frozenset({"share", "likeness", "difference"})


@dataclass
class PairsAlone(RecordedEvidence):
    """A run's rows for claims about the encoders trained here: what seeds added to a recorded interval is taken out."""

    def _over_seeds(
        self, found: Estimate, how: str, row: str, metric: str, *methods: str, book: Any = None
    ) -> tuple[Estimate, str]:
        found, how = super()._over_seeds(found, how, row, metric, *methods, book=book)
        if not how.endswith(AND_SEEDS):
            return found, how
        half = self.spread(book or self.book, row, metric, *methods)
        return narrowed(found, half), how.removesuffix(AND_SEEDS)


def narrowed(both: Estimate, half: float) -> Estimate:
    """Take out of an interval what `sentbook.evaluation.statistics.two_levels` has added to it."""

    def end(distance: float) -> float:
        return float(np.sqrt(max(0.0, distance**2 - half**2)))

    value = both.estimate
    return Estimate(value, value - end(value - both.low), value + end(both.high - value))


def within(found: Judgement) -> Judgement:
    """Judge anew where a number must lie within: what exceeds the printed one does not reproduce it."""
    parts = tuple(within(part) for part in found.parts)
    changed = [part.verdict for part in parts] != [part.verdict for part in found.parts]
    verdict: Verdict = all_of(parts).verdict if changed else found.verdict
    return replace(found, parts=parts, verdict="not reproduced" if verdict == "exceeded" else verdict)


def readings(spec: ClaimSpec, claim: Claim, run: Run) -> tuple[list[Verdict], Judgement | None]:
    """Judge a recorded claim by each reading.

    Returns:
        Its verdicts over pairs and seeds, the same within, over pairs alone, the same within; and how pairs alone
        judged, None where the rows do not carry enough and the recorded verdict stands for all.
    """
    alone = _judged(spec.model_copy(update={"about": "encoders"}), PairsAlone.of_claim(run, spec, claim))
    if alone is None:
        return [claim.verdict] * 4, None
    both = claim.verdict
    if "exceeded" in (claim.verdict, *(part.verdict for part in claim.parts)):
        again = _judged(spec, RecordedEvidence.of_claim(run, spec, claim))
        both = again[1] if again else both
    return [claim.verdict, both, *alone[:2]], alone[2]


def _judged(spec: ClaimSpec, evidence: RecordedEvidence) -> tuple[Verdict, Verdict, Judgement] | None:
    """A verdict, the same within, and the judgement before its limits; None where a number is missing."""
    if spec.absent:
        return None
    asked = replace(evidence, about=spec.about, asked={}, pairs=[])
    try:
        found = applied(asked, spec.operands)
    except Missing:
        return None

    def again(other: Evidence) -> Judgement:
        return applied(other, spec.operands)

    judges = [(found, again), (within(found), lambda other: within(again(other)))]
    verdicts: list[Verdict] = [limited(one, asked, spec.scale, judge)[0].verdict for one, judge in judges]
    if spec.contradicts:
        verdicts = ["the paper contradicts itself"] * 2
    return verdicts[0], verdicts[1], found


# -- what the page holds -----------------------------------------------------------------------------------------------


def data(entries: Sequence[Entry], runs: Mapping[tuple[str, str], Run]) -> list[dict[str, Any]]:
    """Give each claim's verdicts by reading, what a filter asks for, and its dots.

    Args:
        runs: (paper, experiment) -> run.
    """
    found = []
    for entry in entries:
        run = runs.get((entry.paper, entry.experiment)) if entry.run else None
        verdicts, alone, scale = [entry.verdict] * 4, None, specifications()[entry.id].scale
        if run is not None and entry.ours is not None and not entry.earlier:
            verdicts, alone = readings(specifications()[entry.id], entry, run)
        found.append(
            {
                "id": entry.id,
                "paper": "ours" if entry.own else entry.paper,
                "verdicts": verdicts,
                "again": alone is not None,
                "cause": entry.cause.state if entry.cause else "",
                "smaller": bool(scale and (run is None or scale.lacking(run))),  # an amount of data, or a width
                "dots": list(_dots(entry, alone)),
            }
        )
    return found


def compact(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Write a claim of `data` as the page's script takes it: numbers of verdicts and kinds, and a dot as a list."""
    names = ("x", "y", "both", "pairs", "bound", "part", "what")
    dots = [[KINDS.index(dot["kind"]), *(dot.get(name, 0) for name in names)] for dot in claim["dots"]]
    return {**claim, "verdicts": [VERDICTS.index(verdict) for verdict in claim["verdicts"]], "dots": dots}


def _dots(entry: Entry, alone: Judgement | None) -> Iterator[dict[str, Any]]:
    """The numbers of a claim, or of each of its parts: what it is held against, ours, the ends over pairs and seeds and
    over pairs alone, times 100; nothing where ours is on another scale or there is none."""
    whole = Part(verdict=entry.verdict, printed=entry.printed, ours=entry.ours)
    parts = entry.parts or [whole]
    others: Sequence[Finding | None] = [None] * len(parts)
    if alone is not None:
        leaves = [part.ours for part in alone.parts] or [alone.ours]
        others = leaves if len(leaves) == len(parts) else others
    shown = [dot | {"part": at} for at, sides in enumerate(zip(parts, others, strict=True)) if (dot := _dot(*sides))]
    if entry.parts and shown:  # the card has the words
        yield from ({name: value for name, value in dot.items() if name != "what"} for dot in shown)
    elif dot := _dot(whole, others[0] if not entry.parts else None):
        yield dot


def _dot(part: Part, alone: Finding | None) -> dict[str, Any] | None:
    printed, ours = part.printed, part.ours
    if ours is None:
        return None
    if ours.of is not None:
        if printed is None or printed.of is None:
            return None
        of = {"x": _hundredths(printed.value / printed.of), "y": _hundredths(ours.value / ours.of)}
        return {"kind": COUNT, **of, "what": ours.what}
    if numbers.factor(ours.unit) != 100.0 and ours.unit not in IN_HUNDREDTHS:
        return None
    kind = DIFFERENCE if " − " in ours.what else SCORE
    goal = 0.0 if printed is None and kind == DIFFERENCE else None if printed is None else printed.value
    if goal is None:
        return None
    dot = {"kind": kind, "x": _hundredths(goal), "y": _hundredths(ours.value), "what": ours.what}
    for name, finding in (("both", ours), ("pairs", alone)):
        if finding is not None and finding.low is not None and finding.high is not None:
            dot[name] = [_hundredths(finding.low), _hundredths(finding.high)]
    if dot.get("pairs") == dot.get("both"):
        dot.pop("pairs", None)  # one training: its script takes the one for the other
    if printed is None or printed.how == BOUND:
        dot["bound"] = True
    return dot


def _hundredths(value: float) -> float:
    return round(100 * value, 2)
