"""Unsupervised similarity: the cosine of two sentence vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sentbook.data.text import TokenIds, Tokenisation, Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.models import SentenceEncoder, encode_ids


def cosine(first: NDArray[np.floating], second: NDArray[np.floating]) -> NDArray[np.float64]:
    """(N, F) and (N, F) to (N,) cosines in [-1, 1]; 0 where a vector is zero."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products = (first * second).sum(axis=1)
    return np.clip(np.divide(products, norms, out=np.zeros_like(products), where=norms > 0), -1, 1)


def tokenise_sets(
    sets: Sequence[ScoredPairs], vocabulary: Vocabulary, tokenisation: Tokenisation
) -> dict[str, tuple[TokenIds, TokenIds]]:
    """Both sides of each set as token ids, by the set's name; done once for many encoders."""
    return {
        pairs.name: (vocabulary.encode(pairs.first, tokenisation), vocabulary.encode(pairs.second, tokenisation))
        for pairs in sets
    }


def cosine_scores(
    encoder: SentenceEncoder, tokens: Mapping[str, tuple[TokenIds, TokenIds]]
) -> dict[str, NDArray[np.float64]]:
    """(N,) cosines of each set of pairs, by the set's name."""
    return {
        name: cosine(encode_ids(encoder, first), encode_ids(encoder, second))
        for name, (first, second) in tokens.items()
    }
