"""The softmax head on frozen vectors: its optimum, its expectation, when it stops, and what it never sees."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from sentbook.evaluation.classification import pair_features
from sentbook.evaluation.protocols import Measure
from sentbook.papers.cnn_lstm.relatedness_head import (
    SKIP_THOUGHTS_RELATEDNESS,
    PairVectors,
    RelatednessProtocol,
    relatedness,
)
from sentbook.system.errors import NumericalError
from sentbook.training.correlation import mse, pearson

SHORT = RelatednessProtocol(epochs=3, batch_size=32, learning_rate=0.01)
ONE_BATCH = RelatednessProtocol(epochs=800, batch_size=1000, learning_rate=0.03, blocks=1)


def drawn(pairs: int, width: int = 12, noise: float = 0.3, seed: int = 0) -> PairVectors:
    """Pairs whose scores fall with their distance, up to noise."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(pairs, width))
    apart = rng.random(pairs)
    second = first + apart[:, None] * rng.normal(size=(pairs, width))
    return PairVectors(first, second, np.clip(5 - 4 * apart + noise * rng.normal(size=pairs), 1, 5))


def overfitting() -> tuple[PairVectors, PairVectors, PairVectors]:
    """More features than training pairs, and scores of much noise."""
    return tuple(drawn(count, 60, 1.0, seed) for seed, count in enumerate((40, 50, 60)))  # type: ignore[return-value]


def test_groups_get_their_mean_score() -> None:
    # u = v = e_g: |u - v| is 0 and u * v tells the group, whose cross-entropy is least at its mean target.
    group = np.repeat(np.arange(3), 8)
    vectors = np.eye(3)[group]
    gold = np.random.default_rng(0).uniform([[1.0], [2.0], [4.2]], [[2.5], [4.0], [5.0]], (3, 8)).ravel()
    pairs = PairVectors(vectors, vectors, gold)
    found = relatedness(pairs, pairs, pairs, ONE_BATCH, seed=0)
    means = np.array([gold[group == number].mean() for number in range(3)])
    np.testing.assert_allclose(found.test, means[group], atol=0.01)


def test_whole_scores_give_the_softmax_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 200, 2))
    gold = rng.integers(1, 6, 200)
    pairs = PairVectors(first, second, gold)
    found = relatedness(pairs, pairs, pairs, dataclasses.replace(ONE_BATCH, learning_rate=0.01), seed=3)
    model = LogisticRegression(C=1e6, tol=1e-8, max_iter=5000).fit(pair_features(first, second), gold)
    expected = model.predict_proba(pair_features(first, second)) @ np.arange(1, 6)
    np.testing.assert_allclose(found.test, expected, atol=0.02)


def test_the_best_block_is_kept() -> None:
    seed = 1
    train, trial, test = overfitting()
    found = relatedness(train, trial, test, SHORT, seed=seed)
    best = int(np.argmax(found.history))
    assert len(found.history) == best + 2 < SHORT.blocks  # one block that is no better ends it
    assert list(found.history[: best + 1]) == sorted(set(found.history[: best + 1]))
    assert found.epochs == 3 * (best + 1)
    assert pearson(found.trial, np.asarray(trial.gold)) == found.history[best]
    until = relatedness(train, trial, test, dataclasses.replace(SHORT, blocks=best + 1), seed=seed)
    np.testing.assert_array_equal(until.test, found.test)
    on = relatedness(train, trial, test, dataclasses.replace(SHORT, epochs=3 * (best + 2), blocks=1), seed=seed)
    assert on.history == found.history[-1:] and (on.test != found.test).any()


def test_seeds_repeat_bit_for_bit_and_differ() -> None:
    parts = overfitting()
    before = torch.random.get_rng_state()
    one, again, other = (relatedness(*parts, SHORT, seed=seed) for seed in (5, 5, 6))
    torch.testing.assert_close(torch.random.get_rng_state(), before)  # the caller's random numbers are left alone
    np.testing.assert_array_equal(one.test, again.test)
    assert one.history == again.history
    assert (one.test != other.test).any()


def test_better_than_a_constant() -> None:
    train, trial, test = (drawn(count, seed=seed) for seed, count in enumerate((600, 100, 200)))
    found = relatedness(train, trial, test, dataclasses.replace(SHORT, epochs=10, blocks=3), seed=0)
    gold = np.asarray(test.gold)
    assert found.value() > 0.7 and found.value(Measure.SPEARMAN) > 0.7
    assert found.value(Measure.MSE) < 0.5 * mse(np.full(len(gold), gold.mean()), gold)
    assert ((found.test > 1) & (found.test < 5)).all()


def test_test_scores_change_no_prediction() -> None:
    train, trial, test = overfitting()
    one = relatedness(train, trial, test, SHORT, seed=0)
    other = relatedness(train, trial, test._replace(gold=np.asarray(test.gold)[::-1]), SHORT, seed=0)
    np.testing.assert_array_equal(one.test, other.test)
    assert one.value() != other.value()


def test_the_published_protocol_and_those_that_cannot_be() -> None:
    assert RelatednessProtocol("skip-thoughts", 5, 100, 128, 1e-3) == SKIP_THOUGHTS_RELATEDNESS
    assert str(SHORT).endswith("scores 1..5, Adam .01, batches of 32, blocks of 3 epochs by trial pearson")
    for wrong in ("epochs", "batch_size", "blocks", "learning_rate"):
        with pytest.raises(ValueError, match="above 0"):
            RelatednessProtocol(**{wrong: 0})  # type: ignore[arg-type]


def spoilt(**values: float) -> Callable[[PairVectors], PairVectors]:
    """The same pairs with one other number in each part that is named."""

    def change(pairs: PairVectors) -> PairVectors:
        parts = {place: np.array(getattr(pairs, place)) for place in values}
        for place, value in values.items():
            parts[place].flat[3] = value
        return pairs._replace(**parts)

    return change


REFUSED: list[tuple[Callable[[PairVectors], PairVectors], type[Exception], str]] = [
    (spoilt(second=np.nan), NumericalError, "NaN"),
    (spoilt(first=1e30, second=1e30), NumericalError, "infinite"),  # the product is beyond float32
    (spoilt(gold=np.inf), NumericalError, "score is NaN"),
    (spoilt(gold=5.2), ValueError, "1, 5"),
    (lambda pairs: pairs._replace(gold=np.asarray(pairs.gold)[1:]), ValueError, "do not fit"),
    (lambda pairs: PairVectors(*(np.asarray(part)[:0] for part in pairs)), ValueError, "do not fit"),
    (lambda pairs: drawn(20, 13), ValueError, "width"),
]


@pytest.mark.parametrize("at", range(3))
def test_what_is_refused(at: int) -> None:
    for change, error, match in REFUSED:
        parts = [drawn(20, seed=seed) for seed in range(3)]
        parts[at] = change(parts[at])
        with pytest.raises(error, match=match):
            relatedness(parts[0], parts[1], parts[2], SHORT, seed=0)
    pairs = drawn(20)
    with pytest.raises(NumericalError, match="diverged"):
        relatedness(pairs, pairs, pairs, dataclasses.replace(SHORT, learning_rate=1e37), seed=0)
