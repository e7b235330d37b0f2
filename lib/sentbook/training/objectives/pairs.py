"""Training on pairs of sentences: paraphrases by the margin objective, and natural-language inference."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from sentbook.config import Coefficient, OwnPath, Rate, Share
from sentbook.data import corpora, sources
from sentbook.data.suites import Suite, excluded, validation_sets
from sentbook.data.text import TokenIds, Tokenisation, batches_by_tokens
from sentbook.data.types import LabelledPairs, ParaphrasePairs, ScoredPairs
from sentbook.models.encode import cosine_scores, tokenise_sets
from sentbook.models.losses import Candidates, EntailmentHead, Selection, entailment_loss, margin_loss
from sentbook.training.correlation import pearson
from sentbook.training.objectives.base import Array, Batch, Objective, Rows, added


class MarginTraining(Objective):
    """Margin loss over paraphrase pairs, judged by the mean Pearson of the validation sets.

    Source: Jiao et al. 2018, equation 5, see `sentbook.models.losses.margin_loss`.
    """

    corpora: tuple[str, ...] = Field(("ppdb",), min_length=1)
    path: OwnPath = added("", "of pairs with a tab between, plain or as .gz, with corpora: [file]")
    limit: int | None = Field(None, ge=4, description="at most so many pairs, drawn by the seed")
    exclude_overlap: bool = Field(True, description="drop pairs that hold a sentence of a test set")
    margin: float = Field(0.6, ge=0, le=2)
    selection: Selection = "max"
    candidates: Candidates = "one side"
    scramble: Share = Field(0.0, description="probability of permuting the words of a pair (the released code: .5)")
    validation: Literal["sts2016", "stsb-dev", "miniworld"] = "sts2016"

    _tokens: TokenIds
    _sets: list[ScoredPairs]
    _set_tokens: dict[str, tuple[TokenIds, TokenIds]]

    @model_validator(mode="after")
    def _has_its_file(self) -> MarginTraining:
        if ("file" in self.corpora) != bool(self.path):
            raise ValueError("corpora 'file' and the path of a file of pairs go together")
        return self

    def texts(self) -> tuple[str, ...]:
        return self.corpora

    def digests(self) -> dict[str, str]:
        own = {"path": corpora.digest_of(sources.noted(self.path))} if "file" in self.corpora else {}
        return corpora.digests(*self.corpora) | own

    def load(
        self, seed: int, suite: Suite, tokenisation: Tokenisation = "ptb"
    ) -> tuple[ParaphrasePairs, list[ScoredPairs]]:
        """Read the pairs to train on and the validation sets."""
        exclude = excluded(suite) if self.exclude_overlap else frozenset()
        return corpora.load(
            self.corpora, seed=seed, limit=self.limit, exclude=exclude, path=self.path, tokenisation=tokenisation
        ), validation_sets(self.validation)

    def prepare(self, data: tuple[ParaphrasePairs, list[ScoredPairs]]) -> None:
        pairs, self._sets = data
        self._tokens = self._start.encode(pairs.first, pairs.second)
        self._lengths = longest(self._tokens)
        self._set_tokens = tokenise_sets(self._sets, self._start.vocabulary, self._start.tokenisation)

    def batch(self, rows: Rows, rng: np.random.Generator) -> Batch:
        order = self._scrambling(rows, rng) if self.scramble else None
        return Batch(self.padded(self._tokens, rows, rows + len(self._lengths), order=order))

    def _scrambling(self, rows: Rows, rng: np.random.Generator) -> Array:
        """(2B, T) sort keys: random for both members of a scrambled pair, in order for the others."""
        width = max(int(self._lengths[rows].max()), self.encoder.minimum_length)
        scrambled = np.tile(rng.random(len(rows)) < self.scramble, 2)
        return np.where(scrambled[:, None], rng.random((2 * len(rows), width)), np.arange(width) / width)

    def compute_loss(self, batch: Batch) -> Tensor:
        first, second = self.vectors(batch).float().chunk(2)
        return margin_loss(first, second, self.margin, self.selection, self.candidates)

    def judge(self) -> float:
        scores = cosine_scores(self.encoder, self._set_tokens)
        return float(np.mean([pearson(scores[pairs.name], pairs.gold) for pairs in self._sets]))


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

    metric: ClassVar[str] = "accuracy"

    _head: EntailmentHead
    # Of the pairs to train on, then of the held-out ones.
    _tokens: list[TokenIds]
    _labels: list[Tensor]

    def rate_after(self, rate: float, *, improved: bool) -> float:
        return rate * self.decay / (1 if improved else self.shrink)

    def texts(self) -> tuple[str, ...]:
        return (self.corpus,)

    def digests(self) -> dict[str, str]:
        return corpora.digests(self.corpus)

    def load(self, seed: int, suite: Suite, tokenisation: Tokenisation = "ptb") -> tuple[LabelledPairs, LabelledPairs]:
        """Read the pairs to train on and the held-out ones, over the same classes."""
        exclude = excluded(suite) if self.exclude_overlap else frozenset()
        return corpora.inference(self.corpus, exclude=exclude, tokenisation=tokenisation)

    def prepare(self, data: tuple[LabelledPairs, LabelledPairs]) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._start.seed)
            self._head = EntailmentHead(self.encoder.dimension, classes=len(data[0].classes), hidden=self.hidden)
        self._tokens = [self._start.encode(pairs.first, pairs.second) for pairs in data]
        self._labels = [torch.from_numpy(pairs.labels) for pairs in data]
        self._lengths = longest(self._tokens[0])

    def batch(self, rows: Rows, rng: np.random.Generator | None = None, part: int = 0) -> Batch:
        tokens, labels = self._tokens[part], self._labels[part]
        return Batch(self.padded(tokens, rows, rows + len(labels)), (labels[torch.from_numpy(rows)],))

    def compute_loss(self, batch: Batch) -> Tensor:
        return entailment_loss(self._head(*self.vectors(batch).chunk(2)).float(), batch.tensors[0])

    @torch.inference_mode()
    def judge(self) -> float:
        right = 0
        for rows in batches_by_tokens(longest(self._tokens[1]), 20_000):
            batch = self.to_device(self.batch(rows, part=1))
            logits = self._head(*self.vectors(batch).chunk(2))
            right += int((logits.argmax(dim=1) == batch.tensors[0]).sum())
        return right / len(self._labels[1])


def longest(tokens: TokenIds) -> Rows:
    """(N,) words of the longer member of each pair; ``tokens``: N first members, then N second ones."""
    found: Rows = tokens.lengths.reshape(2, -1).max(axis=0)
    return found
