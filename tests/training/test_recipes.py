"""Artifacts by key: shared beginnings, nothing trained twice, and nothing lost to a fault, a full disk or a kill."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from sentbook.data.vectors import Vectors
from sentbook.models import encode
from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.system.errors import CheckpointError
from sentbook.training import checkpoint, recipes
from sentbook.training.recipes import Recipe, from_file, obtain
from sentbook.training.settings import MarginTraining

PHRASE = MarginTraining(
    corpora=("miniworld-phrases",), validation="miniworld", limit=80, epochs=2, batch_size=20, checks_per_epoch=2,
    dropout=0.1, scramble=0.3, learning_rate=0.01,
)  # fmt: skip
SENTENCE = PHRASE.model_copy(update={"corpora": ("miniworld-sentences",), "epochs": 1})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield tmp_path / "artifacts"
    torch.set_num_threads(threads)


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of trainings that are really run, in their order."""
    found: list[str] = []
    fit = recipes.fit

    def counted(*given: Any, **named: Any) -> Any:
        found.append(named["key"])
        return fit(*given, **named)

    monkeypatch.setattr(recipes, "fit", counted)
    return found


def recipe(*stages: MarginTraining, **changes: Any) -> Recipe:
    values: dict[str, Any] = {
        "method": "CSE", "seed": 1, "vectors": Vectors(name="miniworld"), "encoder": CSEEncoder(filters=3),
        "stages": stages, "suite": "miniworld",
    }  # fmt: skip
    return Recipe(**values | changes)


def artifact(wanted: Recipe) -> Path:
    return recipes._artifact(wanted)


def tensors(wanted: Recipe) -> dict[str, torch.Tensor]:
    return checkpoint.load(artifact(wanted), wanted.key())[0]


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


# -- the key -----------------------------------------------------------------------------------------------------------

OTHER: dict[str, Any] = {
    "epochs": 3, "batch_size": 21, "optimiser": "adamw", "learning_rate": 0.02, "embedding_update": "dense",
    "pull_back_words": 0.5, "composition_decay": 0.5, "dropout": 0.2, "clip": 1.0, "bucket": False,
    "checks_per_epoch": 1, "keep": "last", "precision": "bf16", "corpora": ("miniworld-sentences",), "limit": 70,
    "exclude_overlap": False, "margin": 0.1, "selection": "mix", "candidates": "both sides", "scramble": 0.1,
    "validation": "sts2016",
}  # fmt: skip
OTHER_CSE: dict[str, Any] = {
    "kind": None, "widths": (1, 2), "filters": 4, "activation": "tanh", "bias": False, "pooling": "mean",
    "windows": "batch",
}  # fmt: skip
OTHER_RECIPE: dict[str, Any] = {
    "seed": 2, "vectors": Vectors(name="glove-6b-50d"), "encoder": AverageEncoder(), "stages": (SENTENCE,),
    "tokenisation": "words", "suite": "sts", "random_words": True,
}  # fmt: skip


def test_the_key_depends_on_every_field_that_decides_numbers(tmp_path: Path) -> None:
    assert set(OTHER) == set(MarginTraining.model_fields), "a new setting must be in this test"
    assert set(OTHER_CSE) == set(CSEEncoder.model_fields)
    assert set(OTHER_RECIPE) == set(Recipe.model_fields) - {"method"}
    variants = [recipe(PHRASE)]
    variants += [recipe(PHRASE, **{name: value}) for name, value in OTHER_RECIPE.items()]
    variants += [recipe(PHRASE.model_copy(update={name: value})) for name, value in OTHER.items()]
    variants += [
        recipe(PHRASE, encoder=CSEEncoder(filters=3).model_copy(update={name: value}))
        for name, value in OTHER_CSE.items() if name != "kind"
    ]  # fmt: skip
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("cat 1 2\n")
        variants += [recipe(PHRASE, vectors=Vectors(name="file", path=str(tmp_path / name)))]
    variants += [recipe(), recipe(PHRASE, SENTENCE), recipe(SENTENCE, PHRASE), recipe(PHRASE, PHRASE)]
    keys = [variant.key() for variant in variants]
    # (SENTENCE,) appears once, in OTHER_RECIPE.
    assert len(set(keys)) == len(keys)


def test_the_key_does_not_depend_on_the_name_of_the_method() -> None:
    assert recipe(PHRASE, method="a").key() == recipe(PHRASE, method="b").key()


