"""The loop: a training cut anywhere is the same one; lazy agrees with dense; faults are sentences."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sentbook.io import NumericalError
from sentbook.models.average import AverageEncoder
from sentbook.models.base import to_device
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.decoders import Kind
from sentbook.training import checkpoint
from sentbook.training import train as loop
from sentbook.training.devices import tensor_cores
from sentbook.training.objectives import EntailmentTraining, HeadTraining, Objective
from sentbook.training.runs import prepare_stage
from sentbook.training.train import History, device_of
from trainings import PHRASE, STORIES, assert_same, recipe

KINDS: tuple[Kind, ...] = get_args(Kind)
FAST = {
    "epochs": 2, "batch_size": 8, "learning_rate": 0.01, "checks_per_epoch": 2, "dropout": 0.2, "clip": 5.0,
    "pull_back_words": 1e-3, "composition_decay": 1e-3,
}  # fmt: skip
pytestmark = pytest.mark.usefixtures("store")


def paraphrase(options: Encoder | None = None) -> Any:
    """80 pairs; the loss draws permutations from numpy."""
    return prepare_stage(recipe(PHRASE, encoder=options or CSEEncoder(filters=3)))


def generation(kind: Kind = "autoencoder") -> Any:
    """64 sentences."""
    return prepare_stage(recipe(STORIES.changed(model=kind, limit=64), encoder=CNNEncoder(filters=4, bound=0.3)))


def trained(problem: Objective, changes: Mapping[str, object] | None = None, **named: Any) -> History:
    objective = problem.model_copy(update=FAST | dict(changes or {}))
    return loop.train(objective, seed=4, device="cpu", **{"key": "k", "report": lambda line: None, **named})


def state(problem: Objective) -> dict[str, Tensor]:
    head = problem.head.state_dict()
    return problem.encoder.state_dict() | {f"head.{name}": value for name, value in head.items()}


def cut(problem: Objective, step: int) -> None:
    """Let the loss of one step fail."""
    loss, calls = problem.compute_loss, iter(range(1, step))

    def failing(*given: Any) -> Tensor:
        if next(calls, None) is None:
            raise RuntimeError("power cut")
        return loss(*given)

    object.__setattr__(problem, "compute_loss", failing)


# An epoch is at least four steps, in two segments.
MAKERS: dict[str, Callable[[], Objective]] = {"pairs": paraphrase} | {
    kind: (lambda kind=kind: generation(kind)) for kind in KINDS
}
UPDATES = [("adam", "dense"), ("adam", "lazy"), ("sgd", "dense"), ("sgd", "frozen")]


@cache
def whole(kind: str, changes: tuple[tuple[str, object], ...]) -> tuple[Objective, History]:
    problem = MAKERS[kind]()
    return problem, trained(problem, dict(changes))


def without_time(history: History) -> dict[str, object]:
    return {name: value for name, value in vars(history).items() if "seconds" not in name and "memory" not in name}


@settings(max_examples=15)
@given(
    kind=st.sampled_from(sorted(MAKERS)),
    update=st.sampled_from(UPDATES),
    keep=st.sampled_from(["best", "last"]),
    steps=st.tuples(st.integers(6, 8), st.integers(1, 2)),
)
def test_a_training_cut_anywhere_ends_as_if_it_had_not_been(
    kind: str, update: tuple[str, str], keep: str, steps: tuple[int, int]
) -> None:
    """Twice, after one check at least; what torch drew before does not matter."""
    changes: dict[str, object] = {"optimiser": update[0], "embedding_update": update[1], "keep": keep}
    changes |= {"batch_size": 4 if kind == "hierarchical" else 8}
    expected, history = whole(kind, tuple(changes.items()))
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(loop, "CHECKPOINT_SECONDS", -math.inf)
        for step in steps:
            problem = MAKERS[kind]()
            cut(problem, step)
            with pytest.raises(RuntimeError, match="power cut"):
                trained(problem, changes, folder=Path(folder))
            torch.manual_seed(step)
        lines: list[str] = []
        again = MAKERS[kind]()
        before = checkpoint.load(Path(folder) / checkpoint.IN_PROGRESS, "k")[1]["history"]
        got = trained(again, changes, folder=Path(folder), report=lines.append)
    assert lines[0].startswith("resumed after")
    assert without_time(got) == without_time(history) and got.seconds > before["seconds"] > 0
    assert_same(state(again), state(expected))


def test_checkpoints_are_rare_and_a_loss_that_is_not_finite_is_never_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(generation(), folder=tmp_path)
    assert not list(tmp_path.iterdir())  # none in a minute
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -math.inf)
    made, calls = generation(), iter([1] * 6 + [float("nan")] * 9)
    loss = made.compute_loss
    object.__setattr__(made, "compute_loss", lambda *given: loss(*given) * next(calls))
    with pytest.raises(NumericalError, match=r"The loss became nan in epoch 1; lower the learning rate \(now 0.01\)"):
        trained(made, folder=tmp_path)
    tensors, metadata = checkpoint.load(tmp_path / checkpoint.IN_PROGRESS, "k")
    assert metadata["check"] == 1
    assert all(value.isfinite().all() for value in tensors.values())


@pytest.mark.parametrize("options", [AverageEncoder(), CSEEncoder(filters=3), CSEEncoder(filters=3, windows="batch")])
def test_training_learns_and_keeps_the_best_state(options: Encoder) -> None:
    problem = paraphrase(options)
    before, states = problem.judge(), list[tuple[float, Tensor]]()
    judge = problem.judge

    def watched() -> float:
        states.append((judge(), problem.encoder.embedding.weight.detach().clone()))
        return states[-1][0]

    object.__setattr__(problem, "judge", watched)
    history = trained(problem, {"epochs": 12, "scramble": 0.0})
    best, weight = max(states, key=lambda item: item[0])
    assert history.best == best == judge() > before + 0.05
    assert torch.equal(problem.encoder.embedding.weight, weight)


def test_first_lazy_step_equals_dense() -> None:
    """From fresh moments, one Adam step moves the touched rows alike; untouched rows stay with either."""
    changes = {"epochs": 1, "batch_size": 1000, "bucket": False, "checks_per_epoch": 1, "dropout": 0.0, "keep": "last"}
    dense, lazy = paraphrase(), paraphrase()
    for problem, update in ((dense, "dense"), (lazy, "lazy")):
        trained(problem, {**changes, "embedding_update": update, "pull_back_words": 1e-6, "learning_rate": 1e-3})
    for name, value in state(dense).items():
        torch.testing.assert_close(value, state(lazy)[name], atol=2e-5, rtol=0)


@pytest.mark.parametrize("update", ["dense", "lazy", "frozen"])
@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_padding_never_moves_frozen_words_stay_and_a_strong_pull_back_holds_them(kind: str, update: str) -> None:
    moved = []
    for strength in (0.0, 100.0):
        problem = MAKERS[kind]()
        before = problem.encoder.embedding.weight.detach().clone()
        trained(
            problem, {"embedding_update": update, "pull_back_words": strength, "keep": "last", "learning_rate": 1e-3}
        )
        after = problem.encoder.embedding.weight.detach()
        assert not after[0].any()
        moved.append(float((after - before).norm()))
    assert moved == [0, 0] if update == "frozen" else moved[1] < 0.3 * moved[0]


PLAIN = PHRASE.changed(epochs=1, checks_per_epoch=1)
HEAD, TALES = HeadTraining(dataset="miniworld", epochs=1, hidden=5), STORIES.changed(limit=64, checks_per_epoch=1)
INFERENCE = EntailmentTraining(corpus="miniworld-entailment", epochs=2, hidden=4)
MOVES: list[tuple[Any, dict[str, Any]]] = [
    (PLAIN, {"dropout": 0.5}), (PLAIN, {"clip": 1e-3}), (PLAIN, {"precision": "bf16"}), (PLAIN, {"bucket": False}),
    (PLAIN, {"composition_rate": 1e-4}), (PLAIN, {"selection": "random"}), (PLAIN, {"candidates": "both sides"}),
    (PLAIN, {"scramble": 0.9}), (PLAIN, {"margin": 0.9}), (HEAD, {"loss": "mse"}), (HEAD, {"head_decay": 1.0}),
    (TALES, {"dropout": 0.5}), (TALES, {"floor": 0.01}), (INFERENCE, {"decay": 0.1}),
]  # fmt: skip


def curve(stage: Any, seed: int = 1) -> list[dict[str, Any]]:
    encoder = CNNEncoder(filters=3, bound=0.3) if type(stage) is type(STORIES) else CSEEncoder(filters=3)
    problem = prepare_stage(recipe(stage, encoder=encoder))
    return loop.train(problem, seed=seed, device="cpu", report=loop.silent).curve


@pytest.mark.parametrize(("stage", "change"), MOVES, ids=lambda one: next(iter(one), None) if type(one) is dict else "")
def test_a_setting_moves_the_training(stage: Any, change: dict[str, Any]) -> None:
    assert curve(stage) != curve(stage.changed(**change))


def test_the_seed_orders_the_examples_and_a_last_single_pair_joins_the_batch_before() -> None:
    assert curve(PLAIN, 1) == curve(PLAIN, 1) != curve(PLAIN, 2)
    assert len(curve(PLAIN.changed(limit=41))) == len(curve(PLAIN.changed(limit=40))) == 2  # alone it has no negative


def test_what_goes_to_a_gpu_is_pinned_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, calls = torch.device("cuda", 1), list[Any]()
    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor: calls.append("pinned") or tensor)
    monkeypatch.setattr(Tensor, "to", lambda tensor, *place, **how: calls.append((*place, how)) or tensor)
    to_device(torch.ones(2), gpu)
    monkeypatch.undo()
    assert calls == ["pinned", (gpu, {"non_blocking": True})]


def test_training_uses_tf32_and_scores_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def precision() -> tuple[str, bool]:
        return torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32

    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)  # torch's default
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    gpu = device_of("auto")
    assert precision() == ("highest", False)
    with tensor_cores(gpu):
        assert precision() == ("high", True)
    with tensor_cores(torch.device("cpu")):
        assert precision() == ("highest", False)
    assert precision() == ("highest", False)


def test_the_order_of_examples_and_each_segment_draw_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    streams: list[tuple[int, ...]] = []
    objective = paraphrase()

    def seeded(place: list[int]) -> np.random.Generator:
        rng = np.random.Generator(np.random.PCG64(place))
        streams.append(tuple(rng.integers(2**62, size=4).tolist()))
        return rng

    monkeypatch.setattr(loop.np.random, "default_rng", seeded)
    loop.train(objective, seed=0, report=lambda line: None)
    assert len(streams) == 6  # two epochs of two segments each
    assert len(set(streams)) == 6
