"""The one training loop: batches, loss, backward, clip, step; checks, the best state, checkpoints; Adam of words.

An epoch is cut into ``checks_per_epoch`` segments, each followed by a check. The order of an epoch depends on (seed,
epoch) alone and the random numbers of a segment on (seed, epoch, segment) alone: a training that is resumed at a check
repeats an uninterrupted one bit for bit on one thread of a CPU.
"""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sentbook.data.text import PADDING, bucketed_batches, shuffled_batches
from sentbook.io import ConfigError, NumericalError
from sentbook.models.base import WordEmbedding, to_device
from sentbook.training import checkpoint
from sentbook.training.devices import device_of, peak_memory_bytes, tensor_cores
from sentbook.training.objectives import Batch, Objective
from sentbook.training.objectives.base import Penalty, Rows

CHECKPOINT_SECONDS = 60.0
# Between two lines of progress lie so many seconds, or a twentieth of the time since the training began.
PROGRESS_SECONDS = 30.0
# Streams of random numbers of an epoch: the order of its examples, and the steps of its segments.
_ORDER, _STEPS = 1, 2
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

    def checks_since_best(self) -> int:
        """Count the checks that gave no better value than one before."""
        return sum(point["split"] == "validation" and point["step"] > self.best_step for point in self.curve)


def train(
    objective: Objective,
    *,
    seed: int,
    device: str = "auto",
    key: str = "",
    folder: Path | None = None,
    report: Callable[[str], None] = print,
    at_end: Callable[[], None] = lambda: None,
) -> History:
    """Train ``objective``; afterwards its encoder and head hold the best (or last) state, in evaluation mode.

    Args:
        objective: bound to an encoder and data, see `Objective`; it says how long, in which batches and by what rate.
        seed: of the order of examples, dropout, scrambling and random negatives.
        device: ``auto``, ``cpu`` or ``cuda``.
        key: names the configuration in checkpoints.
        folder: for ``checkpoint.safetensors``, written at checks, once a minute at most, and removed by the caller when
            the result is stored; None for no checkpoints.
        report: takes one line an epoch, and more where one is long.
        at_end: called once with the last epoch's state, before the best one takes its place.

    Returns:
        Curves, best validation value, seconds of training steps, peak memory.

    Raises:
        NumericalError: the loss is not finite.
        ConfigError: lazy updates are asked of another optimiser than Adam.
        SentbookError: there is no such device, or a checkpoint cannot be written or belongs to another ``key``.
    """
    hardware, checks = device_of(device), objective.checks_per_epoch
    if hardware.type == "cuda":
        torch.cuda.reset_peak_memory_stats(hardware)
    state = _State(objective, hardware)
    if folder is not None and state.resume(folder / checkpoint.IN_PROGRESS, key):
        report(f"resumed after {state.history.examples:,} examples")
    modules, optimisers, history = state.modules, state.optimisers, state.history
    embedding = objective.encoder.embedding
    began = told = saved = time.monotonic()
    for check, batches in segments(objective, seed, first=state.check):
        if objective.patience is not None and history.checks_since_best() >= objective.patience:
            report(f"stopped: no better {objective.metric} in {objective.patience} checks")
            break
        epoch, segment = divmod(check, checks)
        rng = np.random.default_rng([seed, epoch, _STEPS, segment])
        losses = embedding.weight.new_zeros(len(batches))
        modules.train()
        clock, processor = time.monotonic(), time.process_time()
        with torch.random.fork_rng(devices=[hardware] if hardware.type == "cuda" else []), tensor_cores(hardware):
            torch.manual_seed(int(rng.integers(2**62)))
            for step, (distinct, batch) in enumerate(prepared(objective, batches, rng)):
                embedding.gather(distinct)
                with torch.autocast(hardware.type, torch.bfloat16, enabled=objective.precision == "bf16"):
                    loss = objective.compute_loss(batch)
                loss.backward()
                penalise(embedding, objective.pull_back_words, state.initial, state.penalties)
                if objective.clip is not None:
                    clip(modules, embedding, objective.clip)
                for optimiser in optimisers:
                    optimiser.step()
                modules.zero_grad(set_to_none=True)
                losses[step] = loss.detach()
                history.examples += len(batches[step])
                if step % 100 == 99:  # NaN is caught early without a device synchronisation at each step
                    _require_finite(losses[step], epoch, objective)
                now = time.monotonic()
                if now - told > max(PROGRESS_SECONDS, (now - began) / 20):
                    told, speed = now, history.examples / (history.seconds + now - clock)
                    whole = objective.epochs * len(objective.lengths)
                    left = datetime.timedelta(seconds=round((whole - history.examples) / speed))
                    report(
                        f"epoch {epoch + 1}/{objective.epochs}  loss {float(losses[: step + 1].mean()):.4f}  "
                        f"{history.examples:,} of {whole:,} examples  {speed:,.0f} examples/s  at most {left} left"
                    )
        mean = _require_finite(losses.mean(), epoch, objective)
        history.seconds += time.monotonic() - clock
        history.processor_seconds += time.process_time() - processor
        embedding.release()
        modules.eval()
        value = objective.judge()
        history.curve += [
            {"step": history.examples, "split": "train", "metric": "loss", "value": mean},
            {"step": history.examples, "split": "validation", "metric": objective.metric, "value": value},
            *({"step": history.examples, **row} for row in objective.watched()),
        ]
        improved = value > history.best
        for group in (group for optimiser in optimisers for group in optimiser.param_groups):
            group["lr"] = objective.rate_after(group["lr"], improved=improved)
        if improved:
            history.best, history.best_step = value, history.examples
        if improved and objective.keep == "best":
            state.remember()
        state.check = check + 1
        if folder is not None and objective.keep_checks:
            encoder = _part(state.moved(), "encoder.")
            checkpoint.save(folder / f"check-{state.check}.safetensors", encoder, {"key": key})
        if folder is not None and time.monotonic() - saved > CHECKPOINT_SECONDS:
            state.save(folder / checkpoint.IN_PROGRESS, key)
            saved = time.monotonic()
        if history.examples == (epoch + 1) * len(objective.lengths):  # the last segments of a short epoch are empty
            speed = history.examples / max(history.seconds, 1e-9)
            report(
                f"epoch {epoch + 1}/{objective.epochs}  loss {mean:.4f}  {objective.metric} {value:.4f}"
                f"  best {history.best:.4f}  {speed:,.0f} examples/s"
            )
    modules.eval()
    at_end()
    modules.load_state_dict(state.best, strict=False)
    embedding.lazy = False
    history.peak_memory_bytes = peak_memory_bytes()
    return history


