"""Classification tasks of frozen sentence vectors, by name: five of single sentences and one of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, get_args

import numpy as np

from sentbook.data import readers
from sentbook.data.miniworld import World
from sentbook.data.tables import one_of
from sentbook.data.types import Examples, LabelledPairs

Task = Literal[
    "MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP", "miniworld/sentiment", "miniworld/product", "miniworld/subjectivity",
    "miniworld/polarity", "miniworld/question", "miniworld/paraphrase",
]  # fmt: skip
# Of Gan et al. 2017, in the order of table 3.
TASKS: tuple[Task, ...] = ("MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP")
NAMES: tuple[Task, ...] = get_args(Task)


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
        """Return the examples whose labels are predicted."""
        return self.train if self.test is None else self.test

    @property
    def majority(self) -> float:
        """Return the share of judged examples that are of the training examples' most frequent class."""
        return float((self.judged.labels == np.bincount(self.train.labels).argmax()).mean())


@cache
def task(name: str) -> ClassificationTask:
    """Return a task by its name in tables.

    MR, CR, SUBJ and MPQA have no official test set. The mini-world's likenesses of them pool its three splits; those of
    TREC and of MSRP have its training and its test split.

    Example:
        >>> found = task("miniworld/question")
        >>> len(found.train), len(found.test), round(found.majority, 2)
        (600, 300, 0.17)
    """
    read = one_of("task", name, _READERS)
    if name in _TESTED:
        parts = [read("train"), read("test")]
    else:
        parts = [read()] if name in TASKS else [read(split) for split in ("train", "trial", "test")]
    classes = parts[0].classes
    examples = [Examples(part.first, part.second, part.labels) for part in parts]
    if name in _TESTED:
        return ClassificationTask(name, classes, *examples)
    return ClassificationTask(name, classes, Examples.joined(examples), None)


_READERS: dict[str, Callable[..., Examples | LabelledPairs]] = {
    **{name: partial(readers.binary, name) for name in ("MR", "CR", "SUBJ", "MPQA")},
    "TREC": readers.trec,
    "MSRP": readers.msrp,
    **{f"miniworld/{kind}": partial(World().classification, kind) for kind in World.TASKS},
    "miniworld/paraphrase": World().paraphrase,
}
# With a test set; the others are predicted fold by fold.
_TESTED = {"TREC", "MSRP", "miniworld/question", "miniworld/paraphrase"}
