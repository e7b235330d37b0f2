"""Training an encoder on scored pairs by the similarity of its vectors alone: no head between encoder and score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from sentbook.config import Coefficient, TrainingShare
from sentbook.data.suites import Dataset, Suite, measure_of, pairs
from sentbook.data.text import TokenIds, Tokenisation
from sentbook.data.types import ScoredPairs, share_of
from sentbook.models import encode_ids
from sentbook.models.losses import Falling, PairScore, ScoreLoss, pair_score, score_loss
from sentbook.training.correlation import MEASURES, mse, pearson
from sentbook.training.objectives.base import Array, Batch, Objective, Rows, added

Splits = Mapping[str, ScoredPairs]


class ScoredTraining(Objective):
    """Training on scored pairs, by whatever predicts a score from two vectors.

    The best epoch is that of the highest r on the trial pairs, labels counting as 0 and 1; for the human activities, of
    the highest rho (`sentbook.data.suites.measure_of`).
    """

    pull_back_words: Coefficient = 0.0
    checks_per_epoch: int = Field(1, ge=1, le=100)
    dataset: Dataset = "sick"
    share: TrainingShare = added(1.0, "of the training pairs, drawn by the seed")

    _pairs: Splits

    def texts(self) -> tuple[str, ...]:
        return (self.dataset,)

    def load(self, seed: int, suite: Suite, tokenisation: Tokenisation = "ptb") -> Splits:
        """Read ``train``, ``trial`` and ``test`` pairs on one scale."""
        splits = {split: pairs(self.dataset, split) for split in ("train", "trial", "test")}
        return splits | {"train": share_of(splits["train"], self.share, seed)}

    @property
    def metric(self) -> str:
        return str(measure_of(self.dataset))

    def scores(self, split: str) -> Array:
        """(N,) scores of a split's pairs, 1 for the most similar."""
        raise NotImplementedError

    def held_out_scores(self) -> dict[str, Array]:
        return {split: self.scores(split) for split in ("trial", "test")}


class SimilarityTraining(ScoredTraining):
    r"""The loss between $s(u, v)$ and the gold score scaled to [0, 1].

    The paper gives batch size, learning rate (figure 6) and ten epochs (table 2); Adam is the reading.

    Source: Yao et al. 2018, sections 3.5 and 4.2 ($q = (y - 1) / 4$ on SICK, the label on MSRP).
    """

    batch_size: int = Field(50, ge=2)
    score: PairScore = "cosine"
    falling: Falling = Field("f1", description="of the distance, where the score is no cosine")
    loss: ScoreLoss = "mse"
    smoothing: float = Field(0.01, gt=0, le=0.5, description="of the predicted probability, in kl and cross-entropy")
    watch: Literal["nothing", "test"] = Field("nothing", description="test metrics of every epoch, for a figure")
    new_words: Literal["random", "shared"] = Field(
        "random", description="words of the data set without a vector: one each, or that of unknown words"
    )

    # Of each split its distinct sentences, and which of them are the first and the second members of its pairs.
    _sides: dict[str, tuple[TokenIds, tuple[Rows, Rows]]]
    _target: Tensor

    @property
    def lowest(self) -> float:
        """Where the lowest gold score is put; the highest is 1."""
        return 0.0

    def prepare(self, data: Splits) -> None:
        self._pairs, self._sides = data, {}
        for name, split in data.items():
            place = {sentence: row for row, sentence in enumerate(dict.fromkeys([*split.first, *split.second]))}
            first, second = (np.array([place[sentence] for sentence in side]) for side in (split.first, split.second))
            self._sides[name] = self._start.encode(list(place)), (first, second)
        tokens, (first, second) = self._sides["train"]
        self._lengths = np.maximum(tokens.lengths[first], tokens.lengths[second])
        low, high = data["train"].scale
        share = (data["train"].gold - low) / (high - low)
        self._target = torch.from_numpy(self.lowest + (1 - self.lowest) * share).float()

    def batch(self, rows: Rows, rng: np.random.Generator) -> Batch:
        tokens, (first, second) = self._sides["train"]
        both = np.concatenate([first[rows], second[rows]])
        return Batch(self.padded(tokens, both), (self._target[torch.from_numpy(rows)],))

    def compute_loss(self, batch: Batch) -> Tensor:
        first, second = self.vectors(batch).float().chunk(2)
        score = pair_score(first, second, self.score, self.falling)
        return score_loss(self.loss, score, batch.tensors[0], self.smoothing)

    @torch.inference_mode()
    def scores(self, split: str) -> Array:
        tokens, sides = self._sides[split]
        vectors = torch.from_numpy(encode_ids(self.encoder, tokens))  # of each distinct sentence once
        first, second = (vectors[torch.from_numpy(rows)] for rows in sides)
        found = pair_score(first, second, self.score, self.falling).double().numpy()
        return np.asarray((found - self.lowest) / (1 - self.lowest))

    def judge(self) -> float:
        return MEASURES[self.metric](self.scores("trial"), self._pairs["trial"].gold)

    def watched(self) -> list[dict[str, Any]]:
        """Test metrics of every epoch, where a figure wants them; nothing is chosen by them."""
        if self.watch == "nothing":
            return []
        (low, high), gold, scores = self._pairs["test"].scale, self._pairs["test"].gold, self.scores("test")
        values = {"pearson": pearson(scores, gold), "mse": mse(low + (high - low) * scores, gold)}
        return [{"split": "test", "metric": metric, "value": value} for metric, value in values.items()]


class DirectTransfer(SimilarityTraining):
    """Direct network transfer: the cosine of two vectors towards the score on its scale's limits.

    Source: Zhang et al. 2018, equation 1, and section 5.3 for the target [-1, 1].
    """

    new_words: Literal["random", "shared"] = "shared"
    target: Literal["[0, 1]", "[-1, 1]"] = "[0, 1]"
    patience: int | None = Field(None, ge=1, description="checks without a better one after which training stops")
    share: TrainingShare = 1.0

    @model_validator(mode="after")
    def _has_probabilities(self) -> DirectTransfer:
        if self.target == "[-1, 1]" and (self.loss != "mse" or self.score != "cosine"):
            raise ValueError(
                "target '[-1, 1]' goes with the loss 'mse' of the cosine; kl and cross-entropy compare probabilities, "
                "and no distance gives a score below 0"
            )
        return self

    @property
    def lowest(self) -> float:
        return -1.0 if self.target == "[-1, 1]" else 0.0
