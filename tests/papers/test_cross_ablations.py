"""The matrix across the papers: which encoders and transfers it finds, which settings score what, what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from sentbook import config
from sentbook.data import label_pairs, modern, suites
from sentbook.data.tasks import task
from sentbook.evaluation.columns import Column
from sentbook.evaluation.features import Features
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import Measure
from sentbook.papers.cnn_lstm import experiments as cnn_lstm
from sentbook.papers.cross import cost as cross_cost
from sentbook.papers.cross import experiments as cross
from sentbook.papers.cross import scores as cross_scores
from sentbook.papers.cross.experiments import Encoder
from sentbook.papers.cross.scores import Labels
from sentbook.papers.cross.settings import Settings
from sentbook.papers.dnt import experiments as dnt
from sentbook.papers.dnt.winners import encoder_of, setting_of
from sentbook.runs import ledger
from sentbook.study import Study
from sentbook.system.errors import ConfigError, NumericalError
from sentbook.training.search import Found, search


def study_of(settings: Settings) -> Study:
    return Study("cross/matrix", settings)


@pytest.fixture(scope="module")
def settings() -> Settings:
    return config.load(
        "cross", {"profile": "demo", "datasets": ["miniworld", "miniworld-paraphrase"], "label_pairs": 1000}
    )


@dataclass
class Made:
    """What a run of two encoders makes."""

    rows: list[Encoder]
    found: list[Found]
    book: Predictions
    labels: list[Labels]
    columns: list[Column]
    artifacts: Path


@pytest.fixture(scope="module")
def made(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("artifacts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_ARTIFACTS", str(folder))
        study = study_of(settings)
        rows = [one for one in cross.encoders(study, settings) if one.name in ("PP", "CSE")]
        study.train(*(one.starts for one in rows))
        found = search(study, cross.transfers(settings, rows))
        book, labels = cross_scores.score(settings, rows, found), cross_scores.label(settings, rows, found)
        return Made(rows, found, book, labels, cross_scores.columns(settings, book, labels), folder)


# -- what is in the matrix ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["demo", "small"])
def test_encoders_and_transfers_are_those_of_the_papers_pages(profile: str) -> None:
    """By their keys, so that they are found where the papers' notebooks trained them."""
    settings = config.load("cross", {"profile": profile})
    transfer, decoding = cross.settings_of(settings)
    own, other = Study("dnt/table4", transfer), Study("cnn_lstm/table3", decoding)
    known = dnt.encoders(own, transfer) | dnt.other_encoders(own, transfer)
    known["CNN-LSTM"] = cnn_lstm.recipes(other, decoding)["autoencoder+emb."]
    rows = cross.encoders(study_of(settings), settings)
    assert [one.name for one in rows if one.trainable] == [
        "PP", "CSE", "WSV", "BiLSTM-Avg", "GRAN", "InferSent", "CNN-LSTM"
    ]  # fmt: skip
    for one in rows:
        if one.trainable:
            assert [recipe.key() for recipe in one.starts] == [recipe.key() for recipe in known[one.name]]
    ours = {(w.method, w.stage.dataset): w for w in cross.transfers(settings, rows)}
    starts = {name: known[name] for name in ("PP", "GRAN")}
    for theirs in dnt.wanted(transfer, starts, ["FT KL", "DNT row1"]):
        encoder, setting = encoder_of(theirs.method), setting_of(theirs.method)
        mine = ours[f"{encoder} [{setting}]", theirs.stage.dataset]
        assert (mine.stage, mine.grid) == (theirs.stage, theirs.grid)
        assert [r.key() for r in mine.recipes(mine.stage)] == [r.key() for r in theirs.recipes(theirs.stage)]


def test_every_combination_is_asked_for_or_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modern, "available", lambda name: name.startswith("all"))
    monkeypatch.setattr("sentbook.data.vectors.available", modern.available)
    settings = config.load("cross", {"profile": "small"})
    rows = cross.encoders(study_of(settings), settings)
    assert [one.name for one in rows][-1] == "MiniLM"
    asked = {(w.method, w.stage.dataset) for w in cross.transfers(settings, rows)}
    for one in rows:
        wanted = set(suites.TRANSFER)
        assert {name for method, name in asked if method == f"{one.name} [FT]"} == wanted
        wanted |= {"msrp", "mr", "cr", "subj", "mpqa", "trec"}
        assert {name for method, name in asked if method == f"{one.name} [DNT]"} == (wanted if one.trainable else set())
    missing = cross.missing(settings, rows)
    assert set(missing) == {"MiniLM [DNT]", "USE [UE]", "USE [FT]"}
    assert "not trained here" in missing["MiniLM [DNT]"] and "pip install" in missing["USE [UE]"]


