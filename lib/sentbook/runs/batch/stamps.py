"""One job of the batch, seen from inside the process that does it: what it leaves, and when it has to stop.

    build/batch/<profile>/<level>/<name>.json        the stamp: it ended well, and what it was made from
                                  <name>.state.json  how far it is: running, done, failed, stopped; seconds, memory
                                  <name>.log         what it said

A command notes itself whether the batch or a person began it, so that a notebook run by hand is not run again.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import psutil

from sentbook.system.errors import SentbookError
from sentbook.system.files import write_atomically
from sentbook.system.paths import root

Level = Literal["data", "vectors", "encoders", "notebooks", "verdicts", "book"]
LEVELS: tuple[Level, ...] = get_args(Level)
# The batch that began this process: its machine, process and the second it began, as `here` writes it.
BATCH = "SENTBOOK_BATCH"
# Where Snakemake wants a copy of the stamp, on a cluster without a shared folder.
STAMP = "SENTBOOK_STAMP"
# Seconds between two looks at the memory and at the batch, and those a job may take to stop in order.
_LOOK, _PATIENCE = 0.5, 15.0


class BatchError(SentbookError):
    """Jobs of the batch failed, or it could not begin."""

    exit_code = 9


@dataclass(frozen=True, order=True)
class Job:
    """One job: ``notebooks``, ``cse/table1``."""

    profile: str
    level: Level
    name: str

    def __str__(self) -> str:
        return self.name if self.level == "notebooks" else f"{self.level} {self.name}"

    @property
    def _place(self) -> Path:
        return folder(self.profile) / self.level / self.name

    @property
    def stamp(self) -> Path:
        return self._place.with_name(f"{self._place.name}.json")

    @property
    def state(self) -> Path:
        return self._place.with_name(f"{self._place.name}.state.json")

    @property
    def log(self) -> Path:
        return self._place.with_name(f"{self._place.name}.log")


def folder(profile: str) -> Path:
    return root() / "build" / "batch" / profile


def read(file: Path) -> dict[str, Any] | None:
    """A stamp or state; None where there is none, or half of one."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def last(job: Job) -> dict[str, Any]:
    """``seconds`` and ``peak_memory_bytes`` of the last time the job ended well; empty where it never did."""
    found = read(job.stamp) or (read(job.state) or {}).get("last", {})
    return {name: found[name] for name in ("seconds", "peak_memory_bytes") if name in found}


def _write(file: Path, content: Mapping[str, Any]) -> None:
    write_atomically(file, json.dumps(content, indent=1, sort_keys=True) + "\n")


@contextmanager
def recorded(job: Job, sources: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Note how the block goes, and stop it when the batch that began it is dead.

    Args:
        sources: digests of what the job is made from, at its beginning.

    Yields:
        What the stamp shall hold beside them; the block fills it.

    Raises:
        BatchError: the batch is dead already.
        KeyboardInterrupt: it died, or this process was asked to end.
    """
    owner = os.environ.get(BATCH)
    if not alive(owner):
        raise BatchError("The batch that this job belongs to has ended; run the same command again to go on.")
    begun: dict[str, Any] = {
        "batch": owner, "started": _now(),
        "process": os.getpid(), "machine": platform.node(), "last": last(job),
    }  # fmt: skip
    # What it leaves from here on may be of neither the old sources nor the new ones.
    job.stamp.unlink(missing_ok=True)
    _write(job.state, {**begun, "state": "running"})
    facts: dict[str, Any] = {}
    clock = time.monotonic()

    def end(state: str, **more: Any) -> dict[str, Any]:
        watch.look()
        spent = {"seconds": round(time.monotonic() - clock, 1), "peak_memory_bytes": watch.peak}
        _write(job.state, {**begun, **spent, **more, "state": state})
        return spent

    with _stoppable(), _Watch(owner) as watch:
        try:
            yield facts
        except SentbookError as error:
            end("failed", error=str(error))
            raise
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt)
            end("stopped" if stopped else "failed", error=f"{type(error).__name__}: {error}")
            raise
        made = {**facts, **end("done"), "sources": dict(sources), "finished": _now()}
        for stamp in {job.stamp, Path(os.environ.get(STAMP, job.stamp)).absolute()}:
            _write(stamp, made)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM stop this process as Ctrl-C does; in a thread, where handlers cannot be set, leave it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Watch(threading.Thread):
    """Looks at the memory of this process and all below it, and at whether the batch is alive.

    Attributes:
        peak: the largest sum of resident bytes seen; pages that processes share count for each of them.
    """

    def __init__(self, owner: str | None, last_resort: Callable[[], None] = lambda: os._exit(1)) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._owner, self._last_resort = owner, last_resort
        self._over = threading.Event()

    def __enter__(self) -> _Watch:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self.join()

    def look(self) -> None:
        total = 0
        with suppress(psutil.Error):
            own = psutil.Process()
            for process in (own, *own.children(recursive=True)):
                with suppress(psutil.Error):
                    total += process.memory_info().rss
        self.peak = max(self.peak, total)

    def run(self) -> None:
        while not self._over.wait(_LOOK):
            self.look()
            if alive(self._owner):
                continue
            print("sentbook: The batch that began this job is dead; the job stops.", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            if not self._over.wait(_PATIENCE):
                below = psutil.Process().children(recursive=True)
                for process in below:
                    with suppress(psutil.Error):
                        process.kill()
                self._last_resort()
            return


# -- batches as processes ----------------------------------------------------------------------------------------------


def here() -> str:
    """This process by name: machine, number, and the time it began, since numbers are given out again."""
    process = psutil.Process()
    return f"{platform.node()}:{process.pid}:{process.create_time():.2f}"


def alive(batch: str | None) -> bool:
    """Whether the process that `here` named is running; True where it cannot be known: no batch, another machine."""
    if not batch:
        return True
    machine, number, began = batch.rsplit(":", 2)
    if machine != platform.node():
        return True
    try:
        process = psutil.Process(int(number))
        return f"{process.create_time():.2f}" == began and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def sweep(batch: str, patience: float = 10.0) -> int:
    """End all processes on this machine that ``batch`` began, itself left out; how many there were."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(BATCH) == batch:
                found.append(process)
    for process in found:
        with suppress(psutil.Error):
            process.terminate()
    _, left = psutil.wait_procs(found, timeout=patience)
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=patience)
    return len(found)
