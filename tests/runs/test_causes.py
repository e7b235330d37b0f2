from __future__ import annotations

import re

import pytest

from sentbook.runs import causes, claims, ledger
from sentbook.system.errors import ConfigError
from sentbook.system.paths import root


def _recorded() -> dict[str, str]:
    """Claim -> verdict of the recorded small runs."""
    places = {(spec.paper, spec.experiment) for spec in claims.specifications().values()}
    runs = [ledger.read(paper, experiment, causes.PROFILE) for paper, experiment in places]
    return {claim.id: claim.verdict for run in runs if run is not None for claim in run.claims}


def test_every_failure_has_a_cause_and_nothing_else_has() -> None:
    failed = {claim for claim, verdict in _recorded().items() if verdict != "reproduced"}
    assert len(failed) > 50
    assert set(causes.causes()) == failed


def test_what_was_not_run_has_a_reason_and_not_a_cause() -> None:
    for claim, verdict in _recorded().items():
        if verdict != "reproduced":
            assert (causes.causes()[claim].support == "scope") == (verdict == "not run"), claim


def test_a_tested_cause_names_an_experiment_that_is_there() -> None:
    tested = [cause for cause in causes.causes().values() if cause.support == "tested"]
    assert tested
    for cause in tested:
        assert (root() / "results" / causes.PROFILE / f"{cause.by}.json").is_file(), cause.id
        assert (root() / "notebooks" / f"{cause.by}.ipynb").is_file(), cause.id


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
    assert causes.cause_of("cse-12", "not reproduced", "small") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {id: a, cause: c}", "support"),
        ("- {id: a, cause: c, support: proven}", "support"),
        ("- {id: a, cause: c, support: tested}", "names the experiment"),
        ("- {id: a, cause: c, support: untested, by: cse/table1}", "no other does"),
        ("- {id: a, cause: c, support: shown}\n" * 2, "a more than once"),
        ("- {id: a", "mend that entry"),
    ],
)
def test_a_mistake_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        causes.parse_causes(text)