def segments(objective: Objective, seed: int, first: int = 0) -> Iterator[tuple[int, list[Rows]]]:
    """Yield the number of each check from ``first`` on, and its batches; a check without one is left out."""
    checks, size, lengths = objective.checks_per_epoch, objective.batch_size, objective.lengths
    for epoch in range(first // checks, objective.epochs):
        rng = np.random.default_rng([seed, epoch, _ORDER])
        batches = (
            bucketed_batches(lengths, size, rng) if objective.bucket else shuffled_batches(len(lengths), size, rng)
        )
        # A batch of one pair has no negative; it joins the one before.
        for index in reversed([index for index, rows in enumerate(batches) if len(rows) < 2 and len(batches) > 1]):
            rows = batches.pop(index)
            batches[index - 1] = np.concatenate([batches[index - 1], rows])
        cuts = [round(len(batches) * part / checks) for part in range(checks + 1)]
        for segment in range(checks):
            if cuts[segment] < cuts[segment + 1] and epoch * checks + segment >= first:
                yield epoch * checks + segment, batches[cuts[segment] : cuts[segment + 1]]


def prepared(objective: Objective, batches: list[Rows], rng: np.random.Generator) -> Iterator[tuple[Tensor, Batch]]:
    """Yield the distinct words of each batch, sorted, padding first, and the batch itself; both on the device.

    For a GPU a thread gathers and copies each during the step before it.
    """
    weight = objective.encoder.embedding.weight

    def made(rows: Rows) -> tuple[Tensor, Batch]:
        batch = objective.batch(rows, rng)
        words = np.unique(np.concatenate([[PADDING], *(sentences.ids.ravel() for sentences in batch.sentences)]))
        return to_device(torch.from_numpy(words), weight.device), objective.to_device(batch)

    if not weight.is_cuda:  # a CPU would only lose time by turns
        yield from map(made, batches)
        return
    with ThreadPoolExecutor(1) as worker:
        coming = worker.submit(made, batches[0])
        for rows in batches[1:]:
            found, coming = coming.result(), worker.submit(made, rows)
            yield found
        yield coming.result()


def _require_finite(loss: Tensor, epoch: int, objective: Objective) -> float:
    if not math.isfinite(value := float(loss)):
        raise NumericalError(
            f"The loss became {value} in epoch {epoch + 1}; lower the learning rate (now {objective.learning_rate:g}) "
            "or set clip; earlier checkpoints are kept."
        )
    return value


class _State:
    """All that the rest of a training depends on: parameters, moments, the history, the best parameters so far.

    Attributes:
        penalties, initial: see `penalise`; the initial word vectors, where they are pulled back to them.
        check: number of the next check.
        best: what training moves, as it was at the best check; empty where the last state is kept.
    """

    def __init__(self, objective: Objective, device: torch.device) -> None:
        self.modules = nn.ModuleDict({"encoder": objective.encoder, "head": objective.head}).to(device)
        objective.encoder.dropout = objective.dropout
        self.optimisers = optimisers(objective, self.modules.parameters())
        self.lazy = next((one for one in self.optimisers if isinstance(one, LazyAdam)), None)
        frozen = objective.embedding_update == "frozen"
        # Frozen word vectors need no second copy.
        self.moving = [name for name in self.modules.state_dict() if not (frozen and name == _WORDS)]
        self.penalties = [item for item in objective.penalties() if item[1] > 0]
        pulled = objective.pull_back_words and not frozen
        self.initial = objective.encoder.embedding.weight.detach().clone() if pulled else None
        self.best: dict[str, Tensor] = {}
        self.history, self.check = History(), 0

    def moved(self) -> dict[str, Tensor]:
        """Return what training moves, by its name in the state of the modules."""
        state = self.modules.state_dict()
        return {name: state[name] for name in self.moving}

    def remember(self) -> None:
        """Keep a copy of the present state as the best; of lazy words only rows that were touched can have changed."""
        for name, value in self.moved().items():
            rows = self.lazy.touched if self.lazy is not None and name == _WORDS else ...
            if name in self.best:
                self.best[name][rows] = value[rows]
            else:
                self.best[name] = value.clone()

    def save(self, path: Path, key: str) -> None:
        """Write a checkpoint, of lazy words the rows that were touched.

        Raises:
            StorageError: no space or a read-only folder; an earlier checkpoint is intact.
        """
        tensors = {f"model.{name}": value for name, value in self.moved().items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        if self.lazy is not None:
            for name in {f"model.{_WORDS}", f"best.{_WORDS}"} & tensors.keys():
                tensors[name] = tensors[name][self.lazy.touched]
        states = [optimiser.state_dict() for optimiser in self.optimisers]
        for index, state in enumerate(states):
            for number, moments in state["state"].items():
                tensors |= {f"optimiser.{index}.{number}.{name}": value for name, value in moments.items()}
        groups = [state["param_groups"] for state in states]
        checkpoint.save(
            path, tensors, {"key": key, "check": self.check, "history": vars(self.history), "groups": groups}
        )

    def resume(self, path: Path, key: str) -> bool:
        """Take up a checkpoint where there is one.

        Raises:
            CheckpointError: it is truncated or belongs to another configuration.
        """
        if not path.exists():
            return False
        tensors, metadata = checkpoint.load(path, key)
        for index, (optimiser, groups) in enumerate(zip(self.optimisers, metadata["groups"], strict=True)):
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in _part(tensors, f"optimiser.{index}.").items():
                number, moment = name.split(".")
                state.setdefault(int(number), {})[moment] = value
            optimiser.load_state_dict({"state": state, "param_groups": groups})
        if self.lazy is not None:
            table = self.modules.state_dict()[_WORDS]  # as it began: rows that were not touched have not moved
            for name in {f"model.{_WORDS}", f"best.{_WORDS}"} & tensors.keys():
                tensors[name] = table.index_put((self.lazy.touched,), tensors[name].to(table.device))
        self.modules.load_state_dict(_part(tensors, "model."), strict=False)
        device = next(self.modules.parameters()).device
        self.best = {name: value.to(device) for name, value in _part(tensors, "best.").items()}
        self.history, self.check = History(**metadata["history"]), metadata["check"]
        return True


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def progress(name: str) -> Callable[[str], None]:
    """Return a report that prints each line behind the name of its training."""
    return lambda line: print(f"[{name}] {line}", flush=True)


def silent(line: str) -> None:
    """Report nothing."""


# -- what updates parameters -------------------------------------------------------------------------------------------


def optimisers(objective: Objective, parameters: Iterable[nn.Parameter]) -> list[torch.optim.Optimizer | LazyAdam]:
    """Make what updates ``parameters``, by torch's defaults (Adam: .9, .999, 1e-8).

    The encoder's composition may have a learning rate of its own. Lazy words are `LazyAdam`'s.

    Raises:
        ConfigError: lazy updates are asked of another optimiser than Adam.
    """
    words, rate, found = objective.encoder.embedding, objective.learning_rate, list[torch.optim.Optimizer | LazyAdam]()
    words.lazy = objective.embedding_update == "lazy"
    words.weight.requires_grad_(objective.embedding_update == "dense")
    own = {id(one) for one in objective.encoder.composition()} if objective.composition_rate else set()
    trained = [one for one in parameters if one.requires_grad]
    groups = [
        {"params": [one for one in trained if (id(one) in own) == inside], "lr": lr}
        for inside, lr in ((False, rate), (True, objective.composition_rate))
    ]
    groups = [group for group in groups if group["params"]]
    if groups and objective.optimiser == "sgd":
        found.append(torch.optim.SGD(groups))
    elif groups:  # in one pass over a parameter in place of ten, on CUDA and where asked; it rounds otherwise
        found.append(torch.optim.Adam(groups, fused=True if objective.fused or words.weight.is_cuda else None))
    if words.lazy:
        if objective.optimiser != "adam":
            raise ConfigError("embedding_update 'lazy' is Adam's; set it to 'dense' for another optimiser.")
        found.append(LazyAdam(words, rate))
    return found


@torch.no_grad()
def penalise(words: WordEmbedding, pull_back: float, initial: Tensor | None, penalties: Iterable[Penalty]) -> None:
    """Add the gradients of penalties, half a coefficient times a squared distance, and none of padding.

    Args:
        pull_back: coefficient of the distance of the word vectors to the ``initial`` ones, in a lazy step of its words.
    """
    table = words.weight if words.rows is None else words.rows
    if table.grad is not None:
        table.grad[0] = 0
        if initial is not None:
            before = initial if words.rows is None or words.words is None else initial.index_select(0, words.words)
            table.grad.add_(table - before, alpha=pull_back)
    for parameter, coefficient, anchor in penalties:
        if parameter.grad is not None:
            parameter.grad.add_(parameter if anchor is None else parameter - anchor, alpha=coefficient)


def clip(modules: nn.Module, words: WordEmbedding, largest: float) -> None:
    """Scale all gradients, those of a lazy step's words included, so that their norm is at most ``largest``."""
    rows = [] if words.rows is None else [words.rows]
    nn.utils.clip_grad_norm_([*modules.parameters(), *rows], largest)


class LazyAdam:
    r"""Adam over the rows of a word-embedding table that a batch touches.

    For a touched row with gradient $g_t$: $m = \beta_1 m + (1-\beta_1) g_t$, $v = \beta_2 v + (1-\beta_2) g_t^2$,
    $W \mathrel{-}= \eta\, \hat m / (\sqrt{\hat v} + \epsilon)$, with the bias corrections of the global step t.
    Untouched rows and their moments stay as they are, whereas dense Adam goes on moving them by the decaying momentum;
    the pull-back $\lambda (W - W_0)$ of `penalise` likewise acts on a row only when it is touched.
    Cost: O(touched rows x D), not O(V D).

    Attributes:
        touched: (V,) whether a row was ever updated; all other rows are as they began.

    Args:
        embedding: the table; its `lazy` flag is set, so that `WordEmbedding.gather` begins a step.
        learning_rate: $\eta$; $\beta_1 = .9$, $\beta_2 = .999$, $\epsilon = 10^{-8}$.

    Source: Kingma and Ba 2015, algorithm 1; the sparse semantics of `LazyAdam` and torch's `SparseAdam`.
    """

    def __init__(self, embedding: WordEmbedding, learning_rate: float) -> None:
        embedding.lazy = True
        embedding.weight.requires_grad_(False)
        # As torch's optimisers have it; what these wrap around `step` would take as long as the step.
        self.param_groups = [{"lr": learning_rate}]
        self.embedding, self.steps = embedding, 0
        self.first, self.second = torch.zeros_like(embedding.weight), torch.zeros_like(embedding.weight)
        self.touched = torch.zeros(len(embedding.weight), dtype=torch.bool, device=embedding.weight.device)

    @torch.no_grad()
    def step(self) -> None:
        """Update the rows of the present step; padding, whose gradient is 0, does not move."""
        self.steps += 1
        rate = self.param_groups[0]["lr"] / (1 - 0.9**self.steps)
        correction = (1 - 0.999**self.steps) ** 0.5
        words, rows = self.embedding.words, self.embedding.rows
        assert words is not None and rows is not None, "no words were gathered"
        if (gradient := rows.grad) is None:
            return
        self.touched.index_fill_(0, words, True)
        moment = self.first.index_select(0, words).lerp_(gradient, 1 - 0.9)
        square = self.second.index_select(0, words).mul_(0.999).addcmul_(gradient, gradient, value=1 - 0.999)
        self.first.index_copy_(0, words, moment)
        self.second.index_copy_(0, words, square)
        change = square.sqrt_().div_(correction).add_(1e-8)
        self.embedding.weight.data.index_copy_(0, words, rows - moment.mul_(rate).div_(change))

    def state_dict(self) -> dict[str, Any]:
        """Return the count of steps, the rows touched and their moments, as torch's optimisers have it."""
        moments = {"first": self.first[self.touched], "second": self.second[self.touched]}
        state = {0: {**moments, "touched": self.touched, "step": torch.tensor(self.steps)}}
        return {"state": state, "param_groups": self.param_groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up a state; rows that it had not touched keep the moments of a beginning, zero."""
        self.param_groups, state = state_dict["param_groups"], state_dict["state"][0]
        self.touched.copy_(state["touched"])
        self.first[self.touched] = state["first"].to(self.first.device)
        self.second[self.touched] = state["second"].to(self.second.device)
        self.steps = int(state["step"])
