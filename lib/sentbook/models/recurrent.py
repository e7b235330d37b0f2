"""LSTMs: their states over packed sentences, and the encoders that pool these states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from sentbook.data.text import PADDING
from sentbook.models.base import EncoderOptions, SentenceEncoder, to_device

Words = TypeVar("Words", Tensor, PackedSequence)


@dataclass(frozen=True)
class Packing:
    """The N cells of a padded batch that hold something, time by time, longest sequence first.

    Attributes:
        sizes: how many sequences are that long, for each time.
        order: (B,) sequences by falling length.
        rows, times: (N,) sequence and time of each cell.
    """

    sizes: list[int]
    order: Tensor
    rows: Tensor
    times: Tensor

    @classmethod
    def of(cls, lengths: Tensor, device: torch.device) -> Packing:
        """Pack (B,) lengths of at least 1; on the CPU they cost a CUDA device no wait."""
        host = lengths.cpu().numpy()
        order = np.argsort(-host, kind="stable")
        clock = np.arange(host.max())
        sizes = (host[:, None] > clock).sum(axis=0)
        times = np.repeat(clock, sizes)
        places = np.arange(len(times)) - (sizes.cumsum() - sizes)[times]
        found = (to_device(torch.from_numpy(part), device) for part in (order, order[places], times))
        return cls(sizes.tolist(), *found)


def recurrence(gates: Tensor, recurrent: Tensor, initial: Tensor, sizes: Sequence[int]) -> Tensor:
    r"""Compute states of an LSTM whose inputs' share of the gates is known.

    $i, f, o = \sigma(a_t + U_{\cdot} h_{t-1})$, $g = \tanh(a_t + U_g h_{t-1})$,
    $c_t = f \odot c_{t-1} + i \odot g$, $h_t = o \odot \tanh(c_t)$, $c_0 = 0$.

    A part of the input that stays the same at every step (a sentence's vector) so costs one product a sentence, where a
    library's LSTM wants it again at each word.

    Source: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000. Gates in torch's order:
    i, f, g, o.

    Args:
        gates: (N, 4 H) $a_t$ of packed cells, see `Packing`.
        recurrent: (4 H, H) U.
        initial: (B, H) $h_0$, in the packing's order.
        sizes: sequences at each time; their sum is N.

    Returns:
        (N, H) states in the order of ``gates``.
    """
    kind = torch.promote_types(gates.dtype, torch.float32)
    with torch.autocast(gates.device.type, enabled=False):
        hidden, recurrent = initial.to(kind), recurrent.to(kind)
        cell = torch.zeros_like(hidden)
        states = []
        for part in gates.to(kind).split(list(sizes)):
            active = torch.addmm(part, hidden[: len(part)], recurrent.T)
            enter, forget, new, out = active.chunk(4, dim=1)
            cell = torch.sigmoid(forget) * cell[: len(part)] + torch.sigmoid(enter) * torch.tanh(new)
            hidden = torch.sigmoid(out) * torch.tanh(cell)
            states.append(hidden)
        return torch.cat(states)


@torch.no_grad()
def initialise(lstm: nn.LSTM, bound: float = 0.01, forget: float = 3.0) -> None:
    """Draw uniform input weights, an orthogonal recurrent matrix for each gate, biases of 0 and ``forget``.

    torch keeps two biases a gate, whose sum alone counts: the second stays at 0 and is not trained.

    Source: Gan et al. 2017, section 4, "For training", the forget gate's 3 included.
    """
    width = lstm.hidden_size
    inputs, recurrent, bias, second = (
        lstm.get_parameter(name) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    )
    nn.init.uniform_(inputs, -bound, bound)
    for gate in range(4):
        nn.init.orthogonal_(recurrent[gate * width : (gate + 1) * width])
    bias.zero_()
    bias[width : 2 * width] = forget
    second.zero_()
    second.requires_grad_(False)


def run(lstm: nn.LSTM, words: Words, start: tuple[Tensor, Tensor] | None = None) -> tuple[Words, Tensor]:
    """Run torch's LSTM outside autocast, over padded or packed words: all states, and the (directions, B, h) last ones.

    On a GPU autocast runs it in float16, whatever type is asked for, and most gradients of its weights are then too
    small to be told from zero.
    """
    weight = lstm.get_parameter("weight_ih_l0")
    with torch.autocast(weight.device.type, enabled=False):
        states, (last, _) = lstm(words.to(weight.dtype), start)
    return states, last


def states(lstm: nn.LSTM, words: Tensor, lengths: Tensor) -> Tensor:
    r"""Run an LSTM over (B, T, D) words: (B, T, h) states, or (B, T, 2 h) of both directions; zero beyond the end.

    $i, f, o = \sigma(W_{\cdot} [x_t, h_{t-1}] + b_{\cdot})$, $g = \tanh(W_g [x_t, h_{t-1}] + b_g)$,
    $c_t = f \odot c_{t-1} + i \odot g$, $h_t = o \odot \tanh(c_t)$.

    Sequences are packed, so that the backward direction begins at each sentence's own last word. On a CPU `recurrence`
    takes the place of torch's LSTM, whose gradients fill a table of all words at each of them.

    Source: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000, as `torch.nn.LSTM` has it.
    """
    if words.device.type != "cpu":
        lengths = lengths.cpu()  # sorted there too: to read the device's order back would be to wait for it
        order = lengths.argsort(descending=True)
        packed = pack_padded_sequence(words[to_device(order, words.device)], lengths[order], batch_first=True)
        found, _ = pad_packed_sequence(run(lstm, packed)[0], batch_first=True, total_length=words.shape[1])
        return found[to_device(order.argsort(), words.device)]
    packing = Packing.of(lengths, words.device)
    initial = words.new_zeros(len(words), lstm.hidden_size)
    parts = []
    for suffix in ("", "_reverse")[: 1 + lstm.bidirectional]:
        names = (f"{name}_l0{suffix}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        inputs, recurrent, bias, second = (lstm.get_parameter(name) for name in names)
        times = lengths[packing.rows] - 1 - packing.times if suffix else packing.times
        gates = functional.linear(words[packing.rows, times], inputs, bias + second)
        cells = recurrence(gates, recurrent, initial, packing.sizes)
        part = cells.new_zeros(*words.shape[:2], lstm.hidden_size)
        parts.append(part.index_put((packing.rows, times), cells))
    return torch.cat(parts, dim=2)


# -- encoders ----------------------------------------------------------------------------------------------------------


class LSTMEncoder(EncoderOptions):
    """Options of `LSTM`; as many numbers as the CNN of Gan et al. has features.

    Attributes:
        hidden: h; F = h.
    """

    kind: Literal["lstm"] = "lstm"
    hidden: int = Field(2400, ge=1)


class LSTM(SentenceEncoder):
    r"""$v = h_n$, the state after the last word, with $h_t, c_t = \mathrm{LSTM}(x_t, h_{t-1}, c_{t-1})$ from zeros.

    With an LSTM decoder it is the sequence autoencoder, and with the next sentence as target one side of skip-thought
    vectors: what Gan et al. set their CNN encoder against.

    Source: Dai and Le 2015, "Semi-supervised sequence learning", section 2; Kiros et al. 2015, whose units are gated
    ones with two gates (GRU); named as the alternative by Gan et al. 2017, section 2.1.

    Shapes: ids (B, T), lengths (B,) to (B, h). Parameters: 4 h (D + h + 2).

    Example:
        >>> LSTM(torch.zeros(10, 300), LSTMEncoder(hidden=600)).parameter_count()
        2164800
    """

    options = LSTMEncoder()
    packs = True

    def __init__(self, weight: Tensor, options: LSTMEncoder | None = None) -> None:
        super().__init__(weight, options)
        hidden = self.options.hidden
        self.lstm = nn.LSTM(self.embedding.dimension, hidden, batch_first=True)
        self.tokens_per_batch = max(500, 12_000_000 // (4 * hidden))

    @property
    def dimension(self) -> int:
        return self.options.hidden

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids and (B,) lengths to (B, h) vectors."""
        words = self.words(ids)[:, : int(lengths.cpu().numpy().max())]
        packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return run(self.lstm, packed)[1][0]


class BiLSTMEncoder(EncoderOptions):
    """Options of `BiLSTM`; 2 x 2048 numbers as published.

    Attributes:
        hidden: h of each direction; F = 2 h.
        pool: ``max`` (InferSent) or ``mean`` (BiLSTM-Avg).
        padding: ``masked``, or ``zeros`` for the maximum as first released.
    """

    kind: Literal["bilstm"] = "bilstm"
    hidden: int = Field(2048, ge=1)
    pool: Literal["max", "mean"] = "max"
    padding: Literal["masked", "zeros"] = "masked"


class BiLSTM(SentenceEncoder):
    r"""$h_t = [\overrightarrow{h_t}, \overleftarrow{h_t}]$ pooled over the words of a sentence.

    InferSent takes the maximum of each element, $v_j = \max_t h_{tj}$, BiLSTM-Avg the mean,
    $v = \frac{1}{n} \sum_t h_t$.

    Source: Conneau et al. 2017, "Supervised learning of universal sentence representations from natural language
    inference data", section 3.2.2 (BiLSTM-max); Wieting and Gimpel 2017, "Revisiting recurrent networks for
    paraphrastic sentence embeddings", section 3 (BiLSTM-Avg); both with 2 x 2048 numbers in Zhang et al. 2018.
    Deviations: the first release of InferSent takes the maximum over a batch's padding too, whose states are zeros
    (``padding="zeros"``), so that a vector depends on its batch; here padding is masked.

    Shapes: ids (B, T), lengths (B,) to (B, 2 h). Parameters: 2 x 4 h (D + h + 2).

    Example:
        >>> BiLSTM(torch.zeros(10, 300), BiLSTMEncoder(hidden=2048)).parameter_count()
        38502400
    """

    options = BiLSTMEncoder()
    computes = "float32"
    packs = True

    def __init__(self, weight: Tensor, options: BiLSTMEncoder | None = None) -> None:
        super().__init__(weight, options)
        hidden = self.options.hidden
        self.lstm = nn.LSTM(self.embedding.dimension, hidden, batch_first=True, bidirectional=True)
        self.batch_dependent = self.options.pool == "max" and self.options.padding == "zeros"
        # The states of both directions and their gates: eight numbers of each unit for every cell.
        self.tokens_per_batch = max(500, 12_000_000 // (8 * hidden))

    @property
    def dimension(self) -> int:
        return 2 * self.options.hidden

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids and (B,) lengths to (B, 2 h) vectors."""
        found = states(self.lstm, self.words(ids), lengths)
        if self.options.pool == "mean":
            return found.sum(dim=1) / to_device(lengths, ids.device).unsqueeze(1)
        beyond = 0.0 if self.options.padding == "zeros" else -torch.inf
        return torch.where((ids != PADDING).unsqueeze(2), found, beyond).amax(dim=1)


class GRANEncoder(EncoderOptions):
    """Options of `GRAN`.

    Attributes:
        hidden: h of the LSTM; None: D, as published.
    """

    kind: Literal["gran"] = "gran"
    hidden: int | None = Field(None, ge=1)


class GRAN(SentenceEncoder):
    r"""The gated recurrent averaging network: the mean of word vectors, each through a gate that an LSTM sets.

    With $h_t$ the states of an LSTM over the words $x_t$,

    $$a_t = x_t \odot \sigma(W_x x_t + W_h h_t + b), \qquad v = \frac{1}{n} \sum_{t=1}^{n} a_t.$$

    Source: Wieting and Gimpel 2017, "Revisiting recurrent networks for paraphrastic sentence embeddings", section 3.2.
    Deviations: none known.

    Shapes: ids (B, T), lengths (B,) to (B, D). Parameters: 4 h (D + h + 2) + D (D + h + 1).

    Example:
        >>> gran = GRAN(torch.zeros(10, 300))
        >>> gran.dimension, gran.parameter_count()
        (300, 902700)
    """

    options = GRANEncoder()
    packs = True

    def __init__(self, weight: Tensor, options: GRANEncoder | None = None) -> None:
        super().__init__(weight, options)
        depth = self.embedding.dimension
        width = self.options.hidden or depth
        self.lstm = nn.LSTM(depth, width, batch_first=True)
        self.gate = nn.Linear(depth + width, depth)
        self.tokens_per_batch = max(500, 12_000_000 // (8 * width))

    @property
    def dimension(self) -> int:
        return self.embedding.dimension

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids and (B,) lengths to (B, D) vectors."""
        words = self.words(ids)
        gates = torch.sigmoid(self.gate(torch.cat([words, states(self.lstm, words, lengths).to(words.dtype)], dim=2)))
        total = (words * gates).sum(dim=1)  # padded words are zero, whatever their gate
        return total / to_device(lengths, ids.device).unsqueeze(1)
