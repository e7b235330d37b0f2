"""The batch from outside: what it says and leaves, that the others go on, and that the same command goes on."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
import yaml
from nbformat import v4
from rich.console import Console

from sentbook.runs.batch import grid, screens, stamps, summaries
from sentbook.runs.batch.planning import Step
from sentbook.runs.batch.stamps import BatchError, Job, recorded
from sentbook.system.paths import root

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Notebooks ``toy/one`` and ``toy/two`` in a checkout of their own."""
    for name in ("one", "two"):
        write(tmp_path, name, f"profile + '-{name}'")
    (tmp_path / "params" / "toy").mkdir(parents=True)
    (tmp_path / "params" / "toy" / "demo.yaml").write_text("profile: demo\n")
    pages = [{"file": "book/_executed/toy/one"}, {"file": "book/_executed/toy/two"}]
    toc = {"format": "jb-book", "root": "book/index", "parts": [{"caption": "Toys", "chapters": pages}]}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc))
    shutil.copy(ROOT / "Snakefile", tmp_path)
    monkeypatch.setenv("SENTBOOK_ROOT", str(tmp_path))
    monkeypatch.delenv(stamps.BATCH, raising=False)
    root.cache_clear()
    yield tmp_path
    root.cache_clear()


def write(checkout: Path, name: str, *sources: str) -> Path:
    cells = [v4.new_code_cell(source) for source in ('profile = "demo"', *sources)]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = checkout / "notebooks" / "toy" / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return path


def executed(checkout: Path, name: str) -> Path:
    return checkout / "build" / "executed" / "demo" / "toy" / f"{name}.ipynb"


def states(rows: list[summaries.Row]) -> dict[str, str]:
    return {row.job.name: row.state for row in rows}


def summary(checkout: Path) -> dict[str, str]:
    rows = json.loads((checkout / "build" / "batch" / "demo-summary.json").read_text())
    return {row["job"]: row["state"] for row in rows}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "sentbook.cli", "batch", "notebooks", "--profile", "demo", *arguments]


# -- one batch after the other -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_only_what_changed_is_run_again(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert states(grid.run("demo", 2, targets=["notebooks"])) == {"toy/one": "done", "toy/two": "done"}
    said = capfd.readouterr().out
    assert "2 of 2 jobs are to be done" in said and "toy/one  done" in said
    assert (checkout / "build" / "batch" / "demo.log").read_text().count("toy/two") == 2  # its end, and the table
    kept = executed(checkout, "one").stat().st_mtime_ns
    assert states(grid.run("demo", 2, targets=["notebooks"])) == {"toy/one": "not needed", "toy/two": "not needed"}
    write(checkout, "two", "1 + 1")
    assert states(grid.run("demo", 2, targets=["notebooks"])) == {"toy/one": "not needed", "toy/two": "done"}
    assert executed(checkout, "one").stat().st_mtime_ns == kept
    assert summary(checkout) == {"notebooks/toy/one": "not needed", "notebooks/toy/two": "done"}
    assert nbformat.read(executed(checkout, "two"), 4).cells[-1].outputs[0].data["text/plain"] == "2"


@pytest.mark.slow
def test_a_failure_is_told_kept_and_the_others_go_on(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(checkout, "one", "print('so far')", "1 / 0")
    with pytest.raises(BatchError, match=r"1 of \d jobs failed, .* that need them .* not begun"):
        grid.run("demo", 1)
    said = capfd.readouterr().out
    assert "ZeroDivisionError: division by zero" in said and "----> 1 1 / 0" in said
    found = {job: state for job, state in summary(checkout).items() if not job.startswith("verdicts/")}
    assert found == {"notebooks/toy/one": "failed", "notebooks/toy/two": "done", "book/all": "not begun"}
    partial = nbformat.read(executed(checkout, "one").with_suffix(".failed.ipynb"), 4)
    assert any("so far" in str(cell.get("outputs")) for cell in partial.cells)
    assert not executed(checkout, "one").exists()
    assert "toy/one (demo)" in Job("demo", "notebooks", "toy/one").log.read_text()
    write(checkout, "one", "1 + 1")
    assert states(grid.run("demo", 1, targets=["notebooks"])) == {"toy/one": "done", "toy/two": "not needed"}


@pytest.mark.slow
def test_a_notebook_run_by_hand_is_not_run_again(checkout: Path) -> None:
    by_hand = [sys.executable, "-m", "sentbook.cli", "run", "toy/one", "--no-page"]
    subprocess.run(by_hand, check=True, stdout=subprocess.DEVNULL)
    assert states(grid.run("demo", 1, targets=["notebooks"])) == {"toy/one": "not needed", "toy/two": "done"}


@pytest.mark.slow
def test_what_snakemake_says_is_told_when_no_job_failed(checkout: Path) -> None:
    (checkout / "Snakefile").write_text("1 / 0\n")
    with pytest.raises(BatchError, match=r"(?s)Snakemake stopped before any job failed.*ZeroDivisionError"):
        grid.run("demo", 1)


def test_one_batch_at_a_time(checkout: Path) -> None:
    with grid._alone(), pytest.raises(BatchError, match="Another batch is at work"):
        grid.run("demo", 1)


# -- one that is killed ------------------------------------------------------------------------------------------------


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)


