"""Experiments on scored pairs: the books of a study hold what its encoders scored, on the gold scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentbook import config
from sentbook.data import suites
from sentbook.evaluation.decisions import threshold
from sentbook.evaluation.protocols import Measure, Score
from sentbook.runs import ledger as store
from sentbook.study import Study
from sentbook.system import versions

TINY = {"epochs": 1}
CHANGES: dict[str, Any] = {
    "profile": "demo",
    "seeds": [1, 2],
    "device": "cpu",
    "wsv": {"filters": 5},
    "sick": TINY,
    "msrp": TINY,
}


@pytest.fixture(autouse=True)
def ledger(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.getbasetemp() / "similarity"  # one set of artifacts for the module
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(folder / "artifacts"))
    monkeypatch.setattr(store, "root", lambda: folder)
    monkeypatch.setattr(versions, "git_commit", lambda: "0123abc")
    return folder / "results"


def study() -> Study:
    return Study("wsv/table2", config.load("wsv", CHANGES))


def test_scores_are_on_the_gold_scale() -> None:
    made = study()
    encoders = made.train(made.recipes("WSV", made.settings.wsv, made.settings.sick))
    test = suites.pairs("miniworld", "test")
    for state in ("best", "last"):
        book = made.score_pairs(encoders, state)
        assert book.names == [test.name]
        for item in encoders:
            expected = 1 + 4 * item.scores("test", state)
            np.testing.assert_array_equal(book.stacked("WSV", test.name)[item.seed - 1], expected)
    rows = book.relatedness_rows(score=Score.TRAINED_COSINE, detail="after the last epoch")
    assert {row.metric for row in rows} == {"pearson", "spearman", "mse"}
    assert all(row.protocol.startswith("trained cosine") for row in rows)
    assert all(row.protocol.endswith("after the last epoch") for row in rows)


def test_thresholds_come_from_the_trial_pairs() -> None:
    made = study()
    encoders = made.train(made.recipes("WSV", made.settings.wsv, made.settings.msrp))
    gold, trial = suites.pairs("miniworld-paraphrase", "test").gold, suites.pairs("miniworld-paraphrase", "trial")
    fixed, tuned = made.decide_pairs(encoders, tuned=False), made.decide_pairs(encoders, tuned=True)
    for item in encoders:
        scores = item.scores("test")
        right = np.mean((scores >= 0.5) == (gold == 1))
        assert fixed.value("WSV", item.seed, fixed.names[0], Measure.ACCURACY) == pytest.approx(right)
        bound = threshold(item.scores("trial"), trial.gold)
        right = np.mean((scores >= bound) == (gold == 1))
        assert tuned.value("WSV", item.seed, fixed.names[0], Measure.ACCURACY) == pytest.approx(right)


def test_encoders_of_two_data_sets_share_no_book() -> None:
    made = study()
    both = made.train(
        made.recipes("a", made.settings.wsv, made.settings.sick),
        made.recipes("b", made.settings.wsv, made.settings.msrp),
    )
    with pytest.raises(ValueError, match=r"miniworld.*miniworld-paraphrase.*one data set"):
        made.score_pairs(both)
    untrained = made.train(made.recipes("c", made.settings.wsv))
    with pytest.raises(ValueError, match="no scored pairs"):
        made.score_pairs(untrained)


def test_pre_training_is_trained_once_and_the_vectors_are_named(ledger: Path) -> None:
    made = study()
    made.train(made.recipes("started", made.settings.wsv, made.settings.sick, made.settings.msrp))
    artifacts = ledger.parent / "artifacts"
    before = {path: path.stat().st_mtime_ns for path in artifacts.glob("*/encoder.safetensors")}
    again = study()
    again.train(again.recipes("plain", again.settings.wsv, again.settings.sick))
    assert before == {path: path.stat().st_mtime_ns for path in artifacts.glob("*/encoder.safetensors")}
    run = again.record(metrics=[])
    assert run.provenance.substitutions == ["generated word vectors of the mini-world"]


def test_jobs_can_be_one_where_seconds_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Study("wsv/table2", config.load("wsv", {**CHANGES, "jobs": 2}))
    seen: list[int] = []
    monkeypatch.setattr("sentbook.study.obtain", lambda recipes, *, device, jobs: seen.append(jobs) or [])
    made.train([], jobs=1)
    made.train([])
    assert seen == [1, 2]
