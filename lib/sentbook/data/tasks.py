"""Classification tasks of frozen sentence vectors, by name: five of single sentences and one of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sentbook.data import readers
from sentbook.data.miniworld import World
from sentbook.data.readers.tables import one_of
from sentbook.data.types import LabelledPairs, LabelledSentences

Task = Literal[
    "MR",
    "CR",
    "SUBJ",
    "MPQA",
    "TREC",
    "MSRP",
    "miniworld/sentiment",
    "miniworld/product",
    "miniworld/subjectivity",
    "miniworld/polarity",
    "miniworld/question",
    "miniworld/paraphrase",
]
# Of Gan et al. 2017, in the order of table 3.
TASKS: tuple[Task, ...] = ("MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP")
NAMES: tuple[Task, ...] = get_args(Task)


@dataclass(frozen=True)
class Examples:
    """Sentences, or pairs of them, with a class each.

    Attributes:
        first: N sentences.
        second: the other sentence of each pair; None for single sentences.
        labels: (N,) classes.
    """

    first: list[str]
    second: list[str] | None
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def sentences(self) -> list[str]:
        """All sentences; those that are second come behind those that are first."""
        return [*self.first, *(self.second or [])]


@dataclass(frozen=True)
class ClassificationTask:
    """A task as the papers evaluate it.

    Attributes:
        train: all examples, where there is no test set: they are predicted fold by fold.
        test: None, or the official test set.
    """

    name: str
    classes: tuple[str, ...]
    train: Examples
    test: Examples | None

    @property
    def pairs(self) -> bool:
        return self.train.second is not None

    @property
    def judged(self) -> Examples:
        """The examples whose labels are predicted."""
        return self.train if self.test is None else self.test

    @property
    def majority(self) -> float:
        """The share of judged examples that are of the training examples' most frequent class."""
        return float((self.judged.labels == np.bincount(self.train.labels).argmax()).mean())


@cache
def task(name: str) -> ClassificationTask:
    """A task by its name in tables.

    MR, CR, SUBJ and MPQA have no official test set. The mini-world's likenesses of them pool its three splits; those of
    TREC and of MSRP have its training and its test split.

    Raises:
        ConfigError: an unknown name.
        DataError: a file is missing, or has not its official size.

    Example:
        >>> found = task("miniworld/question")
        >>> len(found.train), len(found.test), round(found.majority, 2)
        (600, 300, 0.17)
    """
    one_of("task", name, dict.fromkeys(NAMES))
    if name == "MSRP":
        return _of(name, readers.msrp("train"), readers.msrp("test"))
    if name == "TREC":
        return _of(name, readers.trec("train"), readers.trec("test"))
    if name in TASKS:
        return _of(name, {"MR": readers.mr, "CR": readers.cr, "SUBJ": readers.subj, "MPQA": readers.mpqa}[name]())
    kind = name.removeprefix("miniworld/")
    if kind == "paraphrase":
        return _of(name, World().paraphrase("train"), World().paraphrase("test"))
    parts = [World().classification(kind, split) for split in ("train", "trial", "test")]
    if kind == "question":
        return _of(name, parts[0], parts[2])
    sentences = [sentence for part in parts for sentence in part.sentences]
    labels = np.concatenate([part.labels for part in parts])
    return _of(name, LabelledSentences(name, sentences, labels, parts[0].classes))


def _of(
    name: str, train: LabelledSentences | LabelledPairs, test: LabelledSentences | LabelledPairs | None = None
) -> ClassificationTask:
    return ClassificationTask(name, train.classes, _examples(train), None if test is None else _examples(test))


def _examples(found: LabelledSentences | LabelledPairs) -> Examples:
    if isinstance(found, LabelledPairs):
        return Examples(found.first, found.second, found.labels)
    return Examples(found.sentences, None, found.labels)
