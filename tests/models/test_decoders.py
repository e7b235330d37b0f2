"""Decoders: their equations step by step, torch's LSTM, packing, paragraphs, and searches against all sentences."""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from sentbook.data.text import TokenIds
from sentbook.models.base import WordEmbedding
from sentbook.models.decoders import END, DecoderOptions, HierarchicalDecoder, LSTMDecoder
from sentbook.models.losses import reconstruction_loss, token_losses
from sentbook.models.recurrent import run, states

Start, Output = Literal["zero", "code"], Literal["full", "tied"]
WORDS, DEPTH, CODES, HIDDEN = 9, 4, 6, 5
VARIANTS: list[tuple[Start, Output]] = [("zero", "full"), ("zero", "tied"), ("code", "full"), ("code", "tied")]
variants = pytest.mark.parametrize(("start", "output"), VARIANTS)


def table_of(words: int = WORDS) -> WordEmbedding:
    torch.manual_seed(0)
    table = torch.randn(words, DEPTH)
    table[0] = 0
    return WordEmbedding(table)


def made(start: Start = "zero", output: Output = "full", words: int = WORDS) -> tuple[LSTMDecoder, WordEmbedding]:
    table = table_of(words)
    decoder = LSTMDecoder(words, DEPTH, CODES, DecoderOptions(hidden=HIDDEN, start=start, output=output, bound=1.0))
    with torch.no_grad():
        decoder.output_bias.uniform_(-1, 1)
    return decoder, table


def codes_of(count: int, seed: int = 0) -> Tensor:
    return torch.randn(count, CODES, generator=torch.Generator().manual_seed(seed))


def sentences(lengths: list[int], seed: int = 0) -> tuple[Tensor, Tensor]:
    """Ids and lengths."""
    tokens = TokenIds(np.random.default_rng(seed).integers(1, WORDS, sum(lengths)), np.cumsum([0, *lengths]))
    ids, counts = (torch.from_numpy(part) for part in tokens.padded(np.arange(len(lengths))))
    return ids, counts


def scores(decoder: LSTMDecoder, table: WordEmbedding, ids: Tensor, lengths: Tensor, codes: Tensor) -> Tensor:
    """The log-probability of each sentence."""
    with torch.no_grad():
        forced = decoder(table, ids, lengths, codes)
    single = token_losses(forced.features, forced.rows, forced.bias, forced.target)
    return torch.zeros(len(ids)).index_add_(0, forced.sentences, -single)


def by_hand(decoder: LSTMDecoder, table: WordEmbedding, words: list[int], code: Tensor) -> Tensor:
    """Logits of one sentence's words and end, a gate at a time."""
    inputs, recurrent, bias = (
        decoder.lstm.get_parameter(name) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0")
    )
    hidden, cell = torch.zeros(HIDDEN), torch.zeros(HIDDEN)
    features: list[Tensor] = []
    before = [table.weight[word] for word in words]
    if decoder.first is not None:
        hidden = torch.tanh(decoder.first.weight @ code + decoder.first.bias)
        features.append(hidden)
    else:
        assert decoder.opening is not None
        before = [decoder.opening, *before]
    for word in before:
        enter, forget, new, out = (inputs @ torch.cat([word, code]) + recurrent @ hidden + bias).chunk(4)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        hidden = torch.sigmoid(out) * torch.tanh(cell)
        features.append(hidden)
    stacked = torch.stack(features) @ decoder.output_weight.T
    rows = None if decoder.end is None else torch.stack([decoder.end, *table.weight[1:]])
    return (stacked if rows is None else stacked @ rows.T) + decoder.output_bias


@variants
def test_teacher_forcing_is_the_equations(start: Start, output: Output) -> None:
    decoder, table = made(start, output)
    (ids, lengths), codes = sentences([3, 7, 1, 7]), codes_of(4)
    forced = decoder(table, functional.pad(ids, (0, 9)), lengths, codes)  # as wide as another batch may be
    logits = functional.linear(forced.features, forced.rows, forced.bias)
    for row in range(4):
        words = ids[row, : lengths[row]].tolist()
        expected = by_hand(decoder, table, words, codes[row])
        torch.testing.assert_close(logits[forced.sentences == row], expected, atol=1e-5, rtol=1e-5)
        assert forced.target[forced.sentences == row].tolist() == [*words, END]


