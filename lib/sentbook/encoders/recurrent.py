"""An LSTM over padded batches, in either direction, fast on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Directed(nn.Module):
    r"""One direction of an LSTM: (B, T, D) words and (B,) lengths to (B, T, h) states.

    $i, f, o = \sigma(W_{\cdot} [x_t, h_{t-1}] + b_{\cdot})$, $g = \tanh(W_g [x_t, h_{t-1}] + b_g)$,
    $c_t = f \odot c_{t-1} + i \odot g$, $h_t = o \odot \tanh(c_t)$.

    Sentences are padded on the right, which no state before their end can see; backwards, each sentence is turned round
    within its own length first and its states turned back. So no packed sequence is needed, for which torch has no
    fused kernel on a CPU. States beyond a sentence's end mean nothing.

    Source: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000, as `torch.nn.LSTM` has it.

    Args:
        dimension: D.
        hidden: h.
        backwards: whether the last word comes first.
    """

    def __init__(self, dimension: int, hidden: int, *, backwards: bool = False) -> None:
        super().__init__()
        self.lstm = nn.LSTM(dimension, hidden, batch_first=True)
        self.backwards = backwards

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D) and (B,) to (B, T, h)."""
        if not self.backwards:
            states: Tensor = self.lstm(words)[0]
            return states
        places = self._turned(lengths, words.shape[1])
        turned = self.lstm(_taken(words, places))[0]
        return _taken(turned, places)

    @staticmethod
    def _turned(lengths: Tensor, width: int) -> Tensor:
        """(B, T): T places, those of each sentence in reverse order, the padded ones as they are."""
        at = torch.arange(width, device=lengths.device)
        inside = at < lengths.unsqueeze(1)
        return torch.where(inside, lengths.unsqueeze(1) - 1 - at, at)


def _taken(values: Tensor, places: Tensor) -> Tensor:
    return values.gather(1, places.unsqueeze(2).expand(-1, -1, values.shape[2]))
