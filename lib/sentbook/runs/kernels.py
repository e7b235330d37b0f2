"""Kernels that disturb nobody: sockets in a private folder in place of ports, and no word to a person's own Jupyter.

ipykernel itself ends a kernel whose parent has died.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import zmq
from jupyter_client.manager import AsyncKernelManager

from sentbook.runs import forkserver
from sentbook.runs.lineage import NOTEBOOK

if TYPE_CHECKING:
    from nbformat import NotebookNode

# A descriptor that a kernel holds as long as it lives, see `sentbook.runs.execute.one_run`.
HELD = "SENTBOOK_HELD"
# Addresses of sockets end at 104 bytes on macOS and 108 on Linux; "/kernel-ipc-5" stands behind the folder.
_LONGEST = 85
# What a kernel says on standard error, in the folder of its sockets.
_ERRORS = "errors.txt"


def _runtime_folder() -> Path:
    """Make a folder for a kernel's sockets; those of killed processes are removed."""
    place = Path(tempfile.gettempdir())
    for leftover in place.glob("sentbook-*-*"):
        number = leftover.name.split("-")[1]
        if number.isdecimal() and not psutil.pid_exists(int(number)):
            shutil.rmtree(leftover, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"sentbook-{os.getpid()}-", dir=place))


class PrivateKernelManager(AsyncKernelManager):
    """Start a kernel with its sockets, history and configuration in a folder of its own, which goes with it.

    Twelve kernels at once then cannot be given the same port. Where the platform has no such sockets or the folder's
    name is too long for them, it is TCP.
    """

    def __init__(self, **options: Any) -> None:
        self._runtime = _runtime_folder()
        fits = zmq.has("ipc") and len(os.fsencode(self._runtime)) <= _LONGEST
        file = str(self._runtime / "kernel.json")
        self._heard: int | None = None
        super().__init__(transport="ipc" if fits else "tcp", connection_file=file, **options)

    async def start_kernel(self, **options: Any) -> None:  # type: ignore[override]
        folder = str(self._runtime)
        options["env"] = {**os.environ, "JUPYTER_RUNTIME_DIR": folder, "IPYTHONDIR": f"{folder}/ipython"}
        if held := os.environ.get(HELD):
            options["pass_fds"] = (int(held),)
        # ipykernel repeats on its own standard output what it sends to the notebook, which is shown once already.
        with (self._runtime / _ERRORS).open("wb") as errors:
            await super().start_kernel(stdout=subprocess.DEVNULL, stderr=errors, **options)

    async def shutdown_kernel(self, now: bool = False, restart: bool = False) -> None:  # type: ignore[override]
        # A kernel that is told to end may log, with a traceback, that its sockets are closed. What it said before that,
        # and all that a kernel said which died, is shown.
        self._heard = os.path.getsize(self._runtime / _ERRORS)
        await super().shutdown_kernel(now, restart)

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        # A kernel that is told to end logs the interrupt as an error where its last cell is still being answered.
        return forkserver.kernel_command([*super().format_kernel_cmd(extra_arguments), "--log-level=CRITICAL"])

    async def cleanup_resources(self, restart: bool = False) -> None:  # type: ignore[override]
        await super().cleanup_resources(restart)
        if not restart:
            with suppress(FileNotFoundError):
                said = (self._runtime / _ERRORS).read_bytes()[: self._heard]
                sys.stderr.write(said.decode(errors="replace"))
            shutil.rmtree(self._runtime, ignore_errors=True)


class Engine:
    """What papermill calls by ``--engine sentbook``: its own engine, on a `PrivateKernelManager`.

    Papermill is imported when it calls: it looks engines up while it is imported itself.
    """

    @staticmethod
    def execute_notebook(nb: NotebookNode, kernel_name: str, **options: Any) -> NotebookNode:
        from papermill.engines import NBClientEngine

        options["kernel_manager_class"] = PrivateKernelManager
        os.environ[NOTEBOOK] = str(Path(options.get("input_path") or "").absolute())
        try:
            return NBClientEngine.execute_notebook(nb, kernel_name, **options)
        finally:
            del os.environ[NOTEBOOK]

    @staticmethod
    def nb_kernel_name(nb: NotebookNode, name: str | None = None) -> str:
        from papermill.utils import nb_kernel_name

        return str(nb_kernel_name(nb, name))

    @staticmethod
    def nb_language(nb: NotebookNode, language: str | None = None) -> str:
        from papermill.utils import nb_language

        return str(nb_language(nb, language))
