"""Training on scored pairs: by the similarity of two vectors alone, or by a head, with the encoder or without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from sentbook.config import Coefficient, TrainingShare
from sentbook.data.suites import Dataset, Suite, measure_of, pairs, with_tokens
from sentbook.data.text import TokenIds, Tokenisation, batches_by_tokens, joined
from sentbook.data.types import ScoredPairs, share_of
from sentbook.io import DataError
from sentbook.models import FrozenVectors, encode_ids
from sentbook.models.losses import (
    Falling,
    PairScore,
    RelatednessHead,
    ScoreLoss,
    pair_score,
    relatedness_loss,
    score_error,
    score_loss,
    sparse_target,
    squared_error_loss,
)
from sentbook.training.correlation import MEASURES, mse, pearson
from sentbook.training.objectives.base import Array, Batch, Objective, Penalty, Rows, added

Splits = Mapping[str, ScoredPairs]
Sides = tuple[TokenIds, TokenIds]


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
        return splits | {"train": with_tokens(share_of(splits["train"], self.share, seed), tokenisation)}

    @property
    def metric(self) -> str:  # type: ignore[override]
        return str(measure_of(self.dataset))

    def scores(self, split: str) -> Array:
        """Return (N,) scores of a split's pairs, 1 for the most similar; a cosine may be below 0."""
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

    # Where the lowest gold score is put; the highest is 1.
    lowest: ClassVar[float] = 0.0
    # Of each split its distinct sentences, and which of them are the first and the second members of its pairs.
    _sides: dict[str, tuple[TokenIds, tuple[Rows, Rows]]]
    _target: Tensor

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
        both = np.concatenate([first[rows], second[rows]])  # one call, of a batch-dependent encoder too
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
    def lowest(self) -> float:  # type: ignore[override]
        return -1.0 if self.target == "[-1, 1]" else 0.0


# -- heads -------------------------------------------------------------------------------------------------------------


class _PairTraining(ScoredTraining):
    """A head that gives probabilities of the classes 1 to K, whose expectation is the score; pulled towards 0."""

    batch_size: int = Field(32, ge=2)
    hidden: int | None = Field(50, ge=1, description="of the classifier; None: no hidden layer, as SentEval")
    normalise: bool | None = Field(False, description="scale sentence vectors to length one")
    head_decay: Coefficient = 0.0
    smoothing: Coefficient = Field(1e-6, description="added to target probabilities, in kl")

    keeps_head_as: ClassVar[str] = "head"

    _head: RelatednessHead
    _sides: dict[str, Sides]
    _both: TokenIds
    _gold: Tensor
    _target: Tensor
    # Vectors of the encoder where it is not trained; and of token ids, kept beside, the places of theirs.
    _frozen: FrozenVectors | None = None
    _places: dict[int, tuple[TokenIds, Rows]]

    def prepare(self, data: Splits) -> None:
        self._pairs = {name: shift_to_classes(pairs) for name, pairs in data.items()}
        train, classes = self._pairs["train"], round(self._pairs["train"].scale[1])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._start.seed)
            self._head = RelatednessHead(self.encoder.dimension, classes, self.hidden, self.normalise is not False)
        self._places = {}
        encode = self._start.encode
        self._sides = {name: (encode(pairs.first), encode(pairs.second)) for name, pairs in self._pairs.items()}
        self._both = joined(*self._sides["train"])
        self._lengths = np.maximum(*(side.lengths for side in self._sides["train"]))
        self._gold = torch.from_numpy(train.gold).float()
        self._target = sparse_target(self._gold, classes)

    def batch(self, rows: Rows, rng: np.random.Generator) -> Batch:
        found, chosen = self._gather(self._both, rows, rows + len(self._lengths)), torch.from_numpy(rows)
        return Batch(found.sentences, (*found.tensors, self._gold[chosen], self._target[chosen]))

    def _gather(self, tokens: TokenIds, *sides: Rows) -> Batch:
        """Pad sentences, see `padded`; or find their vectors where the encoder is not trained."""
        if self._frozen is None:
            return Batch(self.padded(tokens, *sides))
        if id(tokens) not in self._places:
            self._places[id(tokens)] = tokens, self._frozen.places(tokens)
        return Batch((), (torch.from_numpy(self._places[id(tokens)][1][np.concatenate(sides)]),))

    def vectors(self, batch: Batch) -> Tensor:
        """Encode all sentences of a batch, or look their vectors up; (B, F)."""
        if self._frozen is None:
            return super().vectors(batch)
        places = batch.tensors[0].to(self._frozen.table.device)  # where they are already, once training has begun
        return self._frozen.table[places].to(self._head.unit.device)

    def compute_loss(self, batch: Batch) -> Tensor:
        return self.loss_of(self._head(*self.vectors(batch).chunk(2)).float(), *batch.tensors[-2:])

    def loss_of(self, output: Tensor, gold: Tensor, target: Tensor) -> Tensor:
        """Compute the loss of (B, K) log-probabilities by (B,) gold scores or by (B, K) their `sparse_target`."""
        return relatedness_loss(output, target, self.smoothing)

    @torch.inference_mode()
    def predict(self, sides: Sides) -> Array:
        """(N,) expected scores, from 1 to K."""
        predictions = np.empty(len(sides[0]))
        for rows in batches_by_tokens(np.maximum(sides[0].lengths, sides[1].lengths), 20_000):
            output = self._head(*(self.vectors(self.to_device(self._gather(side, rows))) for side in sides))
            predictions[rows] = self._head.expectation(output).double().cpu().numpy()
        return predictions

    def judge(self) -> float:
        return MEASURES[self.metric](self.predict(self._sides["trial"]), self._pairs["trial"].gold)

    def scores(self, split: str) -> Array:
        return (self.predict(self._sides[split]) - 1) / (self._head.classes - 1)

    def penalties(self) -> Iterator[Penalty]:
        yield from super().penalties()
        for parameter in self._head.parameters():
            yield parameter, self.head_decay, None


