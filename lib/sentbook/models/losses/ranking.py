"""Images and sentences in one space: two linear maps, and the hinge of pairs against others of the batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from sentbook.models.base import to_device


class RankingMaps(nn.Module):
    r"""$f(x, y) = \cos(U x + a, \; V y + b)$ for an image's features x and a sentence's vector y.

    Source: Kiros et al. 2015, section 3.3, and Gan et al. 2017, section 4.2, "Image-sentence ranking": features of 4096
    numbers and sentence vectors into 1000.
    Deviations: the released skip-thoughts code scales images to length one at test only (``faithful``); here both sides
    are scaled in training as well, so that the margin is one of cosines.

    Args:
        images, sentences: F, width of an image's features, and D, of a sentence's vector.
        dimension: of the common space.
        faithful: images keep their length in training.

    Example:
        >>> image, sentence = RankingMaps(images=6, sentences=4, dimension=3)(torch.ones(2, 6), torch.ones(2, 4))
        >>> image.shape, round(sentence[0].norm().item(), 4)
        (torch.Size([2, 3]), 1.0)
    """

    def __init__(self, images: int, sentences: int, dimension: int = 1000, *, faithful: bool = False) -> None:
        super().__init__()
        self.image, self.sentence = nn.Linear(images, dimension), nn.Linear(sentences, dimension)
        self.faithful = faithful
        for layer in (self.image, self.sentence):  # as released
            nn.init.uniform_(layer.weight, -((2 / layer.in_features) ** 0.5), (2 / layer.in_features) ** 0.5)
            nn.init.zeros_(layer.bias)

    def images(self, features: Tensor) -> Tensor:
        """Map (B, F) to (B, d) of length one; of their own length where ``faithful`` and in training."""
        found: Tensor = self.image(features)
        return found if self.faithful and self.training else functional.normalize(found, dim=1)

    def sentences(self, vectors: Tensor) -> Tensor:
        """Map (B, D) to (B, d) of length one."""
        return functional.normalize(self.sentence(vectors), dim=1)

    def forward(self, features: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Map (B, F) and (B, D) to two (B, d)."""
        return self.images(features), self.sentences(vectors)


def ranking_loss(
    images: Tensor, sentences: Tensor, margin: float = 0.1, *, groups: Tensor | None = None, contrasts: int | None = 50
) -> Tensor:
    r"""Sum the hinge of each related pair against unrelated ones, both ways.

    $$\frac{1}{B} \sum_n \sum_m \max(0, \alpha - f(x_n, y_n) + f(x_n, y_m))
      + \max(0, \alpha - f(x_n, y_n) + f(x_m, y_n))$$

    All $f = x \cdot y$ come from one matrix product; each n is set against ``contrasts`` others m, drawn anew with
    equal chances and without repeats, other ones each way.

    Source: Gan et al. 2017, section 4.2 ($\alpha = 0.1$); Kiros et al. 2015, section 3.3 ($\alpha = 0.2$), whose
    released code has 50 contrasts a pair.
    Deviations: a mean over pairs for a sum; contrasts come from the batch for the whole training set, and another
    caption of the same image is none.

    Args:
        images, sentences: (B, d), row n of each a related pair.
        margin: alpha.
        groups: (B,) the image of each pair; pairs of one image are no contrasts of each other. None: all differ.
        contrasts: M; None, or more than there are: all.

    Returns:
        A scalar.

    Raises:
        ValueError: all pairs are of one image.

    Example:
        >>> pairs = torch.eye(3)
        >>> ranking_loss(pairs, pairs, margin=0.1).item()
        0.0
        >>> round(ranking_loss(pairs, pairs.roll(1, dims=0), margin=0.1).item(), 4)  # each pair 1.1 + .1, both ways
        2.4
    """
    scores = images @ sentences.T
    group = torch.arange(len(scores)) if groups is None else groups
    if len(group.unique()) < 2:  # where the groups are: a look at the device's would wait for it
        raise ValueError("A batch of one image has no contrasts; use a larger batch.")
    group = to_device(group, scores.device)
    unrelated = group.unsqueeze(1) != group.unsqueeze(0)
    related = scores.diagonal()
    by_image = functional.relu(margin - related.unsqueeze(1) + scores)
    by_sentence = functional.relu(margin - related.unsqueeze(1) + scores.T)
    return ((by_image * _drawn(unrelated, contrasts)) + (by_sentence * _drawn(unrelated, contrasts))).sum() / len(
        scores
    )


def _drawn(unrelated: Tensor, contrasts: int | None) -> Tensor:
    """Draw (B, B) booleans: of each row's unrelated ones as many as ``contrasts``, with equal chances."""
    if contrasts is None or contrasts >= len(unrelated) - 1:
        return unrelated
    keys = torch.rand(unrelated.shape, device=unrelated.device).masked_fill(~unrelated, -1.0)
    chosen = torch.zeros_like(unrelated).scatter_(1, keys.topk(contrasts, dim=1).indices, True)
    return chosen & unrelated
