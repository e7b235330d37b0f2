"""Books: lines to sentences; on disk ids round trip, nothing crosses a book, limits hold."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sentbook.data import novels, sources
from sentbook.data.miniworld import World
from sentbook.data.novels import Books, Limits, folder, prepare, stories
from sentbook.data.prose import sentences, split_sentences
from sentbook.data.text import UNKNOWN, tokenise_ptb
from sentbook.data.types import Stories
from sentbook.io import DataError

LETTERS = "abcdefghij"
BOOKS = st.lists(
    st.lists(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=9), max_size=12), min_size=1, max_size=7
).filter(lambda found: any(found))


def told(found: list[list[list[str]]]) -> Stories:
    return Stories("made", [[" ".join(words) for words in book] for book in found])


def parts(found: list[list[list[str]]], every: int) -> list[tuple[list[list[str]], bool]]:
    """What is held out: whole books, or of few books the last sentences of each."""
    if len(found) >= every:
        return [(book, at % every == every - 1) for at, book in enumerate(found)]
    cuts = [len(book) - len(book) // every for book in found]
    return [part for book, cut in zip(found, cuts, strict=True) for part in ((book[:cut], False), (book[cut:], True))]


def book_of(books: Books, row: int) -> int:
    return int(np.searchsorted(books.offsets, row, side="right")) - 1


# -- lines to sentences ------------------------------------------------------------------------------------------------


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
    counts = Counter[str]()
    assert list(sentences(lines, "lines", counts)) == ["it was late . he left .", "chapter one", "why ?"]
    assert counts == {"lines": 6, "headings": 1, "without a letter or digit": 1}
    assert list(sentences([*book, "He fell. (...)"], counts=counts))[-1] == "Part of it was lost He fell. (...)"
    assert counts == {"lines": 16, "headings": 4, "without a letter or digit": 2}


def test_sentences_of_a_paragraph() -> None:
    text = "\u201cGo!\u201d said Mrs. J. Hill. He went (so it seemed.) Why? At 3.30 p.m. he came back"
    assert split_sentences(text) == [
        "\u201cGo!\u201d said Mrs. J. Hill.", "He went (so it seemed.)", "Why?", "At 3.30 p.m. he came back",
    ]  # fmt: skip
    assert split_sentences("  ") == []


# -- what is on disk ---------------------------------------------------------------------------------------------------


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=BOOKS, words=st.integers(1, 12))
def test_ids_round_trip(found: list[list[list[str]]], words: int, cache: Path) -> None:
    books = prepare(stories(told(found)), words=words, every=3)
    flat = [sentence for book in found for sentence in book]
    known = set(books.vocabulary.words)
    assert len(books) == len(flat) and len(books.vocabulary) <= words + 2
    for row, sentence in enumerate(flat):
        assert books.text(row) == " ".join(word if word in known else "<unk>" for word in sentence)
    cut = parts(found, 3)
    assert np.diff(books.offsets).tolist() == [len(part) for part, _ in cut]
    assert books.held.tolist() == [held for _, held in cut]
    counts = Counter(word for part, held in cut if not held for s in part for word in s)
    chosen = books.vocabulary.words
    assert [counts[word] for word in chosen] == sorted(counts.values(), reverse=True)[:words]


def test_ids_are_those_of_the_vocabulary_and_memory_mapped(cache: Path) -> None:
    world = World().stories(60)
    books = prepare(stories(world), words=80)
    encoded = books.vocabulary.encode([sentence for story in world.stories for sentence in story])
    np.testing.assert_array_equal(books.tokens.flat, encoded.flat)
    np.testing.assert_array_equal(books.tokens.offsets, encoded.offsets)
    assert 0 < books.unknown_share("all") == (encoded.flat == UNKNOWN).mean()
    assert books.names[3] == "000003" and books.name == "miniworld/stories"
    assert isinstance(books.tokens.flat, np.memmap) and isinstance(books.tokens.offsets, np.memmap)
    assert books.tokens.flat.dtype == np.uint16 and not books.tokens.flat.flags.writeable
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [a + b + c + d for a in letters for b in letters for c in letters for d in letters[:5]]
    made = Stories("many", [[" ".join(words[at : at + 1000]) for at in range(0, len(words), 1000)], []])
    many = prepare(stories(made), words=len(words), tokenisation="whitespace", every=2).tokens.flat  # take four bytes
    assert many.dtype == np.int32 and len(set(many.tolist())) == len(words)


# -- pairs and paragraphs ----------------------------------------------------------------------------------------------


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
    members = (paragraphs[:, None] + np.arange(size)).ravel().tolist()
    assert len(set(members)) == len(members) and all(right(row) for row in members)
    for first in paragraphs.tolist():
        assert book_of(books, first) == book_of(books, first + size - 1)
    greedy, row = [], 0  # as many as can be, from the front
    while row + size <= len(books):
        if all(right(at) for at in range(row, row + size)) and book_of(books, row) == book_of(books, row + size - 1):
            greedy.append(row)
            row += size
        else:
            row += 1
    assert paragraphs.tolist() == greedy


def test_one_book_in_so_many_is_held_out(cache: Path) -> None:
    def held(number: int, every: int) -> list[int]:
        found = Stories("s", [[f"w{book}"] for book in range(number)])
        return np.flatnonzero(prepare(stories(found), every=every).held).tolist()

    assert (held(5, 5), held(10, 5), held(11, 5)) == ([4], [4, 9], [4, 9])
    books = prepare(stories(Stories("s", [["a a a"], ["b"]])), every=2)
    assert books.vocabulary.words == ["a"]  # of the book that is not held out
    assert books.unknown_share() == 0 and books.unknown_share("held out") == 1
    assert books.rows("train").tolist() == [0] and books.rows("held out").tolist() == [1]


@pytest.mark.parametrize(("sizes", "held"), [([11, 6], [9, 10, 16]), ([10], [8, 9]), ([4], [])])
def test_of_few_books_the_last_fifth_of_each_is_held_out(sizes: list[int], held: list[int], cache: Path) -> None:
    books = prepare(stories(Stories("s", [[f"w{at}" for at in range(size)] for size in sizes])))
    assert books.rows("held out").tolist() == held
    assert books.rows("train").tolist() == [row for row in range(sum(sizes)) if row not in held]
    ends = [*np.cumsum(sizes) - 1, *np.array(held[:1]) - 1, *([15] if len(sizes) > 1 else [])]
    assert books.pairs("all").tolist() == [row for row in range(sum(sizes)) if row not in ends]  # none is in both


# -- a user's folder ---------------------------------------------------------------------------------------------------


def test_a_folder_of_books(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "books" / "more").mkdir(parents=True)
    (tmp_path / "books" / "b.txt").write_text("\ufeffHe ran. She\nwent home.\r\n\nThey met.", encoding="utf-8")
    (tmp_path / "books" / "more" / "a.TXT").write_text("Caf\u00e9s are shut.", encoding="utf-8")
    (tmp_path / "books" / "notes.md").write_text("no book")
    books = prepare(folder(tmp_path / "books"))
    assert books.names == ("b", "b, its last part", "more/a.TXT", "more/a.TXT, its last part")
    assert books.held.tolist() == [False, True] * 2 and books.counts == {"lines": 5}
    assert [books.text(row) for row in range(3)] == ["he ran .", "she went home .", "they met ."]
    assert [tokenise_ptb("Caf\u00e9s are shut."), len(books)] == [["caf\u00e9s", "are", "shut", "."], 4]
    assert books.pairs("all").tolist() == [0, 1]
    (tmp_path / "books" / "b.txt").write_text("Two cats.")
    assert prepare(folder(tmp_path / "books")).text(0) == "two cats ."  # a changed folder is read again
    assert prepare(folder(tmp_path / "books"), words=1).text(0) == "<unk> <unk> ."
    assert len([found for found in cache.iterdir() if found.is_dir()]) == 3
    assert prepare(folder(tmp_path / "books", "lines")).text(0) == "two cats ."


def test_faults_of_a_folder_are_one_sentence(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "books"
    with pytest.raises(DataError, match=r"books holds no \.txt file; name a folder"):
        folder(path)
    path.mkdir()
    (path / "a.txt").write_text("CHAPTER I\n\n...\n")
    with pytest.raises(DataError, match="There is no sentence in the 1 books of 'books'"):
        prepare(folder(path))
    (path / "b.txt").write_bytes(b"Caf\xe9s are shut.")
    with pytest.raises(DataError, match=r"b\.txt cannot be read .*; convert it to UTF-8"):
        prepare(folder(path))
    (path / "d.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"d\.txt cannot be read .*No such file"):
        folder(path)
    assert not [found for found in cache.iterdir() if found.is_dir()]  # nothing half made is left
    for shortest, longest in ((0, 3), (4, 3)):
        with pytest.raises(ValueError, match=f"Sentences of {shortest} to {longest} words"):
            Limits(shortest, longest)


# -- the cache ---------------------------------------------------------------------------------------------------------


def test_made_once_and_made_again_when_damaged(cache: Path) -> None:
    world = stories(World().stories(12))
    whole = [prepare(world).text(row) for row in range(5)]
    (kept,) = [found for found in cache.iterdir() if found.is_dir()]
    untouched = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    assert [prepare(world).text(row) for row in range(5)] == whole
    assert {file: file.stat().st_mtime_ns for file in kept.iterdir()} == untouched
    for file in untouched:
        for damage in (file.read_bytes()[:-9], b""):
            file.write_bytes(damage)
            assert [prepare(world).text(row) for row in range(5)] == whole
    assert json.loads((kept / "about.json").read_text())["names"][0] == "000000"


# -- the real novels ---------------------------------------------------------------------------------------------------


@pytest.mark.real_data
def test_two_novels(mirror: Path, cache: Path) -> None:
    books = prepare(novels.novels(2), every=2)
    assert len(books.names) == 2 and books.held.tolist() == [False, True]
    assert len(books) > 2000 and books.unknown_share() < 0.01 < books.unknown_share("held out")
    assert 0.7 < len(books.rows("all")) / len(books) < 1
    assert len(books.paragraphs("all", limits=Limits(longest=1000))) > len(books) / 8 - 3
    assert {name for name in sources.used() if name.startswith("train/novels/")}
    assert not any(books.text(int(row)).startswith("chapter ") for row in books.rows("all"))
