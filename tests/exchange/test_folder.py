"""A folder that holds an encoder: what is read is what was written, whole or not at all; no path, no code in it."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentbook.data.vectors import Vectors
from sentbook.exchange import portable
from sentbook.exchange.export import CARD, FILES, MODULE, MODULES, SETTINGS, export
from sentbook.exchange.portable import CONFIG, WEIGHTS, WORDS, Portable
from sentbook.exchange.sentence_transformer import TYPE
from sentbook.io import CheckpointError, ConfigError, DataError, StorageError
from sentbook.models import encode
from sentbook.models.average import AverageEncoder
from sentbook.models.bilstm import BiLSTMEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.gran import GRANEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.training import recipes
from sentbook.training.recipes import Recipe, Trained

ENCODERS: st.SearchStrategy[Encoder] = st.sampled_from(
    [
        AverageEncoder(),
        CSEEncoder(widths=(1, 3), filters=2, activation="tanh", bias=False, pooling="mean", windows="batch"),
        GRANEncoder(hidden=3),
        BiLSTMEncoder(hidden=2, pool="mean", padding="zeros"),
        CNNEncoder(widths=(2, 3), filters=2, padding="released"),
        WSVEncoder(filters=2, layers=2, k=3, map_weights="fixed", bias=False, selection="smallest"),
    ]
)
# Anything that can be stored as UTF-8, the ends of lines of other systems included.
LETTERS = st.characters(exclude_characters="\n", exclude_categories=["Cs"])
VOCABULARIES = st.lists(st.text(LETTERS, max_size=6), min_size=1, max_size=12, unique=True)


@settings(max_examples=30)
@given(encoder=ENCODERS, words=VOCABULARIES, data=st.data())
def test_what_is_read_is_what_was_written(
    drawn: Callable[..., Portable], encoder: Encoder, words: list[str], data: st.DataObject
) -> None:
    model = drawn(encoder, words)
    with tempfile.TemporaryDirectory() as folder:
        model.write(Path(folder))
        found = portable.read(Path(folder))
    assert found.description.changed(words_sha256="") == model.description
    assert found.vocabulary.words == words
    known = [word for word in words if word.split() == [word.lower()]]
    token = st.sampled_from([*known, "#tag", "unseen"])
    texts = data.draw(st.lists(st.lists(token, min_size=1, max_size=9).map(" ".join), min_size=1, max_size=6))
    np.testing.assert_array_equal(found.encode(texts), encode(model.encoder, model.vocabulary, texts, "whitespace"))
    assert not found.encoder.training


KINDS = ["average", "cse", "gran", "bilstm", "wsv", "cnn", "cnn fixed"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_artifact_goes_through_a_folder(artifacts: dict[str, Trained], exported: dict[str, Path], kind: str) -> None:
    trained, folder = artifacts[kind], exported[kind]
    texts = ["a woman sees the cook", "xyzzy plugh", "Café ☕ <b>&amp;", "the cook runs"]
    expected = encode(trained.encoder(), trained.vocabulary, texts, trained.recipe.tokenisation)
    assert trained.file is not None
    for model in (folder, trained.file, trained.file.parent):
        found = portable.load(model)
        np.testing.assert_array_equal(found.encode(texts), expected)
        assert found.description.origin["key"] == trained.recipe.key() and found.dimension == expected.shape[1]
    assert {file.name for file in folder.iterdir()} == FILES and not list(folder.parent.glob(".*"))
    assert len({file.stat().st_mode for file in folder.iterdir()}) == 1  # who may read one may read all
    assert json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["similarity_fn_name"] == "cosine"
    module = {"idx": 0, "name": "0", "path": "", "type": MODULE}
    assert json.loads((folder / MODULES).read_text(encoding="utf-8")) == [module] and module["type"] == TYPE
    for name in FILES - {WEIGHTS, WORDS}:
        text = (folder / name).read_text(encoding="utf-8")
        assert not re.search(r"(^|[\s\"'`(=])/\w", text), name  # a path from the root
        assert os.path.expanduser("~") not in text


@pytest.fixture
def folder(drawn: Callable[..., Portable], tmp_path: Path) -> Path:
    drawn(CSEEncoder(filters=2), ["red", "cat"]).write(tmp_path)
    return tmp_path


def edit(folder: Path, **changes: Any) -> None:
    file = folder / CONFIG
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: (folder / WORDS).unlink(), "is no whole exported encoder"),
    (lambda folder: (folder / WORDS).write_bytes(b"red\n"), "is not as it was exported"),
    (lambda folder: (folder / WORDS).write_bytes(b"red\r\ncat\r\n"), "git may have changed its line ends"),
    (lambda folder: (folder / WORDS).write_bytes(b"cat\nred\n"), "is not as it was exported"),
    (lambda folder: edit(folder, words=3), "do not belong together"),
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


# -- export ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def model(artifacts: dict[str, Trained]) -> Path:
    file = artifacts["cse"].file
    assert file is not None
    return file


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_an_earlier_export_is_replaced_and_a_link_followed(
    model: Path, exported: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    export(model, tmp_path / "link")
    first = contents(tmp_path / "real")
    export(model.parent, tmp_path / "link")
    assert contents(tmp_path / "real") == first and (tmp_path / "link").is_symlink()  # the same bytes each time
    assert {item.name for item in tmp_path.iterdir()} == {"real", "link"}


@pytest.mark.parametrize("foreign", ["notes.txt", CONFIG, CARD, "export and more", "a file"])
def test_what_is_not_an_export_is_left_alone(model: Path, tmp_path: Path, foreign: str) -> None:
    folder = tmp_path / "mine"
    if foreign == "a file":
        folder.write_text("mine", encoding="utf-8")
    elif foreign == "export and more":
        export(model, folder)
        (folder / ".git").mkdir()
    else:
        folder.mkdir()
        (folder / foreign).write_text("{}", encoding="utf-8")
    before = folder.read_bytes() if folder.is_file() else sorted(folder.iterdir())
    with pytest.raises(ConfigError, match="mine holds something else than an earlier export; name a new or an empty"):
        export(model, folder)
    assert (folder.read_bytes() if folder.is_file() else sorted(folder.iterdir())) == before


def test_what_cannot_be_exported_is_said(
    model: Path, artifacts: dict[str, Trained], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switches = {"faithful": "windows: batch", "no bias": "windows: batch", "first release": "padding: zeros"}
    for name, switch in switches.items():
        file = artifacts[name].file
        assert file is not None
        with pytest.raises(ConfigError, match=rf"{name} depends on the other sentences of its batch \({switch}\)"):
            export(file, tmp_path / "out")
    with pytest.raises(CheckpointError, match="There is no trained encoder at"):
        export(tmp_path / "no", tmp_path / "out")
    with pytest.raises(ConfigError, match="keep at least one, or all"):
        export(model, tmp_path / "none", words=0)
    recipe = Recipe(
        method="MiniLM", seed=1, vectors=Vectors(name="all-minilm-l6-v2"), encoder=AverageEncoder(),
        tokenisation="sentence",
    )  # fmt: skip
    monkeypatch.setattr(recipes, "from_file", lambda path: Trained(recipe, {}, path))
    with pytest.raises(ConfigError, match=r"vectors of the sentences of data sets.*\(all-minilm-l6-v2\)"):
        export(model, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_first_words_alone(model: Path, artifacts: dict[str, Trained], tmp_path: Path) -> None:
    whole = artifacts["cse"]
    words = whole.vocabulary.words
    assert export(model, tmp_path / "few", words=200).vocabulary.words == words[:200]
    texts = [" ".join(words[:5]), words[199], words[200]]
    expected = encode(whole.encoder(), whole.vocabulary, [*texts[:2], "xyzzy"], "ptb")
    found = portable.read(tmp_path / "few")
    np.testing.assert_array_equal(found.encode(texts), expected)  # the first word that was cut is unknown
    assert "200 of 50 numbers" in (tmp_path / "few" / CARD).read_text(encoding="utf-8")
    assert found.description.origin["words"] == len(words)


@pytest.mark.parametrize("when", ["weights", "rename"])
def test_a_full_disk_leaves_what_was_there(
    model: Path, artifacts: dict[str, Trained], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    other = artifacts["gran"].file
    assert other is not None
    export(other, tmp_path / "out")
    before = contents(tmp_path / "out")

    def full(*given: Any, **named: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    if when == "weights":
        monkeypatch.setattr(portable, "save_file", full)
    else:
        rename: Callable[..., Path] = Path.rename
        monkeypatch.setattr(Path, "rename", lambda self, to: (full if self.suffix == ".tmp" else rename)(self, to))
    with pytest.raises(StorageError, match=r"out could not be written \(No space left on device\); free some space"):
        export(model, tmp_path / "out")
    assert contents(tmp_path / "out") == before and [item.name for item in tmp_path.iterdir()] == ["out"]
