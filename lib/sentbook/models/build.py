"""A configuration and word vectors to an encoder."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from sentbook.data.vectors import WordVectors
from sentbook.models.average import Average, AverageEncoder
from sentbook.models.base import SentenceEncoder
from sentbook.models.bilstm import BiLSTM, BiLSTMEncoder
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.models.cse import CSE, CSEEncoder
from sentbook.models.gran import GRAN, GRANEncoder
from sentbook.models.wsv import WSV, WSVEncoder

Encoder = Annotated[
    AverageEncoder | CSEEncoder | WSVEncoder | BiLSTMEncoder | GRANEncoder | CNNEncoder, Field(discriminator="kind")
]


def embedding_matrix(vectors: WordVectors) -> Tensor:
    """(V + 2, D): a zero row for padding, the mean vector for unknown words, then the words.

    The released code has a trained vector ``UUUNKKK`` in its PARAGRAM file; other sets have none, and the mean is
    the least-squares guess of an unseen word's vector.
    """
    known = {"UUUNKKK", "uuunkkk", "<unk>", "unk"}
    special = next((row for row, word in enumerate(vectors.words) if word in known), None)
    unknown = vectors.matrix[special] if special is not None else vectors.matrix.mean(axis=0)
    return torch.from_numpy(np.vstack([np.zeros_like(unknown), unknown, vectors.matrix]).astype(np.float32))


_KINDS: dict[str, type[CSE] | type[WSV] | type[BiLSTM] | type[GRAN] | type[CNN]] = {
    "cnn": CNN,
    "cse": CSE,
    "wsv": WSV,
    "bilstm": BiLSTM,
    "gran": GRAN,
}


def build(config: Encoder, weight: Tensor, *, seed: int, dropout: float = 0.0) -> SentenceEncoder:
    """An untrained encoder over ``weight``; ``seed`` decides the composition's initial values."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if config.kind == "average":
            return Average(weight, dropout=dropout)
        options = config.model_dump(exclude={"kind"})
        return _KINDS[config.kind](weight, dropout=dropout, **options)
