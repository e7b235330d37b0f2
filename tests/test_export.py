"""An exported folder gives the vectors of the library, by itself and in sentence-transformers, and holds no path."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kept import forget
from sentbook import export, io
from sentbook.export import CONFIG, FILES, WEIGHTS, WORDS, SentbookEncoder
from sentbook.io import CheckpointError, ConfigError, DataError
from sentbook.models import encode
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.recurrent import BiLSTMEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.training.objectives import SimilarityTraining
from sentbook.training.runs import Trained, obtain
from trainings import PHRASE, STORIES, recipe

SENTENCES = PHRASE.model_copy(update={"corpora": ("miniworld-sentences",)})
TRAINED: dict[str, tuple[Encoder, tuple[Any, ...]]] = {
    "cse": (CSEEncoder(filters=4), (PHRASE, SENTENCES)),
    "bilstm": (BiLSTMEncoder(hidden=6), (PHRASE,)),
    "wsv": (WSVEncoder(filters=6), (SimilarityTraining(dataset="miniworld", epochs=1),)),
    "cnn": (CNNEncoder(filters=4, bound=0.1), (STORIES,)),
    "faithful": (CSEEncoder(filters=4, windows="batch"), (PHRASE,)),
}
KINDS = [name for name in TRAINED if name != "faithful"]
TEXTS = ["a woman sees the cook", "xyzzy plugh", "Café ☕ <b>&amp; don't 日本語", "cook", "the cook runs " * 40]


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Trained]]:
    folder = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_CACHE", str(folder / "cache"))
        patch.setenv("SENTBOOK_ARTIFACTS", str(folder / "artifacts"))
        forget()
        wanted = [recipe(*stages, method=name, encoder=encoder) for name, (encoder, stages) in TRAINED.items()]
        yield {item.method: item for item in obtain(wanted, device="cpu")}
        forget()


def artifact(trained: Trained) -> Path:
    return io.artifacts() / trained.key / "encoder.safetensors"


@pytest.fixture(scope="module")
def exported(artifacts: dict[str, Trained], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("exported")
    for name in KINDS:
        export.export(artifact(artifacts[name]), place / name)
    return {name: place / name for name in KINDS}


def ours(trained: Trained, texts: list[str]) -> np.ndarray:
    return encode(trained.encoder(), trained.vocabulary, texts, trained.recipe.tokenisation)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_gives_the_vectors_of_the_library(
    artifacts: dict[str, Trained], exported: dict[str, Path], kind: str
) -> None:
    found, folder = SentbookEncoder.load(exported[kind]), exported[kind]
    np.testing.assert_allclose(found.encode(TEXTS), ours(artifacts[kind], TEXTS), atol=1e-6, rtol=0)
    assert found.description.origin["key"] == artifacts[kind].recipe.key() and not found.encoder.training
    assert {file.name for file in folder.iterdir()} == FILES and not list(folder.parent.glob(".*"))
    assert len({file.stat().st_mode for file in folder.iterdir()}) == 1  # who may read one may read all
    for name in FILES - {WEIGHTS, WORDS}:
        text = (folder / name).read_text(encoding="utf-8")
        assert not re.search(r"(^|[\s\"'`(=])/\w", text) and os.path.expanduser("~") not in text, name


@pytest.fixture
def damaged(exported: dict[str, Path], tmp_path: Path) -> Path:
    for file in exported["cse"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def edit(folder: Path, **changes: Any) -> None:
    file = folder / CONFIG
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / WORDS).unlink(),
        lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-3]),
        lambda folder: (folder / CONFIG).write_text("{"),
        lambda folder: edit(folder, format="sentbook encoder 1"),
        lambda folder: edit(folder, encoder={"kind": "gran"}),
    ],
)
def test_a_damaged_folder_is_refused(damaged: Path, damage: Callable[[Path], object]) -> None:
    damage(damaged)
    with pytest.raises(CheckpointError, match=r"is no whole exported encoder \([^\0]*\); export it again\.$"):
        SentbookEncoder.load(damaged)


def test_an_earlier_export_is_replaced_and_nothing_else(artifacts: dict[str, Trained], tmp_path: Path) -> None:
    model, folder = artifact(artifacts["cse"]), tmp_path / "mine"
    export.export(artifact(artifacts["bilstm"]), folder)
    export.export(model, folder)
    assert SentbookEncoder.load(folder).description.origin["method"] == "cse"
    (folder / ".git").mkdir()
    before = sorted(folder.iterdir())
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for place in (folder, tmp_path / "file"):
        with pytest.raises(ConfigError, match="holds something else than an earlier export; name a new or an empty"):
            export.export(model, place)
    assert sorted(folder.iterdir()) == before and (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_what_cannot_be_exported(artifacts: dict[str, Trained], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="faithful depends on the other sentences of its batch"):
        export.export(artifact(artifacts["faithful"]), tmp_path / "out")
    with pytest.raises(CheckpointError, match="cannot be read"):
        export.export(tmp_path / "no", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def package() -> Any:
    return pytest.importorskip("sentence_transformers", reason="sentence-transformers is optional: sentbook[exchange]")


@pytest.mark.parametrize("kind", ["cse", "bilstm", "cnn"])
def test_sentence_transformers_gives_our_vectors(
    package: Any, exported: dict[str, Path], artifacts: dict[str, Trained], tmp_path: Path, kind: str
) -> None:
    expected = ours(artifacts[kind], TEXTS)
    model = package.SentenceTransformer(
        str(exported[kind]), trust_remote_code=True, device="cpu", local_files_only=True
    )
    model.save(str(tmp_path / "again"))  # by sentence-transformers
    modules = [SentbookEncoder.load(folder) for folder in (exported[kind], tmp_path / "again")]
    for one in (model, *(package.SentenceTransformer(modules=[each], similarity_fn_name="cosine") for each in modules)):
        for batch in (1, 3, 32):
            found = one.encode(TEXTS, batch_size=batch)
            np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
        assert one.similarity_fn_name == "cosine" and one.get_embedding_dimension() == expected.shape[1]
        assert found.dtype == np.float32 and one.max_seq_length is None
    np.testing.assert_allclose(model.encode(["cook"], prompt="the "), ours(artifacts[kind], ["the cook"]), atol=1e-5)
    with pytest.raises(DataError, match=r"Sentence ., ' \\t', is empty; remove or fill it"):
        model.encode(["a cook", " \t"])
