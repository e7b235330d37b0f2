"""The recorded runs hold what the rules say of their own numbers."""

from __future__ import annotations

from functools import cache

import pytest

from sentbook.records import Claim, Finding, Run, Test
from sentbook.runs import ledger, verdicts

PLACES = sorted({(spec.paper, spec.experiment) for spec in verdicts.specifications().values()})


@cache
def _run(paper: str, experiment: str) -> Run:
    run = ledger.read(paper, experiment, "small")
    assert run is not None, f"{paper}/{experiment} is not recorded"
    return run


def _claims() -> list[Claim]:
    return [claim for place in PLACES for claim in _run(*place).claims]


def _turned(test: Test) -> Test:
    change = {"a": test.b, "b": test.a, "estimate": -test.estimate, "low": -test.high, "high": -test.low}
    return test.model_copy(update=change)


def test_verdicts_follow_from_the_recorded_tests() -> None:
    """Every claim of the rule "beats" whose differences stand among the run's tests."""
    checked = 0
    for place in PLACES:
        run = _run(*place)
        judged = [verdicts.beats(way) for test in run.tests for way in (test, _turned(test))]
        by_words = {judgement[1]: judgement for judgement in judged}
        for claim in run.claims:
            parts = claim.evidence.split("; ")
            if claim.rule == "beats" and all(part in by_words for part in parts):
                found = verdicts.judge(claim.id, verdicts.all_of([by_words[part] for part in parts]))
                assert (found.verdict, found.evidence) == (claim.verdict, claim.evidence)
                checked += 1
    assert checked >= 16


@pytest.mark.parametrize("place", PLACES, ids="/".join)
def test_texts_sources_and_rules_are_those_of_the_claims(place: tuple[str, str]) -> None:
    for claim in _run(*place).claims:
        spec = verdicts.specifications()[claim.id]
        assert (claim.text, claim.source, claim.rule) == (spec.text, spec.source, spec.rule)


def _ways(value: float, unit: str) -> list[str]:
    """How a sentence of evidence may write a value."""
    if unit == "seconds":
        return [f"{value:.0f}"]
    if unit in ("mse", "mae", "ratio"):
        return [f"{value:+.4f}", f"{value:.4f}"]
    whole = [f"{value * 100:.0f}"] if unit == "share" else []
    return [f"{value:.4f}", f"{value * 100:+.1f}", f"{value * 100:.1f}", *whole]


def _is_told(ours: Finding, evidence: str) -> bool:
    values = (ours.value, ours.low, ours.high)
    return all(any(way in evidence for way in _ways(value, ours.unit)) for value in values if value is not None)


def test_the_numbers_of_a_claim_are_those_of_its_evidence() -> None:
    """Every value that has an interval. A file from before claims had numbers has nothing to compare."""
    for claim in _claims():
        found = [ours for ours in [part.ours for part in claim.parts] or [claim.ours] if ours is not None]
        found = [ours for ours in found if ours.low is not None and ours.high is not None]
        assert all(ours.low <= ours.value <= ours.high and ours.how for ours in found), claim.id
        told = [_is_told(ours, claim.evidence) for ours in found]
        # A sentence that counts many parts shows the least one.
        assert any(told) if "; least: " in claim.evidence else all(told), claim.id
