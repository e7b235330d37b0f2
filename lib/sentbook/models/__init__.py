"""Encoders: padded token ids in, sentence vectors out. An encoder's options are in the file of its class.

A new one is a file and a name in `sentbook.models.build.ENCODERS`; or a class in a notebook, see `custom`.
"""

from sentbook.models.average import Average as Average
from sentbook.models.base import SentenceEncoder as SentenceEncoder
from sentbook.models.build import Encoder as Encoder
from sentbook.models.build import build as build
from sentbook.models.build import custom as custom
from sentbook.models.cnn import CNN as CNN
from sentbook.models.cse import CSE as CSE
from sentbook.models.encode import FrozenVectors as FrozenVectors
from sentbook.models.encode import encode as encode
from sentbook.models.encode import encode_ids as encode_ids
from sentbook.models.encode import similarity as similarity
from sentbook.models.recurrent import GRAN as GRAN
from sentbook.models.recurrent import LSTM as LSTM
from sentbook.models.recurrent import BiLSTM as BiLSTM
from sentbook.models.wsv import WSV as WSV
