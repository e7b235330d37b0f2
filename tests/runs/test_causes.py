from __future__ import annotations

import re

import pytest

from sentbook.io import ConfigError, root
from sentbook.runs import causes, claims, ledger


def _recorded(profile: str = causes.PROFILE) -> dict[str, str]:
    """Claim -> verdict of the recorded runs, small or at the papers' sizes."""
    places = {(spec.paper, spec.experiment) for spec in claims.specifications().values()}
    runs = [ledger.read(paper, experiment, profile) for paper, experiment in places]
    return {claim.id: claim.verdict for run in runs if run is not None for claim in run.claims}


def test_every_failure_has_a_tested_cause_and_what_is_reproduced_has_none() -> None:
    recorded = _recorded()
    every = [*recorded.items(), *_recorded("paper").items()]
    failed = {claim for claim, verdict in every if verdict == "not reproduced"}
    tested = {claim for claim, cause in causes.causes().items() if cause.state == "tested"}
    assert failed <= tested, "a finding against a paper is believed last: make the run that moves only the cause"
    for claim, cause in causes.causes().items():
        assert recorded[claim] != "reproduced", claim
        assert cause.state != "scope" or recorded[claim] not in ("exceeded", "not reproduced"), claim
        assert cause.state == "scope" or recorded[claim] not in ("not run", "out of scale"), claim


@pytest.mark.parametrize(
    "cause", [one for one in causes.causes().values() if one.state == "tested"], ids=lambda c: c.id
)
def test_a_tested_cause_holds_in_the_numbers_of_its_run(cause: causes.Cause) -> None:
    run = ledger.read(*cause.by.split("/"), cause.profile)
    assert run is not None and (root() / "notebooks" / f"{cause.by}.ipynb").is_file()
    for shown in cause.shows:
        assert shown.holds(run), (shown, shown.value(run))


def test_the_rates_that_dnt_28_tells_of_are_those_of_the_searches() -> None:
    run, cause = ledger.read("dnt", "sample_size", causes.PROFILE), causes.causes()["dnt-28"].cause
    rate = {one.method: one.chosen["learning_rate"] for one in (run.searches if run else ())}
    few, every = (rate[f"InferSent [NT] chosen on {pairs} pairs"] for pairs in ("few", "all"))
    assert "all pairs choose a third of it" in cause and 3 * every == pytest.approx(few)


def test_causes_are_short_and_refer_to_claims_that_exist() -> None:
    for cause in causes.causes().values():
        assert len(cause.cause.split()) <= 60, cause.id
        for named in re.findall(r"\b(?:cse|wsv|dnt|cnnlstm)-\d\d\b", cause.cause):
            assert named in claims.specifications(), cause.id
            assert named != cause.id


def test_a_cause_is_of_one_profile_and_one_kind_of_verdict() -> None:
    assert causes.cause_of("cse-02", "not reproduced", "small") is not None
    assert causes.cause_of("cse-02", "reproduced", "small") is None
    assert causes.cause_of("cse-02", "not reproduced", "paper") is None
    assert causes.cause_of("cse-15", "not reproduced", "small") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {id: a, cause: c}", "state"),
        ("- {id: a, cause: c, state: proven}", "state"),
        ("- {id: a, cause: c, state: tested, by: cse/table1}", "names the experiment"),
        ("- {id: a, cause: c, state: guess, by: cse/table1, shows: [{finding: f}]}", "no other does"),
        ("- {id: a, cause: c, state: guess}\n" * 2, "a more than once"),
        ("- {id: a", "mend that entry"),
    ],
)
def test_a_mistake_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        causes.parse_causes(text)
