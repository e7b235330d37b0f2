"""The batch on a toy checkout: what changed runs again and nothing else; a kill costs no more than it must."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COUNT = "with open({note!r}, 'a') as file:\n    file.write('{name} ')"


@pytest.fixture
def note(checkout: Path, write: Callable[..., Path]) -> Path:
    """A file in which each notebook of the checkout leaves its name when it runs."""
    (checkout / "an environment").symlink_to(sys.prefix)  # as of a checkout whose path has a space
    for name in ("one", "two"):
        write(name, COUNT.format(note=str(checkout / "note"), name=name))
    return checkout / "note"


def ran(note: Path, *arguments: str, target: str = "notebooks", code: int = 0) -> tuple[str, str]:
    """Call the batch; return which notebooks ran, and what was said."""
    note.write_text("")
    command = [f"{note.parent}/an environment/bin/python", "-m", "sentbook.cli", "batch", target, *arguments]
    done = subprocess.run(command, cwd=note.parent, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join(sorted(note.read_text().split())), done.stdout + done.stderr


@pytest.mark.slow
def test_what_changed_runs_again_and_nothing_else(checkout: Path, note: Path, write: Callable[..., Path]) -> None:
    code = checkout / "lib" / "sentbook" / "toy.py"
    code.write_text("X = 1\n")
    assert ran(note)[0] == "one two"
    code.write_text('"""A docstring."""\n\nX = 1  # a comment\n')
    assert ran(note)[0] == ""
    code.write_text("X = 2\n")
    found, said = ran(note, "--executor", "slurm", "-n")  # a cluster gets the same jobs
    assert found == "" and "toy/one" in said and "toy/two" in said
    assert ran(note, target="toy/one")[0] == "one"
    write("one", COUNT.format(note=str(note), name="one") + "\n1")
    assert ran(note)[0] == "one two"
    (checkout / "build" / "executed" / "demo" / "toy" / "two.ipynb").unlink()
    assert ran(note)[0] == "two"
    (checkout / "params" / "toy" / "demo.yaml").write_text("profile: demo\nseeds: [2]\n")
    assert ran(note)[0] == "one two"
    assert "'toy/three' is no page, paper or level" in ran(note, target="toy/three", code=1)[1]


@pytest.mark.slow
def test_a_failure_leaves_the_others_running(checkout: Path, note: Path, write: Callable[..., Path]) -> None:
    write("one", "1 / 0")
    found, said = ran(note, "--jobs", "1", code=1)
    assert found == "two" and "ZeroDivisionError: division by zero" in said
    assert (checkout / "build" / "executed" / "demo" / "toy" / "one.failed.ipynb").is_file()
    write("one", COUNT.format(note=str(note), name="one"))
    assert ran(note)[0] == "one"
    assert not (checkout / "build" / "executed" / "demo" / "toy" / "one.failed.ipynb").exists()


@pytest.mark.slow
def test_after_a_kill_the_same_command_goes_on(checkout: Path, note: Path, write: Callable[..., Path]) -> None:
    write("one", COUNT.format(note=str(note), name="one") + "\nimport time\ntime.sleep(60)")
    command = [sys.executable, "-m", "sentbook.cli", "batch", "notebooks", "--jobs", "2"]
    process = subprocess.Popen(command, cwd=checkout, stdout=-3, stderr=-3, start_new_session=True)
    ended, until = checkout / "build" / "executed" / "demo" / "toy" / "two.ipynb", time.monotonic() + 120
    while not (ended.is_file() and "one" in note.read_text()):
        assert time.monotonic() < until
        time.sleep(0.1)
    time.sleep(1)
    assert "Another batch is at work in this checkout" in ran(note, code=1)[1]
    process.kill()
    process.wait()
    write("one", COUNT.format(note=str(note), name="one"))
    assert ran(note)[0] == "one"
    os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_the_whole_grid_is_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snakemake plans every profile: encoders before pages, pages before the book, searches of hours only by name."""
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "2", "--forceall", "--config"]
    pages, searches = len(list(ROOT.glob("notebooks/*/*.ipynb"))), len(list(ROOT.glob("notebooks/*/tuning.ipynb")))
    refused = subprocess.run([*command, "profile=small", "targets=book"], cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode and "The book needs every page" in refused.stdout + refused.stderr
    (tmp_path / "coco").mkdir()
    monkeypatch.setenv("SENTBOOK_ORIGINALS", str(tmp_path))
    for options, encoders, notebooks, book in (
        (["profile=demo"], 4, pages, True),
        (["profile=small"], 20, pages - searches, False),
        (["profile=small", "targets=searches,book"], 20, pages, True),
        (["profile=small", "targets=cse/tuning"], 5, 1, False),
    ):
        done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=True)
        counts = dict(line.split() for line in done.stdout.splitlines() if len(line.split()) == 2)
        assert counts["encoder"] == str(encoders) and ("book" in counts) == book
        assert int(counts["notebook"]) == notebooks
