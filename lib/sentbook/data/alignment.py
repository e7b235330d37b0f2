"""Phrase pairs from sentence pairs by monolingual alignment: what was replaced by what.

Not every reader has PPDB XL's phrase pairs. Their substitute here: two sentences of a pair are aligned word
by word (longest matching blocks), and each replaced span of at most five words on either side is a phrase pair,
once bare and once with the common word on its left and right.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from sentbook.data.text import tokenise_words
from sentbook.data.types import ParaphrasePairs

LONGEST_SPAN, LONGEST_SENTENCE = 5, 40


def replaced_spans(first: list[str], second: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the phrase pairs of one sentence pair.

    Example:
        >>> list(replaced_spans("the old man sat down".split(), "the aged man sat down".split()))
        [('old', 'aged'), ('the old man', 'the aged man')]
    """
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        if kind != "replace" or max(end - start, other_end - other_start) > LONGEST_SPAN:
            continue
        yield " ".join(first[start:end]), " ".join(second[other_start:other_end])
        # Around a replaced span both sides agree, so one word more on each side is common to them.
        left, right = int(start > 0), int(end < len(first) and other_end < len(second))
        if left or right:
            yield " ".join(first[start - left : end + right]), " ".join(second[other_start - left : other_end + right])


def phrase_pairs(corpora: list[ParaphrasePairs]) -> ParaphrasePairs:
    """Return distinct phrase pairs of all ``corpora``, in order."""
    found: dict[tuple[str, str], None] = {}
    for corpus in corpora:
        for one, other in zip(corpus.first, corpus.second, strict=True):
            first, second = tokenise_words(one)[:LONGEST_SENTENCE], tokenise_words(other)[:LONGEST_SENTENCE]
            if first and second:
                found |= dict.fromkeys(replaced_spans(first, second))
    return ParaphrasePairs.of("phrases", found)
