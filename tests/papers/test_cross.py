"""The matrix across the papers: which encoders and transfers it finds, which settings score what, letters for ties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from sentbook import config
from sentbook.data import label_pairs, modern, suites
from sentbook.data.tasks import task
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import Predictions, task_predictions
from sentbook.evaluation.protocols import Measure
from sentbook.papers.cross import experiments as cross
from sentbook.papers.cross import scores as judged
from sentbook.papers.cross.columns import CLASSIFICATION, SIMILARITY, Column, by_text, column, mean_of
from sentbook.papers.cross.settings import Settings
from sentbook.papers.dnt import experiments as dnt
from sentbook.papers.dnt.winners import encoder_of, setting_of
from sentbook.runs import ledger
from sentbook.study import Study
from sentbook.system.errors import ConfigError, NumericalError
from sentbook.training.search import Found, search

DEMO = {"profile": "demo", "datasets": ["miniworld", "miniworld-paraphrase"], "label_pairs": 1000}


@dataclass
class Made:
    """What a run of two encoders makes, whose artifacts are still there."""

    settings: Settings
    rows: list[cross.Encoder]
    found: list[Found]
    book: Predictions
    labels: list[judged.Labels]
    columns: dict[tuple[str, str], Column]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path_factory.mktemp("artifacts")))
        settings = config.load("cross", DEMO)
        study = Study("cross/matrix", settings)
        rows = [one for one in cross.encoders(study, settings) if one.name in ("PP", "CSE")]
        study.train(*(one.starts for one in rows))
        found = search(study, cross.transfers(settings, rows))
        book, labels = judged.score(settings, rows, found), judged.label(settings, rows, found)
        yield Made(settings, rows, found, book, labels, judged.columns(settings, book, labels))


# -- what is in the matrix ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["demo", "small"])
def test_transfers_are_those_of_the_papers_pages(profile: str) -> None:
    """By their keys, so that they are found where the papers' notebooks trained them."""
    settings = config.load("cross", {"profile": profile})
    transfer, _ = cross.settings_of(settings)
    known = dnt.pretrained(Study("dnt/table4", transfer), transfer)
    rows = cross.encoders(Study("cross/matrix", settings), settings)
    assert tuple(one.name for one in rows if one.trainable) == cross.ORDER
    ours = {(w.method, w.stage.dataset): w for w in cross.transfers(settings, rows)}
    for theirs in dnt.wanted(transfer, {name: known[name] for name in ("PP", "GRAN")}, ["FT KL", "DNT, words updated"]):
        mine = ours[f"{encoder_of(theirs.method)} [{setting_of(theirs.method)}]", theirs.stage.dataset]
        assert mine.grid == theirs.grid
        assert [r.key() for r in mine.recipes(mine.stage)] == [r.key() for r in theirs.recipes(theirs.stage)]


def test_every_combination_is_asked_for_or_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modern, "available", lambda name: name.startswith("all"))
    monkeypatch.setattr("sentbook.data.vectors.available", modern.available)
    settings = config.load("cross", {"profile": "small"})
    rows = cross.encoders(Study("cross/matrix", settings), settings)
    asked = {(w.method, w.stage.dataset) for w in cross.transfers(settings, rows)}
    for one in rows:
        wanted = set(suites.TRANSFER)
        assert {name for method, name in asked if method == f"{one.name} [FT]"} == wanted
        wanted |= {"msrp", "mr", "cr", "subj", "mpqa", "trec"}
        assert {name for method, name in asked if method == f"{one.name} [DNT]"} == (wanted if one.trainable else set())
    missing = cross.missing(settings, rows)
    assert set(missing) == {"MiniLM [DNT]", "USE [UE]", "USE [FT]"}
    assert "not trained here" in missing["MiniLM [DNT]"] and "pip install" in missing["USE [UE]"]


def test_what_cannot_be_a_column_is_told() -> None:
    for changes, words in (
        ({"datasets": ["miniworld", "mr"]}, "holds mr, whose sentences have classes"),
        ({"datasets": ["msrp"]}, "holds no scored pairs"),
        ({"classification": ["MSRP"]}, "MSRP, which has no pairs of labelled sentences; choose among MR, CR"),
    ):
        with pytest.raises(ConfigError, match=words):
            config.load("cross", {"profile": "demo", **changes})
    wrong = config.load("cross", {"profile": "demo", "cnn_lstm": "autoencodr"})
    with pytest.raises(ConfigError, match="no CNN-LSTM model 'autoencodr'; choose one of autoencoder, future"):
        cross.encoders(Study("cross/matrix", wrong), wrong)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_training_helps_on_the_mini_world_and_every_cell_is_there(made: Made) -> None:
    values = {name: one.values for (name, _), one in made.columns.items()}
    for name in ("miniworld/relatedness", "domains/avg"):  # the domains by what was trained elsewhere
        assert values[name]["CSE [DNT]"] > values[name]["CSE [UE]"] + 0.05
    for name in ("miniworld/sentiment", "miniworld/question"):
        for encoder in ("PP", "CSE"):
            assert values[name][f"{encoder} [FT]"] > values[name][f"{encoder} [UE]"] > task(name).majority
    assert list(made.columns) == [
        ("domains/avg", "pearson"), ("miniworld/relatedness", "pearson"), (SIMILARITY, "correlation"),
        ("miniworld/paraphrase", "accuracy"), ("miniworld/paraphrase", "f1"), ("miniworld/sentiment", "accuracy"),
        ("miniworld/question", "accuracy"), (CLASSIFICATION, "accuracy"),
    ]  # fmt: skip
    for one in made.columns.values():
        assert set(one.methods) == {f"{e} [{s}]" for e in ("PP", "CSE") for s in ("UE", "FT", "DNT")}
    [stage] = [row.stage for row in made.found if (row.method, row.dataset) == ("PP [DNT]", "miniworld-question")]
    assert round(stage.share * label_pairs.SIZES["train"]) == made.settings.label_pairs


