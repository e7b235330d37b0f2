"""Sentences that a training corpus shares with a test set, which are removed before training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from sentbook.data.text import tokenise_words
from sentbook.data.types import LabelledPairs, ParaphrasePairs, ScoredPairs

Pairs = TypeVar("Pairs", ParaphrasePairs, LabelledPairs, ScoredPairs)


def key(sentence: str) -> str:
    """Return a sentence without case, punctuation and spacing.

    Example:
        >>> key("A man, is   playing!") == key("a man is playing")
        True
    """
    return " ".join(tokenise_words(sentence))


def test_keys(tests: Iterable[ScoredPairs]) -> frozenset[str]:
    """Return the keys of every sentence of the test sets; one of marks alone has none."""
    return frozenset(key(sentence) for pairs in tests for sentence in (*pairs.first, *pairs.second)) - {""}


def remove(pairs: Pairs, keys: frozenset[str]) -> Pairs:
    """Return ``pairs`` without those that hold a sentence of ``keys``."""
    kept = [
        key(one) not in keys and key(other) not in keys for one, other in zip(pairs.first, pairs.second, strict=True)
    ]
    return pairs.take(np.array(kept, dtype=np.bool_))
