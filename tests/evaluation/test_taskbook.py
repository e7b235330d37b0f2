"""Labels of many methods on the same examples."""

from __future__ import annotations

import doctest
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics, taskbook
from sentbook.evaluation.classification import (
    SENTEVAL_ONE_TEST,
    SKIP_THOUGHTS_MSRP,
    SKIP_THOUGHTS_NESTED,
    SKIP_THOUGHTS_TREC,
    ClassificationProtocol,
    Classified,
)
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.scorebook import ScoreBook
from sentbook.evaluation.taskbook import INTERVALS, TaskBook


def classified(
    gold: ArrayLike, predicted: ArrayLike, protocol: ClassificationProtocol = SKIP_THOUGHTS_TREC, folds: int = 1
) -> Classified:
    labels = np.asarray(gold, dtype=np.int64)
    outer = np.arange(len(labels)) % folds
    inner = np.ones((folds, len(protocol.grid)))
    return Classified(protocol, labels, np.asarray(predicted, dtype=np.int64), outer, inner, np.ones(folds))


def labels(n: int, accuracy: float, seed: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """The same gold for every seed, and labels that are right about so often."""
    gold = np.random.default_rng(n).integers(0, classes, n)
    rng = np.random.default_rng([n, seed])
    return gold, np.where(rng.random(n) < accuracy, gold, (gold + 1) % classes)


@pytest.fixture
def book() -> TaskBook:
    """A is better than B by ten points; two seeds of A, one of B."""
    found = TaskBook()
    for method, accuracy, seeds in (("A", 0.85, (1, 2)), ("B", 0.75, (3,))):
        for seed in seeds:
            found.add(method, seed, "MR", classified(*labels(905, accuracy, seed), SKIP_THOUGHTS_NESTED, 10))
            found.add(method, seed, "TREC", classified(*labels(400, accuracy, seed, 6)))
            found.add(method, seed, "MSRP", classified(*labels(500, accuracy, seed), SKIP_THOUGHTS_MSRP))
    return found


def test_examples_of_the_docstrings() -> None:
    assert doctest.testmod(taskbook).failed == 0


# -- contents ----------------------------------------------------------------------------------------------------------


def test_contents(book: TaskBook) -> None:
    assert book.methods == ["A", "B"] and book.datasets == ["MR", "TREC", "MSRP"]
    assert book.seeds("A", "MR") == [1, 2] and not book.has("A", "CR") and not book.has("C", "MR")
    assert [f"{name} {measure}" for name, measure in book.cells] == [
        "MR accuracy", "TREC accuracy", "MSRP accuracy", "MSRP f1",
    ]  # fmt: skip
    assert book.right("A", "TREC").shape == (2, 400)
    assert (book.right("B", "TREC") == (book.predicted("B", "TREC") == book.gold("TREC"))).all()


def test_a_book_refuses_what_cannot_be_compared(book: TaskBook) -> None:
    gold, predicted = labels(400, 0.8, 9, 6)
    with pytest.raises(ValueError, match="other examples"):
        book.add("C", 1, "TREC", classified(gold[::-1], predicted))
    with pytest.raises(ValueError, match=r"was judged by 'skip-thoughts.*not by 'SentEval"):
        book.add("C", 1, "TREC", classified(gold, predicted, SENTEVAL_ONE_TEST))
    with pytest.raises(ValueError, match="of one test"):
        TaskBook().add("C", 1, "MSRP", classified(*labels(50, 0.8, 1), SKIP_THOUGHTS_NESTED, 10))
    assert "C" not in book.methods


def test_metric_rows_are_those_of_the_classifications(book: TaskBook) -> None:
    rows = book.metric_rows()
    assert len(rows) == 2 * 4 + 4
    found = {(row.method, row.seed, row.dataset, row.metric): row for row in rows}
    part = classified(*labels(905, 0.85, 2), SKIP_THOUGHTS_NESTED, 10)
    assert found["A", 2, "MR", "accuracy"] == part.metric("A", "MR", 2)
    assert found["A", 2, "MR", "accuracy"].protocol == str(SKIP_THOUGHTS_NESTED)
    assert {key[3] for key in found if key[2] == "TREC"} == {"accuracy"}
    assert book.mean("A", "MR") == np.mean([found["A", seed, "MR", "accuracy"].value for seed in (1, 2)])


# -- intervals and tests -----------------------------------------------------------------------------------------------


def test_the_interval_is_the_binomial_one(book: TaskBook) -> None:
    found = book.interval("B", "TREC", resamples=20_000)
    half = 1.96 * np.sqrt(found.estimate * (1 - found.estimate) / 400)
    assert found.low == pytest.approx(found.estimate - half, abs=0.005)
    assert found.high == pytest.approx(found.estimate + half, abs=0.005)


@pytest.mark.parametrize(("dataset", "measure"), [("TREC", Measure.ACCURACY), ("MSRP", Measure.F1)])
def test_drawing_kinds_is_drawing_examples(book: TaskBook, dataset: str, measure: Measure) -> None:
    """The interval is that of the bootstrap which draws every example by itself."""
    gold = book.gold(dataset)
    a, b = (book.predicted(method, dataset) for method in "AB")
    name: statistics.MetricName = "accuracy" if measure is Measure.ACCURACY else "f1"
    expected = statistics.paired_bootstrap(name, [a], [b], [gold], resamples=20_000)
    found = book.difference("A", "B", dataset, measure, resamples=20_000)
    assert found.estimate == pytest.approx(expected.estimate)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.003)
    assert found.kind == "paired bootstrap" and found.metric == str(measure) and found.dataset == dataset


