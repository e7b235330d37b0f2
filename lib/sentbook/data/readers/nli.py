"""Natural-language inference: a pool of small three-way sets in place of SNLI and MultiNLI."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentbook.data.readers.tables import expect, one_of, rows
from sentbook.data.types import LabelledPairs

CLASSES = ("contradiction", "neutral", "entailment")
# JOCI and DNC are in the file too, but their labels are ordinal or two-way.
PARTS: dict[str, dict[str, int]] = {
    "snli": {"dev": 9842, "test": 9824},
    "cad_nli": {"train": 8330, "dev": 1000, "test": 2000},
    "conjnli": {"train": 15_000, "dev": 623},
}


def nli(sources: Sequence[str] = tuple(PARTS), splits: Sequence[str] = ("train", "dev", "test")) -> LabelledPairs:
    """Premise and hypothesis with one of three labels; 46,619 pairs in all.

    No training pair of SNLI or MultiNLI is here. ``snli`` is its dev and test parts (Bowman et al. 2015): who trains on
    them may not report SNLI. ``cad_nli`` is SNLI items and human edits of them (Kaushik et al. 2020); ``conjnli`` is
    conjunctions, its train part made automatically (Saha et al. 2020).

    Raises:
        ConfigError: an unknown source or split.
        DataError: the file is missing, or a part has not its official size.
    """
    wanted = {
        (source, split): size
        for source in sources
        for split, size in one_of("NLI source", source, PARTS).items()
        if split in [one_of("NLI split", name, {"train": name, "dev": name, "test": name}) for name in splits]
    }
    cells = [row for row in rows("train/nli/nli_pool.tsv.gz", 5) if (row[0], row[1]) in wanted]
    for part, size in wanted.items():
        expect(f"NLI {' '.join(part)}", sum((row[0], row[1]) == part for row in cells), size)
    labels = np.array([CLASSES.index(row[4]) for row in cells], dtype=np.int64)
    return LabelledPairs("NLI", [row[2] for row in cells], [row[3] for row in cells], labels, CLASSES)
