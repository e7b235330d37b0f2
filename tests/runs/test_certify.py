"""Two runs compared: what is certified, what is not and why, and what says nothing about each other."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sentbook import cli
from sentbook.io import ConfigError, DataError, root
from sentbook.records import Claim, Metric, Provenance, Run
from sentbook.report_old import pages
from sentbook.runs import certify, ledger
from sentbook.runs.certify import Comparison


def _run(*, started: str = "2026-01-01", shift: float = 0.0, **changes: object) -> Run:
    provenance = Provenance(
        git_commit="a" * 40, config={"profile": "small", "cse": {"filters": 100}}, config_hash="0123", python="3.11",
        data={"eval/x": "d" * 64}, device="cpu", started=started, wall_seconds=1, peak_memory_bytes=1, seeds=[1, 2],
    )  # fmt: skip
    metrics = [
        Metric(
            method="CSE", dataset=dataset, metric="pearson", protocol="cosine", seed=seed, n=750,
            value=0.7 + 0.01 * seed + (shift if (dataset, seed) == ("b", 2) else 0.0),
        )
        for dataset in ("a", "b") for seed in (1, 2)
    ]  # fmt: skip
    claims = [
        Claim(id=name, text="t", source="s", rule="beats", verdict="reproduced", evidence="e")
        for name in ("cse-02", "wsv-17")
    ]
    made = Run(paper="cse", experiment="table1", profile="small", provenance=provenance, metrics=metrics, claims=claims)
    return made.model_copy(update=changes)


def own(**changes: Any) -> Run:
    return _run(started="2026-01-02", **changes)


def compared(run: Run, recorded: Run | None = None) -> Comparison:
    return certify.compare("small/cse/table1", recorded or _run(), run)


def test_the_same_bits_are_reported_as_such() -> None:
    found = compared(own())
    assert (found.reasons, found.summary) == ([], "reproduced bit for bit")
    (row,) = found.compared
    assert (row.rows, row.identical, row.largest, row.where) == (4, 4, 0.0, "")


@pytest.mark.parametrize("shift", [0.0049, -0.0049, 0.0051])
def test_a_seeds_value_within_the_tolerance(shift: float) -> None:
    found = compared(own(shift=shift))
    (row,) = found.compared
    assert (row.identical, row.where) == (3, "CSE, b, pearson, seed 2")
    assert row.largest == pytest.approx(abs(shift)) and row.largest_of_means == pytest.approx(abs(shift) / 2)
    assert found.summary == ("reproduced within 0.005" if abs(shift) < 0.005 else "not reproduced")


def test_means_are_held_tighter() -> None:
    """Both seeds are .004 off to one side: within a seed's tolerance, not within that of the mean, .005 over root 2."""
    run = own()
    moved = [row.model_copy(update={"value": row.value + 0.004 * (row.dataset == "a")}) for row in run.metrics]
    (reason,) = compared(run.model_copy(update={"metrics": moved})).reasons
    assert reason.startswith("the mean pearson over seeds is 0.0040 off on CSE, a, pearson, tolerance 0.0035")


def test_missing_added_and_resized_rows_are_named() -> None:
    run = own()
    missing = compared(run.model_copy(update={"metrics": run.metrics[1:]}))
    assert missing.reasons == ["1 numbers are missing from the own run, such as CSE, a, pearson, seed 1"]
    added = run.metrics[0].model_copy(update={"seed": None})
    assert "own run alone" in compared(run.model_copy(update={"metrics": [*run.metrics, added]})).reasons[0]
    fewer = [run.metrics[0].model_copy(update={"n": 749}), *run.metrics[1:]]
    assert "another number of items" in compared(run.model_copy(update={"metrics": fewer})).reasons[0]


def test_verdicts_must_agree_but_for_those_on_seconds() -> None:
    run = own()
    first, timed = run.claims
    other = {"verdict": "inconclusive"}
    changed = compared(run.model_copy(update={"claims": [first.model_copy(update=other), timed]}))
    assert changed.reasons == ["cse-02 was reproduced and is inconclusive"]
    slower = compared(run.model_copy(update={"claims": [first, timed.model_copy(update=other)]}))
    assert not slower.reasons and list(slower.verdicts_changed) == ["wsv-17"]
    assert compared(run.model_copy(update={"claims": [timed]})).reasons == ["cse-02 was reproduced and is not judged"]


