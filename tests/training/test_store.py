"""The store, over every kind of work: found by key, made once, lost by no fault, the same whatever interrupts it."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib.externals.loky
import numpy as np
import pytest
import torch
from torch import Tensor

from sentbook.io import CheckpointError, NumericalError, StorageError
from sentbook.models.cnn import CNNEncoder
from sentbook.training import checkpoint, classifier, recipes, store, train
from sentbook.training.objectives import (
    AnyObjective,
    ClassifierTraining,
    HeadTraining,
    RelatednessTraining,
    SimilarityTraining,
)
from trainings import PHRASE, STORIES, recipe

pytestmark = pytest.mark.usefixtures("artifacts")
PAIRS = SimilarityTraining(dataset="miniworld", epochs=2, batch_size=100, watch="test", learning_rate=0.01)
HEAD = HeadTraining(dataset="miniworld", epochs=1, batch_size=100, frozen=True, embedding_update="frozen", hidden=5)
RELATED = RelatednessTraining(dataset="miniworld", hidden=5, epochs=1, batch_size=100, normalise=False)
SOFTMAX = ClassifierTraining(epochs=1, batch_size=64)
Contents = dict[str, tuple[dict[str, Tensor], list[Any]]]


def trained(*stages: AnyObjective) -> Callable[[Sequence[int], int], object]:
    return lambda seeds, jobs: recipes.obtain([recipe(*stages, seed=s) for s in seeds], device="cpu", jobs=jobs)


def fine_tuned(seeds: Sequence[int], jobs: int) -> object:
    return recipes.fine_tune([recipe(PHRASE, seed=seed) for seed in seeds], RELATED, device="cpu", jobs=jobs)


def cells(seeds: Sequence[int], jobs: int) -> object:
    start = recipe(encoder=CNNEncoder(widths=(2,), filters=4))
    division = classifier.Division(*np.split(np.arange(300), [200, 250]))
    given = {"method": "CNN", "dataset": "questions", "start": start, "task": "miniworld/question"}
    options = {"division": division, "settings": SOFTMAX, "random": True, "device": "cpu"}
    return classifier.classifiers([classifier.Classifier(**given, **options, seed=seed) for seed in seeds], jobs=jobs)


def squares(seed: int) -> store.Arrays:
    return {"squares": np.arange(seed) ** 2, "right": np.array([True, False])}


def outcomes(seeds: Sequence[int], jobs: int) -> object:
    return store.outcomes(squares, [(seed,) for seed in seeds], [f"outcome{seed}" for seed in seeds], jobs)


WORKS: dict[str, Callable[[Sequence[int], int], object]] = {
    "one stage": trained(PHRASE),
    "two stages": trained(PHRASE, PAIRS),
    "a head alone": trained(PHRASE, HEAD),
    "decoders": trained(STORIES),
    "a fine-tuned head": fine_tuned,
    "a cell of figure 3": cells,
    "arrays of a function": outcomes,
}
works = pytest.mark.parametrize("make", WORKS.values(), ids=WORKS.keys())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of works that are really made, in their order."""
    found: list[str] = []

    def counted(kind: type[store.Work]) -> None:
        run = kind.run
        monkeypatch.setattr(kind, "run", lambda work, place: (found.append(work.key), run(work, place))[1])

    for kind in (recipes.StageTraining, recipes.FineTuning, classifier.Classifier, store.Outcome):
        counted(kind)
    return found


def contents(folder: Path) -> Contents:
    """Every tensor that is stored, by its file, and the curves; nothing that a clock decides."""
    found: Contents = {}
    for file in sorted(folder.rglob("*.safetensors")):
        tensors, metadata = checkpoint.load(file, file.parent.name)
        found[str(file.relative_to(folder))] = tensors, metadata.get("history", {}).get("curve", [])
    return found


def assert_same(one: Contents, other: Contents) -> None:
    assert one.keys() == other.keys() and one
    for file, (tensors, curve) in one.items():
        assert curve == other[file][1]
        assert tensors.keys() == other[file][0].keys()
        assert all(torch.equal(value, other[file][0][name]) for name, value in tensors.items()), file


@works
def test_what_was_made_is_found_and_says_where_it_came_from(
    make: Callable[..., Any], made: list[str], artifacts: Path
) -> None:
    make([2, 3, 2], 1)
    assert len(made) == len(set(made))
    assert {path.name for path in artifacts.iterdir()} == set(made)
    before, count = contents(artifacts), len(made)
    again = make([3, 2], 1)
    assert len(again) == 2 and len(made) == count
    assert_same(contents(artifacts), before)
    assert not list(artifacts.rglob("checkpoint*")) + list(artifacts.rglob("*.tmp"))
    for key in made:
        about = [checkpoint.read_metadata(file, key) for file in (artifacts / key).glob("*.safetensors")]
        (whole,) = [one for one in about if "started" in one]
        assert whole["wall_seconds"] > 0 and whole["peak_memory_bytes"] > 0 and whole["git_commit"]
        assert whole["version"] == store.VERSION


