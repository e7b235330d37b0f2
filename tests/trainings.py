"""Trainings of under a second, on the mini-world, for the tests of several rooms."""

from __future__ import annotations

from typing import Any

from sentbook.data.vectors import Vectors
from sentbook.models.cse import CSEEncoder
from sentbook.training.objectives import AnyObjective, GenerationTraining, MarginTraining
from sentbook.training.recipes import Recipe

PHRASE = MarginTraining(
    corpora=("miniworld-phrases",), validation="miniworld", limit=80, epochs=2, batch_size=20, checks_per_epoch=2,
    dropout=0.1, scramble=0.3, learning_rate=0.01,
)  # fmt: skip
STORIES = GenerationTraining(
    corpus="miniworld-stories", books=60, vocabulary=200, hidden=8, epochs=1, checks_per_epoch=2, paragraph=4,
    held_out=64, bound=0.1, learning_rate=0.01,
)  # fmt: skip


def recipe(*stages: AnyObjective, **changes: Any) -> Recipe:
    """Describe one training of a CSE encoder of 3 filters, or what ``changes`` say instead."""
    given: dict[str, Any] = {
        "method": "CSE", "seed": 1, "vectors": Vectors(name="miniworld"), "encoder": CSEEncoder(filters=3),
        "suite": "miniworld",
    }  # fmt: skip
    return Recipe(stages=stages, **given | changes)
