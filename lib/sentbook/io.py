"""Errors that a user can mend, files written whole or not at all, folders of the project, versions of the code."""

import importlib.metadata
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

PACKAGE = Path(__file__).resolve().parent
RECORDED_PACKAGES = ("torch", "numpy", "scipy", "pandas", "scikit-learn", "sentbook")
# What helps where the system has killed a process.
SPARING = "close other programs or run with fewer jobs, then run again: what was finished is kept"
_REMEDY = "free some space or choose a writable folder, then run again."


# -- errors ------------------------------------------------------------------------------------------------------------


class SentbookError(Exception):
    """A mistake that a user can mend: one sentence that says what is wrong and what to do.

    The command line prints the sentence alone and exits with 1; a notebook shows it as the last line of its traceback.
    Anything that is not a `SentbookError` is a bug in sentbook.
    """


class ConfigError(SentbookError):
    """An unknown, misspelt, wrongly typed or out-of-range parameter."""


class DataError(SentbookError):
    """A data file is missing, unreachable, corrupted, truncated or malformed."""


class CheckpointError(SentbookError):
    """A checkpoint or artifact is truncated, or belongs to another configuration."""


class StorageError(SentbookError):
    """A file could not be written: no space, or a read-only folder. What was there before is intact."""


class NumericalError(SentbookError):
    """A loss or a parameter became NaN or infinite."""


class DeviceError(SentbookError):
    """The requested device does not exist here."""


# -- files -------------------------------------------------------------------------------------------------------------


def parse_yaml(text: str | bytes) -> Any:
    """Parse YAML of plain values; raises ``yaml.YAMLError``."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # libyaml is ten times as fast


@contextmanager
def writing(path: Path, remedy: str = _REMEDY) -> Iterator[None]:
    """Turn an `OSError` of the block into a `StorageError` that names ``path``."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} could not be written ({error.strerror or error}); {remedy}") from error


@contextmanager
def replacing(path: Path, remedy: str = _REMEDY) -> Iterator[Path]:
    """Yield a temporary name to write a file or a folder to, which becomes ``path`` when the block ends without error.

    Raises:
        StorageError: no space or a read-only folder; what ``path`` held before is intact.
    """
    with writing(path, remedy):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".tmp-") as folder:
            temporary, old = Path(folder, "new"), Path(folder, "old")
            yield temporary
            for file in temporary.iterdir() if temporary.is_dir() else [temporary]:
                with file.open("rb+") as stream:
                    os.fsync(stream.fileno())
            if path.is_dir():
                path.rename(old)
            temporary.rename(path)


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` to ``path``; raises as `replacing`."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Work in the folder ``path``, created if missing, while no other process does; waits for one that does.

    Raises:
        StorageError: the folder or its lock cannot be written.
    """
    lock = FileLock(path / "lock")
    with writing(path, "free some space or choose a writable place (SENTBOOK_ARTIFACTS, SENTBOOK_CACHE)."):
        path.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            print(f"waiting for another process, which works on the same in {path}", flush=True)
            lock.acquire()
    try:
        for leftover in path.glob(".tmp-*"):  # of a killed process
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        lock.release()


# -- places ------------------------------------------------------------------------------------------------------------


@cache
def root() -> Path:
    """Return the checkout: ``SENTBOOK_ROOT``, or the folder above this package or the working one with ``params/``.

    Raises:
        ConfigError: the package was installed away from a checkout and ``SENTBOOK_ROOT`` is not set.
    """
    named = os.environ.get("SENTBOOK_ROOT")
    for folder in [Path(named).absolute()] if named else [*PACKAGE.parents, Path.cwd(), *Path.cwd().parents]:
        if (folder / "params").is_dir() and (folder / "_toc.yml").is_file():
            return folder
    raise ConfigError("No sentbook checkout found; set SENTBOOK_ROOT to the folder that holds params/ and _toc.yml.")


def _place(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or root() / default).expanduser().absolute()


def originals() -> Path:
    """Return the folder of data that only its owner may hold: ``SENTBOOK_ORIGINALS``, or ``originals``."""
    return _place("SENTBOOK_ORIGINALS", "originals")


def artifacts() -> Path:
    """Return the folder of trained encoders and checkpoints: ``SENTBOOK_ARTIFACTS``, or ``build/artifacts``."""
    return _place("SENTBOOK_ARTIFACTS", "build/artifacts")


# -- versions ----------------------------------------------------------------------------------------------------------


def packages() -> dict[str, str]:
    """Return the versions of the packages that numbers depend on."""
    return {name: importlib.metadata.version(name) for name in RECORDED_PACKAGES}


def git_commit() -> str:
    """Return the commit of the checkout; ``+changes`` where its code differs, ``unknown`` outside its repository."""
    if not (root() / ".git").exists():
        return "unknown"
    code = ("lib", "notebooks", "params", "requirements.lock")
    command = ["git", "-C", str(root()), "status", "--porcelain=v2", "--branch", "--", *code]
    try:
        lines = subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL).splitlines()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    commit = lines[0].removeprefix("# branch.oid ")
    return commit if all(line.startswith("#") for line in lines) else f"{commit}+changes"
