"""Training by similarity alone: targets on [0, 1], scores pair by pair, and nothing chosen by the test pairs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sentbook.data.text import Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.models import SentenceEncoder, build
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.models.losses import pair_score, score_loss
from sentbook.models.wsv import WSVEncoder
from sentbook.training.correlation import mse, pearson
from sentbook.training.loop import fit
from sentbook.training.problems.similarity import SimilarityProblem
from sentbook.training.settings import SimilarityTraining

WORDS = [f"{a}{b}" for a in "bcdfghjk" for b in "aeiouy"]
VOCABULARY = Vocabulary(WORDS)
SMALL = WSVEncoder(filters=7)


def silent(line: str) -> None:
    pass


def weight() -> Tensor:
    matrix = torch.randn(len(VOCABULARY), 6, generator=torch.Generator().manual_seed(0))
    matrix[0] = 0
    return matrix


def pairs(name: str, seed: int, count: int = 30, scale: tuple[float, float] = (1, 5)) -> ScoredPairs:
    """Gold is the share of words that the two sentences have in common; some sentences occur in many pairs."""
    rng = np.random.default_rng(seed)
    first, second, gold = [], [], []
    for _ in range(count):
        words = rng.permutation(WORDS)[: rng.integers(4, 9)].tolist()
        kept = int(rng.integers(0, len(words) + 1))
        other = words[:kept] + rng.permutation(WORDS)[: rng.integers(1, 10 - kept)].tolist()
        first.append(" ".join(words))
        second.append(" ".join(other))
        gold.append(scale[0] + (scale[1] - scale[0]) * kept / len(words))
    # The first sentence again, on either side and beside itself.
    first += [first[0], first[3], first[0]]
    second += [second[5], first[0], first[0]]
    gold += [scale[0], scale[0], scale[1]]
    return ScoredPairs(name, first, second, np.array(gold), scale)


def splits(scale: tuple[float, float] = (1, 5)) -> dict[str, ScoredPairs]:
    return {name: pairs(name, seed, scale=scale) for seed, name in enumerate(("train", "trial", "test"), start=1)}


def problem(encoder: Encoder = SMALL, data: dict[str, ScoredPairs] | None = None, **changes: Any) -> SimilarityProblem:
    built = build(encoder, weight(), seed=1)
    return SimilarityProblem(built, VOCABULARY, SimilarityTraining(**changes), data or splits())


@torch.no_grad()
def alone(encoder: SentenceEncoder, sentence: str) -> Tensor:
    """(1, F), the sentence by itself."""
    ids = torch.from_numpy(VOCABULARY.encode([sentence]).flat).unsqueeze(0)
    return encoder(ids, torch.tensor([ids.shape[1]]))


ROWS = np.array([3, 30, 0, 31, 8, 21])


# -- the loss ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [(1.0, 5.0), (0.0, 1.0), (0.0, 5.0)])
def test_targets_are_the_gold_scores_on_zero_to_one(scale: tuple[float, float]) -> None:
    trained = problem(data=splits(scale))
    gold = splits(scale)["train"].gold
    np.testing.assert_allclose(trained.target.numpy(), (gold - scale[0]) / (scale[1] - scale[0]), atol=1e-6)
    assert trained.target.dtype == torch.float32
    assert trained.target.min() == 0
    assert trained.target.max() == 1


@pytest.mark.parametrize("encoder", [SMALL, AverageEncoder()], ids=["wsv", "average"])
@pytest.mark.parametrize("loss", ["mse", "kl", "cross-entropy"])
@pytest.mark.parametrize(("score", "falling"), [("cosine", "f1"), ("euclidean", "f3"), ("manhattan", "f2")])
def test_the_loss_is_that_of_the_rows_pairs(encoder: Encoder, loss: Any, score: Any, falling: Any) -> None:
    trained = problem(encoder, loss=loss, score=score, falling=falling, smoothing=0.07)
    train = splits()["train"]
    first, second = (
        torch.cat([alone(trained.encoder, side[row]) for row in ROWS]) for side in (train.first, train.second)
    )
    gold = torch.tensor([(train.gold[row] - 1) / 4 for row in ROWS], dtype=torch.float32)
    expected = score_loss(loss, pair_score(first, second, score, falling), gold, 0.07)
    rng = np.random.default_rng(7)
    torch.testing.assert_close(trained.loss(ROWS, rng).detach(), expected, atol=1e-5, rtol=1e-5)
    assert rng.random() == np.random.default_rng(7).random()  # nothing is drawn


# -- scores ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["cosine", "manhattan"])
@pytest.mark.parametrize("split", ["train", "trial", "test"])
def test_scores_are_in_the_order_of_the_pairs(split: str, score: Any) -> None:
    trained = problem(score=score, falling="f3")
    data = splits()[split]
    expected = [
        pair_score(alone(trained.encoder, one), alone(trained.encoder, other), score, "f3").item()
        for one, other in zip(data.first, data.second, strict=True)
    ]
    got = trained.scores(split)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, expected, atol=1e-5)
    assert got[-1] == pytest.approx(1, abs=1e-6)  # a sentence beside itself
    assert len(set(np.round(got, 4))) > 20


def test_validation_is_pearson_on_the_trial_pairs() -> None:
    trained = problem()
    assert trained.metric == "pearson"
    assert trained.validate() == pearson(trained.scores("trial"), splits()["trial"].gold)
    assert trained.validate() != pytest.approx(pearson(trained.scores("test"), splits()["test"].gold), abs=1e-3)


@pytest.mark.parametrize("scale", [(1.0, 5.0), (0.0, 1.0)])
def test_watched_are_correlation_and_error_on_the_gold_scale(scale: tuple[float, float]) -> None:
    trained = problem(data=splits(scale), watch="test")
    gold, scores = splits(scale)["test"].gold, trained.scores("test")
    predicted = scale[0] + (scale[1] - scale[0]) * scores
    assert trained.watch() == [
        {"split": "test", "metric": "pearson", "value": pearson(scores, gold)},
        {"split": "test", "metric": "mse", "value": mse(predicted, gold)},
    ]


# -- what decides the kept state ---------------------------------------------------------------------------------------


def run(data: dict[str, ScoredPairs], **changes: Any) -> tuple[dict[str, Tensor], Any]:
    trained = problem(data=data, **{"epochs": 6, "learning_rate": 0.03, "batch_size": 8, **changes})
    history = fit(trained, trained.settings, seed=1, device="cpu", report=silent)
    return trained.encoder.state_dict(), history


def turned(data: ScoredPairs) -> ScoredPairs:
    return dataclasses.replace(data, gold=sum(data.scale) - data.gold)


def test_the_test_pairs_decide_nothing() -> None:
    data = splits()
    others = [data | {"test": turned(data["test"])}, data | {"test": pairs("test", 99)}]
    state, history = run(data, watch="test")
    for other in others:
        same_state, same_history = run(other, watch="test")
        assert all(torch.equal(value, same_state[name]) for name, value in state.items())
        assert (same_history.best, same_history.best_step) == (history.best, history.best_step)
        rows = [[row for row in item.curve if row["split"] != "test"] for item in (history, same_history)]
        assert rows[0] == rows[1]
    # And watching them changes nothing.
    unwatched, _ = run(data)
    assert all(torch.equal(value, unwatched[name]) for name, value in state.items())
