"""Trainings of under a second, on the mini-world, for the tests of several rooms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sentbook.data.vectors import Vectors
from sentbook.models.cse import CSEEncoder
from sentbook.training import checkpoint
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
HISTORY = ("curve", "best", "best_step", "examples")


def recipe(*stages: AnyObjective, **changes: Any) -> Recipe:
    """Describe one training of a CSE encoder of 3 filters, or what ``changes`` say instead."""
    given: dict[str, Any] = {
        "method": "CSE", "seed": 1, "vectors": Vectors(name="miniworld"), "encoder": CSEEncoder(filters=3),
        "suite": "miniworld",
    }  # fmt: skip
    return Recipe(stages=stages, **given | changes)


def contents(folder: Path) -> dict[str, tuple[Mapping[str, Tensor], Any]]:
    """Read every tensor that is stored, by its file, and the histories; nothing that a clock decides."""
    found: dict[str, tuple[Mapping[str, Tensor], Any]] = {}
    for file in sorted(folder.rglob("*.safetensors")):
        tensors, metadata = checkpoint.load(file, file.parent.name)
        history = metadata.get("history", {})
        found[str(file.relative_to(folder))] = tensors, [history.get(name) for name in HISTORY]
    assert found, folder
    return found


def assert_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Compare states, or the contents of two folders, bit for bit."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, Tensor):
            assert torch.equal(value, other[name]), name
        else:
            assert value[1] == other[name][1], name
            assert_same(value[0], other[name][0])
