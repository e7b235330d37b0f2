"""Export a trained encoder as a folder that needs nothing else, and read it back, also with sentence-transformers.

    config.json         the encoder's kind and options, its tokenisation, where it comes from
    model.safetensors   all weights, the word table included
    vocabulary.json     the words, in the order of the table's rows from the third on
    modules.json, config_sentence_transformers.json: what sentence-transformers reads first

The folder holds no code, no pickle and no path of the machine that wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, PositiveInt
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from sentbook.config import Section, parse
from sentbook.data.text import TokenIds, Tokenisation, Vocabulary, texts
from sentbook.io import CheckpointError, ConfigError, SentbookError, replacing
from sentbook.models import SentenceEncoder, build, encode_ids
from sentbook.models.build import CustomEncoder, Encoder
from sentbook.training.runs import from_file

CONFIG, WEIGHTS, WORDS = "config.json", "model.safetensors", "vocabulary.json"
MODULES, SETTINGS = "modules.json", "config_sentence_transformers.json"
FILES = {CONFIG, WEIGHTS, WORDS, MODULES, SETTINGS}


class Description(Section):
    """What ``config.json`` says.

    Attributes:
        max_seq_length: how many tokens of a sentence are read, from its first on; None: all of them.
        origin: the trained encoder's key, method, seed, digests of data, commit. Nothing is read from it.
    """

    format: Literal["sentbook encoder 2"] = "sentbook encoder 2"
    encoder: Encoder
    tokenisation: Tokenisation
    max_seq_length: PositiveInt | None = None
    origin: dict[str, Any] = Field(default_factory=dict)


class SentbookEncoder(nn.Module):
    """A trained encoder with all that it needs to read sentences; in sentence-transformers the only module.

    Tokens and vectors are those of this package; vectors are not scaled; there are no vectors of tokens. Other
    sentences of the batch change a vector by rounding only.
    """

    save_in_root = True

    def __init__(self, encoder: SentenceEncoder, vocabulary: Vocabulary, description: Description) -> None:
        super().__init__()
        self.encoder, self.vocabulary, self.description = encoder, vocabulary, description

    def encode(self, sentences: Sequence[str]) -> NDArray[np.float32]:
        """Encode N sentences, or a single one, to (N, F) vectors, as `sentbook.models.encode`; raises as it."""
        return encode_ids(self.encoder, self._tokens(sentences))

    def _tokens(self, sentences: Sequence[str]) -> TokenIds:
        tokens = self.vocabulary.encode(sentences, self.description.tokenisation)
        lengths = np.minimum(tokens.lengths, self.max_seq_length or len(tokens.flat))
        kept = [tokens.flat[start : start + size] for start, size in zip(tokens.offsets, lengths, strict=False)]
        return TokenIds(np.concatenate([tokens.flat[:0], *kept]), np.cumsum([0, *lengths]))

    @property
    def max_seq_length(self) -> int | None:
        """How many tokens of a sentence are read, from its first on; None, as exported: all. It is saved and loaded.

        Raises:
            ConfigError: it is set to something else than a whole number from 1 on, or None.
        """
        return self.description.max_seq_length

    @max_seq_length.setter
    def max_seq_length(self, value: int | None) -> None:
        self.description = self.description.changed(max_seq_length=value)

    # -- what sentence-transformers calls ------------------------------------------------------------------------------

    def get_embedding_dimension(self) -> int:
        return self.encoder.dimension

    def preprocess(self, inputs: Sequence[str], prompt: str | None = None, **kwargs: Any) -> dict[str, Tensor]:
        """Return (B, T) ``input_ids``, their (B, T) ``attention_mask``, and (B,) ``sentence_lengths`` of B sentences.

        Raises:
            DataError: a sentence has no token, or is no text.
        """
        tokens = self._tokens([f"{prompt or ''}{text}" for text in texts(inputs)])
        ids, lengths = map(torch.from_numpy, tokens.padded(np.arange(len(tokens)), self.encoder.minimum_length))
        mask = (torch.arange(ids.shape[1]) < lengths.unsqueeze(1)).long()
        return {"input_ids": ids, "attention_mask": mask, "sentence_lengths": lengths}

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Return the features of `preprocess`, with the (B, F) ``sentence_embedding``."""
        return features | {"sentence_embedding": self.encoder(features["input_ids"], features["sentence_lengths"])}

    # -- files ---------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path, *args: Any, **kwargs: Any) -> None:
        """Write the files into ``folder``, which exists; raises OSError."""
        folder = Path(folder)
        settings = {"model_type": "SentenceTransformer", "prompts": {}, "similarity_fn_name": "cosine"}
        files = {
            CONFIG: self.description.model_dump(mode="json"),
            WORDS: list(self.vocabulary.words),
            MODULES: [{"idx": 0, "name": "0", "path": "", "type": f"{__name__}.{type(self).__name__}"}],
            SETTINGS: settings | {"default_prompt_name": None},
        }
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.encoder.state_dict().items()}
        (folder / WEIGHTS).write_bytes(save(tensors, metadata={"format": "pt"}))

    @classmethod
    def load(cls, folder: str | Path) -> SentbookEncoder:
        """Read the encoder that `export` left in ``folder``, in evaluation mode.

        Raises:
            CheckpointError: a file is missing, damaged, or does not belong to the others.
        """
        folder = Path(folder)
        try:
            description = parse(Description, json.loads((folder / CONFIG).read_text(encoding="utf-8")), CONFIG)
            words: list[str] = json.loads((folder / WORDS).read_text(encoding="utf-8"))
            tensors = load_file(folder / WEIGHTS)
            weight = tensors["embedding.weight"]
            if len(weight) != len(words) + 2:
                raise ValueError(f"{len(words)} words and {len(weight)} rows of weights")
            # Two rows suffice to build the composition; the table is then the one that was read, not a copy.
            encoder = build(description.encoder, weight[:2], seed=0).to(weight.dtype)
            encoder.embedding.weight = nn.Parameter(weight)
            encoder.load_state_dict(tensors)
            return cls(encoder, Vocabulary(words), description).eval()
        except (OSError, SafetensorError, ValueError, TypeError, KeyError, RuntimeError, SentbookError) as error:
            raise CheckpointError(f"{folder} is no whole exported encoder ({error}); export it again.") from error


