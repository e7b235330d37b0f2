"""An encoder whole in one folder: weights, words and description, and no other file is needed to encode with it.

    config.json         the encoder's kind and options, its tokenisation, where it comes from
    model.safetensors   all weights, the word table included
    vocabulary.txt      one word a line, in the order of the table's rows from the third on

Nothing in it is code or a pickle, and no path of the machine that it was written on.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from sentbook.config import Section, parse
from sentbook.data.text import TokenIds, Tokenisation, Vocabulary
from sentbook.io import CheckpointError, ConfigError, DataError
from sentbook.models import SentenceEncoder, build, encode_ids
from sentbook.models.build import Encoder

if TYPE_CHECKING:
    from sentbook.training.recipes import Trained

CONFIG, WEIGHTS, WORDS = "config.json", "model.safetensors", "vocabulary.txt"


class Description(Section):
    """What ``config.json`` says.

    Attributes:
        dimension: F, of sentence vectors.
        words: of the vocabulary, without padding and the unknown word.
        words_sha256: of the bytes of ``vocabulary.txt``, whose lines are rows of the weights.
        origin: of the trained encoder: key, method, seed, recipe, digests of its data, commit. Nothing is read from it.
    """

    format: Literal["sentbook encoder 1"] = "sentbook encoder 1"
    encoder: Encoder
    tokenisation: Tokenisation
    dimension: int
    word_dimension: int
    words: int
    words_sha256: str = ""
    origin: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Portable:
    """A trained encoder with all that it needs to read sentences.

    Args:
        encoder: in evaluation mode.
        description: agrees with the other two.
    """

    encoder: SentenceEncoder
    vocabulary: Vocabulary
    description: Description

    @property
    def dimension(self) -> int:
        return self.encoder.dimension

    def tokens(self, sentences: Sequence[str], **called: Callable[[int], str]) -> TokenIds:
        """N sentences as `sentbook.data.text.Vocabulary.encode` has them; raises as it."""
        return self.vocabulary.encode(sentences, self.description.tokenisation, **called)

    def encode(self, sentences: Sequence[str], **called: Callable[[int], str]) -> NDArray[np.float32]:
        """(N, F) vectors of N sentences, as `sentbook.models.encode`; raises as it."""
        return encode_ids(self.encoder, self.tokens(sentences, **called))

    def write(self, folder: Path) -> None:
        """Write the three files into ``folder``, which is there.

        Raises:
            DataError: a word holds a line break.
            OSError: no space, or a read-only folder.
        """
        lines = "".join(f"{word}\n" for word in self.vocabulary.words)
        if lines.count("\n") != len(self.vocabulary.words):
            word = next(word for word in self.vocabulary.words if "\n" in word)
            raise DataError(f"The word {word!r} holds a line break, and the vocabulary has a word a line; rename it.")
        (folder / WORDS).write_bytes(lines.encode())
        described = self.description.changed(words_sha256=hashlib.sha256(lines.encode()).hexdigest())
        (folder / CONFIG).write_text(described.model_dump_json(indent=1) + "\n", encoding="utf-8")
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.encoder.state_dict().items()}
        try:
            save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
        except SafetensorError as error:  # how the library reports a failed write
            raise OSError(0, str(error)) from error
        shutil.copymode(folder / CONFIG, folder / WEIGHTS)  # the library writes files that only their owner reads


def of_artifact(trained: Trained) -> Portable:
    """``trained`` with its vocabulary, and where it comes from.

    Raises:
        CheckpointError: the artifact is truncated or belongs to another recipe.
        DataError: its word vectors are not here.
    """
    encoder, vocabulary, recipe = trained.encoder(), trained.vocabulary, trained.recipe
    written = recipe.model_dump(mode="json")
    for section in (written["vectors"], *written["stages"]):
        if section.get("path"):  # of a file or folder of this machine: its name will do
            section["path"] = Path(section["path"]).name
    names = ("data", "git_commit", "started", "pairs")
    origin = {"key": recipe.key(), "method": trained.method, "seed": trained.seed}
    origin |= {"words": len(vocabulary.words), "recipe": written}  # an export may keep fewer words
    origin |= {name: trained.metadata[name] for name in names if name in trained.metadata}
    description = Description(
        encoder=recipe.encoder,
        tokenisation=recipe.tokenisation,
        dimension=encoder.dimension,
        word_dimension=encoder.embedding.dimension,
        words=len(vocabulary.words),
        origin=origin,
    )
    return Portable(encoder, vocabulary, description)


def load(model: Path) -> Portable:
    """An artifact (its folder or ``encoder.safetensors``) or a folder of `read`, whichever ``model`` is.

    Raises:
        CheckpointError: it is neither, or damaged.
        DataError: an artifact's word vectors are not here.
    """
    if (model / CONFIG).is_file():
        return read(model)
    from sentbook.training import recipes  # a second of imports that an exported folder does not need

    return of_artifact(recipes.from_file(model))


def read(folder: Path) -> Portable:
    """The encoder that `Portable.write` left in ``folder``.

    Raises:
        CheckpointError: a file is missing, damaged, or does not belong to the others.
    """
    description = describe(folder)
    try:
        tensors = load_file(folder / WEIGHTS)
        content = (folder / WORDS).read_bytes()
        words = content.decode("utf-8").split("\n")[:-1]
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(f"{folder} is no whole exported encoder ({error}); export it again.") from error
    if hashlib.sha256(content).hexdigest() != description.words_sha256:
        raise CheckpointError(
            f"{folder / WORDS} is not as it was exported (git may have changed its line ends); export it again."
        )
    weight = tensors.get("embedding.weight")
    if weight is None or len(words) != description.words or weight.shape[0] != len(words) + 2:
        raise CheckpointError(f"The words and the weights in {folder} do not belong together; export it again.")
    # Two rows suffice to build the composition; the table is then the one that was read, not a copy.
    encoder = build(description.encoder, weight[:2], seed=0)
    if (encoder.dimension, weight.shape[1]) != (description.dimension, description.word_dimension):
        raise CheckpointError(f"The dimensions in {folder / CONFIG} are not those of the weights; export it again.")
    encoder.embedding.weight = nn.Parameter(weight)
    try:
        encoder.load_state_dict(tensors)
    except RuntimeError as error:
        raise CheckpointError(
            f"The weights in {folder} are of another encoder than {CONFIG}; export it again."
        ) from error
    return Portable(encoder.eval(), Vocabulary(words), description)


def describe(folder: Path) -> Description:
    """What `read` would find in ``folder``; raises as it where there is no export."""
    file = folder / CONFIG
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} cannot be read ({error}); export the encoder again.") from error
    try:
        return parse(Description, values, str(file))
    except ConfigError as error:
        raise CheckpointError(f"{error} It was written by another version of sentbook or changed.") from error
