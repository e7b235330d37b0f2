"""From word vectors to an encoder: the two special rows, and a seed that decides the composition alone."""

import numpy as np
import pytest
import torch

from sentbook.data.text import PADDING, UNKNOWN, Vocabulary
from sentbook.data.vectors import WordVectors, embedding_matrix
from sentbook.models import CSE, Average, build
from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder


def test_rows_are_padding_unknown_then_the_words() -> None:
    vectors = WordVectors(["cat", "dog"], np.array([[1, 2], [3, 6]], dtype=np.float32))
    weight = embedding_matrix(vectors)
    assert weight.dtype == np.float32
    assert weight[PADDING].tolist() == [0, 0]
    assert weight[UNKNOWN].tolist() == [2, 4]  # the mean
    assert weight[Vocabulary(vectors.words).id("dog")].tolist() == [3, 6]


@pytest.mark.parametrize("name", ["UUUNKKK", "uuunkkk", "<unk>", "unk"])
def test_an_unknown_word_has_the_vector_made_for_it_where_there_is_one(name: str) -> None:
    vectors = WordVectors(["cat", name, "dog"], np.array([[1, 2], [7, 8], [3, 6]], dtype=np.float32))
    weight = embedding_matrix(vectors)
    assert weight[UNKNOWN].tolist() == [7, 8]
    assert len(weight) == len(Vocabulary(vectors.words))


def test_the_configuration_decides_the_encoder() -> None:
    weight = torch.randn(9, 4)
    assert isinstance(build(AverageEncoder(), weight, seed=1), Average)
    config = CSEEncoder(widths=(1, 4), filters=7, activation="tanh", bias=False, pooling="mean", windows="batch")
    cse = build(config, weight, seed=1, dropout=0.25)
    assert isinstance(cse, CSE)
    assert (cse.widths, cse.filters, cse.activation, cse.pooling, cse.windows) == ((1, 4), 7, "tanh", "mean", "batch")
    assert cse.biases is None
    assert cse.dropout == 0.25
    assert cse.dimension == 14


def test_the_seed_decides_the_composition_and_the_words_are_copied() -> None:
    weight = torch.randn(9, 4)
    one, same, other = (build(CSEEncoder(filters=3), weight, seed=seed) for seed in (5, 5, 6))
    for name, value in one.state_dict().items():
        assert torch.equal(value, same.state_dict()[name])
    assert torch.equal(other.embedding.weight, one.embedding.weight)
    assert not torch.equal(other.composition()[0], one.composition()[0])
    with torch.no_grad():
        one.embedding.weight[3] = 99
    assert not torch.equal(weight[3], one.embedding.weight[3])


@pytest.mark.parametrize("config", [AverageEncoder(), CSEEncoder(filters=3)])
def test_building_leaves_the_global_random_state_alone(config: AverageEncoder | CSEEncoder) -> None:
    weight = torch.randn(9, 4)
    before = torch.get_rng_state()
    build(config, weight, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
