"""Word similarity, to check word vectors."""

from __future__ import annotations

import csv

import numpy as np

from sentbook.data.readers.tables import expect, lines, rows
from sentbook.data.types import ScoredPairs


def simlex999() -> ScoredPairs:
    """999 word pairs scored for similarity on 0-10 (Hill, Reichart and Korhonen 2015)."""
    cells = list(rows("eval/wordsim/simlex999/SimLex-999.txt", 4, header=True))
    expect("SimLex-999", len(cells), 999)
    gold = np.array([float(row[3]) for row in cells])
    return ScoredPairs("SimLex-999", [row[0] for row in cells], [row[1] for row in cells], gold, (0, 10), "words")


def wordsim353() -> ScoredPairs:
    """353 word pairs scored for relatedness on 0-10, one of them twice (Finkelstein et al. 2002)."""
    cells = list(csv.reader(lines("eval/wordsim/wordsim353/combined.csv")[1:]))
    expect("WordSim-353", len(cells), 353)
    gold = np.array([float(row[2]) for row in cells])
    return ScoredPairs("WordSim-353", [row[0] for row in cells], [row[1] for row in cells], gold, (0, 10), "words")
