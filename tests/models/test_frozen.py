"""Vectors of a frozen encoder: each distinct sentence once, whoever asks, and the same as without the table."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data.text import TokenIds
from sentbook.models import CSE, FrozenVectors, encode_ids

SENTENCES = st.lists(st.lists(st.integers(2, 9), min_size=1, max_size=4), min_size=1, max_size=12)


def tokens(sentences: list[list[int]]) -> TokenIds:
    offsets = np.cumsum([0, *map(len, sentences)])
    return TokenIds(np.array([word for sentence in sentences for word in sentence]), offsets)


def encoder() -> CSE:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return CSE(torch.randn(10, 4), filters=3).eval()


@given(first=SENTENCES, second=SENTENCES)
def test_the_table_holds_what_the_encoder_says(first: list[list[int]], second: list[list[int]]) -> None:
    frozen = FrozenVectors(encoder())
    for sentences in (first, second):
        ids = tokens(sentences)
        found = frozen.table.numpy() if not len(frozen) else None
        places = frozen.places(ids)
        np.testing.assert_allclose(frozen.table[places].numpy(), encode_ids(encoder(), ids), atol=1e-5)
        assert found is None or found.shape == (0, encoder().dimension)
    assert len(frozen) == len({tuple(sentence) for sentence in first + second}) == len(frozen.table)


def test_a_sentence_met_before_is_not_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = FrozenVectors(encoder())
    frozen.places(tokens([[2, 3], [4]]))
    monkeypatch.setattr(frozen.encoder, "forward", lambda ids, lengths: pytest.fail("encoded again"))
    assert frozen.places(tokens([[4], [2, 3], [4]])).tolist() == [1, 0, 1]
