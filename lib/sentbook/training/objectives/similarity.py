"""Training an encoder on scored pairs by the similarity of its vectors alone: no head between encoder and score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from sentbook.config import Coefficient, TrainingShare
from sentbook.data.suites import Dataset, measure_of
from sentbook.data.text import TokenIds
from sentbook.data.types import ScoredPairs
from sentbook.models import encode_ids
from sentbook.models.base import to_device
from sentbook.models.losses.similarity import Falling, PairScore, ScoreLoss, pair_score, score_loss
from sentbook.training.correlation import MEASURES, mse, pearson
from sentbook.training.objectives.base import Objective, Rows, Start, splits_of

Array = NDArray[np.float64]


class SimilarityTraining(Objective):
    r"""The loss between $s(u, v)$ and the gold score scaled to [0, 1].

    The paper gives batch size, learning rate (figure 6) and ten epochs (table 2); Adam is the reading. The best epoch
    is that of the highest r on the trial pairs, labels counting as 0 and 1; for the human activities, of the highest
    rho (`sentbook.data.suites.measure_of`).

    Source: Yao et al. 2018, sections 3.5 and 4.2 ($q = (y - 1) / 4$ on SICK, the label on MSRP).
    """

    batch_size: int = Field(50, ge=2)
    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    dataset: Dataset = "sick"
    score: PairScore = "cosine"
    falling: Falling = Field("f1", description="of the distance, where the score is no cosine")
    loss: ScoreLoss = "mse"
    smoothing: float = Field(0.01, gt=0, le=0.5, description="of the predicted probability, in kl and cross-entropy")
    watch: Literal["nothing", "test"] = Field("nothing", description="test metrics of every epoch, for a figure")
    new_words: Literal["random", "shared"] = Field(
        "random", description="words of the data set without a vector: one each, or that of unknown words"
    )

    _splits: Mapping[str, ScoredPairs]
    _sides: dict[str, tuple[TokenIds, tuple[Rows, Rows]]]
    _target: Tensor
    # How far below 0 a score may be asked to go.
    _least: float = 0.0

    def datasets(self) -> tuple[str, ...]:
        return (self.dataset,)

    def new_words_of(self) -> tuple[str, ...]:
        return (self.dataset,) if self.new_words == "random" else ()

    def summary(self) -> str:
        return f"scored pairs ({self.dataset}), by the {self.score} of two vectors"

    def load(self) -> dict[str, ScoredPairs]:
        """Read ``train``, ``trial`` and ``test`` pairs on one scale."""
        return splits_of(self.dataset)

    def prepare(self, data: Mapping[str, ScoredPairs]) -> None:
        self._splits = data
        self._sides = {name: _sides(pairs, self._start) for name, pairs in data.items()}
        low, high = data["train"].scale
        share = (data["train"].gold - low) / (high - low)
        self._target = torch.from_numpy(self._least + (1 - self._least) * share).float()
        tokens, (first, second) = self._sides["train"]
        self._lengths = np.maximum(tokens.lengths[first], tokens.lengths[second])

    @property
    def metric(self) -> str:
        return str(measure_of(self.dataset))

    def compute_loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        tokens, sides = self._sides["train"]
        vectors = self.vectors(tokens, np.concatenate([side[rows] for side in sides])).float()
        first, second = vectors.chunk(2)
        score = pair_score(first, second, self.score, self.falling)
        return score_loss(self.loss, score, to_device(self._target[rows], score.device), self.smoothing)

    @torch.inference_mode()
    def scores(self, split: str) -> Array:
        """(N,) scores of a split's pairs, 1 for the most similar; each distinct sentence is encoded once."""
        tokens, sides = self._sides[split]
        vectors = torch.from_numpy(encode_ids(self.encoder, tokens))
        first, second = (vectors[torch.from_numpy(rows)] for rows in sides)
        found = pair_score(first, second, self.score, self.falling).double().numpy()
        return np.asarray((found - self._least) / (1 - self._least))

    def judge(self) -> float:
        return MEASURES[self.metric](self.scores("trial"), self._splits["trial"].gold)

    def watched(self) -> list[dict[str, Any]]:
        """Test metrics of every epoch, where a figure wants them; nothing is chosen by them."""
        if self.watch == "nothing":
            return []
        low, high = self._splits["train"].scale
        scores, gold = self.scores("test"), self._splits["test"].gold
        return [
            {"split": "test", "metric": "pearson", "value": pearson(scores, gold)},
            {"split": "test", "metric": "mse", "value": mse(low + (high - low) * scores, gold)},
        ]

    def held_out_scores(self) -> dict[str, Array]:
        return {split: self.scores(split) for split in ("trial", "test")}


class DirectTransfer(SimilarityTraining):
    """Direct network transfer: the cosine of two vectors towards the score on its scale's limits.

    Source: Zhang et al. 2018, equation 1, and section 5.3 for the target [-1, 1].
    """

    new_words: Literal["random", "shared"] = "shared"
    target: Literal["[0, 1]", "[-1, 1]"] = "[0, 1]"
    patience: int | None = Field(None, ge=1, description="checks without a better one after which training stops")
    share: TrainingShare = 1.0

    def load(self) -> dict[str, ScoredPairs]:
        return splits_of(self.dataset, self.share, self._start.seed)

    def prepare(self, data: Mapping[str, ScoredPairs]) -> None:
        self._least = -1.0 if self.target == "[-1, 1]" else 0.0
        super().prepare(data)


def _sides(pairs: ScoredPairs, start: Start) -> tuple[TokenIds, tuple[Rows, Rows]]:
    """Return the distinct sentences of a split as token ids, and which of them the sides of each pair are."""
    sentences = list(dict.fromkeys([*pairs.first, *pairs.second]))
    place = {sentence: row for row, sentence in enumerate(sentences)}
    first, second = (np.array([place[one] for one in side], dtype=np.int64) for side in (pairs.first, pairs.second))
    return start.encode(sentences), (first, second)
