"""Sentences with a class: MR, CR, SUBJ, MPQA and TREC, as in SentEval or nearer to the authors' releases.

``variant="senteval"`` is the text that published SentEval numbers use; its MR and SUBJ mangle accented letters and its
TREC lost every apostrophe. ``variant="raw"`` holds the same rows in the same order without that damage. Blank lines are
dropped.
"""

from __future__ import annotations

import numpy as np

from sentbook.data.readers.tables import Row, expect, lines, one_of
from sentbook.data.types import LabelledSentences

# Per class: its name, its file, usable lines (CR has 2 + 2 blank lines, MPQA 1 + 2).
BINARY: dict[str, tuple[tuple[str, str, int], ...]] = {
    "mr": (("negative", "rt-polarity.neg", 5331), ("positive", "rt-polarity.pos", 5331)),
    "cr": (("negative", "custrev.neg", 1366), ("positive", "custrev.pos", 2405)),
    "subj": (("objective", "subj.objective", 5000), ("subjective", "subj.subjective", 5000)),
    "mpqa": (("negative", "mpqa.neg", 7292), ("positive", "mpqa.pos", 3311)),
}
TREC_FILES = {"train": ("train_5500.label", 5452), "test": ("TREC_10.label", 500)}
TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
FOLDERS = {"senteval": "", "raw": "raw/"}
# cp1252 punctuation in MR, latin-1 letters elsewhere; the SentEval variants of the binary sets are ASCII.
RAW_ENCODING = "cp1252"


def _binary(task: str, variant: str) -> LabelledSentences:
    folder = one_of("variant", variant, FOLDERS)
    sentences: list[str] = []
    labels: list[int] = []
    for label, (name, file, size) in enumerate(BINARY[task]):
        text = lines(f"eval/{task}/{folder}{file}", RAW_ENCODING if variant == "raw" else "utf-8")
        usable = [line for line in text if line.strip()]
        expect(f"{task.upper()} {name}", len(usable), size)
        sentences += usable
        labels += [label] * size
    classes = tuple(name for name, _, _ in BINARY[task])
    return LabelledSentences(task.upper(), sentences, np.array(labels, dtype=np.int64), classes)


def mr(variant: str = "senteval") -> LabelledSentences:
    """Film reviews: 5331 negative and 5331 positive sentences (Pang and Lee 2005). No official split."""
    return _binary("mr", variant)


def cr(variant: str = "senteval") -> LabelledSentences:
    """Customer reviews: 1366 negative and 2405 positive sentences (Hu and Liu 2004). No official split."""
    return _binary("cr", variant)


def subj(variant: str = "senteval") -> LabelledSentences:
    """Subjectivity: 5000 objective and 5000 subjective sentences (Pang and Lee 2004). No official split."""
    return _binary("subj", variant)


def mpqa(variant: str = "senteval") -> LabelledSentences:
    """Opinion phrases: 7292 negative and 3311 positive (Wiebe, Wilson and Cardie 2005). No official split.

    Many phrases repeat, and 98 carry both labels.
    """
    return _binary("mpqa", variant)


def trec(split: str, variant: str = "senteval") -> LabelledSentences:
    """Questions by the six coarse types of answer: ``train`` 5452 or ``test`` 500 (Li and Roth 2002).

    Ten distinct questions occur in both splits.
    """
    file, size = one_of("TREC split", split, TREC_FILES)
    name = f"eval/trec/{one_of('variant', variant, FOLDERS)}{file}"
    parts = [line.partition(" ") for line in lines(name, "latin-1")]
    expect(f"TREC {split}", len(parts), size)
    # The coarse type stands before the colon.
    found = [Row([kind.partition(":")[0], text], name, number) for number, (kind, _, text) in enumerate(parts, start=1)]
    labels = np.array([row.label(0, TREC_CLASSES) for row in found], dtype=np.int64)
    return LabelledSentences("TREC", [row[1] for row in found], labels, TREC_CLASSES)
