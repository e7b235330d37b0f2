"""Human activity phrases: four gold scores for every pair."""

from __future__ import annotations

import numpy as np

from sentbook.data.readers.tables import expect, one_of, rows
from sentbook.data.types import ScoredPairs
from sentbook.system.errors import DataError

SIZES = {"train": 1000, "dev": 375, "test": 1000}
# Of each dimension its column, and the limits of its published scale.
DIMENSIONS = {"SIM": (2, (0, 4)), "REL": (3, (0, 4)), "MA": (4, (0, 4)), "PAC": (5, (-2, 2))}
# The files hold every score shifted to begin at 1.
LOWEST_IN_FILE = 1


def activities(split: str) -> dict[str, ScoredPairs]:
    """Similarity, relatedness, motivational alignment and perceived actor congruence of pairs of activities.

    ``test`` holds the 1000 pairs of Wilson and Mihalcea 2017; ``train`` (1000) and ``dev`` (375) are the additional
    pairs of Zhang, Wilson and Mihalcea 2018. All scores are on 1-5 in these files; here they are back on the published
    scales, 0 to 4 and, for PAC, -2 to 2.

    Returns:
        ``SIM``, ``REL``, ``MA`` and ``PAC``, each over the same pairs.

    Raises:
        ConfigError: an unknown split.
        DataError: the file is missing, has not its official size, or holds a score outside 1-5.
    """
    size = one_of("activities split", split, SIZES)
    cells = list(rows(f"eval/human-activity/activities-{split}-all.sick", 6))
    expect(f"activities {split}", len(cells), size)
    first, second = [row[0] for row in cells], [row[1] for row in cells]
    found = {}
    for name, (column, (low, high)) in DIMENSIONS.items():
        # The files have five decimals; rounded, 2.4 - 1 is 1.4, and equal means stay ties.
        gold = np.round(np.array([float(row[column]) for row in cells]) + (low - LOWEST_IN_FILE), 5)
        if gold.min() < low or gold.max() > high:
            raise DataError(f"activities {split}: a score of {name} lies outside its scale; fetch the file again.")
        found[name] = ScoredPairs(name, first, second, gold, (low, high), "activities")
    return found
