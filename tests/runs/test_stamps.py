"""A job of the batch from inside: what it leaves however it ends, and that it does not outlive its batch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sentbook.runs.batch import stamps
from sentbook.runs.batch.stamps import BatchError, Job, recorded
from sentbook.system.errors import DataError
from sentbook.system.paths import root

JOB = Job("demo", "notebooks", "toy/one")


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "params").mkdir()
    (tmp_path / "_toc.yml").write_text("root: book/index\n")
    monkeypatch.setenv("SENTBOOK_ROOT", str(tmp_path))
    monkeypatch.delenv(stamps.BATCH, raising=False)
    root.cache_clear()
    yield tmp_path
    root.cache_clear()


@pytest.fixture
def dead() -> str:
    """The name of a batch that has ended."""
    process = subprocess.Popen([sys.executable, "-c", "from sentbook.runs.batch import stamps; print(stamps.here())"],
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    return process.communicate()[0].strip()


def test_a_job_that_ends_well_leaves_what_it_was_made_from() -> None:
    with recorded(JOB, {"params/toy/demo.yaml": "1"}) as facts:
        assert stamps.read(JOB.state)["state"] == "running"
        facts["data"] = {"eval/x": "2"}
    stamp = stamps.read(JOB.stamp)
    assert stamp["sources"] == {"params/toy/demo.yaml": "1"} and stamp["data"] == {"eval/x": "2"}
    assert stamp["peak_memory_bytes"] > 1e6
    assert stamps.read(JOB.state)["state"] == "done"
    assert stamps.last(JOB) == {"seconds": stamp["seconds"], "peak_memory_bytes": stamp["peak_memory_bytes"]}


def test_a_job_that_fails_leaves_its_sentence_and_no_stamp() -> None:
    with recorded(JOB, {}):
        pass
    before = stamps.last(JOB)
    with pytest.raises(DataError), recorded(JOB, {}):
        raise DataError("SICK is missing; fetch it.")
    assert stamps.read(JOB.stamp) is None
    assert stamps.read(JOB.state)["state"] == "failed"
    assert stamps.read(JOB.state)["error"] == "SICK is missing; fetch it."
    assert stamps.last(JOB) == before  # what the next time is expected to take


def test_a_bug_leaves_its_name() -> None:
    with pytest.raises(ZeroDivisionError), recorded(JOB, {}):
        1 / 0  # noqa: B018
    assert stamps.read(JOB.state)["error"] == "ZeroDivisionError: division by zero"


def test_half_a_stamp_is_none() -> None:
    JOB.stamp.parent.mkdir(parents=True)
    JOB.stamp.write_text('{"sources": {')
    assert stamps.read(JOB.stamp) is None


def test_snakemake_gets_its_copy(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stamps.STAMP, str(checkout / "elsewhere" / "one.json"))
    with recorded(JOB, {}):
        pass
    assert (checkout / "elsewhere" / "one.json").read_text() == JOB.stamp.read_text()


# -- batches that end --------------------------------------------------------------------------------------------------


def test_a_process_is_known_by_its_beginning(dead: str) -> None:
    assert stamps.alive(stamps.here())
    assert not stamps.alive(dead)
    machine, _, began = dead.rsplit(":", 2)
    assert not stamps.alive(f"{machine}:{os.getpid()}:{began}")  # the number was given out again
    assert stamps.alive("another-machine:1:0.00")
    assert stamps.alive(None)


def test_a_job_of_a_dead_batch_does_not_begin(dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stamps.BATCH, dead)
    with pytest.raises(BatchError, match="has ended"), recorded(JOB, {}):
        raise AssertionError("it began")
    assert stamps.read(JOB.state) is None


OWNER = """
import os, subprocess, sys, time
from sentbook.batch import stamps
job = "import time\\nfrom sentbook.runs.batch.stamps import Job, recorded\\n" \\
      "with recorded(Job('demo', 'notebooks', 'toy/one'), {}): time.sleep(300)"
subprocess.Popen([sys.executable, "-c", job], env={**os.environ, stamps.BATCH: stamps.here()})
time.sleep(300)
"""


def test_a_job_stops_when_its_batch_is_killed() -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stderr=subprocess.DEVNULL)
    until(lambda: (stamps.read(JOB.state) or {}).get("state") == "running")
    worker = psutil.Process(stamps.read(JOB.state)["process"])
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert psutil.wait_procs([worker], timeout=30)[1] == []
    assert stamps.read(JOB.state)["state"] == "stopped"
    assert not JOB.stamp.exists()


def test_all_that_a_batch_began_is_ended() -> None:
    environment = {**os.environ, stamps.BATCH: "this-test"}
    sleep = [sys.executable, "-c", "import time; time.sleep(300)"]
    mine = [subprocess.Popen(sleep, env=environment, start_new_session=True) for _ in range(2)]
    other = subprocess.Popen(sleep, env={**os.environ, stamps.BATCH: "another"})
    try:
        until(lambda: all(psutil.Process(process.pid).environ() for process in mine))
        assert stamps.sweep("this-test") == 2
        assert not any(psutil.pid_exists(process.pid) for process in mine)
        for process in mine:
            process.wait()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)
