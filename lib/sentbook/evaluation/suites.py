"""The test sets of a profile: real STS and SICK, or the mini-world's."""

from __future__ import annotations

from functools import cache
from typing import Literal

from sentbook.data import readers
from sentbook.data.miniworld import World
from sentbook.data.overlap import test_keys
from sentbook.data.types import ScoredPairs

Suite = Literal["sts", "miniworld"]


@cache
def test_sets(suite: Suite) -> list[ScoredPairs]:
    """Every test set in the paper's order: 25 STS sets and SICK, or the mini-world's domains."""
    if suite == "sts":
        return [*readers.sts_all(), readers.sick("test")]
    world = World()
    return [world.similarity(domain) for domain in world.DOMAINS]


@cache
def validation_sets(name: str) -> list[ScoredPairs]:
    """``sts2016``: its five sets, as the paper validates; ``miniworld``: the trial split of its relatedness pairs."""
    return readers.sts(2016) if name == "sts2016" else [World().relatedness("trial")]


@cache
def excluded(suite: Suite) -> frozenset[str]:
    """Keys of all test sentences, which no training pair may hold."""
    return test_keys(test_sets(suite)) if suite == "sts" else frozenset()


@cache
def relatedness(dataset: str, split: str) -> ScoredPairs:
    """``train``, ``trial`` or ``test`` of SICK or of the mini-world's relatedness pairs, scored 1 to 5."""
    return readers.sick(split) if dataset == "sick" else World().relatedness(split)
