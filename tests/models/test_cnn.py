"""The CNN of Gan et al.: equal to the printed equation and to the released padding; counts; padding changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from sentbook.data.text import TokenIds
from sentbook.models import encode_ids
from sentbook.models.cnn import CNN, WindowPadding

WORDS, DEPTH, FILTERS = 30, 7, 6
PADDINGS: list[WindowPadding] = ["masked", "released"]


def made(padding: WindowPadding, bound: float = 0.5) -> CNN:
    torch.manual_seed(1)
    table = torch.randn(WORDS, DEPTH)
    table[0] = 0
    encoder = CNN(table, filters=FILTERS, padding=padding, bound=bound).eval()
    with torch.no_grad():
        for bias in encoder.biases:
            bias.uniform_(-1, 1)
    return encoder


def sentences(lengths: list[int], seed: int = 0) -> TokenIds:
    flat = np.random.default_rng(seed).integers(1, WORDS, sum(lengths))
    return TokenIds(flat, np.cumsum([0, *lengths]))


def printed(encoder: CNN, columns: Tensor) -> Tensor:
    """c = tanh(X * W + b), its maximum over every window of (T, D) ``columns``, window by window."""
    pooled = []
    for width, weight, bias in zip(encoder.widths, encoder.weights, encoder.biases, strict=True):
        windows = [columns[at : at + width].flatten() for at in range(len(columns) - width + 1)]
        pooled.append(torch.stack([torch.tanh(window @ weight + bias) for window in windows]).amax(dim=0))
    return torch.cat(pooled)


def test_it_starts_within_a_hundredth_and_with_biases_of_zero() -> None:
    encoder = CNN(torch.zeros(10, 300), filters=50)
    for weight in encoder.weights:
        assert 0.0099 < weight.abs().max() <= 0.01
        assert abs(weight.mean()) < 5e-4
    assert all(not bias.any() for bias in encoder.biases)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 20])
def test_it_is_the_printed_equation(length: int) -> None:
    encoder, tokens = made("masked"), sentences([length])
    words = encoder.embedding.weight[torch.from_numpy(tokens.flat)]
    expected = []
    for width, weight, bias in zip(encoder.widths, encoder.weights, encoder.biases, strict=True):
        padded = torch.cat([words, torch.zeros(max(width - length, 0), DEPTH)])  # to one window, where it is shorter
        windows = [padded[at : at + width].flatten() for at in range(len(padded) - width + 1)]
        expected.append(torch.stack([torch.tanh(window @ weight + bias) for window in windows]).amax(dim=0))
    np.testing.assert_allclose(encode_ids(encoder, tokens)[0], torch.cat(expected).detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("length", [1, 3, 9, 38])
def test_released_padding_is_four_zero_vectors_before_and_48_in_all(length: int) -> None:
    encoder, tokens = made("released"), sentences([length])
    columns = torch.zeros(48, DEPTH)
    columns[4 : 4 + length] = encoder.embedding.weight.detach()[torch.from_numpy(tokens.flat)]
    np.testing.assert_allclose(encode_ids(encoder, tokens)[0], printed(encoder, columns).detach().numpy(), atol=1e-6)


def test_windows_of_padding_reach_the_released_pool_alone() -> None:
    tokens = sentences([6])
    with torch.no_grad():
        masked, released = made("masked"), made("released")
        for encoder in (masked, released):
            encoder.embedding.weight[1:] = encoder.embedding.weight[1:].abs()
            for weight in encoder.weights:
                weight.copy_(-weight.abs())  # no window of words is above 0
    floor = torch.tanh(torch.cat(list(released.biases))).detach().numpy()
    np.testing.assert_allclose(encode_ids(released, tokens)[0], floor, atol=1e-6)
    assert (encode_ids(masked, tokens)[0] < floor).all()


def test_the_gradient_is_the_printed_equations() -> None:
    encoder = made("masked").double()
    tokens = sentences([7, 5])
    ids, lengths = (torch.from_numpy(part) for part in tokens.padded(np.arange(2)))
    direction = torch.randn(2, encoder.dimension, dtype=torch.float64)
    (encoder(ids, lengths) * direction).sum().backward()
    found = [parameter.grad.clone() for parameter in encoder.parameters() if parameter.grad is not None]
    encoder.zero_grad()
    table = encoder.embedding.weight
    vectors = torch.stack([printed(encoder, table[ids[row, : lengths[row]]]) for row in range(2)])
    (vectors * direction).sum().backward()
    expected = [parameter.grad for parameter in encoder.parameters()]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
