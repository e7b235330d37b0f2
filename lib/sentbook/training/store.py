"""The store of what takes long to make: found by its key, or made now, side by side where asked.

A work is stored as ``<artifacts>/<key>/<file>.safetensors``; the key is the digest of everything that decides its
numbers. Files are written whole, and the one that says that all is there is written last, so that a work that was
killed is begun again, or goes on from its checkpoint.
"""

from __future__ import annotations

import datetime
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numpy.typing import NDArray
from torch import Tensor

from sentbook.data import sources
from sentbook.io import SPARING, NumericalError, StorageError, artifacts, git_commit, locked, replacing
from sentbook.records import Cost, CurvePoint
from sentbook.training import checkpoint
from sentbook.training.devices import peak_memory_bytes

Tensors = Mapping[str, Tensor]
Arrays = dict[str, NDArray[Any]]
DIVERGED = "diverged.txt"
# The metadata's name for the key and the sum of the artifact without which another one is not whole.
STANDS_ON = "stands_on"
# Raise when a change to the code changes the numbers of trainings: it is part of their keys.
VERSION = 1


class Work(ABC):
    """Something that is made once and kept under its key.

    It travels to worker processes, so that it holds settings rather than what is made from them.

    Attributes:
        file: name, without its ending, of the file that is written last.
    """

    file: ClassVar[str]

    @property
    @abstractmethod
    def key(self) -> str:
        """Digest everything that decides the numbers; 16 hexadecimal digits."""

    @abstractmethod
    def run(self, folder: Path) -> tuple[dict[str, Tensors], dict[str, Any]]:
        """Make it, with checkpoints in ``folder``; return tensors by file, those of `file` too, and metadata."""

    def needs(self) -> Sequence[Work]:
        """Return the works whose artifacts this one begins with."""
        return ()

    def is_whole(self) -> bool:
        """Tell whether all that its artifact stands on is there and as it was: it may be pruned, or made again."""
        return True

    @property
    def path(self) -> Path:
        """Return where its artifact is, or will be."""
        return artifacts() / self.key / f"{self.file}.safetensors"


@dataclass(frozen=True)
class Artifact:
    """A stored work: its metadata, and its tensors when they are asked for."""

    path: Path
    key: str
    metadata: dict[str, Any]

    def tensors(self, file: str = "") -> dict[str, Tensor]:
        """Read the tensors of the artifact, or of another of its files.

        Raises:
            CheckpointError: the file is missing, truncated or of another configuration.
        """
        return checkpoint.load(self.path.with_stem(file) if file else self.path, self.key)[0]


class Learned:
    """What every training leaves: a curve and a cost, under the name and the seed that tables call it by."""

    method: str
    seed: int
    metadata: dict[str, Any]

    @property
    def label(self) -> str:
        """Return the name of the training in curves and costs."""
        return self.method

    def curve(self) -> list[CurvePoint]:
        """Return the training curve, empty where nothing was trained."""
        history = self.metadata.get("history", {})
        return [CurvePoint(method=self.label, seed=self.seed, **point) for point in history.get("curve", [])]

    def cost(self) -> Cost:
        """Return seconds, memory, parameters and speed, 0 where nothing was trained."""
        history = self.metadata.get("history", {})
        seconds = history.get("seconds", 0.0)
        return Cost(
            method=self.label,
            seed=self.seed,
            seconds=seconds,
            peak_memory_bytes=history.get("peak_memory_bytes", 0),
            parameters=self.metadata.get("parameters", 0),
            examples_per_second=history.get("examples", 0) / seconds if seconds else 0.0,
        )


@dataclass(frozen=True)
class Outcome(Work):
    """The arrays that a function gives for its arguments, under a key that holds all that decides them."""

    digest: str
    function: Callable[..., Arrays]
    arguments: tuple[Any, ...]
    file: ClassVar[str] = "outcome"

    @property
    def key(self) -> str:
        return self.digest

    def run(self, folder: Path) -> tuple[dict[str, Tensors], dict[str, Any]]:
        arrays = self.function(*self.arguments)
        return {self.file: {name: torch.from_numpy(np.asarray(values)) for name, values in arrays.items()}}, {}


