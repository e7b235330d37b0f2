"""The LSTM decoder: its equations step by step, torch's LSTM, packing, and searches against all sentences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from sentbook.data.text import TokenIds
from sentbook.models import WordEmbedding
from sentbook.models.decoders import END, DecoderOptions, Forced, LSTMDecoder
from sentbook.models.decoders.lstm import Output, Start
from sentbook.models.decoders.recurrence import recurrence
from sentbook.models.losses.reconstruction import reconstruction_loss, token_losses
from sentbook.system.errors import ConfigError

WORDS, DEPTH, CODES, HIDDEN = 9, 4, 6, 5
VARIANTS: list[tuple[Start, Output]] = [("zero", "full"), ("zero", "tied"), ("code", "full"), ("code", "tied")]
variants = pytest.mark.parametrize(("start", "output"), VARIANTS)


def made(
    start: Start = "zero", output: Output = "full", words: int = WORDS, bound: float = 1.0
) -> tuple[LSTMDecoder, WordEmbedding]:
    torch.manual_seed(0)
    table = torch.randn(words, DEPTH)
    table[0] = 0
    decoder = LSTMDecoder(words, DEPTH, CODES, DecoderOptions(hidden=HIDDEN, start=start, output=output, bound=bound))
    with torch.no_grad():
        decoder.output_bias.uniform_(-1, 1)
    return decoder, WordEmbedding(table)


def sentences(lengths: list[int], seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, lengths and vectors."""
    tokens = TokenIds(np.random.default_rng(seed).integers(1, WORDS, sum(lengths)), np.cumsum([0, *lengths]))
    ids, counts = (torch.from_numpy(part) for part in tokens.padded(np.arange(len(lengths))))
    return ids, counts, torch.randn(len(lengths), CODES, generator=torch.Generator().manual_seed(seed))


def by_sentence(forced: Forced) -> list[Tensor]:
    """The logits of each sentence's predictions, in the order of its words."""
    logits = functional.linear(forced.features, forced.rows, forced.bias)
    return [logits[forced.sentences == row] for row in range(int(forced.sentences.max()) + 1)]


def scores(decoder: LSTMDecoder, table: WordEmbedding, ids: Tensor, lengths: Tensor, codes: Tensor) -> Tensor:
    with torch.no_grad():
        forced = decoder(table, ids, lengths, codes)
    single = token_losses(forced.features, forced.rows, forced.bias, forced.target)
    return torch.zeros(len(ids)).index_add_(0, forced.sentences, -single)


# -- initial values and counts -----------------------------------------------------------------------------------------


def test_initial_values_are_the_papers() -> None:
    decoder = LSTMDecoder(100, 30, 40, DecoderOptions(hidden=20))
    recurrent, bias = decoder.lstm.get_parameter("weight_hh_l0"), decoder.lstm.get_parameter("bias_ih_l0")
    for gate in recurrent.chunk(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(20), atol=1e-5, rtol=0)
    assert torch.equal(bias, torch.cat([torch.zeros(20), torch.full((20,), 3.0), torch.zeros(40)]))
    for weight in (decoder.lstm.get_parameter("weight_ih_l0"), decoder.output_weight):
        assert 0.009 < weight.abs().max() <= 0.01
    assert not decoder.output_bias.any()


# -- the equations -----------------------------------------------------------------------------------------------------


def by_hand(decoder: LSTMDecoder, table: WordEmbedding, words: list[int], code: Tensor) -> Tensor:
    """Logits of one sentence's words and end, a gate at a time."""
    inputs, recurrent, bias = (
        decoder.lstm.get_parameter(name) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0")
    )
    of_words, of_code = inputs[:, :DEPTH].chunk(4), inputs[:, DEPTH:].chunk(4)
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
        gates = [
            of_words[gate] @ word + of_code[gate] @ code + recurrent.chunk(4)[gate] @ hidden + bias.chunk(4)[gate]
            for gate in range(4)
        ]
        cell = torch.sigmoid(gates[1]) * cell + torch.sigmoid(gates[0]) * torch.tanh(gates[2])
        hidden = torch.sigmoid(gates[3]) * torch.tanh(cell)
        features.append(hidden)
    stacked = torch.stack(features)
    if decoder.end is None:
        return stacked @ decoder.output_weight.T + decoder.output_bias
    rows = torch.stack([decoder.end, *table.weight[1:]])
    return stacked @ decoder.output_weight.T @ rows.T + decoder.output_bias


@variants
def test_teacher_forcing_is_the_equations(start: Start, output: Output) -> None:
    decoder, table = made(start, output)
    ids, lengths, codes = sentences([3, 7, 1, 7])
    forced = decoder(table, ids, lengths, codes)
    for row, logits in enumerate(by_sentence(forced)):
        words = ids[row, : lengths[row]].tolist()
        torch.testing.assert_close(logits, by_hand(decoder, table, words, codes[row]), atol=1e-5, rtol=1e-5)
        assert forced.target[forced.sentences == row].tolist() == [*words, END]


