"""The convolutional encoder of the CNN-LSTM models."""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from sentbook.models.base import EncoderOptions, SentenceEncoder


class CNNEncoder(EncoderOptions):
    """Options of `CNN`; 3 x 800 numbers as published.

    Attributes:
        widths: the filters' widths h, in words.
        filters: how many filters of each width; F = filters x len(widths).
        padding: ``masked`` (clean) or ``released``.
        bound: filters start uniform in [-bound, bound], biases at 0.
    """

    kind: Literal["cnn"] = "cnn"
    widths: tuple[Annotated[int, Field(ge=1, le=9)], ...] = Field((3, 4, 5), min_length=1)
    filters: int = Field(800, ge=1)
    padding: Literal["masked", "released"] = "masked"
    bound: float = Field(0.01, gt=0)


class CNN(SentenceEncoder):
    r"""Convolutions of a few widths over the word vectors, tanh, the maximum over time, concatenated.

    For each width $h$ and filter $W_c \in \mathbb{R}^{k \times h}$ with bias $b$, over a sentence of $T$ words,

    $$c = \tanh(X * W_c + b) \in \mathbb{R}^{T-h+1}, \qquad \hat c = \max_t c_t, \qquad z = [\hat c_1, \ldots].$$

    Since tanh rises and $b$ is one number a filter, $\max_t \tanh(a_t + b) = \tanh(\max_t a_t + b)$: `forward` pools
    the products and activates once a filter, which equals the equation exactly and spares an activation a window.

    Windows of a padded batch beyond a sentence's end never reach the pool. A sentence shorter than a filter is padded
    with zero vectors, on the right, to one window ("padded where necessary").

    Source: Gan et al. 2017, section 2.1; widths, filters and initial values from section 4. The text's bias
    $b \in \mathbb{R}^{T-h+1}$, one number a position, is read as one a filter.
    Deviations: the released code puts four zero vectors before each sentence and at least five behind it (48 for
    sentences of fewer than 40 ids), so that windows that hang over either end take part, and windows of padding alone,
    whose value is $\tanh(b)$ (``padding="released"``; more zero vectors give the same, so it depends on no batch
    either). The code also reads the end symbol as a word, which is not done here, and has 200 filters.

    Shapes: ids (B, T), lengths (B,) to (B, F). Parameters: filters x (D x sum of widths + number of widths).

    Example:
        >>> cnn = CNN(torch.zeros(10, 300))
        >>> cnn.dimension, cnn.parameter_count()
        (2400, 2882400)
    """

    options = CNNEncoder()

    def __init__(self, weight: Tensor, options: CNNEncoder | None = None) -> None:
        super().__init__(weight, options)
        widths, filters, bound = self.options.widths, self.options.filters, self.options.bound
        depth = self.embedding.dimension
        self.weights = nn.ParameterList([nn.Parameter(torch.empty(width * depth, filters)) for width in widths])
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(filters)) for _ in widths])
        for parameter in self.weights:
            nn.init.uniform_(parameter, -bound, bound)
        self.minimum_length = max(widths) if self.options.padding == "masked" else 1
        # The windows of the widest filter and their products: so many numbers for every cell.
        self.tokens_per_batch = max(500, 12_000_000 // (max(widths) * depth + filters))

    @property
    def dimension(self) -> int:
        return self.options.filters * len(self.options.widths)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids with T >= `minimum_length`, (B,) lengths to (B, F) vectors."""
        vectors = self.words(ids)
        pooled = []
        for width, weight, bias in zip(self.options.widths, self.weights, self.biases, strict=True):
            if self.options.padding == "released":
                largest = self._largest(functional.pad(vectors, (0, 0, width - 1, width - 1)), weight, width)
                largest = largest.clamp(min=0)  # a window of padding alone: its product is 0
            else:
                largest = self._largest(vectors, weight, width, lengths.clamp(min=width) - width + 1)
            pooled.append(torch.tanh(largest + bias))
        return torch.cat(pooled, dim=1)

    def _largest(self, vectors: Tensor, weight: Tensor, width: int, counts: Tensor | None = None) -> Tensor:
        """Find the (B, filters) largest products of a filter with the windows, or with the first ``counts`` of them."""
        windows = vectors.shape[1] - width + 1
        # One matrix product over copied windows takes no longer than a convolution and learns in less time.
        rows = torch.cat([vectors[:, offset : offset + windows] for offset in range(width)], dim=2)
        products = rows @ weight
        if counts is not None:
            inside = torch.arange(windows, device=vectors.device) < counts.unsqueeze(1)
            products = torch.where(inside.unsqueeze(2), products, -torch.inf)
        return products.max(dim=1).values  # keeps places alone for the gradient, not products
