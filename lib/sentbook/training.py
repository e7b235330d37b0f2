"""The one training loop: seeds, batches, dense or lazy updates, checks, best state, checkpoints, resume.

An epoch is cut into ``checks_per_epoch`` segments. The order of an epoch depends on (seed, epoch) alone and the random
numbers of a segment on (seed, epoch, segment) alone, so that a run resumed at a segment's end repeats an uninterrupted
one bit for bit on the CPU.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentbook import checkpoint, optim
from sentbook.config import Training
from sentbook.data.text import bucketed_batches, shuffled_batches
from sentbook.encoders import SentenceEncoder
from sentbook.errors import ConfigError, DeviceError, NumericalError, SentbookError

CHECKPOINT_SECONDS = 60.0


class Problem(Protocol):
    """What is trained, on which examples, and how it is judged."""

    encoder: SentenceEncoder
    lengths: NDArray[np.int64]
    metric: str
    # Checks without a better value after which training stops; None: never.
    patience: int | None

    @property
    def head(self) -> nn.Module | None:
        """What is trained with the encoder and thrown away with it, or None."""

    def loss(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        """The mean loss of the examples ``rows``."""

    def validate(self) -> float:
        """The validation metric; higher is better."""

    def watch(self) -> list[dict[str, Any]]:
        """Further values for the curve at each check, as rows of split, metric and value; nothing is chosen by them."""

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        """(parameter, coefficient, anchor): half the coefficient times the squared distance to the anchor (None: 0)."""


@dataclass
class History:
    """What a training leaves besides its parameters. ``curve`` rows: step (examples seen), split, metric, value.

    ``seconds`` are those of the clock, ``processor_seconds`` this process's own, which other work on the machine moves
    little; both are of training steps alone.
    """

    curve: list[dict[str, Any]] = field(default_factory=list)
    best: float = -math.inf
    best_step: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    examples: int = 0
    peak_memory_bytes: int = 0


def device_of(name: str) -> torch.device:
    """``auto`` (CUDA where there is one), ``cpu`` or ``cuda``.

    Raises:
        DeviceError: CUDA was asked for and there is none.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise DeviceError("No CUDA device is available; set device to 'auto' or 'cpu'.")
    return torch.device("cuda" if name == "cuda" or (name == "auto" and torch.cuda.is_available()) else "cpu")


