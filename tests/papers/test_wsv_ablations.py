"""Each variant moves what it names and nothing else; the rows of table 2; a sentence alone and the exact layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentbook import config
from sentbook.data import vectors
from sentbook.data.vectors import WordVectors
from sentbook.models import SentenceEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.papers import describe
from sentbook.papers.wsv import experiments as ablations
from sentbook.papers.wsv.experiments import (
    alone_and_in_batches,
    dimension_recipes,
    exact_against_map,
    same_family,
    variant_recipes,
    wsv_variants,
)
from sentbook.papers.wsv.settings import Settings
from sentbook.runs.printed import table as reported
from sentbook.study import Study
from sentbook.system.errors import DataError
from sentbook.training.recipes import Recipe, Trained, untrained

# Of the encoder, of the training, and the tokenisation where it is another.
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    "clean": ({}, {}, None),
    "euclidean, f1": ({}, {"score": "euclidean"}, None),
    "euclidean, f2": ({}, {"score": "euclidean", "falling": "f2"}, None),
    "euclidean, f2 as printed": ({}, {"score": "euclidean", "falling": "f2 as printed"}, None),
    "euclidean, f3": ({}, {"score": "euclidean", "falling": "f3"}, None),
    "manhattan, f1": ({}, {"score": "manhattan"}, None),
    "manhattan, f2": ({}, {"score": "manhattan", "falling": "f2"}, None),
    "manhattan, f2 as printed": ({}, {"score": "manhattan", "falling": "f2 as printed"}, None),
    "manhattan, f3": ({}, {"score": "manhattan", "falling": "f3"}, None),
    "k = 1": ({"k": 1}, {}, None),
    "k = 5": ({"k": 5}, {}, None),
    "two layers": ({"layers": 2}, {}, None),
    "three layers": ({"layers": 3}, {}, None),
    "map weights fixed": ({"map_weights": "fixed"}, {}, None),
    "map weights equal": ({"map_weights": "fixed", "alpha": (0, 0)}, {}, None),
    "no word sets": ({"map_weights": "fixed", "alpha": (40, 0)}, {}, None),
    "smallest k": ({"selection": "smallest"}, {}, None),
    "padding as printed": ({"padding": "zeros in training"}, {}, None),
    "bias": ({"bias": True}, {}, None),
    "no stop words": ({}, {}, "content"),
    "stems": ({}, {}, "stems"),
    "words fixed": ({}, {"embedding_update": "frozen"}, None),
}


def paper(**changes: Any) -> Settings:
    return config.load("wsv", config.merge({"profile": "demo", "wsv": {"filters": 6}}, changes))


def study(settings: Settings) -> Study:
    return Study("wsv/table2", settings)


def difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    assert one.keys() == other.keys()
    return {name: value for name, value in one.items() if value != other[name]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing here trains; if it did, it would not be where runs are."""
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    yield tmp_path
    assert not (tmp_path / "artifacts").exists()


# -- variants ----------------------------------------------------------------------------------------------------------


def test_each_variant_differs_from_clean_in_the_named_choice_alone() -> None:
    settings = paper()
    variants = wsv_variants(settings)
    assert list(variants) == list(CHANGES)
    clean = variants["clean"]
    assert (clean.encoder, clean.training, clean.tokenisation) == (settings.wsv, settings.sick, settings.tokenisation)
    for name, (encoder, training, tokenisation) in CHANGES.items():
        variant = variants[name]
        assert difference(variant.encoder.model_dump(), clean.encoder.model_dump()) == encoder, name
        assert difference(variant.training.model_dump(), clean.training.model_dump()) == training, name
        assert variant.tokenisation == (tokenisation or "ptb"), name


def test_the_clean_variant_is_what_its_sentence_says() -> None:
    clean = wsv_variants(paper())["clean"]
    assert (clean.training.score, clean.encoder.k, clean.encoder.layers) == ("cosine", 3, 1)
    assert (clean.encoder.map_weights, clean.encoder.selection) == ("trained", "largest")
    assert (clean.encoder.padding, clean.encoder.bias, clean.tokenisation) == ("masked", False, "ptb")


def test_variants_are_valid_configurations_with_keys_of_their_own_that_survive_a_file() -> None:
    """`model_copy` does not validate, so a misspelt choice would pass unseen, and a key could change when read back."""
    settings = paper()
    variants, keys = wsv_variants(settings), set()
    groups = variant_recipes(study(settings), variants)
    for variant, [recipe] in zip(variants.values(), groups, strict=True):
        assert type(variant.encoder).model_validate(variant.encoder.model_dump()) == variant.encoder
        assert type(variant.training).model_validate(variant.training.model_dump()) == variant.training
        assert Recipe.model_validate(recipe.model_dump(mode="json")).key() == recipe.key()
        keys.add(recipe.key())
    assert len(keys) == len(CHANGES)


def test_describe_has_a_row_a_variant() -> None:
    frame = describe(wsv_variants(paper()))
    assert frame["variant"].tolist() == list(CHANGES)
    assert frame["what it changes"].is_unique


def test_variants_have_the_seeds_of_ablations_and_their_own_tokens() -> None:
    settings = paper(ablation_seeds=[4, 7, 9])
    variants = wsv_variants(settings)
    groups = variant_recipes(study(settings), variants)
    for (name, variant), group in zip(variants.items(), groups, strict=True):
        deep = name in ("two layers", "three layers")
        assert [recipe.seed for recipe in group] == ([4, 7] if deep else [4, 7, 9]), name
        assert {recipe.method for recipe in group} == {name}
        for recipe in group:
            assert (recipe.encoder, recipe.stages) == (variant.encoder, (variant.training,))
            assert (recipe.tokenisation, recipe.vectors) == (variant.tokenisation, settings.vectors)


