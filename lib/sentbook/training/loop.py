"""The one training loop: seeds, batches, dense or lazy updates, checks, best state, checkpoints, resume.

An epoch is cut into ``checks_per_epoch`` segments. The order of an epoch depends on (seed, epoch) alone and the random
numbers of a segment on (seed, epoch, segment) alone; a checkpoint inside a segment holds the states of the generators.
So a resumed run repeats an uninterrupted one bit for bit on one thread of a CPU.

Under `torchrun` the processes train one model, see `distributed`. Each has parameters, optimiser and history of its
own, which stay equal: gradients are averaged over the processes, and the first one's validation value decides.
"""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sentbook.data.text import bucketed_batches, shuffled_batches
from sentbook.io import CheckpointError, ConfigError, DamagedCheckpointError, NumericalError, SentbookError
from sentbook.training import checkpoint, distributed, optim
from sentbook.training.devices import count_memory_anew, device_of, memory_kept, peak_memory_bytes, tensor_cores
from sentbook.training.problem import DivisibleProblem, Problem, Rows
from sentbook.training.settings import Training
from sentbook.training.state import Midway, load_optimiser, optimiser_tensors, part

CHECKPOINT_SECONDS = 60.0
# A checkpoint that takes long to write is written the more rarely: twenty times as long lies between two.
_SPARED = 20.0
# Between two lines of progress lie so many seconds, or a twentieth of the time since the training began.
PROGRESS_SECONDS = 30.0
_WORDS = "encoder.embedding.weight"


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


class _LossOfPart(nn.Module):
    """The loss of a part of a batch as a module, as torch wants it: what is trained, called to give the loss."""

    def __init__(self, problem: DivisibleProblem, modules: nn.Module) -> None:
        super().__init__()
        self.problem, self.trained = problem, modules  # torch finds parameters among the attributes

    def forward(self, rows: Rows, rng: np.random.Generator, whole: Rows) -> Tensor:
        """Return the share that ``rows`` have of the mean loss over ``whole``."""
        return self.problem.loss(rows, rng, whole)


def _without_averaging(module: nn.Module) -> AbstractContextManager[None]:
    """Keep gradients to this process, until a later part of the batch brings them to all."""
    return module.no_sync() if isinstance(module, DistributedDataParallel) else nullcontext()


