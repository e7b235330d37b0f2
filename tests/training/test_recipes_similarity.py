"""Artifacts of encoders trained on scored pairs: moved words alone, scores of both states, chains and new words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sentbook.data import suites, vectors
from sentbook.data.text import TOKENISERS, UNKNOWN
from sentbook.data.vectors import Vectors
from sentbook.models.average import AverageEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.system.errors import CheckpointError
from sentbook.training import checkpoint, recipes
from sentbook.training.problems.similarity import SimilarityProblem
from sentbook.training.recipes import Recipe, Trained, from_file, load, obtain, untrained
from sentbook.training.settings import MarginTraining, SimilarityTraining, Stage

WSV = WSVEncoder(filters=4)
SIMILARITY = SimilarityTraining(
    dataset="miniworld", epochs=3, batch_size=45, checks_per_epoch=2, dropout=0.1, learning_rate=0.01
)
PARAPHRASE = SimilarityTraining(
    dataset="miniworld-paraphrase", epochs=1, score="euclidean", loss="cross-entropy", learning_rate=0.003
)
MARGIN = MarginTraining(corpora=("miniworld-phrases",), validation="miniworld", limit=80, epochs=1)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield tmp_path / "artifacts"
    torch.set_num_threads(threads)


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Tensor], dict[str, Tensor]]]:
    """Of every training that is really run: its key, and the encoder's state before and after."""
    found: list[tuple[str, dict[str, Tensor], dict[str, Tensor]]] = []
    fit = recipes.fit

    def watched(problem: Any, *given: Any, **named: Any) -> Any:
        before = state(problem.encoder)
        history = fit(problem, *given, **named)
        found.append((named["key"], before, state(problem.encoder)))
        return history

    monkeypatch.setattr(recipes, "fit", watched)
    return found


def state(encoder: torch.nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in encoder.state_dict().items()}


def recipe(*stages: Stage, **changes: Any) -> Recipe:
    values: dict[str, Any] = {
        "method": "WSV", "seed": 1, "vectors": Vectors(name="miniworld"), "encoder": WSV, "stages": stages,
        "suite": "miniworld",
    }  # fmt: skip
    return Recipe(**values | changes)


def changed(stage: SimilarityTraining, **changes: Any) -> SimilarityTraining:
    return stage.model_copy(update=changes)


def tensors(wanted: Recipe) -> dict[str, Tensor]:
    return checkpoint.load(recipes._artifact(wanted), wanted.key())[0]


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def words_of(dataset: str, *splits: str) -> list[str]:
    """The distinct words of a data set, in the order met."""
    found: dict[str, None] = {}
    for split in splits or ("train", "trial", "test"):
        pairs = suites.pairs(dataset, split)
        for sentence in (*pairs.first, *pairs.second):
            found |= dict.fromkeys(TOKENISERS["ptb"](sentence))
    return list(found)


def without_vector(dataset: str, *splits: str) -> list[str]:
    known = set(vectors.load("miniworld").words)
    return [word for word in words_of(dataset, *splits) if word not in known]


def recomputed(trained: Trained, split: str) -> np.ndarray:
    stage = trained.recipe.stages[-1]
    assert isinstance(stage, SimilarityTraining)
    splits = {name: suites.pairs(stage.dataset, name) for name in ("train", "trial", "test")}
    return SimilarityProblem(trained.encoder(), trained.vocabulary, stage, splits).scores(split)


# -- the key -----------------------------------------------------------------------------------------------------------

OTHER: dict[str, Any] = {
    "epochs": 4, "batch_size": 21, "optimiser": "adamw", "learning_rate": 0.02, "embedding_update": "dense",
    "pull_back_words": 0.5, "composition_decay": 0.5, "dropout": 0.2, "clip": 1.0, "bucket": False,
    "checks_per_epoch": 1, "keep": "last", "precision": "bf16", "dataset": "miniworld-paraphrase",
    "score": "manhattan", "falling": "f3", "loss": "kl", "smoothing": 0.1, "watch": "test", "new_words": "shared",
}  # fmt: skip
OTHER_WSV: dict[str, Any] = {
    "filters": 5, "layers": 2, "k": 2, "alpha": (0.5, 0.5), "map_weights": "fixed", "bias": True,
    "padding": "zeros in training", "selection": "smallest",
}  # fmt: skip


