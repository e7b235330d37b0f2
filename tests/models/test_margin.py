"""The margin loss and its negatives against loops over every candidate."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sentbook.models.losses.margin import choose_negatives, margin_loss


def cos(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def brute_force(first: np.ndarray, second: np.ndarray, margin: float, candidates: str) -> float:
    total = 0.0
    for i in range(len(first)):
        positive = cos(first[i], second[i])
        for anchor, own in ((first[i], first), (second[i], second)):
            sides = [own] if candidates == "one side" else [first, second]
            negative = max(cos(anchor, side[j]) for side in sides for j in range(len(first)) if j != i)
            total += max(0.0, margin - positive + negative)
    return total / len(first)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10_000), st.floats(0, 2), st.sampled_from(["one side", "both sides"]))
def test_equals_brute_force(pairs: int, seed: int, margin: float, candidates: str) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, pairs, 5))
    got = margin_loss(torch.from_numpy(first), torch.from_numpy(second), margin, candidates=candidates)
    assert got.item() == pytest.approx(brute_force(first, second, margin, candidates), abs=1e-9)


@pytest.mark.parametrize("selection", ["max", "random", "mix"])
@pytest.mark.parametrize("candidates", ["one side", "both sides"])
def test_negatives_are_never_the_pair_itself(selection: str, candidates: str) -> None:
    torch.manual_seed(1)
    pairs = 6
    for _ in range(30):
        chosen = choose_negatives(torch.randn(2 * pairs, 2 * pairs), selection, candidates)
        at = torch.arange(2 * pairs)
        assert ((chosen - at) % pairs != 0).all()
        if candidates == "one side":
            assert ((chosen < pairs) == (at < pairs)).all()


def test_random_negatives_reach_every_candidate_and_mix_lies_between() -> None:
    torch.manual_seed(0)
    similarities = torch.eye(8) + 0.0
    similarities[:, 1] += 5  # the hardest of every sentence but 1 and its partner 5
    uniform = torch.stack([choose_negatives(similarities, "random", "both sides") for _ in range(300)])
    assert set(uniform[:, 0].tolist()) == {1, 2, 3, 5, 6, 7}
    mixed = torch.stack([choose_negatives(similarities, "mix", "both sides") for _ in range(600)])
    share = (mixed[:, 0] == 1).float().mean().item()
    assert 0.5 < share < 0.67  # a half by the coin plus a sixth of the other half


def test_gradient_does_not_flow_through_the_choice() -> None:
    first = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    second = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: margin_loss(a, b, 2.0), (first, second))


def test_one_pair_has_no_negative() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        margin_loss(torch.ones(1, 2), torch.ones(1, 2))
