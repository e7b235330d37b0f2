"""Fine-tuning a classifier: the loss by hand, divisions, what is drawn anew, cells found again, gains by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sentbook.data.text import Vocabulary
from sentbook.models.cnn import CNN
from sentbook.papers.cnn_lstm.classifier import ClassifierProblem, of_share, redraw
from sentbook.papers.cnn_lstm.fine_tuning import divide
from sentbook.papers.cnn_lstm.settings import ClassifierTraining
from sentbook.training.loop import fit

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
