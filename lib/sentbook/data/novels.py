"""Books as token ids on disk: sentences in order, pairs of neighbours, paragraphs; nothing crosses a book."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from sentbook.data import prose, sources
from sentbook.data.prose import Layout
from sentbook.data.text import TOKENISERS, UNKNOWN, TokenIds, Tokenisation, Vocabulary
from sentbook.data.types import Stories
from sentbook.io import DataError, replacing, writing

# Gan et al. 2017, section 4.
WORDS, PARAGRAPH = 22_154, 8
# Of the books in the order of their names, one in so many is held out. Most authors of the novels have three, so that
# the first, second and third of an author take turns. Of fewer books each gives its last part, in one piece.
HELD_OUT_EVERY = 5
LAST_PART = ", its last part"

# Raised when the same books are to be read again.
_READER = 1
_REMEDY = "free some space or set SENTBOOK_CACHE to a writable folder."

Part = Literal["train", "held out", "all"]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Limits:
    """Which sentences are used, by their number of words.

    Source: Gan et al. 2017 state no limit. Their released code drops what has 40 ids or more, the end symbol included,
    hence 38 words; a dropped sentence parts its neighbours.

    Raises:
        ValueError: limits that do not rise from 1.
    """

    shortest: int = 1
    longest: int = 38

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest:
            raise ValueError(f"Sentences of {self.shortest} to {self.longest} words cannot be.")


@dataclass(frozen=True)
class Collection:
    """Books to read.

    Attributes:
        identity: a digest of all that decides their sentences.
        books: by their names, in order: a file in UTF-8, or lines at hand; ``layout``: how they hold sentences.
    """

    name: str
    identity: str
    books: Mapping[str, Path | Sequence[str]]
    layout: Layout = "prose"

    def read(self, book: str, counts: Counter[str] | None = None) -> Iterator[str]:
        """Read a book's sentences; ``counts``: see `sentbook.data.prose.sentences`."""
        found = self.books[book]
        return prose.sentences(_lines(found) if isinstance(found, Path) else found, self.layout, counts)


@dataclass(frozen=True, eq=False)
class Books:
    """Tokenised books, their ids memory-mapped: what is not looked at takes no memory.

    Attributes:
        tokens: S sentences in order, whole.
        offsets: (B + 1,) ``offsets[b]`` to ``offsets[b + 1]`` are the sentences of book b.
        names: of the B books; of few books each is two, the second of which is called `LAST_PART` and held out.
        held: (B,) whether a book is held out. The vocabulary is of the others.
        counts: lines of the text, and what was left out of them, by its kind.
        vocabulary: padding 0, unknown 1, then words by falling frequency.
    """

    name: str
    tokens: TokenIds
    offsets: Rows
    names: tuple[str, ...]
    held: NDArray[np.bool_]
    vocabulary: Vocabulary
    tokenisation: Tokenisation
    counts: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, part: Part = "train", limits: Limits | None = None) -> Rows:
        """Return the sentences of ``part`` within the limits."""
        return np.flatnonzero(self._usable(part, limits or Limits()))

    def pairs(self, part: Part = "train", limits: Limits | None = None) -> Rows:
        """Return the sentences whose next one in the book is within the limits as they are."""
        usable = self._usable(part, limits or Limits())
        usable[:-1] &= usable[1:]
        usable[self.offsets[1:] - 1] = False  # the last sentence of a book has no next
        return np.flatnonzero(usable)

    def paragraphs(self, part: Part = "train", size: int = PARAGRAPH, limits: Limits | None = None) -> Rows:
        """First sentences of paragraphs: ``size`` neighbours of one book, all within the limits; none is in two."""
        usable = self._usable(part, limits or Limits())
        found = []
        for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            edges = np.concatenate([[-1], np.flatnonzero(~usable[first:last]), [last - first]])
            counts = (np.diff(edges) - 1) // size  # paragraphs between two sentences that are not used
            before = np.repeat(np.cumsum(counts) - counts, counts)
            found.append(first + np.repeat(edges[:-1] + 1, counts) + size * (np.arange(counts.sum()) - before))
        return np.concatenate(found)

    def _usable(self, part: Part, limits: Limits) -> NDArray[np.bool_]:
        usable = np.repeat(self._of(part), np.diff(self.offsets))
        lengths = self.tokens.lengths
        return usable & (lengths >= limits.shortest) & (lengths <= limits.longest)

    def text(self, row: int) -> str:
        """Return a sentence's tokens with spaces between; words outside the vocabulary are ``<unk>``."""
        ids = self.tokens.flat[self.tokens.offsets[row] : self.tokens.offsets[row + 1]].tolist()
        return " ".join("<unk>" if index == UNKNOWN else self.vocabulary.words[index - 2] for index in ids)

    def unknown_share(self, part: Part = "train") -> float:
        """Return the share of the words of ``part`` that are outside the vocabulary."""
        words = np.diff(self.tokens.offsets[self.offsets])  # of each book
        of_part = self.tokens.flat[np.repeat(self._of(part), words)]
        return int((of_part == UNKNOWN).sum()) / max(len(of_part), 1)

    def _of(self, part: Part) -> NDArray[np.bool_]:
        """(B,) the books of ``part``."""
        return np.ones_like(self.held) if part == "all" else self.held == (part == "held out")


