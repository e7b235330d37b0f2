"""A batch of toys through a real SLURM of one node on this machine: a job that is cancelled, and the batch resumed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]
NODE = str(HERE / "tools" / "slurm_node.sh")
COUNT = "with open({note!r}, 'a') as file:\n    file.write('{name} ')\n"


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The node, while the test works."""
    if missing := [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name) is None]:
        pytest.skip(f"needs {', '.join(missing)}: Debian's slurmctld, slurmd, slurm-client and munge")
    if os.getuid() or Path("/etc/slurm/slurm.conf").exists():
        pytest.skip("needs root, and a machine that belongs to no cluster")
    folder = str(tmp_path_factory.mktemp("node"))
    # Its daemons keep what they inherit: no pipe, which would never end.
    subprocess.run([NODE, "start", folder], check=True, timeout=60, stdout=subprocess.DEVNULL)
    yield
    subprocess.run([NODE, "stop", folder], check=True, timeout=60)


@pytest.mark.long
def test_a_cancelled_job_fails_alone_and_the_same_command_goes_on(
    checkout: Path, write: Callable[..., Path], node: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(HERE / "lib"))
    note = checkout / "note"
    note.write_text("")
    command = [sys.executable, "-m", "sentbook.cli", "batch", "notebooks", "--executor", "slurm", "--jobs", "2"]
    write("one", COUNT.format(note=str(note), name="one") + "import time\ntime.sleep(600)")
    write("two", COUNT.format(note=str(note), name="two"))
    log = checkout / "batch.log"
    with log.open("w") as file:
        batch = subprocess.Popen(command, cwd=checkout, stdout=file, stderr=file)
        until = time.monotonic() + 300
        while set(note.read_text().split()) != {"one", "two"}:
            assert time.monotonic() < until and batch.poll() is None, log.read_text()
            time.sleep(0.5)
        time.sleep(5)  # the job of the other one ends
        subprocess.run(["scancel", "--state", "RUNNING", "--user", "root"], check=True)
        assert batch.wait(300) == 9, log.read_text()
    done = checkout / "build" / "batch" / "demo" / "notebooks" / "toy"
    assert sorted(path.name for path in done.glob("*.done")) == ["two.done"]
    write("one", COUNT.format(note=str(note), name="again"))
    ended = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert sorted(note.read_text().split()) == ["again", "one", "two"]
    assert sorted(path.name for path in done.glob("*.done")) == ["one.done", "two.done"]
