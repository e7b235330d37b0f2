"""Human activity phrases: four gold scores for every pair."""

from __future__ import annotations

import numpy as np

from sentbook.data.readers.tables import expect, one_of, rows
from sentbook.data.types import ScoredPairs

SIZES = {"train": 1000, "dev": 375, "test": 1000}
DIMENSIONS = {"SIM": 2, "REL": 3, "MA": 4, "PAC": 5}


def activities(split: str) -> dict[str, ScoredPairs]:
    """Similarity, relatedness, motivational alignment and perceived actor congruence of pairs of activities.

    ``test`` holds the 1000 pairs of Wilson and Mihalcea 2017; ``train`` (1000) and ``dev`` (375) are the additional
    pairs of Zhang, Wilson and Mihalcea 2018. All scores are on 1-5 in these files, although the readme of 2017
    documents 0 to 4 and, for PAC, -2 to 2.

    Returns:
        ``SIM``, ``REL``, ``MA`` and ``PAC``, each over the same pairs.

    Raises:
        ConfigError: an unknown split.
        DataError: the file is missing, or has not its official size.
    """
    size = one_of("activities split", split, SIZES)
    cells = list(rows(f"eval/human-activity/activities-{split}-all.sick", 6))
    expect(f"activities {split}", len(cells), size)
    first, second = [row[0] for row in cells], [row[1] for row in cells]
    return {
        name: ScoredPairs(name, first, second, np.array([float(row[column]) for row in cells]), (1, 5), "activities")
        for name, column in DIMENSIONS.items()
    }