def test_a_seed_draws_its_share_of_the_label_pairs(settings: Settings) -> None:
    rows = cross.encoders(study_of(settings), settings)[:1]
    stages = [w.stage for w in cross.transfers(settings, rows) if w.stage.dataset in label_pairs.TASK_OF]
    assert [round(stage.share * label_pairs.SIZES["train"]) for stage in stages] == [1000, 1000]


def test_what_cannot_be_a_column_is_told(settings: Settings) -> None:
    for changes, words in (
        ({"datasets": ["miniworld", "mr"]}, "holds mr, whose sentences have classes"),
        ({"datasets": ["msrp"]}, "holds no scored pairs"),
        ({"classification": ["MSRP"]}, "MSRP, which has no pairs of labelled sentences; choose among MR, CR"),
    ):
        with pytest.raises(ConfigError, match=words):
            config.load("cross", {"profile": "demo", **changes})
    wrong = settings.model_copy(update={"cnn_lstm": "autoencodr"})
    with pytest.raises(ConfigError, match="no CNN-LSTM model 'autoencodr'; choose one of autoencoder, future"):
        cross.encoders(study_of(wrong), wrong)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_training_helps_on_the_mini_world(made: Made) -> None:
    values = {one.name: one.values for one in made.columns}
    related = values["miniworld/relatedness"]
    assert related["CSE [DNT]"] > related["CSE [UE]"] + 0.05
    assert values["domains/avg"]["CSE [DNT]"] > values["domains/avg"]["CSE [UE]"] + 0.05
    for name in ("miniworld/sentiment", "miniworld/question"):
        for encoder in ("PP", "CSE"):
            assert values[name][f"{encoder} [FT]"] > values[name][f"{encoder} [UE]"] > task(name).majority


def test_sets_without_training_pairs_are_scored_by_what_was_trained_elsewhere(made: Made) -> None:
    domains = [name for name in made.book.names if name.startswith("domains/")]
    assert len(domains) == len(suites.test_sets("miniworld"))
    for method in made.book.methods:
        assert all(made.book.has(method, name) for name in domains)
    row = next(row for row in made.found if (row.method, row.dataset) == ("CSE [DNT]", "miniworld"))
    pairs = suites.pairs("miniworld", "test")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_ARTIFACTS", str(made.artifacts))
        features = Features("CSE [DNT]", 1, (row.trained[0].recipe,))
        (again,) = cross_scores._cosines(config.load("cross", {"profile": "demo"}), [features], [pairs])
        kept = row.trained[0].scores("test")
    np.testing.assert_allclose(again[pairs.name], kept, atol=1e-5)


