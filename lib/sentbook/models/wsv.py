"""WSV-SCNN-SV, a shallow convolutional network over the map of word sets."""

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from sentbook.io import DataError
from sentbook.models import additive
from sentbook.models.base import EncoderOptions, SentenceEncoder

# Words of a sentence whose map a second layer can read: a million cells for each filter are some GB.
LONGEST_MAP = 1_000


class WSVEncoder(EncoderOptions):
    """Options of `WSV`; the defaults are the paper's for vectors of 300 dimensions.

    Attributes:
        filters: F of each layer; the paper's 600, 400, 300 and 200 for D = 300, 200, 100 and 50.
        layers: L, 1 to 3.
        k: of the k-max pool.
        alpha: initial values.
        map_weights: ``trained``, or ``fixed`` at the initial values.
        bias: whether filters have one.
        padding: ``masked``, or as the text has it.
        selection: ``largest``, or as algorithm 2 is printed.
        activation: ``relu``, equation 7, or ``sigmoid``, which section 3.4 says performs better and converges later.
    """

    kind: Literal["wsv"] = "wsv"
    filters: int = Field(600, ge=1)
    layers: int = Field(1, ge=1, le=3)
    k: int = Field(3, ge=1, le=16)
    alpha: tuple[float, float] = (0.4, 0.6)
    map_weights: Literal["trained", "fixed"] = "trained"
    bias: bool = False
    padding: Literal["masked", "zeros in training"] = "masked"
    selection: Literal["largest", "smallest"] = "largest"
    # Left out of keys and records where it is the paper's choice, as those made before it was a setting are.
    activation: Literal["relu", "sigmoid"] = Field("relu", exclude_if=lambda name: name == "relu")


