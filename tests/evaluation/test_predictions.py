"""The book of predictions: one set of properties for scores, decisions and labels of tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics
from sentbook.evaluation.classification import (
    SENTEVAL_ONE_TEST,
    SKIP_THOUGHTS_MSRP,
    SKIP_THOUGHTS_NESTED,
    SKIP_THOUGHTS_TREC,
    ClassificationProtocol,
    Classified,
)
from sentbook.evaluation.predictions import Predictions, decision_predictions, sts_predictions, task_predictions
from sentbook.evaluation.protocols import COSINE_PEARSON, Aggregation, Measure
from sentbook.judge import printed as reported

Array = NDArray[np.float64]
SIZES = {"STS2012/a": 40, "STS2012/b": 60, "STS2013/c": 50, "STS2016/v": 30, "STS2016/w": 35, "SICK2014": 80}
YEAR = "STS2012/avg"
REFERENCE = {
    Measure.PEARSON: lambda x, y: stats.pearsonr(x, y).statistic,
    Measure.SPEARMAN: lambda x, y: stats.spearmanr(x, y).statistic,
    Measure.MSE: lambda x, y: ((x - y) ** 2).mean(),
    Measure.ACCURACY: lambda x, y: accuracy_score(y, x),
    Measure.F1: lambda x, y: f1_score(y, x, zero_division=0),
}


def scores(seed: int = 0, total: list[str] | None = None) -> Predictions:
    """A is better than B, with three and two seeds; C is B but for a trace of noise."""
    rng = np.random.default_rng(seed)
    sets = [ScoredPairs(name, [""] * n, [""] * n, rng.integers(0, 26, n) / 5, (0, 5)) for name, n in SIZES.items()]
    book = sts_predictions(sets, total)
    for name in book.names:
        gold = book.gold[name]
        for method, noise, seeds in (("A", 0.5, 3), ("B", 4.0, 2)):
            for number in range(seeds):
                book.add(method, number, name, gold + noise * rng.normal(size=len(gold)))
        book.add("C", 0, name, book.stacked("B", name)[0] + 0.1 * rng.normal(size=len(gold)))
    return book


def decided(seed: int = 0) -> Predictions:
    """A errs on a tenth, B on four tenths."""
    rng = np.random.default_rng(seed)
    gold = (rng.random(400) < 0.65).astype(int)
    book = decision_predictions("MSRP", gold)
    for method, errors, seeds in (("A", 0.1, 3), ("B", 0.4, 2)):
        for number in range(seeds):
            book.add(method, number, "MSRP", np.where(rng.random(400) < errors, 1 - gold, gold))
    return book


def classified(
    gold: ArrayLike, predicted: ArrayLike, protocol: ClassificationProtocol = SKIP_THOUGHTS_TREC, folds: int = 1
) -> Classified:
    labels = np.asarray(gold, dtype=np.int64)
    inner = np.ones((folds, len(protocol.grid)))
    outer = np.arange(len(labels)) % folds
    return Classified(protocol, labels, np.asarray(predicted, dtype=np.int64), outer, inner, np.ones(folds))


def labels(n: int, accuracy: float, seed: int, classes: int = 2) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same gold for every seed, and labels that are right about so often."""
    gold, rng = np.random.default_rng(n).integers(0, classes, n), np.random.default_rng([n, seed])
    return gold, np.where(rng.random(n) < accuracy, gold, (gold + 1) % classes)


def judged(seed: int = 0) -> Predictions:
    """A is better than B by ten points."""
    book = task_predictions()
    for method, accuracy, seeds in (("A", 0.85, (1, 2)), ("B", 0.75, (3,))):
        for number in seeds:
            known = number + 10 * seed
            book.add_classified(
                method, number, "MR", classified(*labels(305, accuracy, known), SKIP_THOUGHTS_NESTED, 10)
            )
            book.add_classified(method, number, "TREC", classified(*labels(400, accuracy, known, 6)))
            book.add_classified(method, number, "MSRP", classified(*labels(500, accuracy, known), SKIP_THOUGHTS_MSRP))
    return book


