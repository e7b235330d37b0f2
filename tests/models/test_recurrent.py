"""Encoders over LSTM states: equal to torch's LSTM on a sentence alone and to a loop; padding changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from sentbook.data.text import TokenIds
from sentbook.models import GRAN, BiLSTM, SentenceEncoder, encode_ids

WORDS, DEPTH, HIDDEN = 30, 7, 5


def weight() -> Tensor:
    table = torch.randn(WORDS, DEPTH, generator=torch.Generator().manual_seed(0))
    table[0] = 0
    return table


def sentences(lengths: list[int], seed: int = 0) -> TokenIds:
    flat = np.random.default_rng(seed).integers(1, WORDS, sum(lengths))
    return TokenIds(flat, np.cumsum([0, *lengths]))


def made(kind: str, seed: int = 1) -> SentenceEncoder:
    torch.manual_seed(seed)
    encoder = GRAN(weight()) if kind == "gran" else BiLSTM(weight(), HIDDEN, pool=kind)  # type: ignore[arg-type]
    return encoder.eval()


@pytest.mark.parametrize("pool", ["max", "mean"])
def test_bilstm_equals_torchs_on_each_sentence_alone(pool: str) -> None:
    encoder = made(pool)
    assert isinstance(encoder, BiLSTM)
    tokens = sentences([1, 9, 4, 2, 6])
    ids, lengths = (torch.from_numpy(part) for part in tokens.padded(np.arange(5)))
    for row, length in enumerate(lengths):
        own = encoder.lstm(weight()[ids[row : row + 1, :length]])[0][0]
        expected = own.amax(dim=0) if pool == "max" else own.mean(dim=0)
        torch.testing.assert_close(encoder(ids, lengths)[row], expected, atol=1e-6, rtol=1e-5)


def test_the_first_release_takes_the_maximum_over_padding() -> None:
    encoder = BiLSTM(weight(), HIDDEN, padding="zeros").eval()
    masked = BiLSTM(weight(), HIDDEN).eval()
    masked.load_state_dict(encoder.state_dict())
    ids, lengths = (torch.from_numpy(part) for part in sentences([3, 8]).padded(np.arange(2)))
    released, clean = encoder(ids, lengths), masked(ids, lengths)
    torch.testing.assert_close(released[0], clean[0].clamp(min=0))  # padded states are zeros
    torch.testing.assert_close(released[1], clean[1])  # the longest has no padding
    assert encoder.batch_dependent
    assert not masked.batch_dependent
    assert (clean[0] < 0).any()


def test_gran_equals_a_loop_over_words() -> None:
    encoder = made("gran")
    assert isinstance(encoder, GRAN)
    tokens = sentences([4])
    ids, lengths = (torch.from_numpy(part) for part in tokens.padded(np.arange(1)))
    cell = nn.LSTMCell(DEPTH, DEPTH)
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).copy_(getattr(encoder.lstm, f"{name}_l0"))
    state, total = (torch.zeros(1, DEPTH), torch.zeros(1, DEPTH)), torch.zeros(1, DEPTH)
    for word in weight()[ids[0]]:
        state = cell(word.unsqueeze(0), state)
        gate = torch.sigmoid(encoder.gate(torch.cat([word.unsqueeze(0), state[0]], dim=1)))
        total = total + word * gate
    torch.testing.assert_close(encoder(ids, lengths), total / 4, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", ["max", "mean", "gran"])
@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.integers(1, 30), min_size=2, max_size=6), seed=st.integers(0, 99))
def test_a_sentence_is_the_same_alone_and_in_a_batch(kind: str, lengths: list[int], seed: int) -> None:
    encoder, tokens = made(kind), sentences(lengths, seed)
    together = encode_ids(encoder, tokens)
    alone = [encode_ids(encoder, TokenIds(tokens.flat[start:end], np.array([0, end - start])))[0]
             for start, end in zip(tokens.offsets, tokens.offsets[1:], strict=False)]  # fmt: skip
    np.testing.assert_allclose(together, np.stack(alone), atol=1e-5)


@pytest.mark.parametrize(("hidden", "count"), [(5, 2 * 4 * 5 * (7 + 5 + 2)), (2048, 2 * 4 * 2048 * (7 + 2048 + 2))])
def test_bilstm_counts(hidden: int, count: int) -> None:
    encoder = BiLSTM(weight(), hidden)
    assert (encoder.parameter_count(), encoder.dimension) == (count, 2 * hidden)


@pytest.mark.parametrize("hidden", [None, 4])
def test_gran_counts(hidden: int | None) -> None:
    encoder, width = GRAN(weight(), hidden), hidden or DEPTH
    assert encoder.parameter_count() == 4 * width * (DEPTH + width + 2) + DEPTH * (DEPTH + width + 1)
    assert encoder.dimension == DEPTH


@pytest.mark.parametrize("kind", ["max", "mean", "gran"])
def test_every_parameter_learns(kind: str) -> None:
    encoder = made(kind)
    ids, lengths = (torch.from_numpy(part) for part in sentences([3, 8]).padded(np.arange(2)))
    encoder(ids, lengths).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in encoder.composition())
