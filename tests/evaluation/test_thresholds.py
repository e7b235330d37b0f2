"""Thresholds against an exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from sentbook.evaluation.protocols import decide, threshold


def exhaustive(scores: np.ndarray, labels: np.ndarray) -> float:
    """The best value that any threshold reaches."""
    values = np.unique(scores)
    bounds = [values[0] - 1, *(values[1:] + values[:-1]) / 2, values[-1] + 1]
    return max(accuracy_score(labels, decide(scores, bound)) for bound in bounds)


SCORED = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), min_size=1, max_size=25)


@given(pairs=SCORED)
def test_no_threshold_decides_better(pairs: list[tuple[int, int]]) -> None:
    scores, labels = np.array(pairs, dtype=float).T
    scores /= 8  # few distinct values, hence ties
    reached = accuracy_score(labels, decide(scores, threshold(scores, labels)))
    assert reached == pytest.approx(exhaustive(scores, labels), abs=1e-12)


def test_ties_go_to_the_nearest_to_one_half_and_neighbouring_floats_can_be_parted() -> None:
    assert threshold([0.2, 0.3, 0.6, 0.9], [1, 0, 1, 0]) == pytest.approx(0.45)  # 2 right by .1, .45 and others
    assert threshold([0.9, 0.8], [1, 1]) <= 0.8
    assert threshold([0.1, 0.2], [0, 0]) > 0.2
    neighbours = np.array([0.3, np.nextafter(0.3, 1)])
    np.testing.assert_array_equal(decide(neighbours, threshold(neighbours, [0, 1])), [0, 1])
    np.testing.assert_array_equal(decide([0.49, 0.5, 1.0], 0.5), [0, 1, 1])  # on the threshold is a yes