def cells(book: Predictions) -> list[tuple[str, Measure]]:
    return [(name, measure) for name in book.names for measure in book.measures(name)]


BOOKS = {"scores": scores, "decisions": decided, "tasks": judged}
books = pytest.mark.parametrize("make", BOOKS.values(), ids=list(BOOKS))


@books
def test_a_value_is_the_measure_of_a_seeds_predictions(make: type[Predictions]) -> None:
    book = make()
    for name, measure in cells(book):
        gold, measures = book.gold[name], {measure}
        if measure is Measure.PEARSON:
            measures = {Measure.PEARSON, Measure.SPEARMAN, Measure.MSE}
        for one in measures:
            if name != "MR":  # whose value is a mean over folds
                expected = [REFERENCE[one](row, gold) for row in book.stacked("A", name)]
                assert list(book.values("A", name, one).values()) == pytest.approx(expected)
                assert book.mean("A", name, one) == pytest.approx(np.mean(expected))
    assert book.values("A", name) == book.values("A", name, book.measures(name)[0])


@books
@settings(max_examples=8)
@given(seed=st.integers(0, 99))
def test_intervals_hold_the_value_and_differences_turn_with_their_sides(make: type[Predictions], seed: int) -> None:
    book = make(seed)
    for name, measure in cells(book):
        found = book.interval("B", name, measure, 200)
        assert found.low <= found.estimate <= found.high and found.p is None
        forth, back = (book.difference(*side, name, measure, 200) for side in ("AB", "BA"))
        assert forth.estimate == pytest.approx(book.mean("A", name, measure) - book.mean("B", name, measure))
        assert (back.estimate, back.p) == (pytest.approx(-forth.estimate), pytest.approx(forth.p, abs=0.1))
        assert (back.low, back.high) == pytest.approx((-forth.high, -forth.low), abs=0.05)
        assert (forth.a, forth.b) == ("A", "B")
        assert (forth.dataset, forth.metric) == (name, str(measure)) and forth.high > 0
        same = book.difference("A", "A", name, measure, 50)
        assert (same.estimate, same.p, same.low) == (0, 1, pytest.approx(-same.high))


@books
def test_what_else_the_book_holds_and_the_order_of_methods_change_nothing(make: type[Predictions]) -> None:
    book = make()
    kept = {(method, name): book.table[method, name] for method in "BA" for name in book.names}
    other = book.with_table({**kept, ("new", book.names[0]): book.table["B", book.names[0]]})
    for name, measure in cells(book):
        assert other.difference("A", "B", name, measure, 50) == book.difference("A", "B", name, measure, 50)
    assert other.methods == ["B", "A", "new"] and "new" not in book.methods


def test_labels_that_cannot_be_compared_are_refused_and_never_yes_has_an_f1_of_0() -> None:
    book, (gold, predicted) = judged(), labels(400, 0.8, 9, 6)
    with pytest.raises(ValueError, match="other examples"):
        book.add_classified("C", 1, "TREC", classified(gold[::-1], predicted))
    with pytest.raises(ValueError, match=r"was judged by 'skip-thoughts.*not by 'SentEval"):
        book.add_classified("C", 1, "TREC", classified(gold, predicted, SENTEVAL_ONE_TEST))
    pairs = decision_predictions("x", [0, 1, 1])
    pairs.add("never", 0, "x", [0, 0, 0])
    assert pairs.mean("never", "x", "f1") == 0


@books
def test_an_interval_over_seeds_too_keeps_the_value_and_is_no_narrower(make: type[Predictions]) -> None:
    book = make()
    name = book.names[-1]
    plain, both = (book.difference("A", "B", name, resamples=400, resample_seeds=choice) for choice in (False, True))
    assert both.estimate == plain.estimate and both.kind == f"{plain.kind}, t over seeds"
    assert (both.p < 0.05) == (both.low > 0 or both.high < 0)
    half = statistics.seed_spread(*(list(book.values(method, name).values()) for method in "AB"))
    assert (
        plain.high - both.estimate
        <= both.high - both.estimate
        == pytest.approx(np.hypot(plain.high - plain.estimate, half))
    )


