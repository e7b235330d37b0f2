"""Lines of books to sentences, by rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal

Layout = Literal["prose", "lines"]

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
