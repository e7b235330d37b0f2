"""Pairs of labelled sentences, so that the cosine can be trained towards the labels of a classification task."""

from __future__ import annotations

from functools import cache

import numpy as np

from sentbook.data.splits import SPLITS, held_out_share
from sentbook.data.tasks import Examples, Task, task
from sentbook.data.types import ScoredPairs

# Data set of pairs -> the task whose sentences it pairs.
TASK_OF: dict[str, Task] = {
    "mr": "MR",
    "cr": "CR",
    "subj": "SUBJ",
    "mpqa": "MPQA",
    "trec": "TREC",
    "miniworld-sentiment": "miniworld/sentiment",
    "miniworld-question": "miniworld/question",
}
# Of a task without an official test set; and of the training sentences, those that choose epochs.
TEST_SHARE, TRIAL_SHARE = 0.2, 0.1
# More than a training takes: it draws its share of them by its seed.
SIZES = {"train": 20_000, "trial": 1_000, "test": 1_000}


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


def training(name: str) -> Examples:
    """Return all sentences of a task but the test sentences: train, then trial."""
    parts = divided(name)
    return Examples.joined([parts["train"], parts["trial"]])


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
