"""How the jobs of a batch ended, and the file that says so."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sentbook.runs.batch import stamps
from sentbook.runs.batch.stamps import Job
from sentbook.system.files import write_atomically

State = Literal["done", "not needed", "failed", "not begun"]


@dataclass(frozen=True)
class Row:
    """A job in the summary; what a job that was not needed took is that of its last time."""

    job: Job
    state: State
    seconds: float | None = None
    peak_memory_bytes: int | None = None
    error: str = ""


def row(job: Job, due: Collection[Job], batch: str) -> Row:
    """How ``job`` ended in ``batch``.

    Args:
        due: the jobs that the batch had to do.
    """
    if job not in due:
        before = stamps.last(job)
        return Row(job, "not needed", before.get("seconds"), before.get("peak_memory_bytes"))
    state = stamps.read(job.state) or {}
    if state.get("batch") != batch:
        return Row(job, "not begun")
    done = state["state"] == "done" and job.stamp.is_file()
    error = "" if done else state.get("error", "it was killed")
    return Row(job, "done" if done else "failed", state.get("seconds"), state.get("peak_memory_bytes"), error)


def write(rows: Sequence[Row], file: Path) -> None:
    """The rows as JSON: job, state, minutes spent, peak memory, and the error of a failed one."""
    content = [
        {
            "job": f"{one.job.level}/{one.job.name}",
            "state": one.state,
            "minutes": None if one.seconds is None else round(one.seconds / 60, 2),
            "peak_memory_bytes": one.peak_memory_bytes,
            "error": one.error,
        }
        for one in rows
    ]
    write_atomically(file, json.dumps(content, indent=1) + "\n")
