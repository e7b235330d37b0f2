"""Natural-language inference: three classes from two sentence vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class EntailmentHead(nn.Module):
    r"""A premise's vector u and a hypothesis's v to the classes, by $[u, v, |u - v|, u \odot v]$ and linear layers.

    Source: Conneau et al. 2017, section 3.1 and figure 1; two layers of 512 without a non-linearity between, as their
    released training has it by default (the text speaks of fully connected layers).

    Args:
        dimension: F, width of u and v.
        classes: K.
        hidden: width of both layers.

    Shapes: (B, F) and (B, F) to (B, K).

    Example:
        >>> EntailmentHead(4, classes=3, hidden=5)(torch.zeros(2, 4), torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(self, dimension: int, classes: int = 3, hidden: int = 512) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(4 * dimension, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, classes)
        )

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Classify (B, F) and (B, F): (B, K) logits."""
        features: Tensor = self.layers(torch.cat([first, second, (first - second).abs(), first * second], dim=1))
        return features


def entailment_loss(logits: Tensor, labels: Tensor) -> Tensor:
    r"""Compute $-\frac{1}{B} \sum_b \log \mathrm{softmax}(z^{(b)})_{y_b}$ of (B, K) logits and (B,) classes."""
    return functional.cross_entropy(logits, labels)
