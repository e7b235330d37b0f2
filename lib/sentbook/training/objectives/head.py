"""Training a head that predicts a score from two sentence vectors, with the encoder or without it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from sentbook.config import Coefficient, TrainingShare
from sentbook.data.suites import Dataset, measure_of
from sentbook.data.text import TokenIds, batches_by_tokens, joined
from sentbook.data.types import ScoredPairs
from sentbook.models import FrozenVectors
from sentbook.models.base import to_device
from sentbook.models.losses.relatedness import (
    RelatednessHead,
    relatedness_loss,
    score_error,
    sparse_target,
    squared_error_loss,
)
from sentbook.training.correlation import MEASURES
from sentbook.training.objectives.base import Objective, Penalty, Rows, splits_of
from sentbook.training.targets import shift_to_classes

HeadLoss = Literal["kl", "mse", "squared", "absolute"]


class _PairHead(Objective):
    """A head on pairs of sentence vectors; the scale of the scores is shifted to the classes 1 to K.

    The head and the composition are pulled towards 0. Of `RelatednessTraining`, a composition that was trained before
    is pulled back to the values that it begins with.
    """

    dataset: Dataset = "sick"
    hidden: int | None = Field(50, ge=1, description="of the classifier; None: no hidden layer, as SentEval")
    normalise: bool | None = Field(False, description="scale sentence vectors to length one")
    head_decay: Coefficient = 0.0
    smoothing: Coefficient = Field(1e-6, description="added to target probabilities, in kl")

    _head: RelatednessHead
    _pairs: dict[str, ScoredPairs]
    _sides: dict[str, tuple[TokenIds, TokenIds]]
    _both: TokenIds
    _gold: Tensor
    _target: Tensor
    _anchors: list[Tensor | None]
    _shared: FrozenVectors | None = None
    # The ids are kept beside their places, so that no other object takes their own place in memory.
    _places: dict[int, tuple[TokenIds, Rows]]

    def datasets(self) -> tuple[str, ...]:
        return (self.dataset,)

    def load(self) -> dict[str, ScoredPairs]:
        """Read ``train``, ``trial`` and ``test`` pairs on one scale of whole limits."""
        return splits_of(self.dataset)

    def prepare(self, data: Mapping[str, ScoredPairs]) -> None:
        self._pairs = {name: _on_classes(pairs) for name, pairs in data.items()}
        train, classes = self._pairs["train"], round(self._pairs["train"].scale[1])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._start.seed)
            self._head = RelatednessHead(self.encoder.dimension, classes, self.hidden, self.normalise is not False)
        self._sides = {name: self.tokens(pairs) for name, pairs in self._pairs.items()}
        self._both = joined(*self._sides["train"])
        self._lengths = np.maximum(*(side.lengths for side in self._sides["train"]))
        self._gold = torch.from_numpy(train.gold).float()
        self._target = sparse_target(self._gold, classes)
        self._anchors = [None for _ in self.encoder.composition()]
        self._places = {}

    @property
    def head(self) -> RelatednessHead:
        return self._head

    @property
    def metric(self) -> str:
        return str(measure_of(self.dataset))

    def _loss_name(self) -> HeadLoss:
        raise NotImplementedError

    def tokens(self, pairs: ScoredPairs) -> tuple[TokenIds, TokenIds]:
        """Both sides of ``pairs`` as token ids."""
        return self._start.encode(pairs.first), self._start.encode(pairs.second)

    def vectors(self, tokens: TokenIds, rows: Rows, order: NDArray[np.float64] | None = None) -> Tensor:
        """(B, F) vectors of sentences, from the encoder or the shared table."""
        if self._shared is None:
            return super().vectors(tokens, rows, order)
        if id(tokens) not in self._places:
            self._places[id(tokens)] = tokens, self._shared.places(tokens)
        found = self._shared.table[torch.from_numpy(self._places[id(tokens)][1][rows])]
        return to_device(found, self.encoder.embedding.weight.device)

    def compute_loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        output, name = self.head(*self.pair_vectors(self._both, rows)).float(), self._loss_name()
        if name == "squared" or name == "absolute":
            return score_error(self.head.expectation(output), to_device(self._gold[rows], output.device), name)
        target = to_device(self._target[rows], output.device)
        if name == "mse":
            return squared_error_loss(output, target)
        return relatedness_loss(output, target, self.smoothing)

    @torch.inference_mode()
    def predict(self, sides: tuple[TokenIds, TokenIds]) -> NDArray[np.float64]:
        """(N,) expected scores."""
        predictions = np.empty(len(sides[0]))
        for rows in batches_by_tokens(np.maximum(sides[0].lengths, sides[1].lengths), 20_000):
            output = self.head(self.vectors(sides[0], rows), self.vectors(sides[1], rows))
            predictions[rows] = self.head.expectation(output).double().cpu().numpy()
        return predictions

    def judge(self) -> float:
        return MEASURES[self.metric](self.predict(self._sides["trial"]), self._pairs["trial"].gold)

    def scores(self, split: str) -> NDArray[np.float64]:
        """(N,) expected scores of the ``trial`` or ``test`` pairs, on [0, 1]."""
        return (self.predict(self._sides[split]) - 1) / (self.head.classes - 1)

    def held_out_scores(self) -> dict[str, NDArray[np.float64]]:
        return {split: self.scores(split) for split in ("trial", "test")}

    def kept(self) -> dict[str, nn.Module]:
        return {"head": self.head}

    def penalties(self) -> Iterator[Penalty]:
        device = self.encoder.embedding.weight.device
        for parameter, anchor in zip(self.encoder.composition(), self._anchors, strict=True):
            yield parameter, self.composition_decay, None if anchor is None else anchor.to(device)
        for parameter in self.head.parameters():
            yield parameter, self.head_decay, None


class RelatednessTraining(_PairHead):
    """Supervised relatedness of an encoder that was trained before ("universal") or not ("random").

    Source: Jiao et al. 2018, section 4.2; the numbers are those of the released README.
    """

    batch_size: int = Field(32, ge=2)
    pull_back_words: Coefficient = 1e-4
    composition_decay: Coefficient = 1e-5
    dataset: Literal["sick", "miniworld"] = "sick"
    hidden: int | None = Field(300, ge=1)
    normalise: bool | None = Field(None, description="scale sentence vectors to length one; None: both, see table 3")
    head_decay: Coefficient = Field(1e-7, description="lambda of equation 6")
    error: Literal["squared", "absolute"] | None = Field(
        None,
        description="of the expected score, in place of the divergence",
        exclude_if=lambda error: error is None,  # as composition_rate
    )

    def prepare(self, data: Mapping[str, ScoredPairs]) -> None:
        super().prepare(data)
        if self._start.trained:
            self._anchors = [parameter.detach().clone() for parameter in self.encoder.composition()]

    def _loss_name(self) -> HeadLoss:
        return self.error or "kl"

    def summary(self) -> str:
        return f"scored pairs ({self.dataset}), by a classifier on two vectors, trained with the encoder"


class HeadTraining(_PairHead):
    """Feature transfer and network transfer; Tai's width of the hidden layer.

    Source: Zhang et al. 2018, section 4.3.
    """

    batch_size: int = Field(32, ge=2)
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    normalise: bool = Field(False, description="scale sentence vectors to length one")
    loss: Literal["mse", "kl"] = "kl"
    frozen: bool = Field(False, description="train the classifier alone: feature transfer")
    rescale: bool = Field(
        False,
        description="divide vectors by the root mean square of the training sentences' before training. The products "
        "of two vectors of length .7 and 200 numbers are of size .002, where a head begins on a plateau",
        exclude_if=lambda rescale: not rescale,  # as composition_rate
    )
    patience: int | None = Field(None, ge=1, description="checks without a better one after which training stops")
    share: TrainingShare = 1.0

    def load(self) -> dict[str, ScoredPairs]:
        return splits_of(self.dataset, self.share, self._start.seed)

    def prepare(self, data: Mapping[str, ScoredPairs]) -> None:
        super().prepare(data)
        if self.frozen:
            self._shared = self._start.frozen() if self._start.frozen else FrozenVectors(self.encoder)
            for parameter in self.encoder.composition():
                parameter.requires_grad_(False)
        if self.rescale:
            self.head.unit.fill_(self._root_mean_square())

    def _loss_name(self) -> HeadLoss:
        return self.loss

    @torch.inference_mode()
    def _root_mean_square(self) -> float:
        """Measure the size of a vector's numbers over the training sentences."""
        parts = np.array_split(np.arange(len(self._both)), max(2, len(self._both) // 256))
        return float(np.mean([float(self.vectors(self._both, rows).square().mean()) for rows in parts])) ** 0.5

    def summary(self) -> str:
        trained = "alone, the encoder fixed" if self.frozen else "with the encoder"
        return f"scored pairs ({self.dataset}), by a classifier on two vectors, trained {trained}; it is not here"


def _on_classes(pairs: ScoredPairs) -> ScoredPairs:
    gold, classes = shift_to_classes(pairs.gold, pairs.scale)
    return dataclasses.replace(pairs, gold=gold, scale=(1, classes))