# -- table 2 -----------------------------------------------------------------------------------------------------------


def test_rows_of_table_2_are_named_by_their_dimension() -> None:
    settings = paper(wsv={"filters": 50})
    groups = dimension_recipes(study(settings), settings)
    assert [[(item.method, item.seed) for item in group] for group in groups] == [
        [("WSV-SCNN-SV d=50 L=1", 1), ("WSV-SCNN-SV d=50 L=1", 2)],  # the configuration's own has all seeds
        [("WSV-SCNN-SV d=25 L=1", 1)],
    ]
    for group, row in zip(groups, settings.dimensions, strict=True):
        for recipe in group:
            assert recipe.vectors.name == row.vectors[0]
            assert recipe.encoder == settings.wsv.model_copy(update={"filters": row.filters})
            assert recipe.stages == (settings.sick,)


def test_a_row_of_other_filters_or_words_has_the_seeds_of_ablations() -> None:
    settings = paper(ablation_seeds=[5], wsv={"filters": 49, "layers": 2})
    groups = dimension_recipes(study(settings), settings)
    assert [[item.seed for item in group] for group in groups] == [[5], [5]]
    assert groups[0][0].method == "WSV-SCNN-SV d=50 L=2"


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Vectors of every name, of two words and the name's dimension; and the names that were loaded."""
    loaded: list[str] = []

    def load(name: str, path: str = "") -> WordVectors:
        loaded.append(name)
        dimension = next(int(part[:-1]) for part in name.split("-")[::-1] if part[:-1].isdigit())
        return WordVectors(["ba", "be"], np.ones((2, dimension), dtype=np.float32))

    monkeypatch.setattr(vectors, "load", load)
    return loaded


@pytest.mark.parametrize("here", [True, False], ids=["all vectors", "no large ones"])
def test_the_first_vectors_of_a_row_that_are_here_are_taken(
    sizes: list[str], monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    monkeypatch.setattr(vectors, "available", lambda name: here or name not in vectors.LARGE)
    settings = paper(dimensions=[row.model_dump() for row in Settings().dimensions])
    groups = dimension_recipes(study(settings), settings)
    assert [group[0].vectors.name for group in groups] == sizes == [row.vectors[not here and at < 3]
        for at, row in enumerate(settings.dimensions)]  # fmt: skip
    methods = [group[0].method for group in groups]
    assert methods[-1] == "WSV-SCNN-SV d=50 L=1, GloVe 840B"
    # The others as in the paper, with its filters.
    printed = reported("wsv", "table2")
    assert set(methods[:-1]) == set(printed["method"])
    counts = printed[printed["metric"] == "trainable_params"].set_index("method")["value"]
    for group in groups[:-1]:
        size = int(group[0].method.split("d=")[1].split()[0])
        assert isinstance(group[0].encoder, WSVEncoder)
        assert 9 * size * group[0].encoder.filters + 2 == counts[group[0].method]
    family = same_family(groups)
    assert family == (methods[:4] if here else [*methods[:3], methods[4]])


def test_without_any_vectors_of_a_row_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "available", lambda name: name == "miniworld")
    settings = paper()
    with pytest.raises(
        DataError, match=r"^None of miniworld-25d is here; run `sentbook data fetch` for one of them\.$"
    ):
        dimension_recipes(study(settings), settings)
    several = paper(dimensions=[{"vectors": ["glove-6b-300d", "glove-840b-300d-sick"], "filters": 6}])
    with pytest.raises(DataError, match=r"^None of glove-6b-300d, glove-840b-300d-sick is here"):
        dimension_recipes(study(several), several)


# -- checks ------------------------------------------------------------------------------------------------------------


def fresh(settings: Settings, **changes: Any) -> Trained:
    encoder = settings.wsv.model_copy(update=changes)
    [recipe] = study(settings).recipes("WSV", encoder, seeds=[3])
    return Trained(recipe, {})


class Dependent(Trained):
    """An encoder whose windows reach into the padding of its batch."""

    def encoder(self) -> SentenceEncoder:
        encoder = untrained(self.recipe.model_copy(update={"encoder": CSEEncoder(filters=4, windows="batch")}))[0]
        with torch.no_grad():
            for bias in encoder.biases:  # type: ignore[union-attr]
                bias.fill_(0.4)
        return encoder.eval()


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_sentence_has_one_vector_alone_and_in_batches(layers: int) -> None:
    settings = paper()
    assert alone_and_in_batches(fresh(settings, layers=layers), settings) <= 1e-5


def test_an_encoder_that_sees_its_batch_is_found_out() -> None:
    settings = paper()
    assert alone_and_in_batches(Dependent(fresh(settings).recipe, {}), settings) > 1e-2


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_exact_layer_is_the_convolution_of_the_map(k: int) -> None:
    settings = paper()
    found = exact_against_map(fresh(settings, k=k), settings)
    assert list(found) == ["cells", "word vectors", "kernel", "map weights"]
    assert max(found.values()) <= 1e-10


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("k_max", lambda function: lambda *given: function(*given) + 1e-3),
        ("row_and_column_terms", lambda function: lambda words, weights, at: function(words, weights.flip(0), at)),
        ("projections", lambda function: lambda words, kernel: function(words, kernel.transpose(0, 1))),
    ],
    ids=["cells", "weights", "kernel"],
)
def test_a_layer_that_is_not_exact_is_found_out(monkeypatch: pytest.MonkeyPatch, name: str, damage: Any) -> None:
    monkeypatch.setattr(ablations, name, damage(getattr(ablations, name)))
    settings = paper()
    found = exact_against_map(fresh(settings), settings)
    assert found["cells"] > 1e-4
    assert (found["kernel"] > 1e-4) == (name != "k_max")  # a constant has no gradient
