"""Fine-tuning as artifacts: found by key, pulled back to where it began, chosen on the trial pairs alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.data.vectors import Vectors
from sentbook.models.cse import CSEEncoder
from sentbook.training import recipes
from sentbook.training.problems.transfer import RelatednessProblem
from sentbook.training.recipes import FineTuned, FineTuning, Recipe
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


def fine_tune(begin: Recipe, **changes: Any) -> FineTuned:
    (found,) = recipes.fine_tune([begin], settings(**changes), device="cpu")
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

    monkeypatch.setattr(recipes, "RelatednessProblem", make)
    return found


def test_the_key_is_of_all_that_decides_numbers_and_not_of_the_method() -> None:
    def key(begin: Recipe, **changes: Any) -> str:
        return FineTuning(begin, settings(**changes)).key

    assert key(start().model_copy(update={"method": "other"})) == key(start())
    others = [key(start(2)), key(start(1, PHRASE)), key(start(), hidden=6), key(start(), head_decay=0.5)]
    assert len({key(start()), key(start(), normalise=False), *others}) == 6


def test_predictions_lie_on_the_scale() -> None:
    found = fine_tune(start())
    assert found.predictions.shape == (len(suites.relatedness("miniworld", "test")),)
    assert ((found.predictions >= 1) & (found.predictions <= 5)).all()
    assert found.curve() and found.cost().parameters > 0 and found.key == FineTuning(start(), settings()).key


def test_a_huge_coefficient_keeps_universal_where_it_began_and_brings_random_to_zero(
    problems: list[RelatednessProblem],
) -> None:
    """With learning rate x coefficient = 1, a step of SGD lands one loss gradient away from the anchor."""
    pull = {"optimiser": "sgd", "embedding_update": "frozen", "learning_rate": 1e-4, "composition_decay": 1e4}
    pull |= {"keep": "last", "normalise": False}  # a vector near 0 has no direction to learn from
    for begin in (start(1, PHRASE), start(1)):  # what it begins with is trained first
        fine_tune(begin, **pull)
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
    found = fine_tune(start())
    assert asked == ["train", "trial", "test"]
    assert len(found.predictions) == len(relatedness("miniworld", "test"))


def test_the_trial_pairs_choose_the_state(problems: list[RelatednessProblem], monkeypatch: pytest.MonkeyPatch) -> None:
    """The predictions kept are those of the epoch with the best trial value."""
    values, states = iter([0.2, 0.8, 0.5]), []

    def validate(self: RelatednessProblem) -> float:
        states.append(self.predict(self.tokens(suites.relatedness("miniworld", "test"))))
        return next(values)

    monkeypatch.setattr(RelatednessProblem, "validate", validate)
    found = fine_tune(start(), epochs=3)
    np.testing.assert_allclose(found.predictions, states[1], atol=1e-6)
    assert found.metadata["history"]["best"] == 0.8
