"""Tai's targets and head: exact expectations, KL against scipy."""

import numpy as np
import pytest
import torch
from scipy.stats import entropy

from sentbook.models.losses import RelatednessHead, relatedness_loss, sparse_target


def test_scores_off_the_scale_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[1, 5\]"):
        sparse_target(torch.tensor([0.4]), 5)


@pytest.mark.parametrize("hidden", [None, 7])
@pytest.mark.parametrize("normalise", [True, False])
def test_head(hidden: int | None, normalise: bool) -> None:
    torch.manual_seed(0)
    head = RelatednessHead(4, classes=5, hidden=hidden, normalise=normalise)
    first, second = torch.randn(3, 4), torch.randn(3, 4)
    output = head(first, second)
    torch.testing.assert_close(output.exp().sum(1), torch.ones(3))
    torch.testing.assert_close(output, head(second, first))  # the features are symmetric
    assert ((head.expectation(output) >= 1) & (head.expectation(output) <= 5)).all()
    assert torch.allclose(head(3 * first, second), output, atol=1e-6) == normalise


def test_loss_is_the_mean_divergence_over_classes() -> None:
    rng = np.random.default_rng(0)
    predicted = rng.dirichlet(np.ones(5), size=4)
    target = sparse_target(torch.tensor([1.0, 2.5, 4.9, 5.0], dtype=torch.float64), 5)
    expected = np.mean([entropy(p, q) for p, q in zip(target.numpy(), predicted, strict=True)]) / 5
    got = relatedness_loss(torch.from_numpy(predicted).log(), target)
    assert got.item() == pytest.approx(expected)
    assert relatedness_loss(target.clamp(min=1e-12).log(), target).item() == pytest.approx(0, abs=1e-9)