def test_a_difference_is_paired(book: TaskBook) -> None:
    """Two methods that are wrong on the same examples differ by nothing, with no interval; the order only turns it."""
    book.add("A twin", 1, "TREC", classified(*labels(400, 0.85, 1, 6)))
    book.add("A one", 1, "TREC", classified(*labels(400, 0.85, 1, 6)))
    same = book.difference("A twin", "A one", "TREC")
    assert (same.estimate, same.low, same.high, same.p) == (0, 0, 0, 1)
    forth, back = book.difference("A", "B", "TREC"), book.difference("B", "A", "TREC")
    assert (forth.estimate, forth.p) == pytest.approx((-back.estimate, back.p))
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low), abs=0.01)


def test_the_mean_over_sets_is_narrower_than_each(book: TaskBook) -> None:
    parts = [book.difference("A", "B", name) for name in book.datasets]
    mean = book.mean_difference("A", "B", book.datasets)
    assert mean.estimate == pytest.approx(np.mean([part.estimate for part in parts]))
    width = np.sqrt(sum((part.high - part.low) ** 2 for part in parts)) / 3  # independent sets
    assert mean.high - mean.low == pytest.approx(width, rel=0.1)
    assert mean.dataset == "mean of MR, TREC, MSRP"
    assert book.mean_difference("A", "B", ["MR", "TREC"], name="two").dataset == "two"
    with pytest.raises(ValueError, match="at least one"):
        book.mean_difference("A", "B", [])


def test_sets_of_one_size_are_drawn_apart() -> None:
    """With the same draws for both, opposite differences would cancel in every resample."""
    book = TaskBook()
    gold, first = labels(300, 0.8, 1)
    _, second = labels(300, 0.7, 2)
    for name, pair in (("MR", (first, second)), ("CR", (second, first))):
        for method, predicted in zip("AB", pair, strict=True):
            book.add(method, 1, name, classified(gold, predicted))
    found = book.mean_difference("A", "B", ["MR", "CR"])
    assert found.estimate == pytest.approx(0) and found.high - found.low > 0.03


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40), st.integers(0, 1000))
def test_a_value_is_inside_its_interval_whatever_the_labels(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold, predicted = rng.integers(0, 3, n), rng.integers(0, 3, n)
    book = TaskBook()
    book.add("A", None, "TREC", classified(gold, predicted))
    found = book.interval("A", "TREC", resamples=500)
    assert 0 <= found.low <= found.estimate + 1e-9 and found.estimate - 1e-9 <= found.high <= 1


def test_holm_is_over_the_columns(book: TaskBook) -> None:
    tests = book.table_tests("A", "B", 500)
    assert [(test.dataset, test.metric) for test in tests] == [(name, str(measure)) for name, measure in book.cells]
    assert [test.p_holm for test in tests] == pytest.approx(statistics.holm([test.p or 0 for test in tests]))
    assert all((test.p_holm or 0) >= (test.p or 0) for test in tests)


def test_results_do_not_depend_on_what_else_the_book_holds(book: TaskBook) -> None:
    other = TaskBook()
    for method in ("B", "A"):
        for seed in book.seeds(method, "MSRP"):
            other.add(method, seed, "MSRP", book._found[method]["MSRP"][seed])
    assert other.difference("A", "B", "MSRP", Measure.F1) == book.difference("A", "B", "MSRP", Measure.F1)


def test_only_accuracy_and_f1(book: TaskBook) -> None:
    with pytest.raises(ValueError, match="Labels have accuracy and F1, not pearson"):
        book.interval("A", "TREC", Measure.PEARSON)


def test_a_hundred_comparisons_of_large_sets_take_seconds() -> None:
    book = TaskBook()
    for method in ("A", "B"):
        for seed in (1, 2, 3):
            found = classified(*labels(10_000, 0.8, seed + 10 * (method == "A")), SKIP_THOUGHTS_NESTED, 10)
            book.add(method, seed, "MR", found)
    started = time.perf_counter()
    for _ in range(20):
        book.difference("A", "B", "MR")
    assert time.perf_counter() - started < 5


# -- for the ledger ----------------------------------------------------------------------------------------------------


def test_intervals_for_the_ledger(book: TaskBook) -> None:
    found = book.extra(300)[INTERVALS]
    assert set(found) == {"accuracy", "f1"} and set(found["f1"]) == {"MSRP"}
    ends = book.interval("B", "MR", resamples=300)
    assert found["accuracy"]["MR"]["B"] == [ends.low, ends.high]


def test_intervals_of_scores() -> None:
    rng = np.random.default_rng(0)
    sets = [ScoredPairs(name, [""] * 50, [""] * 50, rng.normal(size=50), (0, 5)) for name in ("one", "two")]
    scores = ScoreBook(sets)
    for pairs in sets:
        scores.add("A", 1, pairs.name, pairs.gold + rng.normal(size=50))
    found = taskbook.pair_intervals(scores, [Measure.PEARSON, Measure.MSE], 200)[INTERVALS]
    assert {metric: set(by_set) for metric, by_set in found.items()} == {
        "pearson": {"one", "two"}, "mse": {"one", "two"},
    }  # fmt: skip
    ends = scores.interval("A", "two", "mse", 200)
    assert found["mse"]["two"]["A"] == [ends.low, ends.high]


def test_a_fold_of_its_own_counts_as_much_as_the_others() -> None:
    """The value is the mean over folds: two folds of 3 and 1 examples weigh the same."""
    made = classified([1, 1, 1, 1], [1, 1, 1, 0], SKIP_THOUGHTS_NESTED)
    book = TaskBook()
    book.add("A", 1, "MR", replace(made, fold=np.array([0, 0, 0, 1]), chosen=np.ones(2)))
    assert book.mean("A", "MR") == 0.5
