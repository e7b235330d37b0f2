"""The adapter keeps MTEB's protocol: by its words without the package, in a real evaluation where it is installed."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from sentbook.exchange.mteb import Encoder
from sentbook.models import encode
from sentbook.system.errors import CheckpointError, DataError
from sentbook.training.cosine import cosine
from sentbook.training.recipes import Trained

TEXTS = ["a woman sees the cook", "xyzzy plugh", "the cook runs", "café ☕ don't", "cook"]
TASK: dict[str, Any] = {"task_metadata": None, "hf_split": "test", "hf_subset": "default"}


@pytest.fixture
def encoder(exported: dict[str, Path]) -> Encoder:
    return Encoder(exported["cse"])


@pytest.fixture
def expected(artifacts: dict[str, Trained]) -> np.ndarray:
    return encode(artifacts["cse"].encoder(), artifacts["cse"].vocabulary, TEXTS)


def test_batches_of_a_loader_and_strings(encoder: Encoder, expected: np.ndarray) -> None:
    rows = [{"text": text, "id": str(number)} for number, text in enumerate(TEXTS)]
    for batch in (1, 2, 32):
        found = encoder.encode(DataLoader(rows, batch_size=batch), **TASK, prompt_type=None, batch_size=batch)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(encoder.encode(TEXTS, task_name="STS12", prompt_type="query"), expected)
    np.testing.assert_allclose(encoder.encode(TEXTS[2]), expected[2:3], atol=1e-5)


def test_an_artifact_is_taken_too(artifacts: dict[str, Trained], expected: np.ndarray) -> None:
    file = artifacts["cse"].file
    assert file is not None
    np.testing.assert_array_equal(Encoder(str(file.parent), None, device="cpu").encode(TEXTS), expected)
    with pytest.raises(CheckpointError, match="There is no trained encoder at"):
        Encoder("nowhere")


def test_batches_of_a_hundred_are_kept_where_vectors_depend_on_them(artifacts: dict[str, Trained]) -> None:
    trained = artifacts["faithful"]
    assert trained.file is not None
    texts = [" ".join(["cook"] * (1 + number % 40)) for number in range(230)]
    rows = DataLoader([{"text": text} for text in texts], batch_size=7)
    expected = encode(trained.encoder(), trained.vocabulary, texts)
    np.testing.assert_array_equal(Encoder(trained.file).encode(rows, **TASK), expected)


def test_an_empty_sentence_has_its_number(encoder: Encoder) -> None:
    with pytest.raises(DataError, match="Sentence 3 is empty"):
        encoder.encode(DataLoader([{"text": text} for text in ("a", "b", " ")], batch_size=1), **TASK)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_similarities_are_cosines(encoder: Encoder, expected: np.ndarray, kind: Any) -> None:
    unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    first, second = kind(expected), kind(expected[:3])
    np.testing.assert_allclose(encoder.similarity(first, second), unit @ unit[:3].T, atol=1e-5)
    np.testing.assert_allclose(encoder.similarity(first[0], second[1]), [[unit[0] @ unit[1]]], atol=1e-5)
    np.testing.assert_allclose(
        encoder.similarity_pairwise(first[1:4], second), (unit[1:4] * unit[:3]).sum(1), atol=1e-5
    )


def test_the_description_fills_what_its_version_asks_for(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a made-up mteb whose ModelMeta wants a field that is not known here."""

    class ModelMeta:
        def __init__(self, **given: Any) -> None:
            self.given = given

    wanted = ("name", "revision", "embed_dim", "yet_unknown")
    fields = {name: SimpleNamespace(is_required=lambda: True) for name in wanted}
    ModelMeta.model_fields = fields  # type: ignore[attr-defined]
    package, models, meta = (ModuleType(name) for name in ("mteb", "mteb.models", "mteb.models.model_meta"))
    meta.ModelMeta = ModelMeta  # type: ignore[attr-defined]
    for module in (package, models, meta):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    found = encoder.mteb_model_meta.given
    origin = encoder.model.description.origin
    assert (found["name"], found["revision"], found["embed_dim"]) == ("sentbook/cse-seed-1", origin["key"], 12)
    assert found["yet_unknown"] is None
    assert found["n_parameters"] - found["n_embedding_parameters"] == encoder.model.encoder.parameter_count()


def test_without_mteb_the_description_alone_is_missing(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(DataError, match=r"mteb 2 is not installed; run `pip install 'mteb>=2'`\."):
        _ = encoder.mteb_model_meta
    assert encoder.encode(TEXTS).shape == (5, 12)


@pytest.mark.filterwarnings("default")  # of mteb and its packages
def test_mteb_itself_evaluates_it(
    encoder: Encoder, exported: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task of its own kind on pairs of its own, without a network: mteb's Pearson is that of our cosines."""
    mteb = pytest.importorskip("mteb", minversion="2", reason="mteb is optional and large; this is its real evaluation")
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.sts import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.models.models_protocols import EncoderProtocol

    first = ["a woman sees the cook", "the cook runs", "xyzzy plugh", "café ☕ don't", "cook", "a dog sees a cat"]
    second = ["the cook sees a woman", "the cook walks", "a red ball", "café", "cook runs", "the cat sees the dog"]
    gold = [3.5, 4.0, 0.5, 2.5, 3.0, 4.5]

    class Pairs(AbsTaskSTS):
        metadata = TaskMetadata(
            name="Pairs", description="Six pairs.", reference=None, dataset={"path": "none", "revision": "none"},
            type="STS", category="t2t", modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"],
            main_score="cosine_spearman", date=None, domains=None, task_subtypes=None, license=None,
            annotations_creators=None, dialect=None, sample_creation=None, bibtex_citation=None,
        )  # fmt: skip

        def load_data(self, *given: Any, **named: Any) -> None:
            rows = {"sentence1": first, "sentence2": second, "score": gold}
            self.dataset = DatasetDict(test=Dataset.from_dict(rows))
            self.data_loaded = True

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert isinstance(encoder, EncoderProtocol)
    assert set(inspect.signature(EncoderProtocol.encode).parameters) <= set(
        inspect.signature(Encoder.encode).parameters
    )
    for model in (encoder, _sentence_transformer(exported["cse"])):
        result = mteb.evaluate(model, Pairs(), cache=None, encode_kwargs={"batch_size": 2}, co2_tracker=False)
        [scores] = result.task_results[0].scores["test"]
        ours = cosine(encoder.encode(first), encoder.encode(second))
        assert scores["pearson"] == pytest.approx(np.corrcoef(ours, gold)[0, 1], abs=1e-5)
        assert scores["cosine_pearson"] == pytest.approx(scores["pearson"], abs=1e-5)
    meta = encoder.mteb_model_meta
    assert (meta.name, meta.revision) == ("sentbook/cse-seed-1", encoder.model.description.origin["key"])
    assert meta.embed_dim == 12 and meta.similarity_fn_name.value == "cosine"


def _sentence_transformer(folder: Path) -> Any:
    from sentbook.exchange import sentence_transformer

    return sentence_transformer.load(folder)
