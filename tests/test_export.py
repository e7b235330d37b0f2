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
from torch import Tensor

from kept import forget
from sentbook import export, io
from sentbook.export import CONFIG, FILES, WEIGHTS, WORDS, SentbookEncoder
from sentbook.io import CheckpointError, ConfigError, DataError
from sentbook.models import custom, encode
from sentbook.models.average import Average, AverageEncoder
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
NOT_TEXT = [None, float("nan"), 3, b"a man", {"text": "a man"}, ["a man", "a dog"], np.bytes_(b"a man"), True]
TEXTS = ["a woman sees the cook", "xyzzy plugh", "Café ☕ <b>&amp; don't 日本語", "cook", "the cook runs " * 40]


class Own(Average):
    """As a cell of a notebook has it."""

    options = None  # type: ignore[assignment]

    def __init__(self, weight: Tensor) -> None:
        super().__init__(weight, AverageEncoder())


@pytest.fixture(scope="module")
def artifacts(store: None) -> Iterator[dict[str, Trained]]:
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
        lambda folder: (folder / WORDS).write_text(json.dumps(["a"] * len(json.loads((folder / WORDS).read_text())))),
        lambda folder: (folder / WORDS).write_text("7"),
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
    for place in (tmp_path / "no", artifact(artifacts["cse"]).with_name("run.safetensors")):
        with pytest.raises(CheckpointError, match="holds no trained encoder; name the folder"):
            export.export(place, tmp_path / "out")
    for version in ("1", None):  # at hand in this process, and in no other
        (own,) = obtain([recipe(PHRASE, method="own", encoder=custom(Own, version=version))], device="cpu")
        with pytest.raises(
            ConfigError, match="own is of your own class Own, which nothing could read back from a folder"
        ):
            export.export(artifact(own), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", [WEIGHTS, WORDS, CONFIG])
def test_a_folder_that_cannot_be_read_back_is_not_left(
    artifacts: dict[str, Trained], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    write = SentbookEncoder.save

    def cut(module: SentbookEncoder, folder: Path) -> None:
        write(module, folder)
        (folder / file).write_bytes((folder / file).read_bytes()[:-9])

    monkeypatch.setattr(SentbookEncoder, "save", cut)
    with pytest.raises(CheckpointError, match="is no whole exported encoder"):
        export.export(artifact(artifacts["cse"]), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_text_is_refused_and_a_string_is_one_sentence(
    artifacts: dict[str, Trained], exported: dict[str, Path]
) -> None:
    module, expected = SentbookEncoder.load(exported["cse"]), ours(artifacts["cse"], ["a cook"])
    for given in ("a cook", ["a cook"], ("a cook",), np.array(["a cook"]), [np.str_("a cook")]):
        np.testing.assert_allclose(module.encode(given), expected, atol=1e-6)
        assert module.preprocess(given)["sentence_lengths"].tolist() == [2]
    for one in NOT_TEXT:
        for call in (module.encode, module.preprocess, lambda texts: module.preprocess(texts, prompt="query: ")):
            with pytest.raises(DataError, match=r"Sentence 2 is no text but .*; give a string\.$"):
                call(["a man", one])


def test_the_first_tokens_are_read_and_that_is_saved(exported: dict[str, Path], tmp_path: Path) -> None:
    module, long = SentbookEncoder.load(exported["bilstm"]), "the cook sees a woman"
    assert module.max_seq_length is None
    whole = module.encode([long, "cook"])
    module.max_seq_length = 2
    module.save(tmp_path)
    for one in (module, SentbookEncoder.load(tmp_path)):
        features = one.preprocess([long, "cook"])
        assert one.max_seq_length == 2 and features["input_ids"].shape == (2, 2)
        cut = one.forward(features)["sentence_embedding"].detach().numpy()
        np.testing.assert_allclose(one.encode([long, "cook"]), cut, atol=1e-6)
        np.testing.assert_allclose(cut[0], one.encode("the cook")[0], atol=1e-6)
        np.testing.assert_allclose(cut[1], whole[1], atol=1e-6)
        assert np.abs(cut[0] - whole[0]).max() > 1e-3
    for wrong in (0, -1, 1.5, True, "all"):
        with pytest.raises(ConfigError, match="Parameter 'max_seq_length' in Description: "):
            module.max_seq_length = wrong


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
    for one in NOT_TEXT:
        with pytest.raises(DataError, match="is no text but"):
            model.encode(["a man", one])
    np.testing.assert_allclose(model.encode("a cook"), model.encode(["a cook"])[0], atol=1e-6)
    model.max_seq_length = 3
    np.testing.assert_allclose(model.encode(["the cook runs " * 9]), model.encode(["the cook runs"]), atol=1e-5)
