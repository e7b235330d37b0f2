"""`sentbook encode` and `sentbook export` as a shell calls them."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentbook import cli
from sentbook.models import encode
from sentbook.training.recipes import Trained

Run = Callable[..., subprocess.CompletedProcess[bytes]]
TEXTS = ["A woman sees the cook", "xyzzy plugh", "café ☕ <b>&amp;", " ".join(["the cook runs"] * 3_334)]
TEXT = "\n".join(TEXTS).encode() + b"\n"


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "sentbook.cli", *map(str, arguments)]


@pytest.fixture(scope="module")
def artifact(artifacts: dict[str, Trained]) -> Path:
    file = artifacts["cse"].file
    assert file is not None
    return file.parent


@pytest.fixture(scope="module")
def expected(artifacts: dict[str, Trained]) -> np.ndarray:
    return encode(artifacts["cse"].encoder(), artifacts["cse"].vocabulary, TEXTS)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`sentbook ...` in this process: exit status, output, messages."""

    def run(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sentbook", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code: Any = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
        return code or 0, *capsys.readouterr()

    return run


Call = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("model", ["artifact's folder", "artifact's file", "exported folder"])
@pytest.mark.parametrize("option", [(), ("-o",), ("--output",)])
def test_a_named_file_has_the_vectors_of_every_line(
    call: Call, artifact: Path, exported: dict[str, Path], expected: np.ndarray, tmp_path: Path, model: str, option: Any
) -> None:
    places = {"artifact's folder": artifact, "artifact's file": artifact / "encoder.safetensors"}
    out = tmp_path / "out.npy"
    code, said, told = call("encode", places.get(model, exported["cse"]), *option, out, stdin=TEXT)
    assert (code, said) == (0, "")
    assert told == f"4 vectors of 12 numbers in {out}\n"
    found = np.load(out, mmap_mode="r", allow_pickle=False)
    assert isinstance(found, np.memmap) and found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_standard_output_is_the_array(exported: dict[str, Path], expected: np.ndarray, tmp_path: Path) -> None:
    """Redirected to a file, appended to one, and through a pipe: the same bytes."""
    np.save(tmp_path / "expected.npy", expected, allow_pickle=False)
    wanted = (tmp_path / "expected.npy").read_bytes()
    encoding = command("encode", exported["cse"])
    with (tmp_path / "file.npy").open("wb") as file:
        done = subprocess.run(encoding, input=TEXT, stdout=file, stderr=subprocess.PIPE, check=True)
    assert done.stderr == b"4 vectors of 12 numbers in standard output\n"
    assert (tmp_path / "file.npy").read_bytes() == wanted
    with (tmp_path / "file.npy").open("ab") as file:
        subprocess.run(encoding, input=TEXT, stdout=file, check=True)
    assert (tmp_path / "file.npy").read_bytes() == wanted * 2
    done = subprocess.run(encoding, input=TEXT, capture_output=True, check=True)
    assert done.stdout == wanted


def test_a_fault_leaves_nothing(call: Call, exported: dict[str, Path], tmp_path: Path) -> None:
    bad = b"one cook\n\nanother\n"
    out = tmp_path / "out.npy"
    out.write_bytes(b"earlier")
    sentence = "sentbook: Line 2 is empty after 'ptb' tokenisation; remove or fill it.\n"
    assert call("encode", exported["cse"], "-o", out, stdin=bad) == (3, "", sentence)
    assert out.read_bytes() == b"earlier"
    assert [item.name for item in tmp_path.iterdir()] == ["out.npy"]
    with out.open("wb") as file:
        done = subprocess.run(
            command("encode", exported["cse"]), input=bad, stdout=file, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr.decode(), out.read_bytes()) == (3, sentence, b"")


def test_mistakes_are_one_sentence(call: Call, exported: dict[str, Path], artifact: Path, tmp_path: Path) -> None:
    out, model = tmp_path / "out.npy", exported["cse"]
    for arguments, stdin, status, part in [
        ((model, "-o", out), b"", 2, "Standard input is empty; give one sentence a line."),
        ((model, "-o", out), b"caf\xe9\n", 3, "Line 1 is not UTF-8 text"),
        ((model, out, "-o", out), b"a\n", 2, "name one file for the vectors."),
        ((tmp_path / "no", "-o", out), b"a\n", 4, "There is no trained encoder at"),
        ((model, "-o", tmp_path), b"a\n", 5, "could not be written (Is a directory); choose another place."),
        ((model, "-o", tmp_path / "no" / "out.npy"), b"a\n", 5, "choose another place."),
    ]:
        code, said, told = call("encode", *arguments, stdin=stdin)
        assert (code, said) == (status, "") and part in told
        assert told.startswith("sentbook: ") and told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "encoder.safetensors").write_bytes((artifact / "encoder.safetensors").read_bytes()[:-9])
    code, _, told = call("encode", damaged, "-o", out, stdin=b"a\n")
    assert code == 4 and "truncated or not a checkpoint" in told


