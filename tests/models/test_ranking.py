"""The ranking loss against loops over every contrast, and the two maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sentbook.models.losses.ranking import RankingMaps, ranking_loss


def loops(images: np.ndarray, sentences: np.ndarray, margin: float, groups: list[int]) -> float:
    total = 0.0
    for n in range(len(images)):
        related = images[n] @ sentences[n]
        for m in range(len(images)):
            if groups[m] != groups[n]:
                total += max(0.0, margin - related + images[n] @ sentences[m])
                total += max(0.0, margin - related + images[m] @ sentences[n])
    return total / len(images)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 9999),
    margin=st.floats(0, 2),
    groups=st.lists(st.integers(0, 3), min_size=2, max_size=9).filter(lambda found: len(set(found)) > 1),
)
def test_all_contrasts_are_the_loops(seed: int, margin: float, groups: list[int]) -> None:
    images, sentences = np.random.default_rng(seed).normal(size=(2, len(groups), 4))
    found = ranking_loss(
        torch.from_numpy(images),
        torch.from_numpy(sentences),
        margin,
        groups=torch.tensor(groups),
        contrasts=None,
    )
    assert found.item() == pytest.approx(loops(images, sentences, margin, groups), abs=1e-9)


def test_drawn_contrasts_are_as_many_as_asked_for_and_unrelated() -> None:
    torch.manual_seed(0)
    size, contrasts = 12, 4
    groups = torch.arange(size) // 2
    zeros = torch.zeros(size, 3)
    # All scores are 0: every contrast costs the margin, and nothing else does.
    assert ranking_loss(zeros, zeros, 0.1, groups=groups, contrasts=contrasts).item() == pytest.approx(0.1 * 2 * 4)
    assert ranking_loss(zeros, zeros, 0.1, groups=groups, contrasts=50).item() == pytest.approx(0.1 * 2 * 10)
    few = torch.tensor([0] * 11 + [1])  # the last alone has eleven contrasts, the others one
    assert ranking_loss(zeros, zeros, 0.1, groups=few, contrasts=4).item() == pytest.approx(0.1 * 2 * (11 + 4) / 12)


def test_gradients() -> None:
    torch.manual_seed(1)
    images = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    sentences = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda one, other: ranking_loss(one, other, 0.3, contrasts=None), (images, sentences)
    )


def test_one_image_has_no_contrasts() -> None:
    pairs = torch.eye(3)
    with pytest.raises(ValueError, match="one image has no contrasts"):
        ranking_loss(pairs, pairs, groups=torch.zeros(3))


def test_maps_give_vectors_of_length_one() -> None:
    torch.manual_seed(0)
    maps = RankingMaps(images=10, sentences=6, dimension=4)
    features, vectors = torch.randn(5, 10), torch.randn(5, 6)
    for found in maps(features, vectors):
        torch.testing.assert_close(found.norm(dim=1), torch.ones(5))
    scores = maps.images(features) @ maps.sentences(vectors).T
    assert scores.shape == (5, 5) and scores.abs().max() <= 1 + 1e-6
    assert sum(value.numel() for value in maps.parameters()) == 4 * (10 + 1) + 4 * (6 + 1)


def test_the_released_code_keeps_the_length_of_images_in_training() -> None:
    torch.manual_seed(0)
    maps, features = RankingMaps(10, 6, 4, faithful=True), torch.randn(5, 10)
    free = maps.images(features)
    torch.testing.assert_close(free, maps.image(features))
    maps.eval()
    torch.testing.assert_close(maps.images(features), torch.nn.functional.normalize(free, dim=1))
    assert maps.image.weight.abs().max() <= (2 / 10) ** 0.5 and not maps.image.bias.any()