@pytest.mark.parametrize("make", [WORKS["two stages"], cells], ids=["two stages", "cells"])
def test_side_by_side_gives_what_one_after_another_gives(
    make: Callable[..., Any], artifacts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make([2, 3], 1)
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "side by side"))
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)  # earlier workers have another environment
    try:
        make([2, 3], 2)
    finally:
        joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    assert_same(contents(tmp_path / "side by side"), contents(artifacts))


def test_a_work_alone_has_one_thread_as_beside_others() -> None:
    torch.set_num_threads(2)
    [alone] = store.outcomes(lambda: {"threads": np.array(torch.get_num_threads())}, [()], ["alone"], 2)
    torch.set_num_threads(1)
    assert int(alone["threads"]) == 1


class PowerCut(Exception):
    """As good as a kill: nothing after it runs."""


@works
def test_an_interrupted_work_ends_as_if_it_had_not_been(
    make: Callable[..., Any], artifacts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a checkpoint after each step, cut in its midst and at each of its last files."""
    monkeypatch.setattr(train, "CHECKPOINT_SECONDS", -math.inf)
    save, files = checkpoint.save, list[str]()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", lambda path, *given: (files.append(path.name), save(path, *given)))
        make([2], 1)
    whole, count = contents(artifacts), len(files)
    for stop in sorted({max(1, count // 2), max(1, count - 1), count}):
        place = tmp_path / f"cut {stop}"
        monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(place))
        calls: list[Path] = []

        def failing(path: Path, *given: Any, calls: list[Path] = calls, stop: int = stop) -> None:
            calls.append(path)
            if len(calls) == stop:
                raise PowerCut
            save(path, *given)

        with monkeypatch.context() as patch, pytest.raises(PowerCut):
            patch.setattr(checkpoint, "save", failing)
            make([2], 1)
        assert not calls[-1].exists() or calls[-1].name == checkpoint.IN_PROGRESS
        make([2], 1)
        assert_same(contents(place), whole)


@works
def test_damage_and_another_ones_artifact_are_one_sentence(make: Callable[..., Any], artifacts: Path) -> None:
    make([2], 1)
    last = max(artifacts.glob("*/*.safetensors"), key=lambda file: file.stat().st_mtime_ns)
    whole = last.read_bytes()
    for keep in (0, 4, 100, -1):
        last.write_bytes(whole[:keep])
        with pytest.raises(CheckpointError, match=r"is truncated or not a checkpoint; delete it and run again\.$"):
            make([2], 1)
    tensors, metadata = {"x": torch.zeros(1)}, {"key": "another"}
    checkpoint.save(last, tensors, metadata)
    with pytest.raises(CheckpointError, match=rf"belongs to another configuration \(another, not {last.parent.name}\)"):
        make([2], 1)


def test_what_is_needed_is_made_first_and_again_where_it_was_pruned(made: list[str], artifacts: Path) -> None:
    start, chain = recipe(PHRASE), recipe(PHRASE, PAIRS)
    recipes.obtain([chain, recipe(PHRASE, HEAD)], device="cpu")
    assert made[0] == start.key() and made[1:] == [chain.key(), recipe(PHRASE, HEAD).key()]
    recipes.load(start).encoder()
    for file in (artifacts / start.key()).iterdir():
        file.unlink()
    recipes.obtain([chain], device="cpu")
    assert made[3:] == [start.key(), chain.key()]


def test_a_divergence_is_remembered_where_it_may_happen(made: list[str]) -> None:
    changes = {"optimiser": "sgd", "embedding_update": "dense", "pull_back_words": 1e30, "learning_rate": 10.0}
    good, wild = recipe(PHRASE), recipe(PHRASE.model_copy(update=changes))
    for _ in range(2):
        found = recipes.attempt([wild, good], device="cpu")
        assert found[0] is None and found[1] is not None
    assert made == [wild.key(), good.key()]
    with pytest.raises(NumericalError, match=r"^The loss became nan in epoch 1; lower the learning rate \(now 10\)"):
        recipes.obtain([wild], device="cpu")


def test_a_work_that_fails_leaves_the_others(made: list[str], artifacts: Path) -> None:
    def fails(number: int) -> store.Arrays:
        if number == 2:
            raise ValueError("two")
        return {"x": np.full(number, number)}

    for _ in range(2):
        with pytest.raises(ValueError, match="two"):
            store.outcomes(fails, [(1,), (2,), (3,)], ["one", "two", "three"])
    assert made == ["one", "two", "two"]
    assert [found["x"].tolist() for found in store.outcomes(fails, [(3,), (1,)], ["three", "one"])] == [[3] * 3, [1]]


def test_a_work_that_is_killed_is_one_sentence_and_leaves_the_others(artifacts: Path) -> None:
    def killed(number: int) -> store.Arrays:
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"x": np.full(number, number)}

    store.outcomes(killed, [(1,)], ["one"])
    with pytest.raises(StorageError, match=r"^A training was killed, most often for want of memory; close other "):
        store.outcomes(killed, [(1,), (2,), (2,)], ["one", "two", "another"], 2)
    assert {file.parent.name for file in artifacts.rglob("outcome.safetensors")} == {"one"}


def test_a_missing_artifact_is_one_sentence() -> None:
    with pytest.raises(CheckpointError):
        recipes.load(recipe(PHRASE))
    assert STORIES.identity() == ""
