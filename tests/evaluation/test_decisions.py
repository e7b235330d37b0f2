"""Thresholds against an exhaustive search; decisions against scikit-learn; the bootstrap of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from sentbook.data import suites
from sentbook.evaluation import statistics
from sentbook.evaluation.decisions import DecisionBook, decide, threshold
from sentbook.evaluation.protocols import Measure, Protocol, Score
from sentbook.runs import printed as reported
from sentbook.system.errors import NumericalError

Goal = Literal["accuracy", "f1"]
QUALITY = {"accuracy": accuracy_score, "f1": lambda gold, found: f1_score(gold, found, zero_division=0.0)}


# -- thresholds --------------------------------------------------------------------------------------------------------


def exhaustive(scores: np.ndarray, labels: np.ndarray, goal: Goal) -> float:
    """The best value that any threshold reaches."""
    values = np.unique(scores)
    bounds = [values[0] - 1, *(values[1:] + values[:-1]) / 2, values[-1] + 1]
    return max(QUALITY[goal](labels, decide(scores, bound)) for bound in bounds)


SCORED = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), min_size=1, max_size=25)


@pytest.mark.parametrize("goal", ["accuracy", "f1"])
@given(pairs=SCORED)
def test_no_threshold_decides_better(goal: Goal, pairs: list[tuple[int, int]]) -> None:
    scores, labels = np.array(pairs, dtype=float).T
    scores /= 8  # few distinct values, hence ties
    reached = QUALITY[goal](labels, decide(scores, threshold(scores, labels, goal)))
    assert reached == pytest.approx(exhaustive(scores, labels, goal), abs=1e-12)


@given(st.permutations(range(12)))
def test_order_and_repeats_do_not_matter(order: list[int]) -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 6, 12) / 5, rng.integers(0, 2, 12)
    bound = threshold(scores, labels)
    assert threshold(scores[order], labels[order]) == bound
    assert threshold(np.tile(scores, 3), np.tile(labels, 3)) == bound


def test_ties_go_to_the_nearest_to_one_half() -> None:
    assert threshold([0.2, 0.3, 0.6, 0.9], [1, 0, 1, 0]) == pytest.approx(0.45)  # 2 right by .1, .45 and others
    assert threshold([0.9, 0.8], [1, 1]) <= 0.8
    assert threshold([0.1, 0.2], [0, 0]) > 0.2


def test_f1_asks_for_more_yes_than_accuracy() -> None:
    rng = np.random.default_rng(0)
    labels = (rng.random(2000) < 0.3).astype(int)
    scores = np.clip(0.4 + 0.2 * labels + 0.2 * rng.normal(size=2000), 0, 1)
    assert threshold(scores, labels, "f1") < threshold(scores, labels, "accuracy")


def test_neighbouring_floats_can_be_parted() -> None:
    low = 0.3
    scores = np.array([low, np.nextafter(low, 1)])
    np.testing.assert_array_equal(decide(scores, threshold(scores, [0, 1])), [0, 1])


def test_a_score_on_the_threshold_is_a_yes() -> None:
    np.testing.assert_array_equal(decide([0.49, 0.5, 1.0], 0.5), [0, 1, 1])


def test_large_sets_are_fast_and_right() -> None:
    rng = np.random.default_rng(1)
    scores, labels = rng.random(200_000), rng.integers(0, 2, 200_000)
    bound = threshold(scores, labels)  # an exhaustive search would take hours
    near = [accuracy_score(labels, decide(scores, bound + step)) for step in (-0.01, 0, 0.01)]
    assert near[1] == max(near)


def test_what_cannot_be_decided() -> None:
    with pytest.raises(ValueError, match="as many labels as scores"):
        threshold([0.1, 0.2], [1])
    with pytest.raises(ValueError, match="as many labels as scores"):
        threshold([], [])
    for call in (lambda: threshold([0.1, np.nan], [0, 1]), lambda: decide([np.inf], 0.5)):
        with pytest.raises(NumericalError, match="NaN or infinite"):
            call()


# -- the book ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def book() -> DecisionBook:
    """A errs on a tenth, with three seeds; B on four tenths, with two."""
    rng = np.random.default_rng(0)
    gold = (rng.random(400) < 0.65).astype(int)
    made = DecisionBook("MSRP", gold)
    for method, errors, seeds in (("A", 0.1, 3), ("B", 0.4, 2)):
        for seed in range(seeds):
            made.add(method, seed, np.where(rng.random(400) < errors, 1 - gold, gold))
    return made


def test_values_are_those_of_scikit_learn(book: DecisionBook) -> None:
    for row, found in enumerate(book.stacked("A")):
        assert book.value("A", row, Measure.ACCURACY) == pytest.approx(accuracy_score(book.gold, found))
        assert book.value("A", row, Measure.F1) == pytest.approx(f1_score(book.gold, found))
    assert (book.methods, book.seeds("A"), book.seeds("B")) == (["A", "B"], [0, 1, 2], [0, 1])
    with pytest.raises(ValueError, match="accuracy and F1, not pearson"):
        book.value("A", 0, Measure.PEARSON)


def test_never_yes_has_an_f1_of_0() -> None:
    made = DecisionBook("x", [0, 1, 1])
    made.add("never", 0, [0, 0, 0])
    assert made.value("never", 0, Measure.F1) == 0


def test_rows_of_the_ledger(book: DecisionBook) -> None:
    protocol = Protocol(Score.TRAINED_COSINE, Measure.F1, detail="threshold .5")
    rows = book.metric_rows(protocol)
    assert [(row.method, row.seed) for row in rows] == [("A", 0), ("A", 1), ("A", 2), ("B", 0), ("B", 1)]
    assert {(row.dataset, row.metric, row.protocol, row.n) for row in rows} == {("MSRP", "f1", str(protocol), 400)}
    assert [row.value for row in rows if row.method == "B"] == book.values("B", Measure.F1)


@pytest.mark.parametrize("measure", [Measure.ACCURACY, Measure.F1])
def test_differences_are_the_paired_bootstrap(book: DecisionBook, measure: Measure) -> None:
    test = book.difference("A", "B", measure, resamples=300)
    name: Goal = "accuracy" if measure is Measure.ACCURACY else "f1"
    want = statistics.paired_bootstrap(name, [book.stacked("A")], [book.stacked("B")], [book.gold], resamples=300)
    assert (test.estimate, test.low, test.high, test.p) == pytest.approx(
        (want.estimate, want.low, want.high, want.p), abs=1e-6
    )
    assert (test.kind, test.a, test.b, test.dataset, test.metric) == ("paired bootstrap", "A", "B", "MSRP", name)
    assert test.low > 0.1
    back = book.difference("B", "A", measure, resamples=300)
    assert (back.estimate, back.low) == (-test.estimate, pytest.approx(-test.high))


def test_intervals_hold_the_value(book: DecisionBook) -> None:
    found = book.interval("A", Measure.ACCURACY, resamples=300)
    assert found.low < found.estimate < found.high
    assert found.estimate == pytest.approx(np.mean(book.values("A", Measure.ACCURACY)))
    same = book.difference("A", "A", Measure.ACCURACY, resamples=300)
    assert (same.estimate, same.low, same.high) == (0, 0, 0)


def test_mcnemar_counts_where_only_one_was_right(book: DecisionBook) -> None:
    only_a, only_b, p = book.mcnemar("A", "B", seed=1)
    right_a, right_b = (book.stacked(method)[1] == book.gold for method in ("A", "B"))
    assert (only_a, only_b) == ((right_a & ~right_b).sum(), (right_b & ~right_a).sum())
    assert p < 1e-6


def test_decisions_that_do_not_fit(book: DecisionBook) -> None:
    for wrong in (np.zeros(399), np.full(400, 0.5), np.full(400, np.nan)):
        with pytest.raises(ValueError, match="B, seed 7: not a decision of 0 or 1 for each of 400 pairs"):
            book.add("B", 7, wrong)
    assert book.seeds("B") == [0, 1]


@pytest.mark.real_data
def test_the_printed_baseline_of_msrp_is_always_yes(mirror: Path) -> None:
    pairs = suites.pairs("msrp", "test")
    assert (int(pairs.gold.sum()), len(pairs)) == (1147, 1725)
    made = DecisionBook(pairs.name, pairs.gold)
    made.add("Baseline", 0, np.ones(len(pairs)))
    for measure in (Measure.ACCURACY, Measure.F1):
        printed = reported.value("wsv", "figure7", "Baseline", "MSRP", str(measure))
        assert made.value("Baseline", 0, measure) == pytest.approx(printed, abs=0.0005)
