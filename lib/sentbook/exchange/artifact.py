"""A trained encoder as this package keeps it, by the key of its training, made portable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sentbook.exchange.portable import Description, Portable
from sentbook.training.recipes import Trained


def of_artifact(trained: Trained) -> Portable:
    """``trained`` with its vocabulary, and where it comes from.

    Raises:
        CheckpointError: the artifact is truncated or belongs to another recipe.
        DataError: its word vectors are not here.
    """
    encoder, vocabulary, recipe = trained.encoder(), trained.vocabulary, trained.recipe
    description = Description(
        encoder=recipe.encoder,
        tokenisation=recipe.tokenisation,
        dimension=encoder.dimension,
        word_dimension=encoder.embedding.dimension,
        words=len(vocabulary.words),
        origin=_origin(trained),
    )
    return Portable(encoder, vocabulary, description)


def _origin(trained: Trained) -> dict[str, Any]:
    recipe = trained.recipe.model_dump(mode="json")
    for section in (recipe["vectors"], *recipe["stages"]):
        if section.get("path"):  # of a file or folder of this machine: its name will do
            section["path"] = Path(section["path"]).name
    names = ("data", "git_commit", "started", "pairs")
    about = {name: trained.metadata[name] for name in names if name in trained.metadata}
    words = len(trained.vocabulary.words)  # an export may keep fewer
    names_of_it = {"key": trained.recipe.key(), "method": trained.method, "seed": trained.seed, "words": words}
    return {**names_of_it, "recipe": recipe, **about}
