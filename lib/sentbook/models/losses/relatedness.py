"""Graded relatedness as a distribution over integer scores (Tai's head), with the KL divergence as loss."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional


def sparse_target(scores: Tensor, classes: int) -> Tensor:
    r"""Find the sparsest distribution p over 1..K with expectation y.

    $p_i = y - \lfloor y \rfloor$ for $i = \lfloor y \rfloor + 1$, $\lfloor y \rfloor - y + 1$ for
    $i = \lfloor y \rfloor$, else 0.

    Source: Tai et al. 2015, section 4.2; Jiao et al. 2018, section 4.2.

    Args:
        scores: (B,) in [1, K].
        classes: K.

    Returns:
        (B, K) rows that sum to 1.

    Raises:
        ValueError: a score outside [1, K].

    Example:
        >>> sparse_target(torch.tensor([3.6, 5.0]), 5)
        tensor([[0.0000, 0.0000, 0.4000, 0.6000, 0.0000],
                [0.0000, 0.0000, 0.0000, 0.0000, 1.0000]])
    """
    if scores.numel() and (scores.min() < 1 or scores.max() > classes):
        raise ValueError(f"Relatedness scores must lie in [1, {classes}]; shift the scale before building targets.")
    levels = torch.arange(1, classes + 1, dtype=scores.dtype, device=scores.device)
    return (1 - (scores.unsqueeze(1) - levels).abs()).clamp(min=0)


class RelatednessHead(nn.Module):
    r"""Two sentence vectors to a distribution over the scores 1..K.

    $h_\times = u \odot v$, $h_+ = |u - v|$, $h_s = \sigma(W^{(\times)} h_\times + W^{(+)} h_+ + b^{(h)})$,
    $\hat p = \mathrm{softmax}(W^{(p)} h_s + b^{(p)})$, $\hat y = r^\top \hat p$ with $r = (1, \ldots, K)$.

    Source: Tai et al. 2015, equation 15; Jiao et al. 2018, section 4.2 (their circled plus in $h_*$ is read as the
    element-wise product, as in Tai's text and the released code).

    Args:
        dimension: F, width of u and v.
        classes: K.
        hidden: width of $h_s$; None for no hidden layer (as SentEval).
        normalise: scale u and v to length one first (the released code does; the paper is silent).

    Attributes:
        unit: u and v are divided by it before anything else; 1 where they are taken as they are. It is a part of the
            head's state, so that a head that was trained on vectors of another size predicts from vectors as they are.
    """

    unit: Tensor

    def __init__(self, dimension: int, classes: int = 5, hidden: int | None = 300, normalise: bool = True) -> None:
        super().__init__()
        self.classes, self.normalise = classes, normalise
        self.register_buffer("unit", torch.tensor(1.0))
        if hidden is None:
            self.layers: nn.Module = nn.Linear(2 * dimension, classes)
        else:
            self.layers = nn.Sequential(nn.Linear(2 * dimension, hidden), nn.Sigmoid(), nn.Linear(hidden, classes))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Classify (B, F) and (B, F): (B, K) log-probabilities."""
        first, second = first / self.unit, second / self.unit
        if self.normalise:
            first = functional.normalize(first, dim=1, eps=1e-5)
            second = functional.normalize(second, dim=1, eps=1e-5)
        features = torch.cat([first * second, (first - second).abs()], dim=1)
        return torch.log_softmax(self.layers(features), dim=1)

    def expectation(self, log_probabilities: Tensor) -> Tensor:
        """Compute (B,) expected scores, in [1, K]."""
        levels = torch.arange(1, self.classes + 1, dtype=log_probabilities.dtype, device=log_probabilities.device)
        return log_probabilities.exp() @ levels


def relatedness_loss(log_probabilities: Tensor, target: Tensor, smoothing: float = 0.0) -> Tensor:
    r"""Compute $\frac{1}{BK} \sum_b \mathrm{KL}(p^{(b)} \| \hat p^{(b)})$, with $0 \log 0 = 0$.

    Source: Jiao et al. 2018, equation 6; its $\frac{\lambda}{2}\|\theta\|^2$ is added by the trainer. The released code
    divides by K as well and adds 1e-6 to the targets (``smoothing``) without renormalising.

    Args:
        log_probabilities: (B, K).
        target: (B, K) rows that sum to 1.
        smoothing: added to every target probability.
    """
    target = target + smoothing
    return (torch.special.xlogy(target, target) - target * log_probabilities).sum() / target.numel()


def squared_error_loss(log_probabilities: Tensor, target: Tensor) -> Tensor:
    r"""Compute $\frac{1}{BK} \sum_b \lVert p^{(b)} - \hat p^{(b)} \rVert^2$, the mean over batch and classes.

    Source: Zhang et al. 2018, equation 2 with the loss of SentEval, which hands both vectors to torch's `MSELoss`.

    Args:
        log_probabilities: (B, K).
        target: (B, K) rows that sum to 1.
    """
    return functional.mse_loss(log_probabilities.exp(), target)


def score_error(predicted: Tensor, gold: Tensor, kind: Literal["squared", "absolute"]) -> Tensor:
    r"""Compute $\frac{1}{B} \sum_b (\hat y_b - y_b)^2$ or $\frac{1}{B} \sum_b |\hat y_b - y_b|$ of (B,) scores.

    Source: Jiao et al. 2018, footnote 3 ("significantly better than squared or absolute error"), after Tai et al. 2015.
    """
    gap = predicted - gold
    return gap.square().mean() if kind == "squared" else gap.abs().mean()
