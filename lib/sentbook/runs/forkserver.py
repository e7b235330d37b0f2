"""A fork server: one process that has imported what notebooks import, and forks where a job or a kernel begins.

    sentbook book                starts the server
      sentbook run cse/table1    asks for a fork, which goes on in its place
        its kernel               asks for another

The demo begins some seventy processes that each work for seconds: half of its time went to their imports of torch,
pandas and matplotlib. Who asks lives as long as its fork, passes signals on, and ends with the fork's exit status: who
waits for it or kills it need not know of the server. Where there is none, or none answers, a process starts as ever.

A process can be forked while it has one thread, so the server counts its threads after its imports. It imports no code
of this package, whose sources a run names: a fork loads them itself, as they then are.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import select
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

# The server of this batch: its process number and its socket.
ADDRESS = "SENTBOOK_FORKSERVER"
KERNEL = ["-m", "ipykernel_launcher"]
# What most notebooks and jobs import; torch imports _dynamo at the first step of an optimiser.
_IMPORTS = (
    "torch", "torch._dynamo", "pandas", "seaborn", "matplotlib_inline.backend_inline", "scipy.stats", "scipy.optimize",
    "sklearn.linear_model", "sklearn.decomposition", "sklearn.neighbors", "IPython", "ipykernel.kernelapp",
    "ipykernel.ipkernel", "papermill.execute", "safetensors.torch", "joblib", "jinja2", "pydantic", "typer", "requests",
)  # fmt: skip


@contextmanager
def served() -> Iterator[None]:
    """Keep a server for what is begun in the block, if there is none; it imports when it is first asked."""
    if ADDRESS in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix=f"sentbook-{os.getpid()}-") as folder:
        path = f"{folder}/fork"
        # A kernel draws into its notebook, which matplotlib asks for while it is imported.
        environment = {"OMP_NUM_THREADS": "1", **os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        server = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, path],
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        while not os.path.exists(path) and server.poll() is None:  # until it can be asked
            time.sleep(0.02)
        os.environ[ADDRESS] = f"{server.pid}:{path}"
        try:
            yield
        finally:
            del os.environ[ADDRESS]
            server.terminate()
            server.wait()


# -- who asks ----------------------------------------------------------------------------------------------------------


def kernel_command(command: list[str]) -> list[str]:
    """Have the kernel that ``command`` starts asked for at the server, where there is one and it is of this Python."""
    own = command[:3] == [sys.executable, *KERNEL]
    return [sys.executable, "-m", __spec__.name, *command[1:]] if own and ADDRESS in os.environ else command


def in_fork(function: str, arguments: Sequence[str]) -> int | None:
    """Call a function in a fork of the server, with these files and environment; wait, and return its exit status.

    Args:
        function: such as ``sentbook.cli:main``.
        arguments: its ``sys.argv``.

    Returns:
        None where no server answers, or where this process is a fork itself.
    """
    server, _, path = os.environ.get(ADDRESS, "").partition(":")
    parent = os.getppid()
    if not path or parent == int(server):
        return None
    asked = {
        "function": function, "arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ),
        "path": sys.path[1:],  # without the folder of the script
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
            socket.send_fds(connection, [b"."], [0, 1, 2])
            connection.sendall(json.dumps(asked).encode() + b"\n")
            told = connection.makefile("rb")
            fork = int(told.readline())
        except (OSError, ValueError):
            return None

        def pass_on(number: int, _: Any) -> None:
            with suppress(ProcessLookupError):
                os.kill(fork, number)

        signal.signal(signal.SIGINT, pass_on)
        signal.signal(signal.SIGTERM, pass_on)
        while not select.select([connection], [], [], 1.0)[0]:
            if os.getppid() != parent:  # killed; the fork ends as this process does
                return 1
        return (told.read(1) or b"\1")[0]


# -- the server --------------------------------------------------------------------------------------------------------


class _Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """Forks for each connection, and ends with the process that began it."""

    max_children = 1_000
    request_queue_size = 64
    _parent = os.getppid()

    def service_actions(self) -> None:
        super().service_actions()
        if os.getppid() != self._parent:
            os._exit(0)


class _Fork(socketserver.BaseRequestHandler):
    """The fork: becomes the process that was asked for, and tells its exit status."""

    def handle(self) -> None:
        _, files, _, _ = socket.recv_fds(self.request, 1, 3)
        asked = json.loads(self.request.makefile("rb").readline())
        assert isinstance(self.server, _Server)
        self.server.socket.close()
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.chdir(asked["folder"])
        sys.argv, sys.path = asked["arguments"], asked["path"]
        for name in [name for name in sys.modules if name.partition(".")[0] == "sentbook"]:
            del sys.modules[name]  # found anew on that path
        threading.Thread(target=self._end_with_client, daemon=True).start()
        self.request.sendall(f"{os.getpid()}\n".encode())
        status = _call(asked["function"])
        threading._shutdown()  # type: ignore[attr-defined]  # as Python does at its end, and multiprocessing's forks do
        atexit._run_exitfuncs()
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
            self.request.sendall(bytes([status]))

    def _end_with_client(self) -> None:
        with suppress(OSError):
            self.request.recv(1)
        os.kill(os.getpid(), signal.SIGTERM)


def _call(function: str) -> int:
    try:
        pkgutil.resolve_name(function)()
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return (stop.code or 0) & 0xFF
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _serve(path: str) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # after the forks, which end with those who asked
    with _Server(path, _Fork) as server:
        while not select.select([server], [], [], 0.5)[0]:
            server.service_actions()
        # The grammar of web addresses that jsonschema would build takes a second; no notebook holds such a format.
        sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
        for name in _IMPORTS:
            with suppress(ImportError):
                import_module(name)
        gc.collect()
        gc.freeze()  # a collection in a fork would touch, and so copy, all that is shared
        import psutil

        if (threads := psutil.Process().num_threads()) > 1:
            print(f"Nothing is forked: imports began {threads} threads; set OMP_NUM_THREADS=1.", file=sys.stderr)
        else:
            server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] != "-m":
        _serve(sys.argv[1])
    else:
        ended = in_fork("ipykernel.kernelapp:launch_new_instance", sys.argv[2:])
        if ended is None:
            os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
        sys.exit(ended)
