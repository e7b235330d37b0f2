"""CSE against the paper's equations, its parameter count, and the identities that linear filters obey."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from sentbook.data.text import TokenIds
from sentbook.models import CSE, encode_ids

VOCABULARY, DIMENSION = 30, 7


def table(seed: int = 0) -> torch.Tensor:
    weight = torch.randn(VOCABULARY, DIMENSION, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    weight[0] = 0
    return weight


def cse(**options: object) -> CSE:
    torch.manual_seed(3)
    encoder = CSE(table(), filters=4, **options).double().eval()
    for bias in encoder.biases or []:
        torch.nn.init.normal_(bias)
    return encoder


def corpus(*sentences: list[int]) -> TokenIds:
    offsets = np.cumsum([0, *map(len, sentences)])
    return TokenIds(np.array(list(itertools.chain(*sentences))), offsets)


sentence = st.lists(st.integers(1, VOCABULARY - 1), min_size=1, max_size=12)


def by_hand(encoder: CSE, words: list[int]) -> np.ndarray:
    """Equations 2-4 with plain loops."""
    vectors = [encoder.embedding.weight[word].detach().numpy() for word in words]
    features = []
    for index, width in enumerate(encoder.widths):
        padded = vectors + [np.zeros(DIMENSION)] * max(0, width - len(vectors))
        filters = encoder.weights[index].detach().numpy()
        bias = encoder.biases[index].detach().numpy() if encoder.biases is not None else 0.0
        windows = [np.concatenate(padded[at : at + width]) @ filters + bias for at in range(len(padded) - width + 1)]
        if encoder.activation == "tanh":
            windows = [np.tanh(window) for window in windows]
        features.append(sum(windows) / (len(windows) if encoder.pooling == "mean" else 1))
    return np.concatenate(features)


@pytest.mark.parametrize("pooling", ["sum", "mean"])
@pytest.mark.parametrize("activation", ["linear", "tanh"])
@pytest.mark.parametrize("bias", [True, False])
def test_equals_the_equations(pooling: str, activation: str, bias: bool) -> None:
    encoder = cse(pooling=pooling, activation=activation, bias=bias)
    sentences = [[3], [5, 6], [4, 9, 2, 2, 7], list(range(1, 13))]
    ids, lengths = corpus(*sentences).padded(np.arange(4), encoder.minimum_length)
    got = encoder(torch.from_numpy(ids), torch.from_numpy(lengths)).detach().numpy()
    np.testing.assert_allclose(got, [by_hand(encoder, words) for words in sentences], atol=1e-12)


@pytest.mark.parametrize("windows", ["masked", "batch"])
@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_collapsed_sums_equal_convolution(windows: str, pooling: str) -> None:
    encoder = cse(windows=windows, pooling=pooling, widths=(1, 2, 3, 4))
    ids, lengths = corpus([3], [5, 6, 1], list(range(1, 13))).padded(np.arange(3), encoder.minimum_length)
    arguments = torch.from_numpy(ids), torch.from_numpy(lengths)
    torch.testing.assert_close(encoder.collapse(*arguments), encoder.convolve(*arguments), atol=1e-12, rtol=0)


def test_collapsed_gradients_equal_convolution() -> None:
    encoder = cse()
    ids, lengths = corpus([3, 4], [5, 6, 1, 8]).padded(np.arange(2), encoder.minimum_length)
    arguments = torch.from_numpy(ids), torch.from_numpy(lengths)
    target = torch.randn(2, encoder.dimension, dtype=torch.float64)
    gradients = [
        torch.autograd.grad((path(*arguments) * target).sum(), list(encoder.parameters()))
        for path in (encoder.collapse, encoder.convolve)
    ]
    for collapsed, convolved in zip(*gradients, strict=True):
        torch.testing.assert_close(collapsed, convolved, atol=1e-11, rtol=0)


def test_linear_cse_is_a_bag_of_words_but_for_the_edges() -> None:
    """Permuting all but the first and last h - 1 words leaves the vector unchanged; tanh does not have this."""
    words = [1, 2, 3, 4, 5, 6, 7, 8]
    moved = [1, 2, 6, 5, 4, 3, 7, 8]
    swapped_edge = [2, 1, 3, 4, 5, 6, 7, 8]
    tokens = corpus(words, moved, swapped_edge)
    linear = encode_ids(cse().float(), tokens)
    np.testing.assert_allclose(linear[0], linear[1], atol=1e-5)
    assert np.abs(linear[0] - linear[2]).max() > 1e-2
    bent = encode_ids(cse(activation="tanh").float(), tokens)
    assert np.abs(bent[0] - bent[1]).max() > 1e-2
