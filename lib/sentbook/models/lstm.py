"""An LSTM whose last state is the sentence."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from sentbook.models.base import EncoderOptions, SentenceEncoder
from sentbook.models.recurrent import run


class LSTMEncoder(EncoderOptions):
    """An LSTM's last state, see `sentbook.models.LSTM`; as many numbers as the CNN of Gan et al. has features."""

    kind: Literal["lstm"] = "lstm"
    hidden: int = Field(2400, ge=1)


class LSTM(SentenceEncoder):
    r"""$v = h_n$, the state after the last word, with $h_t, c_t = \mathrm{LSTM}(x_t, h_{t-1}, c_{t-1})$ from zeros.

    With an LSTM decoder it is the sequence autoencoder, and with the next sentence as target one side of skip-thought
    vectors: what Gan et al. set their CNN encoder against.

    Source: Dai and Le 2015, section 2; Kiros et al. 2015, whose units are gated ones with two gates (GRU); named as
    the alternative by Gan et al. 2017, section 2.1.

    Args:
        weight: (V, D) word vectors, row 0 padding, row 1 unknown.
        hidden: h; F = h.
        dropout: on elements of the word vectors, while training.

    Shapes: ids (B, T), lengths (B,) to (B, h). Parameters: 4 h (D + h + 2).

    Example:
        >>> import torch
        >>> LSTM(torch.zeros(10, 300), hidden=600).parameter_count()
        2164800
    """

    options = LSTMEncoder
    packs = True
    summary = "the last state of an LSTM"
    source = "Dai and Le 2015, *Semi-supervised Sequence Learning*, NeurIPS"

    def __init__(self, weight: Tensor, hidden: int = 2400, dropout: float = 0.0) -> None:
        super().__init__(weight, dropout)
        self.hidden = hidden
        self.lstm = nn.LSTM(self.embedding.dimension, hidden, batch_first=True)
        self.tokens_per_batch = max(500, 12_000_000 // (4 * hidden))

    @property
    def dimension(self) -> int:
        return self.hidden

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids and (B,) lengths to (B, h) vectors."""
        words = self.words(ids)[:, : int(lengths.max())]
        packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return run(self.lstm, packed)[1][0]
