"""Scores of a pair by hand, how they fall with distance, and losses against scipy's divergence and entropy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr, rel_entr
from torch.nn import functional

from sentbook.models.losses import cross_entropy_loss, kl_loss, mse_loss, pair_score, score_loss
from sentbook.models.losses.similarity import FALLING, Falling, PairScore, ScoreLoss

Loss = Callable[..., torch.Tensor]
# At distances 5 (euclidean) and 7 (manhattan).
FIRST, SECOND = torch.tensor([[4.0, 1.0, 3.0]], dtype=torch.float64), torch.tensor([[1.0, 5.0, 3.0]]).double()
BY_HAND: list[tuple[PairScore, Falling, float]] = [
    ("cosine", "f1", 18 / math.sqrt(26 * 35)),
    ("euclidean", "f1", math.exp(-5)),
    ("euclidean", "f2", 2 / (1 + math.exp(5))),
    ("euclidean", "f2 as printed", 1 / (1 + math.exp(-5))),
    ("euclidean", "f3", 1 / 6),
    ("manhattan", "f1", math.exp(-7)),
    ("manhattan", "f2", 2 / (1 + math.exp(7))),
    ("manhattan", "f2 as printed", 1 / (1 + math.exp(-7))),
    ("manhattan", "f3", 1 / 8),
]
EVERY = [(score, falling) for score in get_args(PairScore) for falling in get_args(Falling)]
probability = st.floats(0, 1)
many = st.lists(st.tuples(probability, probability), min_size=1, max_size=10)
SMOOTHING = st.sampled_from([0.001, 0.01, 0.1, 0.5])


def columns(pairs: list[tuple[float, float]]) -> tuple[torch.Tensor, torch.Tensor]:
    score, gold = torch.tensor(pairs, dtype=torch.float64).T
    return score, gold


def smoothed(score: np.ndarray, smoothing: float) -> np.ndarray:
    return (score + smoothing) / (1 + 2 * smoothing)


# -- scores ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("score", "falling", "expected"), BY_HAND)
def test_scores_by_hand(score: PairScore, falling: Falling, expected: float) -> None:
    assert pair_score(FIRST, SECOND, score, falling).tolist() == pytest.approx([expected], rel=1e-9)
    assert pair_score(SECOND, FIRST, score, falling).tolist() == pytest.approx([expected], rel=1e-9)


@pytest.mark.parametrize("name", ["f1", "f2", "f3"])
def test_functions_fall_from_one_to_zero(name: Falling) -> None:
    distances = torch.linspace(0, 30, 200, dtype=torch.float64)
    values = FALLING[name](distances)
    assert values[0] == 1
    assert (values.diff() < 0).all()
    assert (values > 0).all()
    assert FALLING[name](torch.tensor(1e9)) < 1e-8


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(EVERY), st.integers(0, 10_000), st.sampled_from([0.01, 1.0, 100.0]))
def test_scores_of_vectors_without_negative_elements_lie_between_zero_and_one(
    kind: tuple[PairScore, Falling], seed: int, size: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    first, second = (size * torch.randn(6, 5, generator=generator).relu() for _ in range(2))
    first[0] = second[0] = size
    first[1] = 0
    scores = pair_score(first, second, *kind)
    assert scores.shape == (6,)
    assert ((scores >= 0) & (scores <= 1 + 1e-6)).all()
    assert scores[0] == pytest.approx(0.5 if kind[0] != "cosine" and kind[1] == "f2 as printed" else 1, abs=2e-6)
    if kind[0] == "cosine":
        assert scores[1] == 0


@pytest.mark.parametrize(("score", "falling"), EVERY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_gradients_of_equal_vectors_and_of_zeros_are_finite(
    score: PairScore, falling: Falling, dtype: torch.dtype
) -> None:
    first = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], dtype=dtype, requires_grad=True)
    second = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=dtype, requires_grad=True)
    found = torch.autograd.grad(pair_score(first, second, score, falling).sum(), [first, second])
    assert all(gradient.isfinite().all() for gradient in found)


@pytest.mark.parametrize(("score", "falling"), EVERY)
def test_gradients_are_those_of_finite_differences(score: PairScore, falling: Falling) -> None:
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.rand(3, 4, dtype=torch.float64, generator=generator, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(lambda a, b: pair_score(a, b, score, falling), inputs)


# -- losses ------------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(many, SMOOTHING)
def test_kl_is_scipys_divergence_of_the_smoothed_score(pairs: list[tuple[float, float]], smoothing: float) -> None:
    score, gold = columns(pairs)
    p, q = smoothed(score.numpy(), smoothing), gold.numpy()
    expected = (rel_entr(q, p) + rel_entr(1 - q, 1 - p)).mean()
    assert kl_loss(score, gold, smoothing).item() == pytest.approx(expected, abs=1e-12)
    assert expected >= 0


@settings(deadline=None)
@given(many, SMOOTHING)
def test_cross_entropy_is_kl_and_the_entropy_of_the_gold(pairs: list[tuple[float, float]], smoothing: float) -> None:
    score, gold = columns(pairs)
    entropy = (entr(gold.numpy()) + entr(1 - gold.numpy())).mean()
    difference = cross_entropy_loss(score, gold, smoothing) - kl_loss(score, gold, smoothing)
    assert difference.item() == pytest.approx(entropy, abs=1e-12)
    expected = functional.binary_cross_entropy((score + smoothing) / (1 + 2 * smoothing), gold)
    assert cross_entropy_loss(score, gold, smoothing).item() == pytest.approx(expected.item(), abs=1e-12)


@pytest.mark.parametrize("loss", [kl_loss, cross_entropy_loss])
@pytest.mark.parametrize("smoothing", [0.01, 0.1])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_smoothing_bounds_the_slope(loss: Loss, smoothing: float, label: float) -> None:
    """At the wrong end of the scale, where without it the loss is infinite."""
    score = torch.tensor([1 - label], dtype=torch.float64, requires_grad=True)
    [slope] = torch.autograd.grad(loss(score, torch.tensor([label], dtype=torch.float64), smoothing), score)
    assert abs(slope.item()) == pytest.approx(1 / smoothing)
    assert math.copysign(1, slope.item()) == (1 if label == 0 else -1)


@pytest.mark.parametrize("loss", [kl_loss, cross_entropy_loss])
def test_a_score_outside_the_scale_counts_as_the_nearer_end(loss: Loss) -> None:
    gold = torch.tensor([0.3, 0.8], dtype=torch.float64)
    outside, ends = torch.tensor([-0.7, 1.2]).double(), torch.tensor([0.0, 1.0]).double()
    assert torch.equal(loss(outside, gold), loss(ends, gold))


@pytest.mark.parametrize("name", get_args(ScoreLoss))
def test_losses_by_their_names(name: ScoreLoss) -> None:
    score, gold = torch.tensor([0.2, 0.9]), torch.tensor([0.5, 1.0])
    expected = {
        "mse": mse_loss(score, gold),
        "kl": kl_loss(score, gold, 0.05),
        "cross-entropy": cross_entropy_loss(score, gold, 0.05),
    }
    assert set(expected) == set(get_args(ScoreLoss))
    assert len({value.item() for value in expected.values()}) == 3
    assert torch.equal(score_loss(name, score, gold, 0.05), expected[name])
    assert torch.equal(score_loss(name, score, gold, 0.4), expected[name]) == (name == "mse")