def test_rows_of_the_table() -> None:
    book = scores()
    assert list(book.means) == [YEAR, "STS2016/avg", "total_avg"]  # a single set has no average
    assert book.means["total_avg"] == ["STS2012/a", "STS2012/b", "STS2013/c", "SICK2014"]  # 2016 validates
    assert book.members("STS2013/c") == ["STS2013/c"]
    assert scores(total=["STS2012/a"]).members("total_avg") == ["STS2012/a"]


@pytest.mark.parametrize("measure", [Measure.PEARSON, Measure.SPEARMAN, Measure.MSE])
def test_each_aggregation_by_its_definition(measure: Measure) -> None:
    book, names = scores(), ["STS2012/a", "STS2012/b"]
    table, golds = [book.stacked("B", name)[1] for name in names], [book.gold[name] for name in names]
    each = [REFERENCE[measure](x, y) for x, y in zip(table, golds, strict=True)]
    expected = {
        Aggregation.MEAN: np.mean(each),
        Aggregation.WEIGHTED: np.dot(each, [40, 60]) / 100,
        Aggregation.POOLED: REFERENCE[measure](np.concatenate(table), np.concatenate(golds)),
    }
    for how, value in expected.items():
        assert book.values("B", YEAR, measure, how)[1] == pytest.approx(value, abs=1e-12)
        low, high = np.percentile(book.resampled(["B"], YEAR, measure, 200, aggregation=how), [2.5, 97.5])
        assert low < book.mean("B", YEAR, measure, how) < high
        (row,) = (
            row
            for row in book.metric_rows(replace(COSINE_PEARSON, measure=measure, aggregation=how), [YEAR], ["B"])
            if row.seed == 1
        )
        assert (row.value, row.n) == (book.values("B", YEAR, measure, how)[1], 100) and str(how) in row.protocol
    alone = {how: book.values("B", "SICK2014", measure, how)[1] for how in Aggregation}
    assert len({round(value, 12) for value in alone.values()}) == 1
    with pytest.raises(ValueError, match="2 sets do not make one number per set"):
        book.values("B", YEAR, measure, Aggregation.PER_SET)
    per_set = replace(COSINE_PEARSON, aggregation=Aggregation.PER_SET)
    assert {row.dataset for row in book.metric_rows(per_set)} == set(SIZES)


def test_a_difference_of_means_against_loops() -> None:
    """Resample by resample, the plain measure of the repeated pairs, the mean over seeds."""
    book, resamples = scores(), 60
    found = book.difference("A", "B", YEAR, "spearman", resamples, resample_seeds=False)
    sampled = []
    draws = [statistics.resample_counts(SIZES[n], resamples, [0, at]).astype(int) for at, n in enumerate(SIZES)]
    for number in range(resamples):
        means = {method: [] for method in "AB"}
        for name, draw in zip(["STS2012/a", "STS2012/b"], draws[:2], strict=True):
            gold = np.repeat(book.gold[name], draw[number])
            for method, values in means.items():
                rows = [np.repeat(row, draw[number]) for row in book.stacked(method, name)]
                values.append(np.mean([REFERENCE[Measure.SPEARMAN](row, gold) for row in rows]))
        sampled.append(np.mean(means["A"]) - np.mean(means["B"]))
    assert (found.low, found.high) == pytest.approx(np.percentile(sampled, [2.5, 97.5]), abs=1e-12)


def test_table_tests_adjust_sets_and_averages_apart() -> None:
    book = scores()
    tests = book.table_tests("A", "B", resamples=100)
    assert [test.dataset for test in tests] == [*book.names, *book.means]
    for family in (tests[: len(SIZES)], tests[len(SIZES) :]):
        assert [test.p_holm for test in family] == statistics.holm([test.p for test in family])  # type: ignore[misc]


