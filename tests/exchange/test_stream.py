"""`sentbook encode`: lines to one .npy array, numpy's own bytes, by chunks; every fault is one sentence."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentbook.exchange import stream
from sentbook.exchange.portable import Portable, of_artifact
from sentbook.exchange.stream import encode_lines, output
from sentbook.io import ConfigError, DataError
from sentbook.models import encode
from sentbook.models.cse import CSEEncoder
from sentbook.training.recipes import Trained

WORDS = ["red", "cat", "sees", "dog", "#a", "é"]


@pytest.fixture(scope="module")
def model(drawn: Callable[..., Portable]) -> Portable:
    return drawn(CSEEncoder(filters=2), WORDS)


def lines(count: int) -> list[str]:
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice([*WORDS, "unseen"], rng.integers(1, 12))) for _ in range(count)]


def written(model: Portable, texts: list[str], end: str = "\n") -> bytes:
    target = io.BytesIO()
    stated = encode_lines(model, [f"{text}{end}".encode() for text in texts], target)
    assert stated == (len(texts), model.dimension)
    return target.getvalue()


def saved(vectors: np.ndarray) -> bytes:
    target = io.BytesIO()
    np.save(target, vectors, allow_pickle=False)
    return target.getvalue()


@settings(max_examples=30)
@given(count=st.integers(1, 40), end=st.sampled_from(["\n", "\r\n", ""]))
def test_the_file_is_what_numpy_saves(model: Portable, count: int, end: str) -> None:
    texts = lines(count)
    assert written(model, texts, end) == saved(model.encode(texts))


def test_chunks_are_encoded_one_after_the_other(model: Portable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LINES", 200)
    texts = lines(450)
    told: list[int] = []
    target = io.BytesIO()
    encode_lines(model, [text.encode() for text in texts], target, told.append)
    assert told == [200, 400, 450]
    parts = [model.encode(texts[at : at + 200]) for at in (0, 200, 400)]
    assert target.getvalue() == saved(np.concatenate(parts))
    np.testing.assert_allclose(np.concatenate(parts), model.encode(texts), atol=1e-5)


def test_batches_of_a_hundred_stay_whole(artifacts: dict[str, Trained], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LINES", 100)
    trained = artifacts["faithful"]
    texts = [" ".join(["cook"] * (1 + number % 37)) for number in range(330)]
    expected = encode(trained.encoder(), trained.vocabulary, texts)
    assert written(of_artifact(trained), texts) == saved(expected)


def test_what_a_killed_writer_leaves_is_no_array(model: Portable) -> None:
    target = io.BytesIO()

    def stop(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_lines(model, [b"red\n"] * 5, target, stop)
    assert len(target.getvalue()) == len(written(model, ["red"] * 5))
    with pytest.raises(ValueError, match="pickled"):
        np.load(io.BytesIO(target.getvalue()), allow_pickle=False)


def test_the_mark_that_begins_a_file_is_no_letter_and_stands_nowhere_else(model: Portable) -> None:
    assert written(model, ["\ufeffred cat", "dog"]) == written(model, ["red cat", "dog"])
    assert written(model, ["red cat", "\ufeffdog"]) == written(model, ["red cat", "unseen"])


FAULTS: list[tuple[list[bytes], type[Exception], str]] = [
    ([], ConfigError, r"^Standard input is empty; give one sentence a line\.$"),
    ([b"red\n", b"\n", b"cat\n"], DataError, r"^Line 2 is empty after 'whitespace' tokenisation; remove or fill it\.$"),
    ([b"red\n", b"cat\n", b"  \r\n"], DataError, r"^Line 3 is empty"),
    ([b"red\n"] * 150 + [b" "], DataError, r"^Line 151 is empty"),
    ([b"red\n"] * 230 + [b"caf\xe9\n"], DataError, r"^Line 231 is not UTF-8 text; convert the input first"),
]


@pytest.mark.parametrize(("given", "kind", "sentence"), FAULTS)
def test_a_fault_has_its_line(
    model: Portable, monkeypatch: pytest.MonkeyPatch, given: list[bytes], kind: type[Exception], sentence: str
) -> None:
    monkeypatch.setattr(stream, "LINES", 100)
    with pytest.raises(kind, match=sentence):
        encode_lines(model, given, io.BytesIO())


def test_a_file_is_whole_or_as_it_was_and_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.npy").write_bytes(b"old")
    (tmp_path / "link.npy").symlink_to("real.npy")
    with output(tmp_path / "link.npy") as file:
        file.write(b"new")
        assert (tmp_path / "real.npy").read_bytes() == b"old"
    with pytest.raises(RuntimeError), output(tmp_path / "link.npy") as file:
        file.write(b"half")
        raise RuntimeError
    assert (tmp_path / "link.npy").is_symlink() and (tmp_path / "real.npy").read_bytes() == b"new"
    assert {item.name for item in tmp_path.iterdir()} == {"real.npy", "link.npy"}


# -- as a shell calls it -----------------------------------------------------------------------------------------------

TEXTS = ["A woman sees the cook", "xyzzy plugh", "café ☕ <b>&amp;", " ".join(["the cook runs"] * 3_334)]
TEXT = "\n".join(TEXTS).encode() + b"\n"
Shell = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """`sentbook ...` in a process of its own: exit status, output, messages."""

    def run(*arguments: object, stdin: bytes = b"", stdout: Any = subprocess.PIPE) -> tuple[int, bytes, str]:
        command = [sys.executable, "-m", "sentbook.cli", *map(str, arguments)]
        done = subprocess.run(command, input=stdin, stdout=stdout, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout, done.stderr.decode()

    return run


def test_every_way_out_has_the_same_array(
    shell: Shell, exported: dict[str, Path], artifacts: dict[str, Trained], tmp_path: Path
) -> None:
    model, trained = exported["cse"], artifacts["cse"]
    wanted = saved(encode(trained.encoder(), trained.vocabulary, TEXTS))
    file, told = tmp_path / "file.npy", "4 vectors of 12 numbers in {}\n"
    assert shell("encode", model, "-o", file, stdin=TEXT) == (0, b"", told.format(file))
    assert shell("encode", model, stdin=TEXT) == (0, wanted, told.format("standard output"))
    with (tmp_path / "redirected.npy").open("wb") as redirected:
        assert shell("encode", model, stdin=TEXT, stdout=redirected)[0] == 0
    assert [path.read_bytes() for path in tmp_path.glob("*.npy")] == [wanted] * 2


def test_mistakes_are_one_sentence_and_leave_nothing(shell: Shell, exported: dict[str, Path], tmp_path: Path) -> None:
    out, model = tmp_path / "out.npy", exported["cse"]
    for arguments, stdin, status, part in [
        ((model, "-o", out), b"", 2, "Standard input is empty; give one sentence a line."),
        ((model,), b"one cook\n\nanother\n", 3, "Line 2 is empty after 'ptb' tokenisation; remove or fill it."),
        ((model, "-o", tmp_path), b"a\n", 5, "could not be written (Is a directory); choose another place."),
        ((model, "-o", tmp_path / "no" / "out.npy"), b"a\n", 5, "choose another place."),
        ((model, "-o", "/dev/full"), b"a\n" * 9, 5, "(No space left on device); choose another place."),
    ]:
        code, said, told = shell("encode", *arguments, stdin=stdin)
        assert (code, said) == (status, b"") and part in told
        assert told.startswith("sentbook: ") and told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    closed = ["sh", "-c", 'exec "$@" <&- >&-', "sh", sys.executable, "-m", "sentbook.cli", "encode", str(model)]
    done = subprocess.run(closed, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (2, b"sentbook: Standard input is empty; give one sentence a line.\n")


def test_a_terminal_gets_no_vectors(shell: Shell, exported: dict[str, Path]) -> None:
    ours, theirs = os.openpty()
    try:
        code, _, told = shell("encode", exported["cse"], stdin=b"a\n", stdout=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert code == 2 and told.startswith("sentbook: Vectors are no text for a terminal; redirect the output to a file")


def test_a_reader_that_goes_away_ends_it_quietly(exported: dict[str, Path]) -> None:
    command = [sys.executable, "-m", "sentbook.cli", "encode", str(exported["cse"])]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(b"a cook sees\n" * 30_000)  # more than a pipe holds
        process.stdin.close()
        assert process.stdout.read(6) == b"\x93NUMPY"
        process.stdout.close()
        assert process.stderr.read().count(b"\n") <= 1 and process.wait(timeout=60) == 1


@pytest.mark.slow
def test_memory_does_not_grow_with_the_lines(exported: dict[str, Path], tmp_path: Path) -> None:
    peaks = {}
    for count in (20_000, 300_000):
        report = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        script = f"from sentbook import cli\ntry:\n    cli.main()\nfinally:\n    {report}"
        command = [sys.executable, "-c", script, "encode", str(exported["cse"]), "-o", str(tmp_path / "out.npy")]
        text = b"the cook sees a big red dog in the garden and runs\n" * count
        done = subprocess.run(command, input=text, capture_output=True, check=True)
        peaks[count] = int(done.stdout) // 1024
        assert np.load(tmp_path / "out.npy", mmap_mode="r").shape == (count, 12)
    assert peaks[300_000] < peaks[20_000] + 80, peaks  # MiB; measured: 26 more, and 182 with all lines at once


def test_export_says_what_it_wrote(shell: Shell, artifacts: dict[str, Trained], tmp_path: Path) -> None:
    out, file = tmp_path / "out", artifacts["cse"].file
    code, said, told = shell("export", file, out, "--name", "My encoder", "--words", "100")
    assert (code, told) == (0, "") and said.startswith(b"cse, 12 numbers a sentence, 100 words, 0.")
    assert "# My encoder\n" in (out / "README.md").read_text(encoding="utf-8")
    code, _, told = shell("export", file, out, "--words", "many")
    assert code == 2 and "--words many is no number; write for example --words 50000" in told
