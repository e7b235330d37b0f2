"""Kernels side by side: each alone in its folder, started again where the start fails, and gone after the run."""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import psutil
import pytest
from jupyter_core.utils import run_sync
from nbformat import v4
from papermill.engines import papermill_engines

from sentbook.runs import kernels
from sentbook.runs.kernels import Engine, Kernel, KernelStartError, start, start_once, started, transport

PAPERMILL = [sys.executable, "-m", "papermill", "--engine", "sentbook", "--no-progress-bar", "--log-level", "ERROR"]


@pytest.fixture
def place() -> Iterator[Path]:
    """A short folder in which all runtime folders of a test are made; it must be empty in the end."""
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp") as folder:
        yield Path(folder)
        assert_gone(folder)


def assert_gone(folder: str, patience: float = 8.0) -> None:
    """No runtime folder in ``folder``, and no process whose command names one, now or soon."""
    until = time.monotonic() + patience
    while (left := [*glob.glob(f"{folder}/sentbook-*"), *of_folder(folder)]) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


def of_folder(folder: str) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        command = process.info["cmdline"] or []
        if any(part.startswith(f"{folder}/sentbook-") for part in command) and process.info["status"] != "zombie":
            found.append(f"{process.pid} {' '.join(command)}")
    return found


def write(file: Path, *sources: str) -> Path:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [v4.new_code_cell(source) for source in sources]
    nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), file)
    return file


def papermill(source: Path, place: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PAPERMILL, str(source), str(source.with_suffix(".out.ipynb"))],
        env={**os.environ, "TMPDIR": str(place), **environment}, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def wait_for(file: Path, process: subprocess.Popen[str]) -> str:
    """The content of a file that a notebook writes."""
    until = time.monotonic() + 60
    while not file.is_file() or not file.read_text().endswith("\n"):
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.02)
    return file.read_text()


# -- the start ---------------------------------------------------------------------------------------------------------


class Failing:
    """In place of `start_once`: fails so many times."""

    def __init__(self, times: int, error: Exception) -> None:
        self.times, self.error, self.calls = times, error, 0

    def __call__(self, name: str, patience: float) -> Kernel:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return "a kernel"  # type: ignore[return-value]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(kernels, "say", lines.append)
    monkeypatch.setattr(kernels.time, "sleep", lambda seconds: None)
    return lines


@pytest.mark.parametrize("error", [RuntimeError("Kernel died before replying."), OSError("Address in use")])
def test_a_start_that_fails_once_is_tried_again_and_said(said: list[str], error: Exception) -> None:
    once = Failing(1, error)
    assert start("python3", once=once) == "a kernel"
    assert once.calls == 2
    reason = str(error).rstrip(".")
    assert said == [f"the kernel 'python3' did not start, attempt 1 of 3 ({reason})"]


def test_a_start_that_always_fails_is_one_sentence(said: list[str]) -> None:
    once = Failing(99, RuntimeError("Kernel didn't respond\nin 60 seconds"))
    with pytest.raises(KernelStartError, match=r"^The kernel 'python3' did not start in 3 attempts \(Kernel didn't"):
        start("python3", once=once)
    assert once.calls == 3
    assert [line.partition(" (")[0][-6:] for line in said] == ["1 of 3", "2 of 3", "3 of 3"]
    assert all("Kernel didn't respond in 60 seconds)" in line for line in said)


def test_a_mistake_is_not_tried_again(said: list[str]) -> None:
    with pytest.raises(KeyError):
        start("python3", once=Failing(99, KeyError("no such kernel")))
    assert said == []


