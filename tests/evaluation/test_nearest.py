"""Exact search against sorting all cosines: ties, blocks, what is left out, and sentences encoded on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sentbook.data.text import TokenIds
from sentbook.models import Average
from sentbook.models.cnn import CNN
from sentbook.models.encode import encode_ids
from sentbook.papers.cnn_lstm.nearest import Nearest, distinct, encoded, excluded, search
from sentbook.system.errors import NumericalError

Array = NDArray[np.float64]


def nearest(vectors: Array, queries: Array, k: int = 1, exclude: list[NDArray[np.int64]] | None = None) -> Nearest:
    return search([(np.arange(len(vectors)), vectors)], queries, k, exclude)


@given(
    seed=st.integers(0, 9999), n=st.integers(1, 30), width=st.integers(1, 5), k=st.integers(1, 6), few=st.booleans()
)  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_it_equals_sorting_all_cosines(seed: int, n: int, width: int, k: int, few: bool) -> None:
    """With many ties (``few`` values), whatever the blocks and their order."""
    rng = np.random.default_rng(seed)
    made = rng.integers(-1, 2, (n + 4, width)).astype(float) if few else rng.normal(size=(n + 4, width))
    vectors, queries = made[:n], made[n:]
    exclude = [np.unique(rng.integers(0, n + 3, rng.integers(0, 4))) for _ in queries]
    units = [table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-300) for table in (queries, vectors)]
    cosines = (units[0] @ units[1].T).round(9)
    cuts = np.sort(rng.integers(0, n + 1, 3))
    blocks = [(part, vectors[part]) for part in np.split(rng.permutation(n), cuts)]
    found = search(blocks, queries, k, exclude)
    for query, barred in enumerate(exclude):
        order = [row for row in np.lexsort((np.arange(n), -cosines[query])) if row not in barred][:k]
        missing = k - len(order)
        assert found.rows[query].tolist() == [*order, *[-1] * missing]
        np.testing.assert_allclose(found.cosines[query], [*cosines[query, order], *[np.nan] * missing], atol=1e-8)
    np.testing.assert_array_equal(found.rows, nearest(vectors, queries, k, exclude).rows)
    np.testing.assert_array_equal(found.cosines, nearest(vectors, queries, k, exclude).cosines)


def test_neither_length_nor_size_matters() -> None:
    vectors = np.array([[3.0, 4.0], [3e-30, 4e-30], [3e30, 4e30], [0.0, 0.0], [-3.0, -4.0]])
    found = nearest(vectors, np.array([[0.3, 0.4], [0.0, 0.0]]), 5)
    assert found.rows.tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    np.testing.assert_allclose(found.cosines, [[1, 1, 1, 0, -1], [0] * 5], atol=1e-7)
    assert found.cosines[0, 0] == found.cosines[0, 1] == found.cosines[0, 2]


def test_a_memory_map_and_tensors_are_read_alike(tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)
    np.save(tmp_path / "vectors.npy", vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    tensor: Any = torch.from_numpy(vectors)
    assert nearest(mapped, vectors[:3], 4).rows.tolist() == nearest(tensor, tensor[:3], 4).rows.tolist()


def test_encoded_blocks_are_the_sentences_vectors() -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 9, 40)
    tokens = TokenIds(rng.integers(2, 30, lengths.sum()).astype(np.uint16), np.concatenate([[0], lengths.cumsum()]))  # type: ignore[arg-type]
    encoder = CNN(torch.randn(30, 6, generator=torch.Generator().manual_seed(0)), filters=4, bound=1.0, dropout=0.5)
    rows = rng.permutation(40)[:25]
    blocks = list(encoded(encoder, tokens, rows, max_tokens=20))
    assert len(blocks) > 3 and sorted(np.concatenate([block[0] for block in blocks])) == sorted(rows)
    assert encoder.training  # as it was, though dropout was off
    vectors = encode_ids(encoder, TokenIds(tokens.flat.astype(np.int64), tokens.offsets))
    for block_rows, found in blocks:
        np.testing.assert_allclose(found.numpy(), vectors[block_rows], atol=1e-6)
    best = search(encoded(encoder, tokens, rows), vectors[rows[:5]], 1)
    np.testing.assert_allclose(best.cosines[:, 0], 1, atol=1e-5)


def test_vectors_that_depend_on_their_batch_are_refused() -> None:
    encoder = Average(torch.ones(4, 2))
    encoder.batch_dependent = True
    with pytest.raises(ValueError, match="depend on their batch"):
        next(encoded(encoder, TokenIds(np.array([2]), np.array([0, 1])), np.array([0])))


# -- which sentences are no answer -------------------------------------------------------------------------------------

#               0: a b   1: c     2: a b   3: a     4: b a   5: c     6: a b
TEXT = TokenIds(np.array([5, 6, 7, 5, 6, 5, 6, 5, 7, 5, 6]), np.array([0, 2, 3, 5, 6, 8, 9, 11]))


def test_repeats_are_found_by_their_words() -> None:
    assert distinct(TEXT, np.arange(7)).tolist() == [0, 1, 3, 4]
    assert distinct(TEXT, np.array([6, 5, 2, 1])).tolist() == [6, 5]


def test_a_query_never_finds_itself_its_repeats_or_its_neighbours() -> None:
    queries = np.array([2, 4, 0])
    assert [rows.tolist() for rows in excluded(TEXT, queries, np.arange(7))] == [[0, 2, 6], [4], [0, 2, 6]]
    assert [rows.tolist() for rows in excluded(TEXT, queries, np.array([1, 6]))] == [[2, 6], [4], [0, 6]]
    near = excluded(TEXT, queries, np.arange(7), around=1)
    assert [rows.tolist() for rows in near] == [[0, 1, 2, 3, 6], [3, 4, 5], [0, 1, 2, 6]]
    vectors = np.array([[1, 0], [0.9, 0.1], [1, 0], [0.8, 0.2], [0, 1], [0.9, 0.1], [1, 0]])
    assert nearest(vectors, vectors[queries], 1).rows.tolist() == [[0], [4], [0]]
    assert nearest(vectors, vectors[queries], 1, near).rows.tolist() == [[5], [1], [5]]
    everything = [np.arange(7)] * 3
    assert (nearest(vectors, vectors[queries], 2, everything).rows == -1).all()


def test_mistakes_are_clear() -> None:
    one = np.ones((1, 2))
    with pytest.raises(NumericalError, match="NaN"):
        nearest(np.array([[1.0, np.nan]]), one)
    with pytest.raises(NumericalError, match="NaN"):
        nearest(one, np.array([[np.inf, 1.0]]))
    for vectors, rows in ((np.ones((2, 3)), np.arange(2)), (np.ones((2, 2)), np.arange(3)), (np.ones(2), np.arange(2))):
        with pytest.raises(ValueError, match="do not fit"):
            search([(rows, vectors)], one)
    with pytest.raises(ValueError, match="0 nearest"):
        nearest(one, one, 0)
    with pytest.raises(ValueError, match="1 queries"):
        nearest(one, one, 1, [np.arange(1)] * 2)
