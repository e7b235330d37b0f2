"""Supervised relatedness as artifacts: an encoder, trained or fresh, updated with its head on graded pairs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray

from sentbook import records as results
from sentbook.config import Section, digest
from sentbook.data import sources, suites
from sentbook.system import versions
from sentbook.system.files import alone
from sentbook.system.paths import artifacts
from sentbook.training import checkpoint
from sentbook.training.loop import fit, peak_memory_bytes
from sentbook.training.problems.transfer import RelatednessProblem
from sentbook.training.recipes import ARTIFACT_VERSION, Recipe, load
from sentbook.training.settings import RelatednessTraining


class SupervisedRecipe(Section):
    """``start`` is fine-tuned: with stages ("universal") it is pulled back to them, without ("random") to 0."""

    method: str
    start: Recipe
    settings: RelatednessTraining

    @property
    def seed(self) -> int:
        return self.start.seed

    def key(self) -> str:
        return digest(
            {"version": ARTIFACT_VERSION, "start": self.start.key(), "settings": self.settings.model_dump(mode="json")}
        )


@dataclass(frozen=True)
class FineTuned:
    """Predictions of one fine-tuned encoder on the test pairs, on the scale of the gold scores."""

    recipe: SupervisedRecipe
    predictions: NDArray[np.float64]
    metadata: dict[str, Any]

    @property
    def method(self) -> str:
        return self.recipe.method

    @property
    def seed(self) -> int:
        return self.recipe.seed

    def renamed(self, method: str) -> FineTuned:
        """The same under another name in tables; the name decides no number."""
        return FineTuned(self.recipe.model_copy(update={"method": method}), self.predictions, self.metadata)

    def curve(self) -> list[results.CurvePoint]:
        return [
            results.CurvePoint(method=self.method, seed=self.seed, **point)
            for point in self.metadata["history"]["curve"]
        ]

    def cost(self) -> results.Cost:
        history = self.metadata["history"]
        return results.Cost(
            method=self.method,
            seed=self.seed,
            seconds=history["seconds"],
            peak_memory_bytes=history["peak_memory_bytes"],
            parameters=self.metadata["parameters"],
            examples_per_second=history["examples"] / max(history["seconds"], 1e-9),
        )


def _artifact(recipe: SupervisedRecipe) -> Path:
    return artifacts() / recipe.key() / "predictions.safetensors"


def _fine_tune(recipe: SupervisedRecipe, device: str, threads: int | None) -> None:
    if threads is not None:
        torch.set_num_threads(threads)
    target = _artifact(recipe)
    with alone(target.parent):
        if target.exists():
            return
        clock = time.monotonic()
        started = load(recipe.start)
        train, trial, test = (
            suites.relatedness(recipe.settings.dataset, split) for split in ("train", "trial", "test")
        )
        encoder = started.encoder()
        problem = RelatednessProblem(
            encoder,
            started.vocabulary,
            recipe.settings,
            train,
            trial,
            loaded=bool(recipe.start.stages),
            seed=recipe.seed,
            tokenisation=recipe.start.tokenisation,
        )
        name = f"[{recipe.method}, seed {recipe.seed}]"
        history = fit(
            problem,
            recipe.settings,
            seed=recipe.seed,
            device=device,
            key=recipe.key(),
            folder=target.parent,
            report=lambda line: print(name, line, flush=True),
        )
        metadata = {
            "key": recipe.key(),
            "history": vars(history),
            "data": sources.used(),
            "git_commit": versions.git_commit(),
            "pairs": len(train),
            "parameters": encoder.parameter_count() + sum(value.numel() for value in problem.head.parameters()),
            "wall_seconds": time.monotonic() - clock,
            "peak_memory_bytes": peak_memory_bytes(),
        }
        checkpoint.save(target, {"test": torch.from_numpy(problem.predict(problem.tokens(test)))}, metadata)
        (target.parent / "checkpoint.safetensors").unlink(missing_ok=True)


def fine_tune(recipes: Sequence[SupervisedRecipe], *, device: str = "auto", jobs: int = 1) -> list[FineTuned]:
    """The predictions of ``recipes``, in their order; what has no artifact yet is trained, ``jobs`` side by side.

    Raises:
        CheckpointError: a start has no artifact (train it first), or one is truncated.
    """
    distinct = {recipe.key(): recipe for recipe in recipes}
    missing = [recipe for recipe in distinct.values() if not checkpoint.is_made(_artifact(recipe))]
    if jobs == 1 or len(missing) <= 1:
        for recipe in missing:
            _fine_tune(recipe, device, None)
    else:
        Parallel(n_jobs=jobs, batch_size=1)(delayed(_fine_tune)(recipe, device, 1) for recipe in missing)
    tuned = []
    for recipe in recipes:
        tensors, metadata = checkpoint.load(_artifact(recipe), recipe.key())
        tuned.append(FineTuned(recipe, tensors["test"].numpy(), metadata))
    return tuned
