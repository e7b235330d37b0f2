"""Which encoders there are, and an encoder from its options and word vectors."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Annotated, Any

import torch
from pydantic import BeforeValidator, SerializeAsAny
from torch import Tensor

from sentbook.config import parse
from sentbook.models.base import EncoderOptions, SentenceEncoder
from sentbook.models.custom import CustomEncoder, custom

# The kind of every encoder of the package, with its file and its class; a file is read when its encoder is wanted.
ENCODERS = {
    "average": "average.Average",
    "bilstm": "bilstm.BiLSTM",
    "cnn": "cnn.CNN",
    "cse": "cse.CSE",
    "gran": "gran.GRAN",
    "lstm": "lstm.LSTM",
    "wsv": "wsv.WSV",
}


def encoder_class(options: EncoderOptions | str) -> type[SentenceEncoder]:
    """Find the class of an encoder by its options, or by its kind.

    Raises:
        ConfigError: the class of a custom encoder is not at hand.
    """
    if isinstance(options, CustomEncoder):
        return options.encoder_class()
    file, name = ENCODERS[options if isinstance(options, str) else options.kind].split(".")
    found: type[SentenceEncoder] = getattr(importlib.import_module(f"{__package__}.{file}"), name)
    return found


def _options(value: Any) -> EncoderOptions:
    """Make options of what names an encoder: options, their values with a ``kind``, or a class of one's own."""
    if isinstance(value, EncoderOptions):
        return value
    if isinstance(value, type) and issubclass(value, SentenceEncoder):
        return custom(value)
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if kind == "custom":
        return parse(CustomEncoder, value, "encoder custom")
    if kind not in ENCODERS:
        raise ValueError(f"is no encoder; choose the kind among {', '.join(ENCODERS)}, or give a class")
    options = encoder_class(kind).options
    assert options is not None
    return parse(options, value, f"encoder {kind}")


# Options of any encoder; a section reads them from their values by name, or from a class.
Encoder = Annotated[SerializeAsAny[EncoderOptions], BeforeValidator(_options)]


def build(
    options: EncoderOptions | type[SentenceEncoder], weight: Tensor, *, seed: int, dropout: float = 0.0
) -> SentenceEncoder:
    """Build an untrained encoder over (V, D) word vectors; ``seed`` decides the composition's initial values.

    Raises:
        ConfigError: the class of a custom encoder is not at hand.
    """
    options = _options(options)
    values = options.options if isinstance(options, CustomEncoder) else options.model_dump(exclude={"kind"})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = encoder_class(options)(weight, **values)
    encoder.dropout = dropout
    return encoder