def test_a_head_that_is_trained_again_is_the_head_of_the_transfer(made: Made, settings: Settings) -> None:
    row = next(row for row in made.found if row.method == "CSE [FT]")
    start = made.rows[1].plain[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_ARTIFACTS", str(made.artifacts))
        found = cross_scores._make_head_scores(row.trained[0].recipe, start, [suites.pairs("miniworld", "test")], "cpu")
        kept = row.trained[0].scores("test")
    low, high = suites.pairs("miniworld", "test").scale
    np.testing.assert_allclose((found["0"] - low) / (high - low), kept, atol=1e-5)


def test_another_head_than_the_transfers_is_refused(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(made.artifacts))
    recipe = next(row for row in made.found if row.method == "CSE [FT]").trained[0].recipe
    monkeypatch.setattr(cross_scores, "fit", lambda problem, stage, **options: None)  # an untrained head
    with pytest.raises(NumericalError, match="the head trained again is off by"):
        cross_scores._make_head_scores(recipe, made.rows[1].plain[0], [], "cpu")


def test_the_columns_and_their_means(made: Made) -> None:
    assert [(one.name, one.measure) for one in made.columns] == [
        ("domains/avg", "pearson"), ("miniworld/relatedness", "pearson"), (cross_scores.SIMILARITY, "correlation"),
        ("miniworld/paraphrase", "accuracy"), ("miniworld/paraphrase", "f1"), ("miniworld/sentiment", "accuracy"),
        ("miniworld/question", "accuracy"), (cross_scores.CLASSIFICATION, "accuracy"),
    ]  # fmt: skip
    by_name = {(one.name, one.measure): one for one in made.columns}
    for one in made.columns:
        assert set(one.methods) == {f"{e} [{s}]" for e in ("PP", "CSE") for s in ("UE", "FT", "DNT")}
    accuracies = [one for one in made.columns[3:-1] if one.measure == "accuracy"]
    mean = by_name[cross_scores.CLASSIFICATION, "accuracy"]
    for method in mean.methods:
        assert mean.values[method] == pytest.approx(np.mean([one.values[method] for one in accuracies]))


def test_every_metric_says_how_it_came_about(made: Made, settings: Settings) -> None:
    rows = cross_scores.metric_rows(settings, made.book, made.labels, made.columns)
    values = {(m.method, m.dataset, m.metric, m.protocol): m.value for m in rows}
    assert len(values) == len(rows)
    year = {p: v for (m, d, _, p), v in values.items() if (m, d) == ("PP [UE]", "domains/avg")}
    assert list(year) == ["cosine, pearson, mean of sets, ptb tokens", "cosine, pearson, pooled pairs, ptb tokens"]
    by_name = {(one.name, one.measure): one for one in made.columns}
    assert year["cosine, pearson, mean of sets, ptb tokens"] == pytest.approx(
        by_name["domains/avg", "pearson"].values["PP [UE]"]
    )
    kinds = {setting_of(m): p for (m, d, _, p) in values if d == "miniworld/sentiment"}
    assert kinds["UE"] == "cosine, nearest class mean, a fifth held out"
    assert kinds["DNT"] == "trained cosine, nearest class mean, a fifth held out"
    assert "logistic regression" in kinds["FT"] and kinds["FT"].endswith("a fifth held out")
    kinds = {setting_of(m): p for (m, d, _, p) in values if d == "miniworld/paraphrase"}
    assert kinds["UE"].endswith("training pairs") and kinds["DNT"].endswith("trial pairs")


def test_decisions_are_made_by_thresholds_that_test_pairs_did_not_choose(made: Made) -> None:
    book, name = made.labels[0].book, "miniworld/paraphrase"
    assert book.cells == [(name, Measure.ACCURACY), (name, Measure.F1)]
    assert book.gold(name).tolist() == suites.pairs("miniworld-paraphrase", "test").gold.tolist()
    assert all(book.mean(method, name) > 0.5 for method in book.methods)


def test_outcomes_are_found_again(made: Made, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(made.artifacts))
    for name in ("_make_cosines", "_make_head_scores", "_make_sentences"):
        monkeypatch.setattr(cross_scores, name, None)
    again = cross_scores.score(settings, made.rows, made.found)
    for method in made.book.methods:
        for name in made.book.names:
            np.testing.assert_array_equal(again.stacked(method, name), made.book.stacked(method, name))
    labels = cross_scores.label(settings, made.rows, made.found)
    assert [one.book.methods for one in labels] == [one.book.methods for one in made.labels]


@pytest.mark.parametrize("experiment", ["table4", "future"])
def test_the_recorded_matrix_has_the_numbers_of_the_recorded_pages(experiment: str) -> None:
    """The same encoders by the same transfers; vectors that were computed in other batches round differently."""
    ours, theirs = ledger.read("cross", "matrix", "small"), ledger.read("dnt", experiment, "small")
    if ours is None or theirs is None:
        pytest.skip("not recorded")
    rows, known = {"UE": "", "FT": "KL", "DNT": "row1"}, {}
    for m in theirs.metrics:
        name = f"{encoder_of(m.method)} [{setting_of(m.method)}]"
        if m.method == f"{name} {rows.get(setting_of(m.method), 'none')}".strip():
            known[name, m.dataset, m.seed, m.protocol] = m.value
    both = [m for m in ours.metrics if (m.method, m.dataset, m.seed, m.protocol) in known]
    assert len(both) > 50
    for m in both:
        assert m.value == pytest.approx(known[m.method, m.dataset, m.seed, m.protocol], abs=1e-4)


# -- cost and overlap --------------------------------------------------------------------------------------------------


def test_speed_is_timed_by_turns_and_told_beside_the_first(made: Made, settings: Settings) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_ARTIFACTS", str(made.artifacts))
        first, second = cross_cost.speeds(settings, made.rows, made.book.pairs("miniworld/relatedness").first)
    assert (first["encoder"], first["ratio"], first["parameters"]) == ("PP", 1.0, 0)
    assert len(first["rounds"]) == settings.rounds and first["sentences"] <= settings.timed
    assert second["ratio"] == pytest.approx(second["sentences per second"] / first["sentences per second"])
    assert second["parameters"] > 0 and second["word parameters"] == first["word parameters"]


def test_shares_of_met_sentences(made: Made, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    clean = cross_cost.met(settings, made.book)
    assert set(clean) == {"paraphrases", "paraphrases of GRAN", "inference"}
    names = {"domains/avg", "miniworld/relatedness", "miniworld/paraphrase", *settings.classification}
    assert all(set(shares) == names for shares in clean.values())
    # Pre-training that holds a quarter of a test set.
    some = made.book.pairs("miniworld/relatedness")
    stolen = list(dict.fromkeys([*some.first, *some.second]))[::4]
    kept = cross_cost._paraphrases_of

    def stealing(*arguments: object) -> object:
        pairs = kept(*arguments)  # type: ignore[arg-type]
        pairs.first[: len(stolen)] = stolen
        return pairs

    monkeypatch.setattr(cross_cost, "_paraphrases_of", stealing)
    found = cross_cost.met(settings, made.book)["paraphrases"]["miniworld/relatedness"]
    assert found == pytest.approx(0.25, abs=0.02)
