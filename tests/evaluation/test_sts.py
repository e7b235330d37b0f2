from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sentbook.data.types import ScoredPairs
from sentbook.evaluation import sts
from sentbook.evaluation.protocols import Aggregation, Measure, Protocol, Score
from sentbook.runs import printed as reported
from sentbook.system.errors import DataError, NumericalError


def pairs(name: str, gold: list[float]) -> ScoredPairs:
    text = [""] * len(gold)
    return ScoredPairs(name, text, text, np.array(gold, dtype=np.float64), (0, 5))


SETS = [
    pairs("STS2012/a", [0, 1, 2, 3]),
    pairs("STS2012/b", [5, 4, 0]),
    pairs("STS2013/c", [1, 3, 2, 5, 4]),
    pairs("SICK2014", [1, 2, 5]),
]
RNG = np.random.default_rng(3)
SCORES = {one.name: RNG.normal(size=len(one)) for one in SETS}
R = [stats.pearsonr(SCORES[one.name], one.gold).statistic for one in SETS]


def protocol(aggregation: Aggregation, measure: Measure = Measure.PEARSON) -> Protocol:
    return Protocol(Score.COSINE, measure, aggregation)


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        (Aggregation.MEAN, np.mean(R)),
        (Aggregation.WEIGHTED, np.dot(R, [4, 3, 5, 3]) / 15),
        (
            Aggregation.POOLED,
            stats.pearsonr(np.concatenate(list(SCORES.values())), np.concatenate([s.gold for s in SETS])).statistic,
        ),
    ],
)
def test_each_aggregation_by_its_definition(aggregation: Aggregation, expected: float) -> None:
    assert sts.evaluate(SCORES, SETS, protocol(aggregation)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", sts.MEASURES)
def test_aggregations_agree_on_a_single_set(measure: Measure) -> None:
    values = [sts.evaluate(SCORES, SETS[:1], protocol(aggregation, measure)) for aggregation in Aggregation]
    assert values == pytest.approx([values[0]] * len(values))


def test_per_set_makes_no_number_of_several_sets() -> None:
    with pytest.raises(ValueError, match="per set"):
        sts.evaluate(SCORES, SETS, protocol(Aggregation.PER_SET))
    assert [row.dataset for row in sts.table(SCORES, SETS, protocol(Aggregation.PER_SET))] == [s.name for s in SETS]
    with pytest.raises(ValueError, match="0 sets"):
        sts.evaluate(SCORES, [], protocol(Aggregation.MEAN))


def test_table_has_sets_then_years_then_total() -> None:
    rows = sts.table(SCORES, SETS, protocol(Aggregation.MEAN))
    names = ["STS2012/a", "STS2012/b", "STS2013/c", "SICK2014", "STS2012/avg", "total_avg"]  # no average of one set
    assert [row.dataset for row in rows] == names
    assert [row.n for row in rows] == [4, 3, 5, 3, 7, 15]
    assert [row.value for row in rows] == pytest.approx([*R, np.mean(R[:2]), np.mean(R)])


def test_the_total_is_over_the_sets_asked_for() -> None:
    stss = [one.name for one in SETS if one.name.startswith("STS")]
    total = sts.table(SCORES, SETS, protocol(Aggregation.MEAN), total=stss)[-1]
    assert total == ("total_avg", pytest.approx(np.mean(R[:3])), 12)
    with pytest.raises(KeyError):
        sts.table(SCORES, SETS, protocol(Aggregation.MEAN), total=["STS2099/x"])


@pytest.mark.parametrize("method", ["PP", "CSE"])
def test_the_papers_averages_are_means_of_sets(method: str) -> None:
    """Table 1's printed cells average to its printed averages, the total over 19 sets and SICK: to the rounding."""
    frame = reported.table("cse", "table1")
    cells = frame[frame["method"] == method].set_index("dataset")["value"].to_dict()
    sets = {name: value for name, value in cells.items() if not name.endswith("avg")}
    assert len(sets) == 20
    assert np.mean(list(sets.values())) == pytest.approx(cells["total_avg"], abs=0.0007)
    for year in ("STS2012", "STS2013", "STS2014", "STS2015"):
        mean = np.mean([value for name, value in sets.items() if sts.year_of(name) == year])
        assert mean == pytest.approx(cells[f"{year}/avg"], abs=0.0011)


@pytest.mark.parametrize("aggregation", [Aggregation.MEAN, Aggregation.POOLED])
def test_misaligned_scores_are_refused_even_where_the_lengths_cancel(aggregation: Aggregation) -> None:
    crossed = {**SCORES, "STS2012/a": SCORES["STS2012/b"], "STS2012/b": SCORES["STS2012/a"]}
    with pytest.raises(DataError, match="STS2012/a has 4 pairs"):
        sts.evaluate(crossed, SETS, protocol(aggregation))
    with pytest.raises(DataError, match="SICK2014 has 3 pairs but scores of shape None"):
        sts.evaluate({one.name: SCORES[one.name] for one in SETS[:3]}, SETS, protocol(aggregation))


def test_constant_and_nan_predictions() -> None:
    flat = {**SCORES, "SICK2014": np.full(3, 0.7)}
    assert sts.evaluate(flat, SETS, protocol(Aggregation.MEAN)) == pytest.approx(np.mean([*R[:3], 0]))
    with pytest.raises(NumericalError):
        sts.evaluate({**SCORES, "SICK2014": np.array([1, np.nan, 2])}, SETS, protocol(Aggregation.MEAN))
