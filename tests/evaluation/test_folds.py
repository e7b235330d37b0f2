"""Folds: every row once, the classes' shares where they are asked for, and the orders of both protocols."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sentbook.evaluation.classification import assign_folds, fold_order


@given(rows=st.integers(10, 60), folds=st.integers(2, 10), seed=st.integers(0, 99), drop=st.integers(0, 5))
def test_every_named_row_is_in_one_fold(rows: int, folds: int, seed: int, drop: int) -> None:
    labels = np.arange(rows) % 2
    order = fold_order("shuffled", labels, seed)[: max(rows - drop, folds)]
    found = assign_folds(labels, order, folds, False, seed)
    counts = np.bincount(found[found >= 0], minlength=folds)
    assert counts.sum() == len(order) and counts.max() - counts.min() <= 1
    assert set(np.flatnonzero(found >= 0)) == set(order.tolist())
    assert np.all(np.diff(found[order]) >= 0)  # consecutive parts of the order


def test_stratified_folds_have_the_shares_of_the_classes() -> None:
    labels = np.repeat([0, 1, 2], [60, 30, 10])
    order = fold_order("by length", labels, 0, np.arange(100)[::-1])
    assert order.tolist() == list(range(99, -1, -1))
    found = assign_folds(labels, order, 10, True, 1111)
    for fold in range(10):
        assert np.bincount(labels[found == fold]).tolist() == [6, 3, 1]
    assert np.array_equal(found, assign_folds(labels, order, 10, True, 1111))
    assert not np.array_equal(found, assign_folds(labels, order, 10, True, 1))


def test_orders() -> None:
    labels = np.array([1, 0, 1, 0])
    assert fold_order("by length", labels, 0, [2, 2, 1, 3]).tolist() == [2, 1, 0, 3]
    assert fold_order("by length", labels, 0, [[1, 9], [1, 3], [0, 9], [1, 3]]).tolist() == [2, 1, 3, 0]
    shuffled = [fold_order("shuffled", np.zeros(50), seed).tolist() for seed in (1, 1, 2)]
    assert shuffled[0] == shuffled[1] != shuffled[2] and sorted(shuffled[0]) == list(range(50))