def test_a_head_that_is_trained_again_is_the_transfers_or_is_refused(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The domains' scores are by that head; here the head is untrained, and nothing is found by its key."""
    monkeypatch.setattr(judged, "fit", lambda problem, stage, **options: None)
    again = judged.score(made.settings, made.rows, made.found)  # what was made before is found
    np.testing.assert_array_equal(
        again.stacked("CSE [FT]", "domains/people"), made.book.stacked("CSE [FT]", "domains/people")
    )
    monkeypatch.setattr(judged, "OUTCOME_VERSION", 0)
    with pytest.raises(NumericalError, match="the head trained again is off by"):
        judged.score(made.settings, made.rows, made.found)


def test_every_metric_says_how_it_came_about(made: Made) -> None:
    rows = judged.metric_rows(made.settings, made.book, made.labels, made.columns)
    values = {(m.method, m.dataset, m.metric, m.protocol): m.value for m in rows}
    assert len(values) == len(rows)
    year = {p: v for (m, d, _, p), v in values.items() if (m, d) == ("PP [UE]", "domains/avg")}
    mean, pooled = (f"cosine, pearson, {way}, ptb tokens" for way in ("mean of sets", "pooled pairs"))
    assert list(year) == [mean, pooled]
    assert year[mean] == pytest.approx(made.columns["domains/avg", "pearson"].values["PP [UE]"])
    kinds = {(d, setting_of(m)): p for (m, d, _, p) in values if "mean" not in d}
    assert kinds["miniworld/sentiment", "UE"] == "cosine, nearest class mean, a fifth held out"
    assert "logistic regression" in kinds["miniworld/sentiment", "FT"]
    assert kinds["miniworld/paraphrase", "UE"].endswith("training pairs")
    assert kinds["miniworld/paraphrase", "DNT"].endswith("trial pairs")


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


# -- columns -----------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
GOLD = RNG.normal(size=120)
NOISY = {"good": GOLD + RNG.normal(size=(2, 120)) * 0.5, "poor": GOLD + RNG.normal(size=(1, 120)) * 3}


@pytest.fixture
def book() -> Predictions:
    found = Predictions({"X": GOLD, "Y": GOLD[:50]}, means={"year": ["X", "Y"]})
    for method, table in NOISY.items():
        for seed, row in enumerate(table):
            found.add(method, seed, "X", row)
            found.add(method, seed, "Y", row[:50])
    return found


def test_a_columns_values_intervals_and_tests(book: Predictions) -> None:
    for row in ("X", "year"):
        found, known = column(book, row, Measure.PEARSON, 300), book.interval("good", row, resamples=300)
        assert found.values["good"] == pytest.approx(known.estimate)
        assert found.interval("good") == pytest.approx((known.low, known.high))
    (test,) = found.tests()
    assert (test.a, test.b, test.dataset, test.metric) == ("good", "poor", "year", "pearson")
    assert test.low > 0 and test.p == pytest.approx(1 / 301) and test.p_holm is None
    assert found.letters() == {"good": "a", "poor": "b"} and found.n == 170


def test_a_mean_holds_the_methods_that_all_columns_hold(book: Predictions) -> None:
    labels = task_predictions()
    for method in ("good", "new"):
        labels.add_labels(method, 1, "T", np.arange(9) % 3, np.arange(9) % 3)
    one, other = column(book, "X", Measure.PEARSON, 300), column(labels, "T", Measure.ACCURACY, 300)
    mean = mean_of("mean", "correlation", [one, other])
    assert mean.methods == ["good"] and mean.n == 129
    np.testing.assert_allclose(mean.sampled["good"], (one.sampled["good"] + 1) / 2)


def test_pairs_that_were_asked_several_questions_are_resampled_together() -> None:
    """The four dimensions of human activities are of the same pairs."""
    texts = [str(n) for n in range(120)]
    sides = (("SIM", texts), ("REL", texts), ("MA", texts[::-1]))
    sets = [ScoredPairs(name, first, texts, GOLD, (-5, 5)) for name, first in sides]
    one, other, third = (by_text(sets).counts(pairs.name, 120, 20) for pairs in sets)
    np.testing.assert_array_equal(one, other)
    assert (one != third).any()