@pytest.mark.real_data
def test_the_printed_baseline_of_msrp_is_always_yes(mirror: Path) -> None:
    pairs = suites.pairs("msrp", "test")
    book = decision_predictions(pairs.name, pairs.gold)
    book.add("Baseline", 0, pairs.name, np.ones(len(pairs)))
    for measure in book.measures(pairs.name):
        printed = reported.value("wsv", "figure7", "Baseline", "MSRP", str(measure))
        assert book.mean("Baseline", pairs.name, measure) == pytest.approx(printed, abs=0.0005)


def test_a_fold_of_its_own_counts_as_much_as_the_others() -> None:
    """The value is the mean over folds: two folds of 3 and 1 examples weigh the same."""
    found = replace(classified([1, 1, 1, 1], [1, 1, 1, 0], SKIP_THOUGHTS_NESTED), fold=np.array([0, 0, 0, 1]))
    book = task_predictions()
    book.add_classified("A", 1, "MR", found)
    assert book.mean("A", "MR") == 0.5
    assert judged().metric_rows()[0].protocol == str(SKIP_THOUGHTS_NESTED)


def test_an_interval_of_an_accuracy_is_the_binomial_one() -> None:
    one = judged().interval("B", "TREC", resamples=20_000)
    half = 1.96 * np.sqrt(one.estimate * (1 - one.estimate) / 400)
    assert (one.low, one.high) == pytest.approx((one.estimate - half, one.estimate + half), abs=0.005)


def test_the_mean_over_tasks_is_narrower_than_each_and_draws_them_apart() -> None:
    book = judged()
    parts = [book.difference("A", "B", name, resample_seeds=False) for name in book.names]
    mean = book.difference("A", "B", book.names, resample_seeds=False)
    assert mean.estimate == pytest.approx(np.mean([part.estimate for part in parts]))
    width = np.sqrt(sum((part.high - part.low) ** 2 for part in parts)) / 3  # independent sets
    assert mean.high - mean.low == pytest.approx(width, rel=0.1)
    assert mean.dataset == "mean of MR, TREC, MSRP"
    with pytest.raises(ValueError, match="at least one"):
        book.difference("A", "B", [])
    # With the same draws for both, opposite differences would cancel in every resample.
    (gold, first), (_, second), made = labels(300, 0.8, 1), labels(300, 0.7, 2), task_predictions()
    for name, sides in (("MR", (first, second)), ("CR", (second, first))):
        for method, predicted in zip("AB", sides, strict=True):
            made.add_classified(method, 1, name, classified(gold, predicted))
    found = made.difference("A", "B", ["MR", "CR"])
    assert found.estimate == pytest.approx(0) and found.high - found.low > 0.03


def test_an_interval_is_of_the_scores_that_are_there_now() -> None:
    book = scores()
    known = book.interval("B", YEAR, resamples=50)
    turned = book.with_table({key: {seed: -row for seed, row in rows.items()} for key, rows in book.table.items()})
    found = turned.interval("B", YEAR, resamples=50)
    assert (found.low, found.high) == pytest.approx((-known.high, -known.low))
    for name in book.members(YEAR):
        book.add("B", 9, name, book.gold[name])
    assert book.interval("B", YEAR, resamples=50) == Predictions.restored(book.stored()).interval(
        "B", YEAR, resamples=50
    )


def test_of_a_mean_the_seeds_of_all_its_sets_count_alone() -> None:
    book = scores()
    whole = book.difference("A", "C", YEAR, resamples=200, resample_seeds=False)
    book.add("A", 9, "STS2012/a", -book.gold["STS2012/a"])
    found = book.difference("A", "C", YEAR, resamples=200, resample_seeds=False)
    assert (found.estimate, found.low, found.high) == (whole.estimate, whole.low, whole.high)