class WSV(SentenceEncoder):
    r"""A map of all pairs of words, one to three 3x3 convolutions, the mean of the k largest cells of each filter.

    Cell $(i, j)$ of the map is the "binary-gram word set vector"

    $$\bar w_{ij} = \lambda_1 w_i + \lambda_2 w_j, \qquad
      \lambda_m = \frac{e^{\alpha_m}}{e^{\alpha_1} + e^{\alpha_2}}, \qquad 1 \le i, j \le n.$$

    Each layer is $X^l = \phi(X^{l-1} * K^l)$ with $\phi$ the ReLU, 'same'; between layers a 2x2 max pool; after the
    last, with $u_1, \ldots, u_k$ the k largest values of each filter over all cells, $v = \frac{1}{k} \sum_i u_i$.

    The first layer is computed without the map, in time linear in n: see `sentbook.models.additive`.

    Source: Yao et al. 2018, section 3: equations 3-7 and 9, algorithms 1-3; $\alpha$ starts at (.4, .6), so that
    $\lambda$ starts at (.4502, .5498).
    Deviations: algorithm 2 sorts in ascending order and takes the first k, the k smallest, against the text
    (``selection="smallest"``). Equation 6 has a bias, which table 2's counts exclude (``bias``). Equation 8 scales the
    max pool by trained numbers that the counts exclude as well; here it is plain. The text pads a batch's sentences
    with zero vectors, so that in training the cells of a word and a padded one compete for the k places
    (``padding="zeros in training"``); here they are masked. A sentence of fewer than k cells averages those it has;
    the pool takes a last odd row or column by itself, so that no sentence is too short.

    Dropout: a word of a batch loses the same elements wherever it occurs.

    Shapes: ids (B, T), lengths (B,) to (B, F). Parameters: 9 D F + 9 F^2 (L - 1) + 2; F L more with
    ``bias``, two fewer with ``map_weights="fixed"``.

    Raises:
        DataError: with two or three layers, a sentence of more than `LONGEST_MAP` words.

    Example:
        >>> wsv = WSV(torch.zeros(10, 300), WSVEncoder(filters=600))
        >>> wsv.dimension, wsv.parameter_count()
        (600, 1620002)
    """

    options = WSVEncoder()
    computes = "float32"

    def __init__(self, weight: Tensor, options: WSVEncoder | None = None) -> None:
        super().__init__(weight, options)
        filters, layers, self.k = self.options.filters, self.options.layers, self.options.k
        self.activate = functional.relu if self.options.activation == "relu" else torch.sigmoid
        # 1, or -1 where the k smallest are wanted: the k largest of the negative.
        self.sign = 1 if self.options.selection == "largest" else -1
        alpha = torch.tensor(self.options.alpha)
        if self.options.map_weights == "trained":
            self.alpha: Tensor = nn.Parameter(alpha)
        else:
            self.register_buffer("alpha", alpha)
        # (3, 3, in, F): row tap, column tap, channels, as the products of `additive` read them.
        depths = [self.embedding.dimension, *[filters] * (layers - 1)]
        self.kernels = nn.ParameterList([nn.Parameter(_glorot(depth, filters)) for depth in depths])
        biases = [nn.Parameter(torch.zeros(filters)) for _ in depths]
        self.biases = nn.ParameterList(biases) if self.options.bias else None
        # Six sequences of F numbers a word, which a CPU's cache should hold, and with more layers a map of F a cell.
        self.tokens_per_batch = max(200, 600_000 // filters)

    @property
    def dimension(self) -> int:
        return self.options.filters

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Encode (B, T) ids and (B,) lengths to (B, F) vectors."""
        if self.training and self.options.padding == "zeros in training":
            lengths = torch.full_like(lengths, ids.shape[1])
        words, places = self._distinct(ids)
        weights = torch.softmax(self.alpha, dim=0)
        projected = additive.projections(words, self.kernels[0])
        if self.sign < 0:
            projected = -projected
        terms = additive.row_and_column_terms(projected, weights.to(projected.dtype), places)
        if len(self.kernels) > 1:
            return self._deeper(terms, projected, places, lengths)
        # The lengths of one word have no borders and no map to speak of: their cell is K[0, 0] w.
        largest = additive.k_max(terms, lengths.clamp(min=2), self.k) if terms.shape[1] > 1 else None
        alone = projected[4, places[:, 0]]
        values = alone.unsqueeze(0) if largest is None else largest
        if largest is not None and _may_hold_one_word(lengths):
            first = torch.where((lengths == 1).unsqueeze(1), alone, largest[0])
            values = torch.cat([first.unsqueeze(0), largest[1:]])
        return self._mean(values, lengths * lengths)

    def _distinct(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Look up (U, D) vectors of distinct words, padding first and zero, and the (B, T) rows of `ids` in them."""
        found, places = self.embedding.distinct(ids)
        vectors = functional.dropout(found, self.dropout, self.training)
        return vectors * (torch.arange(len(vectors), device=ids.device) > 0).unsqueeze(1), places

    def _mean(self, values: Tensor, cells: Tensor) -> Tensor:
        """Apply bias, activation and mean to the (k, B, F) chosen values; a sentence may have fewer cells than k."""
        values = self.sign * values
        if self.biases is not None:
            values = values + self.biases[-1]
        counts = cells.clamp(max=self.k)
        held = torch.arange(len(values), device=values.device).unsqueeze(1) < counts
        activated = torch.where(held.unsqueeze(2), self.activate(values), 0)
        return activated.sum(dim=0) / counts.unsqueeze(1)

    def _deeper(self, terms: Tensor, projected: Tensor, places: Tensor, lengths: Tensor) -> Tensor:
        """Apply layers 2 to L by ordinary convolution, then the k-max pool. ``terms`` carry `sign`."""
        if (longest := places.shape[1]) > LONGEST_MAP:
            raise DataError(
                f"{len(self.kernels)} layers read a map of all pairs of words, and a sentence has {longest:,} of them; "
                f"cut it to {LONGEST_MAP:,} words, or take one layer, whose map need not be made."
            )
        sizes = lengths
        first = additive.cells(terms, lengths.clamp(min=2))
        if _may_hold_one_word(lengths):
            alone = (lengths == 1).view(-1, 1, 1, 1)
            first = torch.where(alone, projected[4, places[:, 0]][:, :, None, None], first)
        layer = self._activated(self.sign * first, 0, sizes)
        for index, kernel in enumerate(list(self.kernels)[1:], start=1):
            # Cells beyond a sentence are 0, which no activated value is below: they never win a pool.
            layer = functional.max_pool2d(layer, 2, ceil_mode=True)
            sizes = (sizes + 1) // 2
            layer = functional.conv2d(layer, kernel.permute(3, 2, 0, 1).to(layer.dtype), padding=1)
            last = index == len(self.kernels) - 1
            layer = layer if last else self._activated(layer, index, sizes)
        flat = torch.where(_inside(layer, sizes), self.sign * layer, additive.MISSING).flatten(2)
        if flat.shape[2] < self.k:
            flat = functional.pad(flat, (0, self.k - flat.shape[2]), value=additive.MISSING)
        return self._mean(torch.topk(flat, self.k, dim=2).values.permute(2, 0, 1), sizes * sizes)

    def _activated(self, layer: Tensor, index: int, sizes: Tensor) -> Tensor:
        """Apply bias and activation to a layer's (B, F, T, T) cells; 0 beyond each sentence."""
        if self.biases is not None:
            layer = layer + self.biases[index].view(-1, 1, 1)
        return self.activate(layer) * _inside(layer, sizes)


def _may_hold_one_word(lengths: Tensor) -> bool:
    """Tell whether a sentence is one word long; on a GPU, where to look would be to wait, each may be."""
    return not lengths.is_cpu or bool((lengths == 1).any())


def _inside(layer: Tensor, sizes: Tensor) -> Tensor:
    """Tell, (B, 1, T, T), whether a cell belongs to its sentence."""
    within = torch.arange(layer.shape[2], device=layer.device) < sizes.unsqueeze(1)
    return (within.unsqueeze(1) & within.unsqueeze(2)).unsqueeze(1)


def _glorot(depth: int, filters: int) -> Tensor:
    """Draw (3, 3, depth, filters), uniform within Glorot's bound; the paper names no initialisation."""
    bound = math.sqrt(6 / (9 * (depth + filters)))
    return torch.empty(3, 3, depth, filters).uniform_(-bound, bound)