def peak_memory_bytes() -> int:
    """The largest memory so far: of the CUDA device where one is used, else of this process."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.max_memory_allocated())
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


class Trainer:
    """One training of one `Problem`. Use `fit`; the class holds what a checkpoint must hold."""

    def __init__(self, problem: Problem, settings: Training, *, seed: int, device: torch.device, key: str) -> None:
        self.problem, self.settings, self.seed, self.key = problem, settings, seed, key
        self.modules = nn.ModuleDict({"encoder": problem.encoder})
        if problem.head is not None:
            self.modules["head"] = problem.head
        self.modules.to(device)
        problem.encoder.dropout = settings.dropout
        self.device, self.history, self.next_segment = device, History(), 0
        self.best: dict[str, Tensor] = {}
        words = problem.encoder.embedding
        self.lazy: optim.LazyAdam | None = None
        self.anchor = words.weight.detach().clone() if settings.pull_back_words else None
        if settings.embedding_update == "lazy":
            if settings.optimiser != "adam":
                raise ConfigError("embedding_update 'lazy' is Adam's; set it to 'dense' for another optimiser.")
            self.lazy = optim.LazyAdam(
                words, settings.learning_rate, pull_back=settings.pull_back_words, initial=self.anchor
            )
        else:
            words.lazy = False
            words.weight.requires_grad_(settings.embedding_update == "dense")
        trained = [parameter for parameter in self.modules.parameters() if parameter.requires_grad]
        self.optimiser = optim.dense(settings.optimiser, trained, settings.learning_rate) if trained else None
        self.penalties = [item for item in problem.penalties() if item[1] > 0]
        # What training changes, by its name in the state; frozen word vectors need no second copy.
        still = {name for name, parameter in self.modules.named_parameters() if not parameter.requires_grad}
        if self.lazy is not None:
            still.discard("encoder.embedding.weight")
        self.moving = [name for name in self.modules.state_dict() if name not in still]

    # -- one step ---------------------------------------------------------------------------------------------------

    def _step(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        half = self.settings.precision == "bf16"
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=half):
            loss = self.problem.loss(rows, rng)
        loss.backward()
        if self.optimiser is not None:
            self._regularise()
            if self.settings.clip is not None:
                nn.utils.clip_grad_norm_(self.modules.parameters(), self.settings.clip)
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
        if self.lazy is not None:
            self.lazy.step()
        return loss.detach()

    @torch.no_grad()
    def _regularise(self) -> None:
        """Add the penalties' gradients directly: half lambda times a squared distance has gradient lambda times it."""
        words = self.problem.encoder.embedding.weight
        if words.grad is not None:
            words.grad[0] = 0
            if self.anchor is not None:
                words.grad.add_(words - self.anchor, alpha=self.settings.pull_back_words)
        for parameter, coefficient, anchor in self.penalties:
            if parameter.grad is not None:
                parameter.grad.add_(parameter if anchor is None else parameter - anchor, alpha=coefficient)

    # -- segments ---------------------------------------------------------------------------------------------------

    def _batches(self, epoch: int) -> list[NDArray[np.int64]]:
        rng = np.random.default_rng([self.seed, epoch])
        size, lengths = self.settings.batch_size, self.problem.lengths
        batches = (
            bucketed_batches(lengths, size, rng) if self.settings.bucket else shuffled_batches(len(lengths), size, rng)
        )
        # A batch of one pair has no negative; it joins the one before.
        if len(batches) > 1:
            small = [index for index, rows in enumerate(batches) if len(rows) < 2]
            for index in reversed(small):
                rows = batches.pop(index)
                batches[index - 1] = np.concatenate([batches[index - 1], rows])
        return batches

    def run(
        self, *, folder: Path | None, report: Callable[[str], None], at_end: Callable[[], None] = lambda: None
    ) -> History:
        """Train from ``next_segment`` to the end, call ``at_end``, then put the best state back."""
        settings, history = self.settings, self.history
        checks = settings.checks_per_epoch
        saved = time.monotonic()
        if self._has_stopped_improving():  # before it was interrupted
            return self._finish(at_end)
        for epoch in range(settings.epochs):
            if (epoch + 1) * checks <= self.next_segment:
                continue
            batches = self._batches(epoch)
            cuts = [round(len(batches) * part / checks) for part in range(checks + 1)]
            for segment in range(checks):
                number = epoch * checks + segment
                if number < self.next_segment:
                    continue
                part = batches[cuts[segment] : cuts[segment + 1]]
                if not part:  # fewer batches than checks
                    continue
                started, busy = time.monotonic(), time.process_time()
                loss = self._train_segment(epoch, segment, part)
                history.seconds += time.monotonic() - started
                history.processor_seconds += time.process_time() - busy
                value = self._check(loss)
                self.next_segment = number + 1
                if segment == checks - 1:
                    speed = history.examples / max(history.seconds, 1e-9)
                    report(
                        f"epoch {epoch + 1}/{settings.epochs}  loss {loss:.4f}  {self.problem.metric} {value:.4f}"
                        f"  best {history.best:.4f}  {speed:,.0f} examples/s"
                    )
                if folder is not None and time.monotonic() - saved > CHECKPOINT_SECONDS:
                    self.save(folder)
                    saved = time.monotonic()
                if self._has_stopped_improving():
                    report(f"stopped: no better {self.problem.metric} in {self.problem.patience} checks")
                    return self._finish(at_end)
        return self._finish(at_end)

    def _has_stopped_improving(self) -> bool:
        if self.problem.patience is None:
            return False
        checks = [point["step"] for point in self.history.curve if point["split"] == "validation"]
        return sum(step > self.history.best_step for step in checks) >= self.problem.patience

    def _finish(self, at_end: Callable[[], None]) -> History:
        self.modules.eval()
        at_end()
        if self.settings.keep == "best" and self.best:
            self.modules.load_state_dict(self.best, strict=False)
        self.history.peak_memory_bytes = peak_memory_bytes()
        return self.history

    def _train_segment(self, epoch: int, segment: int, batches: list[NDArray[np.int64]]) -> float:
        rng = np.random.default_rng([self.seed, epoch, segment])
        self.modules.train()
        losses = []
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(int(rng.integers(2**62)))
            for number, rows in enumerate(batches):
                losses.append(self._step(rows, rng))
                self.history.examples += len(rows)
                if number % 100 == 99:  # NaN is caught early without a device synchronisation at each step
                    self._finite(losses[-1], epoch)
        mean = torch.stack(losses).mean()
        self._finite(mean, epoch)
        return float(mean)

    def _finite(self, loss: Tensor, epoch: int) -> None:
        if not torch.isfinite(loss):
            raise NumericalError(
                f"The loss became {float(loss)} in epoch {epoch + 1}; lower the learning rate (now "
                f"{self.settings.learning_rate:g}) or set clip; earlier checkpoints are kept."
            )

    def _check(self, loss: float) -> float:
        history = self.history
        self.modules.eval()
        value = self.problem.validate()
        history.curve += [
            {"step": history.examples, "split": "train", "metric": "loss", "value": loss},
            {"step": history.examples, "split": "validation", "metric": self.problem.metric, "value": value},
            *({"step": history.examples, **row} for row in self.problem.watch()),
        ]
        improved = value > history.best
        if self.optimiser is not None:
            for group in self.optimiser.param_groups:
                group["lr"] = self.settings.rate_after(group["lr"], improved=improved)
        if improved:
            history.best, history.best_step = value, history.examples
            if self.settings.keep == "best":
                state = self.modules.state_dict()
                self.best = {name: state[name].detach().clone() for name in self.moving}
        return value

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        tensors = {f"model.{name}": tensor for name, tensor in self.modules.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        if self.lazy is not None:
            tensors |= self.lazy.state()
        groups: list[Any] = []
        if self.optimiser is not None:
            state = self.optimiser.state_dict()
            groups = state["param_groups"]
            for index, moments in state["state"].items():
                tensors |= {f"optimiser.{index}.{name}": torch.as_tensor(value) for name, value in moments.items()}
        metadata = {"key": self.key, "next_segment": self.next_segment, "history": vars(self.history), "groups": groups}
        checkpoint.save(folder / "checkpoint.safetensors", tensors, metadata)

    def resume(self, folder: Path) -> bool:
        """Take up the checkpoint in ``folder``, if there is one.

        Raises:
            CheckpointError: it is truncated or belongs to another configuration.
        """
        path = folder / "checkpoint.safetensors"
        if not path.exists():
            return False
        tensors, metadata = checkpoint.load(path, self.key)

        def part(prefix: str) -> dict[str, Tensor]:
            return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

        self.modules.load_state_dict(part("model."))
        self.best = {name: value.to(self.device) for name, value in part("best.").items()}
        if self.lazy is not None:
            self.lazy.load(tensors)
        if self.optimiser is not None:
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in part("optimiser.").items():
                index, moment = name.split(".", 1)
                state.setdefault(int(index), {})[moment] = value
            self.optimiser.load_state_dict({"state": state, "param_groups": metadata["groups"]})
        self.history = History(**metadata["history"])
        self.next_segment = metadata["next_segment"]
        return True


def fit(
    problem: Problem,
    settings: Training,
    *,
    seed: int,
    device: str = "auto",
    key: str = "",
    folder: Path | None = None,
    report: Callable[[str], None] = print,
    at_end: Callable[[], None] = lambda: None,
) -> History:
    """Train ``problem``; afterwards its encoder and head hold the best (or last) state, in evaluation mode.

    Args:
        problem: what is trained; see `Problem`.
        settings: epochs, batch size, optimiser and the rest.
        seed: of the order of examples, dropout, scrambling and random negatives.
        device: ``auto``, ``cpu`` or ``cuda``.
        key: names the configuration in checkpoints.
        folder: for ``checkpoint.safetensors``, written at most once a minute and removed by the caller when the
            result is stored; None for no checkpoints.
        report: takes one line an epoch.
        at_end: called once with the last epoch's state, before the best one takes its place.

    Returns:
        Curves, best validation value, seconds of training steps, peak memory.

    Raises:
        NumericalError: the loss is not finite.
        CheckpointError: the checkpoint in ``folder`` cannot be used.
        StorageError: a checkpoint could not be written.
        DeviceError: no such device.
    """
    trainer = Trainer(problem, settings, seed=seed, device=device_of(device), key=key)
    if folder is not None and trainer.resume(folder):
        report(f"resumed after {trainer.history.examples:,} examples")
    try:
        history = trainer.run(folder=folder, report=report, at_end=at_end)
    except KeyboardInterrupt:
        if folder is None:
            raise
        raise SentbookError(
            "Interrupted; run the same command to go on from the last checkpoint: nothing that was finished is lost."
        ) from None
    problem.encoder.embedding.lazy = False
    trainer.modules.eval()
    return history