# -- where books come from ---------------------------------------------------------------------------------------------


def novels(books: int | None = None) -> Collection:
    """Return the 100 English novels, in place of BookCorpus; only the first ``books`` by file name."""
    files = [name for name in sources.registry() if name.startswith("train/novels/")][:books]
    paths = {Path(name).stem: sources.path(name) for name in files}
    identity = hashlib.sha256(" ".join(sources.sha256(name) for name in files).encode()).hexdigest()
    return Collection("novels", identity, paths)


def folder(path: str | Path, layout: Layout = "prose") -> Collection:
    """Return a user's own books: every ``.txt`` (or ``.TXT``) file of a folder and of those in it, by name; UTF-8.

    Args:
        layout: ``prose``, or ``lines`` where every line is a sentence (BookCorpus).
    """
    root = Path(path).expanduser().absolute()
    files = sorted(file for file in root.rglob("*") if file.name.lower().endswith(".txt"))
    if not files:
        raise DataError(f"{root} holds no .txt file; name a folder with one book a file.")
    paths = {file.relative_to(root).as_posix().removesuffix(".txt"): file for file in files}
    identity = hashlib.sha256(layout.encode())
    for book, file in paths.items():
        with _readable(file):
            identity.update(book.encode() + bytes.fromhex(sources.file_digest(file)))
    sources.note(root.name, sum(file.stat().st_size for file in files), identity.hexdigest())
    return Collection(root.name, identity.hexdigest(), paths, layout)


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read ({error}); convert it to UTF-8, or take it away.") from error


def _lines(file: Path) -> Iterator[str]:
    with _readable(file), file.open(encoding="utf-8-sig", newline="\n") as stream:
        yield from stream


def stories(found: Stories) -> Collection:
    """Return stories at hand, such as the mini-world's; each is a book.

    Example:
        >>> from sentbook.data.miniworld import World
        >>> len(stories(World().stories(20)).books)
        20
    """
    identity = hashlib.sha256(json.dumps(found.stories).encode()).hexdigest()
    books = {f"{number:06}": story for number, story in enumerate(found.stories)}
    return Collection(found.name, identity, books, "lines")


# -- to disk and back --------------------------------------------------------------------------------------------------