@pytest.fixture
def own_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def test_a_kernel_that_dies_at_its_start(own_place: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    monkeypatch.setattr(kernels._Manager, "format_kernel_cmd", lambda self, extra_arguments: [*self.guard, "false"])
    with pytest.raises(KernelStartError, match="did not start in 3 attempts"):
        start("python3", 20.0)
    assert len(said) == 3
    assert_gone(str(own_place))


def test_a_kernel_that_never_answers(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(kernels._Manager, "format_kernel_cmd", lambda self, extra_arguments: [*self.guard, *sleep])
    with pytest.raises(RuntimeError, match="respond"):
        start_once("python3", 1.0)
    assert_gone(str(own_place))


def test_a_kernel_alone_in_its_folder(own_place: Path) -> None:
    with started("python3") as first, started("python3") as second:
        folders = [Path(manager.connection_file).parent for manager in (first, second)]
        assert len(set(folders)) == 2
        assert all(folder.parent == own_place and folder.stat().st_mode & 0o077 == 0 for folder in folders)
        assert first.transport == second.transport == "ipc"
        groups = {os.getpgid(manager.provisioner.pid) for manager in (first, second)}
        assert len(groups | {os.getpgid(0)}) == 3
        assert run_sync(first.is_alive)() and run_sync(second.is_alive)()
    assert list(own_place.iterdir()) == []


def test_long_temporary_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses of sockets have a hundred characters; without a short folder ports do."""
    deep = tmp_path / ("d" * 80)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert kernels._folder_name().parent == Path("/tmp")
    monkeypatch.setattr(kernels, "_folder_name", lambda: deep / "kernel")
    assert transport(deep) == "tcp"
    with started("python3") as manager:
        assert manager.transport == "tcp"
    assert list(deep.iterdir()) == []


# -- papermill ---------------------------------------------------------------------------------------------------------


def test_papermill_finds_the_engine() -> None:
    assert papermill_engines.get_engine("sentbook") is Engine


def test_no_cell_is_run_twice_and_failures_are_papermills(place: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    once = f"with open({str(count)!r}, 'a') as file: file.write('x')"
    source = write(tmp_path / "a.ipynb", once, "1 / 0", once)
    process = papermill(source, place)
    _, log = process.communicate()
    assert process.returncode == 1
    assert "ZeroDivisionError" in log
    assert count.read_text() == "x"
    outputs = nbformat.read(source.with_suffix(".out.ipynb"), as_version=4)
    assert any(output.output_type == "error" for cell in outputs.cells for output in cell.get("outputs", []))


def test_a_kernel_that_dies_in_a_cell_is_not_started_again(place: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    die = f"with open({str(count)!r}, 'a') as file: file.write('x')\nimport os; os.kill(os.getpid(), 9)"
    process = papermill(write(tmp_path / "a.ipynb", die), place)
    _, log = process.communicate()
    assert process.returncode != 0
    assert "DeadKernelError" in log
    assert count.read_text() == "x"


STUBBORN = """
import os, signal, subprocess, sys, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
thread = threading.Thread(target=time.sleep, args=(99,))
thread.start()
"""


def test_a_kernel_that_does_not_want_to_end_is_ended(place: Path, tmp_path: Path) -> None:
    process = papermill(write(tmp_path / "a.ipynb", STUBBORN), place)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert_gone(str(place), patience=0.5)


# A kernel with a child of its own, as trainings side by side are.
BUSY = """
import os, subprocess, time
child = subprocess.Popen(["sleep", "99"])
with open({file!r}, "w") as file:
    print(os.getpid(), child.pid, file=file)
time.sleep(99)
"""


WAYS = ["kill -9 of papermill", "kill -9 of its group", "kill", "kill of all at once", "kill -9 of the guard"]


@pytest.mark.parametrize("how", WAYS)
def test_nothing_outlives_a_killed_papermill(place: Path, tmp_path: Path, how: str) -> None:
    pids = tmp_path / "pids"
    process = papermill(write(tmp_path / "a.ipynb", BUSY.format(file=str(pids))), place)
    kernel, child = map(int, wait_for(pids, process).split())
    guard = psutil.Process(kernel).ppid()
    if how == "kill -9 of papermill":
        process.kill()
    elif how == "kill -9 of its group":
        os.killpg(process.pid, signal.SIGKILL)
    elif how == "kill":
        process.terminate()
    elif how == "kill of all at once":
        for one in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
            one.terminate()
    else:
        os.kill(guard, signal.SIGKILL)
    assert process.wait(30) != 0
    assert_gone(str(place))
    until = time.monotonic() + 5
    while psutil.pid_exists(kernel) and time.monotonic() < until:
        time.sleep(0.05)
    assert not psutil.pid_exists(kernel)
    if how == "kill -9 of the guard":  # nobody is left to end the kernel's own processes
        os.kill(child, signal.SIGKILL)
    process.communicate(timeout=10)  # which waits for all that could still write


def test_a_kill_before_the_kernel_answers(place: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "a.ipynb", "1 + 1")
    for moment, delay in (("sentbook-*", 0.0), ("sentbook-*/kernel.json", 0.0), ("sentbook-*/kernel.json", 0.3)):
        process = papermill(source, place)
        until = time.monotonic() + 60
        while not list(place.glob(moment)):
            assert time.monotonic() < until
            time.sleep(0.002)
        time.sleep(delay)
        process.kill()
        process.communicate()
        assert_gone(str(place))


def test_papermill_does_not_outlive_who_waits_for_it(place: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    source = write(tmp_path / "a.ipynb", BUSY.format(file=str(pids)))
    command = [*PAPERMILL, str(source), str(tmp_path / "b.ipynb")]
    changes = f"{{'TMPDIR': {str(place)!r}, {kernels.PARENT!r}: str(os.getpid())}}"
    waiting = f"import os, subprocess; subprocess.run({command!r}, env={{**os.environ, **{changes}}})"
    process = subprocess.Popen([sys.executable, "-c", waiting], stderr=subprocess.PIPE, text=True)
    kernel = int(wait_for(pids, process).split()[0])
    papermills = psutil.Process(process.pid).children()
    assert len(papermills) == 1
    process.kill()
    process.communicate()
    assert_gone(str(place))
    assert not psutil.pid_exists(kernel)
    psutil.wait_procs(papermills, timeout=5)
    assert not papermills[0].is_running() or papermills[0].status() == "zombie"


def test_following_a_parent_that_is_gone_already() -> None:
    ended = threading.Event()
    kernels.follow(os.getpid(), every=0.01, end=ended.set)  # this process's parent is another one
    assert ended.wait(5)


# -- side by side ------------------------------------------------------------------------------------------------------


def side_by_side(number: int, place: Path, folder: Path) -> None:
    """So many notebooks four at a time; each must end well with its own number."""
    sources = [write(folder / f"{at}.ipynb", f"value = {at}", "value ** 2") for at in range(number)]

    def run(source: Path) -> tuple[int | None, str]:
        process = papermill(source, place)
        log = process.communicate(timeout=300)[1]
        return process.returncode, log

    with ThreadPoolExecutor(4) as pool:
        for at, (source, (code, log)) in enumerate(zip(sources, pool.map(run, sources), strict=True)):
            # ipykernel may complain while it shuts down, when all cells are done.
            assert code == 0 and "did not start" not in log, (source, log)  # not one start had to be tried again
            [output] = nbformat.read(source.with_suffix(".out.ipynb"), as_version=4).cells[1].outputs
            assert output.data["text/plain"] == str(at**2)


@pytest.mark.slow
def test_twelve_notebooks_four_at_a_time(place: Path, tmp_path: Path) -> None:
    side_by_side(12, place, tmp_path)


@pytest.mark.long
def test_fifty_notebooks_four_at_a_time(place: Path, tmp_path: Path) -> None:
    side_by_side(50, place, tmp_path)
