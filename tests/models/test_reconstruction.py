"""The chunked cross-entropy: torch's value and gradients, no tensor of all logits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from sentbook.models.losses.reconstruction import IGNORED, reconstruction_loss, token_losses

N, V, H = 37, 50, 6


def made(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    states, weight, bias = (
        torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_() for shape in ((N, H), (V, H), (V,))
    )
    target = torch.randint(V, (N,), generator=generator)
    target[[3, 20, N - 1]] = IGNORED
    return states, weight, bias, target


def gradients(loss: Tensor, *of: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, of)


@pytest.mark.parametrize("cells", [1, V, 5 * V, N * V - 1, 10 * N * V])
@pytest.mark.parametrize("with_bias", [True, False])
def test_value_and_gradients_are_torchs(cells: int, with_bias: bool) -> None:
    states, weight, bias, target = made()
    given = (states, weight, bias) if with_bias else (states, weight)
    expected = functional.cross_entropy(
        functional.linear(states, weight, bias if with_bias else None), target, ignore_index=IGNORED, reduction="sum"
    )
    loss = reconstruction_loss(states, weight, bias if with_bias else None, target, cells=cells)
    torch.testing.assert_close(loss, expected, atol=1e-5, rtol=1e-5)
    for one, other in zip(gradients(loss / 7, *given), gradients(expected / 7, *given), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_gradients_hold_against_differences() -> None:
    states, weight, bias, target = made(torch.float64)
    few = tuple(tensor[:9].detach().requires_grad_() for tensor in (states, weight, bias))
    for floor in (0.0, 0.05):
        assert torch.autograd.gradcheck(
            lambda *given, floor=floor: reconstruction_loss(*given, target[:9] % 9, floor=floor, cells=4 * 9), few
        )


def test_the_floor_is_added_to_the_probability() -> None:
    states, weight, bias, target = made()
    likely = functional.linear(states, weight, bias).softmax(dim=1)
    kept = target != IGNORED
    expected = -torch.log(likely[kept, target[kept]] + 0.01).sum()
    torch.testing.assert_close(reconstruction_loss(states, weight, bias, target, floor=0.01, cells=4 * V), expected)


def test_ignored_predictions_count_for_nothing() -> None:
    states, weight, bias, target = made()
    (gradient,) = gradients(reconstruction_loss(states, weight, bias, target), states)
    assert not gradient[target == IGNORED].any()
    assert gradient[target != IGNORED].abs().sum(dim=1).min() > 0
    single = token_losses(states, weight, bias, target, cells=3 * V)
    expected = functional.cross_entropy(
        functional.linear(states, weight, bias), target, ignore_index=IGNORED, reduction="none"
    )
    torch.testing.assert_close(single, expected.detach())


def test_no_tensor_is_as_large_as_all_logits(meter: type[Any]) -> None:
    states, weight, bias, target = made()
    saved: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), meter() as chunked:
        reconstruction_loss(states, weight, bias, target, cells=4 * V).backward()
    assert sorted(saved) == sorted([N * H, V * H, V])
    assert chunked.numbers == max(4 * V, N * H, V * H)
    with meter() as whole:
        functional.cross_entropy(functional.linear(states, weight, bias), target.clamp(min=0)).backward()
    assert whole.numbers == N * V > 4 * chunked.numbers


def test_products_are_narrow_where_a_step_asks_for_it() -> None:
    states, weight, bias, target = made()
    exact = reconstruction_loss(states, weight, bias, target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        narrow = reconstruction_loss(states, weight, bias, target, cells=9 * V)
        halves = reconstruction_loss(states.bfloat16(), weight, bias, target, cells=9 * V)
    assert narrow.dtype == halves.dtype == torch.float32
    assert narrow.item() != exact.item()
    torch.testing.assert_close(narrow, exact, rtol=1e-2, atol=0)
    torch.testing.assert_close(halves, exact, rtol=1e-2, atol=0)
    for one, other in zip(gradients(narrow, states, weight, bias), gradients(exact, states, weight, bias), strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, atol=0.05, rtol=0.05)
