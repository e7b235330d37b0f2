"""`sentbook export`: a folder, whole or not at all, that names no place of this machine and holds no code."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from sentbook.data.vectors import Vectors
from sentbook.exchange import portable
from sentbook.exchange.artifact import of_artifact
from sentbook.exchange.export import CARD, FILES, MODULE, MODULES, SETTINGS, export
from sentbook.exchange.sentence_transformer import TYPE
from sentbook.models import encode
from sentbook.models.average import AverageEncoder
from sentbook.system.errors import CheckpointError, ConfigError, StorageError
from sentbook.training import recipes
from sentbook.training.recipes import Recipe, Trained

KINDS = ["average", "cse", "gran", "bilstm", "wsv", "cnn", "cnn fixed"]


@pytest.fixture
def model(artifacts: dict[str, Trained]) -> Path:
    file = artifacts["cse"].file
    assert file is not None
    return file


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_becomes_a_whole_folder(exported: dict[str, Path], kind: str) -> None:
    folder = exported[kind]
    assert {file.name for file in folder.iterdir()} == FILES
    assert list(folder.parent.glob(".*")) == []
    assert len({file.stat().st_mode for file in folder.iterdir()}) == 1  # who may read one may read all
    assert json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["similarity_fn_name"] == "cosine"
    module = {"idx": 0, "name": "0", "path": "", "type": MODULE}
    assert json.loads((folder / MODULES).read_text(encoding="utf-8")) == [module]
    for name in FILES - {portable.WEIGHTS, portable.WORDS}:
        text = (folder / name).read_text(encoding="utf-8")
        assert not re.search(r"(^|[\s\"'`(=])/\w", text), name  # a path from the root
        assert os.path.expanduser("~") not in text


def test_the_module_is_where_folders_say() -> None:
    assert MODULE == TYPE


def test_the_weights_hold_the_whole_word_table(exported: dict[str, Path], artifacts: dict[str, Trained]) -> None:
    for kind, folder in exported.items():
        tensors = load_file(folder / portable.WEIGHTS)
        expected = artifacts[kind].encoder().state_dict()
        assert tensors.keys() == expected.keys()
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(tensor, expected[name], err_msg=f"{kind}, {name}")


@pytest.mark.parametrize("given", ["folder", "file"])
def test_an_artifact_is_named_by_its_folder_or_file(model: Path, tmp_path: Path, given: str) -> None:
    export(model.parent if given == "folder" else model, tmp_path / "new" / "folder")
    assert (tmp_path / "new" / "folder" / CARD).is_file()


def test_an_earlier_export_and_an_empty_folder_are_replaced(
    model: Path, artifacts: dict[str, Trained], tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    export(model, tmp_path / "out")
    first = contents(tmp_path / "out")
    export(model, tmp_path / "out")
    assert contents(tmp_path / "out") == first  # and the same bytes each time
    other = artifacts["gran"].file
    assert other is not None
    export(other, tmp_path / "out")
    assert portable.read(tmp_path / "out").description.encoder.kind == "gran"
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_a_link_to_a_folder_is_followed(model: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    export(model, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / CARD).is_file()


@pytest.mark.parametrize("foreign", ["notes.txt", portable.CONFIG, CARD, "export and more", "a file"])
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


@pytest.mark.parametrize(
    ("name", "switch"),
    [("faithful", "windows: batch"), ("no bias", "windows: batch"), ("first release", "padding: zeros")],
)
def test_an_encoder_that_depends_on_its_batch_is_refused(
    artifacts: dict[str, Trained], tmp_path: Path, name: str, switch: str
) -> None:
    trained = artifacts[name]
    assert trained.file is not None
    texts = ["the cook", "a woman sees the cook and the cook sees a woman"]
    encoder, vocabulary = trained.encoder(), trained.vocabulary
    ids, lengths = map(torch.from_numpy, vocabulary.encode(texts).padded(np.arange(2), encoder.minimum_length))
    alone = encode(encoder, vocabulary, texts[:1])
    assert not np.allclose(encoder(ids, lengths)[:1].detach(), alone, atol=1e-5)
    with pytest.raises(ConfigError, match=rf"{name} depends on the other sentences of its batch \({switch}\)"):
        export(trained.file, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_vectors_of_a_data_set_s_sentences_are_refused(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Recipe(
        method="MiniLM", seed=1, vectors=Vectors(name="all-minilm-l6-v2"), encoder=AverageEncoder(),
        tokenisation="sentence",
    )  # fmt: skip
    monkeypatch.setattr(recipes, "from_file", lambda path: Trained(recipe, {}, path))
    with pytest.raises(ConfigError, match=r"vectors of the sentences of data sets.*\(all-minilm-l6-v2\)"):
        export(model, tmp_path / "out")


def test_the_first_words_alone(model: Path, artifacts: dict[str, Trained], tmp_path: Path) -> None:
    whole = artifacts["cse"]
    words = whole.vocabulary.words
    kept = export(model, tmp_path / "few", words=200)
    assert kept.vocabulary.words == words[:200]
    found = portable.read(tmp_path / "few")
    assert found.vocabulary.words == words[:200]
    texts = [" ".join(words[:5]), words[199], words[200]]
    expected = encode(whole.encoder(), whole.vocabulary, [*texts[:2], "xyzzy"], "ptb")
    np.testing.assert_array_equal(found.encode(texts), expected)  # the first word that was cut is unknown
    card = (tmp_path / "few" / CARD).read_text(encoding="utf-8")
    assert "200 of 50 numbers" in card
    assert portable.read(tmp_path / "few").description.origin["words"] == len(words)
    assert len(export(model, tmp_path / "many", words=10**9).vocabulary.words) == len(words)
    with pytest.raises(ConfigError, match="keep at least one, or all"):
        export(model, tmp_path / "none", words=0)


@pytest.mark.parametrize("when", ["weights", "card", "rename"])
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
    elif when == "card":
        write: Callable[..., int] = Path.write_text
        monkeypatch.setattr(
            Path, "write_text", lambda self, *a, **k: (full if self.name == CARD else write)(self, *a, **k)
        )
    else:
        rename: Callable[..., Path] = Path.rename
        monkeypatch.setattr(Path, "rename", lambda self, to: (full if self.suffix == ".tmp" else rename)(self, to))
    with pytest.raises(StorageError, match=r"out could not be written \(No space left on device\); free some space"):
        export(model, tmp_path / "out")
    assert contents(tmp_path / "out") == before
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_a_device_is_no_folder(model: Path) -> None:
    with pytest.raises(ConfigError, match="/dev/null holds something else"):
        export(model, Path(os.devnull))


def test_no_artifact_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="There is no trained encoder at"):
        export(tmp_path / "no", tmp_path / "out")


def test_places_of_this_machine_are_cut_to_names(tmp_path: Path) -> None:
    """A user's vectors file and folder of books lie at absolute paths."""
    words = tmp_path / "mine.txt"
    words.write_text("cook 1 2\nruns 3 4\n", encoding="utf-8")
    recipe = Recipe(method="own", seed=1, vectors=Vectors(name="file", path=str(words)), encoder=AverageEncoder())
    model = of_artifact(Trained(recipe, {}))
    text = model.description.model_dump_json()
    assert str(tmp_path) not in text
    assert '"path":"mine.txt"' in text
    np.testing.assert_array_equal(model.encode(["cook runs"]), [[2, 3]])
