"""Variants of WSV-SCNN-SV that move one choice each, and what the paper says of sentence lengths."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sentbook.data import suites, vectors
from sentbook.data.text import PADDING, Tokenisation
from sentbook.data.vectors import Vectors
from sentbook.models import WSV, encode_ids
from sentbook.models.additive import k_max, projections, row_and_column_terms
from sentbook.models.word_map import k_max_of_map
from sentbook.models.wsv import WSVEncoder
from sentbook.papers.wsv.settings import Settings
from sentbook.study import Study
from sentbook.system.errors import DataError
from sentbook.training.recipes import Recipe, Trained
from sentbook.training.settings import SimilarityTraining


@dataclass(frozen=True)
class Variant:
    """An encoder, its training and its words, and the sentence that says what it changes."""

    encoder: WSVEncoder
    training: SimilarityTraining
    tokenisation: Tokenisation
    change: str


def wsv_variants(settings: Settings) -> dict[str, Variant]:
    """The clean model, and a variant for each choice that the text leaves open or states in two ways."""

    def variant(change: str, tokenisation: Tokenisation | None = None, **changes: Any) -> Variant:
        encoder = {name: value for name, value in changes.items() if name in WSVEncoder.model_fields}
        training = {name: value for name, value in changes.items() if name in SimilarityTraining.model_fields}
        return Variant(
            settings.wsv.model_copy(update=encoder),
            settings.sick.model_copy(update=training),
            tokenisation or settings.tokenisation,
            change,
        )

    formulas = {"f1": "exp(-x)", "f2": "2 / (1 + exp(x))", "f2 as printed": "1 / (1 + exp(-x))", "f3": "1 / (1 + x)"}
    clean = "cosine, k = 3, one layer, trained map weights, largest cells, padding masked, no bias, all words"
    return {
        "clean": variant(clean),
        **{
            f"{score}, {falling}": variant(
                f"score {formula} of the {score} distance x in place of the cosine", score=score, falling=falling
            )
            for score in ("euclidean", "manhattan")
            for falling, formula in formulas.items()
        },
        "k = 1": variant("only the largest cell", k=1),
        "k = 5": variant("the five largest cells", k=5),
        "two layers": variant("a 2x2 max pool and a second convolution", layers=2),
        "three layers": variant("two max pools and three convolutions", layers=3),
        "map weights fixed": variant("lambda stays at (.4502, .5498)", map_weights="fixed"),
        "map weights equal": variant(
            "lambda stays at (.5, .5): the map is symmetric", map_weights="fixed", alpha=(0, 0)
        ),
        "no word sets": variant(
            "lambda stays at (1, 0): a cell is its row's word, never a pair", map_weights="fixed", alpha=(40, 0)
        ),
        "smallest k": variant("algorithm 2 as printed: ascending sort, the first k", selection="smallest"),
        "padding as printed": variant(
            "in training a batch is padded with zero vectors whose cells compete", padding="zeros in training"
        ),
        "bias": variant("equation 6 as printed; table 2 counts none", bias=True),
        "no stop words": variant("stop words and marks removed, negation among them", tokenisation="content"),
        "stems": variant("words cut to their stems", tokenisation="stems"),
        "words fixed": variant("word vectors are not fine-tuned", embedding_update="frozen"),
    }


def variant_recipes(study: Study, variants: Mapping[str, Variant]) -> list[list[Recipe]]:
    """A group of recipes, one a seed, for each variant."""
    return [
        study.recipes(
            name,
            variant.encoder,
            variant.training,
            # Two and three layers take four times as long as one.
            seeds=study.settings.ablation_seeds[: None if variant.encoder.layers == 1 else 2],
            tokenisation=variant.tokenisation,
        )
        for name, variant in variants.items()
    ]


def pretrained(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """The encoders that several notebooks start from: the paper's own configuration, trained on SICK."""
    return {"WSV-SCNN-SV": study.recipes("WSV-SCNN-SV", settings.wsv, settings.sick)}


# -- table 2 -----------------------------------------------------------------------------------------------------------


def dimension_of(method: str) -> int | None:
    """Read the d of a row's name.

    Example:
        >>> dimension_of("WSV-SCNN-SV d=300 L=1"), dimension_of("ours")
        (300, None)
    """
    found = re.search(r"\bd=(\d+)", method)
    return int(found.group(1)) if found else None


