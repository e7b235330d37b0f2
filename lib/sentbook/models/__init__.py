"""Encoders: padded token ids in, sentence vectors out. One file an encoder; its options stand beside it.

A new one is a file and a line in `sentbook.models.build.ENCODERS`; or a class in a notebook, see `custom`.
"""

from typing import Any

from sentbook.models.base import EncoderOptions, SentenceEncoder, WordEmbedding
from sentbook.models.build import ENCODERS, Encoder, build, encoder_class
from sentbook.models.custom import custom
from sentbook.models.encode import encode, encode_ids, similarity
from sentbook.models.frozen import FrozenVectors

__all__ = [
    "ENCODERS",
    "Encoder",
    "EncoderOptions",
    "FrozenVectors",
    "SentenceEncoder",
    "WordEmbedding",
    "build",
    "custom",
    "encode",
    "encode_ids",
    "encoder_class",
    "similarity",
]


def __getattr__(name: str) -> Any:
    """Find an encoder's class when it is first asked for, as in ``from sentbook.models import CSE``."""
    kinds = {path.split(".")[1]: kind for kind, path in ENCODERS.items()}
    if name not in kinds:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return encoder_class(kinds[name])


def __dir__() -> list[str]:
    return [*__all__, *(path.split(".")[1] for path in ENCODERS.values())]