def test_the_key_of_a_beginning_ignores_what_comes_after() -> None:
    cumulative = recipe(PHRASE, SENTENCE)
    assert cumulative.key(1) == recipe(PHRASE).key() == cumulative.prefix(1).key()
    assert cumulative.key(0) == recipe().key()
    assert cumulative.key() == cumulative.key(2)


def test_the_key_changes_with_the_code_of_artifacts_and_of_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PHRASE.model_copy(update={"corpora": ("ppdb",), "validation": "sts2016"})
    wanted, files = recipe(PHRASE), recipe(real, vectors=Vectors(name="glove-6b-50d"), suite="sts")
    keys = {wanted.key(), files.key()}
    monkeypatch.setattr(recipes, "fingerprint", lambda: "another generator")
    assert files.key() in keys
    keys.add(wanted.key())
    assert len(keys) == 3
    monkeypatch.setattr(recipes, "ARTIFACT_VERSION", recipes.ARTIFACT_VERSION + 1)
    keys |= {wanted.key(), files.key()}
    assert len(keys) == 5


# -- training once -----------------------------------------------------------------------------------------------------


def test_the_second_stage_starts_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    obtain([recipe(PHRASE)], device="cpu")
    began: list[dict[str, torch.Tensor]] = []
    fit = recipes.fit

    def watched(problem: Any, *given: Any, **named: Any) -> Any:
        began.append({name: value.clone() for name, value in problem.encoder.state_dict().items()})
        return fit(problem, *given, **named)

    monkeypatch.setattr(recipes, "fit", watched)
    obtain([recipe(PHRASE, SENTENCE)], device="cpu")
    assert_same(began[0], recipes.load(recipe(PHRASE)).encoder().state_dict())


def test_an_artifact_says_where_it_came_from() -> None:
    [trained] = obtain([recipe(PHRASE)], device="cpu")
    assert trained.metadata["key"] == recipe(PHRASE).key()
    assert Recipe.model_validate(trained.metadata["recipe"]) == recipe(PHRASE)
    assert trained.metadata["pairs"] == 80
    assert trained.metadata["git_commit"]
    assert {point.split for point in trained.curve()} == {"train", "validation"}
    assert len(trained.curve()) == 2 * PHRASE.epochs * PHRASE.checks_per_epoch
    cost = trained.cost()
    assert cost.parameters == trained.encoder().parameter_count()
    assert cost.examples_per_second > 0


def test_no_stage_is_the_untrained_encoder(trainings: list[str], folder: Path) -> None:
    changes: list[dict[str, Any]] = [{}, {"seed": 2}, {"random_words": True}]
    plain, same, random = obtain([recipe(encoder=AverageEncoder(), **change) for change in changes])
    assert trainings == []
    assert not folder.exists()
    words = [item.encoder().embedding.weight for item in (plain, same, random)]
    assert torch.equal(words[0], words[1])
    assert not torch.equal(words[0], words[2])
    assert not words[2][0].any()
    assert plain.curve() == []
    assert plain.cost().seconds == 0


# -- artifacts that cannot be used -------------------------------------------------------------------------------------


def test_from_file_takes_the_folder_or_the_file(tmp_path: Path) -> None:
    [trained] = obtain([recipe(PHRASE)], device="cpu")
    sentences = ["a cat sees a dog", "the cook"]
    expected = encode(trained.encoder(), trained.vocabulary, sentences)
    elsewhere = tmp_path / "given away.safetensors"
    elsewhere.write_bytes(artifact(recipe(PHRASE)).read_bytes())
    for path in (artifact(recipe(PHRASE)), artifact(recipe(PHRASE)).parent, elsewhere):
        found = from_file(path)
        assert found.recipe == recipe(PHRASE)
        assert (encode(found.encoder(), found.vocabulary, sentences) == expected).all()


def test_from_file_without_an_artifact_is_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(CheckpointError, match=r"There is no trained encoder at .*; name a folder of build"):
            from_file(path)


# -- faults while training ---------------------------------------------------------------------------------------------


def test_the_key_changes_with_the_contents_of_a_vectors_file(tmp_path: Path) -> None:
    file = tmp_path / "v.txt"
    file.write_text("cat 1 2\ndog 3 4\n")
    wanted = recipe(PHRASE, vectors=Vectors(name="file", path=str(file)))
    before = wanted.key()
    file.write_text("cat 1 2\ndog 3 5\n")
    assert wanted.key() != before
