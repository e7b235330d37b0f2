"""Encoders: padded token ids in, sentence vectors out. One file an encoder."""

from sentbook.encoders.average import Average
from sentbook.encoders.base import SentenceEncoder, WordEmbedding
from sentbook.encoders.bilstm import BiLSTM
from sentbook.encoders.build import build
from sentbook.encoders.cnn import CNN
from sentbook.encoders.cse import CSE
from sentbook.encoders.encode import encode, encode_ids
from sentbook.encoders.frozen import FrozenVectors
from sentbook.encoders.gran import GRAN
from sentbook.encoders.wsv import WSV

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
