"""Short answer grading: student answers beside a reference answer."""

from __future__ import annotations

import numpy as np

from sentbook.data.readers.tables import expect, rows
from sentbook.data.types import GradedAnswers


def short_answers() -> GradedAnswers:
    """The 2273 published answers with their mean grade on 0-5, named ``SAG`` (Mohler, Bunescu and Mihalcea 2011).

    169 answers to the six questions that the authors left out are dropped. There is no official split: hold out whole
    questions (81 of them), or assignments (the number before the first dot of ``question``). ``<br>`` tags remain in
    245 answers.

    Raises:
        DataError: the file is missing, or has not its official size.
    """
    cells = [row for row in rows("eval/short-answer-grading/sag_v2_flat.tsv", 8, header=True) if row[1] == "1"]
    expect("short answers", len(cells), 2273)
    return GradedAnswers(
        name="SAG",
        question=[row[0].rpartition(".")[0] for row in cells],
        reference=[row[3] for row in cells],
        answer=[row[4] for row in cells],
        gold=np.array([float(row[7]) for row in cells]),
        scale=(0, 5),
    )
