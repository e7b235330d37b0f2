"""The nearest class mean: by the angle alone, each training vector with the same weight."""

from __future__ import annotations

import numpy as np
import pytest

from sentbook.evaluation.class_means import nearest_mean
from sentbook.io import NumericalError


def test_it_agrees_with_cosines_by_hand() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 4
    train, test = rng.normal(size=(60, 5)) + 2 * np.eye(4, 5)[labels], rng.normal(size=(30, 5))
    means = np.stack([np.mean([x / np.linalg.norm(x) for x in train[labels == k]], axis=0) for k in range(4)])
    cosines = [[x @ m / np.linalg.norm(x) / np.linalg.norm(m) for m in means] for x in test]
    assert nearest_mean(train, labels, test).tolist() == np.argmax(cosines, axis=1).tolist()
    assert (nearest_mean(train, labels, train) == labels).mean() > 0.7


def test_length_decides_nothing() -> None:
    rng = np.random.default_rng(1)
    train, test, labels = rng.normal(size=(20, 3)), rng.normal(size=(9, 3)), np.arange(20) % 2
    scaled = nearest_mean(train * rng.uniform(0.1, 9, size=(20, 1)), labels, test * 7)
    np.testing.assert_array_equal(scaled, nearest_mean(train, labels, test))


def test_a_vector_of_zeros_is_of_the_first_class() -> None:
    assert nearest_mean([[1, 0], [0, 1], [0, 0]], [0, 1, 1], [[0, 0]]).tolist() == [0]


def test_what_cannot_be_classified_is_refused() -> None:
    with pytest.raises(ValueError, match="Class 1 has no training vector"):
        nearest_mean([[1.0], [2.0]], [0, 2], [[1.0]])
    with pytest.raises(ValueError, match="do not fit"):
        nearest_mean([[1.0], [2.0]], [0], [[1.0]])
    with pytest.raises(NumericalError, match="lower learning rate"):
        nearest_mean([[np.nan], [2.0]], [0, 1], [[1.0]])
