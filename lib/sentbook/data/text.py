"""Text to token ids: named tokenisations, the vocabulary, and padded or length-bucketed batches."""

import hashlib
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Literal, TypeVar

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from sentbook.io import ConfigError, DataError

PADDING, UNKNOWN = 0, 1
T = TypeVar("T")

Tokenisation = Literal["ptb", "ptb-cased", "words", "whitespace", "content", "stems", "sentence"]

# One pass in place of the Treebank script's chain of substitutions; alternatives are tried from left to right.
_PTB = re.compile(
    r"""
      \.\.\.                                   # ellipsis
    | --+                                      # dash
    | [a-z]+(?=n't\b)                          # do|n't
    | n't\b
    | '(?:s|m|d|ll|re|ve)\b                    # clitics
    | \d+(?:[.,:/]\d+)*                        # 1,000.50  10:30
    | (?:[a-z]\.){2,}                          # u.s.
    | [^\W\d_]+(?:-[^\W_]+)*(?:_[^\W_]+)*      # words, hyphens kept as the Treebank does
    | [#@]\w+                                  # hashtags and handles
    | \w+
    | [^\w\s]                                  # each other mark alone
    """,
    re.VERBOSE,
)
_PTB_CASED = re.compile(_PTB.pattern, re.VERBOSE | re.IGNORECASE)
_WORDS = re.compile(r"[^\W_]+")
_LETTER = re.compile(r"[^\W_]")
_CLITIC = re.compile(r"n't|'(?:s|m|d|ll|re|ve)|ca|wo")  # with the stems of "can't" and "won't"
_STEM: Callable[[str], str] = cache(snowballstemmer.stemmer("english").stemWord)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-"})


def texts(sentences: str | Iterable[str]) -> list[str]:
    """Return sentences as a list: one string is one sentence, and a list, an array or a column of strings is that list.

    Example:
        >>> texts("a cat"), texts(("a cat", "dogs"))
        (['a cat'], ['a cat', 'dogs'])

    Raises:
        DataError: something is not text: None, a number, bytes, a list within the list; it is named.
    """
    if isinstance(sentences, str):
        return [str(sentences)]
    one_column = isinstance(sentences, Iterable) and getattr(sentences, "ndim", 1) == 1
    if not one_column or isinstance(sentences, bytes | bytearray | Mapping | Set):
        raise DataError(f"Sentences are no text but {_named(sentences)}; give a string or a list of strings.")
    found = list(sentences)
    for number, sentence in enumerate(found, start=1):
        if not isinstance(sentence, str):
            raise DataError(f"Sentence {number} is no text but {_named(sentence)}; give a string.")
    return [str(sentence) for sentence in found]


def _named(value: object) -> str:
    return f"{' '.join(reprlib.repr(value).split())} ({type(value).__name__})"


def tokenise_ptb(sentence: str) -> list[str]:
    """Split in Penn-Treebank style, lower case: the papers' choice (`strictTreebank3` in the released preprocessing).

    Deviations: brackets stay brackets and quotes stay quotes (the papers restore them as well).

    Example:
        >>> tokenise_ptb("They don't like Mary's U.S. trip, 10:30.")
        ['they', 'do', "n't", 'like', 'mary', "'s", 'u.s.', 'trip', ',', '10:30', '.']
    """
    return _PTB.findall(sentence.translate(_QUOTES).lower())


def tokenise_ptb_cased(sentence: str) -> list[str]:
    """Split as `tokenise_ptb`, with case kept: as vectors of lower-cased words meet text that nobody lower-cased.

    Example:
        >>> tokenise_ptb_cased("They DON'T like the U.S. trip")
        ['They', 'DO', "N'T", 'like', 'the', 'U.S.', 'trip']
    """
    return _PTB_CASED.findall(sentence.translate(_QUOTES))


