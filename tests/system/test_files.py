"""Half files go with who wrote them, and one process at a time works in a folder."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sentbook.system.errors import StorageError
from sentbook.system.files import alone, beside, replacing


def dead() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "a.json"
    with replacing(file) as temporary:
        temporary.write_text("one")
        assert not file.exists()
    with pytest.raises(RuntimeError), replacing(file) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert file.read_text() == "one"
    assert list(file.parent.iterdir()) == [file]


def test_what_killed_processes_left_goes_and_nothing_else(tmp_path: Path) -> None:
    machine = platform.node()
    left = tmp_path / f".a.json.{machine}-{dead()}.tmp"
    others = [
        tmp_path / f".a.json.{machine}-{os.getppid()}.tmp",  # of a process that runs
        tmp_path / f".a.json.another-{dead()}.tmp",  # of a machine that cannot be asked
        tmp_path / f".b.json.{machine}-{dead()}.tmp",  # of another file
        tmp_path / f".a.json.{machine}-copy.tmp",
        tmp_path / "a.json.tmp",
    ]
    for path in (left, *others):
        path.write_text("half")
    with replacing(tmp_path / "a.json") as temporary:
        temporary.write_text("whole")
    assert sorted(tmp_path.iterdir()) == sorted([*others, tmp_path / "a.json"])


def test_names_that_a_pattern_would_read_otherwise(tmp_path: Path) -> None:
    name = f".a[b]*.{platform.node()}-{dead()}.ipynb"
    (tmp_path / name).write_text("half")
    found = beside(tmp_path / "a[b]*", ".ipynb")
    assert found.name == f".a[b]*.{platform.node()}-{os.getpid()}.ipynb"
    assert list(tmp_path.iterdir()) == []


HOLD = """
import sys, time
from pathlib import Path
from sentbook.system.files import alone
with alone(Path(sys.argv[1])):
    print("held", flush=True)
    (Path(sys.argv[1]) / ".x.another-1.tmp").write_text("half")
    time.sleep(60)
"""


def test_a_folder_is_free_again_after_a_kill_and_its_half_files_go(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "key")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        lines: list[str] = []
        entered = threading.Event()

        def enter() -> None:
            with alone(tmp_path / "key", report=lines.append):
                entered.set()

        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(0.5)
        process.kill()
        assert entered.wait(10)
        thread.join()
    assert lines == [f"waiting for another process, which works on the same in {tmp_path / 'key'}"]
    assert [path.name for path in (tmp_path / "key").iterdir()] == ["lock"]


def test_a_folder_alone_says_nothing_and_lets_go(tmp_path: Path) -> None:
    lines: list[str] = []
    for _ in range(2):
        with alone(tmp_path / "key", report=lines.append):
            pass
    with pytest.raises(RuntimeError, match="inside"), alone(tmp_path / "key", report=lines.append):
        raise RuntimeError("inside")
    with alone(tmp_path / "key", report=lines.append):
        pass
    assert lines == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="could not be made"), alone(tmp_path / "file" / "key"):
        pass
