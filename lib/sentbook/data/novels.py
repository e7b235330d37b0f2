"""Books as token ids on disk: sentences in order, pairs of neighbours, paragraphs; nothing crosses a book."""

import hashlib
import json
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sentbook.config import digest
from sentbook.data import sources
from sentbook.data.text import TOKENISERS, TokenIds, Tokenisation, Vocabulary
from sentbook.io import DataError

# Gan et al. 2017, section 4.
WORDS, PARAGRAPH = 22_154, 8
# Of the books in the order of their names, one in so many is held out. Most authors of the novels have three, so that
# the first, second and third of an author take turns.
HELD_OUT_EVERY = 5
# Raised when the same books are to be read again.
_READER = 3

Layout = Literal["prose", "lines"]
Part = Literal["train", "held out", "all"]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Limits:
    """Which sentences are used, by their number of words.

    Source: Gan et al. 2017 state no limit. Their released code drops what has 40 ids or more, the end symbol included,
    hence 38 words; a dropped sentence parts its neighbours.
    """

    shortest: int = 1
    longest: int = 38


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


@dataclass(frozen=True, eq=False)
class Books:
    """Tokenised books, their ids memory-mapped: what is not looked at takes no memory.

    Attributes:
        tokens: S sentences in order, whole.
        offsets: (B + 1,) ``offsets[b]`` to ``offsets[b + 1]`` are the sentences of book b.
        names: of the B books.
        held: (B,) whether a book is held out. The vocabulary is of the others.
        vocabulary: padding 0, unknown 1, then words by falling frequency.
    """

    name: str
    tokens: TokenIds
    offsets: Rows
    names: tuple[str, ...]
    held: NDArray[np.bool_]
    vocabulary: Vocabulary

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
        """Return first sentences of paragraphs: ``size`` neighbours in a book, within the limits; none is in two."""
        usable = self._usable(part, limits or Limits())
        found = []
        for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            edges = np.concatenate([[-1], np.flatnonzero(~usable[first:last]), [last - first]])
            counts = (np.diff(edges) - 1) // size  # paragraphs between two sentences that are not used
            before = np.repeat(np.cumsum(counts) - counts, counts)
            found.append(first + np.repeat(edges[:-1] + 1, counts) + size * (np.arange(counts.sum()) - before))
        return np.concatenate(found)

    def _usable(self, part: Part, limits: Limits) -> NDArray[np.bool_]:
        books = np.ones_like(self.held) if part == "all" else self.held == (part == "held out")
        usable = np.repeat(books, np.diff(self.offsets))
        lengths = self.tokens.lengths
        return usable & (lengths >= limits.shortest) & (lengths <= limits.longest)

    def text(self, row: int) -> str:
        """Return a sentence's tokens with spaces between; words outside the vocabulary are ``<unk>``."""
        return self.vocabulary.text(self.tokens.flat[self.tokens.offsets[row] : self.tokens.offsets[row + 1]].tolist())


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
    found = sorted(file for file in root.rglob("*") if file.name.lower().endswith(".txt"))
    if len(found) < HELD_OUT_EVERY:
        raise DataError(
            f"{root} holds {len(found)} .txt files; put at least {HELD_OUT_EVERY} books or parts of books there, of "
            "which one in so many is held out, or set pretraining.corpus to 'novels'."
        )
    files = {file.relative_to(root).as_posix().removesuffix(".txt"): file for file in found}
    identity = hashlib.sha256(f"{_READER}{layout}".encode())
    for book, file in files.items():
        identity.update(book.encode() + bytes.fromhex(sources.file_digest(file)))
    sources.note(root.name, sum(file.stat().st_size for file in found), identity.hexdigest())
    return Collection(root.name, identity.hexdigest(), files, layout)


def stories(found: Sequence[Sequence[str]]) -> Collection:
    """Return the mini-world's stories, or others at hand; each is a book.

    Example:
        >>> from sentbook.data.miniworld import World
        >>> len(stories(World().stories(20)).books)
        20
    """
    identity = hashlib.sha256(json.dumps(found).encode()).hexdigest()
    return Collection("miniworld/stories", identity, {f"{at:06}": story for at, story in enumerate(found)}, "lines")


# -- lines to sentences, by rule ---------------------------------------------------------------------------------------

