from __future__ import annotations

import doctest
import json
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sentbook import evidence_cli
from sentbook.records import Claim, Metric, Provenance, Run
from sentbook.runs import certificate
from sentbook.runs import ledger as store
from sentbook.runs.certificate import Read
from sentbook.system.errors import ConfigError, DataError

NAME = "small/cse/table1"


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


def _read(run: Run) -> Read:
    return Read(run, run.model_dump_json().encode())


def _issued(own: Run, recorded: Run | None = None) -> certificate.Certificate:
    return certificate.issue(NAME, _read(recorded or _run()), _read(own), issued="2026-01-03")


OWN = {"started": "2026-01-02"}


def test_examples_of_the_docstrings() -> None:
    assert doctest.testmod(certificate).failed == 0


# -- the result --------------------------------------------------------------------------------------------------------


def test_the_same_bits_are_reported_as_such() -> None:
    found = _issued(_run(**OWN))  # type: ignore[arg-type]
    assert (found.result, found.identical, found.reasons) == ("certified", True, [])
    assert certificate.summary(found) == "reproduced bit for bit"
    (row,) = found.compared
    assert (row.rows, row.identical, row.largest, row.where) == (4, 4, 0.0, "")


@pytest.mark.parametrize(
    ("shift", "result"), [(0.0049, "certified"), (-0.0049, "certified"), (0.0051, "not certified")]
)
def test_a_seeds_value_within_the_tolerance(shift: float, result: str) -> None:
    found = _issued(_run(shift=shift, **OWN))  # type: ignore[arg-type]
    assert found.result == result and not found.identical
    (row,) = found.compared
    assert row.identical == 3 and row.where == "CSE, b, pearson, seed 2"
    assert row.largest == pytest.approx(abs(shift)) and row.largest_of_means == pytest.approx(abs(shift) / 2)
    if result == "certified":
        assert certificate.summary(found) == "reproduced within .005"


def test_means_are_held_tighter() -> None:
    """Both seeds are .004 off to one side: within a seed's tolerance, not within that of the mean, .005 over the root
    of 2; a seed alone is its mean."""
    run = _run(**OWN)  # type: ignore[arg-type]
    moved = [row.model_copy(update={"value": row.value + 0.004 * (row.dataset == "a")}) for row in run.metrics]
    found = _issued(run.model_copy(update={"metrics": moved}))
    assert found.result == "not certified"
    assert len(found.reasons) == 1 and found.reasons[0].startswith(
        "the mean pearson over seeds is 0.0040 off on CSE, a"
    )


def test_missing_added_and_resized_rows_are_named() -> None:
    run = _run(**OWN)  # type: ignore[arg-type]
    missing = _issued(run.model_copy(update={"metrics": run.metrics[1:]}))
    assert missing.reasons == ["1 numbers are missing from the own run, such as CSE, a, pearson, seed 1"]
    added = run.metrics[0].model_copy(update={"seed": 3})
    assert "own run alone" in _issued(run.model_copy(update={"metrics": [*run.metrics, added]})).reasons[0]
    fewer = [run.metrics[0].model_copy(update={"n": 749}), *run.metrics[1:]]
    assert "another number of items" in _issued(run.model_copy(update={"metrics": fewer})).reasons[0]


def test_verdicts_must_agree_but_for_those_on_seconds() -> None:
    run = _run(**OWN)  # type: ignore[arg-type]
    first, timed = run.claims
    other = {"verdict": "inconclusive"}
    changed = _issued(run.model_copy(update={"claims": [first.model_copy(update=other), timed]}))
    assert changed.result == "not certified" and changed.reasons == ["cse-02 was reproduced and is inconclusive"]
    slower = _issued(run.model_copy(update={"claims": [first, timed.model_copy(update=other)]}))
    assert slower.result == "certified" and [one.required for one in slower.verdicts_changed] == [False]
    assert _issued(run.model_copy(update={"claims": [timed]})).reasons == ["cse-02 was reproduced and is not judged"]


