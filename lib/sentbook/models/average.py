"""PP, Paragram-Phrase: the average of the word vectors."""

from typing import Literal

import torch
from torch import Tensor

from sentbook.models.base import EncoderOptions, SentenceEncoder


class AverageEncoder(EncoderOptions):
    """PP, which has no options, see `Average`."""

    kind: Literal["average"] = "average"


class Average(SentenceEncoder):
    r"""PP: $g(x_{1:n}) = \frac{1}{n} \sum_{i=1}^{n} x_i$.

    Source: Wieting et al. 2016, "Towards universal paraphrastic sentence embeddings", section 3 (the `Paragram-Phrase`
    model), the baseline of Jiao et al. 2018, table 1.
    Deviations: none known.

    Shapes: ids (B, T), lengths (B,) to (B, D).

    Example:
        >>> pp = Average(torch.tensor([[0.0], [0.0], [1.0], [3.0]]))
        >>> pp(torch.tensor([[2, 3, 0]]), torch.tensor([2])).tolist()
        [[2.0]]
    """

    options = AverageEncoder()

    @property
    def dimension(self) -> int:
        return self.embedding.dimension

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Average the words of (B, T) ids with (B,) lengths: (B, D)."""
        if not (self.training and self.dropout):
            return self.embedding.mean(ids, lengths)
        inside = torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)
        share = inside / lengths.clamp(min=1).unsqueeze(1)
        return torch.bmm(share.unsqueeze(1).to(self.embedding.weight.dtype), self.words(ids)).squeeze(1)
