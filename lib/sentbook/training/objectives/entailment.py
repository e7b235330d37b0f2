"""Training an encoder on natural-language inference."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from sentbook.config import Coefficient, Rate
from sentbook.data import corpora
from sentbook.data.suites import Suite, excluded
from sentbook.data.text import TokenIds, batches_by_tokens
from sentbook.data.types import LabelledPairs
from sentbook.models.base import to_device
from sentbook.models.losses.entailment import EntailmentHead, entailment_loss
from sentbook.training.objectives.base import Objective, Rows, longest

Pairs = tuple[LabelledPairs, LabelledPairs]


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

    _tokens: dict[str, TokenIds]
    _labels: dict[str, Rows]

    def rate_after(self, rate: float, *, improved: bool) -> float:
        return rate * self.decay / (1 if improved else self.shrink)

    def texts(self) -> tuple[str, ...]:
        return (self.corpus,)

    def sentences(self, seed: int, suite: Suite) -> Iterable[str]:
        train, _ = self._pairs(suite)
        return (*train.first, *train.second)

    def summary(self) -> str:
        return f"three-way inference pairs ({self.corpus})"

    def _pairs(self, suite: Suite) -> Pairs:
        return corpora.inference(self.corpus, exclude=excluded(suite) if self.exclude_overlap else frozenset())

    def load(self) -> Pairs:
        """Read the pairs to train on and the held-out ones, over the same classes."""
        return self._pairs(self._start.suite)

    def prepare(self, data: Pairs) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._start.seed)
            self._head = EntailmentHead(self.encoder.dimension, classes=len(data[0].classes), hidden=self.hidden)
        named = dict(zip(("train", "held out"), data, strict=True))
        self._tokens = {name: self._start.encode(pairs.first, pairs.second) for name, pairs in named.items()}
        self._labels = {name: pairs.labels for name, pairs in named.items()}
        self._lengths = longest(self._tokens["train"])

    @property
    def metric(self) -> str:
        return "accuracy"

    def _logits(self, name: str, rows: Rows) -> Tensor:
        assert self._head is not None
        logits: Tensor = self._head(*self.pair_vectors(self._tokens[name], rows))
        return logits

    def compute_loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        logits = self._logits("train", rows)
        labels = to_device(torch.from_numpy(self._labels["train"][rows]), logits.device)
        return entailment_loss(logits.float(), labels)

    @torch.inference_mode()
    def judge(self) -> float:
        labels, right = self._labels["held out"], 0
        for rows in batches_by_tokens(longest(self._tokens["held out"]), 20_000):
            found = self._logits("held out", rows).argmax(dim=1).cpu().numpy()
            right += int((found == labels[rows]).sum())
        return right / len(labels)
