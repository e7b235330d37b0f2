from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sentbook import cli
from sentbook.runs import claims, verdict_ledger
from sentbook.runs import ledger as store
from sentbook.runs.verdict_ledger import Entry, Ledger


def test_the_committed_file_is_what_the_recorded_runs_say() -> None:
    path = verdict_ledger.path_of("small")
    assert path.is_file(), "write it with `sentbook verdicts --profile small`"
    assert path.read_text(encoding="utf-8") == store.dumped(verdict_ledger.gather("small")), (
        "a run or a cause has changed since: write it again with `sentbook verdicts --profile small`"
    )


def test_every_claim_is_there_once_in_the_order_of_the_papers() -> None:
    ledger = verdict_ledger.gather("small")
    assert [entry.id for entry in ledger.claims] == [
        spec.id for paper in verdict_ledger.PAPERS for spec in claims.claims(paper)
    ]
    own = [spec for spec in claims.specifications().values() if spec.own]
    of_paper = {paper: sum(not spec.own for spec in claims.claims(paper)) for paper in verdict_ledger.PAPERS}
    assert {paper: counts["all"] for paper, counts in ledger.counts.items()} == {**of_paper, "ours": len(own)}
    for counts in ledger.counts.values():
        assert sum(counts[verdict] for verdict in verdict_ledger.VERDICTS) == counts["all"]


def test_an_entry_is_the_recorded_claim_and_its_run() -> None:
    ledger = verdict_ledger.gather("small")
    for entry in ledger.claims:
        run = store.read(entry.paper, entry.experiment, "small")
        if run is None:  # a page that no batch has recorded yet
            assert entry.verdict == "not run" and not entry.run
            continue
        assert entry.run == f"small/{entry.paper}/{entry.experiment}"
        (claim,) = [claim for claim in run.claims if claim.id == entry.id]
        said = set(type(claim).model_fields) - {"rule"}  # which is that of the claims' file
        assert entry.earlier == (claim.judged_by != claims.specifications()[claim.id].judged_by)
        assert claim.model_dump(include=said) == entry.model_dump(include=said)
        assert entry.commit == run.provenance.git_commit and entry.seeds == run.provenance.seeds
        assert entry.cause is None or claim.verdict != "reproduced"
        assert entry.cause is not None or claim.verdict != "not reproduced"


def test_chance_is_bounded_by_the_rules_levels() -> None:
    """One rule of 2.5 % in a "reproduced", else as many as there are parts; counts and values held have none."""
    told = {"paper": "cse", "experiment": "t", "text": "t", "source": "s", "rule": "r", "evidence": "e"}

    def entry(identifier: str, verdict: str, parts: int = 0, rule: str = "r") -> Entry:
        return Entry.model_validate(
            {**told, "id": identifier, "verdict": verdict, "parts": [{"verdict": "inconclusive"}] * parts, "rule": rule}
        )

    found = verdict_ledger.by_chance(
        [
            entry("cse-02", "reproduced"),
            entry("cse-18", "not reproduced", parts=3),
            entry("cse-09", "exceeded", parts=5),
            entry("cse-01", "not reproduced"),  # counts wins
            entry("cse-30", "reproduced"),  # an identity: no chance is in it
            entry("cse-03", "inconclusive"),
            entry("cse-08", "reproduced", rule="scores"),
        ]
    )["cse"]
    assert (found.at_most, found.decided, found.counted) == (0.225, 3, 2)


def test_without_runs_every_claim_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    monkeypatch.setattr(verdict_ledger, "root", lambda: tmp_path)
    path = verdict_ledger.write(verdict_ledger.gather("small"))
    assert path == tmp_path / "results" / "small" / "verdicts.json"
    first = path.read_bytes()
    found = Ledger.model_validate_json(first)
    assert {(entry.verdict, entry.evidence, entry.run) for entry in found.claims} == {
        ("not run", verdict_ledger.NO_RUN, "")
    }
    assert found.counts["wsv"]["not run"] == found.counts["wsv"]["all"] == 31
    said = CliRunner().invoke(cli.app, ["verdicts"]).output
    assert "wsv      0 reproduced, 0 exceeded, 0 not reproduced" in said and "31 not run, 31 all" in said
    assert path.read_bytes() == first and json.loads(first)["schema_version"] == 1
    assert [file.name for file in path.parent.iterdir()] == ["verdicts.json"]
