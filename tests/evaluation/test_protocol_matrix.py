"""Every protocol's number by brute force, what changes none of them, and the bootstrap of their differences."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics
from sentbook.evaluation.protocol_matrix import AGGREGATIONS, MEASURES, ProtocolMatrix
from sentbook.evaluation.protocols import COSINE_PEARSON, Aggregation, Measure, Protocol, Score
from sentbook.system.errors import NumericalError

SIZES = {"STS2014/a": 9, "STS2014/b": 14, "STS2014/c": 5, "SICK2014": 11}
YEAR = "STS2014/avg"
HEAD = replace(COSINE_PEARSON, score=Score.TRAINED_HEAD)
POOLED = replace(COSINE_PEARSON, aggregation=Aggregation.POOLED)
Scores = dict[str, np.ndarray]


def sets(seed: int = 0) -> list[ScoredPairs]:
    rng = np.random.default_rng(seed)
    return [ScoredPairs(name, ["x"] * n, ["y"] * n, rng.integers(0, 6, n) + 0.0, (0, 5)) for name, n in SIZES.items()]


def scores(seed: int) -> Scores:
    rng = np.random.default_rng(seed)
    return {pairs.name: pairs.gold + 2 * rng.normal(size=len(pairs)) + rng.normal() for pairs in sets()}


@pytest.fixture
def matrix() -> ProtocolMatrix:
    made = ProtocolMatrix(sets())
    for how, first in ((COSINE_PEARSON, 10), (HEAD, 20), (replace(COSINE_PEARSON, tokens="words"), 30)):
        for seed in (1, 2):
            made.add(how, seed, scores(first + seed))
    return made


def by_hand(protocol: Protocol, found: Scores, names: list[str]) -> float:
    gold = {pairs.name: pairs.gold for pairs in sets()}
    measure = {Measure.PEARSON: pearsonr, Measure.SPEARMAN: spearmanr}[protocol.measure]
    if protocol.aggregation is Aggregation.POOLED:
        pooled = [value for name in names for value in found[name]]
        return float(measure(pooled, [value for name in names for value in gold[name]])[0])
    each = [float(measure(found[name], gold[name])[0]) for name in names]
    if protocol.aggregation is Aggregation.WEIGHTED:
        return sum(SIZES[name] * r for name, r in zip(names, each, strict=True)) / sum(SIZES[name] for name in names)
    return sum(each) / len(each)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_a_number_is_that_of_brute_force(matrix: ProtocolMatrix, measure: Measure, aggregation: Aggregation) -> None:
    for how, first in ((COSINE_PEARSON, 10), (HEAD, 20)):
        protocol = replace(how, measure=measure, aggregation=aggregation)
        expected = by_hand(protocol, scores(first + 2), [name for name in SIZES if "/" in name])
        assert matrix.value(protocol, YEAR, 2) == pytest.approx(expected, abs=1e-12)
        assert matrix.value(protocol, "SICK2014", 2) == pytest.approx(
            by_hand(protocol, scores(first + 2), ["SICK2014"])
        )


def test_all_combinations_are_there_and_of_one_set_alone_no_aggregation(matrix: ProtocolMatrix) -> None:
    assert matrix.rows == [YEAR, "SICK2014"] and matrix.groups == [YEAR]
    assert len(set(matrix.protocols(YEAR))) == 3 * len(MEASURES) * len(AGGREGATIONS)
    assert {how.aggregation for how in matrix.protocols("SICK2014")} == {Aggregation.PER_SET}
    rows = [row for at in matrix.rows for row in matrix.metric_rows("E", matrix.protocols(at), at)]
    assert len({(row.dataset, row.protocol, row.seed) for row in rows}) == len(rows) == 2 * 3 * (6 + 2)
    assert {row.n for row in rows if row.dataset == YEAR} == {28}


def test_a_perfect_scorer_is_perfect_under_every_protocol() -> None:
    matrix = ProtocolMatrix(sets())
    for how in (COSINE_PEARSON, HEAD):
        matrix.add(how, 1, {pairs.name: pairs.gold for pairs in sets()})
    for row in matrix.rows:
        assert [matrix.mean(how, row) for how in matrix.protocols(row)] == pytest.approx(
            [1.0] * (12 if "/" in row else 4)
        )


def test_the_scale_of_gold_and_scores_moves_nothing(matrix: ProtocolMatrix) -> None:
    """As 2.5 (cos + 1), which puts cosines on the scale of STS."""
    other = ProtocolMatrix([replace(pairs, gold=pairs.gold / 5) for pairs in sets()])
    other.add(COSINE_PEARSON, 1, {name: 2.5 * (found + 1) for name, found in scores(11).items()})
    for how in other.protocols(YEAR):
        assert other.value(how, YEAR, 1) == pytest.approx(matrix.value(how, YEAR, 1), abs=1e-12)


def test_levels_of_sets_move_the_pool_alone(matrix: ProtocolMatrix) -> None:
    other = ProtocolMatrix(sets())
    shifted = {name: found + 40 * place for place, (name, found) in enumerate(scores(11).items())}
    other.add(COSINE_PEARSON, 1, shifted)
    for measure in MEASURES:
        for way in AGGREGATIONS:
            how = Protocol(Score.COSINE, measure, way)
            same = other.value(how, YEAR, 1) == pytest.approx(matrix.value(how, YEAR, 1), abs=1e-9)
            assert same == (way is not Aggregation.POOLED)


def test_the_order_of_sets_and_pairs_moves_nothing(matrix: ProtocolMatrix) -> None:
    order = {name: np.random.default_rng(5).permutation(size) for name, size in SIZES.items()}
    turned = [replace(pairs, gold=pairs.gold[order[pairs.name]]) for pairs in reversed(sets())]
    other = ProtocolMatrix(turned)
    other.add(COSINE_PEARSON, 1, {name: found[order[name]] for name, found in scores(11).items()})
    for how in other.protocols(YEAR):
        assert other.value(how, YEAR, 1) == pytest.approx(matrix.value(how, YEAR, 1), abs=1e-12)


def test_a_restriction_is_the_matrix_of_the_pairs_that_are_left(matrix: ProtocolMatrix) -> None:
    kept = {"STS2014/a": np.arange(9) % 2 == 0, "STS2014/c": np.zeros(5, dtype=bool)}
    matrix.restrict("some", kept)
    whole = kept | {"STS2014/b": np.ones(14, dtype=bool)}
    small = ProtocolMatrix(
        [replace(p, first=p.first[: whole[p.name].sum()], second=p.second[: whole[p.name].sum()],
                 gold=p.gold[whole[p.name]]) for p in sets() if p.name in ("STS2014/a", "STS2014/b")]
    )  # fmt: skip
    small.add(COSINE_PEARSON, 1, {name: scores(11)[name][whole[name]] for name in ("STS2014/a", "STS2014/b")})
    for way in AGGREGATIONS:
        how = replace(COSINE_PEARSON, aggregation=way)
        found = matrix.value(replace(how, detail="some"), YEAR, 1)
        assert found == pytest.approx(small.value(how, YEAR, 1), abs=1e-12)
    [row] = [row for row in matrix.metric_rows("E", [replace(COSINE_PEARSON, detail="some")], YEAR) if row.seed == 1]
    assert row.n == 5 + 14
    assert matrix.differs(replace(COSINE_PEARSON, detail="some"), YEAR)
    assert not matrix.differs(replace(COSINE_PEARSON, detail="some"), "SICK2014")  # where all pairs are kept
    matrix.restrict("none", {name: np.zeros(size, dtype=bool) for name, size in SIZES.items()})
    assert not matrix.differs(replace(COSINE_PEARSON, detail="none"), YEAR)


def test_what_has_no_scores_or_is_the_house_itself_does_not_differ(matrix: ProtocolMatrix) -> None:
    assert not matrix.differs(COSINE_PEARSON, YEAR)
    assert not matrix.differs(replace(COSINE_PEARSON, tokens="stems"), YEAR)
    assert matrix.differs(POOLED, YEAR) and not matrix.differs(POOLED, "SICK2014")


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_the_bootstrap_is_that_of_repeated_pairs(
    matrix: ProtocolMatrix, measure: Measure, aggregation: Aggregation
) -> None:
    protocol = replace(COSINE_PEARSON, measure=measure, aggregation=aggregation)
    found = matrix.resampled(protocol, YEAR, 4)
    places = {name: place for place, name in enumerate(SIZES)}
    drawn = {name: statistics.resample_counts(size, 4, [0, places[name]]).astype(int) for name, size in SIZES.items()}
    for number in range(4):
        again = [
            ScoredPairs(p.name, ["x"] * len(p), ["y"] * len(p), np.repeat(p.gold, drawn[p.name][number]), (0, 5))
            for p in sets()
        ]
        copy = ProtocolMatrix(again)
        for seed in (1, 2):
            copy.add(COSINE_PEARSON, seed, {n: np.repeat(scores(10 + seed)[n], drawn[n][number]) for n in SIZES})
        assert found[number] == pytest.approx(copy.mean(protocol, YEAR), abs=1e-9)


def test_effects_share_their_resamples_and_change_sign_with_their_sides(matrix: ProtocolMatrix) -> None:
    test = matrix.effect(POOLED, YEAR, 200)
    turned = matrix.effect(COSINE_PEARSON, YEAR, 200, against=POOLED)
    assert (test.low, test.estimate, test.high) == pytest.approx((-turned.high, -turned.estimate, -turned.low))
    assert test.estimate == pytest.approx(matrix.mean(POOLED, YEAR) - matrix.mean(COSINE_PEARSON, YEAR))
    nothing = matrix.effect(COSINE_PEARSON, YEAR, 200)
    assert (nothing.low, nothing.estimate, nothing.high, nothing.p) == (0, 0, 0, 1)
    inside = matrix.interval(YEAR, 200)
    assert inside.low < inside.estimate < inside.high


def test_a_path_moves_a_field_a_step_and_its_steps_add_up(matrix: ProtocolMatrix) -> None:
    low, high = matrix.ends(YEAR)
    means = {how: matrix.mean(how, YEAR) for how in matrix.protocols(YEAR)}
    assert (means[low], means[high]) == (min(means.values()), max(means.values()))
    end = Protocol(Score.TRAINED_HEAD, Measure.SPEARMAN, Aggregation.POOLED)
    path = matrix.path(YEAR, end)
    assert path[0] == COSINE_PEARSON and path[-1] == end and len(path) == 4
    moved = [{n for n, v in vars(a).items() if vars(b)[n] != v} for a, b in itertools.pairwise(path)]
    assert moved == [{"score"}, {"measure"}, {"aggregation"}]
    steps = [matrix.effect(b, YEAR, 100, against=a).estimate for a, b in itertools.pairwise(path)]
    assert sum(steps) == pytest.approx(means[end] - means[COSINE_PEARSON])


def test_scores_that_do_not_fit_are_refused(matrix: ProtocolMatrix) -> None:
    short = scores(1) | {"STS2014/a": np.zeros(3)}
    with pytest.raises(ValueError, match="do not fit STS2014/a"):
        matrix.add(COSINE_PEARSON, 3, short)
    with pytest.raises(NumericalError, match="SICK2014 is NaN"):
        matrix.add(COSINE_PEARSON, 3, scores(1) | {"SICK2014": np.full(11, np.nan)})
