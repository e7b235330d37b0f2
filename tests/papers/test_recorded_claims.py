"""Every recorded claim is judged again, by the rule of its entry, on the numbers that its run recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from sentbook.evaluation.predictions import PAIRS
from sentbook.evaluation.statistics import Estimate
from sentbook.papers.dnt.claims import Cells
from sentbook.papers.dnt.winners import CHOSEN
from sentbook.records import Claim, Finding, Run, Test
from sentbook.runs import claims, ledger
from sentbook.runs.evidence import Evidence, Missing, Rows, dataset_of

SPECS = claims.specifications()
# What a run does not record: which files a training opened, every pair of rows that was compared, books of other sizes.
UNRECORDED = {
    *("cse-06", "cnnlstm-12", "wsv-07"),
    *("dnt-02", "dnt-09", "dnt-10", "dnt-26", "dnt-27"),
}


@cache
def run_of(paper: str, experiment: str) -> Run:
    run = ledger.read(paper, experiment, "small")
    assert run is not None, f"{paper}/{experiment} is not recorded"
    return run


def recorded(identifier: str) -> tuple[Run, Claim]:
    spec = SPECS[identifier]
    run = run_of(spec.paper, spec.experiment)
    return run, next(claim for claim in run.claims if claim.id == identifier)


class Recorded(Rows):
    """The rows of a run; where it has a number by two protocols, the one that it names first."""

    @property
    def total(self) -> list[str]:
        return [name for name in self.names if not name.startswith("STS2016") and not name.endswith("avg")]

    def values(self, method: str, row: str, measure: str) -> list[float]:
        held = [one for one in self.metrics if (one.method, one.dataset, one.metric) == (method, row, str(measure))]
        return [one.value for one in held if one.protocol == held[0].protocol]


class Chosen(Recorded):
    """Rows of one method a setting, ``GRAN [NT]``, as `sentbook.papers.dnt.winners.best_rows` has them."""

    def __init__(self, run: Run) -> None:
        self.rows = {(setting, data): row for data, rows in run.extra[CHOSEN].items() for setting, row in rows.items()}
        back = {(row, data): setting for (setting, data), row in self.rows.items()}
        metrics = [
            row.model_copy(update={"method": back[row.method, row.dataset]})
            for row in run.metrics
            if (row.method, row.dataset) in back
        ]
        super().__init__(metrics, run.tests, {})


class Columns(Recorded):
    """Rows of accuracies and F1, with the columns of a book of labels."""

    def measures(self, row: str) -> list[str]:
        return ["accuracy", "f1"] if row in PAIRS else ["accuracy"]


class RecordedEvidence(Evidence):
    """A run's rows; an interval or a difference that has no row is that of the claim's own recorded findings."""

    claim: Claim

    @classmethod
    def of_claim(cls, run: Run, claim: Claim) -> RecordedEvidence:
        intervals = run.extra.get("intervals over examples", {})
        book: Any = Recorded(run.metrics, run.tests, intervals)
        if CHOSEN in run.extra:
            book = Cells(Chosen(run))
        elif any(row.metric == "accuracy" for row in run.metrics):
            book = Columns(run.metrics, run.tests, intervals)
        found = cls.of(run, book)
        found.claim = claim
        leaves = list(found.leaves())
        shares = {leaf.what: re.fullmatch(r"coordinates of (.+) that are 0 or more", leaf.what) for leaf in leaves}
        found.findings = {
            "overestimation": [_test(leaf) for leaf in leaves if " − gold on " in leaf.what],
            "non-negative": {
                part[1]: Estimate(leaf.value, leaf.low or leaf.value, leaf.high or leaf.value)
                for leaf in leaves
                if (part := shares[leaf.what])
            },
            **{name: int(leaves[0].value) for name in ("parameters", "words") if leaves},
            # What a notebook of the last paper computes from its rows and hands over.
            "more with InferSent": [_test(leaf) for leaf in leaves if "InferSent − with" in leaf.what],
            "speed of frozen words": [_test(leaf) for leaf in leaves if leaf.what.startswith("words frozen − ")],
            "speed of DNT over NT": {
                leaf.what: Estimate(leaf.value, leaf.low or leaf.value, leaf.high or leaf.value)
                for leaf in leaves
                if "DNT / NT" in leaf.what
            },
        }
        return found

    def leaves(self) -> Iterator[Finding]:
        found = [part.ours for part in self.claim.parts] or [self.claim.ours]
        yield from (one for one in found if one is not None)

    def mean(self, method: str, row: str, metric: str) -> float:
        self.need([method], row)
        return float(np.mean(self.book.values(method, dataset_of(row), metric)))

    def interval(self, method: str, row: str, metric: str) -> Estimate:
        try:
            return super().interval(method, row, metric)
        except Missing:
            by_protocol: dict[str, list[float]] = {"": self.book.values(method, row, metric)}
            for one in self.metrics:
                if (one.method, one.dataset, one.metric) == (method, dataset_of(row), metric):
                    by_protocol.setdefault(one.protocol, []).append(one.value)
            minus = SPECS[self.claim.id].operands.get("minus")
            off = self.printed(minus, row, metric) if minus else 0.0
            for leaf in self.leaves():
                near = (values and abs(np.mean(values) - off - leaf.value) < 1e-9 for values in by_protocol.values())
                if leaf.low is not None and leaf.high is not None and any(near):
                    return Estimate(leaf.value + off, leaf.low + off, leaf.high + off)
            raise

    def difference(self, a: str, b: str, row: str, metric: str) -> Test:
        try:
            return super().difference(a, b, row, metric)
        except Missing:
            for leaf in self.leaves():
                begins = f"{a} − {b} on "
                fits = leaf.what in (begins + row, begins + leaf.what.removeprefix(begins)) and leaf.unit == metric
                if fits and leaf.what.startswith(begins) and (row in leaf.what or row.startswith("mean of")):
                    return _test(leaf)
            raise


def _test(leaf: Finding) -> Test:
    """The test behind a finding ``A − B on row``."""
    names, _, dataset = leaf.what.partition(" on ")
    a, b = names.rsplit(" − ", 1)
    low, high = (leaf.value if end is None else end for end in (leaf.low, leaf.high))
    return Test(kind=leaf.how, a=a, b=b, dataset=dataset, metric=leaf.unit, estimate=leaf.value, low=low, high=high)


JUDGED = [name for name in SPECS if recorded(name)[1].verdict != "not run"]


@pytest.mark.parametrize("identifier", JUDGED)
def test_the_rule_of_a_claim_finds_the_recorded_verdict(identifier: str) -> None:
    run, claim = recorded(identifier)
    found = claims.judged(SPECS[identifier], RecordedEvidence.of_claim(run, claim))
    if identifier in UNRECORDED:
        assert found.verdict == "not run", "it can be judged from the recorded rows: take it off the list"
        return
    assert (found.verdict, found.evidence) == (claim.verdict, claim.evidence)
    assert _numbers(found) == pytest.approx(_numbers(claim), nan_ok=True, rel=1e-9, abs=1e-12)


def _numbers(claim: Claim) -> dict[str, float]:
    """Every number of a claim and of its parts, by what it is."""
    found = {}
    for index, one in enumerate([claim, *claim.parts]):
        for kind, number in (("printed", one.printed), ("ours", one.ours)):
            for name in ("value", "low", "high", "of"):
                held = getattr(number, name, None)
                found[f"{index} {kind} {getattr(number, 'what', '')} {name}"] = np.nan if held is None else float(held)
    return found
