"""Lines to one .npy array: the bytes of numpy's own, by chunks, with every fault named by its line."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentbook.exchange import stream
from sentbook.exchange.artifact import of_artifact
from sentbook.exchange.portable import Portable
from sentbook.exchange.stream import encode_lines, file_at
from sentbook.models import encode
from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.system.errors import ConfigError, DataError, StorageError
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


@settings(max_examples=30, deadline=None)
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


def test_long_lines_make_small_chunks(model: Portable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHARACTERS", 1000)
    told: list[int] = []
    encode_lines(model, [b"red cat sees"] * 250, io.BytesIO(), told.append)
    assert told == [100, 200, 250]


def test_batches_of_a_hundred_stay_whole(artifacts: dict[str, Trained], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LINES", 100)
    trained = artifacts["faithful"]
    texts = [" ".join(["cook"] * (1 + number % 37)) for number in range(330)]
    expected = encode(trained.encoder(), trained.vocabulary, texts)
    assert written(of_artifact(trained), texts) == saved(expected)


def test_the_array_begins_where_the_target_stands(model: Portable) -> None:
    target = io.BytesIO()
    target.write(b"before")
    encode_lines(model, [b"red\n"], target)
    encode_lines(model, [b"cat\n", b"dog\n"], target)
    assert target.getvalue() == b"before" + written(model, ["red"]) + written(model, ["cat", "dog"])


def test_what_a_killed_writer_leaves_is_no_array(model: Portable) -> None:
    target = io.BytesIO()

    def stop(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_lines(model, [b"red\n"] * 5, target, stop)
    assert len(target.getvalue()) == len(written(model, ["red"] * 5))
    with pytest.raises(ValueError, match="pickled"):
        np.load(io.BytesIO(target.getvalue()), allow_pickle=False)


@pytest.mark.parametrize("rows", [0, 1, 10**12])
def test_the_header_has_room_for_every_count(rows: int) -> None:
    assert len(stream._header(rows, 4096)) == 128


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


def test_an_unknown_whole_sentence_is_still_told(drawn: Callable[..., Portable]) -> None:
    model = drawn(AverageEncoder(), ["A red cat."], tokenisation="sentence")
    with pytest.raises(DataError, match="is none of those that have a vector of their own"):
        encode_lines(model, [b"A red cat.\n", b"Another.\n"], io.BytesIO())


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    for text in (b"first", b"second"):
        with file_at(path) as file:
            file.write(text)
            assert not path.exists() or path.read_bytes() == b"first"
        assert path.read_bytes() == text
    with pytest.raises(RuntimeError), file_at(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"second"
    assert [item.name for item in tmp_path.iterdir()] == ["v.npy"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.npy").write_bytes(b"old")
    (tmp_path / "link.npy").symlink_to("real.npy")
    with file_at(tmp_path / "link.npy") as file:
        file.write(b"new")
    assert (tmp_path / "link.npy").is_symlink()
    assert (tmp_path / "real.npy").read_bytes() == b"new"


@pytest.mark.parametrize("place", ["no such folder/out.npy", ".", "/dev/full"])
def test_a_place_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    if place == "/dev/full" and not Path(place).exists():
        pytest.skip("this system has no /dev/full")
    with (
        pytest.raises(StorageError, match=r"could not be written \([^N].*\); choose another place\.$|No space left"),
        file_at(tmp_path / place) as file,
    ):
        file.write(b"x" * 100_000)
    assert list(tmp_path.iterdir()) == []
    assert not Path("/dev/full").exists() or Path("/dev/full").is_char_device()
