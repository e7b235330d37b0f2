"""Books: lines to sentences; on disk ids round trip, nothing crosses a book, limits hold."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sentbook.data import novels, sources
from sentbook.data.miniworld import World
from sentbook.data.novels import Books, Limits, folder, prepare, sentences, split_sentences, stories

LETTERS = "abcdefghij"
BOOKS = st.lists(
    st.lists(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=9), max_size=12), min_size=1, max_size=7
).filter(lambda found: any(found))


def told(found: list[list[list[str]]]) -> list[list[str]]:
    return [[" ".join(words) for words in book] for book in found]


def book_of(books: Books, row: int) -> int:
    return int(np.searchsorted(books.offsets, row, side="right")) - 1


@given(
    words=st.lists(st.sampled_from(["a", "Mr.", "dog", "ran", "I", "Why?", "home.", '"No."', "etc."]), max_size=40),
    width=st.integers(2, 8),
)
def test_wrapping_does_not_matter(words: list[str], width: int) -> None:
    wrapped = [" ".join(["so", *words[at : at + width]]) for at in range(0, len(words), width)]
    assert list(sentences(wrapped)) == [s for s in split_sentences(" ".join(wrapped)) if re.search(r"\w", s)]


def test_paragraphs_headings_and_ornaments() -> None:
    book = [
        "CHAPTER XII. A Sea", "It was late and", "", "nobody came", "* * *", "Part 2", "II.", "Part of it", "was lost",
    ]  # fmt: skip
    assert list(sentences(book)) == ["It was late and", "nobody came", "Part of it was lost"]
    assert list(sentences(["I", "saw him.", "1864", "Chapter and verse"])) == ["I saw him.", "Chapter and verse"]
    lines = ["it was late . he  left .\n", "", "---", "chapter one", "II.", "why ?"]
    assert list(sentences(lines, "lines")) == ["it was late . he left .", "chapter one", "why ?"]


def test_sentences_of_a_paragraph() -> None:
    text = "\u201cGo!\u201d said Mrs. J. Hill. He went (so it seemed.) Why? At 3.30 p.m. he came back"
    assert split_sentences(text) == [
        "\u201cGo!\u201d said Mrs. J. Hill.", "He went (so it seemed.)", "Why?", "At 3.30 p.m. he came back",
    ]  # fmt: skip
    assert split_sentences("  ") == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=BOOKS, words=st.integers(1, 12))
@example(found=[[], [], [["a"]]], words=3)  # no word is met in training
def test_ids_round_trip(found: list[list[list[str]]], words: int, cache: Path) -> None:
    books = prepare(stories(told(found)), words=words, every=3)
    flat = [sentence for book in found for sentence in book]
    known = set(books.vocabulary.words)
    assert len(books) == len(flat) and len(books.vocabulary) <= words + 2
    for row, sentence in enumerate(flat):
        assert books.text(row) == " ".join(word if word in known else "<unk>" for word in sentence)
    assert np.diff(books.offsets).tolist() == [len(book) for book in found]
    assert books.held.tolist() == [at % 3 == 2 for at in range(len(found))]
    counts = Counter(word for at, book in enumerate(found) if at % 3 != 2 for s in book for word in s)
    chosen = books.vocabulary.words
    assert [counts[word] for word in chosen] == sorted(counts.values(), reverse=True)[:words]


def test_ids_are_memory_mapped_and_take_two_bytes_where_they_can(cache: Path) -> None:
    few = prepare(stories(World().stories(60)), words=80).tokens.flat
    assert isinstance(few, np.memmap) and few.dtype == np.uint16
    words = [f"w{at}" for at in range(1 << 16)]
    many = prepare(stories([[" ".join(words)], []]), words=len(words), tokenisation="whitespace", every=2).tokens.flat
    assert many.dtype == np.int32 and len(set(many.tolist())) == len(words)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    found=BOOKS,
    size=st.integers(1, 4),
    shortest=st.integers(1, 3),
    more=st.integers(0, 6),
    part=st.sampled_from(["train", "held out", "all"]),
)
def test_nothing_crosses_a_book_and_limits_hold(
    found: list[list[list[str]]], size: int, shortest: int, more: int, part: str, cache: Path
) -> None:
    books = prepare(stories(told(found)), every=3)
    limits = Limits(shortest, shortest + more)
    lengths = [len(words) for book in found for words in book]

    def right(row: int) -> bool:
        held = bool(books.held[book_of(books, row)])
        belongs = part == "all" or held == (part == "held out")
        return belongs and lengths[row] >= shortest and lengths[row] <= limits.longest

    rows = books.rows(part, limits)  # type: ignore[arg-type]
    assert rows.tolist() == [row for row in range(len(books)) if right(row)]
    pairs = books.pairs(part, limits)  # type: ignore[arg-type]
    assert pairs.tolist() == [
        row
        for row in range(len(books) - 1)
        if right(row) and right(row + 1) and book_of(books, row) == book_of(books, row + 1)
    ]
    paragraphs = books.paragraphs(part, size, limits)  # type: ignore[arg-type]
    greedy, row = [], 0  # as many as can be, from the front
    while row + size <= len(books):
        if all(right(at) for at in range(row, row + size)) and book_of(books, row) == book_of(books, row + size - 1):
            greedy.append(row)
            row += size
        else:
            row += 1
    assert paragraphs.tolist() == greedy


def test_a_folder_of_books(tmp_path: Path, cache: Path) -> None:
    own = tmp_path / "books"
    (own / "more").mkdir(parents=True)
    for name in ("c", "d", "e"):
        (own / f"{name}.txt").write_text(f"Book {name} is a book.")
    (own / "b.txt").write_text("\ufeffHe ran. She\nwent home.\r\n\nThey met.", encoding="utf-8")
    (own / "more" / "a.TXT").write_text("Caf\u00e9s are shut.", encoding="utf-8")
    (own / "notes.md").write_text("no book")
    books = prepare(folder(own))
    assert books.names == ("b", "c", "d", "e", "more/a.TXT") and books.held.tolist() == [False] * 4 + [True]
    assert [books.text(row) for row in range(3)] == ["he ran .", "she went home .", "they met ."]
    assert len(books) == 7
    (own / "b.txt").write_text("Two cats.")
    assert prepare(folder(own)).text(0) == "two cats ."  # a changed folder is read again
    assert prepare(folder(own, "lines")).text(0) == "two cats ."


@pytest.mark.real_data
def test_two_novels(mirror: Path, cache: Path) -> None:
    books = prepare(novels.novels(2), every=2)
    assert len(books.names) == 2 and books.held.tolist() == [False, True]
    assert len(books) > 2000 and 0.7 < len(books.rows("all")) / len(books) < 1
    assert {name for name in sources.used() if name.startswith("train/novels/")}
    assert not any(books.text(int(row)).startswith("chapter ") for row in books.rows("all"))
