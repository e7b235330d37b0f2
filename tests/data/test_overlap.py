"""Shared sentences: the key, the report, the removal."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data import overlap
from sentbook.data.types import ParaphrasePairs, ScoredPairs


def corpus(*pairs: tuple[str, str]) -> ParaphrasePairs:
    return ParaphrasePairs("made", [one for one, _ in pairs], [other for _, other in pairs], ["made"] * len(pairs))


def scored(name: str, *pairs: tuple[str, str]) -> ScoredPairs:
    return ScoredPairs(name, [one for one, _ in pairs], [other for _, other in pairs], np.zeros(len(pairs)), (0, 5))


@given(st.text())
def test_key_is_idempotent_and_has_no_marks(text: str) -> None:
    key = overlap.key(text)
    assert overlap.key(key) == key
    assert "  " not in key and key == key.strip()
    assert all(char.isalnum() or char == " " or not char.isascii() for char in key)


@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1), min_size=1))
def test_key_ignores_case_spacing_and_punctuation(words: list[str]) -> None:
    key = overlap.key(" ".join(words))
    assert overlap.key(",  ".join(words).upper() + " !") == key
    assert key == " ".join(words).lower()


PAIRS = corpus(
    ("A dog runs.", "an animal runs"),  # the first is a test sentence
    ("a cat", "The DOG sleeps"),  # the second is one
    ("a dog runs", "a cat"),
    ("free of both", "as well"),
    ("!!", "??"),
)
TESTS = [
    scored("one", ("a dog runs", "the dog sleeps"), ("a dog runs", "...")),
    scored("two", ("nothing", "shared")),
]


def test_remove() -> None:
    kept, removed = overlap.remove(PAIRS, overlap.test_keys(TESTS))
    assert removed == 3
    assert kept.first == ["free of both", "!!"] and kept.second == ["as well", "??"]
    assert kept.name == "made" and kept.source == ["made", "made"]


def test_report_counts_distinct_sentences_and_pairs() -> None:
    assert overlap.report([PAIRS], TESTS) == [
        {"corpus": "made", "test": "one", "sentences": 2, "share": 1.0, "pairs": 3}
    ]
