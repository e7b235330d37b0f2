"""One encoder under every protocol: which encoder, which head, which pairs it has met, which choices."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sentbook import config
from sentbook.data import suites
from sentbook.data.text import TokenIds
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.protocol_matrix import HOUSE, STEP
from sentbook.evaluation.protocols import COSINE_PEARSON, Score
from sentbook.papers.cross import protocols
from sentbook.papers.cross.settings import Settings
from sentbook.papers.dnt import experiments as dnt
from sentbook.study import Study
from sentbook.system.errors import ConfigError
from sentbook.system.paths import artifacts
from sentbook.training.recipes import Trained
from sentbook.training.search import search
from sentbook.training.settings import HeadTraining


@pytest.fixture(scope="module")
def settings() -> Settings:
    return config.load("cross", {"profile": "demo", "tokenisations": ["ptb", "words"], "protocol_seeds": [1, 2]})


@pytest.fixture(scope="module")
def trained(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> list[Trained]:
    patch = pytest.MonkeyPatch()
    patch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path_factory.mktemp("artifacts")))
    found = Study("cross/protocols", settings).train(protocols.recipes(settings))
    kept = [replace(item, file=artifacts() / item.recipe.key() / "encoder.safetensors") for item in found]
    patch.undo()
    return kept


@pytest.mark.parametrize("profile", ["demo", "small"])
@pytest.mark.parametrize("encoder", ["BiLSTM-Avg", "GRAN", "InferSent", "PP", "CSE", "WSV"])
def test_the_encoder_is_the_one_that_dnt_trains(profile: str, encoder: str) -> None:
    own = config.load("dnt", {"profile": profile})
    study = Study("dnt/table4", own)
    known = dnt.encoders(study, own) | dnt.other_encoders(study, own)
    found = protocols.recipes(config.load("cross", {"profile": profile, "encoder": encoder}))
    assert [recipe.key() for recipe in found] == [recipe.key() for recipe in known[encoder]]


def test_its_seeds_can_be_chosen_and_a_wrong_name_is_told() -> None:
    one = config.load("cross", {"profile": "demo", "encoder": "GRAN", "protocol_seeds": [7]})
    assert [recipe.seed for recipe in protocols.recipes(one)] == [7]
    with pytest.raises(ConfigError, match="no encoder 'Gran'; choose one of InferSent, BiLSTM-Avg, GRAN"):
        protocols.recipes(config.load("cross", {"profile": "demo", "encoder": "Gran"}))


def test_unknown_words_are_dropped_but_where_nothing_else_is_left() -> None:
    tokens = TokenIds(np.array([1, 4, 1, 1, 2, 3]), np.array([0, 2, 4, 6]))
    found = protocols.without_unknown(tokens)
    assert np.split(found.flat, found.offsets[1:-1])[0].tolist() == [4]
    assert (found.flat.tolist(), found.lengths.tolist()) == ([4, 1, 1, 2, 3], [1, 2, 2])


def test_the_head_is_feature_transfer(
    settings: Settings, trained: list[Trained], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its predictions are those of the same cell of the DNT paper's table 4."""
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path))
    transfer = protocols.transfer_settings(settings)
    study = Study("dnt/table4", transfer)
    starts = {"BiLSTM-Avg": dnt.encoders(study, transfer)["BiLSTM-Avg"]}
    study.train(*starts.values())
    [found] = search(study, dnt.wanted(transfer, starts, ["FT KL"], ["miniworld"]))
    test = replace(suites.pairs("miniworld", "test"), name="the test")
    assert isinstance(found.stage, HeadTraining)
    for item, same in zip(trained, found.trained, strict=True):
        best, scores = protocols.Encoded(item, [test], "ptb", "cpu").head(found.stage)
        assert best == pytest.approx(same.metadata["history"]["best"], abs=1e-6)
        classes = test.scale[1] - test.scale[0] + 1
        np.testing.assert_allclose((scores["the test"] - 1) / (classes - 1), same.scores("test"), atol=1e-5)


