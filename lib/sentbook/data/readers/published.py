"""The papers' own training pairs and Mohler's archive, in the formats they were published in, among the originals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sentbook.data import sources
from sentbook.data.readers.tables import Row, rows
from sentbook.data.types import LabelledPairs, ParaphrasePairs
from sentbook.io import DataError, originals

# Of each corpus of paraphrases its files, each by the names that it is published under.
PARAPHRASES: dict[str, tuple[tuple[str, ...], ...]] = {
    # Ganitkevitch et al. 2013, or the distinct pairs that Wieting et al. 2016 made of it.
    "ppdb-xl-phrasal": (("ppdb-1.0-xl-phrasal", "ppdb-xl-phrasal", "phrase-training-data.txt"),),
    "ppdb-xl-lexical": (("ppdb-1.0-xl-lexical", "ppdb-xl-lexical"),),
    # Version 2 of Coster and Kauchak 2011: 167,689 pairs.
    "simple-wikipedia-v2": (("normal.aligned",), ("simple.aligned",)),
    # Wieting and Gimpel 2018: the five million pairs of their encoders, or all.
    "paranmt": (("para-nmt-5m-processed.txt", "para-nmt-50m.txt"),),
}
# SNLI and MultiNLI (Bowman et al. 2015; Williams et al. 2018), pooled as by Conneau et al. 2017.
INFERENCE = {
    "train": (("snli_1.0_train.jsonl",), ("multinli_1.0_train.jsonl",)),
    "dev": (("snli_1.0_dev.jsonl",), ("multinli_1.0_dev_matched.jsonl",)),
}
FILES = PARAPHRASES | {"all-nli": sum(INFERENCE.values(), ())}
_CLASSES = ("contradiction", "neutral", "entailment")


def bookcorpus() -> Path:
    """The folder ``bookcorpus`` of the originals, a sentence a line (Zhu et al. 2015).

    Raises:
        DataError: it is not there; the sentence says where to put it, and how novels are read in its place.
    """
    folder = originals() / "bookcorpus"
    if not folder.is_dir():
        raise DataError(
            f"BookCorpus is not in {folder}; put its .txt files there, let SENTBOOK_ORIGINALS name the folder that has "
            "bookcorpus, or set pretraining.corpus to 'novels'."
        )
    return folder


def digests(*corpora: str) -> dict[str, str]:
    """The SHA-256 of every file of those of ``corpora`` that are read from the originals, for the key of a training.

    Raises:
        DataError: a file is not there.
    """
    files = [sources.owned(*names) for corpus in corpora for names in FILES.get(corpus, ())]
    return {file.name: sources.file_digest(file) for file in files}


def paraphrases(corpus: str) -> ParaphrasePairs:
    """One of `PARAPHRASES`: distinct pairs in file order, without those whose sides are equal or empty.

    Raises:
        DataError: a file is not there or damaged, a line has no two sides (it is named), or there is no pair.
    """
    files = [sources.owned(*names) for names in PARAPHRASES[corpus]]
    if len(files) == 1:
        return pairs(files[0], corpus)
    sides = [[row[2] for row in rows(file, 3)] for file in files]  # a title, the number of a paragraph, a sentence
    if len(sides[0]) != len(sides[1]):
        raise DataError(f"{files[0].name} and {files[1].name} are not of one length; unpack them again.")
    return _distinct(corpus, zip(*sides, strict=True), files[0])


def pairs(file: Path, corpus: str = "file") -> ParaphrasePairs:
    """The pairs of a file, PPDB's or with a tab between, plain or as .gz; distinct and raising as `paraphrases`."""
    return _distinct(corpus, map(_sides, rows(file, 1)), file)


def own_pairs(path: str) -> Path:
    """The file of pairs that the user names.

    Raises:
        DataError: there is no such file.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(f"The file of pairs {file} does not exist; let path name one with a tab between two sentences.")
    return sources.noted(file)


def _distinct(corpus: str, found: Iterable[tuple[str, ...]], file: Path) -> ParaphrasePairs:
    trimmed = ((one.strip(), other.strip()) for one, other in found)
    kept = dict.fromkeys((one, other) for one, other in trimmed if one and other and one != other)
    if not kept:
        raise DataError(f"{file} holds no pair; unpack it again.")
    return ParaphrasePairs.of(corpus, kept)


def inference(part: str) -> LabelledPairs:
    """``train`` or ``dev`` pairs of SNLI and MultiNLI; those without a label of the majority (``-``) are left out.

    Raises:
        DataError: a file is not there, or a line is no JSON of two sentences and a label; it is named.
    """
    found: list[tuple[str, str, int]] = []
    for row in (row for names in INFERENCE[part] for row in rows(sources.owned(*names), 1)):
        try:
            said = json.loads("\t".join(row.cells))
            if said["gold_label"] != "-":
                label = Row([said["gold_label"]], row.file, row.line).label(0, _CLASSES)
                found.append((said["sentence1"], said["sentence2"], label))
        except (ValueError, LookupError, TypeError) as error:
            raise row.fault(f"cannot be read ({error})") from error
    first, second, labels = map(list, zip(*found, strict=True))
    return LabelledPairs("all-nli", first, second, np.array(labels, dtype=np.int64), _CLASSES)


def answers() -> list[list[str]] | None:
    """Mohler's archive as rows of the flat file that stands for it, or None where it is not among the originals.

    A row has the answer's id, whether its question is in the published set, the question, the reference answer, the
    answer, and the two grades and their mean (Mohler, Bunescu and Mihalcea 2011, release 2).

    Raises:
        DataError: a file of the archive is not there.
    """
    listed = sources.original("data/docs/files")
    if listed is None:
        return None
    folder, rows, content = listed.parents[1], [], list[str]()

    def lines(name: str) -> list[str]:
        if not (folder / name).is_file():
            raise DataError(f"{folder / name} is missing; unpack the archive of short answers again.")
        content.append((folder / name).read_text(encoding="utf-8", errors="replace"))
        return content[-1].removesuffix("\n").split("\n")

    def numbered(name: str) -> list[tuple[str, str]]:
        cells = (line.partition(" ") for line in lines(f"raw/{name}"))
        return [(number, " ".join(text.split())) for number, _, text in cells]

    questions, references = dict(numbered("questions")), dict(numbered("answers"))
    for line in lines("docs/files"):
        number, kept = line.lstrip("#").strip(), "0" if line.startswith("#") else "1"
        columns = (lines(f"scores/{number}/{grader}") for grader in ("me", "other", "ave"))
        try:
            for at, ((_, answer), *grades) in enumerate(zip(numbered(number), *columns, strict=True)):
                rows.append([f"{number}.{at}", kept, questions[number], references[number], answer, *grades])
        except (ValueError, KeyError) as error:
            raise DataError(
                f"Question {number} of {folder} is not whole ({error}); unpack the archive again."
            ) from None
    whole = "".join(content).encode()
    sources.note(folder.parent.name, len(whole), hashlib.sha256(whole).hexdigest())
    return rows


def _sides(row: Row) -> tuple[str, str]:
    """Both members of a pair: of PPDB's ``label ||| one ||| other ||| ...``, else with a tab between."""
    cells = row[0].split("|||")[1:] if "|||" in row[0] else row.cells
    if len(cells) < 2:
        raise row.fault("it holds no pair")
    return cells[0], cells[1]
