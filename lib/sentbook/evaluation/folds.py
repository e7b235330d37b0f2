"""Rows to folds, the same every time."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Labels = NDArray[np.int64]
Order = Literal["shuffled", "by length"]


def ordered(order: Order, labels: Labels, seed: int, lengths: ArrayLike | None = None) -> Labels:
    """Return (N,) rows in the order from which folds are cut.

    Args:
        order: ``shuffled``: one permutation by ``seed`` (the released skip-thoughts code shuffles positive sentences
            before negative ones by its own generator, so that its folds hold other rows); ``by length``: by tokens,
            then by label, as SentEval sorts its sentences.
        lengths: (N,) tokens of each row, or (N, 2) of each pair's sentences, for ``by length``.

    Example:
        >>> ordered("by length", np.array([1, 0, 0]), 0, [4, 4, 3]).tolist()
        [2, 1, 0]
    """
    if order == "shuffled":
        return np.random.default_rng(seed).permutation(len(labels))
    columns = np.reshape(np.asarray(lengths), (len(labels), -1)).T
    return np.lexsort((labels, *columns[::-1]))


def assign(labels: Labels, order: Labels, folds: int, stratified: bool, seed: int) -> Labels:
    """Return (N,) the fold of each row, 0 to ``folds`` - 1; -1 for rows that ``order`` does not name.

    Plain folds are consecutive parts of ``order``, the first ones larger by one where the rows do not divide.
    Stratified folds are scikit-learn's, shuffled by ``seed``.

    Example:
        >>> assign(np.zeros(5, dtype=np.int64), np.array([4, 3, 2, 0]), 2, False, 0).tolist()
        [1, -1, 1, 0, 0]
    """
    found = np.full(len(labels), -1, dtype=np.int64)
    if stratified:
        from sklearn.model_selection import StratifiedKFold  # a second to load

        division = StratifiedKFold(folds, shuffle=True, random_state=seed).split(order, labels[order])
        parts = [held for _, held in division]
    else:
        parts = np.array_split(np.arange(len(order)), folds)
    for number, part in enumerate(parts):
        found[order[part]] = number
    return found
