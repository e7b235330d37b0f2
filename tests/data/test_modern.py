"""Sentence encoders from optional packages: without them, with made-up ones, and for real where they are installed."""

import numpy as np
import pytest
import torch

from sentbook.data.modern import MODERN, sentence_vectors

SENTENCES = ["A boy kicks the red ball.", "The red ball is kicked by a boy.", "Taxes on tea were lowered twice."]
WIDTHS = {"all-minilm-l6-v2": 384, "universal-sentence-encoder": 512}


pytestmark = pytest.mark.usefixtures("forgetful", "cache")


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
