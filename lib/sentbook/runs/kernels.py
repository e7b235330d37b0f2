"""Notebooks' kernels that do not get in each other's way: papermill's engine ``sentbook``.

    papermill --engine sentbook notebook.ipynb executed.ipynb

A kernel has a process group and a runtime folder of its own: its connection file, its sockets (IPC where the platform
has it, so that no two can take the same port), and a bare IPython profile. Its start alone is tried again when it
fails; no cell is ever run twice. Nothing of it outlives the notebook's run, however that ends, see `kernel_guard`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zmq
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync

from sentbook.runs import kernel_guard
from sentbook.system.errors import SentbookError

if TYPE_CHECKING:
    from nbformat import NotebookNode

STARTS = 3
# Set to its own number by a process that starts papermill, and then waits for it: papermill does not outlive it.
PARENT = "SENTBOOK_PARENT"
# Addresses of sockets end at 104 bytes on macOS and 108 on Linux; "/kernel-ipc-5" stands behind the folder.
_LONGEST = 85


class KernelStartError(SentbookError):
    """A notebook's kernel did not start."""

    exit_code = 8


def say(line: str) -> None:
    print(f"sentbook: {line}", file=sys.stderr, flush=True)


# -- one kernel --------------------------------------------------------------------------------------------------------


class _Manager(AsyncKernelManager):
    """Of a kernel that `kernel_guard` starts: ``guard`` stands before the kernel's command."""

    guard: tuple[str, ...] = ()

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        return [*self.guard, *super().format_kernel_cmd(extra_arguments)]


@dataclass
class Kernel:
    """A running kernel.

    Attributes:
        manager: jupyter_client's, to connect to it.
        folder: its runtime folder.
        lifeline: the end of a pipe that holds kernel and folder; None where there is no guard.
        keeper: the process that removes the folder when the pipe is closed.
    """

    manager: _Manager
    folder: Path
    lifeline: int | None = None
    keeper: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """End it, in order where it answers, and remove its folder."""
        manager = self.manager
        try:
            with suppress(RuntimeError):  # it never came to run
                if run_sync(manager.is_alive)():  # shutdown_kernel would interrupt first, which idle kernels report
                    run_sync(manager.request_shutdown)()
                    run_sync(manager.finish_shutdown)()
        finally:
            run_sync(manager.cleanup_resources)()
            if self.lifeline is not None:
                os.close(self.lifeline)
            if self.keeper is not None:
                self.keeper.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


def _folder_name() -> Path:
    """Of a folder that is not there yet; short enough for addresses of sockets where there is a place for such."""
    usual = tempfile.gettempdir()
    places = (place for place in (usual, "/tmp") if os.access(place, os.W_OK))
    place = next((place for place in places if len(os.fsencode(place)) < _LONGEST - 20), usual)
    return Path(place) / f"sentbook-{secrets.token_hex(5)}"


def transport(folder: Path) -> str:
    """``ipc`` where the platform has it and the addresses in ``folder`` are not too long, else ``tcp``."""
    fits = len(os.fsencode(folder)) <= _LONGEST
    return "ipc" if zmq.has("ipc") and fits else "tcp"


def start_once(name: str, patience: float) -> Kernel:
    """Start a kernel and wait until it answers.

    Args:
        name: of its specification, e.g. ``python3``.
        patience: seconds.

    Raises:
        RuntimeError, OSError: it ended, or did not answer in time.
    """
    folder = _folder_name()
    manager = _Manager(
        kernel_name=name, transport=transport(folder), connection_file=str(folder / "kernel.json"), cache_ports=False
    )
    environment = {**os.environ, "JUPYTER_RUNTIME_DIR": str(folder), "IPYTHONDIR": str(folder / "ipython")}
    kernel, watched = Kernel(manager, folder), None
    handed: dict[str, Any] = {}
    try:
        if os.name == "posix":
            watched, kernel.lifeline = os.pipe()
            handed = {"pass_fds": (watched,)}
            guard = [sys.executable, "-I", "-S", kernel_guard.__file__, str(watched), str(folder)]
            kernel.keeper = subprocess.Popen(guard, start_new_session=True, **handed)
            manager.guard = tuple(guard)
        folder.mkdir(mode=0o700)
        history = ["--HistoryManager.hist_file=:memory:"] if manager.ipykernel else []
        run_sync(manager.start_kernel)(extra_arguments=history, env=environment, **handed)
        _wait(manager, patience)
    except BaseException:
        kernel.stop()
        raise
    finally:
        if watched is not None:
            os.close(watched)
    return kernel


def _wait(manager: _Manager, patience: float) -> None:
    client = manager.client()
    client.start_channels()
    try:
        run_sync(client.wait_for_ready)(timeout=patience)
    finally:
        client.stop_channels()


def start(name: str, patience: float = 60.0, *, once: Callable[[str, float], Kernel] = start_once) -> Kernel:
    """As `start_once`, tried `STARTS` times; what went wrong is said each time.

    Raises:
        KernelStartError: it failed each time.
    """
    for attempt in range(1, STARTS + 1):
        try:
            return once(name, patience)
        except (RuntimeError, OSError) as error:  # zmq's errors and time-outs are among them
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            say(f"the kernel '{name}' did not start, attempt {attempt} of {STARTS} ({reason})")
            if attempt == STARTS:
                raise KernelStartError(
                    f"The kernel '{name}' did not start in {STARTS} attempts ({reason}); "
                    "run the same command again, with fewer notebooks side by side where memory is short."
                ) from error
            time.sleep(0.5 * attempt)
    raise AssertionError("unreachable")


@contextmanager
def started(name: str, patience: float = 60.0) -> Iterator[_Manager]:
    """The manager of a kernel that runs as long as the block; raises as `start`."""
    kernel = start(name, patience)
    try:
        yield kernel.manager
    finally:
        kernel.stop()


# -- papermill ---------------------------------------------------------------------------------------------------------


def follow(parent: int, every: float = 0.5, end: Callable[[], object] = lambda: os._exit(1)) -> threading.Thread:
    """Call ``end`` once the process ``parent``, which started this one, is gone; the kernel's guard does the rest."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        end()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


class Engine:
    """What papermill calls by ``--engine sentbook``: its own engine, on a kernel of ours.

    Papermill is imported when it calls: it looks engines up while it is imported itself.
    """

    @staticmethod
    def execute_notebook(nb: NotebookNode, kernel_name: str, **given: Any) -> NotebookNode:
        """Run all cells once.

        Raises:
            KernelStartError: see `start`.
        """
        from papermill.engines import NBClientEngine

        if named := os.environ.pop(PARENT, ""):
            follow(int(named))

        class OnOwnKernel(NBClientEngine):  # type: ignore[misc]
            @classmethod
            def execute_managed_notebook(
                cls, nb_man: Any, kernel_name: str, start_timeout: float = 60, **options: Any
            ) -> Any:
                with started(kernel_name, start_timeout) as manager:
                    return super().execute_managed_notebook(
                        nb_man, kernel_name, km=manager, start_timeout=start_timeout, **options
                    )

        return OnOwnKernel.execute_notebook(nb, kernel_name, **given)

    @staticmethod
    def nb_kernel_name(nb: NotebookNode, name: str | None = None) -> str:
        from papermill.engines import NBClientEngine

        return str(NBClientEngine.nb_kernel_name(nb, name))

    @staticmethod
    def nb_language(nb: NotebookNode, language: str | None = None) -> str:
        from papermill.engines import NBClientEngine

        return str(NBClientEngine.nb_language(nb, language))
