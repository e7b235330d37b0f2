"""Execute one notebook with papermill; on failure keep its partial output as ``<name>.failed.ipynb``.

notebooks/<paper>/<name>.ipynb  --papermill-->  build/executed/<profile>/<paper>/<name>.ipynb
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sentbook import io
from sentbook.io import FULL, SPARING, SentbookError, StorageError, beside, root
from sentbook.io import folder as make_folder
from sentbook.runs.kernels import HELD, Engine

# Where it is installed, jsonschema builds a grammar of resource names with it for a second; a notebook holds none.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


class NotebookError(SentbookError):
    """A notebook, or the book, failed.

    Args:
        exit_code: that of a mistake which a cell names, None where it is none of them.
    """

    exit_code = 8

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code


def say(line: str) -> None:
    print(line, flush=True)


def executed_path(source: Path, profile: str) -> Path:
    return root() / "build" / "executed" / profile / source.parent.name / source.name


def is_executed(source: Path, profile: str) -> bool:
    """Tell whether the output of a notebook is there, and not cut short: its last letter closes it."""
    try:
        with executed_path(source, profile).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 9))
            return file.read().rstrip().endswith(b"}")
    except OSError:
        return False


def failed_path(source: Path, profile: str) -> Path:
    """Name the place of the partial output of a notebook that failed."""
    return executed_path(source, profile).with_suffix(".failed.ipynb")


def run(source: Path, profile: str, parameters: Mapping[str, Any]) -> str:
    """Run one notebook by hand or for the batch; return the folder of build/executed that its output is in.

    That is the profile, and the batch then takes the notebook for run; or, where parameters were changed, ``custom``
    and their digest, so that two readers with changes of their own do not meet.

    Args:
        parameters: all that differ from the notebook's defaults.

    Raises:
        NotebookError, StorageError: see `execute`.
    """
    from sentbook.config import digest
    from sentbook.runs import batch

    name = f"{source.parent.name}/{source.stem}"
    recorded = set(parameters) <= {"profile"}
    kind = profile if recorded else f"custom/{digest(parameters)}"
    say(f"{name} ({kind})")
    if not recorded:
        with stoppable():
            seconds = execute(source, kind, parameters, show=True)
    else:
        with batch.recorded(profile, f"notebooks/{name}"):
            seconds = execute(source, kind, parameters, show=True)
    say(f"done in {seconds:.0f} s")
    return kind


def execute(source: Path, profile: str, parameters: Mapping[str, Any], *, show: bool = False) -> float:
    """Run one notebook with papermill in a kernel of its own; return the seconds taken.

    The output is at `executed_path` once the notebook has ended well, never in part; a partial one is at `failed_path`.

    Args:
        show: print the notebook's own progress lines.

    Raises:
        NotebookError: with the last lines of the traceback.
        StorageError: no space or a read-only folder; an earlier output is intact.
    """
    from nbclient.exceptions import DeadKernelError
    from papermill.engines import papermill_engines
    from papermill.exceptions import PapermillExecutionError
    from papermill.execute import execute_notebook

    papermill_engines.register("sentbook", Engine)
    target, failed = executed_path(source, profile), failed_path(source, profile)
    make_folder(target.parent)
    clock = time.monotonic()
    with one_run(target):
        scratch = beside(target, ".ipynb")
        try:
            execute_notebook(
                source, scratch, dict(parameters), engine_name="sentbook", progress_bar=False, cwd=root(),
                stdout_file=sys.stdout if show else None,
            )  # fmt: skip
            scratch.replace(target)
            failed.unlink(missing_ok=True)
        except PapermillExecutionError as error:
            _keep(scratch, failed)
            sentence = io.mended(error.ename, str(error.evalue))
            mistake = StorageError if sentence else getattr(io, error.ename, None)
            code = None if mistake is None else mistake.exit_code
            raise NotebookError(_told(source, sentence or _shown(error), failed), code) from None
        except OSError as error:
            _keep(scratch, failed)
            if error.errno not in {*FULL, errno.EACCES, errno.EPERM}:
                raise
            raise StorageError(
                f"{target} could not be written ({error.strerror}); free some space or make its folder writable, then "
                "run again: what was trained and recorded is kept."
            ) from error
        except Exception as error:  # the kernel died or did not start
            _keep(scratch, failed)
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            if isinstance(error, DeadKernelError):
                reason = f"its kernel was killed, most often for want of memory; {SPARING}"
            raise NotebookError(_told(source, f"{reason}.", failed)) from error
        finally:
            with suppress(OSError):  # in a read-only folder there is none
                scratch.unlink(missing_ok=True)
    return time.monotonic() - clock


@contextmanager
def one_run(target: Path) -> Iterator[None]:
    """Wait until no process of an earlier run that writes ``target`` lives, and let none of a later one begin.

    The lock belongs to an open file that the kernel holds too: where papermill was killed and its kernel not yet, that
    kernel cannot overwrite what comes next.
    """
    try:
        descriptor = os.open(target.with_name(f".{target.stem}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise StorageError(
            f"{target} could not be written ({error.strerror}); free some space or make its folder writable, then run "
            "again: what was trained and recorded is kept."
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"waiting for another run of {target.stem}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.environ[HELD] = str(descriptor)
        yield
    finally:
        os.environ.pop(HELD, None)
        os.close(descriptor)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let ``kill`` stop this process as Ctrl-C does, so that no notebook outlives it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _keep(scratch: Path, failed: Path) -> None:
    """Keep what there is of a notebook that failed; on a full disk there is nothing."""
    with suppress(OSError):
        failed.unlink(missing_ok=True)
        if scratch.stat().st_size:
            scratch.replace(failed)


def _shown(error: Any, lines: int = 12) -> str:
    """What stopped a cell: a mendable mistake's sentence, or the end of a traceback."""
    if hasattr(io, error.ename):
        return str(error.evalue)
    return "\n" + tail("\n".join(error.traceback) or f"{error.ename}: {error.evalue}", lines)


def _told(source: Path, reason: str, failed: Path) -> str:
    kept = f"\nIts output so far is {failed}." if failed.is_file() else ""
    return f"Notebook {source.parent.name}/{source.stem} failed: {reason}{kept}"


def tail(text: str, lines: int) -> str:
    return "\n".join(without_colours(text).strip().splitlines()[-lines:])


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
