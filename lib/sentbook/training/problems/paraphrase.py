"""Training an encoder on paraphrase pairs with the margin objective."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sentbook.data.text import TokenIds, Tokenisation, Vocabulary
from sentbook.data.types import ParaphrasePairs, ScoredPairs
from sentbook.models import SentenceEncoder
from sentbook.models.losses import margin_loss
from sentbook.training.correlation import pearson
from sentbook.training.cosine import cosine_scores, tokenise_sets
from sentbook.training.problem import Problem, Rows
from sentbook.training.settings import MarginTraining


class ParaphraseProblem(Problem):
    """Margin loss over pairs, judged by the mean Pearson of the validation sets.

    Args:
        encoder: what is trained.
        tokens: first members of all pairs, then second members: 2N sentences.
        settings: margin, negatives, scrambling, lambda_c.
        validation: scored pairs, and their token ids by name.
    """

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
        self.decay = settings.composition_decay
        self.pairs = len(tokens) // 2
        self.lengths = tokens.lengths.reshape(2, self.pairs).max(axis=0)

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        first, second = self.pair_vectors(self.tokens, rows, self._scrambling(rows, rng))
        settings = self.settings
        return margin_loss(first.float(), second.float(), settings.margin, settings.selection, settings.candidates)

    def _scrambling(self, rows: Rows, rng: np.random.Generator) -> NDArray[np.float64] | None:
        """(2B, T) sort keys: random for both members of a scrambled pair, in order for the others."""
        if not self.settings.scramble:
            return None
        width = max(int(self.lengths[rows].max()), self.encoder.minimum_length)
        scrambled = np.tile(rng.random(len(rows)) < self.settings.scramble, 2)
        return np.where(scrambled[:, None], rng.random((2 * len(rows), width)), np.arange(width) / width)

    def validate(self) -> float:
        scores = cosine_scores(self.encoder, self.validation_tokens)
        return float(np.mean([pearson(scores[pairs.name], pairs.gold) for pairs in self.validation]))


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
