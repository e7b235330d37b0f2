"""Exported encoders in sentence-transformers, one module each: tokens and vectors are those of this package.

Since version 6, sentence-transformers imports a module that is not its own, even an installed one, only with
``trust_remote_code=True``; an exported folder holds no code. `load` needs no such word:

    model = sentbook.exchange.sentence_transformer.load(folder)
    model = sentence_transformers.SentenceTransformer(folder, trust_remote_code=True)
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from sentbook.exchange import portable
from sentbook.exchange.portable import Portable
from sentbook.io import DataError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def _base() -> Any:
    """What input modules derive from, where it is in versions 6 and 5; without the package a plain module, so that this
    file can be imported for its documentation, and `load` says what is missing."""
    for place in ("sentence_transformers.base.modules", "sentence_transformers.models"):
        with suppress(ImportError):
            return importlib.import_module(place).InputModule
    return nn.Module


InputModule = _base()

# What modules.json names, and with it every exported folder: not to be moved.
TYPE = f"{__name__}.SentbookEncoder"


class SentbookEncoder(InputModule):  # type: ignore[misc, valid-type]
    """A trained encoder, from sentences to their vectors: the only module of its model.

    A sentence is read whole, however long. Vectors are not scaled. There are no vectors of tokens: what the encoders
    pool are windows, states or cells of a map. Other sentences of the batch change a vector by rounding only.

    Args:
        model: not one whose vectors depend on their batch, which `sentbook.exchange.export` refuses.
    """

    save_in_root = True

    def __init__(self, model: Portable) -> None:
        super().__init__()
        self.model, self.encoder = model, model.encoder  # the encoder is a module of this one

    @property
    def max_seq_length(self) -> None:
        """None: no sentence is cut."""
        return None

    def get_embedding_dimension(self) -> int:
        return self.encoder.dimension

    get_sentence_embedding_dimension = get_embedding_dimension  # its name before version 6

    def preprocess(self, inputs: Sequence[str], prompt: str | None = None, **kwargs: Any) -> dict[str, Tensor]:
        """(B, T) ``input_ids``, their (B, T) ``attention_mask``, and (B,) ``sentence_lengths`` of B sentences.

        Raises:
            DataError: a sentence has no token.
        """
        sentences = [f"{prompt or ''}{text}" for text in inputs]
        # The batch is not in the caller's order, so that a number would say nothing.
        tokens = self.model.tokens(sentences, called=lambda place: f"The sentence {sentences[place]!r}")
        ids, lengths = map(torch.from_numpy, tokens.padded(np.arange(len(tokens)), self.encoder.minimum_length))
        mask = (torch.arange(ids.shape[1]) < lengths.unsqueeze(1)).long()
        return {"input_ids": ids, "attention_mask": mask, "sentence_lengths": lengths}

    def tokenize(self, texts: Sequence[str], **kwargs: Any) -> dict[str, Tensor]:
        """`preprocess` by its name before version 6."""
        return self.preprocess(texts)

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """The features of `preprocess`, with the (B, F) ``sentence_embedding``."""
        return features | {"sentence_embedding": self.encoder(features["input_ids"], features["sentence_lengths"])}

    def get_config_dict(self) -> dict[str, Any]:
        """For those who print the model; `save` writes more."""
        return self.model.description.model_dump(mode="json", exclude={"format", "origin"})

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Write what `load` reads, as `sentbook.exchange.portable` has it."""
        self.model.write(Path(output_path))

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> SentbookEncoder:
        """From a folder of `sentbook.exchange.export`, or from a model hub that has one.

        Raises:
            CheckpointError: the folder is damaged.
        """
        hub = ("token", "cache_folder", "revision", "local_files_only")
        found = {name: kwargs[name] for name in hub if name in kwargs}
        return cls(portable.read(Path(cls.load_dir_path(model_name_or_path, subfolder, **found))))


def load(folder: str | Path) -> SentenceTransformer:
    """The ``SentenceTransformer`` of an exported folder.

    Raises:
        CheckpointError: the folder is no export, or damaged.
        DataError: sentence-transformers is not installed.
    """
    if InputModule is nn.Module:
        raise DataError("sentence-transformers is not installed; run `pip install 'sentbook[exchange]'`.")
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(modules=[SentbookEncoder(portable.read(Path(folder)))], similarity_fn_name="cosine")
