"""Long trainings: a checkpoint between any two steps resumes exactly, and parts of a batch add up to it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from sentbook.data.text import TokenIds, Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.models import build
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.decoders import DecoderOptions
from sentbook.models.encoder_decoder import EncoderDecoder, Kind
from sentbook.system.errors import ConfigError, NumericalError
from sentbook.training import checkpoint
from sentbook.training import loop as training
from sentbook.training.loop import History, Trainer, fit
from sentbook.training.problem import DivisibleProblem, Problem
from sentbook.training.problems.generation import GenerationProblem, OrderedSentences
from sentbook.training.problems.paraphrase import ParaphraseProblem
from sentbook.training.settings import MarginTraining, Training

KINDS: list[Kind] = ["autoencoder", "future predictor", "composite", "hierarchical"]
WORDS = 12


class Accumulating(Training):
    """Any update of the words, in parts."""

    accumulate: int = 1


def settings_of(**changes: object) -> Accumulating:
    return Accumulating(
        **{"epochs": 2, "batch_size": 4, "learning_rate": 0.01, "pull_back_words": 1e-3, "clip": 5.0, "dropout": 0.2,
           "checks_per_epoch": 2, "embedding_update": "dense", **changes}
    )  # fmt: skip


def written(books: list[int], seed: int = 0, size: int = 3) -> OrderedSentences:
    """Books of so many sentences of random words."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(books)
    rows = np.arange(ends[-1])
    offsets = np.concatenate([[0], rng.integers(1, 9, len(rows)).cumsum()])
    book = np.searchsorted(ends, rows, side="right")
    left = ends[book] - rows  # sentences to the book's end
    first = (rows - (ends - books)[book]) % size == 0
    tokens = TokenIds(rng.integers(1, WORDS, offsets[-1]), offsets)
    return OrderedSentences(tokens, rows, rows[left > 1], rows[first & (left >= size)], size)


def generation(kind: Kind = "autoencoder", dropout: float = 0.0, wide: bool = False) -> GenerationProblem:
    weight = torch.randn(WORDS, 6, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    encoder = build(CNNEncoder(filters=4, bound=0.3), weight, seed=1)
    model = EncoderDecoder(encoder, kind, DecoderOptions(hidden=5, bound=0.3, dropout=dropout), seed=2)
    return GenerationProblem(model.double() if wide else model, written([7, 3, 4, 9, 8]), written([5, 3], seed=1))


def paraphrase() -> ParaphraseProblem:
    """Its loss draws permutations from the numpy generator at every step."""
    rng = np.random.default_rng(0)
    vocabulary = Vocabulary([f"w{chr(97 + number)}" for number in range(WORDS)])
    sentences = [" ".join(rng.choice(vocabulary.words, rng.integers(2, 7))) for _ in range(80)]
    check = ScoredPairs("check", sentences[:40], sentences[40:], rng.uniform(0, 5, 40), (0, 5))
    weight = torch.randn(len(vocabulary), 6, generator=torch.Generator().manual_seed(0))
    tokens = vocabulary.encode(sentences)
    halves = {"check": (vocabulary.encode(check.first), vocabulary.encode(check.second))}
    return ParaphraseProblem(build(CSEEncoder(filters=3), weight, seed=1), tokens, margin(), [check], halves)


def margin(**changes: object) -> MarginTraining:
    return MarginTraining(
        **{"epochs": 2, "batch_size": 8, "dropout": 0.2, "scramble": 0.9, "checks_per_epoch": 2, **changes}
    )


def silent(line: str) -> None:
    pass


def interrupted(problem: Problem, settings: Training, folder: Path, step: int) -> None:
    """Train until the loss of one step fails."""
    loss, calls = problem.loss, 0

    @functools.wraps(loss)
    def failing(*given: object, **named: object) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == step:
            raise RuntimeError("power cut")
        return loss(*given, **named)  # type: ignore[arg-type]

    problem.loss = failing  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="power cut"):
        fit(problem, settings, seed=4, device="cpu", folder=folder, key="k", report=silent)


