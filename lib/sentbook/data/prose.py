"""Lines of books to sentences, by rule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

Layout = Literal["prose", "lines"]

# "CHAPTER XII", "Book 3. The Gold Thread", "II." and "14" alone on a line.
_HEADING = re.compile(
    r"(?:CHAPTER|Chapter|BOOK|Book|PART|Part|VOLUME|Volume|VOL\.)\s+(?:[IVXLCDM]+|\d+|[A-Z]{2,})\b(?:\s*[.:-].*)?"
    r"|[IVXLCDM]+\.|[IVXLCDM]{2,}|\d+\.?"
)
LETTER = re.compile(r"[^\W_]")
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


def sentences(lines: Iterable[str], layout: Layout = "prose", counts: Counter[str] | None = None) -> Iterator[str]:
    """Yield the sentences of a book in order.

    ``prose``: lines are joined, blank lines, ornaments and numbered headings part paragraphs, and paragraphs are split
    by rule (`split_sentences`). ``lines``: every line is a sentence, as in BookCorpus. Headings, and what holds no
    letter or digit, are left out; what stands before and after them are neighbours.

    Args:
        counts: is given the number of lines, and of what is left out by its kind; blank lines are no loss.

    Example:
        >>> list(sentences(["CHAPTER I.", "He saw Mr. Hill and", "waved. Why?", "", "* * *", "They left."]))
        ['He saw Mr. Hill and waved.', 'Why?', 'They left.']
    """
    counts = Counter() if counts is None else counts
    found = _plain(lines, counts)
    return (one for one in (_prose(found, counts) if layout == "prose" else found) if _is_sentence(one, counts))


def _plain(lines: Iterable[str], counts: Counter[str]) -> Iterator[str]:
    for line in lines:
        counts["lines"] += 1
        yield " ".join(line.split())


def _is_sentence(text: str, counts: Counter[str]) -> bool:
    if LETTER.search(text) and not _HEADING.fullmatch(text):
        return True
    if text:
        counts["headings" if LETTER.search(text) else "without a letter or digit"] += 1
    return False


def _prose(lines: Iterable[str], counts: Counter[str]) -> Iterator[str]:
    paragraph: list[str] = []
    for text in lines:
        if _is_sentence(text, counts):
            paragraph.append(text)
        else:
            yield from split_sentences(" ".join(paragraph))
            paragraph = []
    yield from split_sentences(" ".join(paragraph))
