"""Lines of books to sentences, one at a time, whatever the length of a book."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from sentbook.data.readers.novels import split_sentences

Layout = Literal["prose", "lines"]

# "CHAPTER XII", "Book 3. The Gold Thread", "II." and "14" alone on a line.
_HEADING = re.compile(
    r"(?:CHAPTER|Chapter|BOOK|Book|PART|Part|VOLUME|Volume|VOL\.)\s+(?:[IVXLCDM]+|\d+|[A-Z]{2,})\b(?:\s*[.:-].*)?"
    r"|[IVXLCDM]+\.|[IVXLCDM]{2,}|\d+\.?"
)
_LETTER = re.compile(r"[^\W_]")
# Characters of a paragraph that may wait for its end. A paragraph of a whole book is cut as it is read.
_WAITING = 1 << 15


def sentences(lines: Iterable[str], layout: Layout = "prose") -> Iterator[str]:
    """The sentences of a book in order.

    ``prose``: lines are joined, blank lines, ornaments and numbered headings part paragraphs, and paragraphs are split
    by rule (`split_sentences`). ``lines``: every line is a sentence, as in BookCorpus. Headings, and what holds no
    letter or digit, are left out; what stands before and after them are neighbours.

    Example:
        >>> list(sentences(["CHAPTER I.", "He saw Mr. Hill and", "waved. Why?", "", "* * *", "They left."]))
        ['He saw Mr. Hill and waved.', 'Why?', 'They left.']
    """
    found = _prose(lines) if layout == "prose" else (" ".join(line.split()) for line in lines)
    return (sentence for sentence in found if _LETTER.search(sentence) and not _HEADING.fullmatch(sentence))


def _prose(lines: Iterable[str]) -> Iterator[str]:
    waiting: list[str] = []
    size, enough = 0, _WAITING
    for line in lines:
        text = " ".join(line.split())
        if not _LETTER.search(text) or _HEADING.fullmatch(text):
            yield from split_sentences(" ".join(waiting))
            waiting, size, enough = [], 0, _WAITING
            continue
        waiting.append(text)
        size += len(text) + 1
        if size > enough:  # the last sentence may go on
            *whole, last = split_sentences(" ".join(waiting))
            yield from whole
            waiting, size = [last], len(last)
            enough = max(_WAITING, 2 * size)  # so that text without an end is not read again at every line
    yield from split_sentences(" ".join(waiting))
