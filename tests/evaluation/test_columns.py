"""A column resamples the same items for every method, and its mean resamples each data set by itself."""

from __future__ import annotations

import numpy as np
import pytest

from sentbook.data.types import ScoredPairs
from sentbook.evaluation import columns
from sentbook.evaluation.columns import Column, by_text, column, mean_of
from sentbook.evaluation.predictions import INTERVALS, Predictions, task_predictions
from sentbook.evaluation.protocols import Measure

RNG = np.random.default_rng(0)
GOLD = RNG.normal(size=120)
GOOD, POOR = GOLD + RNG.normal(size=(2, 120)) * 0.5, GOLD + RNG.normal(size=(1, 120)) * 3


def book() -> Predictions:
    made = Predictions({"X": GOLD, "Y": GOLD[:50]}, means={"year": ["X", "Y"]})
    for method, table in (("good", GOOD), ("poor", POOR)):
        for seed, row in enumerate(table):
            made.add(method, seed, "X", row)
            made.add(method, seed, "Y", row[:50])
    return made


def made(row: str = "X") -> Column:
    return column(book(), row, Measure.PEARSON, 300)


def test_values_and_intervals_are_those_of_the_book() -> None:
    for row in ("X", "year"):
        found, known = made(row), book().interval("good", row, resamples=300)
        assert found.values["good"] == pytest.approx(known.estimate)
        assert found.interval("good") == pytest.approx((known.low, known.high))
    assert made("year").n == 170


def test_pairs_that_were_asked_several_questions_are_resampled_together() -> None:
    """The four dimensions of human activities are of the same pairs."""
    texts = [str(n) for n in range(120)]
    sets = [
        ScoredPairs(name, first, texts, GOLD, (-5, 5))
        for name, first in (("SIM", texts), ("REL", texts), ("MA", texts[::-1]))
    ]
    one, other, third = (by_text(sets).counts(pairs.name, 120, 20) for pairs in sets)
    np.testing.assert_array_equal(one, other)
    assert (one != third).any()


def test_the_best_is_tested_against_every_other_method() -> None:
    found = made()
    (test,) = found.tests()
    assert (test.a, test.b, test.dataset, test.metric) == ("good", "poor", "X", "pearson")
    assert test.low > 0 and test.p == pytest.approx(1 / 301) and test.p_holm is None
    assert "adjusted for all pairs" in test.kind
    assert found.letters() == {"good": "a", "poor": "b"} and found.best == "good"


def test_a_mean_holds_the_methods_that_all_columns_hold() -> None:
    labels = task_predictions()
    for method in ("good", "new"):
        labels.add_labels(method, 1, "T", np.arange(9) % 3, np.arange(9) % 3)
    other = column(labels, "T", Measure.ACCURACY, 300)
    mean = mean_of("mean", "correlation", [made(), other])
    assert mean.methods == ["good"] and mean.n == 129
    assert mean.values["good"] == pytest.approx((made().values["good"] + 1) / 2)
    np.testing.assert_allclose(mean.sampled["good"], (made().sampled["good"] + 1) / 2)


def test_what_a_run_keeps_of_columns() -> None:
    kept = columns.summary([made(), made("Y")])
    assert kept[columns.COLUMNS] == [["X", "pearson"], ["Y", "pearson"]]
    assert set(kept[columns.LETTERS]["pearson"]["Y"]) == {"good", "poor"}
    low, high = kept[INTERVALS]["pearson"]["X"]["poor"]
    assert low < made().values["poor"] < high