def dimension_recipes(study: Study, settings: Settings) -> list[list[Recipe]]:
    """A group for each row of table 2, named as in the paper; the first of a row's vector sets that is here is taken.

    The row of the paper's own configuration has all seeds, the others those of ablations.

    Raises:
        DataError: none of a row's vector sets is here.
    """
    groups = []
    for row in settings.dimensions:
        name = next((name for name in row.vectors if vectors.available(name)), None)
        if name is None:
            raise DataError(f"None of {', '.join(row.vectors)} is here; run `sentbook data fetch` for one of them.")
        own = name == settings.vectors.name and row.filters == settings.wsv.filters
        size = vectors.load(name).dimension
        groups.append(
            study.recipes(
                f"WSV-SCNN-SV d={size} L={settings.wsv.layers}{row.note and f', {row.note}'}",
                settings.wsv.model_copy(update={"filters": row.filters}),
                settings.sick,
                seeds=settings.seeds if own else settings.ablation_seeds,
                vectors=Vectors(name=name),
            )
        )
    return groups


def same_family(groups: Sequence[Sequence[Recipe]]) -> list[str]:
    """The methods of table 2 whose vectors are of the first row's set, so that the dimension alone differs."""

    def family(recipes: Sequence[Recipe]) -> list[str]:
        return recipes[0].vectors.name.split("-")[:2]

    return [recipes[0].method for recipes in groups if family(recipes) == family(groups[0])]


# -- checks ------------------------------------------------------------------------------------------------------------


def alone_and_in_batches(trained: Trained, settings: Settings) -> float:
    """The largest difference between a test sentence's vector alone and in a batch; one sentence is a single word."""
    pairs = suites.pairs(settings.sick.dataset, "test")
    sentences = [*dict.fromkeys(pairs.first[:200]), pairs.first[0].split()[-1]]
    encoder = trained.encoder()
    batched = encode_ids(encoder, trained.vocabulary.encode(sentences, settings.tokenisation))
    alone = [encode_ids(encoder, trained.vocabulary.encode([text], settings.tokenisation))[0] for text in sentences]
    return float(np.abs(batched - np.stack(alone)).max())


def map_weights(trained: Trained) -> tuple[float, float]:
    r"""The trained $\lambda_1, \lambda_2$."""
    encoder = trained.encoder()
    assert isinstance(encoder, WSV)
    first, second = torch.softmax(encoder.alpha.detach(), dim=0).tolist()
    return first, second


def exact_against_map(trained: Trained, settings: Settings) -> dict[str, float]:
    """The largest differences between the exact layer and the convolution of the map, in float64, on test sentences:
    of the k largest cells, and of the gradients of the word vectors, of the kernel and of the map weights."""
    encoder = trained.encoder().double()
    assert isinstance(encoder, WSV)
    pairs = suites.pairs(settings.sick.dataset, "test")
    tokens = trained.vocabulary.encode(list(dict.fromkeys(pairs.first[:200])), settings.tokenisation)
    found = {"cells": 0.0, "word vectors": 0.0, "kernel": 0.0, "map weights": 0.0}
    generator = torch.Generator().manual_seed(0)
    for length in np.unique(tokens.lengths[tokens.lengths > 1]):
        ids = torch.from_numpy(tokens.padded(np.flatnonzero(tokens.lengths == length))[0])
        # Row 0 is padding, whose gradient nobody uses.
        words, places = torch.unique(torch.cat([ids.new_full((1,), PADDING), ids.reshape(-1)]), return_inverse=True)
        leaves = [
            encoder.embedding.weight.detach()[words],
            encoder.kernels[0].detach(),
            encoder.alpha.detach().softmax(0),
        ]
        inputs = [leaf.double().requires_grad_() for leaf in leaves]
        places = places[1:].view(ids.shape)
        terms = row_and_column_terms(projections(inputs[0], inputs[1]), inputs[2], places)
        exact = k_max(terms, torch.full((len(ids),), int(length)), encoder.k)
        plain = k_max_of_map(inputs[0][places], inputs[1], inputs[2], encoder.k)
        weight = torch.randn(exact.shape, generator=generator, dtype=torch.float64)
        gradients = [torch.autograd.grad((cells * weight).sum(), inputs) for cells in (exact, plain)]
        gaps = [exact - plain, *(one - other for one, other in zip(*gradients, strict=True))]
        gaps[1] = gaps[1][1:]
        for name, gap in zip(found, gaps, strict=True):
            found[name] = max(found[name], float(gap.detach().abs().max()))
    return found
