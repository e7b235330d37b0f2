"""Taking a trained encoder to a supervised task: relatedness with every parameter updated and pulled back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentbook.config import RelatednessTraining
from sentbook.data.text import TokenIds, Tokenisation, Vocabulary, batches_by_tokens
from sentbook.data.types import ScoredPairs
from sentbook.encoders import SentenceEncoder
from sentbook.evaluation.correlation import pearson
from sentbook.objectives import RelatednessHead, relatedness_loss, sparse_target


class RelatednessProblem:
    """A `sentbook.training.Problem`: encoder and head together on graded pairs (Jiao et al. 2018, section 4.2).

    The head and, where its values are not loaded ones, the composition are pulled towards 0; loaded parameters are
    pulled back to the values they had when this object was made.

    Args:
        encoder: trained on paraphrases ("universal") or fresh ("random").
        loaded: whether the encoder's composition is pulled back to its present values.
        train, trial: scored pairs on a scale that begins at 1.
    """

    metric = "pearson"

    def __init__(
        self,
        encoder: SentenceEncoder,
        vocabulary: Vocabulary,
        settings: RelatednessTraining,
        train: ScoredPairs,
        trial: ScoredPairs,
        *,
        loaded: bool,
        seed: int,
        tokenisation: Tokenisation = "ptb",
    ) -> None:
        self.encoder, self.vocabulary, self.settings, self.tokenisation = encoder, vocabulary, settings, tokenisation
        classes = round(train.scale[1])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.head: RelatednessHead = RelatednessHead(
                encoder.dimension, classes, settings.hidden, settings.normalise is not False
            )
        self.sides = self.tokens(train)
        self.target = sparse_target(torch.from_numpy(train.gold).float(), classes)
        self.trial, self.trial_sides = trial, self.tokens(trial)
        self.lengths = np.maximum(self.sides[0].lengths, self.sides[1].lengths)
        self.anchors = [parameter.detach().clone() if loaded else None for parameter in encoder.composition()]

    def tokens(self, pairs: ScoredPairs) -> tuple[TokenIds, TokenIds]:
        """Both sides of ``pairs`` as token ids."""
        return (
            self.vocabulary.encode(pairs.first, self.tokenisation),
            self.vocabulary.encode(pairs.second, self.tokenisation),
        )

    def _vectors(self, tokens: TokenIds, rows: NDArray[np.int64]) -> Tensor:
        device = self.encoder.embedding.weight.device
        ids, lengths = tokens.padded(rows, self.encoder.minimum_length)
        return self.encoder(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))

    def loss(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        output = self.head(self._vectors(self.sides[0], rows), self._vectors(self.sides[1], rows))
        return relatedness_loss(output.float(), self.target[rows].to(output.device), self.settings.smoothing)

    @torch.inference_mode()
    def predict(self, sides: tuple[TokenIds, TokenIds]) -> NDArray[np.float64]:
        """(N,) expected scores."""
        predictions = np.empty(len(sides[0]))
        for rows in batches_by_tokens(np.maximum(sides[0].lengths, sides[1].lengths), 20_000):
            output = self.head(self._vectors(sides[0], rows), self._vectors(sides[1], rows))
            predictions[rows] = self.head.expectation(output).double().cpu().numpy()
        return predictions

    def validate(self) -> float:
        return pearson(self.predict(self.trial_sides), self.trial.gold)

    def watch(self) -> list[dict[str, Any]]:
        return []

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        device = self.encoder.embedding.weight.device
        for parameter, anchor in zip(self.encoder.composition(), self.anchors, strict=True):
            yield parameter, self.settings.composition_decay, None if anchor is None else anchor.to(device)
        for parameter in self.head.parameters():
            yield parameter, self.settings.head_decay, None
