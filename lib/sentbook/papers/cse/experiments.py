"""Variants of CSE that move one choice each, and the permutation test of the linear encoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sentbook.data import suites
from sentbook.data.text import TokenIds
from sentbook.models import CSE, encode_ids
from sentbook.models.cse import CSEEncoder
from sentbook.papers.cse.settings import Settings
from sentbook.study import Study
from sentbook.system.errors import ConfigError
from sentbook.training.recipes import Recipe, Trained
from sentbook.training.settings import MarginTraining


@dataclass(frozen=True)
class Variant:
    """An encoder and its training, and the sentence that says what it changes."""

    encoder: CSEEncoder
    training: MarginTraining
    change: str


def cse_variants(settings: Settings) -> dict[str, Variant]:
    """The clean encoder, the released code's, and one variant for each choice in between."""

    def variant(
        change: str, encoder: Mapping[str, Any] | None = None, training: Mapping[str, Any] | None = None
    ) -> Variant:
        return Variant(
            settings.cse.model_copy(update=dict(encoder or {})),
            settings.ablation.model_copy(update=dict(training or {})),
            change,
        )

    return {
        "clean": variant("masked windows, bias, sum, linear, words in order, negatives from one side, lazy updates"),
        "faithful": variant(
            "the released code: windows over padding, scrambling .5, negatives from both sides",
            {"windows": "batch"},
            {"scramble": 0.5, "candidates": "both sides"},
        ),
        "padded windows": variant(
            "windows of the batch's longest sentence: the bias depends on the batch", {"windows": "batch"}
        ),
        "no bias": variant("filters without bias: the length of a sentence adds nothing of its own", {"bias": False}),
        "mean pooling": variant("mean over windows in place of the sum", {"pooling": "mean"}),
        "scrambled": variant("both sentences of a pair permuted with probability .5", None, {"scramble": 0.5}),
        "both sides": variant("negatives from either side of other pairs", None, {"candidates": "both sides"}),
        "tanh": variant("tanh in place of the linear unit", {"activation": "tanh"}),
        "dense": variant(
            "dense Adam over all word vectors in place of lazy updates", None, {"embedding_update": "dense"}
        ),
    }


def pretrained(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """The encoders that several notebooks start from: after phrase pairs, and on top of that after sentence pairs."""
    stages = settings.phrase, settings.sentence
    return {
        "PP": study.recipes("PP", settings.pp, *stages),
        "CSE": study.recipes("CSE", settings.cse, *stages),
    }


def interior_permutation(encoders: Iterable[Trained], methods: Sequence[str], settings: Settings) -> dict[str, float]:
    """How far a sentence's vector moves when its interior is permuted, as a share of its length: the largest.

    The interior is all but the first and last h - 1 words, h the widest filter. Sentences are the test
    sets' that have at least two interior words.

    Raises:
        ConfigError: there is no such sentence.
    """
    sentences = [text for pairs in suites.test_sets(settings.suite)[:5] for text in pairs.first]
    edge = max(settings.cse.widths) - 1
    moved: dict[str, float] = {}
    for trained in encoders:
        if trained.method not in methods or trained.method in moved:
            continue
        tokens = trained.vocabulary.encode(sentences, settings.tokenisation)
        long = np.flatnonzero(tokens.lengths >= 2 * edge + 2)
        if not len(long):
            raise ConfigError(
                f"No test sentence has the {2 * edge + 2} words that the permutation test with a filter of width "
                f"{edge + 1} needs; lower cse.widths."
            )
        kept = [tokens.flat[tokens.offsets[row] : tokens.offsets[row + 1]] for row in long]
        rng = np.random.default_rng(0)
        shuffled = [
            np.concatenate([ids[:edge], rng.permutation(ids[edge : len(ids) - edge]), ids[len(ids) - edge :]])
            for ids in kept
        ]
        encoder = trained.encoder().double()
        before, after = (encode_ids(encoder, _corpus(side)) for side in (kept, shuffled))
        moved[trained.method] = float(
            (np.linalg.norm(before - after, axis=1) / np.linalg.norm(before, axis=1).clip(1e-12)).max()
        )
    return moved


def average_as_cse(trained: Trained, settings: Settings) -> float:
    """The largest difference between PP and CSE with width 1, identity filters, no bias and mean pooling."""
    average = trained.encoder()
    depth = average.embedding.dimension
    same = CSE(average.embedding.weight.detach(), widths=(1,), filters=depth, bias=False, pooling="mean")
    with torch.no_grad():
        same.weights[0].copy_(torch.eye(depth))
    sentences = [text for pairs in suites.test_sets(settings.suite)[:5] for text in pairs.first]
    tokens = trained.vocabulary.encode(sentences, settings.tokenisation)
    return float(np.abs(encode_ids(average, tokens) - encode_ids(same, tokens)).max())


def _corpus(sentences: list[NDArray[np.int64]]) -> TokenIds:
    return TokenIds(np.concatenate(sentences), np.cumsum([0, *map(len, sentences)]))
