"""Microsoft Research Paraphrase Corpus: paraphrase or not."""

from __future__ import annotations

import numpy as np

from sentbook.data.readers.tables import expect, one_of, rows
from sentbook.data.types import LabelledPairs

SIZES = {"train": 4076, "test": 1725}
CLASSES = ("different", "paraphrase")


def msrp(split: str) -> LabelledPairs:
    """``train`` 4076 or ``test`` 1725 pairs, untokenised, named ``MSRP`` (Dolan and Brockett 2005).

    The files begin with a BOM, end lines with CRLF, and are read without quoting: sentences hold unbalanced quotes.

    Raises:
        ConfigError: an unknown split.
        DataError: the file is missing, or has not its official size.
    """
    size = one_of("MSRP split", split, SIZES)
    cells = list(rows(f"eval/msrp/msr_paraphrase_{split}.txt", 5, header=True))
    expect(f"MSRP {split}", len(cells), size)
    labels = np.array([int(row[0]) for row in cells], dtype=np.int64)
    return LabelledPairs("MSRP", [row[3] for row in cells], [row[4] for row in cells], labels, CLASSES)
