"""Classification tasks of frozen sentence vectors, by name: five of single sentences and one of pairs.

Pairs of their sentences, so that the cosine can be trained towards the labels, are here too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, get_args

import numpy as np

from sentbook.data import readers
from sentbook.data.miniworld import World
from sentbook.data.readers import one_of
from sentbook.data.types import SPLITS, Examples, ScoredPairs, held_out_share

Task = Literal[
    "MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP", "miniworld/sentiment", "miniworld/product", "miniworld/subjectivity",
    "miniworld/polarity", "miniworld/question", "miniworld/paraphrase",
]  # fmt: skip
# Of Gan et al. 2017, in the order of table 3.
TASKS: tuple[Task, ...] = ("MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP")
# Tasks whose sentences are paired; data set of pairs, such as "miniworld-question" -> the task.
PairedTask = Literal["MR", "CR", "SUBJ", "MPQA", "TREC", "miniworld/sentiment", "miniworld/question"]
TASK_OF = {task.lower().replace("/", "-"): task for task in get_args(PairedTask)}
# Of a task without an official test set; and of the training sentences, those that choose epochs.
TEST_SHARE, TRIAL_SHARE = 0.2, 0.1
# More than a training takes: it draws its share of them by its seed.
SIZES = {"train": 20_000, "trial": 1_000, "test": 1_000}


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
        train, test = read("train"), read("test")
        return ClassificationTask(name, train.classes, train, test)
    whole = Examples.joined([read(split) for split in SPLITS]) if name.startswith("miniworld") else read()
    return ClassificationTask(name, whole.classes, whole, None)


def _paraphrases(read: Callable[[str], ScoredPairs], negative: str, split: str) -> Examples:
    found = read(split)
    return Examples(found.first, found.second, found.gold.astype(np.int64), classes=(negative, "paraphrase"))


_READERS: dict[str, Callable[..., Examples]] = {
    **{name: partial(readers.binary, name) for name in readers.BINARY},
    "TREC": readers.trec,
    "MSRP": partial(_paraphrases, partial(readers.scored, "msrp"), "different"),
    **{f"miniworld/{kind}": partial(World().classification, kind) for kind in World.TASKS},
    "miniworld/paraphrase": partial(_paraphrases, World().paraphrase, "not paraphrase"),
}
# With a test set; the others are predicted fold by fold.
_TESTED = {"TREC", "MSRP", "miniworld/question", "miniworld/paraphrase"}


# -- pairs of labelled sentences ---------------------------------------------------------------------------------------


@cache
def divided(name: str) -> dict[str, Examples]:
    """Return a task's sentences: ``train``, ``trial``, ``test``.

    The test sentences are the official ones or else a fifth of all, the trial sentences a tenth of the others; both are
    drawn at random (seed 0), of each class alike.

    Example:
        >>> {split: len(examples) for split, examples in divided("miniworld/sentiment").items()}
        {'train': 720, 'trial': 80, 'test': 200}
    """
    found = task(name)
    rest, test = found.train, found.test
    if test is None:
        held = held_out_share(rest.labels, TEST_SHARE)
        rest, test = rest.take(~held), rest.take(held)
    trial = held_out_share(rest.labels, TRIAL_SHARE)
    return {"train": rest.take(~trial), "trial": rest.take(trial), "test": test}


@cache
def pairs(dataset: str, split: str) -> ScoredPairs:
    """Return pairs within a split of a task's sentences: score 1 where both have one class, else 0; half of them each.

    A pair's first sentence is drawn from all, its second from the others of the class or of other classes (seed 0).

    Source: none; Zhang et al. 2018 define direct network transfer for scored pairs alone.

    Example:
        >>> made = pairs("miniworld-question", "trial")
        >>> len(made), made.gold.mean()
        (1000, np.float64(0.5))
    """
    examples, size = divided(TASK_OF[dataset])[split], SIZES[split]
    rng = np.random.default_rng([0, SPLITS.index(split)])
    first = rng.integers(len(examples), size=size)
    gold = rng.permutation(np.arange(size) % 2)
    second = np.empty_like(first)
    for label in np.unique(examples.labels):
        members = np.flatnonzero(examples.labels == label)
        others = np.flatnonzero(examples.labels != label)
        same, different = (np.flatnonzero((examples.labels[first] == label) & (gold == wanted)) for wanted in (1, 0))
        # So many places further round the class: never the sentence itself.
        steps = rng.integers(1, len(members), size=len(same))
        second[same] = members[(np.searchsorted(members, first[same]) + steps) % len(members)]
        second[different] = others[rng.integers(len(others), size=len(different))]
    one, other = (examples.take(rows).first for rows in (first, second))
    return ScoredPairs(f"{TASK_OF[dataset]} pairs", one, other, gold.astype(np.float64), (0, 1))
