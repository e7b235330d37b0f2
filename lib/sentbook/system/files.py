"""Files written whole or not at all, YAML, and folders that one process at a time works in."""

from __future__ import annotations

import errno
import glob
import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import psutil
import yaml
from filelock import FileLock, Timeout

from sentbook.system.errors import StorageError

# No space, a quota, a limit on files, a read-only file system.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})

# PyYAML's own parser takes ten times as long as libyaml, without which it may have been installed.
_SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Of lists and mappings inside each other: the loader calls itself for each, and some 30,000 end the process.
DEEPEST = 50


class _PlainYaml(_SAFE):  # type: ignore[misc]
    """YAML 1.1 but for two of its traps: a name given twice is an error, and ``1:30`` is text and not the number 90."""

    # By first character, each a list of tags with their patterns, of which the first that fits counts.
    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, Any]]]] = {
        first: [("tag:yaml.org,2002:str", re.compile(r"[-+]?\d+(:\d+)+(\.\d*)?$")), *known]
        for first, known in _SAFE.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        for key, _ in node.value:
            if names.count(key.value) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"'{key.value}' is given twice", key.start_mark)
        return super().construct_mapping(node, deep)


def parse_yaml(text: str | bytes) -> Any:
    """Parse YAML of plain values, no name twice in a mapping, `DEEPEST` deep at most; raises ``yaml.YAMLError``."""
    depth = 0
    for event in yaml.parse(text, Loader=_SAFE):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            place: Any = event.start_mark
            raise yaml.composer.ComposerError(None, None, f"nested more than {DEEPEST} deep", place)
    return yaml.load(text, Loader=_PlainYaml)


def beside(path: Path, ending: str = ".tmp") -> Path:
    """A hidden name beside ``path`` for what this process writes; those that killed processes left there are removed.

    The name tells the machine and the process, so that what another one is writing, there or here, is left alone.
    """
    name, machine = f".{path.name}.", f"{platform.node()}-"
    for leftover in path.parent.glob(f"{glob.escape(name + machine)}*{ending}"):
        number = leftover.name.removeprefix(name + machine).removesuffix(ending)
        if number.isdecimal() and not psutil.pid_exists(int(number)):
            with suppress(OSError):  # removed by another process, or the folder is read-only
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    return path.with_name(f"{name}{machine}{os.getpid()}{ending}")


@contextmanager
def replacing(
    path: Path, remedy: str = "free some space or choose a writable folder, then run again."
) -> Iterator[Path]:
    """A temporary name beside ``path`` to write to; it becomes ``path`` when the block ends without an error.

    Raises:
        StorageError: no space or a read-only folder; what ``path`` held before is intact.
    """
    temporary = beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise StorageError(f"{path} could not be written ({error.strerror or error}); {remedy}") from error
    finally:
        with suppress(OSError):  # where its folder could not be made, there is nothing to remove
            temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path, remedy: str) -> Iterator[Path]:
    """A new folder beside ``path``, which it becomes, in place of an earlier one, when the block ends without an error.

    Raises:
        StorageError: no space or a read-only folder; what ``path`` held before is intact.
    """
    temporary, old = beside(path), beside(path, ".old")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        for file in temporary.iterdir():
            with file.open("rb+") as stream:
                os.fsync(stream.fileno())
        if path.exists():
            path.rename(old)
        try:
            temporary.rename(path)
        except OSError:
            if old.exists():
                old.rename(path)
            raise
    except OSError as error:
        raise StorageError(f"{path} could not be written ({error.strerror or error}); {remedy}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` by way of a temporary file in the same folder.

    Raises:
        StorageError: no space or a read-only folder; what ``path`` held before is intact.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def folder(path: Path) -> Path:
    """``path``, made if it is not there.

    Raises:
        StorageError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The folder {path} could not be made ({error.strerror}); choose a writable place "
            "(SENTBOOK_ARTIFACTS, SENTBOOK_CACHE)."
        ) from error
    return path


def _say(line: str) -> None:
    print(line, flush=True)


@contextmanager
def alone(path: Path, report: Callable[[str], None] = _say) -> Iterator[None]:
    """Work in the folder ``path``, made if it is not there, while no other process does.

    The lock in it is open again when its holder ends, by a ``kill -9`` too. What killed processes left half written in
    the folder is removed.

    Args:
        report: takes a line where another process is waited for.

    Raises:
        StorageError: the folder or its lock cannot be made.
    """
    lock = FileLock(folder(path) / "lock")
    try:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            report(f"waiting for another process, which works on the same in {path}")
            lock.acquire()
        for leftover in path.glob(".*.tmp"):
            leftover.unlink(missing_ok=True)
    except OSError as error:
        lock.release()
        raise StorageError(
            f"{path} cannot be written to ({error.strerror or error}); free some space or choose a writable place "
            "(SENTBOOK_ARTIFACTS, SENTBOOK_CACHE)."
        ) from error
    try:
        yield
    finally:
        lock.release()
