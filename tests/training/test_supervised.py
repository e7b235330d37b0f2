"""Fine-tuning as artifacts: found by key, pulled back to where it began, chosen on the trial pairs alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentbook.training.supervised import SupervisedRecipe, fine_tune

from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.data.vectors import Vectors
from sentbook.models.cse import CSEEncoder
from sentbook.system.errors import CheckpointError, ConfigError, StorageError
from sentbook.training import checkpoint, recipes, supervised
from sentbook.training.problems.transfer import RelatednessProblem
from sentbook.training.recipes import Recipe
from sentbook.training.settings import MarginTraining, RelatednessTraining

PHRASE = MarginTraining(
    corpora=("miniworld-phrases",), validation="miniworld", limit=60, epochs=1, batch_size=20, checks_per_epoch=1
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    return tmp_path / "artifacts"


def start(seed: int = 1, *stages: MarginTraining) -> Recipe:
    return Recipe(
        method="CSE", seed=seed, vectors=Vectors(name="miniworld"), encoder=CSEEncoder(filters=3), stages=stages,
        suite="miniworld",
    )  # fmt: skip


def settings(**changes: Any) -> RelatednessTraining:
    values = {"dataset": "miniworld", "hidden": 5, "epochs": 2, "batch_size": 50, "checks_per_epoch": 1}
    return RelatednessTraining(**values | {"learning_rate": 0.01} | changes)


def recipe(begin: Recipe | None = None, method: str = "CSE_random", **changes: Any) -> SupervisedRecipe:
    return SupervisedRecipe(method=method, start=begin or start(), settings=settings(**changes))


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of fine-tunings that are really run."""
    found: list[str] = []
    fit = supervised.fit

    def counted(*given: Any, **named: Any) -> Any:
        found.append(named["key"])
        return fit(*given, **named)

    monkeypatch.setattr(supervised, "fit", counted)
    return found


@pytest.fixture
def problems(monkeypatch: pytest.MonkeyPatch) -> list[RelatednessProblem]:
    """Every problem that is trained, with the composition it began with as ``began``."""
    found: list[RelatednessProblem] = []

    def make(*given: Any, **named: Any) -> RelatednessProblem:
        problem = RelatednessProblem(*given, **named)
        problem.began = [value.detach().clone() for value in problem.encoder.composition()]  # type: ignore[attr-defined]
        found.append(problem)
        return problem

    monkeypatch.setattr(supervised, "RelatednessProblem", make)
    return found


def test_predictions_lie_on_the_scale_and_are_found_again(folder: Path, trainings: list[str]) -> None:
    wanted = [recipe(start(1)), recipe(start(2)), recipe(start(1))]
    first = fine_tune(wanted, device="cpu")
    assert trainings == [wanted[0].key(), wanted[1].key()]
    test = suites.relatedness("miniworld", "test")
    for item, asked in zip(first, wanted, strict=True):
        assert item.recipe is asked
        assert item.predictions.shape == (len(test),)
        assert ((item.predictions >= 1) & (item.predictions <= 5)).all()
        assert item.curve()
        assert item.cost().seed == asked.seed
    again = fine_tune(wanted, device="cpu")
    assert len(trainings) == 2
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.predictions, other.predictions)
    np.testing.assert_array_equal(first[0].predictions, first[2].predictions)
    assert not np.array_equal(first[0].predictions, first[1].predictions)
    assert not list(folder.glob("*/checkpoint.safetensors"))


def test_the_key_is_of_all_that_decides_numbers_and_not_of_the_method() -> None:
    base = recipe()
    assert recipe(method="other").key() == base.key()
    others = [recipe(start(2)), recipe(start(1, PHRASE)), recipe(hidden=6), recipe(head_decay=0.5)]
    others.append(recipe(normalise=False))
    assert len({base.key(), *(other.key() for other in others)}) == 6


