"""Scores of a pair of sentence vectors, and losses of scores against gold similarities, all in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

PairScore = Literal["cosine", "euclidean", "manhattan"]
Falling = Literal["f1", "f2", "f2 as printed", "f3"]
ScoreLoss = Literal["mse", "kl", "cross-entropy"]

# Under the root of the Euclidean distance, whose slope at 0 is infinite.
_EPSILON = 1e-12

FALLING: dict[Falling, Callable[[Tensor], Tensor]] = {
    "f1": lambda x: torch.exp(-x),
    "f2": lambda x: 2 * torch.sigmoid(-x),
    "f2 as printed": torch.sigmoid,
    "f3": lambda x: 1 / (1 + x),
}


def pair_score(first: Tensor, second: Tensor, score: PairScore = "cosine", falling: Falling = "f1") -> Tensor:
    r"""Score the similarity of two sentence vectors.

    $\cos(u, v)$, or $f(\lVert u - v \rVert_p)$ with p = 2 (euclidean) or 1 (manhattan) and $f_1(x) = e^{-x}$,
    $f_2(x) = 2 / (1 + e^{x})$ or $f_3(x) = 1 / (1 + x)$.

    Source: Yao et al. 2018, section 3.5, equation 10.
    Deviations: $f_2$ is printed as $1 / (1 + e^{-x})$ (``f2 as printed``), which rises with the distance from .5 to 1,
    against the text's "monotone decreasing function"; here it falls from 1 to 0.

    Args:
        first, second: (B, F).
        falling: f, for the distances.

    Returns:
        (B,), in [0, 1] for distances and for the cosine of vectors without negative elements; the cosine with a vector
        of zeros is 0.

    Example:
        >>> u, v = torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 0.0]])
        >>> pair_score(u, v, "euclidean", "f3")
        tensor([0.1667])
    """
    if score == "cosine":
        return functional.cosine_similarity(first, second, dim=1)
    gap = first - second
    distance = gap.abs().sum(dim=1) if score == "manhattan" else (gap.square().sum(dim=1) + _EPSILON).sqrt()
    return FALLING[falling](distance)


def mse_loss(score: Tensor, gold: Tensor) -> Tensor:
    r"""Compute $\frac{1}{m} \sum_i (s_i - q_i)^2$ of (B,) scores and gold. Source: Yao et al. 2018, equation 12."""
    return functional.mse_loss(score, gold)


def kl_loss(score: Tensor, gold: Tensor, smoothing: float = 0.01) -> Tensor:
    r"""Compute the KL divergence of two Bernoulli distributions, with $0 \log 0 = 0$.

    $\frac{1}{m} \sum_i q \log \frac{q}{p} + (1 - q) \log \frac{1 - q}{1 - p}$, $p = (s + \epsilon) / (1 + 2 \epsilon)$.

    Source: Yao et al. 2018, equation 13; "Laplace smoothing" of p, its $\epsilon$ unstated. A score outside [0, 1], as
    a cosine can be, counts as the nearer end, so that no gradient pulls together two vectors that point apart.

    Args:
        score, gold: (B,).
        smoothing: $\epsilon$; it bounds the slope at a score of 0 or 1 by $1/\epsilon$.
    """
    return cross_entropy_loss(score, gold, smoothing) - (_entropy(gold) + _entropy(1 - gold)).mean()


def cross_entropy_loss(score: Tensor, gold: Tensor, smoothing: float = 0.01) -> Tensor:
    r"""$-\frac{1}{m} \sum_i q \log p + (1 - q) \log (1 - p)$ with the p of `kl_loss`, from which it differs by the
    entropy of q: not at all for labels. Source: Yao et al. 2018, section 4.2."""
    p = (score.clamp(0, 1) + smoothing) / (1 + 2 * smoothing)
    return -(gold * p.log() + (1 - gold) * (1 - p).log()).mean()


def _entropy(q: Tensor) -> Tensor:
    return -torch.special.xlogy(q, q)


def score_loss(name: ScoreLoss, score: Tensor, gold: Tensor, smoothing: float) -> Tensor:
    """Compute the loss ``name``; ``smoothing`` is not used by the squared error."""
    if name == "mse":
        return mse_loss(score, gold)
    return (kl_loss if name == "kl" else cross_entropy_loss)(score, gold, smoothing)
