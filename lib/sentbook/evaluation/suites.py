"""The test sets of a profile: real STS and SICK, or the mini-world's."""

from __future__ import annotations

from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sentbook.data import readers
from sentbook.data.miniworld import World
from sentbook.data.overlap import test_keys
from sentbook.data.readers.tables import one_of
from sentbook.data.types import LabelledPairs, ScoredPairs
from sentbook.errors import ConfigError

Suite = Literal["sts", "miniworld"]
Dataset = Literal["sick", "msrp", "miniworld", "miniworld-paraphrase"]
DATASETS: tuple[str, ...] = get_args(Dataset)
# Of MSRP's training pairs, which have no trial split: those that choose epochs and thresholds.
HELD_OUT = 0.1


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


@cache
def pairs(dataset: str, split: str) -> ScoredPairs:
    """``train``, ``trial`` or ``test`` pairs for training by similarity; labels are scores of 0 and 1.

    MSRP's ``trial`` is a tenth of its training pairs, of each label alike, and ``train`` the others.

    Raises:
        ConfigError: an unknown data set or split.
    """
    if dataset not in DATASETS:
        raise ConfigError(f"Unknown data set '{dataset}'; choose among {', '.join(DATASETS)}.")
    if dataset in ("sick", "miniworld"):
        return relatedness(dataset, split)
    if dataset == "miniworld-paraphrase":
        return _as_scores(World().paraphrase(split))
    if split == "test":
        return _as_scores(readers.msrp("test"))
    everything = _as_scores(readers.msrp("train"))
    rng = np.random.default_rng(0)
    held: list[int] = []
    for label in (0, 1):
        rows = np.flatnonzero(everything.gold == label)
        held += rng.permutation(rows)[: round(HELD_OUT * len(rows))].tolist()
    trial = np.isin(np.arange(len(everything)), held)
    return _rows(everything, one_of("MSRP split", split, {"train": ~trial, "trial": trial}))


def _as_scores(pairs: LabelledPairs) -> ScoredPairs:
    return ScoredPairs(pairs.name, pairs.first, pairs.second, pairs.labels.astype(np.float64), (0, 1))


def _rows(pairs: ScoredPairs, kept: NDArray[np.bool_]) -> ScoredPairs:
    rows = np.flatnonzero(kept)
    first, second = ([side[row] for row in rows] for side in (pairs.first, pairs.second))
    return ScoredPairs(pairs.name, first, second, pairs.gold[rows], pairs.scale, pairs.domain)
