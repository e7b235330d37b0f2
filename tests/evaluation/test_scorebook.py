from __future__ import annotations

import numpy as np
import pytest

from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics, sts
from sentbook.evaluation.protocols import COSINE_PEARSON, Aggregation, Measure, Protocol, Score
from sentbook.evaluation.scorebook import ScoreBook
from sentbook.system.errors import NumericalError
from sentbook.training.correlation import mse, pearson, spearman

SIZES = {"STS2012/a": 40, "STS2012/b": 60, "STS2013/c": 50, "STS2016/v": 30, "STS2016/w": 35, "SICK2014": 80}


def make_book(total: list[str] | None = None) -> ScoreBook:
    """A is better than B, with three and two seeds; C is B but for a trace of noise."""
    rng = np.random.default_rng(0)
    sets = []
    for name, n in SIZES.items():
        text = [""] * n
        sets.append(ScoredPairs(name, text, text, rng.integers(0, 26, n) / 5, (0, 5)))
    book = ScoreBook(sets, total)
    for pairs in sets:
        for method, noise, seeds in (("A", 0.5, 3), ("B", 4.0, 2)):
            for seed in range(seeds):
                book.add(method, seed, pairs.name, pairs.gold + noise * rng.normal(size=len(pairs)))
        book.add("C", 0, pairs.name, book.stacked("B", pairs.name)[0] + 0.1 * rng.normal(size=len(pairs)))
    return book


@pytest.fixture(scope="module")
def book() -> ScoreBook:
    return make_book()


def test_rows_of_the_table(book: ScoreBook) -> None:
    assert book.names == list(SIZES)
    assert book.averages == ["STS2012/avg", "STS2016/avg", "total_avg"]  # a single set has no average
    assert book.members("total_avg") == ["STS2012/a", "STS2012/b", "STS2013/c", "SICK2014"]  # 2016 validates
    assert book.members("STS2013/c") == ["STS2013/c"]
    assert make_book(total=["STS2012/a"]).members("total_avg") == ["STS2012/a"]


@pytest.mark.parametrize(
    ("measure", "compute"), [(Measure.PEARSON, pearson), (Measure.SPEARMAN, spearman), (Measure.MSE, mse)]
)
def test_values_are_means_of_sets(book: ScoreBook, measure: Measure, compute: object) -> None:
    cells = [compute(book.stacked("A", name)[1], book.gold(name)) for name in book.total]  # type: ignore[operator]
    assert book.value("A", 1, "total_avg", measure) == pytest.approx(np.mean(cells))
    assert len(book.values("A", "total_avg", measure)) == 3


def test_metric_rows_follow_the_protocol(book: ScoreBook) -> None:
    rows = book.metric_rows(COSINE_PEARSON)
    assert len(rows) == (3 + 2 + 1) * (6 + 3)
    one = next(row for row in rows if (row.method, row.seed, row.dataset) == ("B", 1, "STS2012/avg"))
    assert (one.value, one.n) == (pytest.approx(book.value("B", 1, "STS2012/avg")), 100)
    assert one.protocol == str(COSINE_PEARSON)
    values = {}
    for aggregation in (Aggregation.MEAN, Aggregation.WEIGHTED, Aggregation.POOLED):
        protocol = Protocol(Score.COSINE, Measure.PEARSON, aggregation)
        found = [row for row in book.metric_rows(protocol, ["STS2012/avg"]) if (row.method, row.seed) == ("B", 0)]
        values[aggregation] = found[0].value
        sets = [book.pairs(name) for name in ("STS2012/a", "STS2012/b")]
        scores = {name: book.stacked("B", name)[0] for name in book.names}
        assert found[0].value == sts.evaluate(scores, sets, protocol)
    assert len(set(values.values())) == 3
    per_set = Protocol(Score.COSINE, Measure.PEARSON, Aggregation.PER_SET)
    assert {row.dataset for row in book.metric_rows(per_set)} == set(SIZES)


