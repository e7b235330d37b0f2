"""Read and write runs by paper and experiment, until all callers use `sentbook.records`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sentbook import records
from sentbook.records import Run, dumped

__all__ = ["dumped", "first", "path_of", "read", "write"]


def path_of(paper: str, experiment: str, profile: str) -> Path:
    return records.committed_path(f"{paper}/{experiment}", profile)


def write(run: Run) -> Path:
    return records.save(run, path_of(run.paper, run.experiment, run.profile))


def read(paper: str, experiment: str, profile: str) -> Run | None:
    return records.read(f"{paper}/{experiment}", profile)


def first(paper: str, experiment: str, profiles: Iterable[str]) -> Run | None:
    return next(filter(None, (read(paper, experiment, profile) for profile in profiles)), None)
