"""The verdicts of the committed records, their causes, and the check of both."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from sentbook import judge, records
from sentbook.io import ConfigError, root
from sentbook.judge import causes, check
from sentbook.records import Run

VERDICTS = {entry.id: entry for entry in judge.gather("small")}


def test_numbers_and_verdicts_follow_from_the_records_alone() -> None:
    for profile in ("small", "paper"):
        assert check.check(profile) == [], f"a record or a rule has changed: see `sentbook check --profile {profile}`"


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A record and the verdicts, in a folder of their own."""
    for name in ("cse/table4.json", "verdicts.json"):
        place = tmp_path / "results" / "small" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root() / "results" / "small" / name, place)
    for module in (check, records):
        monkeypatch.setattr(module, "root", lambda: tmp_path)
    return tmp_path / "results" / "small" / "cse" / "table4.json"


def _altered(path: Path, part: str, change: dict[str, Any], **of: Any) -> None:
    held = json.loads(path.read_text(encoding="utf-8"))
    [row] = [row for row in held[part] if all(row[key] == value for key, value in of.items())]
    path.write_text(json.dumps(held | {part: [row | change if one is row else one for one in held[part]]}))


def test_one_altered_number_is_found(copied: Path) -> None:
    """A value no longer fits its differences; an interval turns the verdict that it decides."""
    whole = copied.read_bytes()
    assert check.check("small", "cse/table4") == []
    _altered(copied, "metrics", {"value": 0.7}, method="CSE_sentence", dataset="total_avg", seed=1)
    assert any(
        "CSE_sentence" in words and "by its rows or scores" in words for words in check.check("small", "cse/table4")
    )
    copied.write_bytes(whole)
    test = {"a": "CSE_sentence", "b": "CSE_phrase", "dataset": "total_avg", "metric": "pearson"}
    _altered(copied, "tests", {"low": -0.001}, **test)
    assert check.check("small", "cse/table4") == ["cse-15: reproduced is recorded, the record says inconclusive"]
    check.write("small")
    assert check.check("small", "cse/table4") == []


def test_every_claim_is_there_once_in_the_order_of_the_papers() -> None:
    assert list(VERDICTS) == list(judge.specifications())
    counts = judge.counts(VERDICTS.values())
    assert sum(of_paper["all"] for of_paper in counts.values()) == len(VERDICTS)
    assert counts["ours"]["all"] == sum(spec.own for spec in judge.specifications().values())
    for entry in VERDICTS.values():
        run = records.read(f"{entry.paper}/{entry.experiment}")
        if run is None:  # a page whose data are not here
            assert entry.verdict == "not run" and not entry.run
        else:
            assert entry.run == f"small/{run.name}" and entry.seeds == run.provenance.seeds
        assert entry.rule_says or entry.verdict == "not run"


def test_a_claim_about_models_has_seeds_in_its_interval_or_decides_nothing() -> None:
    for name, entry in VERDICTS.items():
        if entry.about == "models":
            alone = any("one training of" in note for note in entry.notes)
            for number in [part.ours for part in entry.parts] or [entry.ours]:
                if number is not None and number.low is not None:
                    words = ("seeds", "runs", "rows", "binomial", "Welch")
                    assert number.how == "t" or any(word in number.how for word in words) or alone, (name, number)
            assert not alone or entry.verdict not in ("reproduced", "exceeded", "not reproduced"), name


def test_without_a_run_every_claim_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "root", lambda: tmp_path)
    found = judge.gather("small")
    assert {(entry.verdict, entry.evidence, entry.run) for entry in found} == {("not run", judge.NO_RUN, "")}


def test_chance_is_bounded_by_the_rules_levels() -> None:
    """One rule of 2.5 % in a "reproduced", else as many as there are parts; counts and values held have none."""
    told = {"paper": "cse", "experiment": "t", "text": "t", "source": "s", "evidence": "e"}

    def entry(identifier: str, verdict: str, parts: int = 0) -> judge.Entry:
        own = {"id": identifier, "verdict": verdict, "parts": [{"verdict": "inconclusive"}] * parts}
        return judge.Entry.model_validate({**told, **own, "rule": judge.specifications()[identifier].rule})

    entries = [
        entry("cse-02", "reproduced"),
        entry("cse-18", "not reproduced", parts=3),
        entry("cse-09", "exceeded", parts=5),
        entry("cse-01", "not reproduced"),  # counts wins
        entry("cse-30", "reproduced"),  # exact: no chance is in it
        entry("cse-03", "inconclusive"),
        entry("cse-08", "reproduced"),  # a value that the interval holds
    ]
    found = judge.chance(entries)["cse"]
    assert (found.at_most, found.decided, found.counted) == (0.225, 3, 2)


# -- causes and sentences ----------------------------------------------------------------------------------------------


def test_every_failure_has_a_tested_cause_and_what_is_reproduced_has_none() -> None:
    every = [*VERDICTS.values(), *judge.gather("paper")]
    failed = {entry.id for entry in every if entry.verdict == "not reproduced"}
    tested = {claim for claim, cause in causes.causes().items() if cause.state == "tested"}
    assert failed <= tested, "a finding against a paper is believed last: make the run that moves only the cause"
    for claim, cause in causes.causes().items():
        verdict = VERDICTS[claim].verdict
        assert verdict != "reproduced", claim
        assert cause.state != "scope" or verdict not in ("exceeded", "not reproduced"), claim
        assert cause.state == "scope" or verdict not in ("not run", "out of scale"), claim


TESTED = [one for one in causes.causes().values() if one.state == "tested"]


@pytest.mark.parametrize("cause", TESTED, ids=lambda cause: cause.id)
def test_a_tested_cause_holds_in_the_numbers_of_its_run(cause: causes.Cause) -> None:
    run: Run | None = records.read(cause.by, cause.profile)
    assert run is not None and (root() / "notebooks" / f"{cause.by}.ipynb").is_file()
    for shown in cause.shows:
        assert shown.holds(run), (shown, shown.value(run))
    assert len(cause.cause.split()) <= 60
    named = set(re.findall(r"\b(?:cse|wsv|dnt|cnnlstm)-\d\d\b", cause.cause))
    assert named <= {*judge.specifications()} - {cause.id}


def test_a_cause_belongs_to_one_profile_and_one_kind_of_verdict() -> None:
    assert causes.cause_of("cse-02", "not reproduced", "small") is not None
    assert causes.cause_of("cse-02", "reproduced", "small") is None
    assert causes.cause_of("cse-02", "not reproduced", "paper") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {id: a, cause: c}", "state"),
        ("- {id: a, cause: c, state: tested, by: cse/table1}", "names the experiment"),
        ("- {id: a, cause: c, state: guess, by: cse/table1, shows: [{finding: f}]}", "no other does"),
        ("- {id: a, cause: c, state: guess}\n" * 2, "a more than once"),
        ("- {id: a", "mend that entry"),
    ],
)
def test_a_mistake_in_the_causes_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        causes.parse_causes(text)
