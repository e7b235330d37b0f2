"""Relatedness with a trained head: the formula, the pull-backs, and seeds that disturb nothing."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentbook.data.text import Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.models import encode
from sentbook.models.build import build
from sentbook.models.cse import CSEEncoder
from sentbook.training.correlation import pearson
from sentbook.training.loop import fit
from sentbook.training.problems.transfer import RelatednessProblem
from sentbook.training.settings import RelatednessTraining

WORDS = ["a", "red", "cat", "sees", "one", "dog", "and", "runs", "far", "away"]
VOCABULARY = Vocabulary(WORDS)


def graded(count: int, seed: int) -> ScoredPairs:
    rng = np.random.default_rng(seed)
    sides = [[" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(count)] for _ in range(2)]
    return ScoredPairs("graded", *sides, rng.uniform(1, 5, count), (1, 5))


def problem(loaded: bool = True, seed: int = 1, **changes: object) -> RelatednessProblem:
    weight = torch.randn(len(VOCABULARY), 6, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    encoder = build(CSEEncoder(filters=4), weight, seed=1)
    settings = RelatednessTraining(hidden=7, **changes)
    return RelatednessProblem(encoder, VOCABULARY, settings, graded(30, 1), graded(20, 2), loaded=loaded, seed=seed)


def by_hand(trained: RelatednessProblem, pairs: ScoredPairs) -> NDArray[np.float64]:
    """(N, K) probabilities by Tai's equation 15 in numpy."""
    u, v = (encode(trained.encoder, VOCABULARY, side).astype(float) for side in (pairs.first, pairs.second))
    if trained.settings.normalise:
        u, v = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (u, v))
    hidden, output = trained.head.layers[0], trained.head.layers[2]  # type: ignore[index]

    def linear(layer: torch.nn.Module, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()

    h = 1 / (1 + np.exp(-linear(hidden, np.hstack([u * v, np.abs(u - v)]))))
    scores = np.exp(linear(output, h))
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 1e-2])
def test_the_loss_is_the_formula(normalise: bool, smoothing: float) -> None:
    trained = problem(normalise=normalise, smoothing=smoothing)
    rows = np.array([4, 0, 29, 13])
    q = by_hand(trained, graded(30, 1))[rows]
    expected = 0.0
    for probabilities, y in zip(q, graded(30, 1).gold[rows], strict=True):
        p = np.zeros(5)
        p[int(y) - 1], p[int(y)] = int(y) - y + 1, y - int(y)  # no gold score here is exactly 5
        p += smoothing
        expected += sum(pi * np.log(pi / qi) for pi, qi in zip(p, probabilities, strict=True) if pi > 0)
    assert trained.loss(rows, np.random.default_rng(0)).item() == pytest.approx(expected / (5 * len(rows)), rel=1e-4)


def test_predictions_are_expected_scores_in_the_order_of_the_pairs() -> None:
    trained, pairs = problem(normalise=True), graded(20, 2)
    predictions = trained.predict(trained.tokens(pairs))
    np.testing.assert_allclose(predictions, by_hand(trained, pairs) @ np.arange(1, 6), rtol=1e-5)
    assert ((predictions >= 1) & (predictions <= 5)).all()
    assert trained.validate() == pytest.approx(pearson(predictions, pairs.gold), abs=1e-6)


def test_loaded_values_are_anchors_and_fresh_ones_go_to_zero() -> None:
    universal, random = problem(loaded=True, composition_decay=0.5, head_decay=0.25), problem(loaded=False)
    found = list(universal.penalties())
    composition = universal.encoder.composition()
    assert [id(item[0]) for item in found] == [id(value) for value in [*composition, *universal.head.parameters()]]
    assert [item[1] for item in found] == [0.5] * len(composition) + [0.25] * 4
    for parameter, _, anchor in found[: len(composition)]:
        assert isinstance(anchor, Tensor)
        assert torch.equal(anchor, parameter.detach())
        assert anchor.data_ptr() != parameter.data_ptr()
    assert [item[2] for item in found[len(composition) :]] == [None] * 4
    assert [item[2] for item in random.penalties()] == [None] * (len(composition) + 4)


@pytest.mark.parametrize("loaded", [True, False])
def test_a_huge_coefficient_holds_parameters_where_they_are_pulled(loaded: bool) -> None:
    """With learning rate x coefficient = 1, a step of SGD lands one loss gradient away from the anchor."""
    trained = problem(
        loaded, optimiser="sgd", embedding_update="frozen", learning_rate=1e-4, composition_decay=1e4, epochs=2,
        keep="last", batch_size=10, normalise=False,  # a vector near 0 has no direction to learn from
    )  # fmt: skip
    before = [value.detach().clone() for value in trained.encoder.composition()]
    fit(trained, trained.settings, seed=1, device="cpu", report=lambda line: None)
    for value, start in zip(trained.encoder.composition(), before, strict=True):
        torch.testing.assert_close(value.detach(), start if loaded else torch.zeros_like(start), atol=1e-4, rtol=0)


def test_the_seed_decides_the_head_and_the_global_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    one, same, other = problem(seed=5), problem(seed=5), problem(seed=6)
    assert torch.equal(torch.get_rng_state(), before)
    weights = [next(iter(trained.head.parameters())) for trained in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
