"""What outlives papermill, to clean up behind it: a kernel's parent, and its runtime folder's keeper.

    kernel_guard.py FD FOLDER [COMMAND...]

FD is a pipe whose other end papermill holds: it closes when papermill ends, by a ``kill -9`` too. Then FOLDER is
removed. COMMAND, a kernel's, is run in a process group of its own, and stopped when the pipe closes; when it has ended,
so is the rest of its group. The keeper without a COMMAND is started before the folder is made, so that there is no
moment at which a kill would leave the folder behind.

It is run as a file by a bare interpreter, so that it starts in 20 ms: standard library alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time

# Seconds that a kernel's own processes have to tidy up, at each signal.
_PATIENCE = 2.0


def _end(group: int) -> None:
    """Stop what is left of a process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + _PATIENCE
        try:
            os.killpg(group, number)
            while time.monotonic() < until:
                time.sleep(0.02)
                os.killpg(group, 0)
        except ProcessLookupError:
            return


def _run(holder: int, command: list[str]) -> int:
    # The kernel watches this process as this one watches papermill.
    kernel = subprocess.Popen(command, env={**os.environ, "JPY_PARENT_PID": str(os.getpid())}, process_group=0)

    def forward(number: int, frame: object) -> None:
        kernel.send_signal(number)
        if number == signal.SIGTERM:  # and no answer: whoever waits for the end would next kill the guard
            threading.Timer(_PATIENCE / 2, kernel.kill).start()

    signal.signal(signal.SIGINT, forward)
    signal.signal(signal.SIGTERM, forward)

    def watch() -> None:
        os.read(holder, 1)
        kernel.kill()

    threading.Thread(target=watch, daemon=True).start()
    code = kernel.wait()
    _end(kernel.pid)
    return code if code >= 0 else 128 - code


def main(holder: int, folder: str, command: list[str]) -> int:
    """The command's exit code."""
    code = 0
    if command:
        code = _run(holder, command)
    else:
        for number in (signal.SIGINT, signal.SIGTERM):  # papermill gets them too, and ends before its folder
            signal.signal(number, signal.SIG_IGN)
        os.read(holder, 1)
    shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))  # without waiting for a timer
