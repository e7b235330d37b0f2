"""Lines to sentences: however they are wrapped and wherever the reading stops."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data import prose
from sentbook.data.prose import sentences
from sentbook.data.readers.novels import split_sentences

WORDS = st.lists(st.sampled_from(["a", "Mr.", "dog", "ran", "I", "Why?", "home.", '"No."', "etc."]), max_size=40)


@given(words=WORDS, width=st.integers(1, 8))
def test_wrapping_does_not_matter(words: list[str], width: int) -> None:
    wrapped = [" ".join(words[at : at + width]) for at in range(0, len(words), width)]
    found = [text for text in split_sentences(" ".join(words)) if re.search(r"\w", text)]
    if not any(prose._HEADING.fullmatch(line) for line in wrapped):
        assert list(sentences(wrapped)) == found


@given(words=WORDS, waiting=st.integers(1, 60))
def test_long_paragraphs_are_cut_as_they_are_read(words: list[str], waiting: int) -> None:
    lines = [f"  {word}\n" for word in words]
    whole = list(sentences(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prose, "_WAITING", waiting)
        assert list(sentences(lines)) == whole


def test_paragraphs_headings_and_ornaments() -> None:
    book = [
        "CHAPTER XII. The Sea",
        "It was late and",
        "",
        "nobody came",
        "* * *",
        "Part 2",
        "II.",
        "Part of it",
        "was lost",
    ]
    assert list(sentences(book)) == ["It was late and", "nobody came", "Part of it was lost"]
    assert list(sentences(["I", "saw him.", "1864", "Chapter and verse"])) == ["I saw him.", "Chapter and verse"]


def test_lines_are_sentences_where_they_are_said_to_be() -> None:
    lines = ["it was late . he  left .\n", "", "---", "chapter one", "why ?"]
    assert list(sentences(lines, "lines")) == ["it was late . he left .", "chapter one", "why ?"]


def test_nothing_is_read_ahead() -> None:
    taken = []

    def book() -> object:
        for number in range(100_000):
            taken.append(number)
            yield "He ran home. She did not." + " And so on." * 20

    found = sentences(book())  # type: ignore[arg-type]
    assert next(found) == "He ran home." and len(taken) < 1000