def outcomes(
    function: Callable[..., Arrays], arguments: Sequence[tuple[Any, ...]], keys: Sequence[str], jobs: int = 1
) -> list[Arrays]:
    """Return ``function(*arguments)`` of each, in order: found by its key, or made now, ``jobs`` side by side."""
    works = [Outcome(key, function, given) for key, given in zip(keys, arguments, strict=True)]
    made = obtain(works, jobs=jobs)
    return [{name: values.numpy() for name, values in item.tensors().items()} for item in made]


def obtain(works: Sequence[Work], *, jobs: int = 1) -> list[Artifact]:
    """Return the artifact of each work, in order: found by its key, or made now; raises as `make` and `read`."""
    make(works, jobs=jobs)
    return [read(work) for work in works]


def read(work: Work) -> Artifact:
    """Return the artifact of a work that was made.

    Raises:
        CheckpointError: it is missing, truncated or of another configuration.
    """
    return Artifact(work.path, work.key, checkpoint.read_metadata(work.path, work.key))


def is_made(work: Work) -> bool:
    """Tell whether a work has its artifact; one that is not whole is removed."""
    found = checkpoint.is_made(work.path)
    if found and not work.is_whole():
        work.path.unlink()
        return False
    return found


def make(works: Sequence[Work], *, jobs: int = 1, may_diverge: bool = False) -> None:
    """Make every work that has no artifact, after those that it needs, each distinct one once.

    Args:
        jobs: how many are made side by side, each in a process of its own with one thread.
        may_diverge: a work whose loss is not finite is noted beside its artifact, and not tried again, where a search
            tries learning rates that may be too high. What it needs must not diverge.

    Raises:
        SentbookError: as `Work.run`; works that were finished keep their artifacts.
    """
    missing = list({work.key: work for work in works if not is_made(work)}.values())
    if may_diverge:
        missing = [work for work in missing if not work.path.with_name(DIVERGED).exists()]
    if needed := [need for work in missing for need in work.needs()]:
        make(needed, jobs=jobs)
    if jobs == 1 or len(missing) == 1:
        for work in missing:
            _make(work, 1 if jobs > 1 else None, may_diverge)  # alone or beside others, to the same bits
    elif missing:
        try:
            Parallel(n_jobs=jobs, batch_size=1)(delayed(_make)(work, 1, may_diverge) for work in missing)
        except TerminatedWorkerError:
            raise StorageError(f"A training was killed, most often for want of memory; {SPARING}.") from None


def _make(work: Work, threads: int | None, may_diverge: bool) -> None:
    if threads is not None:
        torch.set_num_threads(threads)
    with locked(work.path.parent):  # another notebook may want the same
        if work.path.exists():
            return
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        clock = time.monotonic()
        try:
            files, about = work.run(work.path.parent)
        except NumericalError as error:
            if not may_diverge:
                raise
            with replacing(work.path.with_name(DIVERGED)) as temporary:
                temporary.write_text(f"{error}\n", encoding="utf-8")
            return
        measured = {
            "started": started,
            "wall_seconds": time.monotonic() - clock,
            "peak_memory_bytes": peak_memory_bytes(),
            "git_commit": git_commit(),
            "data": _data(work.needs()) | sources.used(),
            "version": VERSION,
        }
        _write(work, files, measured | about)


def _data(needs: Sequence[Work]) -> dict[str, str]:
    """Return the digests of the data that earlier works were made from."""
    return {name: value for need in needs for name, value in read(need).metadata.get("data", {}).items()}


def _write(work: Work, files: Mapping[str, Tensors], metadata: dict[str, Any]) -> None:
    key = {"key": work.key}
    for name, tensors in files.items():
        if name != work.file:
            checkpoint.save(work.path.with_stem(name), tensors, key)
    checkpoint.save(work.path, files[work.file], key | metadata)
    work.path.with_name(checkpoint.IN_PROGRESS).unlink(missing_ok=True)
