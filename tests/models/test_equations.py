"""Every encoder against its paper's equations, sentence by sentence in plain torch: values and gradients in float64."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sentbook.data.text import TokenIds
from sentbook.models import CNN, CSE, GRAN, LSTM, WSV, Average, BiLSTM, SentenceEncoder
from sentbook.models.additive import word_set_map
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.wsv import WSVEncoder

WORDS, DEPTH = 30, 6
# Shorter than every filter, of equal words, and of one word (one cell of a map) and two, where k is more than these.
SENTENCES = [[3], [5, 6], [4, 9, 2, 2, 7], list(range(1, 14)), [8, 8, 8], [2]]


def made(kind: type[SentenceEncoder], **options: Any) -> Any:
    """In float64, with drawn biases."""
    torch.manual_seed(3)
    weight = torch.randn(WORDS, DEPTH)
    weight[0] = 0
    encoder = kind(weight, kind.options.changed(**options)).double().eval()
    for bias in getattr(encoder, "biases", None) or []:
        nn.init.normal_(bias)
    return encoder


def padded(sentences: list[list[int]], width: int = 1) -> tuple[Tensor, Tensor]:
    tokens = TokenIds(np.array(list(itertools.chain(*sentences))), np.cumsum([0, *map(len, sentences)]))
    ids, lengths = tokens.padded(np.arange(len(sentences)), width)
    return torch.from_numpy(ids), torch.from_numpy(lengths)


# -- the equations -----------------------------------------------------------------------------------------------------


def windows(encoder: Any, words: Tensor) -> list[Tensor]:
    """(m, filters) of each width: every window's products, after the bias; at least one window."""
    found = []
    for at, width in enumerate(encoder.options.widths):
        columns = torch.cat([words, words.new_zeros(max(0, width - len(words)), DEPTH)])
        products = [columns[i : i + width].flatten() @ encoder.weights[at] for i in range(len(columns) - width + 1)]
        found.append(torch.stack(products) + (encoder.biases[at] if encoder.biases is not None else 0))
    return found


def cse(encoder: Any, words: Tensor) -> Tensor:
    parts = [part.tanh() if encoder.options.activation == "tanh" else part for part in windows(encoder, words)]
    return torch.cat([part.mean(0) if encoder.options.pooling == "mean" else part.sum(0) for part in parts])


def cnn(encoder: Any, words: Tensor) -> Tensor:
    if encoder.options.padding == "released":  # four zero vectors before a sentence, 48 in all
        words = functional.pad(words, (0, 0, 4, 44 - len(words)))
    return torch.cat([part.tanh().amax(0) for part in windows(encoder, words)])


def bilstm(encoder: Any, words: Tensor) -> Tensor:
    states = encoder.lstm(words.unsqueeze(0))[0][0]
    return states.amax(0) if encoder.options.pool == "max" else states.mean(0)


def lstm(encoder: Any, words: Tensor) -> Tensor:
    return encoder.lstm(words.unsqueeze(0))[0][0, -1]


def gran(encoder: Any, words: Tensor) -> Tensor:
    states = encoder.lstm(words.unsqueeze(0))[0][0]
    return (words * torch.sigmoid(encoder.gate(torch.cat([words, states], dim=1)))).mean(0)


def wsv(encoder: Any, words: Tensor) -> Tensor:
    """Equations 3-9 of Yao et al. on the map of one sentence."""
    layer = word_set_map(words.unsqueeze(0), torch.softmax(encoder.alpha, 0))
    for index, kernel in enumerate(encoder.kernels):
        if index:
            layer = functional.max_pool2d(layer, 2, ceil_mode=True)
        layer = functional.conv2d(layer, kernel.permute(3, 2, 0, 1), padding=1)
        if encoder.biases is not None:
            layer = layer + encoder.biases[index].view(-1, 1, 1)
        layer = encoder.activate(layer)
    cells = layer[0].flatten(1)
    largest = encoder.options.selection == "largest"
    return torch.topk(cells, min(encoder.k, cells.shape[1]), dim=1, largest=largest)[0].mean(1)


def average(encoder: Any, words: Tensor) -> Tensor:
    return words.mean(0)


BY_HAND = {Average: average, CSE: cse, CNN: cnn, BiLSTM: bilstm, GRAN: gran, LSTM: lstm, WSV: wsv}
CASES: list[tuple[type[SentenceEncoder], dict[str, Any]]] = [
    (Average, {}),
    *((CSE, {"filters": 4, "pooling": pooling, "activation": activation, "bias": bias})
      for pooling in ("sum", "mean") for activation in ("linear", "tanh") for bias in (True, False)),
    *((CNN, {"filters": 4, "padding": padding, "bound": 0.5}) for padding in ("masked", "released")),
    *((BiLSTM, {"hidden": 5, "pool": pool}) for pool in ("max", "mean")),
    (GRAN, {}), (GRAN, {"hidden": 4}),
    *((WSV, {"filters": 5, "layers": layers, "k": k, "bias": bias, "selection": selection})
      for layers in (1, 2, 3) for k, bias in ((1, True), (3, False), (5, True))
      for selection in ("largest", "smallest")),
    *((WSV, {"filters": 5, "layers": layers, "activation": "sigmoid"}) for layers in (1, 2)),
    (LSTM, {"hidden": 5}),
]  # fmt: skip


def by_hand(encoder: Any, sentences: list[list[int]]) -> Tensor:
    table = encoder.embedding.weight
    return torch.stack([BY_HAND[type(encoder)](encoder, table[words]) for words in sentences])


