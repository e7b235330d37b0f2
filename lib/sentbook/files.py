"""Files written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sentbook.errors import StorageError


@contextmanager
def replacing(
    path: Path, remedy: str = "free some space or choose a writable folder, then run again."
) -> Iterator[Path]:
    """A temporary name beside ``path`` to write to; it becomes ``path`` when the block ends without an error.

    Raises:
        StorageError: no space or a read-only folder; what ``path`` held before is intact.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
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