def test_a_measure_of_time_is_no_number_and_perplexities_are_relative() -> None:
    def with_rows(run: Run, speedup: float, perplexity: float) -> Run:
        rows = [("speedup", speedup), ("perplexity of the same sentence", perplexity)]
        more = [run.metrics[0].model_copy(update={"metric": name, "value": value}) for name, value in rows]
        return run.model_copy(update={"metrics": [*run.metrics, *more]})

    assert compared(with_rows(own(), 9.0, 201.0), with_rows(_run(), 3.0, 200.0)).reasons == []
    assert "relative tolerance" in compared(with_rows(own(), 9.0, 203.0), with_rows(_run(), 3.0, 200.0)).reasons[0]


def test_an_encoder_that_was_found_was_not_trained_again_and_other_data_are_told() -> None:
    extra = {"artifacts": [{"key": "k", "started": "2026-01-01"}, {"key": "l", "started": "2026-01-01"}]}
    again = {"artifacts": [{"key": "k", "started": "2026-01-01"}, {"key": "l", "started": "2026-01-02"}]}
    run = own(extra=again)
    other = run.provenance.model_copy(update={"data": {"eval/x": "e" * 64, "eval/y": "f" * 64}})
    found = compared(run.model_copy(update={"provenance": other}), _run(extra=extra))
    assert (found.encoders, found.trained_again, found.summary) == (2, 1, "evaluated again, bit for bit")
    assert found.data_differing == ["eval/x", "eval/y"]


def test_runs_that_say_nothing_about_each_other_are_refused(tmp_path: Path) -> None:
    hashed = own().provenance.model_copy(update={"config_hash": "4567", "config": {"profile": "small"}})
    for run, words in (
        (_run(), "the recorded run of cse/table1 itself"),
        (own(experiment="table2"), "The own run is of cse/table2"),
        (own(profile="demo"), "The own run is of profile demo"),
        (own(provenance=hashed), "other configurations (cse.filters: recorded 100, own None)"),
    ):
        with pytest.raises(ConfigError) as caught:
            compared(run)
        assert words in str(caught.value)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DataError, match="is not a recorded run"):
        certify.from_file(tmp_path / "x.json")


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def committed(checkout: Path) -> Path:
    """A checkout where table 1 is committed."""
    ledger.write(_run())
    git = ["git", "-C", str(checkout), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for step in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "run"]):
        subprocess.run([*git, *step], check=True, capture_output=True)
    return checkout


def call(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(cli.app, ["certify", *arguments])
    return found.exit_code, found.output, str(found.exception)


def test_the_command_compares_the_working_tree_with_the_commit(committed: Path) -> None:
    ledger.write(own(shift=0.001))
    code, said, _ = call("cse/table1")
    assert code == 0 and "small/cse/table1: reproduced within 0.005" in said
    written = (committed / "build" / "certificates" / "cse-table1-small.json").read_bytes()
    assert Comparison.model_validate_json(written).reasons == []
    other = own().provenance.model_copy(update={"data": {"eval/x": "e" * 64}})
    ledger.write(own(shift=0.1, provenance=other))
    code, said, _ = call("cse/table1", "--out", str(committed / "out"))
    assert "data: other files than the recorded run's (eval/x)" in said
    assert code == 1 and "not certified: pearson is 0.1000 off on CSE, b, pearson, seed 2" in said


def test_runs_without_numbers_are_not_certified(tmp_path: Path) -> None:
    for name, run in (("one", _run(metrics=[], claims=[])), ("two", own(metrics=[], claims=[]))):
        (tmp_path / name).write_text(run.model_dump_json())
    _, _, error = call("cse/table1", "--recorded", str(tmp_path / "one"), "--run", str(tmp_path / "two"))
    assert "small/cse/table1 holds no numbers that could be compared" in error


def test_what_was_recorded_again_is_on_the_page_of_status(committed: Path) -> None:
    assert "Recorded again" not in pages.status_page(["cse"])
    ledger.write(own(shift=0.001))
    assert call("cse/table1", "--record")[0] == 0
    text = pages.status_page(["cse"])
    assert "## Recorded again" in text and all(part in text for part in ("small/cse/table1", "3 of 4", "0.001"))
    (committed / "results" / "again" / "cse-table1-small.json").write_text("{}")
    with pytest.raises(DataError, match="is no comparison; write it again"):
        pages.status_page(["cse"])


def test_the_command_refuses_in_a_sentence(committed: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    for arguments, message in (
        (["cse/table1"], "nothing was run again"),
        (["cse/table9"], "No run results/small/cse/table9.json is committed"),
        (["table1"], "names no experiment"),
        (["cse/table1", "--run", "none.json"], "There is no run"),
    ):
        assert message in call(*arguments)[2]
    assert not (committed / "build").exists()
    (committed / ".git").rename(committed / "no-git")
    assert root() == committed and "is not a git checkout" in call("cse/table1")[2]
