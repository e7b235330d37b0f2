"""One notebook, executed: whole at its place or in part beside it, and killed without leaving anything behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import psutil
import pytest

from sentbook.runs import execute
from sentbook.runs.execute import NotebookError, executed_path, failed_path


def shown(path: Path) -> str:
    return nbformat.read(path, as_version=4).cells[-1].outputs[0].data["text/plain"]


@pytest.mark.slow
def test_a_notebook_is_run_with_its_parameters_and_says_each_line_once(
    checkout: Path, write: Callable[..., Path], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of other processes too, such as those of trainings side by side. Small numbers stay numbers."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # with it, ipykernel leaves other processes' lines alone
    lines = "import os, time\nprint('epoch 1')\nos.system('echo epoch 2')\ntime.sleep(0.5)", "profile['decay'] * 2"
    source = write("one", *lines)
    execute.execute(source, "demo", {"profile": {"decay": 1e-05}}, show=True)
    assert shown(executed_path(source, "demo")) == "2e-05"
    out = capfd.readouterr().out
    assert (out.count("epoch 1"), out.count("epoch 2")) == (1, 1)
    assert [path.name for path in executed_path(source, "demo").parent.glob("[!.]*")] == ["one.ipynb"]


@pytest.mark.slow
def test_a_failure_is_told_and_keeps_the_last_good_output(checkout: Path, write: Callable[..., Path]) -> None:
    good = executed_path(checkout / "notebooks" / "toy" / "one.ipynb", "demo")
    good.parent.mkdir(parents=True)
    good.write_text("good")
    mistake = "from sentbook.system.errors import DataError\nraise DataError('SICK is missing; fetch it.')"
    for cell, words, kept in (
        ("1 / 0", "ZeroDivisionError: division by zero", True),
        (mistake, "Notebook toy/one failed: SICK is missing; fetch it.", True),
        ("import os\nos._exit(1)", "Kernel died", False),
    ):
        source = write("one", cell)
        with pytest.raises(NotebookError) as caught:
            execute.execute(source, "demo", {})
        assert str(caught.value).startswith("Notebook toy/one failed: ") and words in str(caught.value)
        assert "\x1b" not in str(caught.value)
        assert failed_path(source, "demo").is_file() or not kept
        assert good.read_text() == "good"


@pytest.mark.slow
def test_a_run_with_changed_parameters_does_not_become_the_profiles(checkout: Path, write: Callable[..., Path]) -> None:
    source = write("one", "profile")
    assert execute.run(source, "demo", {"profile": "demo", "margin": 0.6}) == "custom"
    assert not executed_path(source, "demo").exists()
    assert executed_path(source, "custom").exists()


def start(checkout: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sentbook.cli", "run", "toy/one", "--no-page"]
    return subprocess.Popen(command, cwd=checkout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition: Callable[[], object], patience: float = 30.0) -> None:
    until = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_leaves_no_kernel_and_the_next_waits_for_its_end(
    checkout: Path, write: Callable[..., Path], how: signal.Signals
) -> None:
    """A kernel that is busy when its parent is killed has a moment yet; what comes next is written after it."""
    note = checkout / "note"
    busy = f"import os, time\nopen({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    write("one", busy)
    process = start(checkout)
    wait_for(lambda: note.is_file() and note.read_text())
    kernel = psutil.Process(int(note.read_text()))
    folders = {Path(name) for name in kernel.environ().values() if "/sentbook-" in name and "ipython" not in name}
    process.send_signal(how)
    process.wait(30)
    ended = f"not psutil.pid_exists({kernel.pid}) or psutil.Process({kernel.pid}).status() == 'zombie'"
    source = write("one", f"import psutil\n{ended}")
    execute.execute(source, "demo", {})
    assert shown(executed_path(source, "demo")) == "True"
    assert folders and not any(folder.exists() for folder in folders)
    assert not list(executed_path(source, "demo").parent.glob(".*.ipynb"))


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