def tokenise_words(sentence: str) -> list[str]:
    """Return lower-cased runs of letters and digits; every mark is dropped.

    Example:
        >>> tokenise_words("They don't.")
        ['they', 'don', 't']
    """
    return _WORDS.findall(sentence.lower())


def tokenise_whitespace(sentence: str) -> list[str]:
    """Split at white space and lower-case, for text that is tokenised already."""
    return sentence.lower().split()


def tokenise_content(sentence: str) -> list[str]:
    """Drop marks and stop words (scikit-learn's English list) of `tokenise_ptb`; keep all where nothing would be left.

    The list holds negation ("no", "not"), so that a sentence and its denial become one. Clitics ("n't", "'s") are short
    forms of words of the list and go with them. A sentence of marks alone keeps its marks.

    Example:
        >>> tokenise_content("There isn't a man on the horse, and no dog.")
        ['man', 'horse', 'dog']
    """
    tokens = tokenise_ptb(sentence)
    words = [token for token in tokens if _LETTER.search(token)]
    return [word for word in words if not (_CLITIC.fullmatch(word) or word in _stop_words())] or words or tokens


def tokenise_stems(sentence: str) -> list[str]:
    """Cut each token of `tokenise_ptb` to its stem by the Porter 2 algorithm.

    Example:
        >>> tokenise_stems("Dogs are playing happily")
        ['dog', 'are', 'play', 'happili']
    """
    return [_STEM(token) for token in tokenise_ptb(sentence)]


def tokenise_sentence(sentence: str) -> list[str]:
    """Return the whole sentence, stripped, as one token: for vectors of sentences in place of words.

    Example:
        >>> tokenise_sentence(" A man plays. "), tokenise_sentence(" ")
        (['A man plays.'], [])
    """
    return [whole] if (whole := sentence.strip()) else []


@cache
def _stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # a second of imports that few runs need

    return ENGLISH_STOP_WORDS


TOKENISERS: dict[Tokenisation, Callable[[str], list[str]]] = {
    "ptb": tokenise_ptb,
    "ptb-cased": tokenise_ptb_cased,
    "words": tokenise_words,
    "whitespace": tokenise_whitespace,
    "content": tokenise_content,
    "stems": tokenise_stems,
    "sentence": tokenise_sentence,
}


def one_of(what: str, name: str, choices: Mapping[Any, T]) -> T:
    """Return what ``name`` stands for, or raise a `ConfigError` with the known names."""
    if name not in choices:
        raise ConfigError(f"Unknown {what} '{name}'; choose among {', '.join(choices)}.")
    return choices[name]


@dataclass(frozen=True)
class TokenIds:
    """N tokenised sentences as one flat array: ``flat[offsets[i]:offsets[i + 1]]`` is sentence i."""

    flat: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Return (N,) tokens of each sentence."""
        return np.diff(self.offsets)

    def padded(
        self, rows: NDArray[np.int64], minimum: int = 1, order: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return sentences as (B, T) ids, right-padded with 0 to max(longest, ``minimum``), and their (B,) lengths.

        Args:
            order: (B, at least T) sort keys that permute the tokens of each row; None keeps the order.
        """
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        width = max(int(lengths.max(initial=0)), minimum)
        columns = np.arange(width)
        inside = columns < lengths[:, None]
        at = self.offsets[rows][:, None] + columns
        flat = self.flat if len(self.flat) else np.zeros(1, np.int64)
        ids = np.where(inside, flat[np.minimum(at, len(flat) - 1)], PADDING)
        if order is not None:
            keys = np.where(inside, order[:, :width], np.inf)
            ids = np.take_along_axis(ids, np.argsort(keys, axis=1, kind="stable"), axis=1)
        return ids, lengths


def joined(first: TokenIds, second: TokenIds) -> TokenIds:
    """Return the sentences of ``first``, then those of ``second``."""
    offsets = np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]])
    return TokenIds(np.concatenate([first.flat, second.flat]), offsets)


