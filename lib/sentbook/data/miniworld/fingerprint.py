"""What pins generated data, as a digest pins a file: a sample of everything that is generated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from sentbook.data.miniworld.world import SIZES, World

# Digest of the sample and of the word lists -> the name that keys of trained encoders give to that world.
NAMES = {"01f20eaa05a86bfb": "41da7bc560bc73d2"}


@cache
def fingerprint() -> str:
    """16 hexadecimal digits: the same as long as the mini-world is, however its code is written.

    Numbers enter with two decimals, so that another machine's last bit makes no other world.
    """
    digest = hashlib.sha256()
    for file in sorted((files("sentbook.data.miniworld") / "words").iterdir(), key=lambda item: item.name):
        digest.update(file.read_bytes())
    for data in _sample(World()):
        columns = [getattr(data, field.name) for field in fields(data)]
        digest.update(repr([np.round(c, 2).tolist() if isinstance(c, np.ndarray) else c for c in columns]).encode())
    words, matrix = World().vectors(20)
    digest.update(repr((words, np.round(matrix[::50].astype(np.float64), 2).tolist())).encode())
    found = digest.hexdigest()[:16]
    return NAMES.get(found, found)


def _sample(world: World) -> Iterator[Any]:
    yield from (world.phrases(300), world.sentences(300), world.stories(30), world.scenes(30))
    yield from (world.similarity(domain, 40) for domain in world.DOMAINS)
    for split in SIZES:
        yield from (world.relatedness(split), world.paraphrase(split), world.entailment(split))
        yield from (world.graded_answers(split), *(world.classification(task, split) for task in world.TASKS))