@variants
def test_torchs_lstm_gives_the_same_states_and_gradients(start: Start, output: Output) -> None:
    decoder, table = made(start, output)
    ids, lengths, codes = sentences([3, 7, 1, 4])
    codes.requires_grad_()
    trained = [codes, table.weight, *(one for one in decoder.parameters() if one.requires_grad)]
    own = decoder(table, ids, lengths, codes)
    expected = torch.autograd.grad(reconstruction_loss(*own[:4]), trained)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoder, "_states", decoder._library_states)
        library = decoder(table, ids, lengths, codes)
    torch.testing.assert_close(library.features, own.features, atol=1e-5, rtol=1e-5)
    assert torch.equal(library.target, own.target)
    for one, other in zip(torch.autograd.grad(reconstruction_loss(*library[:4]), trained), expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_the_gradients_of_the_recurrence_hold_against_differences() -> None:
    torch.manual_seed(0)
    sizes = torch.tensor([4, 4, 2, 1])
    given = [torch.randn(*shape, dtype=torch.float64).requires_grad_() for shape in ((11, 12), (12, 3), (4, 3))]
    assert torch.autograd.gradcheck(lambda *parts: recurrence(*parts, sizes), given)


@variants
@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.integers(1, 12), min_size=2, max_size=6), seed=st.integers(0, 99))
def test_a_sentence_is_as_likely_alone_as_in_a_batch(
    start: Start, output: Output, lengths: list[int], seed: int
) -> None:
    decoder, table = made(start, output)
    ids, counts, codes = sentences(lengths, seed)
    together = scores(decoder, table, ids, counts, codes)
    alone = [
        scores(decoder, table, ids[row : row + 1, :length], counts[row : row + 1], codes[row : row + 1])
        for row, length in enumerate(lengths)
    ]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-5)
    wider = functional.pad(ids, (0, 9))
    torch.testing.assert_close(scores(decoder, table, wider, counts, codes), together, atol=1e-5, rtol=1e-5)


def test_word_vectors_of_a_tied_output_cannot_be_updated_by_rows() -> None:
    decoder, table = made(output="tied")
    table.lazy = True
    with pytest.raises(ConfigError, match="dense"):
        decoder(table, *sentences([2]))


# -- generation --------------------------------------------------------------------------------------------------------

TINY = 4  # an end, an unknown word, two words


def every_sentence(
    decoder: LSTMDecoder, table: WordEmbedding, code: Tensor, limit: int
) -> dict[tuple[int, ...], float]:
    """The log-probability of each sentence of up to ``limit`` symbols, by walking through all of them."""
    found: dict[tuple[int, ...], float] = {}
    for length in range(limit + 1):
        for words in itertools.product(range(1, TINY), repeat=length):
            likely = by_hand(decoder, table, list(words), code).log_softmax(dim=1)
            score = sum(likely[time, word].item() for time, word in enumerate(words))
            if length < limit:
                found[words] = score + likely[length, END].item()
            else:  # cut before its end
                found[words] = score
    return found


@variants
@torch.no_grad()
def test_a_wide_beam_finds_the_likeliest_of_all_sentences(start: Start, output: Output) -> None:
    decoder, table = made(start, output, words=TINY)
    codes = 2 * torch.randn(6, CODES, generator=torch.Generator().manual_seed(5))
    for limit in (1, 3):
        generated = decoder.beam(table, codes, beam=TINY**limit, limit=limit)
        for row, one in enumerate(generated):
            everything = every_sentence(decoder, table, codes[row], limit)
            best = max(everything, key=lambda words: everything[words])
            assert tuple(one.words) == best
            assert one.log_probability == pytest.approx(everything[best], abs=1e-5)


@variants
@torch.no_grad()
def test_a_narrow_beam_is_the_textbooks(start: Start, output: Output) -> None:
    decoder, table = made(start, output, words=TINY)
    codes = 2 * torch.randn(8, CODES, generator=torch.Generator().manual_seed(6))
    assert decoder.greedy(table, codes, limit=5) == decoder.beam(table, codes, beam=1, limit=5)
    found = [
        (width, row, one) for width in (1, 2) for row, one in enumerate(decoder.beam(table, codes, width, limit=5))
    ]
    for width, row, one in found:
        beams: list[tuple[float, list[int]]] = [(0.0, [])]
        for _ in range(5):
            candidates = []
            for score, words in beams:
                if words[-1:] == [END]:
                    candidates.append((score, words))
                    continue
                likely = by_hand(decoder, table, words, codes[row]).log_softmax(dim=1)[-1]
                candidates += [(score + likely[word].item(), [*words, word]) for word in range(TINY)]
            beams = sorted(candidates, reverse=True)[:width]
        assert one.words == [word for word in beams[0][1] if word != END]
        assert one.log_probability == pytest.approx(beams[0][0], abs=1e-5)


@torch.no_grad()
def test_forbidden_words_are_not_written() -> None:
    decoder, table = made()
    decoder.output_bias[3] = 50
    codes = torch.randn(3, CODES)
    assert all(3 in one.words for one in decoder.beam(table, codes, limit=5))
    assert not any(3 in one.words for one in decoder.beam(table, codes, limit=5, forbidden=[3]))


@pytest.mark.parametrize("wrong", [{"beam": 0}, {"limit": 0}, {"forbidden": [END]}])
def test_an_impossible_search_is_refused(wrong: dict[str, object]) -> None:
    decoder, table = made()
    with pytest.raises(ValueError, match="search"):
        decoder.beam(table, torch.zeros(1, CODES), **wrong)  # type: ignore[arg-type]
