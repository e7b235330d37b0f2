"""Figure 3: the loss by hand, divisions of labels, what is drawn anew, cells and their keys."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sentbook.data.tasks import ClassificationTask, Examples
from sentbook.data.text import Vocabulary
from sentbook.data.vectors import Vectors
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.papers.cnn_lstm import fine_tuning
from sentbook.papers.cnn_lstm.fine_tuning import (
    Cell,
    ClassifierProblem,
    FineTuning,
    Start,
    cells,
    divide,
    fine_tune_grid,
    of_share,
    redraw,
)
from sentbook.papers.cnn_lstm.settings import ClassifierTraining
from sentbook.system.errors import ConfigError
from sentbook.training.loop import fit
from sentbook.training.recipes import Recipe, Trained, load

pytestmark = pytest.mark.usefixtures("artifacts")
SETTINGS = ClassifierTraining(epochs=2, batch_size=20, head_dropout=0.2, learning_rate=0.01, patience=None)
WORDS = [f"w{chr(97 + number)}" for number in range(10)]


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


def test_a_step_copies_to_its_device_without_a_wait(waits: list[bool]) -> None:
    made = problem(count=60)
    nn.ModuleList([made.encoder, made.head]).to("meta").train()
    waits.clear()
    made.loss(np.arange(6), np.random.default_rng(0)).backward()
    assert waits and not any(waits)


def test_it_learns_and_frozen_words_do_not_move() -> None:
    made = problem(epochs=12)
    before = made.encoder.embedding.weight.detach().clone()
    filters = [value.detach().clone() for value in made.encoder.composition()]
    history = fit(made, made.settings, seed=1, device="cpu", report=lambda line: None)
    assert history.best > 0.9  # about half by chance
    assert made.right(made.division.test).mean() > 0.8
    assert torch.equal(made.encoder.embedding.weight, before)
    assert not any(torch.equal(old, new) for old, new in zip(filters, made.encoder.composition(), strict=True))


def test_right_is_in_the_order_of_its_rows() -> None:
    made = problem()
    made.encoder.eval()
    made.head.eval()
    rows = np.random.default_rng(0).permutation(200)[:57]
    made.encoder.tokens_per_batch = 30
    one_by_one = np.concatenate([made.right(rows[at : at + 1]) for at in range(len(rows))])
    assert np.array_equal(made.right(rows), one_by_one)
    assert 0 < one_by_one.sum() < len(rows)


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
    rows = {row.dataset: row for row in (outcome.metric() for outcome in found)}
    assert list(rows) == ["folds", "official", "official-50%-labels"]
    assert "fold r of 10" in rows["folds"].protocol and "official test set" in rows["official"].protocol


def test_other_encoders_pairs_and_missing_starts_are_refused(starts: dict[Start, Trained]) -> None:
    with pytest.raises(ConfigError, match="tasks of pairs alone"):
        fine_tuning.single_sentences(["pairs"])
    with pytest.raises(ConfigError, match="not an encoder of kind 'average'"):
        fine_tune_grid({"random": start(1, AverageEncoder())}, [Cell("folds", 1.0, "random", 1)], SETTINGS)
    with pytest.raises(ConfigError, match="pairs"):
        fine_tune_grid(starts, [Cell("pairs", 1.0, "random", 1)], SETTINGS)
    with pytest.raises(ConfigError, match="'pre-trained'"):
        fine_tune_grid({"random": start(1)}, cells(["folds"], 1), SETTINGS)