@variants
def test_torchs_lstm_gives_the_same_states_and_gradients(start: Start, output: Output) -> None:
    decoder, table = made(start, output)
    given_, codes = sentences([3, 7, 1, 4]), codes_of(4).requires_grad_()
    trained = [codes, table.weight, *(one for one in decoder.parameters() if one.requires_grad)]
    own = decoder(table, *given_, codes)
    expected = torch.autograd.grad(reconstruction_loss(*own[:4]), trained)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tensor, "is_cuda", True)
        library = decoder(table, *given_, codes)
    torch.testing.assert_close(library.features, own.features, atol=1e-5, rtol=1e-5)
    assert torch.equal(library.target, own.target)
    for one, other in zip(torch.autograd.grad(reconstruction_loss(*library[:4]), trained), expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_an_lstm_computes_in_float32_under_autocast() -> None:
    """Half precision loses most gradients of its weights; torch's own autocast would take float16 on a GPU."""
    torch.manual_seed(0)
    words, lengths = torch.randn(3, 5, 4), torch.tensor([5, 2, 4])
    for both_ways in (False, True):
        lstm = nn.LSTM(4, 6, batch_first=True, bidirectional=both_ways)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = states(lstm, words.bfloat16(), lengths)
            packed = pack_padded_sequence(words.bfloat16(), lengths, batch_first=True, enforce_sorted=False)
            last = run(lstm, packed)[1]
        expected = pack_padded_sequence(words.bfloat16().float(), lengths, batch_first=True, enforce_sorted=False)
        assert torch.equal(last, run(lstm, expected)[1])
        library = pad_packed_sequence(run(lstm, expected)[0], batch_first=True)[0]
        torch.testing.assert_close(found, library, atol=0.01, rtol=0)  # inputs' products alone are halves
        torch.testing.assert_close(states(lstm, words.bfloat16().float(), lengths), library)
    decoder, table = made("zero", "full")
    given_, codes = sentences([3, 7]), codes_of(2)
    with pytest.MonkeyPatch.context() as patch, torch.autocast("cpu", dtype=torch.bfloat16):
        patch.setattr(Tensor, "is_cuda", True)
        assert decoder(table, *given_, codes).features.dtype == torch.float32
    paragraphs = HierarchicalDecoder(WORDS, DEPTH, CODES, DecoderOptions(hidden=HIDDEN, bound=0.8))
    codes = codes_of(6).view(2, 3, CODES).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = paragraphs.states(codes)
    assert found.dtype == torch.float32 and torch.equal(found, paragraphs.states(codes.float()))


def test_initial_values_are_the_papers() -> None:
    decoder = LSTMDecoder(100, 30, 40, DecoderOptions(hidden=20))
    recurrent, bias = decoder.lstm.get_parameter("weight_hh_l0"), decoder.lstm.get_parameter("bias_ih_l0")
    for gate in recurrent.chunk(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(20), atol=1e-5, rtol=0)
    assert torch.equal(bias, torch.cat([torch.zeros(20), torch.full((20,), 3.0), torch.zeros(40)]))
    for weight in (decoder.lstm.get_parameter("weight_ih_l0"), decoder.output_weight):
        assert 0.009 < weight.abs().max() <= 0.01
    assert not decoder.output_bias.any()
    paragraph = HierarchicalDecoder(100, 30, 40, DecoderOptions(hidden=20)).paragraph
    assert torch.equal(paragraph.get_parameter("bias_ih_l0"), bias)
    assert 0.009 < paragraph.get_parameter("weight_ih_l0").abs().max() <= 0.01


@settings(max_examples=15)
@given(paragraphs=st.integers(1, 4), size=st.integers(1, 4), seed=st.integers(0, 99))
def test_a_paragraphs_loss_is_the_sum_over_sentences_given_those_before(paragraphs: int, size: int, seed: int) -> None:
    table = table_of()
    decoder = HierarchicalDecoder(WORDS, DEPTH, CODES, DecoderOptions(hidden=HIDDEN, bound=0.8))
    ids, lengths = sentences(np.random.default_rng(seed).integers(1, 9, paragraphs * size).tolist(), seed)
    codes = codes_of(paragraphs * (size - 1), seed).view(paragraphs, size - 1, CODES)
    cell = nn.LSTMCell(CODES, HIDDEN)
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).copy_(getattr(decoder.paragraph, f"{name}_l0"))
    expected, row = 0.0, 0
    for of_paragraph in codes:
        state = torch.zeros(1, HIDDEN), torch.zeros(1, HIDDEN)
        for code in [decoder.opening, *of_paragraph]:
            state = cell(code.unsqueeze(0), state)
            one = ids[row : row + 1, : lengths[row]], lengths[row : row + 1]
            expected -= scores(decoder.sentence, table, *one, state[0].detach()).item()
            row += 1
    forced = decoder(table, ids, lengths, codes)
    assert len(forced.target) == int(lengths.sum()) + paragraphs * size
    loss = reconstruction_loss(*forced[:4])
    assert loss.item() == pytest.approx(expected, rel=1e-4)
    loss.backward()
    assert decoder.opening.grad is not None  # of paragraphs of one sentence alone too