class RelatednessTraining(_PairTraining):
    """Supervised relatedness. A composition that was trained before ("universal") is pulled back to what it was.

    Source: Jiao et al. 2018, section 4.2; the numbers are those of the released README.
    """

    pull_back_words: Coefficient = 1e-4
    composition_decay: Coefficient = 1e-5
    checks_per_epoch: int = Field(4, ge=1, le=100)
    dataset: Literal["sick", "miniworld"] = "sick"
    hidden: int | None = Field(300, ge=1)
    normalise: bool | None = Field(None, description="scale sentence vectors to length one; None: both, see table 3")
    head_decay: Coefficient = Field(1e-7, description="lambda of equation 6")
    anchored: ClassVar[bool] = True
    error: Literal["squared", "absolute"] | None = added(None, "of the expected score, in place of the divergence")

    def loss_of(self, output: Tensor, gold: Tensor, target: Tensor) -> Tensor:
        if self.error is None:
            return relatedness_loss(output, target, self.smoothing)
        return score_error(self._head.expectation(output), gold, self.error)


class HeadTraining(_PairTraining):
    """Feature transfer and network transfer; Tai's width of the hidden layer.

    Feature transfer trains the head alone (``frozen``), on sentence vectors that are made once: ``dropout``, which is
    on word vectors, is not there. ``rescale`` divides vectors by the root mean square of the training sentences'
    before training: the products of two vectors of length .7 and 200 numbers are of size .002, where a head begins on
    a plateau.

    Source: Zhang et al. 2018, section 4.3.
    """

    normalise: bool = Field(False, description="scale sentence vectors to length one")
    loss: Literal["mse", "kl"] = "kl"
    frozen: bool = Field(False, description="train the classifier alone: feature transfer")
    rescale: bool = added(False, "divide vectors by the root mean square of the training sentences' before training")
    patience: int | None = Field(None, ge=1, description="checks without a better one after which training stops")
    share: TrainingShare = 1.0

    def prepare(self, data: Splits) -> None:
        super().prepare(data)
        if self.frozen:
            self._frozen = self._start.frozen() if self._start.frozen else FrozenVectors(self.encoder)
            for parameter in self.encoder.composition():
                parameter.requires_grad_(False)
        if self.rescale:
            self._head.unit.fill_(self._root_mean_square())

    @torch.inference_mode()
    def _root_mean_square(self) -> float:
        """Measure the size of a vector's numbers over the training sentences."""
        parts = np.array_split(np.arange(len(self._both)), max(2, len(self._both) // 256))
        found = (self.vectors(self.to_device(self._gather(self._both, rows))) for rows in parts)
        return float(np.mean([float(vectors.square().mean()) for vectors in found])) ** 0.5

    def loss_of(self, output: Tensor, gold: Tensor, target: Tensor) -> Tensor:
        return squared_error_loss(output, target) if self.loss == "mse" else super().loss_of(output, gold, target)


def shift_to_classes(pairs: ScoredPairs) -> ScoredPairs:
    r"""Shift gold scores to begin at 1, so that they are expectations of the classes 1 to K.

    $y + 1 - y_{\min}$ and $K = y_{\max} - y_{\min} + 1$: y + 1 and 6 on 0 to 5, y + 1 and 5 on 0 to 4, y + 3 and 5 on
    -2 to 2; SICK's 1 to 5 stays.

    Source: Zhang et al. 2018, section 4.3, which takes a score in [1, K] as given.
    Deviations: SentEval gives STS Benchmark's scores from 0 to 5 five classes, so that targets of scores below 1 do not
    sum to one.

    Raises:
        DataError: the scale has no whole limits, or a score is outside it.
    """
    low, high = pairs.scale
    if not ((pairs.gold >= low) & (pairs.gold <= high)).all() or (low, high) != (int(low), int(high)):
        raise DataError(f"{pairs.name} has a score outside its scale from {low:g} to {high:g}, or no whole limits.")
    return replace(pairs, gold=pairs.gold + (1 - low), scale=(1, int(high - low) + 1))
