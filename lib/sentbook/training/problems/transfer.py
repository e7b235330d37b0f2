"""Take a trained encoder to scored pairs by a head that predicts a score."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentbook.data.suites import measure_of
from sentbook.data.text import TokenIds, Tokenisation, Vocabulary, batches_by_tokens, joined
from sentbook.data.types import ScoredPairs
from sentbook.models import FrozenVectors, SentenceEncoder
from sentbook.models.base import to_device
from sentbook.models.losses import RelatednessHead, relatedness_loss, score_error, sparse_target, squared_error_loss
from sentbook.training.correlation import MEASURES, pearson
from sentbook.training.problem import Problem, Rows
from sentbook.training.settings import HeadTraining, RelatednessTraining
from sentbook.training.targets import shift_to_classes


class RelatednessProblem(Problem):
    """A head on pairs of sentence vectors, trained with the encoder or without it.

    The head and, where its values are not loaded ones, the composition are pulled towards 0; loaded parameters are
    pulled back to the values they had when this object was made.

    Source: Jiao et al. 2018, section 4.2; Zhang et al. 2018, section 4.3 (feature transfer, network transfer).

    Args:
        encoder: trained on another task ("universal") or fresh ("random").
        loaded: whether the encoder's composition is pulled back to its present values.
        train, trial: scored pairs on a scale that begins at 1.
        loss: ``kl`` or ``mse`` between the two distributions; ``squared`` or ``absolute`` error of the expected score.
        frozen: train the head alone, on these vectors of the encoder.
        patience: checks without a better value after which training stops.
        rescale: divide vectors by their root mean square over the training sentences before training. The products of
            two vectors of length .7 and 200 numbers are of size .002, where a head begins on a plateau.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        vocabulary: Vocabulary,
        settings: RelatednessTraining | HeadTraining,
        train: ScoredPairs,
        trial: ScoredPairs,
        *,
        loaded: bool,
        seed: int,
        tokenisation: Tokenisation = "ptb",
        loss: Literal["kl", "mse", "squared", "absolute"] = "kl",
        frozen: FrozenVectors | None = None,
        patience: int | None = None,
        rescale: bool = False,
    ) -> None:
        self.encoder, self.vocabulary, self.settings, self.tokenisation = encoder, vocabulary, settings, tokenisation
        self._loss, self.frozen, self.patience = loss, frozen, patience
        classes = round(train.scale[1])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head: RelatednessHead = RelatednessHead(
                encoder.dimension, classes, settings.hidden, settings.normalise is not False
            )
        self.sides = self.tokens(train)
        self._both = joined(*self.sides)
        self.gold = torch.from_numpy(train.gold).float()
        self.target = sparse_target(self.gold, classes)
        self.trial, self.trial_sides = trial, self.tokens(trial)
        self.lengths = np.maximum(self.sides[0].lengths, self.sides[1].lengths)
        self.anchors = [parameter.detach().clone() if loaded else None for parameter in encoder.composition()]
        if frozen is not None:
            for parameter in encoder.composition():
                parameter.requires_grad_(False)
        # The ids are kept beside their places, so that no other object takes their own place in memory.
        self._places: dict[int, tuple[TokenIds, NDArray[np.int64]]] = {}
        self.unit = self._root_mean_square() if rescale else 1.0

    def tokens(self, pairs: ScoredPairs) -> tuple[TokenIds, TokenIds]:
        """Both sides of ``pairs`` as token ids."""
        return (
            self.vocabulary.encode(pairs.first, self.tokenisation),
            self.vocabulary.encode(pairs.second, self.tokenisation),
        )

    @torch.inference_mode()
    def _root_mean_square(self) -> float:
        """Measure the size of a vector's numbers over the training sentences."""
        self.unit = 1.0
        parts = np.array_split(np.arange(len(self._both)), max(2, len(self._both) // 256))
        return float(np.mean([float(self.vectors(self._both, rows).square().mean()) for rows in parts])) ** 0.5

    def vectors(self, tokens: TokenIds, rows: Rows, order: NDArray[np.float64] | None = None) -> Tensor:
        """(B, F) vectors of sentences, from the encoder or the shared table."""
        return self._looked_up(tokens, rows, order) / self.unit

    def _looked_up(self, tokens: TokenIds, rows: Rows, order: NDArray[np.float64] | None) -> Tensor:
        if self.frozen is None:
            return super().vectors(tokens, rows, order)
        if id(tokens) not in self._places:
            self._places[id(tokens)] = tokens, self.frozen.places(tokens)
        device = self.encoder.embedding.weight.device
        return to_device(self.frozen.table[torch.from_numpy(self._places[id(tokens)][1][rows])], device)

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        output = self.head(*self.pair_vectors(self._both, rows))
        if self._loss in ("squared", "absolute"):
            return score_error(
                self.head.expectation(output.float()), to_device(self.gold[rows], output.device), self._loss
            )
        target = to_device(self.target[rows], output.device)
        if self._loss == "mse":
            return squared_error_loss(output.float(), target)
        return relatedness_loss(output.float(), target, self.settings.smoothing)

    @torch.inference_mode()
    def predict(self, sides: tuple[TokenIds, TokenIds]) -> NDArray[np.float64]:
        """(N,) expected scores."""
        predictions = np.empty(len(sides[0]))
        for rows in batches_by_tokens(np.maximum(sides[0].lengths, sides[1].lengths), 20_000):
            output = self.head(self.vectors(sides[0], rows), self.vectors(sides[1], rows))
            predictions[rows] = self.head.expectation(output).double().cpu().numpy()
        return predictions

    def validate(self) -> float:
        return pearson(self.predict(self.trial_sides), self.trial.gold)

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        device = self.encoder.embedding.weight.device
        for parameter, anchor in zip(self.encoder.composition(), self.anchors, strict=True):
            yield parameter, self.settings.composition_decay, None if anchor is None else anchor.to(device)
        for parameter in self.head.parameters():
            yield parameter, self.settings.head_decay, None


class HeadProblem(RelatednessProblem):
    """Feature transfer and network transfer to any scored pairs: their scale is shifted to the classes 1 to K.

    Args:
        encoder: pre-trained.
        splits: ``train``, ``trial`` and ``test`` pairs on one scale.
        vectors: of the encoder, where other trainings share them; None: feature transfer makes its own.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        vocabulary: Vocabulary,
        settings: HeadTraining,
        splits: Mapping[str, ScoredPairs],
        *,
        seed: int,
        tokenisation: Tokenisation = "ptb",
        vectors: FrozenVectors | None = None,
    ) -> None:
        self.splits, self._measure = splits, measure_of(settings.dataset)
        self.metric = str(self._measure)
        shifted = {name: _on_classes(pairs) for name, pairs in splits.items()}
        self.classes = round(shifted["train"].scale[1])
        super().__init__(
            encoder,
            vocabulary,
            settings,
            shifted["train"],
            shifted["trial"],
            loaded=False,
            seed=seed,
            tokenisation=tokenisation,
            loss=settings.loss,
            frozen=(vectors or FrozenVectors(encoder)) if settings.frozen else None,
            patience=settings.patience,
            rescale=settings.rescale,
        )
        self._held_out = {"trial": self.trial_sides, "test": self.tokens(shifted["test"])}

    def validate(self) -> float:
        return MEASURES[self._measure](self.predict(self.trial_sides), self.trial.gold)

    def held_out_scores(self) -> dict[str, NDArray[np.float64]]:
        return {split: self.scores(split) for split in ("trial", "test")}

    def scores(self, split: str) -> NDArray[np.float64]:
        """(N,) expected scores of the ``trial`` or ``test`` pairs, on [0, 1]."""
        return (self.predict(self._held_out[split]) - 1) / (self.classes - 1)


def _on_classes(pairs: ScoredPairs) -> ScoredPairs:
    gold, classes = shift_to_classes(pairs.gold, pairs.scale)
    return dataclasses.replace(pairs, gold=gold, scale=(1, classes))
