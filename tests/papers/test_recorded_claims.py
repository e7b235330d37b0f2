"""Every recorded claim is judged again, by the rule of its entry, on the numbers that its run recorded."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from sentbook.records import Claim, Run
from sentbook.runs import claims, ledger
from sentbook.runs.recorded import AGAIN, COUNTED, RecordedEvidence, judge_again

SPECS = claims.specifications()
PLACES = list(dict.fromkeys((spec.paper, spec.experiment) for spec in SPECS.values()))
# What a run does not record: which files a training opened, every pair of rows that was compared, books of other sizes,
# and, of pre-training, a ratio of seconds beside its claim and which of its rows are of tasks.
UNRECORDED = {"cse-06", "wsv-07", "cnnlstm-12", "dnt-02", "dnt-09", "dnt-26", "dnt-27"}


@cache
def run_of(paper: str, experiment: str) -> Run:
    run = ledger.read(paper, experiment, "small")
    assert run is not None, f"{paper}/{experiment} is not recorded"
    return run


def recorded(identifier: str) -> tuple[Run, Claim]:
    run = run_of(SPECS[identifier].paper, SPECS[identifier].experiment)
    return run, next(claim for claim in run.claims if claim.id == identifier)


@pytest.mark.parametrize(("paper", "experiment"), PLACES)
def test_what_an_earlier_rule_judged_is_judged_again_where_the_rows_carry_enough(paper: str, experiment: str) -> None:
    run = run_of(paper, experiment)
    judged, left = judge_again(run)
    assert judged == run.claims, "judge the recorded runs again: `sentbook verdicts --again`"
    earlier = {claim.id for claim in judged if claim.judged_by != SPECS[claim.id].judged_by}
    assert earlier == set(left) and earlier <= UNRECORDED


@pytest.mark.parametrize("identifier", [name for name in SPECS if recorded(name)[1].ours])
def test_the_rule_of_a_claim_finds_the_recorded_verdict(identifier: str) -> None:
    run, claim = recorded(identifier)
    found = claims.judged(SPECS[identifier], RecordedEvidence.of_claim(run, SPECS[identifier], claim))
    if not found.ours:
        assert identifier in UNRECORDED
        return
    assert identifier not in UNRECORDED, "it can be judged from the recorded rows: take it off the list"
    assert (found.verdict, found.evidence) == (claim.verdict, claim.evidence)
    assert found.notes == [note for note in claim.notes if note != AGAIN]
    assert _numbers(found) == pytest.approx(_numbers(claim), nan_ok=True, rel=1e-9, abs=1e-12)


def test_a_claim_about_models_has_seeds_in_its_interval() -> None:
    """Or stands on one training, and then decides nothing."""
    for identifier, spec in SPECS.items():
        _, claim = recorded(identifier)
        if claim.judged_by != spec.judged_by or spec.about != "models":
            continue
        alone = any("one training of" in note for note in claim.notes)
        for number in [part.ours for part in claim.parts] or [claim.ours]:
            if number is not None and number.low is not None:
                words = ("seeds", "runs", "rows", "cells", "binomial")
                over = number.how in ("t", "Welch") or any(word in number.how for word in words)
                assert over or alone, (identifier, number)
        assert not alone or claim.verdict not in ("reproduced", "exceeded", "not reproduced"), identifier


def _numbers(claim: Claim) -> dict[str, float]:
    """Every number of a claim and of its parts, by what it is."""
    found = {}
    for index, one in enumerate([claim, *claim.parts]):
        for kind, number in (("printed", one.printed), ("ours", one.ours)):
            for name in ("value", "low", "high", "of"):
                held = getattr(number, name, None)
                found[f"{index} {kind} {getattr(number, 'what', '')} {name}"] = np.nan if held is None else float(held)
    return found


def test_rows_won_are_judged_again_from_counts_where_their_tests_are_not_recorded() -> None:
    """By three losses and a win an earlier rule had decided; a limit's own say is not overruled."""
    run, claim = recorded("dnt-26")
    assert "in its favour on 1, against it on 3" in claim.evidence
    for notes, verdict in ([], "inconclusive"), (["one of two sides has one training"], "not reproduced"):
        old = claim.model_copy(update={"judged_by": "earlier", "verdict": "not reproduced", "notes": notes})
        [new], left = judge_again(run.model_copy(update={"claims": [old]}))[0][:1], ["dnt-26"] * bool(notes)
        assert (new.verdict, new.notes == [COUNTED]) == (verdict, not left)