def begun_by(name: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(stamps.BATCH) == name:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.fixture
def waiting(checkout: Path) -> Path:
    """Notebook ``toy/one`` waits for the file that is returned."""
    gate = checkout / "gate"
    write(checkout, "one", f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(.1)")
    return gate


@pytest.mark.slow
@pytest.mark.parametrize("again", [True, False], ids=["and begun again", "and left"])
def test_after_a_kill_nothing_is_left_running_and_the_same_command_goes_on(
    checkout: Path, waiting: Path, again: bool
) -> None:
    job = Job("demo", "notebooks", "toy/one")
    killed = subprocess.Popen(command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    scratch = executed(checkout, "one").parent
    log = checkout / "build" / "batch" / "demo" / "snakemake.log"
    until(lambda: bool(list(scratch.glob(".one.*.ipynb"))) and "Finished jobid" in log.read_text())
    name = stamps.read(job.state)["batch"]
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert begun_by(name)
    if again:
        waiting.touch()
        assert states(grid.run("demo", 2, targets=["notebooks"])) == {"toy/one": "done", "toy/two": "not needed"}
        assert begun_by(name) == []
    else:
        until(lambda: not begun_by(name))
        assert not executed(checkout, "one").exists() and not job.stamp.exists()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_batch_that_is_stopped_stops_its_notebooks(checkout: Path, waiting: Path, how: signal.Signals) -> None:
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\nfrom sentbook import cli\ncli.main()"
    )
    arguments = [sys.executable, "-c", program, *command()[3:], "--jobs", "1"]
    stopped = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until(lambda: bool(list(executed(checkout, "one").parent.glob(".one.*.ipynb"))))
    name = stamps.read(Job("demo", "notebooks", "toy/one").state)["batch"]
    stopped.send_signal(how)
    _, said = stopped.communicate(timeout=60)
    assert stopped.returncode == 130 and "run the same command to go on" in said
    assert begun_by(name) == []
    assert not executed(checkout, "one").exists()


# -- what is said ------------------------------------------------------------------------------------------------------


def test_time_left_is_from_the_last_time(checkout: Path) -> None:
    steps = [Step(Job("demo", "notebooks", f"toy/{name}")) for name in ("one", "two")]
    for step, seconds in zip(steps, (60.0, 20.0), strict=True):
        step.job.stamp.parent.mkdir(parents=True, exist_ok=True)
        step.job.stamp.write_text(json.dumps({"seconds": seconds, "peak_memory_bytes": 3_000_000_000}))
    # The longest, since both run at once.
    assert screens.Screen(steps, steps, 2, checkout / "log").left() == 60
    assert screens.Screen(steps, steps, 1, checkout / "log").left() == 80
    assert steps[0].resources() == {"mem_mb": 6_000, "runtime": 10}


def test_a_terminal_shows_what_is_running(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = stamps.here()
    monkeypatch.setenv(stamps.BATCH, name)
    steps = [Step(Job("demo", "notebooks", "toy/one"))]
    with (checkout / "said").open("w+", encoding="utf-8") as file:
        console = Console(file=file, force_terminal=True, width=100)
        with screens.Screen(steps, steps, 1, checkout / "log", console) as screen:
            with recorded(steps[0].job, {}):
                screen.look(name)
                console.print(screen._picture())
            screen.look(name)
        file.seek(0)
        said = file.read()
    assert "toy/one" in said and "0 of 1 done" in said and "of memory free" in said
    assert "toy/one  done" in (checkout / "log").read_text()
