"""Pairs with a score, a class or a grade: SICK, MSRP, human activities, natural-language inference, short answers.

Raised by every function: a ConfigError for an unknown split; a DataError where a file is missing, has not its official
size, or a line of it holds no score or class, with its number.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np

from sentbook.data import sources
from sentbook.data.readers import published
from sentbook.data.readers.tables import Format, Row, expect, labelled, rows, scored
from sentbook.data.types import GradedAnswers, LabelledPairs, ScoredPairs

SICK = Format(
    "SICK",
    "eval/sick2014",
    {"train": ("SICK_train.txt", 4500), "trial": ("SICK_trial.txt", 500), "test": ("SICK_test_annotated.txt", 4927)},
    columns=5,
    header=True,
)
# They begin with a BOM, end lines with CRLF, and are read without quoting: sentences hold unbalanced quotes.
MSRP = Format(
    "MSRP",
    "eval/msrp",
    {"train": ("msr_paraphrase_train.txt", 4076), "test": ("msr_paraphrase_test.txt", 1725)},
    columns=5,
    header=True,
)
ACTIVITIES = Format(
    "activities",
    "eval/human-activity",
    {split: (f"activities-{split}-all.sick", size) for split, size in (("train", 1000), ("dev", 375), ("test", 1000))},
    columns=6,
)
# Of each dimension of activities its column, and the limits of its published scale.
DIMENSIONS = {"SIM": (2, (0, 4)), "REL": (3, (0, 4)), "MA": (4, (0, 4)), "PAC": (5, (-2, 2))}
# With the six questions that the authors left out.
ANSWERS = Format("short answers", "eval/short-answer-grading", {"all": ("sag_v2_flat.tsv", 2442)}, 8, header=True)

NLI_CLASSES = ("contradiction", "neutral", "entailment")
# Sizes by source and split. JOCI and DNC are in the file too, but their labels are ordinal or two-way.
NLI_PARTS = {
    ("snli", "dev"): 9842, ("snli", "test"): 9824, ("cad_nli", "train"): 8330, ("cad_nli", "dev"): 1000,
    ("cad_nli", "test"): 2000, ("conjnli", "train"): 15_000, ("conjnli", "dev"): 623,
}  # fmt: skip


@cache
def sick(split: str) -> ScoredPairs:
    """Relatedness on 1-5: ``train`` 4500, ``trial`` 500 or ``test`` 4927 pairs (Marelli et al. 2014)."""
    return scored("SICK2014", SICK.rows(split), (1, 2), 3, (1, 5), "captions")


def sick_entailment(split: str) -> LabelledPairs:
    """The same pairs with their entailment labels."""
    return labelled(f"SICK2014-E-{split}", SICK.rows(split), (1, 2), 4, tuple(map(str.upper, NLI_CLASSES)))


def msrp(split: str) -> LabelledPairs:
    """``train`` 4076 or ``test`` 1725 pairs, paraphrase or not, untokenised, named ``MSRP`` (Dolan, Brockett 2005)."""
    return labelled("MSRP", MSRP.rows(split), (3, 4), 0, ("different", "paraphrase"), "01")


def activities(split: str) -> dict[str, ScoredPairs]:
    """Similarity, relatedness, motivational alignment and perceived actor congruence of pairs of activities.

    ``test`` holds the 1000 pairs of Wilson and Mihalcea 2017; ``train`` (1000) and ``dev`` (375) are the additional
    pairs of Zhang, Wilson and Mihalcea 2018. All scores are on 1-5 in these files; here they are back on the published
    scales, 0 to 4 and, for PAC, -2 to 2.

    Returns:
        ``SIM``, ``REL``, ``MA`` and ``PAC``, each over the same pairs.
    """
    cells = ACTIVITIES.rows(split)
    first, second = ([row[side] for row in cells] for side in (0, 1))
    found = {}
    for name, (column, scale) in DIMENSIONS.items():
        # The files have five decimals; rounded, 2.4 - 1 is 1.4, and equal means stay ties.
        gold = np.round(np.array([row.number(column, (1, 5)) for row in cells]) + (scale[0] - 1), 5)
        found[name] = ScoredPairs(name, first, second, gold, scale, "activities")
    return found


def nli() -> LabelledPairs:
    """Premise and hypothesis with one of three labels; 46,619 pairs in all, in place of SNLI and MultiNLI.

    No training pair of SNLI or MultiNLI is here. ``snli`` is its dev and test parts (Bowman et al. 2015): who trains on
    them may not report SNLI. ``cad_nli`` is SNLI items and human edits of them (Kaushik et al. 2020); ``conjnli`` is
    conjunctions, its train part made automatically (Saha et al. 2020).
    """
    found = [row for row in rows("train/nli/nli_pool.tsv.gz", 5) if (row[0], row[1]) in NLI_PARTS]
    sizes = Counter((row[0], row[1]) for row in found)
    for part, size in NLI_PARTS.items():
        expect(f"NLI {' '.join(part)}", sizes[part], size)
    return labelled("NLI", found, (2, 3), 4, NLI_CLASSES)


def short_answers() -> GradedAnswers:
    """The 2273 published answers with their mean grade on 0-5, named ``SAG`` (Mohler, Bunescu and Mihalcea 2011).

    169 answers to the six questions that the authors left out are dropped. There is no official split: hold out whole
    questions (81 of them), or assignments (the number before the first dot of ``question``). ``<br>`` tags remain in
    245 answers. Where the flat file is not here, the unpacked archive is read from the folder of the originals.
    """
    archived = None if sources.find(f"{ANSWERS.folder}/{ANSWERS.parts['all'][0]}") else published.answers()
    cells = enumerate(archived or (), start=1)
    rows_ = [Row(row, "the archive's answers", line) for line, row in cells] if archived else ANSWERS.rows("all")
    found = [row for row in rows_ if row[1] == "1"]
    expect("short answers", len(found), 2273)
    return GradedAnswers(
        name="SAG",
        question=[row[0].rpartition(".")[0] for row in found],
        reference=[row[3] for row in found],
        answer=[row[4] for row in found],
        gold=np.array([row.number(7, (0, 5)) for row in found]),
        scale=(0, 5),
    )
