"""The rows of Gan et al.'s tables, what is compared in them, and what is measured of text that is written or found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sentbook import config
from sentbook import records as results
from sentbook.data import suites
from sentbook.data.novels import Books
from sentbook.data.tasks import task
from sentbook.data.types import CaptionedScenes
from sentbook.evaluation import features
from sentbook.evaluation.classification import SKIP_THOUGHTS_MSRP, SKIP_THOUGHTS_TREC, Classified
from sentbook.evaluation.features import Features, classify
from sentbook.evaluation.predictions import INTERVALS, Predictions, sts_predictions, task_predictions
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.statistics import Estimate
from sentbook.models.average import AverageEncoder
from sentbook.papers.cnn_lstm import experiments as ablations
from sentbook.papers.cnn_lstm import ranking_maps as ranking
from sentbook.papers.cnn_lstm.ranking import Ranked, RankingProtocol, rank_images
from sentbook.papers.cnn_lstm.relatedness_head import PairVectors, relatedness
from sentbook.papers.cnn_lstm.settings import RankingTraining, Settings
from sentbook.runs.printed import table as reported
from sentbook.study import Study
from sentbook.training import pretraining, recipes
from sentbook.training.correlation import mse, pearson, spearman
from sentbook.training.recipes import Trained, untrained

SMALL = {"books": 60, "vocabulary": 400, "hidden": 8, "epochs": 1, "held_out": 64}
NAMES = ["autoencoder", "future predictor", "hierarchical model", "composite model"]
ROWS = [*NAMES, "combine"]
CHANGES: dict[str, Any] = {
    "profile": "demo", "device": "cpu", "resamples": 200, "encoder": {"filters": 8}, "pretraining": SMALL,
    "hierarchical": SMALL, "classification": ["miniworld/question", "miniworld/paraphrase"],
    "ranking": {"dimension": 6, "epochs": 1}, "queries": 4,
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Books and artifacts of this module: what one test trains, the next one finds."""
    folder, threads = tmp_path_factory.mktemp("cnn_lstm"), torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_CACHE", str(folder / "cache"))
        patch.setenv("SENTBOOK_ARTIFACTS", str(folder / "artifacts"))
        forget()
        yield
        forget()
    torch.set_num_threads(threads)


def forget() -> None:
    for cached in (pretraining._prepared, recipes._book_words, features._loaded):
        cached.cache_clear()


def paper(**changes: Any) -> Settings:
    return config.load("cnn_lstm", config.merge(CHANGES, changes))


@pytest.fixture(scope="module")
def settings() -> Settings:
    return paper()


def study_of(settings: Settings) -> Study:
    return Study("cnn_lstm/table3", settings)


@pytest.fixture(scope="module")
def study(settings: Settings) -> Study:
    return study_of(settings)


@pytest.fixture(scope="module")
def trained(settings: Settings, study: Study, cache: None) -> dict[str, Trained]:
    """The four models, words learned, and the autoencoder with fixed words."""
    made = ablations.recipes(study, settings)
    return {name: study.train(made[name])[0] for name in [*NAMES, "autoencoder+emb."]}


@pytest.fixture(scope="module")
def books(trained: Mapping[str, Trained]) -> Books:
    stage = trained["autoencoder"].recipe.generation
    assert stage is not None
    return pretraining.books(stage, "ptb")


def fail(*given: Any) -> dict[str, NDArray[Any]]:
    raise AssertionError("this was made before")


def run_of(metrics: list[results.Metric]) -> results.Run:
    made = {"git_commit": "0", "config": {}, "config_hash": "0", "python": "3", "device": "cpu", "started": "now"}
    provenance = results.Provenance(**made, wall_seconds=1, peak_memory_bytes=1, seeds=[1])
    return results.Run(paper="cnn_lstm", experiment="made", profile="demo", provenance=provenance, metrics=metrics)


def metric(method: str, name: str, value: float, seed: int = 1, protocol: str = "p") -> results.Metric:
    return results.Metric(method=method, dataset="d", metric=name, protocol=protocol, seed=seed, value=value, n=9)