def test_scores_choices_and_what_is_recorded(settings: Settings, trained: list[Trained]) -> None:
    matrix, heads = protocols.score(settings, trained)
    assert [(head["tokens"], head["dataset"]) for head in heads] == [("ptb", "miniworld"), ("words", "miniworld")]
    assert matrix.seeds == [1, 2]
    [row] = matrix.rows
    assert {(how.score, how.tokens) for how in matrix.protocols(row)} == {
        (score, tokens) for score in (Score.COSINE, Score.TRAINED_HEAD) for tokens in ("ptb", "words")
    }
    for item in trained:  # the house's number is that of every other table
        book = Study("cross/x", settings).score([item], sets=protocols.test_sets(settings))
        assert matrix.value(COSINE_PEARSON, row, item.seed) == pytest.approx(book.value(item.method, item.seed, row))

    moved = protocols.choices(settings)
    assert len({choice.name for choice in moved}) == len(moved)
    house = vars(COSINE_PEARSON)
    for choice in moved:  # one field alone, but for a head of another data set, which is a head as well
        changed = {name for name, value in vars(choice.protocol).items() if value != house[name]}
        assert changed - {"score"} or changed == {"score"}
        assert len(changed - {"score"}) <= 1
    tests = protocols.comparisons(matrix, moved, 100)
    alone = [test for test in tests if test.b == HOUSE]
    assert {test.a for test in alone} >= {
        "tokens: words",
        "trained head",
        "pooled pairs",
        "Spearman in place of Pearson",
    }
    assert all(test.p_holm is not None and test.p_holm >= (test.p or 0) for test in alone)
    for end in matrix.ends(row):
        path = [str(how) for how in matrix.path(row, end)]
        for before, after in itertools.pairwise(path):
            assert [t.kind for t in tests if (t.a, t.b) == (after, before)] == [STEP]

    rows = protocols.metric_rows(matrix, settings.encoder, moved)
    assert len({(r.dataset, r.protocol, r.seed) for r in rows}) == len(rows)
    extra = protocols.extra(matrix, settings, moved, heads)
    assert {item["protocol"] for item in extra["protocols"]} == {metric.protocol for metric in rows}
    assert json.loads(json.dumps(extra)) == extra  # what is read again is what was written


def test_pairs_that_were_met_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocols, "met", lambda trained: frozenset({"a man plays", "two dogs"}))
    pairs = ScoredPairs(
        "set",
        ["A man plays.", "A cat", "One bird", "a man"],
        ["A girl", "Two DOGS!", "A bird", "plays"],
        np.zeros(4),
        (0, 5),
    )
    assert protocols.unseen([pairs], [])["set"].tolist() == [False, False, True, True]


def test_the_miniworlds_pre_training_is_met(settings: Settings, trained: list[Trained]) -> None:
    """Every sentence that the encoder was trained on, of every seed, and nothing without training."""
    from sentbook.data import corpora
    from sentbook.data.overlap import key

    found = protocols.met(trained)
    stage = trained[0].recipe.stages[0]
    for seed in (1, 2):
        pairs = corpora.load(stage.corpora, seed=seed, limit=stage.limit)  # type: ignore[union-attr]
        assert {key(text) for text in (*pairs.first, *pairs.second)} <= found
    untrained = replace(trained[0], recipe=trained[0].recipe.prefix(0))
    assert protocols.met([untrained]) == frozenset()


@pytest.mark.real_data
def test_sts_b_has_half_of_2014_among_its_training_pairs(mirror: Path) -> None:
    shares = protocols.shared_with_benchmark(suites.test_sets("sts"))
    assert shares["STS2014/avg"] == pytest.approx((450 + 300 + 613 + 498) / 3750)
    assert shares["SICK2014"] == pytest.approx(53 / 4927)


@pytest.mark.real_data
def test_five_years_and_two_single_sets_are_scored(mirror: Path) -> None:
    names = [pairs.name for pairs in protocols.test_sets(config.load("cross", {"profile": "small"}))]
    assert len(names) == 24 + 2 and names[-2:] == ["SICK2014", "STSB-test"]
