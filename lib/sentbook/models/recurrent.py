"""States of an LSTM over padded batches."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from sentbook.models.base import to_device
from sentbook.models.recurrence import Packing, recurrence


def run(
    lstm: nn.LSTM, packed: PackedSequence, start: tuple[Tensor, Tensor] | None = None
) -> tuple[PackedSequence, Tensor]:
    """Run torch's LSTM outside autocast: the packed states, and the (directions, B, h) last ones.

    On a GPU autocast runs it in float16, whatever type is asked for, and most gradients of its weights are then too
    small to be told from zero.
    """
    weight = lstm.get_parameter("weight_ih_l0")
    with torch.autocast(weight.device.type, enabled=False):
        states, (last, _) = lstm(packed.to(weight.dtype), start)
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
        lengths = lengths.cpu()  # which puts them in order too: the device's order would be read back, and waited for
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