def prepare(
    collection: Collection, *, words: int = WORDS, tokenisation: Tokenisation = "ptb", every: int = HELD_OUT_EVERY
) -> Books:
    """Return the books of ``collection`` as token ids, made once and kept in the cache.

    Beside the distinct words met, six bytes a token are in memory while they are made, and on disk two bytes a token
    and eight a sentence are kept.

    Args:
        words: of the vocabulary, the most frequent ones of the books that are not held out; of words as frequent as
            each other, those met first.
        every: the last of every so many books is held out; of fewer books than that the last sentences of each, one
            in so many.
    """
    identity = hashlib.sha256(f"{_READER} {collection.identity} {words} {tokenisation} {every}".encode())
    kept = sources.cache_folder() / "derived" / f"books-{identity.hexdigest()[:16]}"
    with writing(kept, _REMEDY):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(kept.with_suffix(".lock")):
            if (found := _load(kept, collection)) is None:
                _write(kept, collection, words, tokenisation, every)
                found = _load(kept, collection)
    assert found is not None
    return found


def _load(kept: Path, collection: Collection) -> Books | None:
    """Return what is in the cache; None when it is not there, or damaged."""
    try:
        about = json.loads((kept / "about.json").read_text(encoding="utf-8"))
        flat = np.load(kept / "flat.npy", mmap_mode="r")
        sentences = np.load(kept / "sentences.npy", mmap_mode="r")
        offsets = np.load(kept / "books.npy")
        if (len(flat), len(sentences) - 1, len(offsets) - 1) != (sentences[-1], offsets[-1], len(about["names"])):
            return None
        held = np.asarray(about["held"], dtype=np.bool_)
        tokens, names, vocabulary = TokenIds(flat, sentences), tuple(about["names"]), Vocabulary(about["words"])
        found = (tokens, offsets, names, held, vocabulary, about["tokenisation"], about["counts"])
        return Books(collection.name, *found)
    except (OSError, ValueError, KeyError, IndexError, EOFError):
        return None


def _write(kept: Path, collection: Collection, words: int, tokenisation: Tokenisation, every: int) -> None:
    met, numbers, lengths, ends, left = _read(collection, TOKENISERS[tokenisation])
    names, offsets, sentences = list(collection.books), np.array(ends), np.cumsum([0, *lengths], dtype=np.int64)
    if len(names) < every:
        names = [part for name in names for part in (name, name + LAST_PART)]
        offsets = np.sort(np.concatenate([offsets, offsets[1:] - np.diff(offsets) // every]))
        every = 2  # of these parts
    held, flat = np.arange(len(names)) % every == every - 1, np.frombuffer(numbers, dtype=np.uint32)
    counts = np.zeros(len(met), dtype=np.int64)
    for book in np.flatnonzero(~held):
        counted = np.bincount(flat[slice(*sentences[offsets[book : book + 2]])])
        counts[: len(counted)] += counted
    order = np.argsort(-counts, kind="stable")
    vocabulary = Vocabulary([met[at] for at in order[:words] if counts[at]])
    # Two bytes a word where they are enough.
    ids = np.array([vocabulary.id(word) for word in met], np.uint16 if len(vocabulary) < 1 << 16 else np.int32)
    about = {
        "names": names,
        "held": held.tolist(),
        "tokenisation": tokenisation,
        "words": vocabulary.words,
        "counts": left,
    }
    with replacing(kept, _REMEDY) as making:
        making.mkdir()
        np.save(making / "flat.npy", ids[flat])
        np.save(making / "sentences.npy", sentences)
        np.save(making / "books.npy", offsets)
        (making / "about.json").write_text(json.dumps(about), encoding="utf-8")


def _read(
    collection: Collection, tokenise: Callable[[str], list[str]]
) -> tuple[list[str], array[int], array[int], list[int], Counter[str]]:
    """Words in the order met, the number of each word of each sentence, the lengths of sentences, where books begin and
    end, and what was left out."""
    left = Counter[str]()
    index: defaultdict[str, int] = defaultdict(lambda: len(index))
    numbers, lengths, offsets = array("I"), array("I"), [0]
    for book in collection.books:
        for sentence in collection.read(book, left):
            if tokens := tokenise(sentence):
                numbers.extend([index[token] for token in tokens])
                lengths.append(len(tokens))
        offsets.append(len(lengths))
    if not lengths:
        raise DataError(f"There is no sentence in the {len(collection.books)} books of '{collection.name}'.")
    return list(index), numbers, lengths, offsets, left
