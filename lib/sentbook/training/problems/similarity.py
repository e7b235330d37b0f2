"""Training an encoder on scored pairs by the similarity of its vectors alone: no head between encoder and score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentbook.data.suites import measure_of
from sentbook.data.text import TokenIds, Tokenisation, Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.models import SentenceEncoder, encode_ids
from sentbook.models.base import to_device
from sentbook.models.losses import pair_score, score_loss
from sentbook.training.correlation import MEASURES, mse, pearson
from sentbook.training.problem import Problem, Rows
from sentbook.training.settings import DirectTransfer, SimilarityTraining

Array = NDArray[np.float64]


class SimilarityProblem(Problem):
    r"""The loss between $s(u, v)$ and the gold score scaled to [0, 1].

    Source: Yao et al. 2018, sections 3.5 and 4.2 ($q = (y - 1) / 4$ on SICK, the label on MSRP); Zhang et al. 2018,
    equation 1 (direct network transfer), where the gold score may be scaled to [-1, 1] (section 5.3).

    The best epoch is that of the highest r on the trial pairs, labels counting as 0 and 1; for the human activities, of
    the highest rho (`sentbook.data.suites.measure_of`).

    Args:
        encoder: what is trained.
        splits: ``train``, ``trial`` and ``test`` pairs on one scale.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        vocabulary: Vocabulary,
        settings: SimilarityTraining,
        splits: Mapping[str, ScoredPairs],
        tokenisation: Tokenisation = "ptb",
    ) -> None:
        self.encoder, self.settings, self.splits = encoder, settings, splits
        self.decay = settings.composition_decay
        self._measure = measure_of(settings.dataset)
        self.metric = str(self._measure)
        self.low, self.high = splits["train"].scale
        # How far below 0 a score may be asked to go.
        self.least = -1.0 if isinstance(settings, DirectTransfer) and settings.target == "[-1, 1]" else 0.0
        self.patience = settings.patience if isinstance(settings, DirectTransfer) else None
        self._sides = {name: _Sides(pairs, vocabulary, tokenisation) for name, pairs in splits.items()}
        share = (splits["train"].gold - self.low) / (self.high - self.low)
        self.target = torch.from_numpy(self.least + (1 - self.least) * share).float()
        self.lengths = self._sides["train"].lengths

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        sides = self._sides["train"]
        vectors = self.vectors(sides.distinct, np.concatenate([side[rows] for side in sides.rows])).float()
        settings = self.settings
        first, second = vectors.chunk(2)
        score = pair_score(first, second, settings.score, settings.falling)
        return score_loss(settings.loss, score, to_device(self.target[rows], score.device), settings.smoothing)

    @torch.inference_mode()
    def scores(self, split: str) -> Array:
        """(N,) scores of a split's pairs, 1 for the most similar; each distinct sentence is encoded once."""
        sides = self._sides[split]
        vectors = torch.from_numpy(encode_ids(self.encoder, sides.distinct))
        first, second = (vectors[torch.from_numpy(rows)] for rows in sides.rows)
        settings = self.settings
        found = pair_score(first, second, settings.score, settings.falling).double().numpy()
        return np.asarray((found - self.least) / (1 - self.least))

    def validate(self) -> float:
        return MEASURES[self._measure](self.scores("trial"), self.splits["trial"].gold)

    def watch(self) -> list[dict[str, Any]]:
        """Test metrics of every epoch, where a figure wants them; nothing is chosen by them."""
        if self.settings.watch == "nothing":
            return []
        scores, gold = self.scores("test"), self.splits["test"].gold
        predicted = self.low + (self.high - self.low) * scores
        return [
            {"split": "test", "metric": "pearson", "value": pearson(scores, gold)},
            {"split": "test", "metric": "mse", "value": mse(predicted, gold)},
        ]

    def held_out_scores(self) -> dict[str, Array]:
        return {split: self.scores(split) for split in ("trial", "test")}


class _Sides:
    """The token ids of a split: its distinct sentences, and which of them each pair holds."""

    def __init__(self, pairs: ScoredPairs, vocabulary: Vocabulary, tokenisation: Tokenisation) -> None:
        sentences = list(dict.fromkeys([*pairs.first, *pairs.second]))
        place = {sentence: row for row, sentence in enumerate(sentences)}
        self.distinct: TokenIds = vocabulary.encode(sentences, tokenisation)
        self.rows = tuple(
            np.array([place[sentence] for sentence in side], dtype=np.int64) for side in (pairs.first, pairs.second)
        )
        each = self.distinct.lengths
        self.lengths = np.maximum(each[self.rows[0]], each[self.rows[1]])
