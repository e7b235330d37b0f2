"""Shared sentences: the key and the removal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data import suites
from sentbook.data.types import ParaphrasePairs, ScoredPairs
from sentbook.io import root


@given(st.text())
def test_key_is_idempotent_and_has_no_marks(text: str) -> None:
    key = suites.key(text)
    assert suites.key(key) == key
    assert "  " not in key and key == key.strip()
    assert all(char.isalnum() or char == " " or not char.isascii() for char in key)


@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1), min_size=1))
def test_key_ignores_case_spacing_and_punctuation(words: list[str]) -> None:
    key = suites.key(" ".join(words))
    assert suites.key(",  ".join(words).upper() + " !") == key == " ".join(words).lower()


def test_pairs_that_share_a_sentence_are_removed() -> None:
    shared = [("A dog runs.", "an animal runs"), ("a cat", "The DOG sleeps"), ("a dog runs", "a cat")]
    corpus = ParaphrasePairs.of("made", [*shared, ("free of both", "as well"), ("!!", "??")])
    one = ScoredPairs("one", ["a dog runs"] * 2, ["the dog sleeps", "..."], np.zeros(2), (0, 5))
    tests = [one, ScoredPairs("two", ["nothing"], ["shared"], np.zeros(1), (0, 5))]
    kept = suites.remove(corpus, suites.test_keys(tests))
    assert kept == ParaphrasePairs.of("made", [("free of both", "as well"), ("!!", "??")])


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("told", "sets"),
    [("SICK", ["sick"]), ("MSRP", ["msrp"]), ("STS Benchmark", ["stsb"]), ("STS 2012", ["sts12"]),
     ("human activities, each of the four", ["sim", "rel", "ma", "pac"]), ("short answers", ["sag"])],
)  # fmt: skip
def test_the_page_on_data_counts_what_parts_share(told: str, sets: list[str]) -> None:
    [row] = [line for line in (root() / "book" / "data.md").read_text().splitlines() if line.startswith(f"| {told} | ")]
    for name in sets:
        parts = {part: suites.pairs(name, part) for part in ("test", "trial", "train")}
        keys = suites.test_keys([parts["test"]])
        tests, *others = (
            [{suites.key(x), suites.key(y)} for x, y in zip(one.first, one.second, strict=True)]
            for one in parts.values()
        )
        counts = [
            (len(pairs), sum(bool(one & keys) for one in pairs), sum(one in tests for one in pairs)) for pairs in others
        ]
        assert row == f"| {told} | " + " | ".join(f"{count:,}" for part in counts for count in part) + " |"
