"""Sentences that a training corpus shares with a test set: counted, and removed before training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

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


def _keys(sentences: Iterable[str]) -> frozenset[str]:
    """Distinct keys; a sentence of marks alone has none."""
    return frozenset(key(sentence) for sentence in sentences) - {""}


def test_keys(tests: Iterable[ScoredPairs]) -> frozenset[str]:
    """Return the keys of every sentence of the test sets."""
    return _keys(sentence for pairs in tests for side in (pairs.first, pairs.second) for sentence in side)


test_keys.__test__ = False  # type: ignore[attr-defined]  # not a pytest function


def remove(pairs: Pairs, keys: frozenset[str]) -> Pairs:
    """Return ``pairs`` without those that hold a sentence of ``keys``."""
    kept = [
        key(one) not in keys and key(other) not in keys for one, other in zip(pairs.first, pairs.second, strict=True)
    ]
    return pairs.take(np.array(kept, dtype=np.bool_))


def report(corpora: Sequence[ParaphrasePairs], tests: Sequence[ScoredPairs]) -> list[dict[str, Any]]:
    """Return one row for each corpus and test set that share a sentence.

    Returns:
        Rows with ``corpus``, ``test``, ``sentences`` (distinct shared ones), ``share`` (of the test set's distinct
        sentences) and ``pairs`` (training pairs that hold one).
    """
    sets = {pairs.name: _keys([*pairs.first, *pairs.second]) for pairs in tests}
    anywhere = frozenset().union(*sets.values())
    rows: list[dict[str, Any]] = []
    for corpus in corpora:
        keys = ((key(one), key(other)) for one, other in zip(corpus.first, corpus.second, strict=True))
        # Few, so that the sets cost nothing.
        touching = [pair for pair in keys if pair[0] in anywhere or pair[1] in anywhere]
        sentences = frozenset(side for pair in touching for side in pair)
        for name, wanted in sets.items():
            shared = wanted & sentences
            if shared:
                pairs = sum(one in shared or other in shared for one, other in touching)
                share = len(shared) / len(wanted)
                rows.append(
                    {"corpus": corpus.name, "test": name, "sentences": len(shared), "share": share, "pairs": pairs}
                )
    return rows