# -- rows --------------------------------------------------------------------------------------------------------------


def test_a_row_is_trained_as_its_name_says(settings: Settings, study: Study) -> None:
    made = ablations.recipes(study, settings)
    assert list(made) == NAMES + [f"{name}+emb." for name in NAMES]
    assert list(ablations.recipes(study, settings, ["+emb."])) == [f"{name}+emb." for name in NAMES]
    kinds = ["autoencoder", "future predictor", "hierarchical", "composite"]
    for (name, [recipe]), kind in zip(made.items(), kinds * 2, strict=True):
        stage = recipe.generation
        assert stage is not None and len(recipe.stages) == 1
        assert (recipe.method, stage.model, recipe.seed) == (name, kind, 1)
        assert stage.embedding_update == ("frozen" if name.endswith("+emb.") else "dense")
        base = settings.hierarchical if kind == "hierarchical" else settings.pretraining
        assert stage.model_dump() == base.model_dump() | {"model": kind, "embedding_update": stage.embedding_update}
        assert recipe.encoder == settings.encoder
    assert settings.hierarchical.batch_size != settings.pretraining.batch_size


def test_every_seed_is_a_recipe_and_a_row() -> None:
    settings = paper(seeds=[3, 5])
    made = ablations.recipes(study_of(settings), settings)
    assert all([recipe.seed for recipe in group] == [3, 5] for group in made.values())
    rows = ablations.features(made)
    assert [(row.method, row.seed) for row in rows] == [
        (f"{name}{suffix}", seed) for suffix in ("", "+emb.") for name in ROWS for seed in (3, 5)
    ]
    assert len({row.key() for row in rows}) == 20


@pytest.mark.parametrize(("table", "words"), [("table3", ["", "+emb."]), ("table4", ["+emb."]), ("table5", ["+emb."])])
def test_the_papers_own_rows_have_the_names_under_which_they_are_filed(
    table: str, words: list[str], settings: Settings, study: Study
) -> None:
    rows = {row.method for row in ablations.features(ablations.recipes(study, settings, words))}
    printed = set(reported("cnn_lstm", table).method)
    for name in ("hierarchical model", "composite model", "combine"):
        assert {f"{name}{suffix}" for suffix in words} <= printed
    assert {name for name in printed if name.removesuffix("+emb.") in ROWS and name.endswith(tuple(words))} <= rows


def test_combine_is_the_hierarchical_beside_the_composite_model(
    settings: Settings, study: Study, trained: Mapping[str, Trained]
) -> None:
    rows = {row.method: row for row in ablations.features(ablations.recipes(study, settings))}
    for suffix in ("", "+emb."):
        first, second, both = (rows[f"{name}{suffix}"] for name in ("hierarchical model", "composite model", "combine"))
        assert both.parts == (*first.parts, *second.parts)
    said = ["the dog ran .", "the cook saw a cat .", "the dog ran ."]
    one, other = (rows[name].vectors(said) for name in ablations.COMBINE)
    np.testing.assert_array_equal(rows["combine"].vectors(said), np.hstack([one, other]))
    assert one.shape == other.shape == (3, 24) and not np.array_equal(one, other)


def test_without_both_of_its_models_there_is_no_combination(settings: Settings, study: Study) -> None:
    made = ablations.recipes(study, settings)
    some = {name: made[name] for name in ("autoencoder", "composite model", "hierarchical model+emb.")}
    rows = ablations.features(some)
    assert [row.method for row in rows] == ["autoencoder", "composite model", "hierarchical model+emb."]
    assert [row.method for row in ablations.some(rows, ["composite model", "combine"])] == ["composite model"]


# -- marks -------------------------------------------------------------------------------------------------------------


