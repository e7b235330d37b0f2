"""A column resamples the same items for every method, and its mean resamples each data set by itself."""

from __future__ import annotations

import numpy as np
import pytest

from sentbook.data.types import ScoredPairs
from sentbook.evaluation import columns
from sentbook.evaluation.columns import Column, Items, column, mean_of
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.scorebook import ScoreBook
from sentbook.evaluation.taskbook import INTERVALS
from sentbook.training.correlation import pearson

RNG = np.random.default_rng(0)
GOLD = RNG.normal(size=120)
GOOD, POOR = GOLD + RNG.normal(size=(2, 120)) * 0.5, GOLD + RNG.normal(size=(1, 120)) * 3


def made(name: str = "X", resamples: int = 300) -> Column:
    return column(name, Measure.PEARSON, [Items(name, GOLD)], {"good": [GOOD], "poor": [POOR]}, resamples)


def test_a_value_is_the_mean_over_seeds_and_over_sets() -> None:
    found = made()
    assert found.values["good"] == pytest.approx(np.mean([pearson(row, GOLD) for row in GOOD]))
    parts = [Items("a", GOLD), Items("b", GOLD[:50])]
    both = column("year", Measure.PEARSON, parts, {"good": [GOOD, GOOD[:, :50]]}, 100)
    alone = [np.mean([pearson(row[:n], GOLD[:n]) for row in GOOD]) for n in (120, 50)]
    assert both.values["good"] == pytest.approx(np.mean(alone)) and both.n == 170


def test_the_interval_is_that_of_a_book_of_scores() -> None:
    pairs = ScoredPairs("X", [str(n) for n in range(120)], ["s"] * 120, GOLD, (-5, 5))
    book = ScoreBook([pairs])
    for seed, row in enumerate(GOOD):
        book.add("good", seed, "X", row)
    known, found = book.interval("good", "X", resamples=4000), made(resamples=4000).interval("good")
    assert found == pytest.approx((known.low, known.high), abs=0.01)


def test_pairs_that_were_asked_several_questions_are_resampled_together() -> None:
    """The four dimensions of human activities are of the same pairs."""
    texts = [str(n) for n in range(120)]
    one, other = (ScoredPairs(name, texts, texts, gold, (-5, 5)) for name, gold in (("SIM", GOLD), ("REL", -GOLD)))
    third = ScoredPairs("MA", texts[::-1], texts, GOLD, (-5, 5))
    np.testing.assert_array_equal(Items.of(one).drawn(20), Items.of(other).drawn(20))
    assert (Items.of(one).drawn(20) != Items.of(third).drawn(20)).any()


def test_the_best_is_tested_against_every_other_method() -> None:
    found = made()
    (test,) = found.tests()
    assert (test.a, test.b, test.dataset, test.metric) == ("good", "poor", "X", "pearson")
    assert test.low > 0 and test.p == pytest.approx(1 / 301) and test.p_holm is None
    assert "adjusted for all pairs" in test.kind
    assert found.letters() == {"good": "a", "poor": "b"}


def test_a_mean_holds_the_methods_that_all_columns_hold() -> None:
    other = column("Y", Measure.ACCURACY, [Items("Y", np.ones(10))], {"good": [np.ones(10)], "new": [np.ones(10)]}, 300)
    mean = mean_of("mean", "correlation", [made(), other])
    assert mean.methods == ["good"] and mean.n == 130
    assert mean.values["good"] == pytest.approx((made().values["good"] + 1) / 2)
    np.testing.assert_allclose(mean.sampled["good"], (made().sampled["good"] + 1) / 2)


def test_what_a_run_keeps_of_columns() -> None:
    kept = columns.summary([made(), made("Z")])
    assert kept[columns.COLUMNS] == [["X", "pearson"], ["Z", "pearson"]]
    assert kept[columns.LETTERS]["pearson"]["Z"] == {"good": "a", "poor": "b"}
    low, high = kept[INTERVALS]["pearson"]["X"]["poor"]
    assert low < made().values["poor"] < high


def test_labels_of_several_classes() -> None:
    gold = np.arange(90) % 3
    found = column(
        "T", Measure.ACCURACY, [Items("T", gold)], {"a": [gold], "b": [np.where(np.arange(90) < 45, gold, 9)]}, 200
    )
    assert found.values == {"a": 1.0, "b": 0.5} and found.best == "a"
