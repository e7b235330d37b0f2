"""One encoder under every protocol: numbers by brute force, what changes none of them, which encoder and which head."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from sentbook import config
from sentbook.data import corpora, suites
from sentbook.data.overlap import key
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics
from sentbook.evaluation.protocols import (
    AGGREGATIONS,
    CORRELATIONS,
    COSINE_PEARSON,
    Aggregation,
    Measure,
    Protocol,
    Score,
)
from sentbook.io import ConfigError, NumericalError
from sentbook.papers.cross import protocols
from sentbook.papers.cross.experiments import met
from sentbook.papers.cross.protocols import ProtocolMatrix
from sentbook.papers.cross.settings import Settings
from sentbook.papers.dnt import experiments as dnt
from sentbook.study import Study
from sentbook.training.recipes import Trained
from sentbook.training.search import search
from sentbook.training.settings import HeadTraining

# -- numbers -----------------------------------------------------------------------------------------------------------

SIZES = {"STS2014/a": 9, "STS2014/b": 14, "STS2014/c": 5, "SICK2014": 11}
YEAR, YEARS_SETS = "STS2014/avg", [name for name in SIZES if "/" in name]
HEAD = replace(COSINE_PEARSON, score=Score.TRAINED_HEAD)
POOLED = replace(COSINE_PEARSON, aggregation=Aggregation.POOLED)
BOTH = [Protocol(Score.COSINE, measure, way) for measure in CORRELATIONS for way in AGGREGATIONS]
Scores = dict[str, np.ndarray]


def sets() -> list[ScoredPairs]:
    rng = np.random.default_rng(0)
    return [ScoredPairs(name, ["x"] * n, ["y"] * n, rng.integers(0, 6, n) + 0.0, (0, 5)) for name, n in SIZES.items()]


def scores(seed: int) -> Scores:
    rng = np.random.default_rng(seed)
    return {pairs.name: pairs.gold + 2 * rng.normal(size=len(pairs)) + rng.normal() for pairs in sets()}


def matrix_of(found: Scores, pairs: list[ScoredPairs] | None = None) -> ProtocolMatrix:
    made = ProtocolMatrix(sets() if pairs is None else pairs)
    made.add(COSINE_PEARSON, 1, found)
    return made


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
        pooled = (np.concatenate([held[name] for name in names]) for held in (found, gold))
        return float(measure(*pooled)[0])
    each = [float(measure(found[name], gold[name])[0]) for name in names]
    weights = [SIZES[name] for name in names] if protocol.aggregation is Aggregation.WEIGHTED else None
    return float(np.average(each, weights=weights))


@pytest.mark.parametrize("how", BOTH, ids=str)
def test_a_number_is_that_of_brute_force(matrix: ProtocolMatrix, how: Protocol) -> None:
    for score, first in ((Score.COSINE, 10), (Score.TRAINED_HEAD, 20)):
        for row, names in ((YEAR, YEARS_SETS), ("SICK2014", ["SICK2014"])):
            expected = np.mean([by_hand(how, scores(first + seed), names) for seed in (1, 2)])
            assert matrix.mean(replace(how, score=score), row) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("how", BOTH, ids=str)
def test_the_bootstrap_is_that_of_repeated_pairs(matrix: ProtocolMatrix, how: Protocol) -> None:
    found = matrix.resampled(how, YEAR, 3)
    for number in range(3):
        drawn = {
            name: statistics.resample_counts(size, 3, [0, place])[number].astype(int)
            for place, (name, size) in enumerate(SIZES.items())
        }
        again = [replace(p, first=["x"] * len(p), gold=np.repeat(p.gold, drawn[p.name])) for p in sets()]
        copies = [matrix_of({n: np.repeat(scores(s)[n], drawn[n]) for n in SIZES}, again) for s in (11, 12)]
        assert found[number] == pytest.approx(np.mean([copy.mean(how, YEAR) for copy in copies]), abs=1e-9)


def test_what_moves_no_number() -> None:
    """The scale of gold and scores, as 2.5 (cos + 1), and the order of pairs and sets; levels of sets move the pool."""
    matrix = matrix_of(scores(11))
    order = {name: np.random.default_rng(5).permutation(size) for name, size in SIZES.items()}
    turned = [replace(pairs, gold=pairs.gold[order[pairs.name]]) for pairs in reversed(sets())]
    scaled = matrix_of(
        {name: 2.5 * (found + 1) for name, found in scores(11).items()}, [replace(p, gold=p.gold / 5) for p in sets()]
    )
    mixed = matrix_of({name: found[order[name]] for name, found in scores(11).items()}, turned)
    shifted = matrix_of({name: found + 40 * place for place, (name, found) in enumerate(scores(11).items())})
    for how in BOTH:
        expected = pytest.approx(matrix.mean(how, YEAR), abs=1e-9)
        assert scaled.mean(how, YEAR) == expected and mixed.mean(how, YEAR) == expected
        assert (shifted.mean(how, YEAR) == expected) == (how.aggregation is not Aggregation.POOLED)


def test_a_restriction_is_the_matrix_of_the_pairs_that_are_left() -> None:
    kept = {"STS2014/a": np.arange(9) % 2 == 0, "STS2014/c": np.zeros(5, dtype=bool)}
    matrix = matrix_of(scores(11))
    matrix.restrict("some", kept)
    whole = {"STS2014/a": kept["STS2014/a"], "STS2014/b": np.ones(14, dtype=bool)}
    left = [
        replace(p, first=["x"] * whole[p.name].sum(), second=["y"] * whole[p.name].sum(), gold=p.gold[whole[p.name]])
        for p in sets()
        if p.name in whole
    ]
    small = matrix_of({name: scores(11)[name][mask] for name, mask in whole.items()}, left)
    for how in BOTH:
        found = matrix.mean(replace(how, detail="some"), YEAR)
        assert found == pytest.approx(small.mean(how, YEAR), abs=1e-12)
    some = replace(COSINE_PEARSON, detail="some")
    assert matrix.differs(some, YEAR) and not matrix.differs(some, "SICK2014")  # where all pairs are kept
    matrix.restrict("none", {name: np.zeros(size, dtype=bool) for name, size in SIZES.items()})
    assert not matrix.differs(replace(COSINE_PEARSON, detail="none"), YEAR)
    assert not matrix.differs(COSINE_PEARSON, YEAR)
    assert not matrix.differs(replace(COSINE_PEARSON, tokens="stems"), YEAR)  # which has no scores
    assert matrix.differs(POOLED, YEAR) and not matrix.differs(POOLED, "SICK2014")


def test_effects_change_sign_with_their_sides_and_steps_add_up(matrix: ProtocolMatrix) -> None:
    test, turned = matrix.effect(POOLED, YEAR, 200), matrix.effect(COSINE_PEARSON, YEAR, 200, against=POOLED)
    assert (test.low, test.estimate, test.high) == pytest.approx((-turned.high, -turned.estimate, -turned.low))
    nothing = matrix.effect(COSINE_PEARSON, YEAR, 200)
    assert (nothing.low, nothing.estimate, nothing.high, nothing.p) == (0, 0, 0, 1)
    means = {how: matrix.mean(how, YEAR) for how in matrix.protocols(YEAR)}
    assert len(means) == 3 * len(BOTH)
    assert [means[end] for end in matrix.ends(YEAR)] == [min(means.values()), max(means.values())]
    end = Protocol(Score.TRAINED_HEAD, Measure.SPEARMAN, Aggregation.POOLED)
    path = matrix.path(YEAR, end)
    moved = [{n for n, v in vars(a).items() if vars(b)[n] != v} for a, b in itertools.pairwise(path)]
    assert path[0] == COSINE_PEARSON and moved == [{"score"}, {"measure"}, {"aggregation"}]
    steps = [matrix.effect(b, YEAR, 100, against=a).estimate for a, b in itertools.pairwise(path)]
    assert sum(steps) == pytest.approx(means[end] - means[COSINE_PEARSON])


def test_scores_that_do_not_fit_are_refused(matrix: ProtocolMatrix) -> None:
    with pytest.raises(ValueError, match="do not fit STS2014/a"):
        matrix.add(COSINE_PEARSON, 3, scores(1) | {"STS2014/a": np.zeros(3)})
    with pytest.raises(NumericalError, match="SICK2014 is NaN"):
        matrix.add(COSINE_PEARSON, 3, scores(1) | {"SICK2014": np.full(11, np.nan)})


# -- the encoder -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def settings() -> Settings:
    return config.load("cross", {"profile": "demo", "tokenisations": ["ptb", "words"], "protocol_seeds": [1, 2]})


@pytest.fixture(scope="module")
def trained(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Trained]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path_factory.mktemp("artifacts")))
        yield Study("cross/protocols", settings).train(protocols.recipes(settings))


def test_the_encoder_is_the_one_that_dnt_trains_and_a_wrong_name_is_told() -> None:
    own = config.load("dnt", {"profile": "small"})
    for encoder, theirs in dnt.pretrained(Study("dnt/table4", own), own).items():
        found = protocols.recipes(config.load("cross", {"profile": "small", "encoder": encoder}))
        assert [recipe.key() for recipe in found] == [recipe.key() for recipe in theirs]
    with pytest.raises(ConfigError, match="no encoder 'Gran'; choose one of InferSent, BiLSTM-Avg, GRAN"):
        protocols.recipes(config.load("cross", {"profile": "demo", "encoder": "Gran"}))


def test_the_head_is_feature_transfer(settings: Settings, trained: list[Trained]) -> None:
    """Its predictions are those of the same cell of the DNT paper's table 4."""
    transfer = protocols.transfer_settings(settings)
    study = Study("dnt/table4", transfer)
    starts = {"BiLSTM-Avg": dnt.encoders(study, transfer)["BiLSTM-Avg"]}
    [found] = search(study, dnt.wanted(transfer, starts, ["FT KL"], ["miniworld"]))
    test = replace(suites.pairs("miniworld", "test"), name="the test")
    assert isinstance(found.stage, HeadTraining)
    for item, same in zip(trained, found.trained, strict=True):
        best, predicted = protocols.Encoded(item, [test], "ptb", "cpu").head(found.stage)
        assert best == pytest.approx(same.metadata["history"]["best"], abs=1e-6)
        classes = test.scale[1] - test.scale[0] + 1
        np.testing.assert_allclose((predicted["the test"] - 1) / (classes - 1), same.scores("test"), atol=1e-5)