def test_marks_are_not_trained(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = paper(seeds=[3, 5], modern=["universal-sentence-encoder", "all-minilm-l6-v2"])
    monkeypatch.setattr(ablations.modern, "available", lambda name: name == "all-minilm-l6-v2")
    marks = ablations.marks(study_of(wanted), wanted)
    assert [(mark.method, mark.seed) for mark in marks] == [
        ("random CNN", 3), ("random CNN", 5), ("random CNN+emb.", 3), ("random CNN+emb.", 5), ("average of words", 3),
        ("all-minilm-l6-v2", 1),
    ]  # fmt: skip
    assert marks[-1].parts == ("all-minilm-l6-v2",)
    plain = [part for mark in marks[:-1] for part in mark.parts if not isinstance(part, str)]
    assert not any(recipe.stages for recipe in plain)
    assert [recipe.random_words for recipe in plain] == [True, True, False, False, False]
    assert plain[-1].encoder == AverageEncoder()


@pytest.mark.parametrize(("fixed", "bound"), [(True, 0.07), (False, 0.07 / 25)])
def test_a_random_start_draws_filters_of_a_common_size(fixed: bool, bound: float, study: Study) -> None:
    settings = paper(encoder={"filters": 60, "padding": "released"})
    found = ablations.random_start(settings, fixed=fixed)
    assert found.model_dump() == settings.encoder.model_dump() | {"bound": bound}
    [recipe] = study.recipes("random CNN", found, random_words=not fixed)
    encoder, _ = untrained(recipe)
    filters = torch.cat([value.detach().ravel() for value in encoder.composition() if value.ndim == 2])
    assert 0.99 * bound < filters.abs().max() <= bound


def test_random_and_fixed_words_of_a_common_size_say_about_as_much(settings: Settings, study: Study) -> None:
    """Neither does tanh saturate, nor are all vectors zeros."""
    for mark in ablations.marks(study, settings)[:2]:
        size = np.abs(mark.vectors(task("miniworld/question").train.first[:50])).mean()
        assert 0.005 < size < 0.5, mark.method


def test_the_papers_encoder_has_the_papers_parameters() -> None:
    assert ablations.published_parameters() == 2_882_400


# -- classification ----------------------------------------------------------------------------------------------------


def test_the_book_holds_what_is_classified(settings: Settings, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ablations.some(ablations.marks(study, settings), ["average of words"])
    book = ablations.task_book(settings, rows)
    assert book.methods == ["average of words"] and book.datasets == ["miniworld/question", "miniworld/paraphrase"]
    for one, name, found in classify(rows, settings.classification, device="cpu"):
        assert book.values(one.method, name) == [found.value()]
        np.testing.assert_array_equal(book.predicted(one.method, name)[0], found.predicted)
        assert {row.protocol for row in book.metric_rows()} <= set(ablations.SKIP_THOUGHTS)
    monkeypatch.setattr(features, "_classify", fail)
    ablations.task_book(settings, rows)
    with pytest.raises(AssertionError, match="made before"):
        ablations.task_book(settings, rows, "SentEval")


def test_the_most_frequent_class_is_a_row(settings: Settings) -> None:
    rows = {row.dataset: row for row in ablations.majority_rows(settings)}
    assert list(rows) == list(settings.classification)
    for name, row in rows.items():
        found = task(name)
        assert found.test is not None
        classes, counts = np.unique(found.train.labels, return_counts=True)
        assert row.value == (found.test.labels == classes[counts.argmax()]).mean()
        assert (row.method, row.seed, row.n) == ("majority class", None, len(found.test))
        assert row.protocol in ablations.SKIP_THOUGHTS


def all_methods() -> list[str]:
    made = [f"{name}{suffix}" for suffix in ("", "+emb.") for name in ROWS]
    return [*made, "random CNN", "random CNN+emb.", "average of words"]


# A - B of table 3 and of the words in its section.
CONTRASTS = [
    ("autoencoder", "future predictor"),
    ("hierarchical model", "future predictor"),
    ("composite model", "autoencoder"),
    ("combine", "hierarchical model"),
    ("combine", "composite model"),
    ("combine+emb.", "hierarchical model+emb."),
    ("combine+emb.", "composite model+emb."),
    *((f"{name}+emb.", name) for name in ROWS),
    *((name, "random CNN") for name in ROWS),
    *((f"{name}+emb.", "random CNN+emb.") for name in ROWS),
    ("combine+emb.", "average of words"),
]


def invented(methods: list[str]) -> Predictions:
    """A task of questions and one of pairs, each method right at a rate of its own."""
    book, rng = task_predictions(), np.random.default_rng(0)
    golds = {name: rng.integers(0, 2, 150) for name in ("TREC", "MSRP")}
    for at, method in enumerate(methods):
        for name, gold in golds.items():
            right = rng.random(150) < 0.6 + 0.02 * at
            protocol = SKIP_THOUGHTS_MSRP if name == "MSRP" else SKIP_THOUGHTS_TREC
            labels = np.where(right, gold, 1 - gold)
            book.add_classified(
                method, 1, name, Classified(protocol, gold, labels, np.zeros_like(gold), np.ones((1, 9)), np.ones(1))
            )
    return book


def holm(p: list[float]) -> list[float]:
    """Step by step: the k-th smallest times the number of those not smaller, never falling, at most 1."""
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, at in enumerate(np.argsort(p, kind="stable")):
        largest = max(largest, (len(p) - rank) * p[at])
        adjusted[at] = min(1.0, largest)
    return adjusted


def test_contrasts_pair_the_papers_rows_and_correct_over_the_columns(settings: Settings) -> None:
    book = invented(all_methods())
    tests = ablations.contrasts(book, settings)
    assert [(test.a, test.b) for test in tests[::3]] == CONTRASTS
    assert len(tests) == 3 * len(CONTRASTS)
    for at in range(0, len(tests), 3):
        family = tests[at : at + 3]
        assert len({(test.a, test.b) for test in family}) == 1
        assert [(test.dataset, test.metric) for test in family] == [
            ("TREC", "accuracy"), ("MSRP", "accuracy"), ("MSRP", "f1"),
        ]  # fmt: skip
        for test in family[:2]:
            assert test.estimate == pytest.approx(book.mean(test.a, test.dataset) - book.mean(test.b, test.dataset))
        assert [test.p_holm for test in family] == pytest.approx(holm([test.p or 0.0 for test in family]))
    assert any(test.p_holm != test.p for test in tests)


def test_rows_that_are_not_there_are_not_compared(settings: Settings) -> None:
    book = invented(["autoencoder", "composite model", "random CNN", "average of words"])
    found = {(test.a, test.b) for test in ablations.contrasts(book, settings)}
    assert found == {
        ("composite model", "autoencoder"), ("autoencoder", "random CNN"), ("composite model", "random CNN"),
    }  # fmt: skip


# -- relatedness -------------------------------------------------------------------------------------------------------


def test_relatedness_is_that_of_the_softmax_and_found_again(
    settings: Settings, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = ablations.some(ablations.marks(study, settings), ["average of words"])
    book = ablations.related(settings, [row])
    assert book.names == ["miniworld/relatedness"]

    def vectors(split: str) -> PairVectors:
        pairs = suites.relatedness("miniworld", split)
        first, second = np.split(row.vectors([*pairs.first, *pairs.second]), 2)
        return PairVectors(first, second, pairs.gold)

    expected = relatedness(vectors("train"), vectors("trial"), vectors("test"), seed=1)
    np.testing.assert_array_equal(book.stacked("average of words", book.names[0])[0], expected.test)
    gold = suites.relatedness("miniworld", "test").gold
    rows = {found.metric: found for found in ablations.relatedness_metrics(book)}
    assert {name: found.value for name, found in rows.items()} == pytest.approx(
        {
            "pearson": pearson(expected.test, gold),
            "spearman": spearman(expected.test, gold),
            "mse": mse(expected.test, gold),
        }
    )
    assert {(found.method, found.seed, found.n, found.protocol) for found in rows.values()} == {
        ("average of words", 1, 500, str(expected.protocol))
    }
    monkeypatch.setattr(ablations, "_relate", fail)
    again = ablations.related(settings, [row])
    np.testing.assert_array_equal(again.stacked("average of words", again.names[0])[0], expected.test)
    with pytest.raises(AssertionError, match="made before"):  # another order of the training pairs
        ablations.related(settings, [Features(row.method, 2, row.parts)])


def test_scores_of_relatedness_are_compared_in_three_measures(settings: Settings) -> None:
    pairs, rng = suites.relatedness("miniworld", "test"), np.random.default_rng(0)
    book = sts_predictions([pairs])
    for at, method in enumerate(all_methods()):
        for seed in (1, 2):
            book.add(method, seed, pairs.name, pairs.gold + (1 + 0.1 * at) * rng.normal(size=len(pairs)))
    tests = ablations.relatedness_tests(book, 100)
    expected = [
        ("composite model", "hierarchical model"), ("hierarchical model", "autoencoder"),
        ("autoencoder", "future predictor"), ("combine", "composite model"),
        ("combine+emb.", "composite model+emb."), *CONTRASTS[7:],
    ]  # fmt: skip
    assert [(test.a, test.b) for test in tests[::3]] == expected
    assert [test.metric for test in tests] == ["pearson", "spearman", "mse"] * len(expected)
    first = tests[2]
    assert first.estimate == pytest.approx(
        np.mean(book.values(first.a, pairs.name, Measure.MSE)) - np.mean(book.values(first.b, pairs.name, Measure.MSE))
    )
    rows = ablations.relatedness_metrics(book)
    assert len(rows) == 3 * 2 * len(all_methods())
    assert [(row.seed, row.metric) for row in rows[:4]] == [
        (1, "pearson"),
        (2, "pearson"),
        (1, "spearman"),
        (2, "spearman"),
    ]
    assert rows[1].value == pytest.approx(pearson(book.stacked("autoencoder", pairs.name)[1], pairs.gold))


# -- ranking -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def scenes(monkeypatch: pytest.MonkeyPatch) -> dict[str, CaptionedScenes]:
    """Two captions an image, and few images: 30 to train on, 20 to choose the epoch, 25 to rank."""
    said = task("miniworld/sentiment").train.first
    rng, found, first = np.random.default_rng(0), {}, 0
    for split, size in (("train", 30), ("dev", 20), ("test", 25)):
        rows = range(first, first + size)
        table = rng.normal(size=(size, 7)).astype(np.float32)
        found[split] = CaptionedScenes(f"made/{split}", table, [said[2 * row : 2 * row + 2] for row in rows])
        first += size
    for module in (ablations, ranking.corpora):
        monkeypatch.setattr(module, "divided", lambda corpus, path="": found)
    return found


def test_ranks_are_found_again(
    scenes: dict[str, CaptionedScenes], settings: Settings, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    [average] = ablations.some(ablations.marks(study, settings), ["average of words"])
    rows = [average, Features(average.method, 2, average.parts), ablations.marks(study, settings)[0]]
    made = ablations.ranked(settings, rows)
    assert {name: len(runs) for name, runs in made.items()} == {"average of words": 2, "random CNN": 1}
    for seed, run in zip((1, 2), made["average of words"], strict=True):
        told = rank_images(average.vectors, settings.ranking, seed=seed, report=lambda line: None)
        assert run.values == told.values and list(run.values) == list(told.values)
        np.testing.assert_array_equal(run.search, told.search)
        np.testing.assert_array_equal(run.annotation, told.annotation)
        assert (run.dataset, run.protocol, run.parameters) == (told.dataset, told.protocol, told.parameters)
        assert run.protocol == RankingProtocol(splits=1, images=None)
        assert run.search.shape == (1, 25, 2)
    monkeypatch.setattr(ablations, "_rank", fail)
    again = ablations.ranked(settings, rows)
    for name, runs in made.items():
        for one, other in zip(runs, again[name], strict=True):
            assert one.metric_rows(name, 1) == other.metric_rows(name, 1)
            np.testing.assert_array_equal(one.search, other.search)
    # A folder's name decides nothing, but its images do, and what is trained.
    ablations.ranked(with_ranking(settings, path="elsewhere"), rows)
    with pytest.raises(AssertionError, match="made before"):
        ablations.ranked(with_ranking(settings, margin=0.2), rows)
    scenes["train"].features[0, 0] += 1
    with pytest.raises(AssertionError, match="made before"):
        ablations.ranked(settings, rows)


def with_ranking(settings: Settings, **changes: Any) -> Settings:
    return settings.model_copy(update={"ranking": RankingTraining(**settings.ranking.model_dump() | changes)})


def ranks(seed: int, share: float) -> Ranked:
    right = np.random.default_rng(seed).random((1, 60)) < share
    annotation, search = np.where(right, 1, 9), np.where(right, 1, 9)[:, :, None].repeat(2, axis=2)
    return Ranked("miniworld/scenes", RankingProtocol(splits=1, images=None), annotation, search, 3)


def test_ranks_are_compared_by_the_first_place_in_both_ways(settings: Settings) -> None:
    found = {name: [ranks(at, 0.3 + 0.03 * at)] for at, name in enumerate(all_methods())}
    tests = ablations.ranking_tests(found, 200)
    fixed = [f"{name}+emb." for name in ROWS]
    expected = [("combine+emb.", name) for name in fixed[:-1]]
    expected += [(f"{name}+emb.", name) for name in ROWS] + [(name, "random CNN+emb.") for name in fixed]
    assert [(test.a, test.b) for test in tests[::2]] == expected
    assert [test.metric for test in tests] == ["annotation_R@1", "search_R@1"] * len(expected)
    for test in tests:
        difference = found[test.a][0].values[test.metric] - found[test.b][0].values[test.metric]
        assert test.estimate == pytest.approx(difference)
    assert len(ablations.ranking_tests({name: found[name] for name in ("combine+emb.", "combine")}, 100)) == 2
    intervals = ablations.ranking_intervals({"combine": found["combine"]}, 200)
    assert [measure for _, measure in intervals] == ["annotation_R@1", "search_R@1", "annotation_MedR", "search_MedR"]
    for (name, measure), value in intervals.items():
        assert value.low <= value.estimate == found[name][0].values[measure] <= value.high
    told = {("combine", "search_R@1"): Estimate(0.4, 0.3, 0.5)}
    assert ablations.ranking_extra({"combine": found["combine"]}, told) == {
        INTERVALS: {"search_R@1": {"miniworld/scenes": {"combine": [0.3, 0.5]}}}
    }
    assert ablations.ranking_name(run_of(found["combine"][0].metric_rows("combine", 1))) == "miniworld/scenes"
    assert ablations.ranking_name(None) == "COCO-1k"


# -- figure 3 ----------------------------------------------------------------------------------------------------------


def test_no_cell_of_figure_3_is_trained_twice() -> None:
    settings = paper(
        classification=["miniworld/sentiment", "miniworld/question", "miniworld/paraphrase"], runs=2, shares=[0.1, 1.0]
    )
    cells = ablations.cells_of_figure3(settings)
    assert len(cells) == len(set(cells)) == 2 * 2 * 2 + 2 * 2
    assert {(cell.task, cell.share) for cell in cells} == {
        ("miniworld/sentiment", 1.0), ("miniworld/question", 1.0), ("miniworld/question", 0.1),
    }  # fmt: skip
    assert {(cell.start, cell.run) for cell in cells} == {
        (start, run) for start in ("pre-trained", "random") for run in (1, 2)
    }


# -- pre-training ------------------------------------------------------------------------------------------------------


def test_perplexities_are_those_of_the_state_that_was_kept(trained: Mapping[str, Trained]) -> None:
    rows = ablations.perplexities([trained["composite model"], trained["hierarchical model"]])
    assert [(row.method, row.metric) for row in rows] == [
        ("composite model", "perplexity of the same sentence"),
        ("composite model", "perplexity of the next sentence"),
        ("hierarchical model", "perplexity of the next sentence"),
    ]
    history = trained["composite model"].metadata["history"]
    # Their logarithms add up to what chose the state.
    assert -sum(np.log(row.value) for row in rows[:2]) == pytest.approx(history["best"])
    assert {(row.seed, row.dataset) for row in rows} == {(1, "miniworld-stories")}
    assert "at most 38 words, 400 words" in rows[0].protocol