TINY = 4  # an end, an unknown word, two words


def every_sentence(
    decoder: LSTMDecoder, table: WordEmbedding, code: Tensor, limit: int
) -> dict[tuple[int, ...], float]:
    """The log-probability of each sentence of up to ``limit`` symbols, by walking through all of them."""
    found: dict[tuple[int, ...], float] = {}
    for length in range(limit + 1):
        for words in itertools.product(range(1, TINY), repeat=length):
            likely = by_hand(decoder, table, list(words), code).log_softmax(dim=1)
            found[words] = sum(likely[time, word].item() for time, word in enumerate(words))
            if length < limit:  # else cut before its end
                found[words] += likely[length, END].item()
    return found


def textbook(
    decoder: LSTMDecoder, table: WordEmbedding, code: Tensor, width: int, limit: int
) -> tuple[float, list[int]]:
    beams: list[tuple[float, list[int]]] = [(0.0, [])]
    for _ in range(limit):
        candidates = [(score, words) for score, words in beams if words[-1:] == [END]]
        for score, words in beams:
            if words[-1:] != [END]:
                likely = by_hand(decoder, table, words, code).log_softmax(dim=1)[-1].tolist()
                candidates += [(score + likely[word], [*words, word]) for word in range(TINY)]
        beams = sorted(candidates, reverse=True)[:width]
    return beams[0]


@variants
@torch.no_grad()
def test_a_beam_is_the_textbooks_and_a_wide_one_finds_the_likeliest_of_all(start: Start, output: Output) -> None:
    decoder, table = made(start, output, words=TINY)
    codes = 2 * codes_of(6, 5)
    for limit in (1, 3):
        for code, one in zip(codes, decoder.beam(table, codes, beam=TINY**limit, limit=limit), strict=True):
            everything = every_sentence(decoder, table, code, limit)
            best = max(everything, key=lambda words: everything[words])
            assert tuple(one.words) == best
            assert one.log_probability == pytest.approx(everything[best], abs=1e-5)
    for width in (1, 2):
        for code, one in zip(codes, decoder.beam(table, codes, width, limit=5), strict=True):
            score, words = textbook(decoder, table, code, width, 5)
            assert one.words == [word for word in words if word != END]
            assert one.log_probability == pytest.approx(score, abs=1e-5)


@torch.no_grad()
def test_forbidden_words_are_not_written() -> None:
    decoder, table = made()
    decoder.output_bias[3] = 50
    codes = torch.randn(3, CODES)
    assert all(3 in one.words for one in decoder.beam(table, codes, limit=5))
    assert not any(3 in one.words for one in decoder.beam(table, codes, limit=5, forbidden=[3]))
