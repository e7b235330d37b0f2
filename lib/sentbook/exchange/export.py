"""``sentbook export``: a trained encoder as a folder that sentence-transformers, MTEB and sentbook load."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from sentbook.data.text import Vocabulary
from sentbook.exchange import model_card, portable
from sentbook.exchange.portable import Portable, of_artifact
from sentbook.io import CheckpointError, ConfigError, replacing
from sentbook.models.base import WordEmbedding
from sentbook.training import recipes

# Of sentbook.exchange.sentence_transformer, whose package is not needed to write a folder for it.
MODULE = "sentbook.exchange.sentence_transformer.SentbookEncoder"
MODULES, SETTINGS, CARD = "modules.json", "config_sentence_transformers.json", "README.md"
FILES = {portable.CONFIG, portable.WEIGHTS, portable.WORDS, MODULES, SETTINGS, CARD}


def export(model: Path, folder: Path, *, name: str = "", words: int | None = None) -> Portable:
    """Write the trained encoder ``model`` to ``folder``, whole or not at all, in place of an earlier export there.

    Args:
        model: an artifact: its folder, or ``encoder.safetensors``.
        name: the model card's title; left out, the method and the seed.
        words: keep the first so many words of its vocabulary, which GloVe lists by frequency; the others then
            count as unknown. None: all.

    Returns:
        What was written.

    Raises:
        CheckpointError: ``model`` is no artifact, or damaged.
        ConfigError: its vectors depend on their batch or are those of a data set's sentences; ``folder`` is in use.
        DataError: the word vectors of the artifact are not here.
        StorageError: the folder cannot be written; what it held before is intact.
    """
    folder = folder.resolve()
    _check_free(folder)
    trained = recipes.from_file(model)
    if trained.recipe.tokenisation == "sentence":
        raise ConfigError(
            f"{trained.method} has vectors of the sentences of data sets, not of words; use the package that made them "
            f"({trained.recipe.vectors.name})."
        )
    whole = of_artifact(trained)
    if whole.encoder.batch_dependent:
        raise ConfigError(
            f"A vector of {trained.method} depends on the other sentences of its batch ({_switch(whole)}), and other "
            "programs cut their batches as they like; export an encoder that was trained with masked padding."
        )
    kept = whole if words is None else _first_words(whole, words)
    title = " ".join(name.split()) or f"{trained.method}, seed {trained.seed}"
    with replacing(folder, "free some space or name another place.") as temporary:
        temporary.mkdir()
        kept.write(temporary)
        module = {"idx": 0, "name": "0", "path": "", "type": MODULE}
        settings = {"model_type": "SentenceTransformer", "prompts": {}, "similarity_fn_name": "cosine"}
        texts = {
            MODULES: json.dumps([module], indent=1) + "\n",
            SETTINGS: json.dumps({**settings, "default_prompt_name": None}, indent=1) + "\n",
            CARD: model_card.card(kept, title, trained.recipe, model_card.recorded(trained.recipe.key())),
        }
        for file, text in texts.items():
            (temporary / file).write_text(text, encoding="utf-8")
    return kept


def _switch(model: Portable) -> str:
    options = model.description.encoder.model_dump()
    return ", ".join(f"{name}: {options[name]}" for name in ("windows", "padding") if name in options)


def _first_words(model: Portable, count: int) -> Portable:
    if count < 1:
        raise ConfigError(f"An encoder of {count} words reads nothing; keep at least one, or all.")
    weight = model.encoder.embedding.weight.detach()[: count + 2]
    model.encoder.embedding = WordEmbedding(weight)
    kept = Vocabulary(model.vocabulary.words[:count])
    description = model.description.model_copy(update={"words": len(kept.words)})
    return dataclasses.replace(model, vocabulary=kept, description=description)


def _check_free(folder: Path) -> None:
    if not folder.exists():
        return
    try:
        names = {item.name for item in folder.iterdir()}
        if names:
            portable.describe(folder)
    except (NotADirectoryError, CheckpointError):
        names = {""}
    if not names <= FILES:
        raise ConfigError(f"{folder} holds something else than an earlier export; name a new or an empty folder.")
