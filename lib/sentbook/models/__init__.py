"""Encoders: padded token ids in, sentence vectors out. One file an encoder."""

from sentbook.models.average import Average
from sentbook.models.base import SentenceEncoder, WordEmbedding
from sentbook.models.bilstm import BiLSTM
from sentbook.models.build import build
from sentbook.models.cnn import CNN
from sentbook.models.cse import CSE
from sentbook.models.encode import encode, encode_ids
from sentbook.models.frozen import FrozenVectors
from sentbook.models.gran import GRAN
from sentbook.models.wsv import WSV

__all__ = [
    "CNN",
    "CSE",
    "GRAN",
    "WSV",
    "Average",
    "BiLSTM",
    "FrozenVectors",
    "SentenceEncoder",
    "WordEmbedding",
    "build",
    "encode",
    "encode_ids",
]