def test_the_key_depends_on_every_field_that_decides_numbers() -> None:
    assert set(OTHER) == set(SimilarityTraining.model_fields), "a new setting must be in this test"
    assert set(OTHER_WSV) == set(WSVEncoder.model_fields) - {"kind"}
    variants = [recipe(SIMILARITY), recipe(SIMILARITY, PARAPHRASE), recipe(PARAPHRASE, SIMILARITY), recipe(MARGIN)]
    variants += [recipe(changed(SIMILARITY, **{name: value})) for name, value in OTHER.items()]
    variants += [recipe(SIMILARITY, encoder=WSV.model_copy(update={name: value})) for name, value in OTHER_WSV.items()]
    keys = [variant.key() for variant in variants]
    assert len(set(keys)) == len(keys)


def test_the_settings_of_scored_pairs_are_no_settings_of_margins() -> None:
    """Else the keys of encoders that were trained before would change."""
    shared = {
        "epochs", "batch_size", "optimiser", "learning_rate", "embedding_update", "pull_back_words",
        "composition_decay", "dropout", "clip", "bucket", "checks_per_epoch", "keep", "precision",
    }  # fmt: skip
    margin = {"corpora", "limit", "exclude_overlap", "margin", "selection", "candidates", "scramble", "validation"}
    assert set(recipe(MARGIN).model_dump(mode="json")["stages"][0]) == shared | margin
    assert set(recipe(SIMILARITY).model_dump(mode="json")["stages"][0]) & margin == set()
    assert set(recipe().model_dump(mode="json")) == {
        "method", "seed", "vectors", "encoder", "stages", "tokenisation", "suite", "random_words",
    }  # fmt: skip
    assert set(recipe().model_dump(mode="json")["vectors"]) == {"name", "path"}


def test_a_recipe_read_back_has_its_kinds_of_stages_and_its_key() -> None:
    wanted = recipe(MARGIN, SIMILARITY, PARAPHRASE)
    back = Recipe.model_validate(wanted.model_dump(mode="json"))
    assert [type(stage) for stage in back.stages] == [MarginTraining, SimilarityTraining, SimilarityTraining]
    assert back == wanted
    assert back.key() == wanted.key()
    assert isinstance(back.encoder, WSVEncoder)


