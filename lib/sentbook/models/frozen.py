"""Vectors of an encoder that no longer changes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentbook.data.text import TokenIds
from sentbook.models.base import SentenceEncoder
from sentbook.models.encode import encode_ids


class FrozenVectors:
    """The vectors of all sentences met so far, each distinct sentence encoded once, whoever asks.

    Args:
        encoder: its parameters must not change while this object lives.
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.encoder = encoder
        self.table: Tensor = torch.empty(0, encoder.dimension)
        self._places: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def places(self, tokens: TokenIds) -> NDArray[np.int64]:
        """Find the (N,) rows of ``table`` that hold the vectors of N sentences; those not met before are encoded now.

        Raises:
            NumericalError: a vector is not finite.
        """
        sentences = [part.tobytes() for part in np.split(tokens.flat, tokens.offsets[1:-1])]
        new = {sentence: row for row, sentence in enumerate(sentences) if sentence not in self._places}
        if new:
            rows = np.array(list(new.values()))
            self.table = torch.cat([self.table, torch.from_numpy(encode_ids(self.encoder, _take(tokens, rows)))])
            self._places |= {sentence: len(self._places) + at for at, sentence in enumerate(new)}
        return np.array([self._places[sentence] for sentence in sentences], dtype=np.int64)


def _take(tokens: TokenIds, rows: NDArray[np.int64]) -> TokenIds:
    parts = [tokens.flat[tokens.offsets[row] : tokens.offsets[row + 1]] for row in rows]
    return TokenIds(np.concatenate(parts), np.concatenate([[0], np.cumsum([len(part) for part in parts])]))
