"""Training an encoder on paraphrase pairs with the margin objective."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentbook.data.text import TokenIds, Tokenisation, Vocabulary
from sentbook.data.types import ParaphrasePairs, ScoredPairs
from sentbook.models import SentenceEncoder
from sentbook.models.losses import margin_loss
from sentbook.training.correlation import pearson
from sentbook.training.cosine import cosine_scores, tokenise_sets
from sentbook.training.settings import MarginTraining


class ParaphraseProblem:
    """A `sentbook.training.loop.Problem`: margin loss over pairs, judged by the mean Pearson of the validation sets.

    Args:
        encoder: what is trained.
        tokens: first members of all pairs, then second members: 2N sentences.
        settings: margin, negatives, scrambling, lambda_c.
        validation: scored pairs, and their token ids by name.
    """

    head: nn.Module | None = None
    metric = "pearson"
    patience: int | None = None

    def __init__(
        self,
        encoder: SentenceEncoder,
        tokens: TokenIds,
        settings: MarginTraining,
        validation: list[ScoredPairs],
        validation_tokens: Mapping[str, tuple[TokenIds, TokenIds]],
    ) -> None:
        self.encoder, self.tokens, self.settings = encoder, tokens, settings
        self.validation, self.validation_tokens = validation, validation_tokens
        self.pairs = len(tokens) // 2
        both = tokens.lengths.reshape(2, self.pairs)
        self.lengths = both.max(axis=0)

    def loss(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        order = self._scrambling(rows, rng)
        device = self.encoder.embedding.weight.device
        sides = [rows, rows + self.pairs]
        if not self.encoder.batch_dependent:  # one call for both sides, half the overhead
            sides = [np.concatenate(sides)]
        vectors = []
        for side in sides:
            keys = None if order is None else order[: len(side)] if len(sides) == 1 else self._half(order, side, rows)
            ids, lengths = self.tokens.padded(side, self.encoder.minimum_length, keys)
            vectors.append(self.encoder(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device)))
        first, second = vectors if len(vectors) == 2 else vectors[0].chunk(2)
        settings = self.settings
        return margin_loss(first.float(), second.float(), settings.margin, settings.selection, settings.candidates)

    def _half(
        self, order: NDArray[np.float64], side: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        return order[: len(rows)] if side is rows else order[len(rows) :]

    def _scrambling(self, rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64] | None:
        """(2B, T) sort keys: random for both members of a scrambled pair, in order for the others."""
        if not self.settings.scramble:
            return None
        width = max(int(self.lengths[rows].max()), self.encoder.minimum_length)
        scrambled = np.tile(rng.random(len(rows)) < self.settings.scramble, 2)
        return np.where(scrambled[:, None], rng.random((2 * len(rows), width)), np.arange(width) / width)

    def validate(self) -> float:
        scores = cosine_scores(self.encoder, self.validation_tokens)
        return float(np.mean([pearson(scores[pairs.name], pairs.gold) for pairs in self.validation]))

    def watch(self) -> list[dict[str, Any]]:
        return []

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        for parameter in self.encoder.composition():
            yield parameter, self.settings.composition_decay, None


def prepare(
    encoder: SentenceEncoder,
    vocabulary: Vocabulary,
    pairs: ParaphrasePairs,
    settings: MarginTraining,
    validation: list[ScoredPairs],
    tokenisation: Tokenisation,
) -> ParaphraseProblem:
    """Tokenise ``pairs`` and ``validation`` and make the problem."""
    tokens = vocabulary.encode([*pairs.first, *pairs.second], tokenisation)
    return ParaphraseProblem(encoder, tokens, settings, validation, tokenise_sets(validation, vocabulary, tokenisation))
