"""Training an encoder on natural-language inference."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from sentbook.config import Coefficient, Rate
from sentbook.data import corpora, published
from sentbook.data.suites import Suite, excluded
from sentbook.data.text import TokenIds, Tokenisation, batches_by_tokens
from sentbook.data.types import LabelledPairs
from sentbook.models.losses import EntailmentHead, entailment_loss
from sentbook.training.objectives.base import Batch, Objective, Rows, longest

Data = tuple[LabelledPairs, LabelledPairs]


class EntailmentTraining(Objective):
    """InferSent's training: three classes from a premise and a hypothesis, judged by accuracy on held-out pairs.

    The learning rate falls by 1 % an epoch, and to a fifth after each epoch that is no better on the held-out pairs.

    Source: Conneau et al. 2017, section 3.
    """

    epochs: int = Field(20, ge=1)
    batch_size: int = Field(64, ge=2)
    optimiser: Literal["adam", "sgd"] = "sgd"
    learning_rate: Rate = 0.1
    embedding_update: Literal["dense", "lazy", "frozen"] = "frozen"
    pull_back_words: Coefficient = 0.0
    clip: Annotated[float, Field(gt=0)] | None = 5.0
    checks_per_epoch: int = Field(1, ge=1, le=1)
    corpus: Literal["nli", "all-nli", "miniworld-entailment"] = "nli"
    hidden: int = Field(512, ge=1, description="of both layers of the classifier")
    exclude_overlap: bool = Field(True, description="drop pairs that hold a sentence of a test set")
    decay: float = Field(0.99, gt=0, le=1)
    shrink: float = Field(5.0, ge=1)

    metric: ClassVar[str] = "accuracy"

    _head: EntailmentHead
    # Of the pairs to train on, then of the held-out ones.
    _tokens: list[TokenIds]
    _labels: list[Tensor]

    def rate_after(self, rate: float, *, improved: bool) -> float:
        return rate * self.decay / (1 if improved else self.shrink)

    def texts(self) -> tuple[str, ...]:
        return (self.corpus,)

    def digests(self) -> dict[str, str]:
        return published.digests(self.corpus)

    def load(self, seed: int, suite: Suite, tokenisation: Tokenisation = "ptb") -> Data:
        """Read the pairs to train on and the held-out ones, over the same classes."""
        exclude = excluded(suite) if self.exclude_overlap else frozenset()
        return corpora.inference(self.corpus, exclude=exclude, tokenisation=tokenisation)

    def prepare(self, data: Data) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._start.seed)
            self._head = EntailmentHead(self.encoder.dimension, classes=len(data[0].classes), hidden=self.hidden)
        self._tokens = [self._start.encode(pairs.first, pairs.second) for pairs in data]
        self._labels = [torch.from_numpy(pairs.labels) for pairs in data]
        self._lengths = longest(self._tokens[0])

    def batch(self, rows: Rows, rng: np.random.Generator | None = None, part: int = 0) -> Batch:
        tokens, labels = self._tokens[part], self._labels[part]
        return Batch(self.padded(tokens, rows, rows + len(labels)), (labels[torch.from_numpy(rows)],))

    def compute_loss(self, batch: Batch) -> Tensor:
        return entailment_loss(self._head(*self.vectors(batch).chunk(2)).float(), batch.tensors[0])

    @torch.inference_mode()
    def judge(self) -> float:
        right = 0
        for rows in batches_by_tokens(longest(self._tokens[1]), 20_000):
            batch = self.to_device(self.batch(rows, part=1))
            logits = self._head(*self.vectors(batch).chunk(2))
            right += int((logits.argmax(dim=1) == batch.tensors[0]).sum())
        return right / len(self._labels[1])
