"""Training an encoder on paraphrase pairs with the margin objective."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator
from torch import Tensor

from sentbook.config import OwnPath, Share
from sentbook.data import corpora, published, sources
from sentbook.data.suites import Suite, excluded, validation_sets
from sentbook.data.text import TokenIds, Tokenisation
from sentbook.data.types import ParaphrasePairs, ScoredPairs
from sentbook.models.encode import cosine_scores, tokenise_sets
from sentbook.models.losses import Candidates, Selection, margin_loss
from sentbook.training.correlation import pearson
from sentbook.training.objectives.base import Array, Batch, Objective, Rows, added, longest

Data = tuple[ParaphrasePairs, list[ScoredPairs]]


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
        own = {"path": published.digest(sources.noted(self.path))} if "file" in self.corpora else {}
        return published.digests(*self.corpora) | own

    def load(self, seed: int, suite: Suite, tokenisation: Tokenisation = "ptb") -> Data:
        """Read the pairs to train on and the validation sets."""
        exclude = excluded(suite) if self.exclude_overlap else frozenset()
        return corpora.load(
            self.corpora, seed=seed, limit=self.limit, exclude=exclude, path=self.path, tokenisation=tokenisation
        ), validation_sets(self.validation)

    def prepare(self, data: Data) -> None:
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
