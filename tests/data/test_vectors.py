"""Published formats of word vectors, and the linear map between two spaces."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from sentbook.data import sources, vectors
from sentbook.data.vectors import (
    LARGE,
    REDUCED,
    WordVectors,
    expand,
    linear_map,
    read_text,
    read_word2vec_binary,
    reduce,
    substitute,
)
from sentbook.system.errors import DataError

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


def test_named_sets() -> None:
    world = vectors.load("miniworld")
    assert world.dimension == 50
    with pytest.raises(DataError, match="does not exist"):
        vectors.load("file", "/nowhere/paragram.txt")
    with pytest.raises(DataError, match="Unknown vectors"):
        vectors.load("glove")  # type: ignore[arg-type]


# -- large sets --------------------------------------------------------------------------------------------------------

BODY = gzip.compress(b"2 3\ncat 1.5 -2.0 0.25\ndog 0.0 3.0 0.001\n")


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the file of GloVe 100-d would lie, in an empty cache; it is a small one, and nothing can be fetched."""
    monkeypatch.setenv("SENTBOOK_CACHE", str(tmp_path))
    monkeypatch.delenv("SENTBOOK_DATA", raising=False)
    name = LARGE["glove-6b-100d"]
    md5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
    table = {name: {"md5": md5, "bytes": len(BODY), "url": "http://host.invalid/v.gz"}}
    monkeypatch.setattr(sources, "registry", lambda: table)

    def refused(name: str) -> None:
        raise AssertionError(f"{name} was fetched unasked")

    monkeypatch.setattr(sources, "download", refused)
    monkeypatch.setattr(sources, "_used", {})
    vectors.load.cache_clear()
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    return file


def test_a_large_set_is_never_fetched_unasked(large: Path) -> None:
    assert not vectors.available("glove-6b-100d")
    with pytest.raises(DataError, match=r"`sentbook data fetch vectors/glove-wiki-gigaword-100\.gz`"):
        vectors.load("glove-6b-100d")
    assert not large.exists()


def test_a_large_set_that_is_here(large: Path) -> None:
    large.write_bytes(BODY)
    assert vectors.available("glove-6b-100d") and not vectors.available("glove-6b-300d")
    loaded = vectors.load("glove-6b-100d")
    assert loaded.words == ["cat", "dog"]
    np.testing.assert_array_equal(loaded.matrix, ROWS)
    assert set(sources.used()) == {LARGE["glove-6b-100d"]}
    vectors.load.cache_clear()


def test_a_large_set_is_verified(large: Path) -> None:
    large.write_bytes(BODY[:-9])
    with pytest.raises(DataError, match="truncated"):
        vectors.load("glove-6b-100d")


# -- reduced sets ------------------------------------------------------------------------------------------------------


def test_reduction_keeps_the_most_and_does_not_centre() -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.normal(size=(60, 3)) @ rng.normal(size=(3, 9)) + 5).astype(np.float32)  # 4 directions, mean included
    words = [f"w{index}" for index in range(60)]
    reduced = reduce(WordVectors(words, matrix), 4)
    assert (reduced.words, reduced.matrix.shape, reduced.matrix.dtype) == (words, (60, 4), np.float32)
    np.testing.assert_allclose(reduced.matrix @ reduced.matrix.T, matrix @ matrix.T, rtol=1e-4)  # every angle stays
    singular = np.linalg.svd(matrix.astype(np.float64), compute_uv=False)
    two = reduce(WordVectors(words, matrix), 2).matrix
    np.testing.assert_allclose((two.astype(np.float64) ** 2).sum(), (singular[:2] ** 2).sum(), rtol=1e-5)
    with pytest.raises(DataError, match="cannot be reduced to 10"):
        reduce(WordVectors(words, matrix), 10)


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "size"), REDUCED.items())
def test_the_reduced_sets_of_the_mirror(mirror: Path, name: vectors.VectorName, size: int) -> None:
    reduced, whole = vectors.load(name), vectors.load("glove-840b-300d-sick")
    assert (reduced.dimension, reduced.words) == (size, whole.words)
    kept = (reduced.matrix.astype(np.float64) ** 2).sum() / (whole.matrix.astype(np.float64) ** 2).sum()
    assert kept > {200: 0.9, 100: 0.75, 50: 0.6}[size]


# -- substitutes -------------------------------------------------------------------------------------------------------


def test_substitutes_of_each_paper() -> None:
    assert substitute("word2vec-300d-expanded", "cse") == (
        "word2vec GoogleNews (26,423 words), with GloVe 6B 50-d mapped to it, for PARAGRAM-SL999"
    )
    assert substitute("glove-840b-300d-sick", "cse") == "GloVe 840B cut to SICK's words for PARAGRAM-SL999"
    assert substitute("glove-840b-300d-sick", "wsv") == "GloVe 840B cut to SICK's words for GloVe 6B 300-d"
    assert substitute("glove-840b-sick-pca-100d", "wsv") == (
        "GloVe 840B cut to SICK's words and to 100 principal dimensions for GloVe 6B 100-d"
    )
    assert [substitute(f"glove-6b-{size}d", "wsv") for size in (50, 100, 200, 300)] == [""] * 4
    assert substitute("file", "cse") == substitute("file", "wsv") == ""
    for paper in ("cse", "wsv"):
        assert substitute("miniworld", paper) == "generated word vectors of the mini-world"


@pytest.mark.real_data
def test_mirror_sets(mirror: Path) -> None:
    glove, news = vectors.load("glove-6b-50d"), vectors.load("word2vec-300d")
    assert (len(glove), glove.dimension) == (72_713, 50)
    assert (len(news), news.dimension) == (26_423, 300)
    expanded = vectors.load("word2vec-300d-expanded")
    assert set(glove.words) | set(news.words) == set(expanded.words)
