"""Shared sentences: the key, the report, the removal."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data import overlap
from sentbook.data.types import ParaphrasePairs, ScoredPairs


@given(st.text())
def test_key_is_idempotent_and_has_no_marks(text: str) -> None:
    key = overlap.key(text)
    assert overlap.key(key) == key
    assert "  " not in key and key == key.strip()
    assert all(char.isalnum() or char == " " or not char.isascii() for char in key)


@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1), min_size=1))
def test_key_ignores_case_spacing_and_punctuation(words: list[str]) -> None:
    key = overlap.key(" ".join(words))
    assert overlap.key(",  ".join(words).upper() + " !") == key == " ".join(words).lower()


def test_shared_sentences_are_counted_and_removed() -> None:
    shared = [("A dog runs.", "an animal runs"), ("a cat", "The DOG sleeps"), ("a dog runs", "a cat")]
    corpus = ParaphrasePairs.of("made", [*shared, ("free of both", "as well"), ("!!", "??")])
    one = ScoredPairs("one", ["a dog runs"] * 2, ["the dog sleeps", "..."], np.zeros(2), (0, 5))
    tests = [one, ScoredPairs("two", ["nothing"], ["shared"], np.zeros(1), (0, 5))]
    kept = overlap.remove(corpus, overlap.test_keys(tests))
    assert kept == ParaphrasePairs.of("made", [("free of both", "as well"), ("!!", "??")])
    [row] = overlap.report([corpus], tests)
    assert row == {"corpus": "made", "test": "one", "sentences": 2, "share": 1.0, "pairs": 3}
