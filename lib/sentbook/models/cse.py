"""CSE, the convolutional sentence encoder."""

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from sentbook.models.base import EncoderOptions, SentenceEncoder


class CSEEncoder(EncoderOptions):
    """Options of `CSE`; the defaults are the clean variant.

    Attributes:
        widths: the filters' widths h, in words.
        filters: how many filters of each width; F = filters x len(widths).
        activation: f; ``linear`` is the paper's reported choice.
        bias: whether filters have one.
        pooling: ``sum`` as the paper; ``mean`` divides by m.
        windows: ``masked`` (clean) or ``batch`` (faithful to the released code).
    """

    kind: Literal["cse"] = "cse"
    widths: tuple[Annotated[int, Field(ge=1, le=9)], ...] = Field((1, 2, 3), min_length=1)
    filters: int = Field(100, ge=1)
    activation: Literal["linear", "tanh"] = "linear"
    bias: bool = True
    pooling: Literal["sum", "mean"] = "sum"
    windows: Literal["masked", "batch"] = "masked"


class CSE(SentenceEncoder):
    r"""Convolutions of a few widths over the word vectors, summed over positions and concatenated.

    For each width $h$ and filter $w \in R^{hD}$, bias $b$ and activation $f$,

    $$c_i = f(w \cdot x_{i:i+h-1} + b), \quad \hat c = \sum_{i=1}^{m} c_i, \quad
      g(x_{1:n}) = [\hat c_1, \ldots, \hat c_k].$$

    The number of windows $m$ is $\max(n, h) - h + 1$ (``windows="masked"``: a sentence shorter than a filter is padded
    with zeros to one window), or, as the released code has it, that of the longest sentence of the batch's side
    (``windows="batch"``), where each padded window adds $f(b)$ and a vector therefore depends on its batch.

    With $f$ linear, convolution and sum pooling commute, so that with $W_{h,j}$ the rows of the filters for offset $j$

    $$\sum_{i=1}^{m} \Big(\sum_{j=0}^{h-1} W_{h,j}^\top x_{i+j} + b\Big)
      = \sum_{j=0}^{h-1} W_{h,j}^\top \Big(\sum_{i=1}^{m} x_{i+j}\Big) + m\,b,$$

    that is, $h$ sums of word vectors in place of $m$ windows. The sums differ only in the first and last $h-1$ words:
    linear CSE is a bag of words plus edge terms. `forward` uses this identity whenever $f$ is linear; `convolve`
    computes the equation as printed, and a test holds them equal.

    Source: Jiao et al. 2018, section 3.1, equations 1-4; filters and initialisation as in their released code.
    Deviations: cross-correlation in place of flipped convolution (equal up to a renaming of the filters' rows).

    Shapes: ids (B, T), lengths (B,) to (B, F). Parameters: filters x (D x sum of widths + number of widths), the last
    term only with ``bias``.

    Example:
        >>> cse = CSE(torch.randn(10, 4), CSEEncoder(widths=(1, 2, 3), filters=5))
        >>> cse.dimension, cse.parameter_count()
        (15, 135)
    """

    options = CSEEncoder()

    def __init__(self, weight: Tensor, options: CSEEncoder | None = None) -> None:
        super().__init__(weight, options)
        widths, filters, depth = self.options.widths, self.options.filters, self.embedding.dimension
        self.weights = nn.ParameterList([nn.Parameter(torch.empty(width * depth, filters)) for width in widths])
        biases = [nn.Parameter(torch.zeros(filters)) for _ in widths]
        self.biases = nn.ParameterList(biases) if self.options.bias else None
        for width, parameter in zip(widths, self.weights, strict=True):
            # Glorot's bound for a convolution with one input map and filters of (h, D): fan = maps x h x D.
            bound = math.sqrt(6 / ((1 + filters) * width * depth))
            nn.init.uniform_(parameter, -bound, bound)
        self.minimum_length = max(widths)
        # Without a bias too: a window over the last words and padding exists where a longer sentence stands by.
        self.batch_dependent = self.options.windows == "batch"

    @property
    def dimension(self) -> int:
        return self.options.filters * len(self.options.widths)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids with T >= max(widths), (B,) lengths to (B, F)."""
        return self.collapse(ids, lengths) if self.options.activation == "linear" else self.convolve(ids, lengths)

    def _counts(self, width: int, ids: Tensor, lengths: Tensor) -> Tensor:
        """Count the (B,) windows m of each sentence."""
        effective = torch.full_like(lengths, ids.shape[1]) if self.batch_dependent else lengths.clamp(min=width)
        return effective - width + 1

    def collapse(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Compute the linear encoder by sums of word vectors: O(T D) additions and one small product a width."""
        vectors = self.words(ids)
        at = torch.arange(ids.shape[1], device=ids.device)
        spans, counts = [], []
        for width in self.options.widths:
            count = self._counts(width, ids, lengths)
            counts.append(count)
            spans += [(at >= j) & (at < j + count.unsqueeze(1)) for j in range(width)]
        # (B, sum of widths, D): for each width h and offset j, the sum of the words at j+1 .. j+m.
        sums = torch.bmm(torch.stack(spans, dim=1).to(vectors.dtype), vectors)
        pooled, start = [], 0
        for index, width in enumerate(self.options.widths):
            count = counts[index].unsqueeze(1).to(vectors.dtype)
            feature = sums[:, start : start + width].flatten(1) @ self.weights[index]
            if self.biases is not None:
                feature = feature + count * self.biases[index]
            pooled.append(feature / count if self.options.pooling == "mean" else feature)
            start += width
        return torch.cat(pooled, dim=1)

    def convolve(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Compute equations 2-4 as printed: every window, then the activation, then the pool."""
        vectors = self.words(ids)
        pooled = []
        for index, width in enumerate(self.options.widths):
            kernel = self.weights[index].view(width, -1, self.options.filters).permute(2, 1, 0)
            bias = self.biases[index] if self.biases is not None else None
            feature = functional.conv1d(vectors.transpose(1, 2), kernel, bias)
            if self.options.activation == "tanh":
                feature = torch.tanh(feature)
            count = self._counts(width, ids, lengths).unsqueeze(1)
            inside = torch.arange(feature.shape[2], device=ids.device) < count
            total = (feature * inside.unsqueeze(1)).sum(dim=2)
            pooled.append(total / count if self.options.pooling == "mean" else total)
        return torch.cat(pooled, dim=1)
