"""The loop: resume equals an uninterrupted run bit for bit; lazy agrees with dense; faults are sentences."""

from pathlib import Path

import numpy as np
import pytest
import torch

from sentbook.data.text import Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.models import SentenceEncoder, build
from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.system.errors import CheckpointError, ConfigError, DeviceError, NumericalError, SentbookError
from sentbook.training import loop as training
from sentbook.training.loop import Trainer, device_of, fit
from sentbook.training.problems.paraphrase import ParaphraseProblem
from sentbook.training.settings import MarginTraining

WORDS = [f"w{chr(97 + a)}{chr(97 + b)}" for a in range(8) for b in range(8)]


def silent(line: str) -> None:
    pass


def problem(
    encoder_config: object = None, settings: MarginTraining | None = None, pairs: int = 60
) -> ParaphraseProblem:
    """Pairs that share a topic: words of one row of an 8 x 8 table."""
    rng = np.random.default_rng(0)
    vocabulary = Vocabulary(WORDS)
    weight = torch.randn(len(vocabulary), 6, generator=torch.Generator().manual_seed(0))
    weight[0] = 0

    def sentence(topic: int) -> str:
        return " ".join(WORDS[8 * topic + word] for word in rng.integers(0, 8, rng.integers(2, 7)))

    topics = rng.integers(0, 8, pairs)
    first, second = [sentence(topic) for topic in topics], [sentence(topic) for topic in topics]
    others = [sentence(topic) for topic in rng.permutation(topics)]
    check = ScoredPairs("check", first + first, second + others, np.array([5.0] * pairs + [0.0] * pairs), (0, 5))
    encoder: SentenceEncoder = build(encoder_config or CSEEncoder(filters=3), weight, seed=1)
    tokens = {"check": (vocabulary.encode(check.first), vocabulary.encode(check.second))}
    return ParaphraseProblem(encoder, vocabulary.encode(first + second), settings or options(), [check], tokens)


def options(**changes: object) -> MarginTraining:
    return MarginTraining(
        **{"epochs": 3, "batch_size": 16, "dropout": 0.2, "scramble": 0.5, "checks_per_epoch": 2, **changes}
    )


def parameters(problem: ParaphraseProblem) -> dict[str, torch.Tensor]:
    return problem.encoder.state_dict()


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


@pytest.mark.parametrize("embedding_update", ["lazy", "dense"])
@pytest.mark.parametrize("optimiser", ["adam", "adagrad"])
@pytest.mark.parametrize("stop", [1, 3, 5])
def test_resumed_equals_uninterrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedding_update: str, optimiser: str, stop: int
) -> None:
    if embedding_update == "lazy" and optimiser != "adam":
        pytest.skip("lazy updates are Adam's")
    settings = options(embedding_update=embedding_update, optimiser=optimiser, composition_decay=1e-3)
    whole = problem(settings=settings)
    expected = fit(whole, settings, seed=4, device="cpu", report=silent)

    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    broken, calls = problem(settings=settings), 0
    validate = broken.validate

    def fail_later() -> float:
        nonlocal calls
        calls += 1
        if calls > stop:
            raise RuntimeError("power cut")
        return validate()

    broken.validate = fail_later  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="power cut"):
        fit(broken, settings, seed=4, device="cpu", folder=tmp_path, key="k", report=silent)
    lines: list[str] = []
    again = problem(settings=settings)
    got = fit(again, settings, seed=4, device="cpu", folder=tmp_path, key="k", report=lines.append)
    assert lines[0].startswith("resumed after")
    assert_same(parameters(again), parameters(whole))
    assert got.curve == expected.curve
    assert (got.best, got.best_step, got.examples) == (expected.best, expected.best_step, expected.examples)


def test_same_seed_same_numbers_and_other_seed_others() -> None:
    results = []
    for seed in (1, 1, 2):
        trained = problem()
        fit(trained, options(), seed=seed, device="cpu", report=silent)
        results.append(parameters(trained))
    assert_same(results[0], results[1])
    assert not torch.equal(results[0]["embedding.weight"], results[2]["embedding.weight"])


@pytest.mark.parametrize("encoder", [AverageEncoder(), CSEEncoder(filters=3), CSEEncoder(filters=3, windows="batch")])
def test_training_learns_the_topics(encoder: object) -> None:
    untrained, trained = problem(encoder), problem(encoder)
    before = untrained.validate()
    fit(trained, options(epochs=20, learning_rate=0.01, scramble=0.0), seed=1, device="cpu", report=silent)
    assert trained.validate() > before + 0.1


def test_first_lazy_step_equals_dense() -> None:
    """From fresh moments, one Adam step moves the touched rows alike; untouched rows stay with either."""
    settings = options(epochs=1, batch_size=1000, bucket=False, checks_per_epoch=1, dropout=0.0, keep="last")
    dense, lazy = problem(), problem()
    fit(dense, settings.model_copy(update={"embedding_update": "dense"}), seed=1, device="cpu", report=silent)
    fit(lazy, settings, seed=1, device="cpu", report=silent)
    for name, value in parameters(dense).items():
        torch.testing.assert_close(value, parameters(lazy)[name], atol=2e-5, rtol=0)


