"""GRAN, the gated recurrent averaging network."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from sentbook.models.base import EncoderOptions, SentenceEncoder, to_device
from sentbook.models.recurrent import states


class GRANEncoder(EncoderOptions):
    """The gated recurrent averaging network, see `sentbook.models.GRAN`."""

    kind: Literal["gran"] = "gran"
    hidden: int | None = Field(None, ge=1, description="of the LSTM; None: as wide as the word vectors")


class GRAN(SentenceEncoder):
    r"""The mean of word vectors, each through a gate that an LSTM sets.

    With $h_t$ the states of an LSTM over the words $x_t$,

    $$a_t = x_t \odot \sigma(W_x x_t + W_h h_t + b), \qquad v = \frac{1}{n} \sum_{t=1}^{n} a_t.$$

    Source: Wieting and Gimpel 2017, "Revisiting recurrent networks for paraphrastic sentence embeddings", section 3.2.
    Deviations: none known.

    Args:
        weight: (V, D) word vectors, row 0 padding, row 1 unknown.
        hidden: h of the LSTM; None: D, as published.
        dropout: on elements of the word vectors, while training.

    Shapes: ids (B, T), lengths (B,) to (B, D). Parameters: 4 h (D + h + 2) + D (D + h + 1).

    Example:
        >>> gran = GRAN(torch.zeros(10, 300))
        >>> gran.dimension, gran.parameter_count()
        (300, 902700)
    """

    options = GRANEncoder
    packs = True
    summary = "GRAN, the mean of word vectors, each through a gate that an LSTM sets"
    source = (
        "Wieting and Gimpel 2017, *Revisiting Recurrent Networks for Paraphrastic Sentence Embeddings*, ACL; "
        "as in Zhang et al. 2018, *Direct Network Transfer*"
    )

    def __init__(self, weight: Tensor, hidden: int | None = None, dropout: float = 0.0) -> None:
        super().__init__(weight, dropout)
        depth = self.embedding.dimension
        width = depth if hidden is None else hidden
        self.lstm = nn.LSTM(depth, width, batch_first=True)
        self.gate = nn.Linear(depth + width, depth)
        self.tokens_per_batch = max(500, 12_000_000 // (8 * width))

    @property
    def dimension(self) -> int:
        return self.embedding.dimension

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids and (B,) lengths to (B, D) vectors."""
        words = self.words(ids)
        gates = torch.sigmoid(self.gate(torch.cat([words, states(self.lstm, words, lengths)], dim=2)))
        total = (words * gates).sum(dim=1)  # padded words are zero, whatever their gate
        return total / to_device(lengths, ids.device).unsqueeze(1)
