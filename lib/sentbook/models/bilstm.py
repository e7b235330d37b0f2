"""InferSent and BiLSTM-Avg: the states of a bidirectional LSTM, pooled."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from sentbook.data.text import PADDING
from sentbook.models.base import EncoderOptions, SentenceEncoder, to_device
from sentbook.models.recurrent import states

StatePool = Literal["max", "mean"]
StatePadding = Literal["masked", "zeros"]


class BiLSTMEncoder(EncoderOptions):
    """InferSent (``max``) and BiLSTM-Avg (``mean``), see `sentbook.models.BiLSTM`; 2 x 2048 numbers as published."""

    kind: Literal["bilstm"] = "bilstm"
    hidden: int = Field(2048, ge=1, description="of each direction")
    pool: StatePool = "max"
    padding: StatePadding = "masked"


class BiLSTM(SentenceEncoder):
    r"""$h_t = [\overrightarrow{h_t}, \overleftarrow{h_t}]$ pooled over the words of a sentence.

    InferSent takes the maximum of each element, $v_j = \max_t h_{tj}$, BiLSTM-Avg the mean,
    $v = \frac{1}{n} \sum_t h_t$.

    Source: Conneau et al. 2017, section 3.2.2 (BiLSTM-max); Wieting and Gimpel 2017, "Revisiting recurrent networks for
    paraphrastic sentence embeddings", section 3 (BiLSTM-Avg); both with 2 x 2048 numbers in Zhang et al. 2018.
    Deviations: the first release of InferSent takes the maximum over a batch's padding too, whose states are zeros
    (``padding="zeros"``), so that a vector depends on its batch; here padding is masked.

    Args:
        weight: (V, D) word vectors, row 0 padding, row 1 unknown.
        hidden: h of each direction; F = 2 h.
        pool: ``max`` or ``mean``.
        padding: ``masked``, or ``zeros`` for the maximum as first released.
        dropout: on elements of the word vectors, while training.

    Shapes: ids (B, T), lengths (B,) to (B, 2 h). Parameters: 2 x 4 h (D + h + 2).

    Example:
        >>> BiLSTM(torch.zeros(10, 300), hidden=2048).parameter_count()
        38502400
    """

    options = BiLSTMEncoder
    packs = True

    def __init__(
        self,
        weight: Tensor,
        hidden: int = 2048,
        pool: StatePool = "max",
        padding: StatePadding = "masked",
        dropout: float = 0.0,
    ) -> None:
        super().__init__(weight, dropout)
        self.hidden, self.pool, self.padding = hidden, pool, padding
        depth = self.embedding.dimension
        self.lstm = nn.LSTM(depth, hidden, batch_first=True, bidirectional=True)
        # The states of both directions and their gates: eight numbers of each unit for every cell.
        self.tokens_per_batch = max(500, 12_000_000 // (8 * hidden))

    @property
    def summary(self) -> str:  # type: ignore[override]
        pool = "InferSent, the maximum" if self.pool == "max" else "BiLSTM-Avg, the mean"
        return f"{pool} of the states of a bidirectional LSTM"

    @property
    def source(self) -> str:  # type: ignore[override]
        if self.pool == "mean":
            return (
                "Wieting and Gimpel 2017, *Revisiting Recurrent Networks for Paraphrastic Sentence Embeddings*, ACL; "
                "as in Zhang et al. 2018, *Direct Network Transfer*"
            )
        return (
            "Conneau et al. 2017, *Supervised Learning of Universal Sentence Representations from Natural Language "
            "Inference Data*, EMNLP; as in Zhang et al. 2018, *Direct Network Transfer*"
        )

    @property
    def dimension(self) -> int:
        return 2 * self.hidden

    @property
    def batch_dependent(self) -> bool:  # type: ignore[override]
        return self.pool == "max" and self.padding == "zeros"

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids and (B,) lengths to (B, 2 h) vectors."""
        found = states(self.lstm, self.words(ids), lengths)
        inside = (ids != PADDING).unsqueeze(2)
        if self.pool == "mean":
            return found.sum(dim=1) / to_device(lengths, ids.device).unsqueeze(1)
        beyond = 0.0 if self.padding == "zeros" else -torch.inf
        return torch.where(inside, found, beyond).amax(dim=1)
