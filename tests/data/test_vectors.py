"""Published formats of word vectors, large sets that are never fetched unasked, and maps between spaces."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from kept import forget
from sentbook.data import sources, vectors
from sentbook.data.vectors import (
    SETS,
    Vectors,
    WordVectors,
    expand,
    linear_map,
    load,
    reduce,
    substitute,
)
from sentbook.io import DataError

ROWS = np.array([[1.5, -2.0, 0.25], [0.0, 3.0, 1e-3]], dtype=np.float32)
TEXT = b"cat 1.5 -2.0 0.25\n%b 0.0 3.0 0.001\n"


def binary(words: list[bytes], separator: bytes = b"\n") -> bytes:
    rows = (row.astype("<f4").tobytes() for row in ROWS)
    return b"2 3\n" + b"".join(word + b" " + row + separator for word, row in zip(words, rows, strict=True))


pytestmark = pytest.mark.usefixtures("forgetful", "cache")


@pytest.mark.parametrize(
    ("name", "content", "second"),
    [
        ("v.txt", TEXT % b"dog" + b"cat 9 9 9\n", "dog"),  # a repeated word keeps its first vector
        ("v.txt", TEXT % b". . .", ". . ."),  # GloVe 840B holds "words" with spaces
        ("v.txt.gz", gzip.compress(b"2 3\n" + TEXT % b"dog", mtime=0), "dog"),
        ("v.txt", "\ufeff".encode() + TEXT % b"dog", "dog"),  # a mark of the encoding is no letter
        ("v.bin", binary([b"cat", "é".encode()]), "é"),
        ("v.bin.gz", gzip.compress(binary([b"cat", b"dog"], b""), mtime=0), "dog"),
    ],
)
def test_formats_of_files(tmp_path: Path, name: str, content: bytes, second: str) -> None:
    (tmp_path / name).write_bytes(content)
    loaded = load("file", str(tmp_path / name))
    assert (loaded.words, loaded.dimension) == (["cat", second], 3)
    np.testing.assert_array_equal(loaded.matrix, ROWS)
    assert vectors.digest(Vectors(name="file", path=str(tmp_path / name))) == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("v.bin", binary([b"cat", b"dog"])[:-6], "no whole word2vec binary file"),
        ("v.txt", b"cat 1 2 3\ndog 1 2\n", "line 2"),
        ("v.txt", b"", "holds 0 vectors"),
        ("v.txt", b"3 3\ncat 1 2 3\n", "holds 1 vectors of 3"),  # cut at the end of a line
        ("v.txt.gz", gzip.compress(b"cat 1 2 3\n" * 99, mtime=0)[:-9], "cannot be read"),
        ("v.bin", binary([b"cat", b"dog"]) + b"cow ", "more than its first line says"),
        ("v.bin", binary([b"cat", b"dog"]).replace(ROWS[0].tobytes(), b"\xff" * 12), "not finite"),
        ("other.txt", b"", "does not exist; let path name one"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        load("file", str(tmp_path / name.replace("other", "none")))


def test_a_large_set_is_never_fetched_unasked_and_verified(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty cache; the file is a small one, and nothing can be fetched."""
    name, body = SETS["glove-6b-100d"].file, gzip.compress(b"2 3\n" + TEXT % b"dog")
    entry = {"md5": hashlib.md5(body, usedforsecurity=False).hexdigest(), "bytes": len(body), "url": "http://x.invalid"}
    monkeypatch.delenv("SENTBOOK_DATA", raising=False)
    monkeypatch.setattr(sources, "registry", lambda: {name: entry})
    assert not vectors.available("glove-6b-100d")
    with pytest.raises(DataError, match=r"`sentbook data fetch vectors/glove-wiki-gigaword-100\.gz`"):
        load("glove-6b-100d")
    file = cache.parent / name
    file.parent.mkdir(parents=True)
    file.write_bytes(body[:-9])
    with pytest.raises(DataError, match=r"could not be fetched from http://x\.invalid"):  # fetched again
        load("glove-6b-100d")
    file.write_bytes(body)
    assert vectors.available("glove-6b-100d") and not vectors.available("glove-6b-300d")
    assert load("glove-6b-100d").words == ["cat", "dog"] and set(sources.used()) == {name}
    forget()
    monkeypatch.setattr(vectors, "read_text", lambda path: pytest.fail("parsed again"))
    assert load("glove-6b-100d").words == ["cat", "dog"] and set(sources.used()) == {name}


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
    with pytest.raises(DataError, match="share 3 words, fewer than the source's 4 dimensions"):
        linear_map(source, WordVectors(words[:3], target.matrix[:3]))


def test_reduction_keeps_the_most_and_does_not_centre() -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.normal(size=(60, 3)) @ rng.normal(size=(3, 9)) + 5).astype(np.float32)  # 4 directions, mean included
    whole = WordVectors([f"w{index}" for index in range(60)], matrix)
    reduced = reduce(whole, 4)
    assert (reduced.words, reduced.matrix.shape, reduced.matrix.dtype) == (whole.words, (60, 4), np.float32)
    np.testing.assert_allclose(reduced.matrix @ reduced.matrix.T, matrix @ matrix.T, rtol=1e-4)  # every angle stays
    singular = np.linalg.svd(matrix.astype(np.float64), compute_uv=False)
    two = reduce(whole, 2).matrix.astype(np.float64)
    np.testing.assert_allclose((two**2).sum(), (singular[:2] ** 2).sum(), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "paper", "words"),
    [
        ("glove-840b-300d-sick", "cse", "GloVe 840B cut to SICK's words for PARAGRAM-SL999"),
        ("glove-840b-300d-sick", "wsv", "GloVe 840B cut to SICK's words for GloVe 6B 300-d"),
        ("glove-6b-300d", "wsv", ""),
        ("file", "cse", ""),
        ("miniworld", "wsv", "generated word vectors of the mini-world"),
    ],
)
def test_substitutes_of_each_paper(name: str, paper: str, words: str) -> None:
    assert substitute(name, paper) == words


@pytest.mark.real_data
def test_mirror_sets(mirror: Path) -> None:
    glove, news, sick = load("glove-6b-50d"), load("word2vec-300d"), load("glove-840b-300d-sick")
    assert (len(glove.words), glove.dimension, len(news.words), news.dimension) == (72_713, 50, 26_423, 300)
    assert set(glove.words) | set(news.words) == set(load("word2vec-300d-expanded").words)
    for size in (200, 100, 50):
        name = f"glove-840b-sick-pca-{size}d"
        reduced = load(name)  # type: ignore[arg-type]
        assert (reduced.dimension, reduced.words) == (size, sick.words)
        kept = (reduced.matrix.astype(np.float64) ** 2).sum() / (sick.matrix.astype(np.float64) ** 2).sum()
        assert kept > {200: 0.9, 100: 0.75, 50: 0.6}[size]
