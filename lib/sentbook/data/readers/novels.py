"""Contiguous text: novels in place of BookCorpus."""

from __future__ import annotations

import re

from sentbook.data import sources
from sentbook.data.readers.tables import expect, lines
from sentbook.data.types import Stories

# A sentence ends at a mark and the quotes that close it, before white space and a capital, a digit or an opening quote.
_END = re.compile(r"""(?<=[.!?])(["'\u201d\u2019)\]]*)\s+(?=["'\u201c\u2018(\[]?[A-Z0-9])""")
_TITLES = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Messrs|Rev|Hon|Capt|Col|Gen|Prof|[A-Z])\.$")


def split_sentences(paragraph: str) -> list[str]:
    """Sentences of one paragraph whose lines were joined.

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


def novels(books: int | None = None) -> Stories:
    """100 English novels of the 1800s and early 1900s, whole; one story a book, its sentences in order.

    Lines are joined into paragraphs (blank lines part them) and split by rule. The source lost dashes and some quotes.
    Two neighbours within a story are neighbours in the book; the last sentence of a book has no next.

    Args:
        books: only the first so many by file name; all 100 when None.

    Raises:
        DataError: a book is missing, or the registry does not name 100.
    """
    files = [file for file in sources.registry() if file.startswith("train/novels/")]
    expect("novels", len(files), 100)
    stories = []
    for file in files[:books]:
        paragraphs = re.split(r"\n\s*\n", "\n".join(lines(file)))
        stories.append([s for text in paragraphs for s in split_sentences(" ".join(text.split()))])
    return Stories("novels", stories)