def test_relatedness_rows(book: ScoreBook) -> None:
    rows = [row for row in book.relatedness_rows() if (row.method, row.seed, row.dataset) == ("A", 0, "SICK2014")]
    scores, gold = book.stacked("A", "SICK2014")[0], book.gold("SICK2014")
    assert {row.metric: row.value for row in rows} == {
        "pearson": pearson(scores, gold),
        "spearman": spearman(scores, gold),
        "mse": mse(scores, gold),
    }
    assert all(row.protocol.startswith("trained head") for row in rows)


def test_differences_are_paired_bootstraps(book: ScoreBook) -> None:
    def by_set(method: str, names: list[str]) -> list[np.ndarray]:
        return [book.stacked(method, name) for name in names]

    # The book's first sets have the resamples that `paired_bootstrap` draws.
    for row, metric in (("STS2012/a", "spearman"), ("STS2012/avg", "pearson"), ("STS2012/a", "mse")):
        names = book.members(row)
        expected = statistics.paired_bootstrap(
            metric,
            by_set("A", names),
            by_set("B", names),
            [book.gold(name) for name in names],
            resamples=200,  # type: ignore[arg-type]
        )
        found = book.difference("A", "B", row, metric, resamples=200)
        assert (found.estimate, found.low, found.high, found.p) == pytest.approx(
            (expected.estimate, expected.low, expected.high, expected.p), abs=1e-12
        )
    assert book.difference("A", "B", resamples=200).dataset == "STS2012/a"


def test_interval_of_one_method(book: ScoreBook) -> None:
    found = book.interval("A", "STS2012/avg", resamples=200)
    names = book.members("STS2012/avg")
    expected = statistics.system_interval(
        "pearson", [book.stacked("A", name) for name in names], [book.gold(name) for name in names], resamples=200
    )
    assert (found.estimate, found.low, found.high) == pytest.approx((expected.estimate, expected.low, expected.high))


def test_pairing_makes_the_interval_of_like_methods_narrow(book: ScoreBook) -> None:
    like, unlike = (book.difference(a, b, "SICK2014", resamples=300) for a, b in (("C", "B"), ("A", "B")))
    assert like.high - like.low < unlike.high - unlike.low
    assert unlike.low > 0


def test_table_tests_adjust_sets_averages_and_williams_apart(book: ScoreBook) -> None:
    tests = book.table_tests("A", "B", resamples=100)
    boot = [test for test in tests if test.kind == "paired bootstrap"]
    williams = [test for test in tests if test.kind == "williams"]
    assert [test.dataset for test in boot] == [*book.names, *book.averages]
    assert [test.dataset for test in williams] == book.names
    for family in (boot[: len(SIZES)], boot[len(SIZES) :], williams):
        assert [test.p_holm for test in family] == statistics.holm([test.p for test in family])  # type: ignore[misc]


def test_seeds_added_later_count(book: ScoreBook) -> None:
    mine = make_book()
    before = mine.difference("A", "B", "SICK2014", resamples=100)
    mine.add("A", 7, "SICK2014", -mine.gold("SICK2014"))  # a training gone wrong
    after = mine.difference("A", "B", "SICK2014", resamples=100)
    assert after.estimate < before.estimate - 0.3
    assert after.low < after.estimate < after.high


def test_bad_scores_are_refused() -> None:
    mine = make_book()
    with pytest.raises(ValueError, match="do not fit STS2012/a"):
        mine.add("A", 0, "STS2012/a", np.zeros(3))
    with pytest.raises(ValueError, match="do not fit STS2099/x"):
        mine.add("A", 0, "STS2099/x", np.zeros(3))
    with pytest.raises(NumericalError, match="A, seed 0: a score on STS2012/a is NaN"):
        mine.add("A", 0, "STS2012/a", np.full(40, np.nan))
