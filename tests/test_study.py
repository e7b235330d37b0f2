"""A study as a notebook calls it: recipes, scores on the scale of the gold, and a record that holds no sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import psutil
import pytest
import torch

from kept import forget
from sentbook import config, io
from sentbook import records as results
from sentbook.config import digest
from sentbook.data import corpora, sources, suites, vectors
from sentbook.evaluation.protocols import COSINE_PEARSON
from sentbook.io import ConfigError, StorageError
from sentbook.runs import ledger as store
from sentbook.runs import lineage
from sentbook.study import Study
from sentbook.training import recipes

TINY = {"limit": 60, "epochs": 1, "batch_size": 20, "checks_per_epoch": 1}
CHANGES: dict[str, Any] = {
    "profile": "demo", "seeds": [1, 2], "device": "cpu", "resamples": 100, "cse": {"filters": 3}, "phrase": TINY,
    "sentence": TINY, "relatedness": {"epochs": 1, "hidden": 5, "batch_size": 50},
}  # fmt: skip
METRIC = results.Metric(method="CSE", dataset="d", metric="pearson", protocol="p", seed=1, value=0.5, n=9)


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records go to a folder of the test's, artifacts to one that the tests share."""
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path_factory.getbasetemp() / "artifacts"))
    monkeypatch.setattr(results, "root", lambda: tmp_path)
    monkeypatch.setattr(io, "git_commit", lambda: "0123abc")
    return tmp_path / "results"


def study(**changes: Any) -> Study:
    return Study("cse/table1", config.load("cse", config.merge(CHANGES, changes)))


def demo(**changes: Any) -> Study:
    return Study("cse/table1", config.load("cse", {"profile": "demo", **changes}))


def test_the_profile_as_its_file_has_it_is_recorded_under_its_name(ledger: Path) -> None:
    run = demo().record(metrics=[METRIC])
    assert run.profile == "demo"
    assert [path.relative_to(ledger) for path in ledger.rglob("*.json")] == [Path("demo/cse/table1.json")]
    assert store.read("cse", "table1", "demo") == run


def test_a_gpu_is_recorded_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentbook.study.device_of", lambda name: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"H100 of {device}")
    assert demo().record(metrics=[METRIC]).provenance.device == "cuda (H100 of cuda)"


@pytest.mark.parametrize("change", [{"device": "cpu"}, {"jobs": 2}])
def test_where_it_runs_is_no_change_of_the_profile(change: dict[str, Any]) -> None:
    assert demo(**change).profile == "demo"


@pytest.mark.parametrize("profile", ["demo", "small"])
def test_changed_parameters_never_replace_a_recorded_run(ledger: Path, profile: str) -> None:
    recorded = Study("cse/table1", config.load("cse", {"profile": profile}))
    recorded.record(metrics=[METRIC])
    file = ledger / profile / "cse" / "table1.json"
    before = file.read_bytes()
    runs = []
    for margin in (0.3, 0.35):
        changed = Study("cse/table1", config.load("cse", {"profile": profile, "phrase": {"margin": margin}}))
        runs.append(changed.record(metrics=[]))
        assert changed.profile == f"custom/{digest(changed.settings)}"
        assert (ledger / changed.profile / "cse" / "table1.json").is_file()
    assert file.read_bytes() == before
    assert runs[0].profile != runs[1].profile
    assert len(list(ledger.rglob("*.json"))) == 3


@pytest.mark.parametrize("tells", ["SENTBOOK_NOTEBOOK", "JPY_SESSION_NAME", "__vsc_ipynb_file__", "command line", ""])
def test_a_copied_notebook_leaves_the_originals_run_alone(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tells: str
) -> None:
    """Where nobody tells which file runs, or names one that only calls for another one, it is the original."""
    original = lineage.notebook_path("cse", "table1")
    copy, other = tmp_path / "table1_mine.ipynb", tmp_path / "all.ipynb"
    copy.write_bytes(original.read_bytes() + b"\n")
    other.write_text('"!papermill notebooks/cse/table1.ipynb out.ipynb"')
    profiles = []
    for file in (original, copy, other):
        caller = Mock(cwd=lambda: str(tmp_path), cmdline=lambda file=file: ["papermill", file.name, "out.ipynb"])
        monkeypatch.setattr(
            psutil.Process, "parent", lambda self, caller=caller: caller if tells == "command line" else None
        )
        namespace = {"profile": "demo", "In": ["", "profile = 'demo'"]}
        if tells.isupper():
            monkeypatch.setenv(tells, str(file))
        elif tells.startswith("_"):
            namespace[tells] = str(file)
        made = Study("cse/table1", namespace)
        made.record(metrics=[METRIC])
        profiles.append(made.profile)
        assert (ledger / made.profile / "cse" / "table1.json").is_file()
    mine = f"custom/table1_mine-{digest(made.settings)}" if tells else "demo"
    assert profiles == ["demo", mine, "demo"]