def test_generated_pairs_are_pinned_by_their_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the words; pairs of files by their digests, not by the generator."""
    glove = Vectors(name="glove-6b-50d")
    generated = [recipe(stage, vectors=glove, suite="sts") for stage in (SIMILARITY, PARAPHRASE)]
    files = recipe(changed(SIMILARITY, dataset="sick"), vectors=glove, suite="sts")
    before = [wanted.key() for wanted in (*generated, files)]
    monkeypatch.setattr(recipes, "fingerprint", lambda: "another generator")
    after = [wanted.key() for wanted in (*generated, files)]
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, False, True]


def test_data_sets_are_named_once_in_the_order_of_the_stages() -> None:
    shared = changed(PARAPHRASE, new_words="shared")
    assert recipe(MARGIN, SIMILARITY, shared, SIMILARITY).datasets() == ("miniworld", "miniworld-paraphrase")
    assert recipe(shared, SIMILARITY).datasets() == ("miniworld-paraphrase", "miniworld")
    assert recipe(MARGIN).datasets() == recipe().datasets() == ()


# -- what an artifact holds --------------------------------------------------------------------------------------------


def test_an_artifact_holds_the_words_that_moved_and_no_others() -> None:
    wanted = recipe(SIMILARITY)
    [trained] = obtain([wanted], device="cpu")
    initial = untrained(wanted)[0].embedding.weight.detach()
    stored = tensors(wanted)
    assert "embedding.weight" not in stored
    rows, moved = stored["embedding.rows"], stored["embedding.moved"]
    assert len(rows) == len(moved) == trained.metadata["moved_words"]
    assert (moved != initial[rows]).any(dim=1).all()
    seen = {trained.vocabulary.id(word) for word in words_of("miniworld", "train")}
    assert set(rows.tolist()) <= seen
    assert 20 < len(rows) < len(initial)
    restored = trained.encoder().embedding.weight.detach()
    kept = torch.ones(len(initial), dtype=torch.bool)
    kept[rows] = False
    assert torch.equal(restored[rows], moved)
    assert torch.equal(restored[kept], initial[kept])


def test_fixed_words_are_not_stored() -> None:
    wanted = recipe(changed(SIMILARITY, embedding_update="frozen", epochs=1))
    [trained] = obtain([wanted], device="cpu")
    assert len(tensors(wanted)["embedding.rows"]) == trained.metadata["moved_words"] == 0
    assert torch.equal(trained.encoder().embedding.weight, untrained(wanted)[0].embedding.weight)


@pytest.mark.parametrize(
    ("stage", "changes"),
    [
        ({}, {}),
        ({"keep": "last"}, {}),
        ({"embedding_update": "dense"}, {}),
        ({"new_words": "shared"}, {"encoder": WSV.model_copy(update={"layers": 2, "map_weights": "fixed"})}),
        ({"embedding_update": "frozen"}, {"random_words": True}),
        ({}, {"encoder": AverageEncoder(), "tokenisation": "stems"}),
    ],
    ids=["lazy", "last", "dense", "deeper", "random words", "average of stems"],
)
def test_the_encoder_is_restored_exactly(fitted: list[Any], stage: dict[str, Any], changes: dict[str, Any]) -> None:
    wanted = recipe(changed(SIMILARITY, epochs=1, **stage), **changes)
    [trained] = obtain([wanted], device="cpu")
    [(key, _, after)] = fitted
    assert key == wanted.key()
    for item in (trained, load(wanted), from_file(recipes._artifact(wanted))):
        encoder = item.encoder()
        assert not encoder.training
        assert_same(state(encoder), after)
    assert obtain([wanted], device="cpu")[0].metadata == trained.metadata
    assert len(fitted) == 1


def test_an_artifact_says_what_it_was_trained_on() -> None:
    [trained] = obtain([recipe(changed(SIMILARITY, watch="test"))], device="cpu")
    assert trained.metadata["pairs"] == len(suites.pairs("miniworld", "train"))
    assert trained.metadata["parameters"] == 9 * 50 * 4 + 2
    curve = trained.curve()
    assert {(point.split, point.metric) for point in curve} == {
        ("train", "loss"), ("validation", "pearson"), ("test", "pearson"), ("test", "mse"),
    }  # fmt: skip
    assert len(curve) == 4 * SIMILARITY.epochs * SIMILARITY.checks_per_epoch
    assert trained.cost().parameters == 9 * 50 * 4 + 2


# -- scores ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["trial", "test"])
def test_scores_are_those_of_the_best_and_of_the_last_state(split: str) -> None:
    wild = changed(SIMILARITY, learning_rate=0.2)  # the best state is not the last
    best, last = obtain([recipe(wild), recipe(changed(wild, keep="last"))], device="cpu")
    history = best.metadata["history"]
    assert history["best_step"] < history["examples"]
    np.testing.assert_allclose(best.scores(split), recomputed(best, split), atol=1e-6)
    np.testing.assert_allclose(best.scores(split, "best"), recomputed(best, split), atol=1e-6)
    np.testing.assert_allclose(best.scores(split, "last"), recomputed(last, split), atol=1e-6)
    assert np.abs(best.scores(split, "best") - best.scores(split, "last")).max() > 1e-2
    for kept in ("best", "last"):
        assert (last.scores(split, kept) == best.scores(split, "last")).all()
    assert best.scores(split).shape == (len(suites.pairs("miniworld", split)),)
    assert best.scores(split).dtype == np.float64


def test_the_best_trial_score_is_the_one_that_was_kept() -> None:
    [trained] = obtain([recipe(SIMILARITY)], device="cpu")
    gold = suites.pairs("miniworld", "trial").gold
    assert trained.metadata["history"]["best"] == pytest.approx(np.corrcoef(trained.scores("trial"), gold)[0, 1])
    again = from_file(recipes._artifact(recipe(SIMILARITY)))
    assert (again.scores("test") == trained.scores("test")).all()


def test_margins_leave_no_scores() -> None:
    [trained] = obtain([recipe(MARGIN)], device="cpu")
    with pytest.raises(CheckpointError, match=r"scores\.safetensors does not exist; delete its folder and run"):
        trained.scores("test")


# -- chains and new words ----------------------------------------------------------------------------------------------


def test_a_chain_shares_its_beginning(fitted: list[Any], folder: Path) -> None:
    first, chain = recipe(SIMILARITY), recipe(SIMILARITY, PARAPHRASE)
    assert chain.key(1) == first.key()
    trained = obtain([chain, first], device="cpu")
    assert [key for key, _, _ in fitted] == [first.key(), chain.key()]
    assert sorted(path.name for path in folder.iterdir()) == sorted([first.key(), chain.key()])
    np.testing.assert_allclose(trained[0].scores("test"), recomputed(trained[0], "test"), atol=1e-6)
    np.testing.assert_allclose(trained[1].scores("test"), recomputed(trained[1], "test"), atol=1e-6)
    assert len(trained[0].scores("trial")) == len(suites.pairs("miniworld-paraphrase", "trial"))
    assert obtain([recipe(SIMILARITY, PARAPHRASE)], device="cpu")[0].metadata == trained[0].metadata
    assert len(fitted) == 2


def test_the_second_stage_starts_from_the_first(fitted: list[Any]) -> None:
    """Of words that the first stage moved; the composition as it left it."""
    first, chain = obtain([recipe(SIMILARITY), recipe(SIMILARITY, PARAPHRASE)], device="cpu")
    (_, _, ended), (_, began, after) = fitted
    rows = tensors(first.recipe)["embedding.rows"]
    assert torch.equal(began["embedding.weight"][rows], ended["embedding.weight"][rows])
    assert torch.equal(began["kernels.0"], ended["kernels.0"])
    assert torch.equal(began["alpha"], ended["alpha"])
    assert_same(state(chain.encoder()), after)


def test_words_without_a_vector_get_rows_of_their_own() -> None:
    base = vectors.load("miniworld")
    wanted = recipe(SIMILARITY, PARAPHRASE)
    encoder, vocabulary = untrained(wanted)
    new = list(dict.fromkeys(without_vector("miniworld") + without_vector("miniworld-paraphrase")))
    assert len(new) > 5
    assert vocabulary.words == [*base.words, *new]
    weight = encoder.embedding.weight.detach()
    assert torch.equal(weight[: len(base) + 2], untrained(recipe())[0].embedding.weight)
    rows = [vocabulary.id(word) for word in new]
    assert rows == list(range(len(base) + 2, len(vocabulary)))
    assert len(torch.unique(weight[[UNKNOWN, *rows]], dim=0)) == len(new) + 1
    # About as far from the mean as the words that are known.
    spread = (weight[rows] - weight[2 : rows[0]].mean(0)).square().mean().sqrt()
    assert 0.6 < float(spread / weight[2 : rows[0]].std(0).square().mean().sqrt()) < 1.4
    same, other = (untrained(recipe(SIMILARITY, PARAPHRASE, seed=seed))[0].embedding.weight for seed in (1, 2))
    assert torch.equal(same, weight)
    assert not torch.equal(other[rows], weight[rows])
    assert torch.equal(other[: rows[0]], weight[: rows[0]])


def test_words_without_a_vector_may_share_one() -> None:
    encoder, vocabulary = untrained(recipe(changed(SIMILARITY, new_words="shared")))
    assert vocabulary.words == list(vectors.load("miniworld").words)
    assert len(encoder.embedding.weight) == len(vocabulary)
    assert {vocabulary.id(word) for word in without_vector("miniworld")} == {UNKNOWN}
    _, mixed = untrained(recipe(changed(PARAPHRASE, new_words="shared"), SIMILARITY))
    assert mixed.words == [*vectors.load("miniworld").words, *without_vector("miniworld")]


@pytest.mark.parametrize("seed", [1, 2])
def test_words_without_a_vector_keep_their_rows_in_the_second_stage(seed: int) -> None:
    """Moved or not: a word of the trial or test pairs alone has in the chain the vector that it was judged by."""
    first, chain = (recipe(*stages, seed=seed) for stages in ((SIMILARITY,), (SIMILARITY, PARAPHRASE)))
    (one, words), (other, more) = untrained(first), untrained(chain)
    assert more.words[: len(words.words)] == words.words
    assert len(more) > len(words)
    assert torch.equal(other.embedding.weight[: len(words)], one.embedding.weight)


def test_the_second_stage_begins_with_the_scores_that_the_first_ended_with() -> None:
    """Its state is the first one's, down to words that no training pair holds."""
    first = recipe(changed(SIMILARITY, epochs=1))
    chain = recipe(changed(SIMILARITY, epochs=1), changed(SIMILARITY, dataset="miniworld-paraphrase"))
    [trained] = obtain([first], device="cpu")
    problem = recipes.prepare_stage(chain)
    assert len(problem.lengths) == len(suites.pairs("miniworld-paraphrase", "train"))
    splits = {split: suites.pairs("miniworld", split) for split in ("train", "trial", "test")}
    vocabulary = untrained(chain)[1]
    began = SimilarityProblem(problem.encoder.eval(), vocabulary, SIMILARITY, splits)
    np.testing.assert_allclose(began.scores("test"), trained.scores("test"), atol=1e-6)
