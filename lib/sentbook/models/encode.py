"""Sentences to vectors with a trained encoder, in batches bounded by memory rather than by count; and their cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentbook.data.text import TokenIds, Tokenisation, Vocabulary, batches_by_tokens
from sentbook.io import NumericalError
from sentbook.models.base import SentenceEncoder, to_device

if TYPE_CHECKING:
    from sentbook.data.types import ScoredPairs


def padded(tokens: TokenIds, rows: NDArray[np.int64], encoder: SentenceEncoder) -> tuple[Tensor, Tensor]:
    """Pad sentences: ids on the encoder's device, as wide as it needs at least, and lengths on the CPU."""
    ids, lengths = (torch.from_numpy(part) for part in tokens.padded(rows, encoder.minimum_length))
    return to_device(ids.long(), encoder.embedding.weight.device), lengths


@torch.inference_mode()
def encode_ids(encoder: SentenceEncoder, tokens: TokenIds) -> NDArray[np.float32]:
    """Encode N sentences of ids to (N, F) vectors, in their order.

    Where the encoder depends on its batch (the faithful CSE), batches are 100 sentences in file order, as the
    released evaluation has it.

    Raises:
        NumericalError: a vector is not finite.
    """
    training, _ = encoder.training, encoder.eval()
    if encoder.batch_dependent:
        batches = [np.arange(at, min(at + 100, len(tokens))) for at in range(0, len(tokens), 100)]
    else:
        batches = list(batches_by_tokens(tokens.lengths, encoder.tokens_per_batch))
    vectors = np.empty((len(tokens), encoder.dimension), dtype=np.float32)
    for rows in batches:
        vectors[rows] = encoder(*padded(tokens, rows, encoder)).float().cpu().numpy()
    encoder.train(training)
    if not np.isfinite(vectors).all():
        raise NumericalError("The encoder gives NaN or infinite vectors; train it again with a lower learning rate.")
    return vectors


def encode(
    encoder: SentenceEncoder, vocabulary: Vocabulary, sentences: str | Iterable[str], tokenisation: Tokenisation = "ptb"
) -> NDArray[np.float32]:
    """Encode N sentences to (N, F) vectors; one string is one sentence.

    Raises:
        DataError: a sentence is empty or no text; its number is named.
        NumericalError: a vector is not finite.
    """
    return encode_ids(encoder, vocabulary.encode(sentences, tokenisation))


def similarity(
    encoder: SentenceEncoder, vocabulary: Vocabulary, first: str, second: str, tokenisation: Tokenisation = "ptb"
) -> float:
    """Compare two sentences by the cosine of their vectors, 0 where one is zero; raises as `encode`."""
    one, other = encode(encoder, vocabulary, [first, second], tokenisation)
    return float(cosine(one[None], other[None])[0])


def cosine(first: NDArray[np.floating], second: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return (N,) cosines in [-1, 1] of (N, F) and (N, F) vectors; 0 where a vector is zero."""
    first, second = np.stack([first, second]).astype(np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products = (first * second).sum(axis=1)
    return np.clip(np.divide(products, norms, out=np.zeros_like(products), where=norms != 0), -1, 1)


def tokenise_sets(
    sets: Sequence[ScoredPairs], vocabulary: Vocabulary, tokenisation: Tokenisation
) -> dict[str, tuple[TokenIds, TokenIds]]:
    """Return both sides of each set as token ids, by the set's name; done once for many encoders."""
    return {
        pairs.name: (vocabulary.encode(pairs.first, tokenisation), vocabulary.encode(pairs.second, tokenisation))
        for pairs in sets
    }


def cosine_scores(
    encoder: SentenceEncoder, tokens: Mapping[str, tuple[TokenIds, TokenIds]]
) -> dict[str, NDArray[np.float64]]:
    """Return (N,) cosines of each set of pairs, by the set's name."""
    return {
        name: cosine(encode_ids(encoder, first), encode_ids(encoder, second))
        for name, (first, second) in tokens.items()
    }


class FrozenVectors:
    """The vectors of all sentences met so far, each distinct sentence encoded once, whoever asks.

    Args:
        encoder: its parameters must not change while this object lives.
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.encoder = encoder
        self.table = torch.empty(0, encoder.dimension, device=encoder.embedding.weight.device)
        self._places: dict[bytes, int] = {}

    def places(self, tokens: TokenIds) -> NDArray[np.int64]:
        """Find the (N,) rows of ``table``, on the encoder's device, that hold the vectors of N sentences.

        Those not met before are encoded now.

        Raises:
            NumericalError: a vector is not finite.
        """
        sentences = [part.tobytes() for part in np.split(tokens.flat, tokens.offsets[1:])[:-1]]
        if new := [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._places]:
            parts = [np.frombuffer(sentence, tokens.flat.dtype) for sentence in new]
            taken = TokenIds(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))
            vectors = torch.from_numpy(encode_ids(self.encoder, taken)).to(self.table.device)
            self.table = torch.cat([self.table, vectors])
            self._places |= {sentence: len(self._places) + at for at, sentence in enumerate(new)}
        return np.array([self._places[sentence] for sentence in sentences], dtype=np.int64)
