"""sentence-transformers gives the vectors of this package: every kind, in any batch and order, after any round trip."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sentbook import exchange
from sentbook.exchange import export, sentence_transformer
from sentbook.io import DataError
from sentbook.models import encode
from sentbook.training.recipes import Trained

KINDS = ["cse", "bilstm", "cnn"]
TEXTS = [
    "a woman sees the cook",
    "xyzzy plugh",  # no known word
    "the cook runs",
    "café ☕ <b>&amp; don't 日本語",
    "cook",
    "...",
    " ".join(["the cook runs and sees"] * 40),
    "the big red dog does n't see a small cat in the garden",
]


@pytest.fixture(scope="module")
def package() -> Any:
    return pytest.importorskip("sentence_transformers", reason="sentence-transformers is optional: sentbook[exchange]")


@pytest.fixture(scope="module")
def models(package: Any, exported: dict[str, Path]) -> dict[str, Any]:
    return {kind: sentence_transformer.load(folder) for kind, folder in exported.items()}


def ours(trained: Trained, texts: list[str]) -> np.ndarray:
    return encode(trained.encoder(), trained.vocabulary, texts, trained.recipe.tokenisation)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_ours(models: dict[str, Any], artifacts: dict[str, Trained], kind: str) -> None:
    expected = ours(artifacts[kind], TEXTS)
    model = models[kind]
    order = np.random.default_rng(0).permutation(len(TEXTS))
    for batch in (1, 3, 32):
        found = model.encode(TEXTS, batch_size=batch)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
        shuffled = model.encode([TEXTS[row] for row in order], batch_size=batch)
        np.testing.assert_allclose(shuffled, expected[order], atol=1e-5, rtol=0)
    np.testing.assert_allclose(model.encode(TEXTS[0]), expected[0], atol=1e-5, rtol=0)
    assert model.get_embedding_dimension() == expected.shape[1]
    assert model.max_seq_length is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_folder_itself_is_a_model(
    package: Any, exported: dict[str, Path], artifacts: dict[str, Trained], tmp_path: Path, kind: str
) -> None:
    model = package.SentenceTransformer(
        str(exported[kind]), trust_remote_code=True, device="cpu", local_files_only=True
    )
    expected = ours(artifacts[kind], TEXTS)
    np.testing.assert_allclose(model.encode(TEXTS), expected, atol=1e-5, rtol=0)
    assert model.similarity_fn_name == "cosine"
    model.save(str(tmp_path / "again"))  # by sentence-transformers
    again = package.SentenceTransformer(str(tmp_path / "again"), trust_remote_code=True, local_files_only=True)
    np.testing.assert_allclose(again.encode(TEXTS), expected, atol=1e-5, rtol=0)
    for name in export.FILES - {export.CARD, export.SETTINGS, export.MODULES}:
        assert (tmp_path / "again" / name).read_bytes() == (exported[kind] / name).read_bytes(), name


def test_an_empty_sentence_is_one_sentence(models: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"The sentence ' \\t' is empty after 'ptb' tokenisation; remove or fill it\."):
        models["cse"].encode(["a cook", " \t", "the cook"])
    assert models["cse"].encode([]).shape == (0,)


def test_a_prompt_is_read_with_the_sentence(models: dict[str, Any], artifacts: dict[str, Trained]) -> None:
    found = models["cse"].encode(["cook"], prompt="the red ")
    np.testing.assert_allclose(found, ours(artifacts["cse"], ["the red cook"]), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_one_step_of_training_lowers_its_loss(package: Any, exported: dict[str, Path], kind: str) -> None:
    model = sentence_transformer.load(exported[kind]).train()
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    target = torch.ones(1)

    def loss() -> torch.Tensor:
        one, other = (
            model(model.preprocess([text]))["sentence_embedding"]
            for text in ("the cook runs", "a woman sees a red dog")
        )
        return nn.functional.cosine_embedding_loss(one, other, target)

    before = loss()
    before.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    optimiser.step()
    assert loss() < before


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module as it is where sentence-transformers is not installed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "sentence_transformers"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    name = sentence_transformer.__name__
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(exchange, "sentence_transformer", sentence_transformer)  # put back what the import sets
    yield importlib.import_module(name)


def test_what_is_missing_is_one_sentence(without_package: Any, exported: dict[str, Path]) -> None:
    with pytest.raises(
        DataError, match=r"sentence-transformers is not installed; run `pip install 'sentbook\[exchange\]'`"
    ):
        without_package.load(exported["cse"])


@pytest.mark.filterwarnings("default")  # of mteb and its packages
def test_mteb_evaluates_it(
    models: dict[str, Any], artifacts: dict[str, Trained], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task of its own kind on pairs of its own, without a network: mteb's Pearson is that of our cosines."""
    mteb = pytest.importorskip("mteb", minversion="2", reason="mteb is optional and large; this is its real evaluation")
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.sts import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    first, second, gold = TEXTS[:6], TEXTS[1:7], [3.5, 4.0, 0.5, 2.5, 3.0, 4.5]

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
    result = mteb.evaluate(models["cse"], Pairs(), cache=None, encode_kwargs={"batch_size": 2}, co2_tracker=False)
    [scores] = result.task_results[0].scores["test"]
    one, other = ours(artifacts["cse"], first), ours(artifacts["cse"], second)
    cosines = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert scores["cosine_pearson"] == pytest.approx(np.corrcoef(cosines, gold)[0, 1], abs=1e-5)
