"""A study as a notebook calls it: parameters by name, recipes, scores, and a record that holds no sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kept import forget
from sentbook import config, io, records
from sentbook.config import digest
from sentbook.data import corpora, sources, suites, vectors
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import COSINE_PEARSON
from sentbook.evaluation.statistics import Estimate
from sentbook.papers.wsv.experiments import scored
from sentbook.study import Study
from sentbook.training import recipes, runs
from sentbook.training.search import identity

TINY = {"limit": 60, "epochs": 1, "batch_size": 20, "checks_per_epoch": 1}
CHANGES: dict[str, Any] = {
    "profile": "demo", "seeds": [1, 2], "device": "cpu", "resamples": 100, "cse": {"filters": 3}, "phrase": TINY,
    "sentence": TINY, "relatedness": {"epochs": 1, "hidden": 5, "batch_size": 50},
}  # fmt: skip
METRIC = records.Metric(method="CSE", dataset="d", metric="pearson", protocol="p", seed=1, value=0.5, n=9)


@pytest.fixture(autouse=True)
def checkout(store: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records go to a folder of the test's, artifacts to one that the tests share."""
    monkeypatch.setattr(records, "root", lambda: tmp_path)
    monkeypatch.setattr(io, "git_commit", lambda: "0123abc")
    return tmp_path


def study(**changes: Any) -> Study:
    return Study("cse/table1", **config.merge(CHANGES, changes))


@pytest.mark.usefixtures("artifacts")  # of its own: another test's would hold other data
def test_provenance_holds_all_that_made_the_numbers() -> None:
    forget()
    sources.note("pairs.txt", 2, "aa")  # as if a corpus had been read from a file
    done = study()
    s = done.settings
    done.train(recipes.recipes(s, "CSE", s.cse, s.phrase))
    forget()
    sources.note("sick.txt", 3, "bb")
    again = study()
    trained = again.train(recipes.recipes(s, "CSE", s.cse, s.phrase), recipes.recipes(s, "untrained", s.pp, seeds=[0]))
    run = again.record(metrics=[METRIC])
    origin = run.provenance
    assert config.parse(type(s), origin.config) == s and origin.config_hash == digest(s)
    # The artifact remembers its files.
    assert origin.data == {"originals/pairs.txt": "aa (2 bytes)", "originals/sick.txt": "bb (3 bytes)"}
    words, phrases = vectors.substitute("miniworld", "cse"), corpora.CORPORA["miniworld-phrases"].substitute
    assert origin.substitutions == [words, phrases]
    assert set(origin.packages) == set(io.RECORDED_PACKAGES) and origin.python.startswith("3.")
    assert origin.seeds == [1, 2]  # of what was trained; the untrained row has no seed of its own
    assert (origin.git_commit, origin.device.partition(" (")[0]) == ("0123abc", "cpu")
    assert origin.threads == torch.get_num_threads()
    assert {item["device"] for item in run.extra["artifacts"]} == {origin.device}
    keys = [("CSE", seed, item.recipe.key()) for seed, item in zip((1, 2), trained, strict=False)]
    assert [(item["method"], item["seed"], item["key"]) for item in run.extra["artifacts"]] == keys
    assert {(row.method, row.seed) for row in (*run.curves, *run.cost)} == {("CSE", 1), ("CSE", 2)}
    [chain] = again.train(recipes.recipes(s, "CSE", s.cse, s.phrase, s.sentence, seeds=[1]))
    assert "originals/pairs.txt" in chain.metadata["data"]  # of the stage before


def test_a_record_is_read_back_and_holds_no_sentence(checkout: Path) -> None:
    done = study()
    s = done.settings
    trained = done.train(
        recipes.recipes(s, "PP", s.pp, s.phrase), recipes.recipes(s, "CSE", s.cse, s.phrase, s.sentence)
    )
    scores = done.score(trained)
    tests = scores.table_tests("CSE", "PP", resamples=100)
    found = {"gap": Estimate(0.1, 0.0, 0.2, 0.04), "first": tests[0], "counts": [np.int64(3), np.arange(2)]}
    run = done.record(scores, protocol=COSINE_PEARSON, tests=tests, findings=found)
    assert run.metrics == scores.metric_rows(COSINE_PEARSON)
    assert run.findings["gap"] == {"estimate": 0.1, "low": 0.0, "high": 0.2, "p": 0.04}
    assert run.findings["first"] == tests[0].model_dump() and run.findings["counts"] == [3, [0, 1]]
    folder = checkout / "build" / "runs" / run.profile / "cse"
    written = sorted(path for path in checkout.rglob("*") if path.is_file())
    assert written == [folder / "table1.json", folder / "table1.npz"]
    assert records.read("cse/table1", run.profile, own=True) == run
    text = (folder / "table1.json").read_text().lower()
    said = [sentence for pairs in suites.test_sets("miniworld") for sentence in (*pairs.first, *pairs.second)]
    said += corpora.load(["miniworld-sentences"], limit=500).first
    long = {sentence.lower() for sentence in said if len(sentence.split()) > 3}
    assert len(long) > 500
    assert [sentence for sentence in long if sentence in text] == []
    # The scores per item give the same numbers, intervals and tests again.
    kept = Predictions.restored(records.Scores.load(folder / "table1.npz"))
    assert kept.metric_rows(COSINE_PEARSON) == run.metrics
    assert kept.table_tests("CSE", "PP", resamples=100) == tests


def test_the_committed_search_is_read_and_not_a_later_one_of_this_checkout() -> None:
    done = study()
    recipe = recipes.recipes(done.settings, "CSE", done.settings.cse, done.settings.phrase)
    done.train(recipe)
    of = identity(recipe[0], recipe[0].stages[-1])
    for own, trainings in ((True, 7), (False, 5), (True, 9)):
        run = done.record(metrics=[METRIC], searches=[records.Search(method="CSE", of=of, trainings=trainings)])
        records.save(run, records.place("cse/tuning", "demo", own=own))
        assert done.record(metrics=[METRIC]).searches[0].trainings == (7 if trainings == 7 else 5)


@pytest.mark.long
@pytest.mark.real_data
@pytest.mark.usefixtures("artifacts")
def test_a_page_trained_from_nothing_gives_its_recorded_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numbers are meant to change, raise `records.VERSION`; for training `sentbook.training.recipes.VERSION`."""
    monkeypatch.setattr(records, "root", io.root)
    recorded = records.read("wsv/table2")
    assert recorded is not None
    if recorded.stale:
        pytest.skip("the recorded run is of an earlier version")
    s, own = Study("wsv/table2", profile="small").settings, ("WSV-SCNN-SV d=50 L=1", 1)
    trained = runs.obtain(recipes.recipes(s, own[0], s.wsv, s.sick, seeds=[own[1]]))
    found = {row.metric: row.value for row in scored(trained).relatedness_rows()}
    best = [row for row in recorded.metrics if (row.method, row.seed) == own and "best epoch" in row.protocol]
    assert found == pytest.approx({row.metric: row.value for row in best}, abs=0.005)


def test_each_encoder_reads_sentences_as_it_was_trained() -> None:
    done = study()
    s = done.settings
    both = done.train(*(recipes.recipes(s, kind, s.pp, seeds=[1], tokenisation=kind) for kind in ("ptb", "content")))
    found = done.score(both)
    for item in both:
        alone = done.score([item])
        for name in found.names:
            assert np.array_equal(found.table[item.method, name][1], alone.table[item.method, name][1])
    assert any(not np.array_equal(found.table["ptb", name][1], found.table["content", name][1]) for name in found.names)