def test_the_houses_number_is_that_of_every_other_table(settings: Settings, trained: list[Trained]) -> None:
    matrix, heads = protocols.score(settings, trained)
    [row] = matrix.rows
    assert [(head["tokens"], head["dataset"]) for head in heads] == [("ptb", "miniworld"), ("words", "miniworld")]
    book = Study("cross/x", settings).score(trained, sets=protocols.test_sets(settings))
    assert matrix.mean(COSINE_PEARSON, row) == pytest.approx(book.mean(trained[0].method, row))
    moved = [POOLED, HEAD, replace(COSINE_PEARSON, detail=protocols.DROPPED)]
    rows = matrix.metric_rows(settings.encoder, moved)
    assert len({(r.dataset, r.protocol, r.seed) for r in rows}) == len(rows)
    assert {r.protocol for r in rows} == set(map(str, matrix.measured(moved, row))) > set(map(str, moved))


def test_pairs_that_pre_training_met_are_left_out(trained: list[Trained]) -> None:
    """Every sentence that the encoder may have been trained on, of every seed, and nothing without training."""
    stage, known = trained[0].recipe.stages[0], met(item.recipe for item in trained)
    read = [corpora.load(stage.corpora, seed=seed, limit=stage.limit) for seed in (1, 2)]  # type: ignore[union-attr]
    assert {key(text) for pairs in read for text in (*pairs.first, *pairs.second)} == known
    assert met([trained[0].recipe.prefix(0)]) == frozenset()
    seen = read[1].first[0]
    pairs = ScoredPairs("set", [f"{seen.upper()}!", "a cat", "one"], ["a girl", seen, "two"], np.zeros(3), (0, 5))
    assert protocols.unseen([pairs], trained)["set"].tolist() == [False, False, True]
