"""Gold scores on the range of a cosine and on a classifier's classes, and back."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sentbook.models.losses import sparse_target
from sentbook.system.errors import DataError
from sentbook.training.correlation import pearson, spearman
from sentbook.training.targets import from_classes, from_range, shift_to_classes, to_range

SCALES = [(0.0, 5.0), (1.0, 5.0), (0.0, 4.0), (-2.0, 2.0), (0.0, 1.0)]
RANGES = [(0.0, 1.0), (-1.0, 1.0)]


@st.composite
def scores_on_a_scale(draw: st.DrawFn) -> tuple[tuple[float, float], np.ndarray]:
    low, high = draw(st.sampled_from(SCALES))
    return (low, high), np.array(draw(st.lists(st.floats(low, high), min_size=1, max_size=30)))


@given(scores_on_a_scale(), st.sampled_from(RANGES))
def test_scores_stay_in_order_and_within_the_limits(
    made: tuple[tuple[float, float], np.ndarray], limits: tuple[float, float]
) -> None:
    scale, gold = made
    found = to_range(gold, scale, limits)
    assert found.dtype == np.float64 and found.shape == gold.shape
    assert limits[0] <= found.min() and found.max() <= limits[1]
    assert (np.diff(found[np.argsort(gold)]) >= 0).all()
    np.testing.assert_allclose(from_range(found, scale, limits), gold, atol=1e-12)
    # [-1, 1] is twice [0, 1] less one, as the paper's two halves of table 5.
    np.testing.assert_allclose(to_range(gold, scale, (-1, 1)), 2 * to_range(gold, scale, (0, 1)) - 1, atol=1e-12)


@given(scores_on_a_scale())
@settings(deadline=None, max_examples=50)
def test_classes_begin_at_one_and_targets_expect_the_score(made: tuple[tuple[float, float], np.ndarray]) -> None:
    scale, gold = made
    scores, classes = shift_to_classes(gold, scale)
    assert scores.min() >= 1 and scores.max() <= classes
    np.testing.assert_allclose(from_classes(scores, scale), gold, atol=1e-12)
    target = sparse_target(torch.from_numpy(scores), classes).numpy()
    np.testing.assert_allclose(target.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(target @ np.arange(1, classes + 1), scores, atol=1e-12)


@pytest.mark.parametrize(
    ("scale", "shift", "classes"), [((0, 5), 1, 6), ((0, 4), 1, 5), ((-2, 2), 3, 5), ((1, 5), 0, 5)]
)
def test_every_scale_of_the_paper(scale: tuple[float, float], shift: float, classes: int) -> None:
    low, high = scale
    middle = (low + high) / 2
    scores, found = shift_to_classes([low, middle, high], scale)
    assert scores.tolist() == [low + shift, middle + shift, high + shift]
    assert (scores[0], scores[-1], found) == (1, classes, classes)
    assert to_range([low, middle, high], scale, (0, 1)).tolist() == [0, 0.5, 1]
    assert to_range([low, middle, high], scale, (-1, 1)).tolist() == [-1, 0, 1]


def test_limits_count_and_not_observed_extremes() -> None:
    assert to_range([2.0, 3.0], (1, 5), (0, 1)).tolist() == [0.25, 0.5]


def test_correlations_do_not_change() -> None:
    rng = np.random.default_rng(0)
    gold, scores = rng.uniform(-2, 2, 50), rng.normal(size=50)
    for moved in (
        to_range(gold, (-2, 2), (0, 1)),
        to_range(gold, (-2, 2), (-1, 1)),
        shift_to_classes(gold, (-2, 2))[0],
    ):
        assert pearson(scores, moved) == pytest.approx(pearson(scores, gold))
        assert spearman(scores, moved) == spearman(scores, gold)


def test_a_cosine_below_zero_lands_below_the_scale() -> None:
    assert from_range([-0.5], (1, 5), (0, 1)).tolist() == [-1.0]


@pytest.mark.parametrize("bad", [-0.1, 5.01, math.nan, math.inf])
def test_scores_outside_their_scale_are_refused(bad: float) -> None:
    for convert in (lambda gold: to_range(gold, (0, 5), (0, 1)), lambda gold: shift_to_classes(gold, (0, 5))):
        with pytest.raises(DataError, match="1 of 3 gold scores lie outside 0 to 5"):
            convert([0.0, bad, 5.0])


def test_wrong_limits_are_refused() -> None:
    for call in (
        lambda: to_range([1], (5, 1), (0, 1)),
        lambda: to_range([1], (1, 5), (1, 1)),
        lambda: from_range([1], (1, 5), (1, -1)),
        lambda: shift_to_classes([1], (1, 1)),
        lambda: from_classes([1], (5, 0)),
    ):
        with pytest.raises(ValueError, match="do not rise"):
            call()
    with pytest.raises(ValueError, match="no whole classes"):
        shift_to_classes([1], (0, 4.5))


def test_no_scores_are_no_scores() -> None:
    assert to_range([], (0, 5), (0, 1)).shape == (0,)
    assert shift_to_classes([], (0, 5))[1] == 6
