"""What a run recorded, as evidence: to judge its claims again by the rules of today, without its predictions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np

from sentbook.evaluation.predictions import INTERVALS
from sentbook.evaluation.statistics import Estimate
from sentbook.records import Claim, Finding, Metric, Run, Test, Verdict
from sentbook.runs.claims import ClaimSpec, claims, judged
from sentbook.runs.evidence import OVER_ITEMS, Evidence, Missing, Rows, dataset_of
from sentbook.runs.limits import ALONE, BUT_FOR, of_one_training
from sentbook.runs.verdicts import by_counts

AGAIN = "judged again from the rows that the run recorded"
COUNTED = "judged again from the counts that its evidence tells"
# Numbers that a notebook hands over and a run keeps in its claims alone: by the words in which a claim names them.
_HANDED = {
    "overestimation": " − gold on ",
    "more with InferSent": "InferSent − with",
    "speed of frozen words": "words frozen − ",
    "speed of DNT over NT": "DNT / NT",
}
_COUNTS = re.compile(r"in its favour on (\d+), against it on (\d+)")
_SHARES = re.compile(r"coordinates of (.+) that are 0 or more")


def judge_again(run: Run) -> tuple[list[Claim], list[str]]:
    """Judge the claims of a run whose rule has changed since, where its rows carry enough.

    A number without an interval of its own among the rows is read from what the claim itself recorded.

    Returns:
        The claims in the order of ``claims.yaml``, and the ids of those that need the notebook to run again: they stay
        as they were judged, but that one training decides nothing against a paper.
    """
    held = {claim.id: claim for claim in run.claims}
    found, left = [], []
    for spec in claims(run.paper, run.experiment):
        old = held.get(spec.id)
        if old and old.judged_by == spec.judged_by:
            found.append(old)
            continue
        new = judged(spec, RecordedEvidence.of_claim(run, spec, old))
        if old and not new.ours and spec.rule == "wins" and (again := _counted_again(old)):
            found.append(old.model_copy(update={"verdict": again, "judged_by": spec.judged_by, "notes": [COUNTED]}))
        elif old and old.ours and not new.ours:
            left.append(spec.id)
            against = old.verdict == "not reproduced" and of_one_training(run)
            notes = [f"{BUT_FOR}{old.verdict}", ALONE]
            found.append(old.model_copy(update={"verdict": "inconclusive", "notes": notes}) if against else old)
        else:
            found.append(new.model_copy(update={"notes": [*new.notes, AGAIN]}) if new.ours else new)
    return found, left


def _counted_again(claim: Claim) -> Verdict | None:
    """Decide a claim of rows won from the counts that its evidence tells, where no limit has had a say."""
    counts, ours, asked = _COUNTS.search(claim.evidence), claim.ours, claim.printed
    if not counts or not ours or not ours.of or not asked or {*claim.notes} - {AGAIN, COUNTED}:
        return None
    better, worse = map(int, counts.groups())
    return by_counts(int(ours.value), better, worse, ours.of, asked.value)


@dataclass
class RecordedEvidence(Evidence):
    """A run's rows; an interval or a difference that has no row is that of the claim's own recorded findings."""

    leaves: tuple[Finding, ...] = ()
    minus: str = ""

    @classmethod
    def of_claim(cls, run: Run, spec: ClaimSpec, claim: Claim | None) -> RecordedEvidence:
        """Gather the rows of a run beside the findings of one of its claims."""
        own = (files("sentbook") / "papers" / run.paper / "claims.py").is_file()
        special = getattr(import_module(f"sentbook.papers.{run.paper}.claims"), "recorded_book", None) if own else None
        numbers = [part.ours for part in claim.parts] or [claim.ours] if claim else []
        leaves = tuple(number for number in numbers if number is not None)
        metrics = _by_protocol(run.metrics, {leaf.value for leaf in leaves})
        book: Any = (special and special(run)) or Rows(metrics, run.tests, run.extra.get(INTERVALS, {}))
        found: RecordedEvidence = cls.of(run, book)
        found.leaves = leaves
        found.minus = spec.operands.get("minus", "")
        found.findings = dict(found.handed())
        return found

    def handed(self) -> Iterator[tuple[str, Any]]:
        """What a notebook handed over, by its name in ``claims.yaml``, from the claim's findings."""
        for name, words in _HANDED.items():
            leaves = [leaf for leaf in self.leaves if words in leaf.what]
            if leaves:
                yield (
                    name,
                    [_test(leaf) for leaf in leaves] if " − " in words else {one.what: _value(one) for one in leaves},
                )
        yield "non-negative", {part[1]: _value(leaf) for leaf in self.leaves if (part := _SHARES.fullmatch(leaf.what))}
        if self.leaves:
            yield from ((name, int(self.leaves[0].value)) for name in ("parameters", "words"))

    def _of_items(self, method: str, row: str, metric: str) -> tuple[Estimate, str]:
        try:
            return super()._of_items(method, row, metric)
        except Missing:
            mean = float(np.mean(self.book.values(method, dataset_of(row), metric)))
            off = self.printed(self.minus, row, metric) if self.minus else 0.0
            for leaf in self.leaves:
                if leaf.low is not None and leaf.high is not None and abs(mean - off - leaf.value) < 1e-9:
                    return Estimate(mean, leaf.low + off, leaf.high + off), leaf.how or OVER_ITEMS
            raise

    def _compared(self, a: str, b: str, row: str, metric: str) -> Test:
        try:
            return super()._compared(a, b, row, metric)
        except Missing:
            begins = f"{a} − {b} on "
            for leaf in self.leaves:
                if (
                    leaf.what.startswith(begins)
                    and leaf.unit == metric
                    and (row in leaf.what or row.startswith("mean of"))
                ):
                    return _test(leaf)
            raise


def _by_protocol(metrics: Sequence[Metric], values: Collection[float]) -> list[Metric]:
    """The rows with those first whose mean over seeds the claim has: of a number by two protocols, the one it used."""
    means: dict[tuple[str, ...], list[float]] = {}
    for row in metrics:
        means.setdefault((row.method, row.dataset, row.metric, row.protocol), []).append(row.value)
    used = {key for key, held in means.items() if any(abs(np.mean(held) - value) < 1e-9 for value in values)}
    return sorted(metrics, key=lambda row: (row.method, row.dataset, row.metric, row.protocol) not in used)


def _value(leaf: Finding) -> Estimate:
    low, high = (leaf.value if end is None else end for end in (leaf.low, leaf.high))
    return Estimate(leaf.value, low, high)


def _test(leaf: Finding) -> Test:
    """The test behind a finding ``A − B on row``."""
    names, _, dataset = leaf.what.partition(" on ")
    a, b = names.rsplit(" − ", 1)
    return Test.of(_value(leaf), kind=leaf.how, a=a, b=b, dataset=dataset, metric=leaf.unit)