def test_other_data_are_told() -> None:
    run = _run(**OWN)  # type: ignore[arg-type]
    provenance = run.provenance.model_copy(update={"data": {"eval/x": "e" * 64, "eval/y": "f" * 64}})
    found = _issued(run.model_copy(update={"provenance": provenance}))
    assert (found.data_equal, found.data_differing) == (False, ["eval/x", "eval/y"])


def test_an_encoder_that_was_found_was_not_trained_again() -> None:
    def using(run: Run, *started: str) -> Run:
        items = [{"method": "CSE", "seed": n, "key": f"k{n}", "started": day} for n, day in enumerate(started)]
        return run.model_copy(update={"extra": {"artifacts": items}})

    recorded, own = using(_run(), "monday", "monday"), _run(**OWN)  # type: ignore[arg-type]
    found = _issued(using(own, "monday", "friday"), recorded)
    assert (found.encoders, found.trained_again) == (2, 1)
    assert certificate.summary(found) == "evaluated again, bit for bit"
    anew = _issued(using(own, "friday", "friday"), recorded)
    assert anew.trained_again == 2 and certificate.summary(anew) == "reproduced bit for bit"


def test_a_measure_of_time_is_no_number_to_certify() -> None:
    def timed(run: Run, value: float) -> Run:
        row = run.metrics[0].model_copy(update={"metric": "speedup", "value": value})
        return run.model_copy(update={"metrics": [*run.metrics, row]})

    assert _issued(timed(_run(**OWN), 9.0), timed(_run(), 3.0)).identical  # type: ignore[arg-type]


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_the_recorded_run_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"nothing was run again.*make run NOTEBOOK=cse/table1 PROFILE=small"):
        _issued(_run())