class Trainer:
    """One training of one `Problem`. Use `fit`; the class holds what a checkpoint must hold.

    Raises:
        ConfigError: the settings do not go together with each other, with the problem or with several processes.
    """

    def __init__(self, problem: Problem, settings: Training, *, seed: int, device: torch.device, key: str) -> None:
        self.problem, self.settings, self.seed, self.key = problem, settings, seed, key
        distributed.join(device.type)
        self.parts: int = getattr(settings, "accumulate", 1)
        if distributed.size() > 1 and settings.embedding_update == "lazy":
            raise ConfigError("embedding_update 'lazy' is for one process; set it to 'dense' with torchrun.")
        self.modules = nn.ModuleDict({"encoder": problem.encoder})
        if problem.head is not None:
            self.modules["head"] = problem.head
        self.modules.to(device)
        problem.encoder.dropout = settings.dropout
        self.device, self.history, self.next_segment = device, History(), 0
        self.midway: Midway | None = None
        self.saved, self.saving = time.monotonic(), 0.0
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
        self.trained = [parameter for parameter in self.modules.parameters() if parameter.requires_grad]
        in_one_pass = settings.optimiser == "adam" and (settings.fused or device.type == "cuda")
        fused = {"fused": True} if in_one_pass else {}
        self.optimiser = optim.dense(settings.optimiser, self._groups(), **fused) if self.trained else None
        self.penalties = [item for item in problem.penalties() if item[1] > 0]
        # What training changes, by its name in the state; frozen word vectors need no second copy.
        still = {name for name, parameter in self.modules.named_parameters() if not parameter.requires_grad}
        if self.lazy is not None:
            still.discard(_WORDS)
        self.moving = [name for name in self.modules.state_dict() if name not in still]
        self.divided = self._divided() if self.parts > 1 or distributed.size() > 1 else None

    def _groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """Return what is trained by its learning rate: the composition of words may have one of its own."""
        own, rate = self.settings.composition_rate, self.settings.learning_rate
        if own is None:
            return [(self.trained, rate)]
        composition = {id(parameter) for parameter in self.problem.encoder.composition()}
        inside = [parameter for parameter in self.trained if id(parameter) in composition]
        return [([parameter for parameter in self.trained if id(parameter) not in composition], rate), (inside, own)]

    # -- one step ---------------------------------------------------------------------------------------------------

    def _step(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        loss = self._gradients(rows, rng)
        if self.optimiser is not None:
            self._regularise()
            if self.settings.clip is not None:
                nn.utils.clip_grad_norm_(self.modules.parameters(), self.settings.clip)
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
        if self.lazy is not None:
            self.lazy.step()
        return loss

    def _divided(self) -> nn.Module:
        """Return the loss of a part of a batch as a module, which averages gradients over several processes."""
        if not isinstance(self.problem, DivisibleProblem):
            raise ConfigError(
                f"A batch of {type(self.problem).__name__} cannot be cut into parts; set accumulate to 1 where there "
                "is such a setting, and start one process, without torchrun."
            )
        loss = _LossOfPart(self.problem, self.modules)
        return DistributedDataParallel(loss) if distributed.size() > 1 else loss

    def _gradients(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        """Leave the gradients of the mean loss of ``rows``, and return it: parts and processes add up to the whole."""
        if self.divided is None:
            with self._autocast():
                loss = self.problem.loss(rows, rng)
            loss.backward()
            return loss.detach()
        size, divided = distributed.size(), self.divided
        # Every size-th example, so that all have about as much to do where a batch is sorted by length.
        own = rows[distributed.rank() :: size]
        weight = size if len(own) else 0  # a process without an example must take part with some
        pieces = [piece for piece in np.array_split(own, self.parts) if len(piece)] or [rows[:1]]
        words = self.problem.encoder.embedding.weight
        total = torch.zeros((), dtype=words.dtype, device=words.device)
        with distributed.told():
            for piece in pieces:
                with nullcontext() if piece is pieces[-1] else _without_averaging(divided):
                    with self._autocast():
                        share = divided(piece, rng, rows)
                    (share * weight).backward()
                total += share.detach() * weight / size
        return distributed.add_up(total)

    def _autocast(self) -> torch.autocast:
        half = self.settings.precision == "bf16"
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=half)

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

    def _batches(self, epoch: int) -> list[Rows]:
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
        self.saved = self.began = self.told = time.monotonic()
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
                wanted = batches[cuts[segment] : cuts[segment + 1]]
                if not wanted:  # fewer batches than checks
                    continue
                self.next_segment = number
                loss = self._train_segment(epoch, segment, wanted, folder, report)
                value = self._check(loss)
                self.next_segment = number + 1
                if folder is not None and getattr(settings, "keep_checks", False) and distributed.is_first():
                    checkpoint.save(folder / f"check-{number + 1}.safetensors", self._encoder(), {"key": self.key})
                if segment == checks - 1:
                    speed = history.examples / max(history.seconds, 1e-9)
                    report(
                        f"epoch {epoch + 1}/{settings.epochs}  loss {loss:.4f}  {self.problem.metric} {value:.4f}"
                        f"  best {history.best:.4f}  {speed:,.0f} examples/s"
                    )
                if folder is not None and self._is_due():
                    self.save(folder)
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

    def _is_due(self) -> bool:
        return distributed.is_first() and time.monotonic() - self.saved > CHECKPOINT_SECONDS + _SPARED * self.saving

    def _tell(self, epoch: int, losses: Tensor, since: float, report: Callable[[str], None]) -> None:
        """Report how far a long epoch is: by time, since it may take days."""
        now, done, settings = time.monotonic(), self.history.examples, self.settings
        if now - self.told < max(PROGRESS_SECONDS, (now - self.began) / 20):
            return
        self.told, speed = now, done / (self.history.seconds + now - since)
        whole = settings.epochs * len(self.problem.lengths)
        left = datetime.timedelta(seconds=round((whole - done) / speed))
        report(
            f"epoch {epoch + 1}/{settings.epochs}  loss {float(losses.mean()):.4f}  {done:,} of {whole:,} examples"
            f"  {speed:,.0f} examples/s  at most {left} left"
        )

    def _train_segment(
        self, epoch: int, segment: int, batches: list[Rows], folder: Path | None, report: Callable[[str], None]
    ) -> float:
        """The mean loss of the steps over ``batches``, those before a checkpoint inside the segment included."""
        place, words = [self.seed, epoch, segment], self.problem.encoder.embedding.weight
        rng, first = np.random.default_rng(place), 0
        losses = torch.zeros(len(batches), dtype=words.dtype, device=words.device)
        self.modules.train()
        clock = self._clock()
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), tensor_cores(self.device), memory_kept(self.device):
            torch.manual_seed(int(rng.integers(2**62)))
            if self.midway is not None:
                first = self.midway.batch
                losses[:first] = self.midway.losses
                self.midway.restore(rng, self.device)
                self.midway = None
            for number, rows in enumerate(batches[first:], start=first):
                if distributed.size() > 1:  # numbers of its own for each process, which no checkpoint need hold
                    rng = np.random.default_rng([*place, number, distributed.rank()])
                    torch.manual_seed(int(rng.integers(2**62)))
                loss = losses[number] = self._step(rows, rng)
                self.history.examples += len(rows)
                self._tell(epoch, losses[: number + 1], clock[0], report)
                if number % 100 == 99:  # NaN is caught early without a device synchronisation at each step
                    self._finite(loss, epoch)
                if folder is not None and self._is_due():
                    self._finite(loss, epoch)
                    self._count(clock)
                    self.midway = Midway.now(number + 1, losses[: number + 1], rng, self.device)
                    self.save(folder)
                    self.midway, clock = None, self._clock()
        mean = losses.mean()
        self._finite(mean, epoch)
        self._count(clock)
        return float(mean)

    @staticmethod
    def _clock() -> tuple[float, float]:
        return time.monotonic(), time.process_time()

    def _count(self, since: tuple[float, float]) -> None:
        wall, busy = self._clock()
        self.history.seconds += wall - since[0]
        self.history.processor_seconds += busy - since[1]

    def _finite(self, loss: Tensor, epoch: int) -> None:
        if not torch.isfinite(loss):
            raise NumericalError(
                f"The loss became {float(loss)} in epoch {epoch + 1}; lower the learning rate (now "
                f"{self.settings.learning_rate:g}) or set clip; earlier checkpoints are kept."
            )

    def _check(self, loss: float) -> float:
        history = self.history
        self.modules.eval()
        # All judge, for the curve's further values and no one waits longer; the first one's value is what counts.
        value = distributed.broadcast(self.problem.validate())
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

    def _encoder(self) -> dict[str, Tensor]:
        """What training moves of the encoder, by its names there."""
        state = self.modules.state_dict()
        return {name.removeprefix("encoder."): state[name] for name in self.moving if name.startswith("encoder.")}

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write all that the rest of the training depends on and that it has moved: of lazy words, touched rows.

        Raises:
            StorageError: no space or a read-only folder; an earlier checkpoint is intact.
        """
        began, state = time.monotonic(), self.modules.state_dict()
        tensors = {f"model.{name}": state[name] for name in self.moving}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        if self.lazy is not None:
            tensors |= self.lazy.state()
            for name in {f"model.{_WORDS}", f"best.{_WORDS}"} & tensors.keys():
                tensors[name] = tensors[name][self.lazy.touched]
        groups: list[Any] = []
        if self.optimiser is not None:
            groups = self.optimiser.state_dict()["param_groups"]
            tensors |= optimiser_tensors(self.optimiser)
        metadata = {"key": self.key, "next_segment": self.next_segment, "history": vars(self.history), "groups": groups}
        if self.midway is not None:
            tensors |= self.midway.tensors()
            metadata["midway"] = self.midway.metadata()
        checkpoint.save(folder / checkpoint.IN_PROGRESS, tensors, metadata)
        self.saved = time.monotonic()
        self.saving = self.saved - began

    def resume(self, folder: Path, report: Callable[[str], None] = print) -> bool:
        """Take up the checkpoint in ``folder``, if there is one.

        A damaged one is set aside, since a training that begins again ends the same: files are written whole, so that
        it takes a fault of the disk to damage one.

        Raises:
            CheckpointError: it belongs to another configuration, or not all processes see the same one.
        """
        path = folder / checkpoint.IN_PROGRESS
        found = path.exists()
        if found:
            try:
                tensors, metadata = checkpoint.load(path, self.key)
                if self.lazy is not None and optim.TOUCHED not in tensors:
                    raise DamagedCheckpointError(f"{path} was written by an earlier version.")
            except DamagedCheckpointError:
                found = False
                if distributed.is_first():
                    aside = path.with_name("damaged.safetensors")
                    path.replace(aside)
                    report(f"the checkpoint is damaged; it is now {aside}, and the training begins again")
        if found:
            if self.lazy is not None:
                self.lazy.load(tensors)
                words = self.problem.encoder.embedding.weight.detach()  # as it began: other rows have not moved
                for name in {f"model.{_WORDS}", f"best.{_WORDS}"} & tensors.keys():
                    tensors[name] = words.index_put((self.lazy.touched,), tensors[name].to(self.device))
            self.modules.load_state_dict(self.modules.state_dict() | part(tensors, "model."))
            self.best = {name: value.to(self.device) for name, value in part(tensors, "best.").items()}
            if self.optimiser is not None:
                load_optimiser(self.optimiser, tensors, metadata["groups"])
            self.history = History(**metadata["history"])
            self.next_segment = metadata["next_segment"]
            self.midway = Midway.read(tensors, metadata.get("midway"))
        if distributed.broadcast(self.history.examples) != self.history.examples:
            raise CheckpointError(
                "Not all processes find the same checkpoint; set SENTBOOK_ARTIFACTS to a folder that all machines see."
            )
        return found


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
        folder: for ``checkpoint.safetensors``, written at most once a minute, inside epochs too, and removed by the
            caller when the result is stored; None for no checkpoints.
        report: takes one line an epoch, and more where one is long, in the first process.
        at_end: called once with the last epoch's state, before the best one takes its place.

    Returns:
        Curves, best validation value, seconds of training steps, peak memory.

    Raises:
        NumericalError: the loss is not finite.
        CheckpointError: the checkpoint in ``folder`` cannot be used.
        StorageError: a checkpoint could not be written.
        DeviceError: no such device.
        ConfigError: as `Trainer`.
        SentbookError: it was interrupted, or another process of it ended.
    """
    trainer = Trainer(problem, settings, seed=seed, device=device_of(device), key=key)
    if not distributed.is_first():
        report = silent
    if (processes := distributed.size()) > 1:
        each = settings.batch_size / processes
        report(
            f"{processes} processes share a batch of {settings.batch_size}, {each:g} each; raise batch_size for more"
        )
    count_memory_anew(trainer.device)
    try:
        if folder is not None and trainer.resume(folder, report):
            report(f"resumed after {trainer.history.examples:,} examples")
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


def progress(name: str) -> Callable[[str], None]:
    """Return a report that prints each line behind the name of its training."""
    return lambda line: print(f"[{name}] {line}", flush=True)


def silent(line: str) -> None:
    """Report nothing, as the other processes do."""
