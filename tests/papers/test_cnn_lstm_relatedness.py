"""The softmax on frozen vectors: its optimum, its expectation, when it stops, and what it never sees."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from sentbook.evaluation.classification import pair_features
from sentbook.evaluation.features import Features
from sentbook.io import NumericalError
from sentbook.papers.cnn_lstm import relatedness
from sentbook.papers.cnn_lstm.relatedness import PairVectors, Predicted, Protocol, related, softmax_scores
from sentbook.papers.cnn_lstm.settings import Settings
from sentbook.training.correlation import mse, pearson, spearman

SHORT = Protocol(epochs=3, batch_size=32, learning_rate=0.01)
ONE_BATCH = Protocol(epochs=800, batch_size=1000, learning_rate=0.03, blocks=1)
Parts = tuple[PairVectors, PairVectors, PairVectors]


def drawn(pairs: int, width: int = 12, noise: float = 0.3, seed: int = 0) -> PairVectors:
    """Pairs whose scores fall with their distance, up to noise."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(pairs, width))
    apart = rng.random(pairs)
    second = first + apart[:, None] * rng.normal(size=(pairs, width))
    return PairVectors(first, second, np.clip(5 - 4 * apart + noise * rng.normal(size=pairs), 1, 5))


@pytest.fixture
def overfitting() -> Parts:
    """More features than training pairs, and scores of much noise."""
    return tuple(drawn(count, 60, 1.0, seed) for seed, count in enumerate((40, 50, 60)))  # type: ignore[return-value]


def test_groups_get_their_mean_score() -> None:
    # u = v = e_g: |u - v| is 0 and u * v tells the group, whose cross-entropy is least at its mean target.
    group = np.repeat(np.arange(3), 8)
    vectors = np.eye(3)[group]
    gold = np.random.default_rng(0).uniform([[1.0], [2.0], [4.2]], [[2.5], [4.0], [5.0]], (3, 8)).ravel()
    pairs = PairVectors(vectors, vectors, gold)
    means = np.array([gold[group == number].mean() for number in range(3)])
    np.testing.assert_allclose(softmax_scores(pairs, pairs, pairs, ONE_BATCH, seed=0).test, means[group], atol=0.01)


def test_whole_scores_give_the_softmax_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 200, 2))
    gold = rng.integers(1, 6, 200)
    pairs = PairVectors(first, second, gold)
    found = softmax_scores(pairs, pairs, pairs, dataclasses.replace(ONE_BATCH, learning_rate=0.01), seed=3)
    model = LogisticRegression(C=1e6, tol=1e-8, max_iter=5000).fit(pair_features(first, second), gold)
    expected = model.predict_proba(pair_features(first, second)) @ np.arange(1, 6)
    np.testing.assert_allclose(found.test, expected, atol=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_block_is_kept(seed: int, overfitting: Parts) -> None:
    train, trial, test = overfitting
    found = softmax_scores(train, trial, test, SHORT, seed=seed)
    best = int(np.argmax(found.history))
    assert len(found.history) == best + 2 < SHORT.blocks  # one block that is no better ends it
    assert found.history[: best + 1] == sorted(set(found.history[: best + 1]))
    assert pearson(found.trial, np.asarray(trial.gold)) == found.history[best]
    until = softmax_scores(train, trial, test, dataclasses.replace(SHORT, blocks=best + 1), seed=seed)
    np.testing.assert_array_equal(until.test, found.test)


def test_seeds_repeat_bit_for_bit_and_test_scores_are_not_looked_at(overfitting: Parts) -> None:
    train, trial, test = overfitting
    before = torch.random.get_rng_state()
    unknown = test._replace(gold=np.full(60, np.nan))
    one, again, other = (
        softmax_scores(train, trial, last, SHORT, seed=seed) for seed, last in ((5, test), (5, unknown), (6, test))
    )
    torch.testing.assert_close(torch.random.get_rng_state(), before)  # the caller's random numbers are left alone
    np.testing.assert_array_equal(one.test, again.test)
    assert one.history == again.history and (one.test != other.test).any()


@pytest.mark.usefixtures("artifacts")
def test_vectors_and_softmax_are_made_on_the_device_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def vectors(row: Features, sentences: list[str], device: str) -> np.ndarray:
        seen.append(device)
        return np.zeros((len(sentences), 2), dtype=np.float32)

    def scores(*parts: PairVectors, seed: int, device: torch.device) -> Predicted:
        seen.append(device.type)
        return Predicted(np.asarray(parts[2].gold), np.asarray(parts[1].gold), [])

    monkeypatch.setattr(Features, "vectors", vectors)
    monkeypatch.setattr(relatedness, "device_of", {"cuda": torch.device("meta")}.__getitem__)
    monkeypatch.setattr(relatedness, "softmax_scores", scores)
    related(Settings(device="cuda", relatedness="miniworld"), [Features("any", 1, ("any",))])
    assert seen == ["cuda"] * 3 + ["meta"]


def test_better_than_a_constant() -> None:
    train, trial, test = (drawn(count, seed=seed) for seed, count in enumerate((600, 100, 200)))
    found = softmax_scores(train, trial, test, dataclasses.replace(SHORT, epochs=10, blocks=3), seed=0).test
    gold = np.asarray(test.gold)
    assert pearson(found, gold) > 0.7 and spearman(found, gold) > 0.7
    assert mse(found, gold) < 0.5 * mse(np.full(len(gold), gold.mean()), gold)
    assert ((found > 1) & (found < 5)).all()


def test_mistakes_are_clear() -> None:
    pairs = drawn(20)
    infinite = pairs._replace(first=np.full((20, 12), 1e30), second=np.full((20, 12), 1e30))  # beyond float32
    for wrong, protocol in ((infinite, SHORT), (pairs, dataclasses.replace(SHORT, learning_rate=1e37))):
        with np.errstate(over="ignore"), pytest.raises(NumericalError, match="at a lower learning rate"):
            softmax_scores(pairs, pairs, wrong, protocol, seed=0)
    with pytest.raises(ValueError, match="1, 5"):
        softmax_scores(pairs._replace(gold=np.full(20, 5.2)), pairs, pairs, SHORT, seed=0)
