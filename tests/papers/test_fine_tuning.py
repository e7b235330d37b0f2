"""Figure 3's grid: divisions of labels, cells and their keys, gains by hand."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sentbook.data.tasks import ClassificationTask, Examples
from sentbook.data.vectors import Vectors
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.papers.cnn_lstm import fine_tuning
from sentbook.papers.cnn_lstm.fine_tuning import (
    AVERAGE,
    Cell,
    FineTuning,
    Outcome,
    Start,
    cells,
    divide,
    fine_tune_grid,
    gains,
    metrics,
)
from sentbook.papers.cnn_lstm.settings import ClassifierTraining
from sentbook.system.errors import ConfigError
from sentbook.training.recipes import Recipe, Trained, load

SETTINGS = ClassifierTraining(epochs=2, batch_size=20, head_dropout=0.2, learning_rate=0.01, patience=None)
WORDS = [f"w{chr(97 + number)}" for number in range(10)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    return tmp_path / "artifacts"


def sentences(count: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Of two to seven words; class 1 where "wa" is among them, at whichever place."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    said = []
    for label in labels:
        words = [str(word) for word in rng.choice(WORDS[1:], rng.integers(2, 8))]
        if label:
            words[int(rng.integers(len(words)))] = "wa"
        said.append(" ".join(words))
    return said, labels


# -- divisions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [1, 4, 10, 13])
def test_a_division_parts_all_rows(run: int) -> None:
    labels = np.zeros(203, dtype=np.int64)
    division = divide(labels, run)
    assert sorted(np.concatenate(division)) == list(range(203))
    assert len(division.trial) == (203 - len(division.test)) // 10


def test_ten_runs_judge_every_row_once_and_ten_more_otherwise() -> None:
    labels = np.zeros(95, dtype=np.int64)
    tests = [divide(labels, run).test for run in range(1, 12)]
    assert sorted(np.concatenate(tests[:10])) == list(range(95))
    assert not np.array_equal(tests[10], tests[0])  # fold 1 of another division


def test_an_official_test_set_is_judged_in_every_run() -> None:
    labels = np.zeros(150, dtype=np.int64)
    one, other = (divide(labels, run, tested=50) for run in (1, 2))
    assert one.test.tolist() == other.test.tolist() == list(range(100, 150))
    assert sorted([*one.train, *one.trial]) == list(range(100))
    assert set(one.trial) != set(other.trial)


def test_smaller_shares_are_within_larger_ones() -> None:
    labels = np.zeros(500, dtype=np.int64)
    found = [divide(labels, 3, share, tested=100) for share in (0.1, 0.25, 0.5, 1.0)]
    for small, large in itertools.pairwise(found):
        assert set(small.train) < set(large.train)
        assert set(small.trial) < set(large.trial)
    assert [len(part.train) + len(part.trial) for part in found] == [40, 100, 200, 400]
    assert set(found[0].train) != set(divide(labels, 4, 0.1, tested=100).train)


def test_too_few_labels_are_refused() -> None:
    labels = np.zeros(100, dtype=np.int64)
    with pytest.raises(ConfigError, match="larger share"):
        divide(labels, 1, 0.05)
    with pytest.raises(ConfigError, match="from 1"):
        divide(labels, 0)


# -- the grid --------------------------------------------------------------------------------------------------------


ENGLISH = dict(zip(WORDS, ["the", "a", "man", "woman", "dog", "runs", "walks", "in", "street", "small"], strict=True))


def made_task(name: str) -> ClassificationTask:
    """``folds`` and ``pairs`` have no official test set, ``official`` has 40 sentences."""

    def part(count: int, seed: int) -> Examples:
        said, labels = sentences(count, seed)
        english = [" ".join(ENGLISH[word] for word in sentence.split()) for sentence in said]
        return Examples(english, english if name == "pairs" else None, labels)

    return ClassificationTask(name, ("without", "with"), part(120, 3), part(40, 4) if name == "official" else None)


@pytest.fixture(autouse=True)
def made_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fine_tuning, "task_of", made_task)


def start(seed: int, kind: Encoder | None = None) -> Trained:
    kind = kind or CNNEncoder(widths=(1, 2), filters=5, bound=0.1)
    return load(Recipe(method="CNN", seed=seed, vectors=Vectors(name="miniworld"), encoder=kind))


@pytest.fixture
def starts() -> dict[Start, Trained]:
    return {"pre-trained": start(1), "random": start(1)}


def test_the_key_holds_what_decides_a_cell() -> None:
    def key(start: Start = "random", run: int = 1, share: float = 1.0, begin: str = "a", **changes: Any) -> str:
        settings = SETTINGS.model_copy(update={"epochs": changes.pop("epochs", 2)})
        return FineTuning(Cell("folds", share, start, run), begin, settings, changes.get("bound"), "cpu").key

    keys = [key(), key("pre-trained"), key(run=2), key(share=0.5), key(begin="b"), key(epochs=3), key(bound=0.01)]
    assert len(set(keys)) == len(keys)
    assert key("pre-trained", bound=0.01) == keys[1]  # no filters are drawn


def test_cells_judge_their_rows_and_start_alike(starts: dict[Start, Trained]) -> None:
    wanted = [*cells(["folds", "official"], 2), *cells(["official"], 1, (0.5,))]
    found = fine_tune_grid(starts, wanted, SETTINGS, device="cpu")
    assert [outcome.cell for outcome in found] == wanted
    assert all(outcome.accuracy == outcome.right.mean() for outcome in found)
    assert np.array_equal(found[0].rows, divide(made_task("folds").train.labels, 1).test)
    assert {len(outcome.right) for outcome in found if outcome.cell.task == "official"} == {40}


def test_other_encoders_pairs_and_missing_starts_are_refused(starts: dict[Start, Trained]) -> None:
    with pytest.raises(ConfigError, match="not an encoder of kind 'average'"):
        fine_tune_grid({"random": start(1, AverageEncoder())}, [Cell("folds", 1.0, "random", 1)], SETTINGS)
    with pytest.raises(ConfigError, match="pairs"):
        fine_tune_grid(starts, [Cell("pairs", 1.0, "random", 1)], SETTINGS)
    with pytest.raises(ConfigError, match="'pre-trained'"):
        fine_tune_grid({"random": start(1)}, cells(["folds"], 1), SETTINGS)


# -- numbers ---------------------------------------------------------------------------------------------------------


def outcome(task: str, start: Start, run: int, right: list[int], share: float = 1.0) -> Outcome:
    """A test row a sentence; without an official test set those of a run are its own."""
    official = task == "TREC"
    rows = np.arange(len(right)) + (0 if official else 100 * run)
    history = {"curve": [], "seconds": 2.0, "examples": 100, "peak_memory_bytes": 1}
    metadata = {"official": official, "history": history, "parameters": 9}
    return Outcome(Cell(task, share, start, run), rows, np.array(right, dtype=bool), metadata)


@pytest.fixture
def outcomes() -> list[Outcome]:
    """Gains by run: MR .5, .25, .0; TREC .25, .25, .5, and .5, .75, 1 with a tenth of the labels."""
    signs = {
        ("MR", 1.0): ([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]),
        ("TREC", 1.0): ([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]], [[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]]),
        ("TREC", 0.1): ([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], [[0, 0, 0, 0]] * 3),
    }
    sides: tuple[Start, Start] = ("pre-trained", "random")
    return [
        outcome(task, start, run, right, share)
        for (task, share), both in signs.items()
        for start, side in zip(sides, both, strict=True)
        for run, right in enumerate(side, start=1)
    ]


def test_gains_over_runs_by_hand(outcomes: list[Outcome]) -> None:
    found = {(test.kind, test.dataset): test for test in gains(outcomes, resamples=500)}
    assert len(found) == 8
    for dataset, differences in {
        "MR": [0.5, 0.25, 0.0],
        "TREC": [0.25, 0.25, 0.5],
        "TREC-10%-labels": [0.5, 0.75, 1.0],
        AVERAGE: [0.375, 0.25, 0.25],
    }.items():
        test = found["t over runs", dataset]
        half = 4.302653 * np.std(differences, ddof=1) / math.sqrt(3)
        assert test.estimate == pytest.approx(np.mean(differences))
        assert [test.low, test.high] == pytest.approx([np.mean(differences) - half, np.mean(differences) + half])
        assert test.p == pytest.approx(stats.ttest_rel(differences, [0, 0, 0]).pvalue)
        assert found["paired bootstrap", dataset].estimate == pytest.approx(np.mean(differences))
        assert (test.a, test.b) == ("pretrained-composite", "random-init")
    p = [found["t over runs", name].p for name in ("MR", "TREC")]
    assert p[0] is not None
    assert found["t over runs", "MR"].p_holm == pytest.approx(max(p[0], 2 * min(p)))  # type: ignore[type-var, operator]
    assert found["t over runs", "TREC-10%-labels"].p_holm == found["t over runs", "TREC-10%-labels"].p
    assert found["t over runs", AVERAGE].p_holm is None


def test_one_run_has_no_interval_over_runs(outcomes: list[Outcome]) -> None:
    tests = gains([one for one in outcomes if one.seed == 1])
    assert {test.kind for test in tests} == {"paired bootstrap"}
    with pytest.raises(ConfigError, match="both starts"):
        gains([one for one in outcomes if one.cell.start == "random"])


def test_rows_of_the_ledger(outcomes: list[Outcome]) -> None:
    rows = metrics(outcomes)
    assert len(rows) == len(outcomes) + 6
    found = {(row.method, row.dataset, row.seed): row for row in rows}
    assert found["pretrained-composite", "TREC-10%-labels", 2].value == 0.75
    assert found["random-init", AVERAGE, 1].value == pytest.approx((0.25 + 0.75) / 2)
    assert "official test set" in found["random-init", "TREC", 1].protocol
    assert "fold r of 10" in found["random-init", "MR", 1].protocol
    assert outcomes[0].cost().examples_per_second == 50
