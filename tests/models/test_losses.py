"""Every loss against loops, scipy or torch's own; gradients against differences; batches without a loss."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr, rel_entr
from scipy.stats import entropy
from torch import Tensor
from torch.nn import functional

from cells import of_page
from sentbook.models import losses
from sentbook.models.losses import (
    FALLING,
    IGNORED,
    Falling,
    PairScore,
    RelatednessHead,
    ScoreLoss,
    choose_negatives,
    cross_entropy_loss,
    kl_loss,
    margin_loss,
    mse_loss,
    pair_score,
    reconstruction_loss,
    relatedness_loss,
    score_loss,
    sparse_target,
    token_losses,
)

EVERY = [(score, falling) for score in get_args(PairScore) for falling in get_args(Falling)]
SEEDS = st.integers(0, 10_000)


def drawn(*shapes: tuple[int, ...], seed: int = 0, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]


def chunked(loss: Callable[..., Tensor], *given_: Tensor, cells: int, **options: float) -> Tensor:
    """Compute a loss of tokens with at most ``cells`` logits at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(losses.CELLS, "cpu", cells)
        return loss(*given_, **options)


PAGE = of_page("cnn_lstm/table4", "RankingMaps", "ranking_loss", "drawn_contrasts")
RankingMaps, ranking_loss = PAGE["RankingMaps"], PAGE["ranking_loss"]
TARGET = torch.tensor([1, 0, 4, IGNORED, 3])
DIFFERENTIABLE: dict[str, tuple[Callable[..., Tensor], list[tuple[int, ...]]]] = {
    "margin": (lambda a, b: margin_loss(a, b, 2.0), [(3, 4), (3, 4)]),  # no gradient through the choice
    "ranking": (lambda a, b: ranking_loss(a, b, 0.3, contrasts=None), [(4, 3), (4, 3)]),
    **{f"{score} {falling}": (lambda a, b, kind=(score, falling): pair_score(a, b, *kind), [(3, 4), (3, 4)])
       for score, falling in EVERY},
    **{f"reconstruction, floor {floor}": (
        lambda h, v, b, floor=floor: chunked(reconstruction_loss, h, v, b, TARGET, floor=floor, cells=9),
        [(5, 3), (5, 3), (5,)])
       for floor in (0.0, 0.05)},
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    loss, shapes = DIFFERENTIABLE[name]
    assert torch.autograd.gradcheck(loss, drawn(*shapes))


# -- margin ------------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.integers(2, 9), SEEDS, st.floats(0, 2), st.sampled_from(["one side", "both sides"]))
def test_the_margin_loss_is_the_loops(pairs: int, seed: int, margin: float, candidates: Any) -> None:
    sides = np.random.default_rng(seed).normal(size=(2, pairs, 5))
    cos = functional.normalize(torch.from_numpy(sides), dim=2).numpy()
    total = 0.0
    for i, anchor in itertools.product(range(pairs), (0, 1)):
        others = [anchor] if candidates == "one side" else [0, 1]
        negative = max(cos[anchor, i] @ cos[side, j] for side in others for j in range(pairs) if j != i)
        total += max(0.0, margin - cos[0, i] @ cos[1, i] + negative)
    found = margin_loss(*map(torch.from_numpy, sides), margin, candidates=candidates)
    assert found.item() == pytest.approx(total / pairs, abs=1e-9)


@pytest.mark.parametrize("selection", ["max", "random", "mix"])
@pytest.mark.parametrize("candidates", ["one side", "both sides"])
def test_negatives_are_never_the_pair_itself(selection: Any, candidates: Any) -> None:
    torch.manual_seed(1)
    at = torch.arange(12)
    for _ in range(30):
        chosen = choose_negatives(torch.randn(12, 12), selection, candidates)
        assert ((chosen - at) % 6 != 0).all()
        assert candidates == "both sides" or ((chosen < 6) == (at < 6)).all()


def test_random_negatives_reach_every_candidate_and_mix_lies_between() -> None:
    torch.manual_seed(0)
    similarities = torch.eye(8)
    similarities[:, 1] += 5  # the hardest of every sentence but 1 and its partner 5
    uniform = torch.stack([choose_negatives(similarities, "random", "both sides") for _ in range(300)])
    assert set(uniform[:, 0].tolist()) == {1, 2, 3, 5, 6, 7}
    mixed = torch.stack([choose_negatives(similarities, "mix", "both sides") for _ in range(600)])
    assert 0.5 < (mixed[:, 0] == 1).float().mean().item() < 0.67  # a half by the coin, a sixth of the other half


# -- ranking -----------------------------------------------------------------------------------------------------------

GROUPS = st.lists(st.integers(0, 3), min_size=2, max_size=9).filter(lambda found: len(set(found)) > 1)


@settings(max_examples=40)
@given(seed=SEEDS, margin=st.floats(0, 2), groups=GROUPS)
def test_the_ranking_loss_is_the_loops(seed: int, margin: float, groups: list[int]) -> None:
    images, sentences = np.random.default_rng(seed).normal(size=(2, len(groups), 4))
    total = 0.0
    for n, m in itertools.product(range(len(groups)), repeat=2):
        if groups[m] != groups[n]:
            related = images[n] @ sentences[n]
            total += max(0.0, margin - related + images[n] @ sentences[m])
            total += max(0.0, margin - related + images[m] @ sentences[n])
    given_ = torch.from_numpy(images), torch.from_numpy(sentences), margin
    found = ranking_loss(*given_, groups=torch.tensor(groups), contrasts=None)
    assert found.item() == pytest.approx(total / len(groups), abs=1e-9)


def test_drawn_contrasts_are_as_many_as_asked_for_and_unrelated() -> None:
    """All scores are 0: every contrast costs the margin, and nothing else does."""
    torch.manual_seed(0)
    zeros, pairs = torch.zeros(12, 3), torch.arange(12) // 2
    few = torch.tensor([0] * 11 + [1])  # the last alone has eleven contrasts, the others one
    for groups, contrasts, each in ((pairs, 4, 4), (pairs, 50, 10), (few, 4, (11 + 4) / 12)):
        found = ranking_loss(zeros, zeros, 0.1, groups=groups, contrasts=contrasts)
        assert found.item() == pytest.approx(0.1 * 2 * each)


def test_maps_give_vectors_of_length_one_but_for_the_released_images_in_training() -> None:
    torch.manual_seed(0)
    features, vectors = torch.randn(5, 10), torch.randn(5, 6)
    maps = RankingMaps(images=10, sentences=6, dimension=4)
    for found in maps(features, vectors):
        torch.testing.assert_close(found.norm(dim=1), torch.ones(5))
    assert maps.image.weight.abs().max() <= (2 / 10) ** 0.5 and not maps.image.bias.any()
    maps.faithful = True
    torch.testing.assert_close(maps.images(features), maps.image(features))
    torch.testing.assert_close(maps.eval().images(features).norm(dim=1), torch.ones(5))


# -- reconstruction ----------------------------------------------------------------------------------------------------

N, V, H = 37, 50, 6


def predictions() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    target = torch.randint(V, (N,), generator=torch.Generator().manual_seed(0))
    target[[3, 20, N - 1]] = IGNORED
    return *drawn((N, H), (V, H), (V,), dtype=torch.float32), target  # type: ignore[return-value]


@pytest.mark.parametrize("cells", [1, V, 5 * V, N * V - 1, 10 * N * V])
def test_chunked_cross_entropy_is_torchs(cells: int) -> None:
    *given_, target = predictions()
    single = functional.cross_entropy(functional.linear(*given_), target, ignore_index=IGNORED, reduction="none")
    loss = chunked(reconstruction_loss, *given_, target, cells=cells)
    torch.testing.assert_close(loss, single.sum(), atol=1e-5, rtol=1e-5)
    alone = chunked(token_losses, *given_, target, cells=cells)
    torch.testing.assert_close(alone, single.detach(), atol=1e-5, rtol=1e-5)
    sides = (torch.autograd.grad(one / 7, given_) for one in (loss, single.sum()))
    for one, other in zip(*sides, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_the_loss_of_a_word_that_underflows_is_its_distance_in_logits() -> None:
    states, weight = torch.tensor([[1.0, 0.0]]), torch.tensor([[200.0, 0.0], [0.0, 0.0]], requires_grad=True)
    loss = reconstruction_loss(states, weight, torch.zeros(2), torch.tensor([1]))
    assert loss.item() == pytest.approx(200)
    assert torch.autograd.grad(loss, weight)[0].tolist() == [[1, 0], [-1, 0]]


def test_the_floor_is_added_to_the_probability() -> None:
    states, weight, bias, target = predictions()
    likely, kept = functional.linear(states, weight, bias).softmax(dim=1), target != IGNORED
    expected = -torch.log(likely[kept, target[kept]] + 0.01).sum()
    found = chunked(reconstruction_loss, states, weight, bias, target, floor=0.01, cells=4 * V)
    torch.testing.assert_close(found, expected)


def test_no_tensor_is_as_large_as_all_logits(meter: type[Any]) -> None:
    states, weight, bias, target = predictions()
    saved: list[int] = []
    pack = lambda tensor: saved.append(tensor.numel()) or tensor  # noqa: E731
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), meter() as parts:
        chunked(reconstruction_loss, states, weight, bias, target, cells=4 * V).backward()
    assert sorted(saved) == sorted([N * H, V * H, V])
    assert parts.numbers == max(4 * V, N * H, V * H)
    with meter() as whole:
        functional.cross_entropy(functional.linear(states, weight, bias), target.clamp(min=0)).backward()
    assert whole.numbers == N * V > 4 * parts.numbers


def test_a_device_has_its_own_number_of_logits(meter: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert losses.CELLS["cpu"] == 2**23 < losses.CELLS["cuda"]  # on the CPU it decides the last bits
    monkeypatch.setattr(losses, "CELLS", {"cpu": 8 * V, "cuda": N * V})
    with meter() as parts:
        reconstruction_loss(*predictions())
    assert parts.numbers == 8 * V


def test_products_are_narrow_where_a_step_asks_for_it() -> None:
    states, weight, bias, target = predictions()
    exact = reconstruction_loss(states, weight, bias, target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        narrow = chunked(reconstruction_loss, states, weight, bias, target, cells=9 * V)
        halves = chunked(reconstruction_loss, states.bfloat16(), weight, bias, target, cells=9 * V)
    assert narrow.dtype == halves.dtype == torch.float32 and narrow.item() != exact.item()
    torch.testing.assert_close(torch.stack([narrow, halves]), exact.expand(2), rtol=1e-2, atol=0)
    sides = (torch.autograd.grad(loss, (states, weight, bias)) for loss in (narrow, exact))
    for one, other in zip(*sides, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, atol=0.05, rtol=0.05)


# -- relatedness -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [None, 7])
@pytest.mark.parametrize("normalise", [True, False])
def test_the_head_is_symmetric_and_expects_a_score_on_the_scale(hidden: int | None, normalise: bool) -> None:
    torch.manual_seed(0)
    head = RelatednessHead(4, hidden=hidden, normalise=normalise)
    one, other = torch.randn(3, 4), torch.randn(3, 4)
    found = head(one, other)
    torch.testing.assert_close(found.exp().sum(1), torch.ones(3))
    torch.testing.assert_close(found, head(other, one))
    assert ((head.expectation(found) >= 1) & (head.expectation(found) <= 5)).all()
    assert torch.allclose(found, head(3 * one, other), atol=1e-5) == normalise


@given(st.lists(st.floats(1, 5), min_size=1, max_size=6))
def test_the_sparsest_target_has_its_score_as_expectation(scores: list[float]) -> None:
    target = sparse_target(torch.tensor(scores, dtype=torch.float64), 5)
    torch.testing.assert_close(target @ torch.arange(1.0, 6.0).double(), torch.tensor(scores).double())
    assert ((target > 0).sum(1) <= 2).all()
    predicted = np.random.default_rng(0).dirichlet(np.ones(5), size=len(scores))
    expected = np.mean([entropy(p, q) for p, q in zip(target.numpy(), predicted, strict=True)]) / 5
    assert relatedness_loss(torch.from_numpy(predicted).log(), target).item() == pytest.approx(expected)


# -- similarity --------------------------------------------------------------------------------------------------------

# At distances 5 (euclidean) and 7 (manhattan).
FIRST, SECOND = torch.tensor([[4.0, 1.0, 3.0]]).double(), torch.tensor([[1.0, 5.0, 3.0]]).double()
FALLS: dict[str, Callable[[float], float]] = {
    "f1": lambda x: math.exp(-x),
    "f2": lambda x: 2 / (1 + math.exp(x)),
    "f2 as printed": lambda x: 1 / (1 + math.exp(-x)),
    "f3": lambda x: 1 / (1 + x),
}
PAIRS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=10)
SMOOTHING = st.sampled_from([0.001, 0.01, 0.1, 0.5])


@pytest.mark.parametrize(("score", "falling"), EVERY)
def test_scores_by_hand_and_finite_slopes(score: PairScore, falling: Falling) -> None:
    distance = {"euclidean": 5, "manhattan": 7}.get(score)
    expected = 18 / math.sqrt(26 * 35) if distance is None else FALLS[falling](distance)
    for given_ in ((FIRST, SECOND), (SECOND, FIRST)):
        assert pair_score(*given_, score, falling).tolist() == pytest.approx([expected], rel=1e-9)
    for dtype in (torch.float32, torch.float64):  # of equal vectors and of zeros too
        first = torch.tensor([[1.0, 0, 2], [0, 0, 0], [3, 0, 0]], dtype=dtype, requires_grad=True)
        second = torch.tensor([[1.0, 0, 2], [0, 0, 0], [0, 0, 0]], dtype=dtype, requires_grad=True)
        found = torch.autograd.grad(pair_score(first, second, score, falling).sum(), [first, second])
        assert all(gradient.isfinite().all() for gradient in found)


@settings(max_examples=60)
@given(st.sampled_from(EVERY), SEEDS, st.sampled_from([0.01, 1.0, 100.0]))
def test_scores_of_vectors_without_negative_elements_lie_between_zero_and_one(
    kind: tuple[PairScore, Falling], seed: int, size: float
) -> None:
    first, second = (size * one.detach().relu() for one in drawn((6, 5), (6, 5), seed=seed))
    first[0] = second[0] = size
    first[1] = 0
    scores = pair_score(first, second, *kind)
    assert ((scores >= 0) & (scores <= 1 + 1e-6)).all()
    assert scores[0] == pytest.approx(0.5 if kind[0] != "cosine" and kind[1] == "f2 as printed" else 1, abs=2e-6)
    assert kind[0] != "cosine" or scores[1] == 0


@pytest.mark.parametrize("name", ["f1", "f2", "f3"])
def test_functions_fall_from_one_to_zero(name: Falling) -> None:
    values = FALLING[name](torch.linspace(0, 30, 200, dtype=torch.float64))
    assert values[0] == 1 and (values.diff() < 0).all() and (values > 0).all()
    assert FALLING[name](torch.tensor(1e9)) < 1e-8


@given(PAIRS, SMOOTHING)
def test_losses_are_scipys_and_torchs_of_the_smoothed_score(pairs: list[tuple[float, float]], smoothing: float) -> None:
    score, gold = torch.tensor(pairs, dtype=torch.float64).T
    smoothed, q = (score + smoothing) / (1 + 2 * smoothing), gold.numpy()
    p = smoothed.numpy()
    divergence = (rel_entr(q, p) + rel_entr(1 - q, 1 - p)).mean()
    cross = functional.binary_cross_entropy(smoothed, gold)
    assert kl_loss(score, gold, smoothing).item() == pytest.approx(divergence, abs=1e-12)
    assert cross_entropy_loss(score, gold, smoothing).item() == pytest.approx(cross.item(), abs=1e-12)
    assert cross.item() - divergence == pytest.approx((entr(q) + entr(1 - q)).mean(), abs=1e-12)
    named = {"mse": mse_loss(score, gold), "kl": kl_loss(score, gold, smoothing),
             "cross-entropy": cross_entropy_loss(score, gold, smoothing)}  # fmt: skip
    assert set(named) == set(get_args(ScoreLoss))
    assert all(torch.equal(score_loss(name, score, gold, smoothing), value) for name, value in named.items())  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", [kl_loss, cross_entropy_loss])
@pytest.mark.parametrize("smoothing", [0.01, 0.1])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_smoothing_bounds_the_slope(loss: Callable[..., Tensor], smoothing: float, label: float) -> None:
    """At the wrong end of the scale, where without it the loss is infinite; beyond an end a score counts as it."""
    score, gold = torch.tensor([1 - label]).double().requires_grad_(), torch.tensor([label]).double()
    [slope] = torch.autograd.grad(loss(score, gold, smoothing), score)
    assert slope.item() == pytest.approx((1 if label == 0 else -1) / smoothing)
    assert torch.equal(loss(torch.tensor([1.7 - 2.4 * label]).double(), gold, smoothing), loss(score, gold, smoothing))
