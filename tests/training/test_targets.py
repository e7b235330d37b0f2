"""Gold scores on a classifier's classes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sentbook.io import DataError
from sentbook.models.losses import sparse_target
from sentbook.training.targets import shift_to_classes

SCALES = [(0.0, 5.0), (1.0, 5.0), (0.0, 4.0), (-2.0, 2.0), (0.0, 1.0)]


@given(scale=st.sampled_from(SCALES), shares=st.lists(st.floats(0, 1), max_size=30))
@settings(max_examples=50)
def test_classes_begin_at_one_and_targets_expect_the_score(scale: tuple[float, float], shares: list[float]) -> None:
    low, high = scale
    gold = low + (high - low) * np.array(shares)
    scores, classes = shift_to_classes(gold, scale)
    assert classes == high - low + 1
    np.testing.assert_allclose(scores - gold, 1 - low)
    target = sparse_target(torch.from_numpy(scores), classes).numpy()
    np.testing.assert_allclose(target.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(target @ np.arange(1, classes + 1), scores, atol=1e-12)


@pytest.mark.parametrize("bad", [-0.1, 5.01, math.nan, math.inf])
def test_scores_outside_their_scale_are_refused(bad: float) -> None:
    with pytest.raises(DataError, match="1 of 3 gold scores lie outside 0 to 5"):
        shift_to_classes([0.0, bad, 5.0], (0, 5))


def test_wrong_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="do not rise"):
        shift_to_classes([1], (1, 1))
    with pytest.raises(ValueError, match="no whole classes"):
        shift_to_classes([1], (0, 4.5))
