"""Sentences with a class: MR, CR, SUBJ, MPQA and TREC, in the text that published SentEval numbers use.

It mangles accented letters in MR and SUBJ and lost every apostrophe of TREC. Blank lines are dropped.
"""

from __future__ import annotations

import numpy as np

from sentbook.data.readers.tables import Row, expect, lines, one_of
from sentbook.data.types import LabelledSentences

# Per class: its name, its file, usable lines (CR has 2 + 2 blank lines, MPQA 1 + 2).
BINARY: dict[str, tuple[tuple[str, str, int], ...]] = {
    "MR": (("negative", "rt-polarity.neg", 5331), ("positive", "rt-polarity.pos", 5331)),
    "CR": (("negative", "custrev.neg", 1366), ("positive", "custrev.pos", 2405)),
    "SUBJ": (("objective", "subj.objective", 5000), ("subjective", "subj.subjective", 5000)),
    "MPQA": (("negative", "mpqa.neg", 7292), ("positive", "mpqa.pos", 3311)),
}
TREC_FILES = {"train": ("train_5500.label", 5452), "test": ("TREC_10.label", 500)}
TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


def binary(task: str) -> LabelledSentences:
    """A task of two classes, without an official split.

    ``MR``: film reviews, 5331 negative and 5331 positive sentences (Pang and Lee 2005). ``CR``: customer reviews, 1366
    and 2405 (Hu and Liu 2004). ``SUBJ``: 5000 objective and 5000 subjective sentences (Pang and Lee 2004). ``MPQA``:
    opinion phrases, 7292 negative and 3311 positive (Wiebe, Wilson and Cardie 2005); many repeat, and 98 carry both
    labels.
    """
    classes = one_of("task", task, BINARY)
    sentences: list[str] = []
    for name, file, size in classes:
        usable = [line for line in lines(f"eval/{task.lower()}/{file}", "utf-8") if line.strip()]
        expect(f"{task} {name}", len(usable), size)
        sentences += usable
    labels = np.repeat(np.arange(2), [size for *_, size in classes])
    return LabelledSentences(task, sentences, labels, tuple(name for name, *_ in classes))


def trec(split: str) -> LabelledSentences:
    """Questions by the six coarse types of answer: ``train`` 5452 or ``test`` 500 (Li and Roth 2002).

    Ten distinct questions occur in both splits.
    """
    file, size = one_of("TREC split", split, TREC_FILES)
    name = f"eval/trec/{file}"
    parts = [line.partition(" ") for line in lines(name, "latin-1")]
    expect(f"TREC {split}", len(parts), size)
    # The coarse type stands before the colon.
    found = [Row([kind.partition(":")[0], text], name, number) for number, (kind, _, text) in enumerate(parts, start=1)]
    labels = np.array([row.label(0, TREC_CLASSES) for row in found], dtype=np.int64)
    return LabelledSentences("TREC", [row[1] for row in found], labels, TREC_CLASSES)