def test_provenance_holds_all_that_made_the_numbers() -> None:
    forget()
    sources.note("pairs.txt", 2, "aa")  # as if a corpus had been read from a file
    done = study()
    done.train(done.recipes("CSE", done.settings.cse, done.settings.phrase))
    forget()
    sources.note("sick.txt", 3, "bb")
    again = study()
    trained = again.train(
        again.recipes("CSE", again.settings.cse, again.settings.phrase),
        again.recipes("untrained", again.settings.pp, seeds=[0]),
    )
    run = again.record(metrics=[METRIC], extra={"note": 1})
    origin = run.provenance
    assert origin.config == again.settings.model_dump(mode="json")
    assert config.parse(type(again.settings), origin.config) == again.settings
    assert origin.config_hash == digest(again.settings)
    # The artifact remembers its files.
    assert origin.data == {"originals/pairs.txt": "aa (2 bytes)", "originals/sick.txt": "bb (3 bytes)"}
    assert origin.substitutions == [
        vectors.substitute("miniworld", "cse"),
        corpora.CORPORA["miniworld-phrases"].substitute,
    ]
    assert set(origin.packages) == set(io.RECORDED_PACKAGES) and origin.python.startswith("3.")
    assert origin.seeds == [1, 2]  # of what was trained; the untrained row has no seed of its own
    assert (origin.git_commit, origin.device.partition(" (")[0]) == ("0123abc", "cpu")
    assert origin.wall_seconds >= 0
    assert origin.peak_memory_bytes > 10_000_000
    assert run.extra["note"] == 1
    assert [(item["method"], item["seed"], item["key"]) for item in run.extra["artifacts"]] == [
        ("CSE", seed, item.recipe.key()) for seed, item in zip((1, 2), trained, strict=False)
    ]
    assert {(point.method, point.seed) for point in run.curves} == {("CSE", 1), ("CSE", 2)}
    assert [(cost.method, cost.seed) for cost in run.cost] == [("CSE", 1), ("CSE", 2)]


def test_a_record_is_the_file_that_is_read_back_and_holds_no_sentence(ledger: Path) -> None:
    done = study()
    trained = done.train(
        done.recipes("PP", done.settings.pp, done.settings.phrase),
        done.recipes("CSE", done.settings.cse, done.settings.phrase, done.settings.sentence),
    )
    scores = done.score(trained)
    run = done.record(metrics=scores.metric_rows(COSINE_PEARSON), tests=scores.table_tests("CSE", "PP", resamples=100))
    [file] = ledger.rglob("*.json")
    assert store.read("cse", "table1", run.profile) == run
    text = file.read_text().lower()
    json.loads(text)
    said = [sentence for pairs in suites.test_sets("miniworld") for sentence in (*pairs.first, *pairs.second)]
    said += corpora.load(["miniworld-sentences"], limit=500).first
    said += suites.relatedness("miniworld", "trial").first
    long = {sentence.lower() for sentence in said if len(sentence.split()) > 3}
    assert len(long) > 500
    assert [sentence for sentence in long if sentence in text] == []


def test_recipes_are_one_a_seed_with_the_studys_choices() -> None:
    done = study(tokenisation="words")
    made = done.recipes("CSE", done.settings.cse, done.settings.phrase)
    assert [recipe.seed for recipe in made] == [1, 2]
    assert {(recipe.method, recipe.tokenisation, recipe.suite) for recipe in made} == {("CSE", "words", "miniworld")}
    assert made[0].stages == (done.settings.phrase,)
    assert [recipe.seed for recipe in done.recipes("untrained", done.settings.pp, seeds=[7])] == [7]


def test_parameters_are_given_by_name() -> None:
    made = Study("cse/table1", profile="demo", seeds=[4], settings={"resamples": 200}, cse={"filters": 3}, phrase={})
    assert made.settings == config.load("cse", {"seeds": [4], "resamples": 200, "cse": {"filters": 3}})
    [recipe] = recipes.recipes(made.settings, "CSE", made.settings.cse, made.settings.phrase)
    assert (recipe.method, recipe.seed, recipe.stages) == ("CSE", 4, (made.settings.phrase,))
    with pytest.raises(ConfigError, match="Unknown parameter 'sentense'"):
        Study("cse/table1", profile="demo", sentense={})


def test_a_readers_seeds_are_those_of_its_ablations() -> None:
    assert demo().ablation_seeds == (1, 2)  # of its file
    assert demo(seeds=[7]).ablation_seeds == (7,)
    assert demo(seeds=[7], ablation_seeds=[8]).ablation_seeds == (8,)


def test_scores_are_cosines_of_every_pair_of_every_set() -> None:
    done = study()
    book = done.score(done.train(done.recipes("untrained", done.settings.pp, seeds=[0])))
    assert book.names == [pairs.name for pairs in suites.test_sets("miniworld")]
    for name in book.names:
        [values] = book.stacked("untrained", name)
        assert np.abs(values).max() <= 1
    assert book.value("untrained", 0, "total_avg") > 0.2  # the vectors are informative


def test_scores_are_made_on_the_device_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    done, seen = study(), []
    found = done.train(done.recipes("untrained", done.settings.pp, seeds=[0]))
    monkeypatch.setattr(recipes, "device_of", {done.settings.device: torch.device("meta")}.__getitem__)
    monkeypatch.setattr("sentbook.study.cosine_scores", lambda encoder, tokens: seen.append(encoder) or {})
    done.score(found)
    assert [encoder.embedding.weight.device.type for encoder in seen] == ["meta"]


def test_what_is_noted_is_recorded_with_its_beginning() -> None:
    """A notebook that trains in its own way, as table 3 of CSE does, tells the study so."""
    done = study(seeds=[3])
    begin = done.recipes("CSE", done.settings.cse, done.settings.phrase)
    tuned = recipes.fine_tune(begin, done.settings.relatedness, device="cpu")
    done.note(tuned, begin)
    run = done.record(metrics=[METRIC])
    assert [item["key"] for item in run.extra["artifacts"]] == [item.key for item in tuned]
    assert run.provenance.seeds == [3]
    assert corpora.CORPORA["miniworld-phrases"].substitute in run.provenance.substitutions
    assert {point.method for point in run.curves} == {"CSE"} == {row.method for row in run.cost}


def test_a_ledger_that_cannot_be_written_is_one_sentence(ledger: Path) -> None:
    ledger.write_text("in the way")
    with pytest.raises(StorageError, match=r"could not be written .*; free some space or choose a writable folder"):
        demo().record(metrics=[])