class Vocabulary:
    """Words to ids. Id 0 is padding, id 1 every unknown word, words follow from 2.

    A word that is not known is looked up once more without a leading ``#`` (as the released evaluation does).
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self._ids = {word: index for index, word in enumerate(self.words, start=2)}
        if len(self._ids) != len(self.words):
            raise DataError("The vocabulary holds a word twice; make each word of the vectors file unique.")

    def __len__(self) -> int:
        return len(self.words) + 2

    def digest(self, count: int | None = None) -> str:
        """Digest the first ``count`` words in their order, or all: 16 hexadecimal digits."""
        return hashlib.sha256("\n".join(self.words[:count]).encode()).hexdigest()[:16]

    def text(self, ids: Iterable[int]) -> str:
        """Join the words of ids by spaces, an unknown one as ``<unk>``."""
        return " ".join("<unk>" if index == UNKNOWN else self.words[index - 2] for index in ids)

    def id(self, word: str) -> int:
        """Return a word's row; without its leading ``#`` where only that is known; else that of unknown words."""
        found = self._ids.get(word)
        if found is None:
            found = self._ids.get(word[1:], UNKNOWN) if word.startswith("#") else UNKNOWN
        return found

    def encode(self, sentences: str | Iterable[str], tokenisation: Tokenisation = "ptb") -> TokenIds:
        """Tokenise and look up N sentences; one string is one sentence.

        Raises:
            DataError: a sentence is no text, has no token, or as one token (``sentence``) is unknown; it is named.
        """
        sentences = texts(sentences)
        tokenise, known = one_of("tokenisation", tokenisation, TOKENISERS), self._ids
        # In most no token crosses a space: what stands between two spaces is tokenised once.
        whole = tokenisation in ("content", "sentence")
        ids = cache(lambda text: [known.get(token) or self.id(token) for token in tokenise(text)])
        flat: list[int] = []
        offsets = np.zeros(len(sentences) + 1, dtype=np.int64)
        for index, sentence in enumerate(sentences):
            start = len(flat)
            flat += chain.from_iterable(map(ids, [sentence] if whole else sentence.split()))
            unknown = tokenisation == "sentence" and flat[start:] == [UNKNOWN]
            if unknown or len(flat) == start:  # the mean of all others says nothing of a sentence
                why = "has no vector of its own; use words" if unknown else "is empty; remove or fill it"
                raise DataError(f"Sentence {index + 1}, {sentence!r}, {why} (tokenisation '{tokenisation}').")
            offsets[index + 1] = len(flat)
        return TokenIds(np.asarray(flat, dtype=np.int64), offsets)


def shuffled_batches(size: int, batch: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return 0..size-1 in random order, ``batch`` at a time; the last, short batch is kept (as the released code)."""
    order = rng.permutation(size)
    return [order[start : start + batch] for start in range(0, size, batch)]


def bucketed_batches(lengths: NDArray[np.int64], batch: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return batches of similar length: random pools of 50 batches are sorted by length, cut, and shuffled.

    Every example is seen once an epoch and batches stay random, while padding falls from about a half to a tenth.
    Deviation from the papers: in-batch negatives are then of similar length, hence a little harder.
    """
    order = rng.permutation(len(lengths))
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), 50 * batch):
        chunk = order[start : start + 50 * batch]
        chunk = chunk[np.argsort(lengths[chunk], kind="stable")]
        batches += [chunk[at : at + batch] for at in range(0, len(chunk), batch)]
    return [batches[index] for index in rng.permutation(len(batches))]


def batches_by_tokens(lengths: NDArray[np.int64], max_tokens: int) -> Iterator[NDArray[np.int64]]:
    """Yield rows sorted by length, cut so that a padded batch holds at most ``max_tokens`` cells (or one sentence)."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * lengths[order[end]] > max_tokens:
            yield order[start:end]
            start = end