# "CHAPTER XII", "Book 3. The Gold Thread", "II." and "14" alone on a line.
_HEADING = re.compile(
    r"(?:CHAPTER|Chapter|BOOK|Book|PART|Part|VOLUME|Volume|VOL\.)\s+(?:[IVXLCDM]+|\d+|[A-Z]{2,})\b(?:\s*[.:-].*)?"
    r"|[IVXLCDM]+\.|[IVXLCDM]{2,}|\d+\.?"
)
_LETTER = re.compile(r"[^\W_]")
# A sentence ends at a mark and the quotes that close it, before white space and a capital, a digit or an opening quote.
_END = re.compile(r"""(?<=[.!?])(["'\u201d\u2019)\]]*)\s+(?=["'\u201c\u2018(\[]?[A-Z0-9])""")
_TITLES = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Messrs|Rev|Hon|Capt|Col|Gen|Prof|[A-Z])\.$")


def split_sentences(paragraph: str) -> list[str]:
    """Return sentences of one paragraph whose lines were joined.

    Example:
        >>> split_sentences('He saw Mr. Hill. "Why?" she asked. They left.')
        ['He saw Mr. Hill.', '"Why?" she asked.', 'They left.']
    """
    found: list[str] = []
    start = 0
    for match in _END.finditer(paragraph):
        sentence = paragraph[start : match.end(1)]
        if not _TITLES.search(sentence):
            found.append(sentence.strip())
            start = match.end()
    return [*found, last] if (last := paragraph[start:].strip()) else found


def sentences(lines: Iterable[str], layout: Layout = "prose") -> Iterator[str]:
    """Yield the sentences of a book in order.

    ``prose``: lines are joined, blank lines, ornaments and numbered headings part paragraphs, and paragraphs are split
    by rule (`split_sentences`). ``lines``: every line is a sentence, as in BookCorpus. Headings, and what holds no
    letter or digit, are left out; what stands before and after them are neighbours.

    Example:
        >>> list(sentences(["CHAPTER I.", "He saw Mr. Hill and", "waved. Why?", "", "* * *", "They left."]))
        ['He saw Mr. Hill and waved.', 'Why?', 'They left.']
    """
    plain = (" ".join(line.split()) for line in lines)
    return filter(_is_sentence, _prose(plain) if layout == "prose" else plain)


def _is_sentence(text: str) -> bool:
    return bool(_LETTER.search(text)) and not _HEADING.fullmatch(text)


def _prose(lines: Iterable[str]) -> Iterator[str]:
    for inside, paragraph in groupby(lines, _is_sentence):
        if inside:
            yield from split_sentences(" ".join(paragraph))


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
        every: the last of every so many books is held out.
    """
    identity = digest([_READER, collection.identity, words, tokenisation, every])
    found = sources.kept(f"books-{identity}", lambda: _token_ids(collection, words, tokenisation, every))
    tokens, vocabulary = TokenIds(found["flat"], found["sentences"]), Vocabulary(found["words"])
    return Books(collection.name, tokens, found["books"], tuple(collection.books), found["held"], vocabulary)


def _token_ids(collection: Collection, words: int, tokenisation: Tokenisation, every: int) -> dict[str, Any]:
    index: defaultdict[str, int] = defaultdict(lambda: len(index))
    tokenise = TOKENISERS[tokenisation]
    numbers, lengths, ends = array("I"), array("I"), [0]
    for book in collection.books.values():
        lines = sources.lines(book) if isinstance(book, Path) else book
        for tokens in filter(None, map(tokenise, sentences(lines, collection.layout))):
            numbers.extend([index[token] for token in tokens])
            lengths.append(len(tokens))
        ends.append(len(lengths))
    if not lengths:
        raise DataError(f"The {len(collection.books)} books of '{collection.name}' hold no sentence; give others.")
    flat, bounds, books = np.frombuffer(numbers, np.uint32), np.cumsum([0, *lengths], dtype=np.int64), np.array(ends)
    held = np.arange(len(collection.books)) % every == every - 1
    counts = np.bincount(flat[np.repeat(~held, np.diff(bounds[books]))], minlength=len(index))
    met, order = list(index), np.argsort(-counts, kind="stable")
    vocabulary = Vocabulary([met[at] for at in order[:words] if counts[at]])
    # Two bytes a word where they are enough.
    ids = np.array([vocabulary.id(word) for word in met], np.uint16 if len(vocabulary) < 1 << 16 else np.int32)
    return {"flat": ids[flat], "sentences": bounds, "books": books, "held": held, "words": vocabulary.words}
