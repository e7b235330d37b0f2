"""One notebook, executed by papermill in a process of its own: whole at its place, or in part beside it.

notebooks/<paper>/<name>.ipynb  --papermill-->  build/executed/<profile>/<paper>/<name>.ipynb
                                                or, where it failed, <name>.failed.ipynb
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from sentbook.runs.kernels import PARENT
from sentbook.system import errors
from sentbook.system.errors import SentbookError, StorageError
from sentbook.system.files import FULL, beside
from sentbook.system.files import folder as make_folder
from sentbook.system.paths import root


class NotebookError(SentbookError):
    """A notebook, or the book, failed."""

    exit_code = 8


# papermill, without the grammar of web addresses that jsonschema would build: more than a second for each notebook,
# which holds no such format. jsonschema goes without where the package is not there.
_PAPERMILL = "import sys; sys.modules['rfc3987_syntax'] = None; from papermill.cli import papermill; papermill()"


def say(line: str) -> None:
    print(line, flush=True)


def executed_path(source: Path, profile: str) -> Path:
    return root() / "build" / "executed" / profile / source.parent.name / source.name


def failed_path(source: Path, profile: str) -> Path:
    """Where the partial output of a notebook that failed is kept."""
    return executed_path(source, profile).with_suffix(".failed.ipynb")


def execute(
    source: Path, profile: str, parameters: Mapping[str, Any], *, show: bool = False, threads: int | None = None
) -> float:
    """Run one notebook with papermill in a process of its own; seconds taken.

    The output is at `executed_path` once the notebook has ended well, never in part; a partial one is at `failed_path`.

    Args:
        show: let the notebook's own progress lines through to standard output.
        threads: of each numerical library in the notebook; None: as the environment has it.

    Raises:
        NotebookError: with the last lines of the traceback.
        StorageError: no space or a read-only folder; an earlier output is intact.
    """
    target, failed = executed_path(source, profile), failed_path(source, profile)
    make_folder(target.parent)
    scratch = beside(target, ".ipynb")
    clock = time.monotonic()
    command = [
        sys.executable, "-c", _PAPERMILL, "--engine", "sentbook", "--no-progress-bar", "--log-level", "ERROR",
        "--cwd", str(root()),
        *(["--stdout-file", "-"] if show else []),
        # YAML as PyYAML writes it: JSON's 1e-05 would be read as a string.
        "-y", yaml.safe_dump(dict(parameters)), str(source), str(scratch),
    ]  # fmt: skip
    environment = {**os.environ, PARENT: str(os.getpid())}
    if threads is not None:
        environment.setdefault("OMP_NUM_THREADS", str(threads))
    output = None if show else subprocess.DEVNULL
    process = subprocess.Popen(
        command, stdout=output, stderr=subprocess.PIPE, text=True, errors="replace", env=environment
    )
    try:
        _, log = process.communicate()
        for line in log.splitlines():
            if line.startswith("sentbook: "):  # a kernel that did not start at once
                say(f"  {line.removeprefix('sentbook: ')}")
        if process.returncode:
            with suppress(OSError):  # a read-only folder, which the log tells of
                failed.unlink(missing_ok=True)
                if scratch.stat().st_size:  # nothing fits on a full disk
                    scratch.replace(failed)
            shown = _error_shown(failed)
            if shown is None and (reason := _unwritten(log)):
                raise StorageError(
                    f"{target} could not be written ({reason}); free some space or make its folder writable, then run "
                    "again: what was trained and recorded is kept."
                )
            name = f"{source.parent.name}/{source.stem}"
            kept = f"\nIts output so far is {failed}." if failed.is_file() else ""
            raise NotebookError(f"Notebook {name} failed: {shown or tail(log, 3) or 'no message.'}{kept}")
        scratch.replace(target)
        failed.unlink(missing_ok=True)
    finally:
        process.terminate()  # where this process was stopped; one that has ended does not mind
        with suppress(OSError):  # in a read-only folder there is none
            scratch.unlink(missing_ok=True)
    return time.monotonic() - clock


@contextmanager
def stoppable() -> Iterator[None]:
    """Let ``kill`` stop this process as Ctrl-C does, so that no notebook outlives it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _error_shown(partial: Path, lines: int = 12) -> str | None:
    """What stopped a cell: a mendable mistake's sentence, or the end of a traceback; None where no cell was stopped."""
    if not partial.is_file():
        return None
    import nbformat  # takes a second, which a notebook that ends well need not wait

    try:
        cells = nbformat.read(partial, as_version=4).cells
    except ValueError:  # papermill was stopped while it wrote
        return None
    for cell in cells:
        for output in cell.get("outputs", []):
            if output.get("output_type") != "error":
                continue
            if hasattr(errors, output["ename"]):
                return str(output["evalue"])
            return "\n" + tail("\n".join(output["traceback"]) or f"{output['ename']}: {output['evalue']}", lines)
    return None


def _unwritten(log: str) -> str | None:
    """Why papermill could not write, by the last line of its log, where that is why it ended."""
    found = re.match(r"(?:OSError|PermissionError): \[Errno (\d+)\] ([^:\n]+)", tail(log, 1))
    return found[2] if found and int(found[1]) in {*FULL, errno.EACCES, errno.EPERM} else None


def tail(text: str, lines: int) -> str:
    return "\n".join(without_colours(text).strip().splitlines()[-lines:])


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
