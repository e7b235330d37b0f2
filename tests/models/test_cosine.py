from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from sentbook.data.text import Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.models.average import Average
from sentbook.models.encode import cosine, cosine_scores, tokenise_sets

seeds = st.integers(0, 2**32 - 1)
VOCABULARY = Vocabulary(["east", "north", "west", "nothing"])
# Rows 0 and 1 are padding and the unknown word.
VECTORS = torch.tensor([[0, 0], [0, 0], [1, 0], [0, 2], [-3, 0], [0, 0]], dtype=torch.float32)


def pairs(name: str, *texts: tuple[str, str]) -> ScoredPairs:
    first, second = zip(*texts, strict=True)
    return ScoredPairs(name, list(first), list(second), np.zeros(len(texts)), (0, 5))


def test_a_zero_vector_has_cosine_0_without_a_warning() -> None:
    zero, other = np.zeros((2, 3)), np.ones((2, 3))
    for first, second in ((zero, other), (other, zero), (zero, zero)):
        assert cosine(first, second).tolist() == [0, 0]
    # Alone among others, it changes nothing else.
    assert cosine(np.array([[0.0, 0], [1, 0]]), np.array([[1.0, 1], [1, 0]])).tolist() == [0, 1]


@settings(max_examples=60)
@given(seed=seeds, scale=st.floats(1e-6, 1e6))
def test_what_every_cosine_has(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 8, 5)).astype(np.float32)
    found = cosine(first, second)
    assert found.dtype == np.float64 and np.abs(found).max() <= 1
    np.testing.assert_allclose(found, 1 - cdist(first, second, "cosine").diagonal(), atol=1e-12)
    np.testing.assert_array_equal(found, cosine(second, first))
    np.testing.assert_allclose(cosine(first * scale, second), found, atol=1e-5)
    np.testing.assert_allclose(cosine(-first, second), -found)
    assert cosine(first, first).max() <= 1  # never 1 + rounding, which arccos could not take
    np.testing.assert_allclose(cosine(first, first), 1)


def test_small_and_large_float32_vectors_neither_vanish_nor_overflow() -> None:
    tiny, huge = np.full((1, 4), 1e-30, dtype=np.float32), np.full((1, 4), 1e30, dtype=np.float32)
    for first, second in ((tiny, tiny), (huge, huge), (tiny, huge)):
        np.testing.assert_allclose(cosine(first, second), 1)


def test_scores_of_sets_by_their_names() -> None:
    sets = [
        pairs("a", ("East", "east east"), ("east", "north"), ("east", "west")),
        pairs("b", ("east north", "east"), ("nothing", "east")),
    ]
    tokens = tokenise_sets(sets, VOCABULARY, "ptb")
    assert {name: (len(first), len(second)) for name, (first, second) in tokens.items()} == {"a": (3, 3), "b": (2, 2)}
    found = cosine_scores(Average(VECTORS), tokens)
    assert list(found) == ["a", "b"]
    np.testing.assert_allclose(found["a"], [1, 0, -1], atol=1e-7)
    # The mean of (1, 0) and (0, 2) is (.5, 1); a sentence whose words' vectors are zero has cosine 0.
    np.testing.assert_allclose(found["b"], [0.5 / 1.25**0.5, 0], atol=1e-7)
