"""Inference as pre-training: the features, the loss, the shrinking rate, and what the pool may not hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sentbook.data import inference, suites
from sentbook.data.overlap import key
from sentbook.data.text import Vocabulary
from sentbook.data.types import LabelledPairs
from sentbook.models.bilstm import BiLSTMEncoder
from sentbook.models.build import build
from sentbook.models.losses.entailment import EntailmentHead, entailment_loss
from sentbook.training.loop import fit
from sentbook.training.problems.entailment import EntailmentProblem
from sentbook.training.settings import EntailmentTraining

WORDS = [f"w{chr(97 + number)}" for number in range(12)]
CLASSES = ("contradiction", "neutral", "entailment")


def labelled(count: int, seed: int) -> LabelledPairs:
    """Entailed: the premise's first word; contradicted: always "wa wa"; neutral: another word."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    first = [" ".join(rng.choice(WORDS[1:], 3)) for _ in labels]
    said = [
        ["wa wa", str(rng.choice(WORDS[1:])), one.split()[0]][label] for label, one in zip(labels, first, strict=True)
    ]
    return LabelledPairs("made", first, said, labels, CLASSES)


def problem(**changes: object) -> tuple[EntailmentProblem, EntailmentTraining]:
    settings = EntailmentTraining(**{"epochs": 3, "batch_size": 20, "hidden": 8, **changes})
    vocabulary = Vocabulary(WORDS)
    weight = torch.randn(len(vocabulary), 6, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    encoder = build(BiLSTMEncoder(hidden=8), weight, seed=1)
    return EntailmentProblem(encoder, vocabulary, settings, labelled(200, 1), labelled(60, 2), seed=1), settings


def test_the_head_sees_both_vectors_their_distance_and_their_product() -> None:
    head = EntailmentHead(2, classes=3, hidden=4)
    u, v = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 5.0]])
    features = torch.tensor([[1.0, -2.0, 3.0, 5.0, 2.0, 7.0, 3.0, -10.0]])
    torch.testing.assert_close(head(u, v), head.layers(features))
    assert sum(parameter.numel() for parameter in head.parameters()) == (8 * 4 + 4) + (4 * 4 + 4) + (4 * 3 + 3)


def test_the_loss_is_the_mean_negative_log_probability() -> None:
    logits, labels = torch.tensor([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]), torch.tensor([2, 0])
    expected = -(np.log(np.exp(2) / np.exp([0, 1, 2]).sum()) + np.log(1 / 3)) / 2
    assert entailment_loss(logits, labels).item() == pytest.approx(expected)


def test_it_learns_and_leaves_the_word_vectors() -> None:
    made, settings = problem(epochs=30, optimiser="adam", learning_rate=5e-3)
    before = made.encoder.embedding.weight.detach().clone()
    history = fit(made, settings, seed=1, device="cpu", report=lambda line: None)
    assert history.best > 0.6  # a third by chance
    assert torch.equal(made.encoder.embedding.weight, before)


def test_the_rate_falls_each_epoch_and_shrinks_without_progress() -> None:
    settings = EntailmentTraining(decay=0.9, shrink=5)
    assert settings.rate_after(1.0, improved=True) == pytest.approx(0.9)
    assert settings.rate_after(1.0, improved=False) == pytest.approx(0.18)
    made, settings = problem(epochs=4, decay=0.5, shrink=4.0)
    values = iter([0.5, 0.4, 0.6, 0.7])
    made.validate = lambda: next(values)  # type: ignore[method-assign]
    rates: list[float] = []
    step = torch.optim.SGD.step

    def watched(self: torch.optim.SGD, *given: object) -> object:
        rates.append(self.param_groups[0]["lr"])
        return step(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.SGD, "step", watched)
        fit(made, settings, seed=1, device="cpu", report=lambda line: None)
    assert rates[::10] == pytest.approx([0.1, 0.05, 0.05 / 8, 0.05 / 16])


@pytest.mark.real_data
def test_the_pool_holds_no_excluded_sentence(mirror: object) -> None:
    exclude = suites.excluded("sts")
    train, held = inference.pool("nli", exclude=exclude)
    assert train.classes == held.classes == CLASSES
    assert len(held) == round(inference.HELD_OUT * (len(train) + len(held)))
    assert all(
        key(text) not in exclude for pairs in (train, held) for side in (pairs.first, pairs.second) for text in side
    )
    everything, rest = inference.pool("nli")
    assert len(everything) + len(rest) == 46_619 + 4_500


def test_the_mini_world_has_inference_too() -> None:
    train, held = inference.pool("miniworld-entailment")
    assert set(train.labels) == set(held.labels) == {0, 1, 2}