def export(model: Path, folder: Path) -> None:
    """Write the trained encoder ``model`` to ``folder``, whole or not at all, in place of an earlier export there.

    What was written is read back first.

    Args:
        model: an artifact: its folder, or ``encoder.safetensors``.

    Raises:
        CheckpointError: ``model`` is no artifact, or damaged.
        ConfigError: its vectors depend on their batch or are those of a data set's sentences; it is of a class that
            this package does not have; ``folder`` is in use.
        StorageError: the folder cannot be written; what it held before is intact.
    """
    folder, trained = folder.resolve(), from_file(model)
    recipe = trained.recipe
    if folder.exists() and not (folder.is_dir() and {file.name for file in folder.iterdir()} in (set(), FILES)):
        raise ConfigError(f"{folder} holds something else than an earlier export; name a new or an empty folder.")
    if recipe.tokenisation == "sentence":
        raise ConfigError(f"{trained.method} has vectors of the sentences of data sets alone; export another encoder.")
    if isinstance(recipe.encoder, CustomEncoder):
        why = f"of your own class {recipe.encoder.name}, which nothing could read back from a folder without code"
        raise ConfigError(f"{trained.method} is {why}; export an encoder of the package.")
    if (encoder := trained.encoder()).batch_dependent:
        why = "depends on the other sentences of its batch, which other programs cut as they like"
        raise ConfigError(f"A vector of {trained.method} {why}; export an encoder trained with masked padding.")
    origin = {"key": recipe.key(), "method": trained.method, "seed": trained.seed}
    origin |= {name: trained.metadata[name] for name in ("data", "git_commit") if name in trained.metadata}
    description = Description(encoder=recipe.encoder, tokenisation=recipe.tokenisation, origin=origin)
    with replacing(folder, "free some space or name another place.") as temporary:
        temporary.mkdir()
        SentbookEncoder(encoder, trained.vocabulary, description).save(temporary)
        SentbookEncoder.load(temporary)