def test_another_experiment_configuration_or_profile_is_refused() -> None:
    run = _run(**OWN)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="own run is of cse/table2, not of cse/table1"):
        _issued(run.model_copy(update={"experiment": "table2"}))
    config = {"profile": "small", "cse": {"filters": 300}}
    other = run.provenance.model_copy(update={"config": config, "config_hash": "4567"})
    with pytest.raises(ConfigError, match=r"cse.filters: recorded 100, own 300"):
        _issued(run.model_copy(update={"provenance": other}))
    with pytest.raises(ConfigError, match="own run is of profile custom/4567, not small"):
        _issued(run.model_copy(update={"profile": "custom/4567"}))


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no run"):
        certificate.from_file(tmp_path / "none.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(DataError, match="not a recorded run"):
        certificate.from_file(tmp_path / "list.json")


# -- the file and the badge --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["result", "largest", "python", "added", "sha256"])
def test_a_changed_certificate_is_found_out(place: str, tmp_path: Path) -> None:
    file, _ = certificate.write(_issued(_run(shift=0.02, **OWN)), tmp_path)  # type: ignore[arg-type]
    assert certificate.verify(file).result == "not certified"
    fields = json.loads(file.read_text())
    if place == "result":
        fields["result"] = "certified"
    elif place == "largest":
        fields["compared"][0]["largest"] = 0.001
    elif place == "python":
        fields["own"]["python"] = "3.12"
    elif place == "added":
        fields["reasons"].append("none")
    else:
        fields["sha256"] = "0" * 64
    file.write_text(json.dumps(fields))
    with pytest.raises(DataError, match="changed after it was issued"):
        certificate.verify(file)


def test_layout_does_not_count(tmp_path: Path) -> None:
    file, _ = certificate.write(_issued(_run(**OWN)), tmp_path)  # type: ignore[arg-type]
    fields = json.loads(file.read_text())
    file.write_text(json.dumps(dict(reversed(fields.items())), indent=4))
    assert certificate.verify(file).result == "certified"


@pytest.mark.parametrize("content", ["{}", "[]", "no JSON", '{"run": "x"}'])
def test_what_is_no_certificate_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(DataError, match="is not a certificate"):
        certificate.verify(tmp_path / "c.json")
    with pytest.raises(DataError, match="could not be read"):
        certificate.verify(tmp_path / "none.json")


@pytest.mark.parametrize(("shift", "words"), [(0.0, "reproduced bit for bit"), (0.001, "reproduced within .005"),
                                              (0.1, "not reproduced")])  # fmt: skip
def test_the_badge_says_it_without_colour(shift: float, words: str) -> None:
    text = certificate.badge(_issued(_run(shift=shift, **OWN)))  # type: ignore[arg-type]
    drawing = ET.fromstring(text)
    name = "{http://www.w3.org/2000/svg}"
    title = f"sentbook cse/table1: {words}, profile small, 2026-01-03"
    assert drawing.findtext(f"{name}title") == drawing.get("aria-label") == title and drawing.get("role") == "img"
    assert [node.text for node in drawing.iter(f"{name}text")] == ["sentbook cse/table1", words]
    # Nothing that could be fetched or run.
    assert {node.tag.removeprefix(name) for node in drawing.iter()} == {"svg", "title", "rect", "g", "text"}
    assert "url(" not in text and "http" not in text.replace(name.strip("{}"), "")


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout where table 1 is committed."""
    for module in (store, certificate):
        monkeypatch.setattr(module, "root", lambda: tmp_path)
    monkeypatch.setattr("sentbook.system.paths.root", lambda: tmp_path)
    store.write(_run())
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for step in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "run"]):
        subprocess.run([*git, *step], check=True, capture_output=True)
    return tmp_path


def _certify(*arguments: str) -> tuple[int, str, BaseException | None]:
    found = CliRunner().invoke(evidence_cli.app, ["certify", *arguments])
    return found.exit_code, found.output, found.exception


def test_certify_compares_the_working_tree_with_the_commit(checkout: Path) -> None:
    store.write(_run(shift=0.001, **OWN))  # type: ignore[arg-type]
    code, said, _ = _certify("cse/table1")
    assert code == 0 and "small/cse/table1: reproduced within .005" in said
    file = checkout / "build" / "certificates" / "cse-table1-small.json"
    assert certificate.verify(file).recorded.started == "2026-01-01"
    assert file.with_suffix(".svg").is_file()
    assert _certify("--verify", str(file))[0] == 0


def test_the_exit_status_is_0_only_when_certified(checkout: Path) -> None:
    store.write(_run(shift=0.1, **OWN))  # type: ignore[arg-type]
    code, said, _ = _certify("cse/table1", "--out", str(checkout / "out"))
    assert code == 1 and "not certified: pearson is 0.1000 off on CSE, b, pearson, seed 2" in said
    assert _certify("--verify", str(checkout / "out" / "cse-table1-small.json"))[0] == 1


def test_certify_refuses_in_a_sentence(checkout: Path) -> None:
    for arguments, message in (
        (["cse/table1"], "nothing was run again"),
        (["cse/table9"], "No run results/small/cse/table9.json is committed"),
        (["table1"], "names no experiment"),
        (["cse/table1", "--run", "none.json"], "There is no run"),
    ):
        error = _certify(*arguments)[2]
        assert isinstance(error, (ConfigError, DataError)) and message in str(error)
    assert not (checkout / "build").exists()


def test_outside_git_the_recorded_run_must_be_given(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("plain")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(elsewhere.parent))
    recorded = store.path_of("cse", "table1", "small")
    for module in (store, certificate):
        monkeypatch.setattr(module, "root", lambda: elsewhere)
    own = store.write(_run(**OWN))  # type: ignore[arg-type]
    error = _certify("cse/table1")[2]
    assert isinstance(error, DataError) and "is not a git checkout" in str(error)
    code, _, _ = _certify("cse/table1", "--recorded", str(recorded), "--run", str(own), "--out", str(elsewhere))
    assert code == 0
