"""One notebook, executed: whole at its place or in part beside it, and killed without leaving anything behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import nbformat
import psutil
import pytest

from sentbook.io import DataError
from sentbook.runs import execute, forkserver
from sentbook.runs.execute import NotebookError, executed_path, failed_path


def shown(path: Path) -> str:
    return nbformat.read(path, as_version=4).cells[-1].outputs[0].data["text/plain"]


@pytest.mark.slow
def test_a_notebook_is_run_with_its_parameters_and_says_each_line_once(
    checkout: Path, write: Callable[..., Path], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of other processes too, such as those of trainings side by side. Small numbers stay numbers."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # with it, ipykernel leaves other processes' lines alone
    lines = (
        "import os, time\nprint('epoch 1')\nos.system('echo epoch 2')\ntime.sleep(0.5)",
        "profile['decay'] * 2, os.environ['SENTBOOK_NOTEBOOK']",
    )
    source = write("one", *lines)
    execute.execute(source, "demo", {"profile": {"decay": 1e-05}}, show=True)
    assert shown(executed_path(source, "demo")).split() == ["(2e-05,", f"{str(source)!r})"]
    out = capfd.readouterr().out
    assert (out.count("epoch 1"), out.count("epoch 2")) == (1, 1)
    assert [path.name for path in executed_path(source, "demo").parent.glob("[!.]*")] == ["one.ipynb"]


@pytest.mark.slow
def test_a_failure_is_told_and_keeps_the_last_good_output(checkout: Path, write: Callable[..., Path]) -> None:
    good = executed_path(checkout / "notebooks" / "toy" / "one.ipynb", "demo")
    good.parent.mkdir(parents=True)
    good.write_text("good")
    mistake = "from sentbook.io import DataError\nraise DataError('SICK is missing; fetch it.')"
    for cell, words, kept, code in (
        ("1 / 0", "ZeroDivisionError: division by zero", True, 8),
        (mistake, "Notebook toy/one failed: SICK is missing; fetch it.", True, DataError.exit_code),
        ("import torch\ntorch.zeros(10**9, 10**6)", "failed: This does not fit in memory ([enforce fail", True, 5),
        ("import os\nos._exit(1)", "its kernel was killed, most often for want of memory", False, 8),
    ):
        source = write("one", cell)
        with pytest.raises(NotebookError) as caught:
            execute.execute(source, "demo", {})
        assert str(caught.value).startswith("Notebook toy/one failed: ") and words in str(caught.value)
        assert "\x1b" not in str(caught.value) and caught.value.exit_code == code
        assert failed_path(source, "demo").is_file() or not kept
        assert good.read_text() == "good"


@pytest.mark.slow
def test_what_a_kernel_logs_when_told_to_end_is_not_shown(
    checkout: Path, write: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    cell = "import atexit, os\nos.write(2, b'heard ')\natexit.register(os.write, 2, b'sockets are closed')"
    execute.execute(write("one", cell), "demo", {})
    assert capfd.readouterr().err == "heard "


@pytest.mark.slow
def test_a_run_with_changed_parameters_does_not_become_the_profiles(checkout: Path, write: Callable[..., Path]) -> None:
    source = write("one", "profile")
    kinds = [execute.run(source, "demo", {"profile": "demo", "margin": margin}) for margin in (0.6, 0.8)]
    assert not executed_path(source, "demo").exists()
    # Two readers with changes of their own do not overwrite each other.
    assert len(set(kinds)) == 2 and all(executed_path(source, kind).exists() for kind in kinds)


def start(checkout: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sentbook.cli", "run", "toy/one", "--no-page"]
    return subprocess.Popen(command, cwd=checkout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition: Callable[[], object], patience: float = 120.0) -> None:
    until = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("server", [nullcontext, forkserver.served])
def test_a_killed_run_leaves_no_kernel_and_the_next_waits_for_its_end(
    checkout: Path, write: Callable[..., Path], how: signal.Signals, server: Callable[[], AbstractContextManager[None]]
) -> None:
    """A kernel that is busy when its parent is killed has a moment yet; what comes next is written after it."""
    note = checkout / "note"
    told = "os.getpid(), os.getppid(), os.environ['JUPYTER_RUNTIME_DIR']"
    busy = f"import os, time\nprint({told}, file=open({str(note)!r}, 'w'))\ntime.sleep(60)"
    write("one", busy)
    with server():
        process = start(checkout)
        wait_for(lambda: note.is_file() and note.read_text())
        kernel, parent, folder = note.read_text().split()
        asked = os.environ.get(forkserver.ADDRESS, f"{process.pid}:").split(":")[0]
        assert parent == asked  # a fork of the server, where there is one
        process.send_signal(how)
        process.wait(60)
        ended = f"not psutil.pid_exists({kernel}) or psutil.Process({kernel}).status() == 'zombie'"
        source = write("one", f"import psutil\n{ended}")
        execute.execute(source, "demo", {})
        assert shown(executed_path(source, "demo")) == "True"
        assert not Path(folder).exists()
        assert not list(executed_path(source, "demo").parent.glob(".*.ipynb"))


@pytest.mark.slow
def test_a_command_in_a_fork_is_the_command(checkout: Path) -> None:
    """Its files, its folder and its exit status; and without a server that answers it runs as ever."""
    command = [sys.executable, "-m", "sentbook.cli", "run", "toy/none"]

    def call() -> tuple[int, str]:
        ended = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    alone = call()
    with forkserver.served():
        server = psutil.Process(int(os.environ[forkserver.ADDRESS].split(":")[0]))
        assert call() == alone
        assert server.memory_info().rss > 200e6  # it was asked, and has imported what notebooks do
        server.kill()
        assert call() == alone
    assert alone[0] == 2 and "There is no notebook 'toy/none'" in alone[1]


@pytest.mark.long
def test_twelve_kernels_start_at_once(checkout: Path, write: Callable[..., Path]) -> None:
    sources = [write(f"n{number}", f"{number}") for number in range(12)]
    command = "import sys; from pathlib import Path; from sentbook.runs import execute; "
    command += "execute.execute(Path(sys.argv[1]), 'demo', {})"

    def call(source: Path) -> int:
        return subprocess.run([sys.executable, "-c", command, source], cwd=checkout, check=False).returncode

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(call, sources)) == [0] * 12
    assert [shown(executed_path(source, "demo")) for source in sources] == [str(number) for number in range(12)]
    assert os.environ.get("SENTBOOK_HELD") is None