def test_a_terminal_gets_no_vectors(exported: dict[str, Path]) -> None:
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            command("encode", exported["cse"]), input=b"a\n", stdout=theirs, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert done.stderr.startswith(b"sentbook: Vectors are no text for a terminal; redirect the output to a file")


def test_a_full_device_is_one_sentence(exported: dict[str, Path]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command("encode", exported["cse"]), input=b"a cook\n" * 9, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 5
    assert done.stderr == (
        b"sentbook: Standard output could not be written (No space left on device); choose another place.\n"
    )


def test_a_reader_that_goes_away_ends_it_quietly(exported: dict[str, Path]) -> None:
    with subprocess.Popen(
        command("encode", exported["cse"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(b"a cook sees\n" * 30_000)  # more than a pipe holds
        process.stdin.close()
        assert process.stdout.read(6) == b"\x93NUMPY"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


def test_ctrl_c_is_one_line_and_130(exported: dict[str, Path], tmp_path: Path) -> None:
    """Standard input stays open, so that the command waits for its sentences."""
    # A shell's background job starts with SIGINT ignored, and so would this.
    driver = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from sentbook import cli; "
        "from sentbook.exchange import portable, stream; print('up', flush=True); cli.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", driver, "encode", str(exported["cse"]), "-o", str(tmp_path / "out.npy")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "up\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == f"{cli._INTERRUPTED}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_memory_does_not_grow_with_the_lines(exported: dict[str, Path], tmp_path: Path) -> None:
    """300,000 lines against 20,000, peaks in MiB."""
    peaks = {}
    for count in (20_000, 300_000):
        report = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        script = f"from sentbook import cli\ntry:\n    cli.main()\nfinally:\n    {report}"
        block = b"".join(b"the cook number %d sees a big red dog in the garden and runs\n" % row for row in range(1000))
        with subprocess.Popen(
            [sys.executable, "-c", script, "encode", str(exported["cse"]), "-o", str(tmp_path / "out.npy")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            for _ in range(count // 1000):
                process.stdin.write(block)
            process.stdin.close()
            peaks[count] = int(process.stdout.read()) // 1024
            told = process.stderr.read().decode()
        assert process.returncode == 0
        found = np.load(tmp_path / "out.npy", mmap_mode="r")
        assert found.shape == (count, 12)
        np.testing.assert_allclose(found[-1000:], found[:1000], atol=1e-5)
    assert told.splitlines() == [
        *(f"{lines},000 lines" for lines in (100, 200, 300)), f"300,000 vectors of 12 numbers in {tmp_path / 'out.npy'}"
    ]  # fmt: skip
    assert peaks[300_000] < peaks[20_000] + 80, peaks  # measured: 26 MB more, and 182 MB with all lines at once


def test_export_says_what_it_wrote(call: Call, artifact: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, said, told = call("export", artifact, out, "--name", "My encoder", "--words", "100")
    assert (code, told) == (0, "")
    # The digests of data in it are of all files that this process has opened so far.
    assert re.fullmatch(rf"cse, 12 numbers a sentence, 100 words, 0\.[01] MB in {re.escape(str(out))}\n", said), said
    assert "# My encoder\n" in (out / "README.md").read_text(encoding="utf-8")
    assert call("export", artifact, out, "--words", "all")[0] == 0
    for words in ("many", "-1", "1.5"):
        code, said, told = call("export", artifact, out, "--words", words)
        assert code == 2 and f"--words {words} is no number; write for example --words 50000" in told
    code, _, told = call("export", artifact, tmp_path)
    assert code == 2 and "holds something else than an earlier export" in told