def test_a_huge_coefficient_keeps_universal_where_it_began_and_brings_random_to_zero(
    problems: list[RelatednessProblem],
) -> None:
    """With learning rate x coefficient = 1, a step of SGD lands one loss gradient away from the anchor."""
    recipes.obtain([start(1, PHRASE)], device="cpu")
    pull = {"optimiser": "sgd", "embedding_update": "frozen", "learning_rate": 1e-4, "composition_decay": 1e4}
    pull |= {"keep": "last", "normalise": False}  # a vector near 0 has no direction to learn from
    fine_tune([recipe(start(1, PHRASE), **pull), recipe(start(1), **pull)], device="cpu")
    universal, random = problems
    trained = recipes.load(start(1, PHRASE)).encoder().composition()
    for value, began, phrase in zip(universal.encoder.composition(), universal.began, trained, strict=True):  # type: ignore[attr-defined]
        assert torch.equal(began, phrase)
        torch.testing.assert_close(value.detach(), began, atol=1e-4, rtol=0)
    weights = random.encoder.composition()
    assert max(float(value.abs().max()) for value in random.began) > 0.05  # type: ignore[attr-defined]
    assert max(float(value.detach().abs().max()) for value in weights) < 1e-4


def test_the_test_labels_are_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test split's gold is behind a seal; the trial split alone chooses the state."""
    relatedness = suites.relatedness

    class Sealed:
        def __init__(self, pairs: ScoredPairs) -> None:
            self.name, self.first, self.second, self.scale = pairs.name, pairs.first, pairs.second, pairs.scale

        def __len__(self) -> int:
            return len(self.first)

        @property
        def gold(self) -> None:
            raise AssertionError("the gold scores of the test pairs were read")

    asked: list[str] = []

    def sealed(dataset: str, split: str) -> ScoredPairs | Sealed:
        asked.append(split)
        pairs = relatedness(dataset, split)
        return Sealed(pairs) if split == "test" else pairs

    monkeypatch.setattr(suites, "relatedness", sealed)
    [found] = fine_tune([recipe()], device="cpu")
    assert asked == ["train", "trial", "test"]
    assert len(found.predictions) == len(relatedness("miniworld", "test"))


def test_the_trial_pairs_choose_the_state(problems: list[RelatednessProblem], monkeypatch: pytest.MonkeyPatch) -> None:
    """The predictions kept are those of the epoch with the best trial value."""
    values, states = iter([0.2, 0.8, 0.5]), []

    def validate(self: RelatednessProblem) -> float:
        states.append(self.predict(self.tokens(suites.relatedness("miniworld", "test"))))
        return next(values)

    monkeypatch.setattr(RelatednessProblem, "validate", validate)
    [found] = fine_tune([recipe(epochs=3)], device="cpu")
    np.testing.assert_allclose(found.predictions, states[1], atol=1e-6)
    assert found.metadata["history"]["best"] == 0.8


def damaged(change: Callable[[Path], None]) -> SupervisedRecipe:
    wanted = recipe(epochs=1)
    fine_tune([wanted], device="cpu")
    change(supervised._artifact(wanted))
    return wanted


def test_a_truncated_artifact_is_one_sentence() -> None:
    wanted = damaged(lambda file: file.write_bytes(file.read_bytes()[:-50]) and None)
    with pytest.raises(CheckpointError, match="truncated or not a checkpoint; delete it and run again"):
        fine_tune([wanted], device="cpu")


def test_an_artifact_of_another_key_is_refused() -> None:
    wanted = damaged(lambda file: checkpoint.save(file, {"test": torch.zeros(3)}, {"key": "other"}))
    with pytest.raises(CheckpointError, match="belongs to another configuration"):
        fine_tune([wanted], device="cpu")


def test_a_start_that_was_not_trained_is_one_sentence() -> None:
    with pytest.raises(CheckpointError):
        fine_tune([recipe(start(1, PHRASE))], device="cpu")


def test_a_fault_keeps_what_was_finished(trainings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = recipe(start(1)), recipe(start(2), optimiser="sgd")  # lazy updates are Adam's
    with pytest.raises(ConfigError):
        fine_tune([good, bad], device="cpu")
    trainings.clear()

    def full(*given: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(StorageError, match="No space left on device"):
        fine_tune([good, recipe(start(3))], device="cpu")
    assert trainings == [recipe(start(3)).key()]
    assert len(fine_tune([good], device="cpu")) == 1
