"""SICK 2014: relatedness and entailment."""

from __future__ import annotations

from functools import cache

import numpy as np

from sentbook.data.readers.tables import expect, one_of, rows
from sentbook.data.types import LabelledPairs, ScoredPairs

FILES = {"train": ("SICK_train", 4500), "trial": ("SICK_trial", 500), "test": ("SICK_test_annotated", 4927)}
CLASSES = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")


def _rows(split: str) -> list[list[str]]:
    file, size = one_of("SICK split", split, FILES)
    cells = list(rows(f"eval/sick2014/{file}.txt", 5, header=True))
    expect(f"SICK {split}", len(cells), size)
    return cells


@cache
def sick(split: str) -> ScoredPairs:
    """Relatedness on 1-5: ``train`` 4500, ``trial`` 500 or ``test`` 4927 pairs (Marelli et al. 2014).

    Raises:
        ConfigError: an unknown split.
        DataError: the file is missing, or has not its official size.
    """
    cells = _rows(split)
    gold = np.array([float(row[3]) for row in cells])
    return ScoredPairs("SICK2014", [row[1] for row in cells], [row[2] for row in cells], gold, (1, 5), "captions")


def sick_entailment(split: str) -> LabelledPairs:
    """The same pairs with their entailment labels."""
    cells = _rows(split)
    labels = np.array([CLASSES.index(row[4]) for row in cells])
    return LabelledPairs(f"SICK2014-E-{split}", [row[1] for row in cells], [row[2] for row in cells], labels, CLASSES)