def state(problem: Problem) -> dict[str, Tensor]:
    head = {} if problem.head is None else problem.head.state_dict()
    return problem.encoder.state_dict() | {f"head.{name}": value for name, value in head.items()}


def without_time(history: History) -> dict[str, object]:
    return {name: value for name, value in vars(history).items() if "seconds" not in name and "memory" not in name}


def assert_resumes(
    make: Callable[[], Problem], settings: Training, step: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make()
    expected = fit(whole, settings, seed=4, device="cpu", report=silent)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)
    interrupted(make(), settings, folder, step)
    lines: list[str] = []
    again = make()
    torch.manual_seed(step)  # what came before does not matter
    got = fit(again, settings, seed=4, device="cpu", folder=folder, key="k", report=lines.append)
    assert lines[0].startswith("resumed after")
    assert without_time(got) == without_time(expected)
    for name, value in state(whole).items():
        assert torch.equal(state(again)[name], value), name


# 31 sentences are 8 steps an epoch and 4 a segment, 40 pairs 5 an epoch.


@pytest.mark.parametrize("step", [2, 3, 4, 5, 8, 12])
@pytest.mark.parametrize("update", ["dense", "lazy", "frozen"])
def test_a_training_resumes_after_any_step(
    update: str, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(embedding_update=update)
    assert_resumes(lambda: generation(dropout=0.3), settings, step, tmp_path, monkeypatch)


@pytest.mark.parametrize("step", [2, 4, 5, 8])
@pytest.mark.parametrize("update", ["dense", "lazy"])
def test_the_numpy_generator_goes_on_too(
    update: str, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = margin(embedding_update=update, composition_decay=1e-3)
    assert_resumes(paraphrase, settings, step, tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_in_parts_resumes(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the parts of a step: the 6th part is the third step's second one, which is done again as a whole."""
    settings = settings_of(accumulate=2, optimiser="sgd", keep="last", checks_per_epoch=1)
    assert_resumes(lambda: generation(kind, dropout=0.3), settings, 6, tmp_path, monkeypatch)


def test_a_training_interrupted_twice_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of()
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)
    interrupted(generation(dropout=0.3), settings, tmp_path, 3)
    assert_resumes(lambda: generation(dropout=0.3), settings, 3, tmp_path, monkeypatch)


def test_checkpoints_are_as_rare_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[Path] = []
    monkeypatch.setattr(checkpoint, "save", lambda path, tensors, metadata: saved.append(path))
    fit(generation(), settings_of(), seed=4, device="cpu", folder=tmp_path, report=silent)
    assert not saved
    ticks = iter(range(10_000))  # the clock goes on by a second each time it is read
    monkeypatch.setattr(training.time, "monotonic", lambda: float(next(ticks)))
    fit(generation(), settings_of(checks_per_epoch=1), seed=4, device="cpu", folder=tmp_path, report=silent)
    assert not saved
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 5.0)
    fit(generation(), settings_of(checks_per_epoch=1), seed=4, device="cpu", folder=tmp_path, report=silent)
    assert 2 <= len(saved) <= 4


def test_seconds_of_steps_before_an_interruption_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)
    interrupted(generation(), settings_of(), tmp_path, 4)
    before = checkpoint.read_metadata(tmp_path / "checkpoint.safetensors", "k")
    assert before["midway"]["batch"] == 3
    assert before["history"]["seconds"] > 0
    trainer = Trainer(generation(), settings_of(), seed=4, device=torch.device("cpu"), key="k")
    assert trainer.resume(tmp_path)
    assert trainer.run(folder=None, report=silent).seconds > before["history"]["seconds"]


def test_a_checkpoint_without_a_place_in_the_epoch_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they were written at the ends of segments alone."""
    whole = generation(dropout=0.3)
    expected = fit(whole, settings_of(), seed=4, device="cpu", report=silent)
    made = generation(dropout=0.3)
    trainer = Trainer(made, settings_of(), seed=4, device=torch.device("cpu"), key="k")
    validate, checks = made.validate, 0

    def failing() -> float:
        nonlocal checks
        checks += 1
        if checks == 3:
            raise RuntimeError("power cut")
        return validate()

    made.validate = failing  # type: ignore[method-assign]
    kept: list[bytes] = []
    save = trainer.save

    def keep(folder: Path) -> None:
        save(folder)
        if trainer.midway is None:
            kept.append((folder / "checkpoint.safetensors").read_bytes())

    trainer.save = keep  # type: ignore[method-assign]
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)
    with pytest.raises(RuntimeError, match="power cut"):
        trainer.run(folder=tmp_path, report=silent)
    (tmp_path / "checkpoint.safetensors").write_bytes(kept[-1])
    metadata = checkpoint.read_metadata(tmp_path / "checkpoint.safetensors", "k")
    assert set(metadata) == {"key", "next_segment", "history", "groups"}
    assert metadata["next_segment"] == 2
    again = generation(dropout=0.3)
    got = fit(again, settings_of(), seed=4, device="cpu", folder=tmp_path, key="k", report=silent)
    assert without_time(got) == without_time(expected)
    for name, value in state(whole).items():
        assert torch.equal(state(again)[name], value), name


def test_a_loss_that_is_not_finite_is_never_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)
    made, calls = generation(), 0
    loss = made.loss

    def diverging(*given: object, **named: object) -> Tensor:
        nonlocal calls
        calls += 1
        return loss(*given, **named) * (float("nan") if calls == 3 else 1)  # type: ignore[arg-type]

    made.loss = diverging  # type: ignore[method-assign]
    with pytest.raises(NumericalError, match="The loss became nan in epoch 1"):
        fit(made, settings_of(), seed=4, device="cpu", folder=tmp_path, report=silent)
    file = tmp_path / "checkpoint.safetensors"
    assert checkpoint.read_metadata(file, "")["midway"]["batch"] == 2
    assert all(value.isfinite().all() for value in checkpoint.load(file, "")[0].values())


# -- parts of a batch --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("per", ["token", "sentence"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_parts_add_up(kind: Kind, per: str) -> None:
    found = []
    for parts in (1, 2, 4, 50):
        made = generation(kind, wide=True)
        made.per = per  # type: ignore[assignment]
        settings = settings_of(accumulate=parts, dropout=0.0)
        trainer = Trainer(made, settings, seed=1, device=torch.device("cpu"), key="")
        loss = trainer._gradients(np.arange(5), np.random.default_rng(0))
        found.append((loss, {name: value.grad for name, value in made.model.named_parameters() if value.requires_grad}))
    for loss, gradients in found[1:]:
        torch.testing.assert_close(loss, found[0][0], rtol=1e-12, atol=0)
        for name, gradient in gradients.items():
            assert gradient is not None, name
            torch.testing.assert_close(gradient, found[0][1][name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("update", ["dense", "lazy"])
@pytest.mark.parametrize("kind", KINDS)
def test_trainings_in_parts_are_the_same_training(kind: Kind, update: str) -> None:
    found = []
    for parts in (1, 2, 4):
        made = generation(kind, wide=True)
        settings = settings_of(accumulate=parts, dropout=0.0, embedding_update=update)
        history = fit(made, settings, seed=1, device="cpu", report=silent)
        found.append((history, state(made)))
    for history, values in found[1:]:
        assert history.examples == found[0][0].examples
        assert [row["value"] for row in history.curve] == pytest.approx([row["value"] for row in found[0][0].curve])
        for name, value in values.items():
            torch.testing.assert_close(value, found[0][1][name], rtol=0, atol=1e-6)


def test_a_loss_that_compares_examples_is_not_cut() -> None:
    class InParts(MarginTraining):
        accumulate: int = 2

    assert isinstance(generation(), DivisibleProblem)
    assert not isinstance(paraphrase(), DivisibleProblem)
    with pytest.raises(ConfigError, match=r"^A batch of ParaphraseProblem cannot be cut into parts; set accumulate to"):
        fit(paraphrase(), InParts(), seed=1, device="cpu", report=silent)
