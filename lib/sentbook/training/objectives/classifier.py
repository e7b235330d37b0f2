"""Training an encoder together with a softmax on a classification task."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from sentbook.config import Coefficient, Share
from sentbook.data.text import TokenIds, batches_by_tokens
from sentbook.training.objectives.base import Batch, Objective, Rows


class Division(NamedTuple):
    """Rows of a task's sentences: trained on, for early stopping, judged.

    Rows count the training sentences of the task first, then the official test sentences where there are any.
    """

    train: Rows
    trial: Rows
    test: Rows


class Labelled(NamedTuple):
    """All N sentences of a task, their classes, the number K of classes, and the division of its rows."""

    tokens: TokenIds
    labels: Rows
    classes: int
    division: Division


class ClassifierTraining(Objective):
    r"""A class from a sentence's vector z, encoder and softmax trained together.

    $$p(y \mid s) = \mathrm{softmax}(A\,(z \odot m) + a)_y, \qquad L = -\frac{1}{B} \sum_b \log p(y_b \mid s_b),$$

    with m the dropout mask, scaled while training and 1 else. The seed decides the softmax's initial values, the same
    whatever the encoder starts from; all parameters are pulled towards 0 from every start, so that starts differ in
    nothing but where they begin.

    Source: Gan et al. 2017, section 4.2 and figure 3: "a CNN encoder with a logistic regression model on top".
    Deviations: optimiser, rate, dropout and batch size are unstated; the settings are Kim 2014's where they apply
    (batches of 50, dropout of one half on the vector), without his limit on the norm of the softmax's weights.
    """

    batch_size: int = Field(50, ge=2)
    embedding_update: Literal["dense", "lazy", "frozen"] = "frozen"
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    head_dropout: Share = Field(0.5, description="on the sentence vector")
    patience: int | None = Field(3, ge=1, description="checks without a better one after which training stops")

    _head: nn.Sequential
    _task: Labelled

    def prepare(self, data: Labelled) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._start.seed)
            linear = nn.Linear(self.encoder.dimension, data.classes)
        self._head = nn.Sequential(nn.Dropout(self.head_dropout), linear)
        self._task = data
        self._lengths = data.tokens.lengths[data.division.train]

    @property
    def metric(self) -> str:
        return "accuracy"

    def batch(self, rows: Rows, rng: np.random.Generator | None = None, part: Rows | None = None) -> Batch:
        """Gather ``rows`` of the rows ``part`` of the task; None: those that are trained on."""
        chosen = (self._task.division.train if part is None else part)[rows]
        return Batch(self.padded(self._task.tokens, chosen), (torch.from_numpy(self._task.labels[chosen]),))

    def _logits(self, batch: Batch) -> Tensor:
        logits: Tensor = self._head(self.vectors(batch))
        return logits

    def compute_loss(self, batch: Batch) -> Tensor:
        return functional.cross_entropy(self._logits(batch).float(), batch.tensors[0])

    @torch.inference_mode()
    def right(self, rows: Rows) -> NDArray[np.bool_]:
        """Return whether each of ``rows`` is given its class."""
        found = np.empty(len(rows), dtype=np.bool_)
        lengths = np.maximum(self._task.tokens.lengths[rows], self.encoder.minimum_length)
        for part in batches_by_tokens(lengths, self.encoder.tokens_per_batch):
            batch = self.to_device(self.batch(part, part=rows))
            found[part] = (self._logits(batch).argmax(dim=1) == batch.tensors[0]).cpu().numpy()
        return found

    def judge(self) -> float:
        return float(self.right(self._task.division.trial).mean())
