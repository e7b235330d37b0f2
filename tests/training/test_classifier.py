"""Fine-tuning a classifier: the loss by hand, divisions, what is drawn anew, cells found again, gains by hand."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from sentbook.data.tasks import ClassificationTask, Examples
from sentbook.data.text import Vocabulary
from sentbook.data.vectors import Vectors
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.system.errors import CheckpointError, ConfigError
from sentbook.training.loop import fit
from sentbook.training.problems import classifier
from sentbook.training.problems.classifier import (
    AVERAGE,
    Cell,
    ClassifierProblem,
    Outcome,
    Start,
    cells,
    divide,
    fine_tune_grid,
    gains,
    metrics,
    of_share,
    redraw,
    shrinking,
)
from sentbook.training.recipes import Recipe, Trained, load
from sentbook.training.settings import ClassifierTraining

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


def encoder(seed: int = 0, filters: int = 4) -> CNN:
    weight = torch.randn(len(WORDS) + 2, 6, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    made = CNN(weight, widths=(1, 3), filters=filters)
    redraw(made, seed)
    return made


def problem(count: int = 200, **changes: Any) -> ClassifierProblem:
    said, labels = sentences(count, 1)
    settings = SETTINGS.model_copy(update=changes)
    tokens = Vocabulary(WORDS).encode(said)
    return ClassifierProblem(encoder(), tokens, labels, divide(labels, 1), settings, classes=2, seed=1)


def softmax(made: ClassifierProblem) -> nn.Linear:
    linear = made.head[1]
    assert isinstance(linear, nn.Linear)
    return linear


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


# -- the problem -----------------------------------------------------------------------------------------------------


def test_the_loss_is_the_cross_entropy() -> None:
    made = problem(count=60)
    made.encoder.eval()
    made.head.eval()
    rows = np.array([3, 0, 7])
    linear = softmax(made)
    said, labels = sentences(60, 1)
    expected = []
    for row in made.division.train[rows]:
        tokens = Vocabulary(WORDS).encode([said[row]])
        ids, lengths = tokens.padded(np.array([0]), made.encoder.minimum_length)
        vector = made.encoder(torch.from_numpy(ids), torch.from_numpy(lengths))[0].detach().numpy()
        logits = linear.weight.detach().numpy() @ vector + linear.bias.detach().numpy()
        expected.append(math.log(np.exp(logits).sum()) - logits[labels[row]])
    assert made.loss(rows, np.random.default_rng(0)).item() == pytest.approx(np.mean(expected), rel=1e-5)


def test_it_learns_and_frozen_words_do_not_move() -> None:
    made = problem(epochs=12)
    before = made.encoder.embedding.weight.detach().clone()
    filters = [value.detach().clone() for value in made.encoder.composition()]
    history = fit(made, made.settings, seed=1, device="cpu", report=lambda line: None)
    assert history.best > 0.9  # about half by chance
    assert made.right(made.division.test).mean() > 0.8
    assert torch.equal(made.encoder.embedding.weight, before)
    assert not any(torch.equal(old, new) for old, new in zip(filters, made.encoder.composition(), strict=True))


def test_words_move_where_they_are_trained() -> None:
    made = problem(embedding_update="dense", epochs=1)
    before = made.encoder.embedding.weight.detach().clone()
    fit(made, made.settings, seed=1, device="cpu", report=lambda line: None)
    assert not torch.equal(made.encoder.embedding.weight, before)
    assert not made.encoder.embedding.weight[0].any()  # padding


def test_right_is_in_the_order_of_its_rows() -> None:
    made = problem()
    made.encoder.eval()
    made.head.eval()
    rows = np.random.default_rng(0).permutation(200)[:57]
    made.encoder.tokens_per_batch = 30
    one_by_one = np.concatenate([made.right(rows[at : at + 1]) for at in range(len(rows))])
    assert np.array_equal(made.right(rows), one_by_one)
    assert 0 < one_by_one.sum() < len(rows)


def test_training_stops_when_it_no_longer_improves() -> None:
    made = problem(epochs=50, patience=2)
    values = iter([0.5, 0.6, 0.55, 0.6, 0.9])
    made.validate = lambda: next(values)  # type: ignore[method-assign]
    history = fit(made, made.settings, seed=1, device="cpu", report=lambda line: None)
    assert sum(point["split"] == "validation" for point in history.curve) == 4


def test_the_softmax_begins_alike_whatever_the_encoder() -> None:
    said, labels = sentences(60, 1)
    tokens = Vocabulary(WORDS).encode(said)
    heads = [
        softmax(ClassifierProblem(encoder(seed), tokens, labels, divide(labels, 1), SETTINGS, classes=2, seed=5))
        for seed in (1, 2)
    ]
    assert torch.equal(heads[0].weight, heads[1].weight)


def test_few_labels_have_as_many_updates() -> None:
    few = of_share(SETTINGS.model_copy(update={"epochs": 3, "patience": 2}), 0.1)
    assert (few.epochs, few.patience) == (30, 20)
    assert of_share(SETTINGS, 0.5).patience is None
    assert of_share(SETTINGS, 1.0) == SETTINGS


def test_filters_are_drawn_anew_and_words_stay() -> None:
    made = encoder(seed=1, filters=500)
    words, first = made.embedding.weight.detach().clone(), [weight.detach().clone() for weight in made.weights]
    made.biases[0].data.fill_(3)
    redraw(made, 2)
    assert torch.equal(made.embedding.weight, words)
    assert not made.biases[0].any()
    for width, old, new in zip(made.widths, first, made.weights, strict=True):
        bound = math.sqrt(6 / (6 * width + 500))
        assert 0.98 * bound < new.abs().max() <= bound
        assert not torch.equal(old, new)
    redraw(made, 1)
    assert all(torch.equal(old, new) for old, new in zip(first, made.weights, strict=True))
    redraw(made, 1, bound=0.01)
    assert max(float(weight.detach().abs().max()) for weight in made.weights) <= 0.01


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
    monkeypatch.setattr(classifier, "task_of", made_task)


def start(seed: int, kind: Encoder | None = None) -> Trained:
    kind = kind or CNNEncoder(widths=(1, 2), filters=5, bound=0.1)
    return load(Recipe(method="CNN", seed=seed, vectors=Vectors(name="miniworld"), encoder=kind))


@pytest.fixture
def starts() -> dict[Start, Trained]:
    return {"pre-trained": start(1), "random": start(1)}


def test_cells_are_found_again_and_damage_is_named(
    starts: dict[Start, Trained], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    keys: list[str] = []

    def counted(*given: Any, **named: Any) -> Any:
        keys.append(named["key"])
        return fit(*given, **named)

    monkeypatch.setattr(classifier, "fit", counted)
    wanted = [*cells(["folds", "official"], 2), *cells(["official"], 1, (0.5, 1.0))]
    first = fine_tune_grid(starts, wanted, SETTINGS, device="cpu")
    assert len(keys) == len(set(keys)) == len(set(wanted)) == 10
    again = fine_tune_grid(starts, wanted, SETTINGS, device="cpu")
    assert len(keys) == 10
    for cell, one, other in zip(wanted, first, again, strict=True):
        assert Cell(one.task, one.share, one.start, one.run) == cell
        assert np.array_equal(one.right, other.right)
        assert one.accuracy == one.right.mean()
    assert np.array_equal(first[0].rows, divide(made_task("folds").train.labels, 1).test)
    # A run that was killed: one cell is not there, and comes out as it was.
    lost = folder / keys[3] / "outcome.json"
    before = json.loads(lost.read_text())
    lost.unlink()
    fine_tune_grid(starts, wanted, SETTINGS, device="cpu")
    after = json.loads(lost.read_text())
    assert keys[10:] == [keys[3]]
    assert after["right"] == before["right"]
    assert after["history"]["curve"] == before["history"]["curve"]
    lost.write_text(lost.read_text()[:100])
    with pytest.raises(CheckpointError, match="truncated"):
        fine_tune_grid(starts, wanted, SETTINGS, device="cpu")


def test_side_by_side_gives_what_one_after_another_gives(
    starts: dict[Start, Trained], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = cells(["folds"], 1)
    apart = fine_tune_grid(starts, wanted, SETTINGS, device="cpu")
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "side by side"))
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)  # earlier workers have another environment
    try:
        side = fine_tune_grid(starts, wanted, SETTINGS, device="cpu", jobs=2)
    finally:
        joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    for one, other in zip(apart, side, strict=True):
        assert np.array_equal(one.right, other.right)
        assert one.metadata["history"]["curve"] == other.metadata["history"]["curve"]


def test_a_cell_writes_into_no_array_that_workers_share(starts: dict[Start, Trained]) -> None:
    wanted = Cell("folds", 1.0, "pre-trained", 1)
    [expected] = fine_tune_grid(starts, [wanted], SETTINGS, device="cpu")
    material = classifier._materials(starts["pre-trained"], ["folds"])["folds"]
    tokens = material.tokens
    shared: list[Any] = [material.words, material.labels, tokens.flat, tokens.offsets, *material.state.values()]
    for array in shared:
        array.setflags(write=False)
    classifier._fine_tune(wanted, "read-only", material, SETTINGS, None, "cpu", None)
    assert np.array_equal(classifier._read(wanted, "read-only").right, expected.right)


def test_the_key_holds_what_decides_a_cell(starts: dict[Start, Trained]) -> None:
    cell, random = Cell("folds", 1.0, "pre-trained", 1), Cell("folds", 1.0, "random", 1)
    key = starts["random"].recipe.key()
    keys = [
        classifier._key(cell, key, SETTINGS, None),
        classifier._key(random, key, SETTINGS, None),
        classifier._key(random, key, SETTINGS, 0.01),
        classifier._key(Cell("folds", 1.0, "random", 2), key, SETTINGS, None),
        classifier._key(Cell("folds", 0.5, "random", 1), key, SETTINGS, None),
        classifier._key(random, start(2).recipe.key(), SETTINGS, None),
        classifier._key(random, key, SETTINGS.model_copy(update={"epochs": 3}), None),
    ]
    assert len(set(keys)) == len(keys)
    assert classifier._key(cell, key, SETTINGS, 0.01) == keys[0]  # no filters are drawn


def test_a_cell_begins_with_its_starts_parameters(starts: dict[Start, Trained]) -> None:
    material = classifier._materials(starts["pre-trained"], ["official"])["official"]
    whole = starts["pre-trained"].encoder()
    made = material.encoder(Cell("official", 1.0, "pre-trained", 7), None)
    found = made_task("official")
    assert found.test is not None
    said = [*found.train.first, *found.test.first]
    rows = np.arange(len(said))
    ids, lengths = material.tokens.padded(rows, made.minimum_length)
    full, _ = starts["pre-trained"].vocabulary.encode(said).padded(rows, made.minimum_length)
    with torch.no_grad():
        expected = whole(torch.from_numpy(full), torch.from_numpy(lengths))
        torch.testing.assert_close(made(torch.from_numpy(ids), torch.from_numpy(lengths)), expected)
        random = [material.encoder(Cell("official", 1.0, "random", run), None) for run in (7, 8)]
    assert torch.equal(random[0].embedding.weight, made.embedding.weight)  # the same words in both starts
    assert not torch.equal(random[0].weights[0], random[1].weights[0])
    assert made.embedding.weight.shape[0] < 15 < whole.embedding.weight.shape[0]


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
    return Outcome(task, share, start, run, rows, np.array(right, dtype=bool), metadata)


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


def test_the_bootstrap_draws_sentences_with_their_mean_over_runs(outcomes: list[Outcome]) -> None:
    trec = [one for one in outcomes if one.dataset == "TREC"]
    by_item = classifier._by_item(classifier._by_cell(trec), "TREC")
    assert by_item.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1 / 3])
    test = next(test for test in gains(trec) if test.kind == "paired bootstrap")
    assert (test.low, test.high) == pytest.approx((1 / 3, 1 / 3))
    mr = [one for one in outcomes if one.dataset == "MR"]
    assert len(classifier._by_item(classifier._by_cell(mr), "MR")) == 12


def test_one_run_has_no_interval_over_runs(outcomes: list[Outcome]) -> None:
    tests = gains([one for one in outcomes if one.run == 1])
    assert {test.kind for test in tests} == {"paired bootstrap"}
    with pytest.raises(ConfigError, match="both starts"):
        gains([one for one in outcomes if one.start == "random"])


def test_the_gain_shrinks_with_labels(outcomes: list[Outcome]) -> None:
    test = shrinking(outcomes, "TREC")
    assert test.estimate == pytest.approx(np.mean([0.25, 0.5, 0.5]))
    assert (test.a, test.b) == ("gain with 10 % of the labels", "gain with 100 % of the labels")
    with pytest.raises(ConfigError, match="two shares"):
        shrinking(outcomes, "MR")


def test_rows_of_the_ledger(outcomes: list[Outcome]) -> None:
    rows = metrics(outcomes)
    assert len(rows) == len(outcomes) + 6
    found = {(row.method, row.dataset, row.seed): row for row in rows}
    assert found["pretrained-composite", "TREC-10%-labels", 2].value == 0.75
    assert found["random-init", AVERAGE, 1].value == pytest.approx((0.25 + 0.75) / 2)
    assert "official test set" in found["random-init", "TREC", 1].protocol
    assert "fold r of 10" in found["random-init", "MR", 1].protocol
    assert outcomes[0].cost().examples_per_second == 50