@pytest.mark.parametrize("embedding_update", ["dense", "lazy", "frozen"])
def test_padding_never_moves_and_frozen_words_stay(embedding_update: str) -> None:
    trained = problem()
    before = trained.encoder.embedding.weight.detach().clone()
    fit(trained, options(embedding_update=embedding_update, keep="last"), seed=1, device="cpu", report=silent)
    after = trained.encoder.embedding.weight.detach()
    assert not after[0].any()
    assert torch.equal(before, after) == (embedding_update == "frozen")


@pytest.mark.parametrize("embedding_update", ["dense", "lazy"])
def test_a_strong_pull_back_holds_the_words(embedding_update: str) -> None:
    moved = []
    for strength in (0.0, 100.0):
        trained = problem()
        before = trained.encoder.embedding.weight.detach().clone()
        settings = options(embedding_update=embedding_update, pull_back_words=strength, keep="last", learning_rate=1e-3)
        fit(trained, settings, seed=1, device="cpu", report=silent)
        moved.append(float((trained.encoder.embedding.weight.detach() - before).norm()))
    assert moved[1] < 0.3 * moved[0]


def test_the_best_state_is_kept() -> None:
    trained = problem()
    values = iter([0.1, 0.9, 0.3, 0.2, 0.1, 0.0])
    states: list[torch.Tensor] = []

    def validate() -> float:
        states.append(trained.encoder.embedding.weight.detach().clone())
        return next(values)

    trained.validate = validate  # type: ignore[method-assign]
    history = fit(trained, options(), seed=1, device="cpu", report=silent)
    assert history.best == 0.9
    assert torch.equal(trained.encoder.embedding.weight.detach(), states[1])


def test_a_loss_that_is_not_finite_is_one_sentence() -> None:
    broken = problem()
    with torch.no_grad():
        broken.encoder.embedding.weight[5] = float("nan")
    with pytest.raises(NumericalError, match=r"The loss became nan in epoch 1; lower the learning rate \(now 0.001\)"):
        fit(broken, options(), seed=1, device="cpu", report=silent)


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path: Path) -> None:
    Trainer(problem(), options(), seed=1, device=torch.device("cpu"), key="one").save(tmp_path)
    with pytest.raises(CheckpointError, match=r"belongs to another configuration \(one, not two\)"):
        fit(problem(), options(), seed=1, device="cpu", folder=tmp_path, key="two", report=silent)


@pytest.mark.parametrize("kept", [0, 8, 1000, -1])
def test_with_a_damaged_checkpoint_the_training_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """It is set aside and said, and the numbers are those of a training that was never stopped."""
    whole = problem()
    expected = fit(whole, options(), seed=4, device="cpu", report=silent)
    broken = problem()
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1.0)

    def fail() -> float:
        raise RuntimeError("power cut")

    broken.validate = fail  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="power cut"):
        fit(broken, options(), seed=4, device="cpu", folder=tmp_path, key="k", report=silent)
    monkeypatch.undo()
    file = tmp_path / "checkpoint.safetensors"
    content = file.read_bytes()[:kept]
    file.write_bytes(content)
    lines: list[str] = []
    again = problem()
    got = fit(again, options(), seed=4, device="cpu", folder=tmp_path, key="k", report=lines.append)
    aside = tmp_path / "damaged.safetensors"
    assert lines[0] == f"the checkpoint is damaged; it is now {aside}, and the training begins again"
    assert not any(line.startswith("resumed") for line in lines)
    assert aside.read_bytes() == content
    assert_same(parameters(again), parameters(whole))
    assert (got.curve, got.examples) == (expected.curve, expected.examples)


def test_interrupt_says_how_to_go_on(tmp_path: Path) -> None:
    trained = problem()

    def stop() -> float:
        raise KeyboardInterrupt

    trained.validate = stop  # type: ignore[method-assign]
    with pytest.raises(SentbookError, match="run the same command to go on"):
        fit(trained, options(), seed=1, device="cpu", folder=tmp_path, report=silent)


def test_a_missing_gpu_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="set device to 'auto' or 'cpu'"):
        device_of("cuda")
    assert device_of("auto") == torch.device("cpu")


def test_lazy_is_adams() -> None:
    with pytest.raises(ConfigError, match="'dense' for another optimiser"):
        fit(problem(), options(optimiser="sgd"), seed=1, device="cpu", report=silent)


def test_bf16_autocast_trains() -> None:
    trained = problem(AverageEncoder())
    history = fit(trained, options(precision="bf16"), seed=1, device="cpu", report=silent)
    assert np.isfinite(history.best)
    assert trained.encoder.embedding.weight.dtype == torch.float32
