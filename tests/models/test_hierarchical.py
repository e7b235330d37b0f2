"""The hierarchical decoder: the factorisation by hand, and paragraphs of any length."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sentbook.data.text import TokenIds
from sentbook.models import WordEmbedding
from sentbook.models.decoders import DecoderOptions, HierarchicalDecoder
from sentbook.models.losses.reconstruction import reconstruction_loss

WORDS, DEPTH, CODES, HIDDEN = 11, 4, 6, 5


def made() -> tuple[HierarchicalDecoder, WordEmbedding]:
    torch.manual_seed(0)
    table = torch.randn(WORDS, DEPTH)
    table[0] = 0
    return HierarchicalDecoder(WORDS, DEPTH, CODES, DecoderOptions(hidden=HIDDEN, bound=0.8)), WordEmbedding(table)


def paragraphs(counts: list[int], seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Ids and lengths of all sentences, the vectors of all but each paragraph's last, counts."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, sum(counts))
    tokens = TokenIds(rng.integers(1, WORDS, lengths.sum()), np.concatenate([[0], lengths.cumsum()]))
    ids, lengths = tokens.padded(np.arange(len(lengths)))
    codes = torch.randn(sum(counts) - len(counts), CODES, generator=torch.Generator().manual_seed(seed))
    return torch.from_numpy(ids), torch.from_numpy(lengths), codes, torch.tensor(counts)


def states_by_hand(decoder: HierarchicalDecoder, codes: list[Tensor]) -> list[Tensor]:
    """h_1 .. h_L of one paragraph from z_1 .. z_(L-1), by an LSTM cell."""
    cell = nn.LSTMCell(CODES, HIDDEN)
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).copy_(getattr(decoder.paragraph, f"{name}_l0"))
    state, found = (torch.zeros(1, HIDDEN), torch.zeros(1, HIDDEN)), []
    for code in [decoder.opening, *codes]:
        state = cell(code.unsqueeze(0), state)
        found.append(state[0][0])
    return found


def test_the_loss_is_the_sum_over_sentences_given_those_before() -> None:
    decoder, table = made()
    counts = [3, 1, 4]
    ids, lengths, codes, tensor = paragraphs(counts)
    total, sentence, code = 0.0, 0, 0
    for count in counts:
        states = states_by_hand(decoder, list(codes[code : code + count - 1]))
        assert len(states) == count
        for state in states:
            length = int(lengths[sentence])
            forced = decoder.sentence(
                table, ids[sentence : sentence + 1, :length], lengths[sentence : sentence + 1], state.unsqueeze(0)
            )
            logits = functional.linear(forced.features, forced.rows, forced.bias)
            total += functional.cross_entropy(logits, forced.target, reduction="sum").item()
            sentence += 1
        code += count - 1
    forced = decoder(table, ids, lengths, codes, tensor)
    assert len(forced.target) == int(lengths.sum()) + sum(counts)
    assert reconstruction_loss(*forced[:4]).item() == pytest.approx(total, rel=1e-5)


def test_paragraphs_of_one_sentence_need_no_vector() -> None:
    decoder, table = made()
    ids, lengths, codes, counts = paragraphs([1, 1])
    assert codes.shape == (0, CODES)
    states = decoder.conditions(codes, counts)
    torch.testing.assert_close(states, states_by_hand(decoder, [])[0].expand(2, -1))
    reconstruction_loss(*decoder(table, ids, lengths, codes, counts)[:4]).backward()
    assert decoder.opening.grad is not None
