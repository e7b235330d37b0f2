"""The classifier of figure 3: its loss by hand, what is drawn anew, what is trained."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from cells import of_page
from sentbook.data.text import Vocabulary
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.training.objectives import Objective, Start
from sentbook.training.train import train

PAGE = of_page("cnn_lstm/figure3", "Division", "Labelled", "Classification", "redraw")
redraw = PAGE["redraw"]
SETTINGS = PAGE["Classification"](epochs=2, batch_size=20, head_dropout=0.2, learning_rate=0.01, patience=None)
WORDS = ["the", "a", "man", "woman", "dog", "runs", "walks", "in", "street", "small"]


def sentences(count: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Of two to seven words; class 1 where "the" is among them, at whichever place."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    said = []
    for label in labels:
        words = [str(word) for word in rng.choice(WORDS[1:], rng.integers(2, 8))]
        if label:
            words[int(rng.integers(len(words)))] = "the"
        said.append(" ".join(words))
    return said, labels


def divided(count: int, tested: int) -> Any:
    rows = np.random.default_rng(0).permutation(count)
    return PAGE["Division"](rows[2 * tested :], rows[tested : 2 * tested], rows[:tested])


def encoder(seed: int = 0, filters: int = 4) -> CNN:
    weight = torch.randn(len(WORDS) + 2, 6, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    made = CNN(weight, CNNEncoder(widths=(1, 3), filters=filters))
    redraw(made, seed)
    return made


def problem(count: int = 200, seed: int = 0, **changes: Any) -> Any:
    (said, labels), words = sentences(count, 1), Vocabulary(WORDS)
    data = PAGE["Labelled"](words.encode(said), labels, 2, divided(count, count // 10))
    return SETTINGS.model_copy(update=changes).bind(Start(encoder(seed), words, seed=1), data)


def softmax(made: Objective) -> nn.Linear:
    linear = made.head[1]  # type: ignore[index]
    assert isinstance(linear, nn.Linear)
    return linear


def test_the_loss_is_the_cross_entropy() -> None:
    made = problem(count=60)
    made.encoder.eval()
    made.head.eval()
    rows = np.array([3, 0, 7])
    linear = softmax(made)
    said, labels = sentences(60, 1)
    expected = []
    for row in made._task.division.train[rows]:
        tokens = Vocabulary(WORDS).encode([said[row]])
        ids, lengths = tokens.padded(np.array([0]), made.encoder.minimum_length)
        vector = made.encoder(torch.from_numpy(ids), torch.from_numpy(lengths))[0].detach().numpy()
        logits = linear.weight.detach().numpy() @ vector + linear.bias.detach().numpy()
        expected.append(math.log(np.exp(logits).sum()) - logits[labels[row]])
    assert made.compute_loss(made.batch(rows)).item() == pytest.approx(np.mean(expected), rel=1e-5)


def test_it_learns_and_frozen_words_do_not_move() -> None:
    made = problem(epochs=12)
    before = made.encoder.embedding.weight.detach().clone()
    filters = [value.detach().clone() for value in made.encoder.composition()]
    history = train(made, seed=1, device="cpu", report=lambda line: None)
    assert history.best > 0.9  # about half by chance
    rows = made._task.division.test
    assert (made.labels_of(rows) == made._task.labels[rows]).mean() > 0.8
    assert torch.equal(made.encoder.embedding.weight, before)
    assert not any(torch.equal(old, new) for old, new in zip(filters, made.encoder.composition(), strict=True))


def test_the_softmax_begins_alike_whatever_the_encoder() -> None:
    assert torch.equal(softmax(problem(seed=1)).weight, softmax(problem(seed=2)).weight)


def test_filters_are_drawn_anew_and_words_stay() -> None:
    made = encoder(seed=1, filters=500)
    words, first = made.embedding.weight.detach().clone(), [weight.detach().clone() for weight in made.weights]
    made.biases[0].data.fill_(3)
    redraw(made, 2)
    assert torch.equal(made.embedding.weight, words)
    assert not made.biases[0].any()
    for width, old, new in zip(made.options.widths, first, made.weights, strict=True):
        bound = math.sqrt(6 / (6 * width + 500))
        assert 0.98 * bound < new.abs().max() <= bound
        assert not torch.equal(old, new)
    redraw(made, 1)
    assert all(torch.equal(old, new) for old, new in zip(first, made.weights, strict=True))
