"""What a paper used where this book has a substitute: its name, and its files as they were published.

The names stand in ``papers/<paper>/originals.yaml``. Whoever owns the files puts them into the folder of the originals;
they are not verified, so a line that cannot be read is named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np

from sentbook.data import sources
from sentbook.data.text import texts
from sentbook.data.types import LabelledPairs, ParaphrasePairs
from sentbook.io import DataError, parse_yaml

# Of each corpus of paraphrases the names that its file is published under.
PARAPHRASES: dict[str, tuple[str, ...]] = {
    # Ganitkevitch et al. 2013, or the distinct pairs that Wieting et al. 2016 made of it.
    "ppdb-xl-phrasal": ("ppdb-1.0-xl-phrasal", "ppdb-xl-phrasal", "phrase-training-data.txt"),
    "ppdb-xl-lexical": ("ppdb-1.0-xl-lexical", "ppdb-xl-lexical"),
    # Version 2 of Coster and Kauchak 2011, 167,689 pairs, joined by:
    # paste <(cut -f3 normal.aligned) <(cut -f3 simple.aligned) > simple-wikipedia-v2.tsv
    "simple-wikipedia-v2": ("simple-wikipedia-v2.tsv",),
    # Wieting and Gimpel 2018: the five million pairs of their encoders, or all.
    "paranmt": ("para-nmt-5m-processed.txt", "para-nmt-50m.txt"),
}
# SNLI and MultiNLI (Bowman et al. 2015; Williams et al. 2018), pooled as by Conneau et al. 2017.
INFERENCE = {
    "train": ("snli_1.0_train.jsonl", "multinli_1.0_train.jsonl"),
    "dev": ("snli_1.0_dev.jsonl", "multinli_1.0_dev_matched.jsonl"),
}
# Raised when the same file is to be read otherwise: part of the keys of what is trained on it.
_READER = 2
# Lines of a user's own pairs: names of columns, and what follows them.
_NUMBER = r" *[-+]?\d*\.?\d+(?:e[-+]?\d+)? *"
_NAMES = "first|second|source|target|premise|hypothesis|original|paraphrase|anchor|positive|query|reference|candidate"
_NAME = rf" *(?:(?:sentence|sent|text|phrase|question)[ _]?(?:[12ab]|one|two)?|{_NAMES}) *"
_HEADER = re.compile(rf"{_NAME}\t{_NAME}(?:\t *score *>=({_NUMBER}))?", re.IGNORECASE)
_SENTENCE = rf"(?!{_NUMBER}(?:\t|$))([^\t]*\S[^\t]*)"  # no number alone, which would be a label
CLASSES = ("contradiction", "neutral", "entailment")


@cache
def original(paper: str, kind: Literal["vectors", "sentences"]) -> str:
    """Name the word vectors or the sentence pairs that a paper used; empty where its folder does not say.

    Example:
        >>> original("cse", "vectors")
        'PARAGRAM-SL999'
    """
    path = files("sentbook") / "papers" / paper / "originals.yaml"
    return str(parse_yaml(path.read_text(encoding="utf-8")).get(kind, "")) if path.is_file() else ""


def digests(*corpora: str) -> dict[str, str]:
    """Digest every file of those of ``corpora`` that are originals, for the key of a training."""
    published = [PARAPHRASES[corpus] for corpus in corpora if corpus in PARAPHRASES]
    published += [(name,) for names in INFERENCE.values() for name in names if "all-nli" in corpora]
    found = [sources.owned(*names) for names in published]
    return {file.name: digest(file) for file in found}


def digest(file: Path) -> str:
    """Return the SHA-256 of a file and the version of its reader."""
    return f"{sources.file_digest(file)}-{_READER}"


def paraphrases(corpus: str) -> ParaphrasePairs:
    """Return one of `PARAPHRASES`: ``label ||| one ||| other ||| ...`` (PPDB) or a tab between, plain or as .gz.

    Distinct pairs in file order, stripped, without those whose sides are equal or empty.
    """
    file = sources.owned(*PARAPHRASES[corpus])
    return _distinct(corpus, _cells(file), file)


def own_pairs(file: Path) -> ParaphrasePairs:
    """Return the pairs of a user's own file, plain or as .gz: in each line two sentences with a tab between.

    A first line that names the two columns is left out: ``first`` and ``second``, or ``sentence1`` and ``sentence2``,
    say. It may declare a third column, of scores, and the lowest one of a pair that is kept, as ``score >= 0.8``. Blank
    lines are skipped, and repeated pairs.

    Raises:
        DataError: a line has another layout, or a number for a sentence, such as a label; the line is shown.
    """
    lines = [(number, line) for number, line in enumerate(sources.lines(file), start=1) if line.strip()]
    header = _HEADER.fullmatch(lines[0][1]) if lines else None
    least = float(header[1]) if header and header[1] else None
    pattern = rf"{_SENTENCE}\t{_SENTENCE}" + ("" if least is None else rf"\t({_NUMBER})")
    found, layout = list[tuple[str, str]](), re.compile(pattern, re.IGNORECASE)
    for number, line in lines[bool(header) :]:
        if (pair := layout.fullmatch(line)) is None:
            raise DataError(
                f"{file}, line {number}: {line[:60]!r} is not two sentences with a tab between; a third column needs a "
                f"first line such as {'first<TAB>second<TAB>score >= 0.8'!r}, which declares the scores that are kept."
            )
        if least is None or float(pair[3]) >= least:
            found.append((pair[1], pair[2]))
    return _distinct("file", found, file)


def _cells(file: Path) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(sources.lines(file), start=1):
        cells = line.split("|||")[1:] if "|||" in line.partition("\t")[0] else line.split("\t")
        if len(cells) >= 2:
            yield cells[0], cells[1]
        elif line.strip():
            raise DataError(f"{file}, line {number}: {line[:60]!r} holds no pair; correct or remove the line.")


def _distinct(corpus: str, found: Iterable[tuple[str, str]], file: Path) -> ParaphrasePairs:
    trimmed = ((one.strip(), other.strip()) for one, other in found)
    kept = dict.fromkeys((one, other) for one, other in trimmed if one and other and one != other)
    if not kept:
        raise DataError(f"{file} holds no pair; give one with a tab between two sentences in each line.")
    return ParaphrasePairs.of(corpus, kept)


def inference(part: str) -> LabelledPairs:
    """Return ``train`` or ``dev`` pairs of SNLI and MultiNLI, without those that no majority labelled (``-``)."""
    found: list[tuple[str, str, int]] = []
    for file in map(sources.owned, INFERENCE[part]):
        for number, line in enumerate(sources.lines(file), start=1):
            try:
                said = json.loads(line)
                if said["gold_label"] != "-":
                    first, second = texts([said["sentence1"], said["sentence2"]])
                    found.append((first, second, CLASSES.index(said["gold_label"])))
            except (ValueError, LookupError, TypeError, DataError) as error:
                raise DataError(f"{file}, line {number}: cannot be read ({error}); unpack it again.") from error
    if not found:
        raise DataError(f"{INFERENCE[part][0]} holds no pair with a label; unpack it again.")
    premises, hypotheses, labels = map(list, zip(*found, strict=True))
    return LabelledPairs("all-nli", premises, hypotheses, np.array(labels, dtype=np.int64), CLASSES)
