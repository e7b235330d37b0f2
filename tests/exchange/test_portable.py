"""A folder that holds an encoder: what is read is what was written, for every kind, option and word."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sentbook.exchange import loading, portable
from sentbook.exchange.artifact import of_artifact
from sentbook.exchange.portable import CONFIG, WEIGHTS, WORDS, Portable
from sentbook.models import encode
from sentbook.models.average import AverageEncoder
from sentbook.models.bilstm import BiLSTMEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.gran import GRANEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.system.errors import CheckpointError, DataError
from sentbook.training.recipes import Trained

WIDTHS = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
ENCODERS: st.SearchStrategy[Encoder] = st.one_of(
    st.just(AverageEncoder()),
    st.builds(
        CSEEncoder,
        widths=WIDTHS,
        filters=st.integers(1, 4),
        activation=st.sampled_from(["linear", "tanh"]),
        bias=st.booleans(),
        pooling=st.sampled_from(["sum", "mean"]),
        windows=st.sampled_from(["masked", "batch"]),
    ),
    st.builds(GRANEncoder, hidden=st.none() | st.integers(1, 6)),
    st.builds(
        BiLSTMEncoder,
        hidden=st.integers(1, 6),
        pool=st.sampled_from(["max", "mean"]),
        padding=st.sampled_from(["masked", "zeros"]),
    ),
    st.builds(CNNEncoder, widths=WIDTHS, filters=st.integers(1, 4), padding=st.sampled_from(["masked", "released"])),
    st.builds(
        WSVEncoder,
        filters=st.integers(1, 4),
        layers=st.integers(1, 3),
        k=st.integers(1, 4),
        map_weights=st.sampled_from(["trained", "fixed"]),
        bias=st.booleans(),
        selection=st.sampled_from(["largest", "smallest"]),
    ),
)
# Anything that can be stored as UTF-8, the ends of lines of other systems included.
LETTERS = st.characters(exclude_characters="\n", exclude_categories=["Cs"])
VOCABULARIES = st.lists(st.text(LETTERS, max_size=6), min_size=1, max_size=12, unique=True)


@settings(max_examples=60, deadline=None)
@given(encoder=ENCODERS, words=VOCABULARIES, data=st.data())
def test_what_is_read_is_what_was_written(
    drawn: Callable[..., Portable], encoder: Encoder, words: list[str], data: st.DataObject
) -> None:
    model = drawn(encoder, words)
    with tempfile.TemporaryDirectory() as folder:
        model.write(Path(folder))
        found = portable.read(Path(folder))
    assert found.description == model.description
    assert found.vocabulary.words == words
    known = [word for word in words if word.split() == [word.lower()]]
    token = st.sampled_from([*known, "#tag", "unseen"])
    texts = data.draw(st.lists(st.lists(token, min_size=1, max_size=9).map(" ".join), min_size=1, max_size=6))
    np.testing.assert_array_equal(found.encode(texts), encode(model.encoder, model.vocabulary, texts, "whitespace"))
    assert not found.encoder.training


@pytest.mark.parametrize("trained", ["average", "cse", "gran", "bilstm", "wsv", "cnn", "cnn fixed"], indirect=True)
def test_an_artifact_goes_through_a_folder(trained: Trained, tmp_path: Path) -> None:
    texts = ["a woman sees the cook", "xyzzy plugh", "Café ☕ <b>&amp;", "the cook runs"]
    of_artifact(trained).write(tmp_path)
    expected = encode(trained.encoder(), trained.vocabulary, texts, trained.recipe.tokenisation)
    found = loading.load(tmp_path)
    np.testing.assert_array_equal(found.encode(texts), expected)
    assert found.dimension == expected.shape[1]
    assert found.description.origin["key"] == trained.recipe.key()
    assert {file.name for file in tmp_path.iterdir()} == {CONFIG, WEIGHTS, WORDS}


@pytest.fixture
def folder(drawn: Callable[..., Portable], tmp_path: Path) -> Path:
    drawn(CSEEncoder(filters=2), ["red", "cat"]).write(tmp_path)
    return tmp_path


def edit(folder: Path, **changes: Any) -> None:
    file = folder / CONFIG
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: (folder / WORDS).unlink(), "is no whole exported encoder"),
    (lambda folder: (folder / WORDS).write_bytes(b"red\n"), "do not belong together"),
    (lambda folder: (folder / WORDS).write_bytes(b"red\ncat"), "do not belong together"),
    (lambda folder: (folder / WORDS).write_bytes(b"red\n\xff\n"), "is no whole exported encoder"),
    (lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-3]), "no whole exported encoder"),
    (lambda folder: (folder / CONFIG).write_text("{", encoding="utf-8"), "cannot be read"),
    (lambda folder: edit(folder, format="sentbook encoder 2"), "another version"),
    (lambda folder: edit(folder, encoder={"kind": "cse", "filters": 2, "bias": False}), "of another encoder"),
    (lambda folder: edit(folder, encoder={"kind": "gran"}, dimension=5), "of another encoder"),
    (lambda folder: edit(folder, dimension=7), "are not those of the weights"),
    (lambda folder: edit(folder, word_dimension=7), "are not those of the weights"),
]


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES)
def test_a_damaged_folder_is_refused(folder: Path, damage: Callable[[Path], object], sentence: str) -> None:
    damage(folder)
    with pytest.raises(CheckpointError, match=sentence):
        portable.read(folder)


def test_a_word_with_a_line_break_cannot_be_written(drawn: Callable[..., Portable], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"The word 'b\\nc' holds a line break"):
        drawn(AverageEncoder(), ["a", "b\nc"]).write(tmp_path)


def test_weights_are_read_once_and_are_float32(folder: Path) -> None:
    tensors = portable.read(folder).encoder.state_dict()
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
