"""Runs: found by key, made once, lost by no fault, the same whatever interrupts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib.externals.loky
import numpy as np
import pytest
import torch

from sentbook.io import CheckpointError
from sentbook.study import Study
from sentbook.training import checkpoint, runs
from sentbook.training.objectives import AnyObjective, HeadTraining, SimilarityTraining
from sentbook.training.runs import Outcome, load, obtain, outcomes
from trainings import PHRASE, STORIES, assert_same, contents, recipe

pytestmark = pytest.mark.usefixtures("artifacts")
PAIRS = SimilarityTraining(dataset="miniworld", epochs=2, batch_size=100, watch="test", learning_rate=0.01)
HEAD = HeadTraining(dataset="miniworld", epochs=1, batch_size=100, frozen=True, embedding_update="frozen", hidden=5)


def trained(*stages: AnyObjective) -> Callable[[Sequence[int], int], object]:
    return lambda seeds, jobs: obtain([recipe(*stages, seed=s) for s in seeds], device="cpu", jobs=jobs)


def repeated(number: int) -> Outcome:
    if number == 1:
        raise ValueError("one")
    return Outcome({"x": np.full(number, number)}, {})


def of_a_function(numbers: Sequence[int], jobs: int) -> list[Outcome]:
    return outcomes(repeated, [(number,) for number in numbers], [f"outcome{number}" for number in numbers], jobs)


WORKS: dict[str, Callable[[Sequence[int], int], object]] = {
    "one stage": trained(PHRASE),
    "two stages": trained(PHRASE, PAIRS),
    "a head alone": trained(PHRASE, HEAD),
    "decoders": trained(STORIES),
    "a function": of_a_function,
}
works = pytest.mark.parametrize("make", WORKS.values(), ids=WORKS.keys())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of what is really made, in their order."""
    found: list[str] = []
    write = runs._write
    monkeypatch.setattr(runs, "_write", lambda key, *given: (found.append(key), write(key, *given))[1])
    return found


@pytest.fixture
def workers() -> Iterator[None]:
    """Processes side by side, with this test's environment."""
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    yield
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


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
    (artifacts / "other").touch()
    for key in made:
        mode = (artifacts / key / "run.safetensors").stat().st_mode
        assert mode == (artifacts / "other").stat().st_mode  # as the user's umask has it
        about = [checkpoint.load(file, key)[1] for file in (artifacts / key).glob("*.safetensors")]
        assert all(one["wall_seconds"] > 0 and one["git_commit"] for one in about)


@pytest.mark.usefixtures("workers")
def test_side_by_side_gives_what_one_after_another_gives(
    artifacts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = WORKS["two stages"]
    make([2, 3], 1)
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "side by side"))
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)  # earlier workers have another environment
    make([2, 3], 2)
    assert_same(contents(tmp_path / "side by side"), contents(artifacts))


@works
def test_damage_and_another_ones_artifact_are_one_sentence(make: Callable[..., Any], artifacts: Path) -> None:
    make([2], 1)
    last = max(artifacts.glob("*/*.safetensors"), key=lambda file: file.stat().st_mtime_ns)
    whole = last.read_bytes()
    for keep in (0, 4, 100, -1):
        last.write_bytes(whole[:keep])
        with pytest.raises(CheckpointError, match=r"cannot be read .*move it away and run again\.$"):
            make([2], 1)
    tensors, metadata = {"x": torch.zeros(1)}, {"key": "another"}
    checkpoint.save(last, tensors, metadata)
    with pytest.raises(CheckpointError, match=rf"belongs to another configuration \(another, not {last.parent.name}\)"):
        make([2], 1)


def test_what_is_needed_is_made_first_and_what_is_there_needs_nothing(made: list[str], artifacts: Path) -> None:
    start, chain, head = recipe(PHRASE), recipe(PHRASE, PAIRS), recipe(PHRASE, HEAD)
    obtain([chain, head], device="cpu")
    assert made == [start.key(), chain.key(), head.key()]
    expected = [load(one).encoder().state_dict() for one in (chain, head)]
    for file in (artifacts / start.key()).iterdir():
        file.unlink()
    for one, state in zip(obtain([chain, head], device="cpu"), expected, strict=True):
        assert all(torch.equal(value, state[name]) for name, value in one.encoder().state_dict().items())
    assert len(made) == 3
    obtain([recipe(PHRASE, PAIRS.changed(epochs=1))], device="cpu")
    assert made[3] == start.key() and len(made) == 5


def test_four_calls_lead_from_a_notebook_to_the_optimisers_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Own frames of a traceback raised inside the step."""

    class Stop(Exception):
        pass

    def step(*given: object, **named: object) -> None:
        raise Stop

    monkeypatch.setattr(torch.optim.Adam, "step", step)
    with pytest.raises(Stop) as caught:
        Study("cse/table1").train([recipe(PHRASE.changed(embedding_update="dense"))])
    assert len([entry for entry in caught.traceback if "sentbook" in entry.path.parts]) == 4


def test_a_divergence_is_left_out_where_it_may_happen(made: list[str]) -> None:
    changes = {"optimiser": "sgd", "embedding_update": "dense", "pull_back_words": 1e30, "learning_rate": 10.0}
    good, wild = recipe(PHRASE), recipe(PHRASE.changed(**changes))
    study = Study("cse/table1")
    for _ in range(2):
        assert [one is None for one in study.attempt([wild, good])] == [True, False]
    assert made == [good.key()]
    study.train([good], encoders=False)  # a search keeps no scores
    assert made == 2 * [good.key()]


@pytest.mark.usefixtures("workers")
def test_a_training_has_one_thread_alone_and_beside_others() -> None:
    def threads(number: int) -> Outcome:
        return Outcome({}, {"threads": torch.get_num_threads()})

    try:
        torch.set_num_threads(2)
        for jobs in (1, 2):
            found = outcomes(threads, [(0,), (1,)], [f"{jobs} jobs, {number}" for number in range(2)], jobs)
            assert [one.metadata["threads"] for one in found] == [1, 1] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
