"""Encoders: padded token ids in, sentence vectors out. An encoder's options stand beside its class.

A new one is a file and a name in `sentbook.models.build.ENCODERS`; or a class in a notebook, see `custom`.
"""

from sentbook.models.average import Average
from sentbook.models.base import EncoderOptions, SentenceEncoder, WordEmbedding
from sentbook.models.build import ENCODERS, Encoder, build, custom
from sentbook.models.cnn import CNN
from sentbook.models.cse import CSE
from sentbook.models.encode import FrozenVectors, encode, encode_ids, similarity
from sentbook.models.recurrent import GRAN, LSTM, BiLSTM
from sentbook.models.wsv import WSV

__all__ = [
    "CNN",
    "CSE",
    "ENCODERS",
    "GRAN",
    "LSTM",
    "WSV",
    "Average",
    "BiLSTM",
    "Encoder",
    "EncoderOptions",
    "FrozenVectors",
    "SentenceEncoder",
    "WordEmbedding",
    "build",
    "custom",
    "encode",
    "encode_ids",
    "similarity",
]
