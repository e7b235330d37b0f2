"""Train supervised relatedness by the error of the predicted score, which Jiao et al. set their objective against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from sentbook.config import digest
from sentbook.data import suites
from sentbook.training import store
from sentbook.training.loop import fit, progress
from sentbook.training.problem import Rows
from sentbook.training.problems.transfer import RelatednessProblem
from sentbook.training.recipes import ARTIFACT_VERSION, FineTuned, FineTuning, Recipe, load
from sentbook.training.settings import RelatednessTraining
from sentbook.training.store import Tensors

Error = Literal["squared", "absolute"]


class ScoreError(RelatednessProblem):
    r"""The same encoder and head, trained by the error of the expected score $\hat y = r^\top \hat p$.

    $\frac{1}{B} \sum_b (\hat y_b - y_b)^2$ or $\frac{1}{B} \sum_b |\hat y_b - y_b|$, on the scale from 1 to K.

    Source: Jiao et al. 2018, footnote 3 ("significantly better than squared or absolute error"), after Tai et al. 2015.
    """

    error: Error = "squared"

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        found = self.head(self._vectors(self.sides[0], rows), self._vectors(self.sides[1], rows)).float()
        # A target's expectation is the gold score itself.
        gap = self.head.expectation(found) - self.head.expectation(self.target[rows].to(found.device).log())
        return gap.square().mean() if self.error == "squared" else gap.abs().mean()


@dataclass(frozen=True)
class ErrorTuning(FineTuning):
    """As `FineTuning`, by an error of the score in place of the divergence."""

    error: Error = "squared"

    @cached_property
    def key(self) -> str:
        settings = self.settings.model_dump(mode="json") | {"error": self.error}
        return digest({"version": ARTIFACT_VERSION, "start": self.start.key(), "settings": settings})

    def run(self, folder: Path) -> tuple[dict[str, Tensors], dict[str, Any]]:
        started, settings, seed = load(self.start), self.settings, self.start.seed
        train, trial, test = (suites.relatedness(settings.dataset, split) for split in ("train", "trial", "test"))
        given = (started.encoder(), started.vocabulary, settings, train, trial)
        tokenisation = self.start.tokenisation
        problem = ScoreError(*given, loaded=bool(self.start.stages), seed=seed, tokenisation=tokenisation)
        problem.error = self.error
        report = progress(f"{self.start.method}, {self.error} error, seed {seed}")
        history = fit(problem, settings, seed=seed, device=self.device, key=self.key, folder=folder, report=report)
        head = sum(value.numel() for value in problem.head.parameters())
        about = {"history": vars(history), "pairs": len(train), "parameters": problem.encoder.parameter_count() + head}
        return {self.file: {"test": torch.from_numpy(problem.predict(problem.tokens(test)))}}, about


def fine_tune(
    starts: Sequence[Recipe], settings: RelatednessTraining, error: Error, *, device: str = "auto", jobs: int = 1
) -> list[FineTuned]:
    """Fine-tune ``starts`` by an error, as `sentbook.training.recipes.fine_tune` does by the divergence."""
    found = store.obtain([ErrorTuning(start, settings, device, error) for start in starts], jobs=jobs)
    return [
        FineTuned(start.method, start.seed, item.key, item.tensors()["test"].numpy(), item.metadata)
        for start, item in zip(starts, found, strict=True)
    ]
