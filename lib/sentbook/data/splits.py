"""Data sets without an official trial part, divided the same way every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.data import readers
from sentbook.data.types import Columns, ScoredPairs

Data = TypeVar("Data", bound=Columns)
SPLITS = ("train", "trial", "test")
# Of MSRP's training pairs: those that choose epochs and thresholds.
MSRP_TRIAL = 0.1
# The sources of 2012 with training pairs; the other two are surprise sets.
STS2012_SOURCES = ("MSRpar", "MSRvid", "SMT-eur")
# Of each source its share of the 234 trial pairs.
STS2012_TRIAL = {0: 79, 1: 78, 2: 77}
# Short answers: questions 11.x and 12.x are the two exams.
EXAMS = ("11", "12")
ANSWERS_TRAIN, ANSWERS_TEST = 1460, 552


def share_of(data: Data, share: float, seed: int) -> Data:
    """Return a share of ``data``'s rows, drawn by ``seed``; a larger share holds every smaller one.

    At least two rows are kept, the fewest that a batch can hold.
    """
    if share == 1:
        return data
    size = len(data)
    chosen = np.random.default_rng([seed, size]).permutation(size)[: max(2, round(share * size))]
    return data.take(np.sort(chosen))


def held_out(groups: ArrayLike, sizes: Mapping[int, int], seed: int = 0) -> NDArray[np.bool_]:
    """Tell which rows are held out: of each group its number, drawn at random.

    Args:
        groups: (N,) the group of each row.
        sizes: group -> rows to hold out.

    Example:
        >>> held_out([0, 0, 0, 1, 1], {0: 2, 1: 1}).sum()
        np.int64(3)
    """
    members, rng = np.asarray(groups), np.random.default_rng(seed)
    held: list[int] = []
    for group, size in sizes.items():
        held += rng.permutation(np.flatnonzero(members == group))[:size].tolist()
    return np.isin(np.arange(len(members)), held)


def held_out_share(labels: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Tell which of (N,) labelled rows are held out: of each label its share, drawn at random (seed 0)."""
    return held_out(labels, {label: round(share * count) for label, count in enumerate(np.bincount(labels))})


def pool(name: str, sets: Sequence[ScoredPairs]) -> ScoredPairs:
    """Return all pairs of ``sets``, in order, as one set on their common scale."""
    [scale] = {pairs.scale for pairs in sets}
    return ScoredPairs.joined(sets, name=name, scale=scale)


def msrp(split: str) -> ScoredPairs:
    """Return MSRP with a ``trial`` part: a tenth of its training pairs, of each label alike; a paraphrase scores 1."""
    if split == "test":
        return readers.scored("msrp", "test")
    everything = readers.scored("msrp", "train")
    trial = held_out_share(everything.gold.astype(np.int64), MSRP_TRIAL)
    return everything.take(trial if split == "trial" else ~trial)


def sts2012_tests() -> list[ScoredPairs]:
    """Return the three test sets of 2012 that have training pairs: MSRpar 750, MSRvid 750 and SMT-eur 459."""
    named = {pairs.name: pairs for pairs in readers.sts(2012)}
    return [replace(named[f"STS2012/{source}"], name=f"STS12/{source}") for source in STS2012_SOURCES]


def sts2012(split: str) -> ScoredPairs:
    """Return STS 2012 as one set named ``STS12``: ``train`` 2000, ``trial`` 234 or ``test`` 1959 pairs.

    The trial pairs are drawn at random (seed 0) from the 2234 training pairs, of each source by its share.

    Source: Zhang et al. 2018, section 4.1, which gives the sizes; how its development pairs were chosen, and that the
    surprise sets are left out of the test, is not said (750 + 750 + 459 = 1959).
    """
    if split == "test":
        return pool("STS12", sts2012_tests())
    sets = readers.sts2012_train()
    trial = held_out(np.repeat(np.arange(len(sets)), [len(pairs) for pairs in sets]), STS2012_TRIAL)
    return pool("STS12", sets).take(trial if split == "trial" else ~trial)


def short_answers(split: str) -> ScoredPairs:
    """Return short answers: ``train`` 1460 and ``trial`` 261 of the assignments, ``test`` 552 of the exams.

    The trial answers are drawn at random (seed 0), so their questions are met in training too. Of the 19 questions of
    the exams two repeat an assignment's question (12.1 and 6.1, 12.6 and 9.1), and 12.7 has the reference of 8.2.

    Source: Zhang et al. 2018, section 4.1.
    Deviations: the paper states 500 development answers, but the assignments hold 1721, not 1960; its 1460 are kept.
    """
    answers, questions = readers.short_answers()
    exam = np.array([question.split(".")[0] in EXAMS for question in questions])
    trial = held_out(exam, {0: int((~exam).sum()) - ANSWERS_TRAIN})
    return answers.take({"train": ~exam & ~trial, "trial": trial, "test": exam}[split])


def short_answers_at_random(split: str) -> ScoredPairs:
    """Return the same answers and sizes, divided at random (seed 0): every question is met in training.

    Source: none; whether the exams are the paper's 552 test answers is inferred from their number.
    """
    answers, _ = readers.short_answers()
    order = np.random.default_rng(0).permutation(len(answers))
    parts = np.split(order, [ANSWERS_TRAIN, len(answers) - ANSWERS_TEST])
    return answers.take(np.sort(parts[SPLITS.index(split)]))
