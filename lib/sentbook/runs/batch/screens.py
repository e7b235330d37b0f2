"""What a batch says: on a terminal a table that is kept up to date, elsewhere and in its log plain lines."""

from __future__ import annotations

import datetime
import platform
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sentbook.runs.batch import stamps
from sentbook.runs.batch.planning import Step
from sentbook.runs.batch.stamps import Job
from sentbook.runs.batch.summaries import Row
from sentbook.system.files import folder as make_folder

# Seconds between two lines of a log that say what is running.
_BEAT = 60.0
# Seconds that a job is expected to take where nothing of its level is on record.
_UNKNOWN = 60.0


class Screen:
    """Tells of the jobs as they begin and end.

    Args:
        steps: all jobs of the plan.
        due: those to be done.
        side_by_side: how many run at once.
        log: where plain lines are added.
        console: None: standard output.
    """

    def __init__(
        self, steps: Sequence[Step], due: Sequence[Step], side_by_side: int, log: Path, console: Console | None = None
    ) -> None:
        self._steps, self._due, self._side_by_side, self._path = steps, due, side_by_side, log
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._expected = _expectations(due)
        self._states: dict[Job, str] = {}
        self._begun: dict[Job, float] = {}
        self._about: dict[Job, Mapping[str, Any]] = {}
        self._beat = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Screen:
        make_folder(self._path.parent)
        self._write(f"-- {datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds')}")
        expected = f", {minutes(self.left())} expected" if self._due else ""
        self.say(f"{len(self._due)} of {len(self._steps)} jobs are to be done{expected}.")
        if self._console.is_terminal and self._due:
            self._live = Live(console=self._console, refresh_per_second=2, transient=True)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say(self, line: str) -> None:
        """A line on the screen and in the log."""
        (self._live.console if self._live is not None else self._console).print(Text(line))
        self._write(line)

    def _write(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    # -- while it runs -------------------------------------------------------------------------------------------------

    def look(self, batch: str) -> None:
        """Read how far the jobs of ``batch`` are, and tell what is new."""
        for step in self._due:
            job = step.job
            if self._states.get(job) in ("done", "failed", "stopped"):
                continue
            found = stamps.read(job.state) or {}
            if found.get("batch") != batch or found["state"] == self._states.get(job):
                continue
            self._states[job], self._about[job] = found["state"], found
            self._begun.setdefault(job, time.monotonic())
            if found["state"] != "running":
                self._tell(job, found)
        if self._live is not None:
            self._live.update(self._picture())
        elif time.monotonic() - self._beat > _BEAT:
            self._beat = time.monotonic()
            going = ", ".join(f"{job} ({minutes(self._spent(job))})" for job in self._running())
            if going:
                self.say(f"running: {going}; {self._where()}")

    def _tell(self, job: Job, found: Mapping[str, Any]) -> None:
        ended = sum(state != "running" for state in self._states.values())
        spent = f"{minutes(found['seconds'])}, {size(found['peak_memory_bytes'])}"
        self.say(f"{ended:3} of {len(self._due)}  {job}  {found['state']}  {spent}; {minutes(self.left())} left")
        if found["state"] == "failed":
            for line in str(found.get("error", "")).splitlines():
                self.say(f"      {line}")

    def _running(self) -> list[Job]:
        return [job for job, state in self._states.items() if state == "running"]

    def _spent(self, job: Job) -> float:
        return time.monotonic() - self._begun[job]

    def left(self) -> float:
        """Seconds that are expected to remain: all that is not done side by side, and at least the longest of it."""
        open_ = [
            max(self._expected[step.job] - (self._spent(step.job) if step.job in self._begun else 0), 1)
            for step in self._due
            if self._states.get(step.job, "running") == "running"
        ]
        return max(sum(open_) / self._side_by_side, *open_) if open_ else 0.0

    def _where(self) -> str:
        states = list(self._states.values())
        failed = states.count("failed")
        free = psutil.virtual_memory().available
        parts = [f"{states.count('done')} of {len(self._due)} done", f"{failed} failed" if failed else ""]
        return ", ".join(filter(None, [*parts, f"{minutes(self.left())} left", f"{size(free)} of memory free"]))

    def _picture(self) -> Group:
        table = Table(box=None, pad_edge=False)
        for name in ("running", "minutes", "expected", "memory"):
            table.add_column(name, justify="left" if name == "running" else "right")
        for job in self._running():
            taken = f"{self._spent(job) / 60:.1f}"
            table.add_row(Text(str(job)), taken, f"{self._expected[job] / 60:.1f}", size(_held(self._about[job])))
        return Group(table, Text(self._where()))

    # -- at the end ----------------------------------------------------------------------------------------------------

    def table(self, rows: Sequence[Row]) -> None:
        """Every job with its state, minutes and memory."""
        width = max((len(str(row.job)) for row in rows), default=0)
        self.say(f"{'job':{width}}  {'state':10}  {'minutes':>7}  {'memory':>8}")
        for row in rows:
            spent = "" if row.seconds is None else f"{row.seconds / 60:.1f}"
            memory = "" if row.peak_memory_bytes is None else size(row.peak_memory_bytes)
            self.say(f"{row.job!s:{width}}  {row.state:10}  {spent:>7}  {memory:>8}")
        counts = {state: sum(row.state == state for row in rows) for state in dict.fromkeys(row.state for row in rows)}
        now = sum(row.seconds or 0 for row in rows if row.state in ("done", "failed"))
        said = ", ".join(f"{count} {state}" for state, count in counts.items())
        self.say(f"{said}; {minutes(now)} of work. The log is {self._path}")


def _expectations(due: Sequence[Step]) -> dict[Job, float]:
    """Seconds a job: those of its last time, else the median of the others' of its level."""
    known = {step.job: seconds for step in due if (seconds := step.expected()) is not None}
    by_level: dict[str, list[float]] = {}
    for job, seconds in known.items():
        by_level.setdefault(job.level, []).append(seconds)
    usual = {level: statistics.median(values) for level, values in by_level.items()}
    return {step.job: known.get(step.job, usual.get(step.job.level, _UNKNOWN)) for step in due}


def _held(state: Mapping[str, Any]) -> int | None:
    """Resident bytes of a running job and all below it, where it runs on this machine."""
    if state.get("machine") != platform.node():
        return None
    total = 0
    with suppress(psutil.Error):
        own = psutil.Process(state["process"])
        for process in (own, *own.children(recursive=True)):
            with suppress(psutil.Error):
                total += process.memory_info().rss
    return total


def minutes(seconds: float) -> str:
    """
    Example:
        >>> minutes(8.2), minutes(150)
        ('8 s', '2.5 min')
    """
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def size(count: int | None) -> str:
    """
    Example:
        >>> size(1_550_000_000), size(312_000_000), size(None)
        ('1.6 GB', '312 MB', '')
    """
    if count is None:
        return ""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