@pytest.mark.parametrize(("kind", "options"), CASES, ids=[f"{kind.__name__} {given}" for kind, given in CASES])
def test_values_and_gradients_are_the_equations(kind: type[SentenceEncoder], options: dict[str, Any]) -> None:
    encoder = made(kind, **options)
    sides = [encoder(*padded(SENTENCES, encoder.minimum_length)), by_hand(encoder, SENTENCES)]
    torch.testing.assert_close(*sides, atol=1e-11, rtol=0)
    target = torch.randn(sides[0].shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    names, inputs = zip(*encoder.named_parameters(), strict=True)
    found = [torch.autograd.grad((side * target).sum(), inputs, allow_unused=True) for side in sides]
    for name, got, expected in zip(names, *found, strict=True):
        torch.testing.assert_close(got, expected, atol=1e-10, rtol=0, msg=lambda said, name=name: f"{name}: {said}")
    assert not found[0][names.index("embedding.weight")][0].any()  # nothing pulls at padding


# -- CSE ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("windows", ["masked", "batch"])
@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_collapsed_sums_equal_convolution(windows: str, pooling: str) -> None:
    encoder = made(CSE, filters=4, windows=windows, pooling=pooling, widths=(1, 2, 3, 4))
    given = padded(SENTENCES, encoder.minimum_length)
    torch.testing.assert_close(encoder.collapse(*given), encoder.convolve(*given), atol=1e-12, rtol=0)


def test_linear_cse_is_a_bag_of_words_but_for_the_edges() -> None:
    """Permuting all but the first and last h - 1 words leaves the vector unchanged; tanh does not have this."""
    given = padded([[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 6, 5, 4, 3, 7, 8], [2, 1, 3, 4, 5, 6, 7, 8]])
    said, inside, edge = made(CSE, filters=4)(*given)
    torch.testing.assert_close(said, inside)
    assert (said - edge).abs().max() > 1e-2
    said, inside, _ = made(CSE, filters=4, activation="tanh")(*given)
    assert (said - inside).abs().max() > 1e-2


# -- CNN and BiLSTM as released ----------------------------------------------------------------------------------------


def test_the_first_release_takes_the_maximum_over_padding() -> None:
    released, masked = (made(BiLSTM, hidden=5, padding=padding) for padding in ("zeros", "masked"))
    given = padded([[1, 2, 3], [4, 5, 6, 7, 8, 9]])
    clean = masked(*given)
    torch.testing.assert_close(released(*given), torch.stack([clean[0].clamp(min=0), clean[1]]))  # padded states are 0
    assert (clean[0] < 0).any() and released.batch_dependent and not masked.batch_dependent


# -- WSV ---------------------------------------------------------------------------------------------------------------


def test_map_weights_are_trained_or_fixed() -> None:
    trained, fixed = (made(WSV, filters=5, map_weights=kind) for kind in ("trained", "fixed"))
    assert torch.softmax(trained.alpha, 0).tolist() == pytest.approx([0.4502, 0.5498], abs=5e-5)
    assert any(parameter is trained.alpha for parameter in trained.composition())
    assert not any(parameter is fixed.alpha for parameter in fixed.parameters())
    assert torch.equal(fixed.state_dict()["alpha"], trained.alpha)  # and it is stored with the others
    given = padded(SENTENCES)
    assert torch.equal(trained(*given), fixed(*given))
    trained(*given).square().sum().backward()
    assert trained.alpha.grad.abs().min() > 1e-4
    assert trained.alpha.grad.sum().abs() < 1e-10  # only the difference of the two counts, whatever is trained


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("selection", ["largest", "smallest"])
def test_zeros_in_training_are_words_of_the_map(layers: int, selection: str) -> None:
    """While training the vector is that of the padded sentence; afterwards that of the sentence."""
    encoder = made(WSV, filters=5, layers=layers, selection=selection, padding="zeros in training")
    width, given = max(map(len, SENTENCES)), padded(SENTENCES)
    evaluated = encoder(*given)
    torch.testing.assert_close(evaluated, by_hand(encoder, SENTENCES), atol=1e-12, rtol=0)
    trained = encoder.train()(*given)
    whole = [words + [0] * (width - len(words)) for words in SENTENCES]
    torch.testing.assert_close(trained, by_hand(encoder, whole), atol=1e-12, rtol=0)
    assert (trained - evaluated).abs().max() > 1e-2


def test_a_word_of_a_batch_loses_the_same_elements_everywhere() -> None:
    encoder = made(WSV, filters=5).train()
    encoder.dropout = 0.5
    dropped = encoder(*padded([[1, 2, 3, 4], [1, 2, 3, 4], [5, 6]]))
    torch.testing.assert_close(dropped[0], dropped[1], atol=1e-12, rtol=0)


# -- initial values ----------------------------------------------------------------------------------------------------


def test_initial_values_are_the_papers() -> None:
    encoder = CNN(torch.zeros(10, 300), CNNEncoder(filters=50))
    assert all(0.0099 < weight.abs().max() <= 0.01 and abs(weight.mean()) < 5e-4 for weight in encoder.weights)
    assert all(not bias.any() for bias in encoder.biases)
    for width, weight in zip((1, 2, 3), CSE(torch.zeros(3, 40), CSEEncoder(filters=50)).weights, strict=True):
        bound = math.sqrt(6 / (51 * width * 40))
        assert weight.shape == (width * 40, 50) and 0.98 * bound < weight.abs().max() <= bound
    map_encoder = WSV(torch.zeros(3, 20), WSVEncoder(filters=30, layers=2))
    for kernel, depth in zip(map_encoder.kernels, (20, 30), strict=True):
        bound = math.sqrt(6 / (9 * (depth + 30)))  # Glorot's
        assert kernel.shape == (3, 3, depth, 30) and 0.99 * bound < kernel.abs().max() <= bound
