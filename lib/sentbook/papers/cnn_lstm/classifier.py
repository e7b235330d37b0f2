"""A softmax on an encoder, both trained together on a classification task: figure 3 of Gan et al. 2017."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sentbook.data.text import TokenIds, batches_by_tokens
from sentbook.models import SentenceEncoder
from sentbook.models.cnn import CNN
from sentbook.papers.cnn_lstm.settings import ClassifierTraining
from sentbook.training.problem import Problem, Rows


class Division(NamedTuple):
    """Rows of a task's sentences, its official test sentences standing behind all others."""

    train: Rows
    trial: Rows
    test: Rows


class ClassifierProblem(Problem):
    r"""A class from a sentence's vector z, encoder and softmax trained together.

    $$p(y \mid s) = \mathrm{softmax}(A\,(z \odot m) + a)_y, \qquad L = -\frac{1}{B} \sum_b \log p(y_b \mid s_b),$$

    with m the dropout mask, scaled while training and 1 else.

    Source: Gan et al. 2017, section 4.2: "a CNN encoder with a logistic regression model on top".
    Deviations: optimiser, rate, dropout and batch size are unstated; the settings are Kim 2014's where they apply
    (batches of 50, dropout of one half on the vector), without his limit on the norm of the softmax's weights.

    Args:
        encoder: over the words of ``tokens``.
        tokens, labels: all N sentences of the task and their classes.
        division: rows that are trained on and rows that choose the epoch.
        classes: K.
        seed: of the softmax's initial values, the same whatever the encoder starts from.
    """

    metric = "accuracy"

    def __init__(
        self,
        encoder: SentenceEncoder,
        tokens: TokenIds,
        labels: NDArray[np.int64],
        division: Division,
        settings: ClassifierTraining,
        *,
        classes: int,
        seed: int,
    ) -> None:
        self.encoder, self.settings, self.division = encoder, settings, division
        # Towards 0 from both starts, so that they differ in nothing but where they begin.
        self.patience, self.decay = settings.patience, settings.composition_decay
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            linear = nn.Linear(encoder.dimension, classes)
        self.head: nn.Module = nn.Sequential(nn.Dropout(settings.head_dropout), linear)
        self._tokens, self._labels = tokens, labels
        self.lengths = tokens.lengths[division.train]

    def _logits(self, rows: Rows) -> Tensor:
        logits: Tensor = self.head(self.vectors(self._tokens, rows))
        return logits

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        chosen = self.division.train[rows]
        logits = self._logits(chosen)
        return functional.cross_entropy(logits.float(), torch.from_numpy(self._labels[chosen]).to(logits.device))

    @torch.inference_mode()
    def right(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether each of ``rows`` is given its class."""
        found = np.empty(len(rows), dtype=np.int64)
        lengths = np.maximum(self._tokens.lengths[rows], self.encoder.minimum_length)
        for part in batches_by_tokens(lengths, self.encoder.tokens_per_batch):
            found[part] = self._logits(rows[part]).argmax(dim=1).cpu().numpy()
        return found == self._labels[rows]

    def validate(self) -> float:
        return float(self.right(self.division.trial).mean())


@torch.no_grad()
def redraw(encoder: CNN, seed: int, bound: float | None = None) -> None:
    r"""Give ``encoder`` new filters, uniform in [-bound, bound], and biases of 0; its word vectors stay.

    The default bound of the filters of width h is $\sqrt{6 / (h D + F)}$, with h D inputs and F filters: .074 for h = 3
    at 300 dimensions and 200 filters. It keeps products about as large as the word vectors, whatever the sizes, and is
    what Kim's released classifier, the model of theirs, does for tanh; the .01 that Gan et al. draw from before
    pre-training makes sentence vectors some seven times smaller, which training has to make up for first.

    Source: Glorot and Bengio 2010, equation 16.
    Deviations: Gan et al. do not state how the classifier without pre-training starts; ``bound=0.01`` is the other
    reading. Kim's number of outputs also counts a filter's cells and the pooled windows, so that his bound depends on
    the longest sentence.
    """
    generator = torch.Generator().manual_seed(seed)
    for weight, bias in zip(encoder.weights, encoder.biases, strict=True):
        limit = math.sqrt(6 / sum(weight.shape)) if bound is None else bound
        weight.uniform_(-limit, limit, generator=generator)
        bias.zero_()


def of_share(settings: ClassifierTraining, share: float) -> ClassifierTraining:
    """``settings`` for a share of the labels: epochs and patience so many times more that updates stay as many.

    A tenth of TREC is ten batches an epoch. With as many epochs as for all labels a classifier from random parameters
    is far from trained on it, and pre-training would seem to gain what training longer gains.

    Source: none; Gan et al. 2017 do not state it.

    Example:
        >>> few = of_share(ClassifierTraining(epochs=4, patience=3), 0.25)
        >>> few.epochs, few.patience
        (16, 12)
    """
    patience = None if settings.patience is None else math.ceil(settings.patience / share)
    return settings.model_copy(update={"epochs": math.ceil(settings.epochs / share), "patience": patience})
