"""Each variant moves what it names and nothing else; the linear encoder is a bag of words plus edge terms."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

from sentbook import config
from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.papers import describe
from sentbook.papers.cse import experiments as ablations
from sentbook.papers.cse.experiments import cse_variants, interior_permutation
from sentbook.papers.cse.settings import Settings
from sentbook.system.errors import ConfigError
from sentbook.training.recipes import Recipe, Trained

CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "clean": ({}, {}),
    "faithful": ({"windows": "batch"}, {"scramble": 0.5, "candidates": "both sides"}),
    "padded windows": ({"windows": "batch"}, {}),
    "no bias": ({"bias": False}, {}),
    "mean pooling": ({"pooling": "mean"}, {}),
    "scrambled": ({}, {"scramble": 0.5}),
    "both sides": ({}, {"candidates": "both sides"}),
    "tanh": ({"activation": "tanh"}, {}),
    "dense": ({}, {"embedding_update": "dense"}),
}


def paper(**changes: Any) -> Settings:
    return config.load("cse", {"profile": "demo", "cse": {"filters": 4}, **changes})


def difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    assert one.keys() == other.keys()
    return {name: value for name, value in one.items() if value != other[name]}


def test_each_variant_differs_from_clean_in_the_named_fields_alone() -> None:
    settings = paper()
    variants = cse_variants(settings)
    assert list(variants) == list(CHANGES)
    assert variants["clean"].encoder == settings.cse
    assert variants["clean"].training == settings.ablation
    for name, (encoder, training) in CHANGES.items():
        variant, clean = variants[name], variants["clean"]
        assert difference(variant.encoder.model_dump(), clean.encoder.model_dump()) == encoder, name
        assert difference(variant.training.model_dump(), clean.training.model_dump()) == training, name


def test_variants_are_valid_configurations_with_keys_of_their_own() -> None:
    """`model_copy` does not validate, so a misspelt choice would pass unseen."""
    settings, keys = paper(), set()
    for variant in cse_variants(settings).values():
        assert type(variant.encoder).model_validate(variant.encoder.model_dump()) == variant.encoder
        assert type(variant.training).model_validate(variant.training.model_dump()) == variant.training
        keys.add(recipe(settings, variant.encoder, stages=(variant.training,)).key())
    assert len(keys) == len(CHANGES)


def test_describe_has_a_row_a_variant() -> None:
    frame = describe(cse_variants(paper()))
    assert list(frame.columns) == ["variant", "what it changes"]
    assert frame["variant"].tolist() == list(CHANGES)
    assert frame["what it changes"].is_unique


def recipe(settings: Settings, encoder: Any, method: str = "m", stages: tuple[Any, ...] = ()) -> Recipe:
    return Recipe(
        method=method, seed=1, vectors=settings.vectors, encoder=encoder, stages=stages, suite=settings.suite,
        tokenisation=settings.tokenisation,
    )  # fmt: skip


class Biased(Trained):
    """An untrained encoder whose biases are not zero."""

    def encoder(self) -> Any:
        encoder = super().encoder()
        with torch.no_grad():
            for bias in encoder.biases or []:  # type: ignore[union-attr]
                bias.fill_(0.4)
        return encoder


def test_a_permuted_interior_moves_tanh_and_not_the_linear_encoder() -> None:
    settings = paper()
    variants = cse_variants(settings)
    names = ["clean", "no bias", "mean pooling", "tanh"]
    trained = [Biased(recipe(settings, variants[name].encoder, name), {}) for name in names]
    moved = interior_permutation(trained, names, settings)
    assert list(moved) == names
    assert moved.pop("tanh") > 0.01
    assert max(moved.values()) < 1e-5


def test_a_method_counts_once_and_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = paper()
    clean = Biased(recipe(settings, settings.cse, "clean"), {})
    other = Biased(recipe(settings, settings.cse, "other"), {})
    encoded: list[int] = []
    encode_ids = ablations.encode_ids
    monkeypatch.setattr(ablations, "encode_ids", lambda *given: encoded.append(1) or encode_ids(*given))
    assert list(interior_permutation([clean, clean, other], ["clean"], settings)) == ["clean"]
    assert len(encoded) == 2  # before and after, once


def test_filters_too_wide_for_any_interior_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = paper()
    short = ScoredPairs("short", ["One cat sees a dog"], ["A dog"], np.array([1.0]), (0, 5))
    monkeypatch.setattr(suites, "test_sets", lambda suite: [short])
    trained = [Biased(recipe(settings, settings.cse, "clean"), {})]
    with pytest.raises(ConfigError, match=r"^No test sentence has the 6 words .* width 3 needs; lower cse\.widths\.$"):
        interior_permutation(trained, ["clean"], settings)
