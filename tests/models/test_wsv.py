"""WSV-SCNN-SV against the paper's equations and counts: maps, layers and pools with plain loops over sentences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from sentbook.data.text import TokenIds
from sentbook.models import WSV
from sentbook.models.word_map import word_set_map

VOCABULARY, DIMENSION, FILTERS = 30, 6, 5


def table(seed: int = 0) -> Tensor:
    weight = torch.randn(VOCABULARY, DIMENSION, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    weight[0] = 0
    return weight


def wsv(**options: Any) -> WSV:
    torch.manual_seed(3)
    encoder = WSV(table(), **{"filters": FILTERS, **options}).double().eval()
    for bias in encoder.biases or []:
        torch.nn.init.normal_(bias)
    return encoder


def corpus(*sentences: list[int]) -> TokenIds:
    offsets = np.cumsum([0, *map(len, sentences)])
    return TokenIds(np.array(list(itertools.chain(*sentences))), offsets)


def padded(*sentences: list[int]) -> tuple[Tensor, Tensor]:
    ids, lengths = corpus(*sentences).padded(np.arange(len(sentences)))
    return torch.from_numpy(ids), torch.from_numpy(lengths)


def by_hand(encoder: WSV, words: list[int]) -> Tensor:
    """Equations 3-9 on the map of one sentence; word 0 is a zero vector."""
    weights = torch.softmax(encoder.alpha.double(), 0)
    layer = word_set_map(encoder.embedding.weight[words].unsqueeze(0), weights)
    for index, kernel in enumerate(encoder.kernels):
        if index:
            layer = functional.max_pool2d(layer, 2, ceil_mode=True)
        layer = functional.conv2d(layer, kernel.permute(3, 2, 0, 1), padding=1)
        if encoder.biases is not None:
            layer = layer + encoder.biases[index].view(-1, 1, 1)
        layer = functional.relu(layer)
    cells = layer[0].flatten(1)
    k = min(encoder.k, cells.shape[1])
    return torch.topk(cells, k, dim=1, largest=encoder.selection == "largest").values.mean(1)


sentence = st.lists(st.integers(1, VOCABULARY - 1), min_size=1, max_size=14)
SENTENCES = [[3], [5, 6], [4, 9, 2, 2, 7], list(range(1, 14)), [8, 8, 8], [2]]


# -- parameters --------------------------------------------------------------------------------------------------------


def test_map_weights_start_at_the_softmax_of_alpha() -> None:
    weights = torch.softmax(WSV(torch.zeros(3, 2), filters=1).alpha, 0).tolist()
    assert weights == pytest.approx([0.4502, 0.5498], abs=5e-5)
    assert weights[0] == pytest.approx(1 / (1 + math.exp(0.2)))


def test_map_weights_are_trained_or_fixed() -> None:
    trained, fixed = wsv(), wsv(map_weights="fixed")
    assert any(parameter is trained.alpha for parameter in trained.composition())
    assert not any(parameter is fixed.alpha for parameter in fixed.parameters())
    assert torch.equal(fixed.state_dict()["alpha"], trained.alpha)  # and it is stored with the others
    arguments = padded([1, 2, 3, 4])
    torch.testing.assert_close(trained(*arguments), fixed(*arguments), atol=0, rtol=0)
    for encoder in (trained, fixed):
        encoder(*arguments).square().sum().backward()
    assert trained.alpha.grad is not None
    assert trained.alpha.grad.abs().min() > 1e-4
    # Only the difference of the two counts, whatever is trained.
    assert trained.alpha.grad.sum().abs() < 1e-12
    assert not fixed.alpha.requires_grad


def test_kernels_start_within_glorots_bound() -> None:
    encoder = WSV(torch.zeros(3, 20), filters=30, layers=2)
    for kernel, depth in zip(encoder.kernels, (20, 30), strict=True):
        bound = math.sqrt(6 / (9 * (depth + 30)))
        assert kernel.shape == (3, 3, depth, 30)
        assert 0.99 * bound < kernel.abs().max() <= bound


# -- vectors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("selection", ["largest", "smallest"])
def test_equals_the_equations(layers: int, k: int, bias: bool, selection: str) -> None:
    """Of one word (one cell) and two words (four cells) as well, where k is more than there are."""
    encoder = wsv(layers=layers, k=k, bias=bias, selection=selection)
    got = encoder(*padded(*SENTENCES))
    expected = torch.stack([by_hand(encoder, words) for words in SENTENCES])
    torch.testing.assert_close(got, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_gradients_equal_the_equations(layers: int) -> None:
    encoder = wsv(layers=layers)
    target = torch.randn(len(SENTENCES), FILTERS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    sides = [encoder(*padded(*SENTENCES)), torch.stack([by_hand(encoder, words) for words in SENTENCES])]
    inputs = [encoder.embedding.weight, encoder.alpha, *encoder.kernels]
    found = [torch.autograd.grad((side * target).sum(), inputs) for side in sides]
    for got, expected in zip(*found, strict=True):
        torch.testing.assert_close(got, expected, atol=1e-11, rtol=0)
        assert expected.any()
    assert not found[0][0][0].any()  # nothing pulls at padding


# -- padding and dropout in training -----------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("selection", ["largest", "smallest"])
def test_zeros_in_training_are_words_of_the_map(layers: int, selection: str) -> None:
    """While training the vector is that of the padded sentence; afterwards that of the sentence."""
    encoder = wsv(layers=layers, selection=selection, padding="zeros in training")
    width = max(map(len, SENTENCES))
    arguments = padded(*SENTENCES)
    evaluated = encoder(*arguments)
    expected = torch.stack([by_hand(encoder, words) for words in SENTENCES])
    torch.testing.assert_close(evaluated, expected, atol=1e-12, rtol=0)
    encoder.train()
    trained = encoder(*arguments)
    expected = torch.stack([by_hand(encoder, words + [0] * (width - len(words))) for words in SENTENCES])
    torch.testing.assert_close(trained, expected, atol=1e-12, rtol=0)
    longest = max(range(len(SENTENCES)), key=lambda at: len(SENTENCES[at]))
    torch.testing.assert_close(trained[longest], evaluated[longest], atol=1e-12, rtol=0)
    assert (trained - evaluated).abs().max() > 1e-2


def test_dropout_is_only_in_training_and_a_word_loses_the_same_everywhere() -> None:
    encoder = wsv(dropout=0.5)
    arguments = padded([1, 2, 3, 4], [1, 2, 3, 4], [5, 6])
    assert torch.equal(encoder(*arguments), encoder(*arguments))
    torch.testing.assert_close(encoder(*arguments), wsv()(*arguments), atol=0, rtol=0)
    encoder.train()
    torch.manual_seed(0)
    dropped = encoder(*arguments)
    assert (dropped - wsv()(*arguments)).abs().max() > 1e-2
    torch.testing.assert_close(dropped[0], dropped[1], atol=1e-12, rtol=0)
    assert not torch.equal(encoder(*arguments), dropped)
