"""Decoders: sentence vectors in, words out. One file a decoder; they stand between encoders and objectives."""

from sentbook.models.decoders.hierarchical import HierarchicalDecoder
from sentbook.models.decoders.lstm import END, DecoderOptions, DecoderState, Forced, Generated, LSTMDecoder

__all__ = [
    "END",
    "DecoderOptions",
    "DecoderState",
    "Forced",
    "Generated",
    "HierarchicalDecoder",
    "LSTMDecoder",
]
