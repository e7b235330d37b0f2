"""Write the mini-world to the package: ``PYTHONPATH=tools python -m miniworld.freeze``; the same bytes each time."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miniworld.analogies import miniworld_analogies
from miniworld.world import SENTENCES, SIZES, World
from sentbook.data.miniworld import FILE

PAIRS, STORIES, SCENES, ANALOGIES = 8_000, 3_000, 4_200, 240


def packed(texts: Iterable[str | Iterable[str]]) -> NDArray[np.uint8]:
    """Return texts, or lists of them, as bytes: a line each, tabs between the members of a list."""
    lines = [text if isinstance(text, str) else "\t".join(text) for text in texts]
    assert not any("\n" in line for line in lines)
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)


def columns(name: str, data: Any, *fields: str) -> dict[str, NDArray[Any]]:
    """Return the named columns of a data set as arrays."""
    held = {field: getattr(data, field) for field in fields}
    return {f"{name}/{field}": col if isinstance(col, np.ndarray) else packed(col) for field, col in held.items()}


def everything() -> dict[str, NDArray[Any]]:
    """Return every array of the file."""
    world = World()
    found = columns("phrases", world.phrases(PAIRS), "first", "second")
    found |= columns("sentences", world.sentences(PAIRS), "first", "second")
    for domain in world.DOMAINS:
        found |= columns(f"similarity/{domain}", world.similarity(domain), "first", "second", "gold")
    for split in SIZES:
        found |= columns(f"relatedness/{split}", world.relatedness(split), "first", "second", "gold")
        found |= columns(f"paraphrase/{split}", world.paraphrase(split), "first", "second", "labels")
        found |= columns(f"entailment/{split}", world.entailment(split), "first", "second", "labels")
        answers = world.graded_answers(split)
        found |= columns(f"answers/{split}", answers, "question", "reference", "answer", "gold")
    for task in world.TASKS:
        for split in SENTENCES:
            found |= columns(f"{task}/{split}", world.classification(task, split), "sentences", "labels")
    found |= columns("stories", world.stories(STORIES), "stories")
    found |= columns("scenes", world.scenes(SCENES), "features", "captions")
    found |= columns("analogies", miniworld_analogies(ANALOGIES), "a", "b", "c", "d", "kinds", "others")
    words, matrix = world.vectors(50)
    return found | {"vectors/words": packed(words), "vectors/matrix": matrix}


def main(file: str | Path = FILE) -> None:
    """Write the file."""
    np.savez_compressed(file, **everything())  # type: ignore[arg-type]


if __name__ == "__main__":
    main(*sys.argv[1:])
