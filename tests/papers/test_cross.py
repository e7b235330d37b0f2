"""The matrix across the papers: which encoders and transfers it finds, which settings score what, letters for ties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from sentbook import config
from sentbook.data import label_pairs, modern, suites
from sentbook.data.tasks import task
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import Predictions
from sentbook.io import ConfigError, NumericalError
from sentbook.papers.cross import experiments as cross
from sentbook.papers.cross import scores as judged
from sentbook.papers.cross.settings import Settings
from sentbook.papers.dnt import experiments as dnt
from sentbook.papers.dnt.winners import encoder_of, setting_of
from sentbook.runs import ledger
from sentbook.study import Study
from sentbook.training.search import Found, search

SETTINGS = ("UE", "FT", "DNT")
DEMO = {"profile": "demo", "datasets": ["miniworld", "miniworld-paraphrase"], "label_pairs": 1000}


@dataclass
class Made:
    """What a run of two encoders makes, whose artifacts are still there."""

    settings: Settings
    rows: list[cross.Encoder]
    found: list[Found]
    book: Predictions
    labels: list[judged.Labels]


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
        yield Made(settings, rows, found, book, labels)


# -- what is in the matrix ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["demo", pytest.param("small", marks=pytest.mark.real_data)])
def test_transfers_are_those_of_the_papers_pages(profile: str, request: pytest.FixtureRequest) -> None:
    """By their keys, so that they are found where the papers' notebooks trained them."""
    if profile == "small":
        request.getfixturevalue("mirror")
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


@pytest.mark.real_data
def test_every_combination_is_asked_for_or_said_to_be_missing(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    books = dict.fromkeys(judged.rows_of(made.settings, made.book), made.book) | {
        one.name: one.book for one in made.labels
    }
    assert list(books) == [
        "domains/avg", "miniworld/relatedness", "miniworld/paraphrase", "miniworld/sentiment", "miniworld/question"
    ]  # fmt: skip
    for name in ("miniworld/relatedness", "domains/avg"):  # the domains by what was trained elsewhere
        assert made.book.mean("CSE [DNT]", name) > made.book.mean("CSE [UE]", name) + 0.05
    for name in ("miniworld/sentiment", "miniworld/question"):
        for encoder in ("PP", "CSE"):
            transferred, plain = (books[name].mean(f"{encoder} [{setting}]", name) for setting in ("FT", "UE"))
            assert transferred > plain > task(name).majority
    for name, book in books.items():
        assert {m for m in book.methods if book.has(m, name)} == {f"{e} [{s}]" for e in ("PP", "CSE") for s in SETTINGS}
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
    rows = judged.metric_rows(made.settings, made.book, made.labels)
    values = {(m.method, m.dataset, m.metric, m.protocol): m.value for m in rows}
    assert len(values) == len(rows)
    year = {p: v for (m, d, _, p), v in values.items() if (m, d) == ("PP [UE]", "domains/avg")}
    mean, pooled = (f"cosine, pearson, {way}, ptb tokens" for way in ("mean of sets", "pooled pairs"))
    assert list(year) == [mean, pooled]
    assert year[mean] == pytest.approx(made.book.mean("PP [UE]", "domains/avg"))
    kinds = {(d, setting_of(m)): p for (m, d, _, p) in values}
    assert kinds["miniworld/sentiment", "UE"] == "cosine, nearest class mean, a fifth held out"
    assert "logistic regression" in kinds["miniworld/sentiment", "FT"]
    assert kinds["miniworld/paraphrase", "UE"].endswith("training pairs")
    assert kinds["miniworld/paraphrase", "DNT"].endswith("trial pairs")


@pytest.mark.parametrize("experiment", ["table4", "future"])
def test_the_recorded_matrix_has_the_numbers_of_the_recorded_pages(experiment: str) -> None:
    """The same encoders before any transfer; vectors that were computed in other batches round differently."""
    ours, theirs = ledger.read("cross", "matrix", "small"), ledger.read("dnt", experiment, "small")
    assert ours is not None and theirs is not None
    known = {(m.method, m.dataset, m.seed, m.protocol): m.value for m in theirs.metrics if m.method.endswith("[UE]")}
    both = [m for m in ours.metrics if (m.method, m.dataset, m.seed, m.protocol) in known]
    assert len(both) >= 24
    for m in both:
        assert m.value == pytest.approx(known[m.method, m.dataset, m.seed, m.protocol], abs=1e-4)


def test_pairs_that_were_asked_several_questions_are_resampled_together() -> None:
    """The four dimensions of human activities are of the same pairs."""
    texts = [str(n) for n in range(120)]
    sides = (("SIM", texts), ("REL", texts), ("MA", texts[::-1]))
    sets = [ScoredPairs(name, first, texts, np.arange(120.0), (0, 120)) for name, first in sides]
    one, other, third = (judged.by_text(sets).counts(pairs.name, 120, 20) for pairs in sets)
    np.testing.assert_array_equal(one, other)
    assert (one != third).any()
