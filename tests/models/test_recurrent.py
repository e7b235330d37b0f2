"""Encoders over LSTM states: equal to torch's LSTM on a sentence alone and to a loop; padding changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sentbook.data.text import TokenIds
from sentbook.models import GRAN, BiLSTM, SentenceEncoder

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
