"""The margin objective over paraphrase pairs with negatives from the batch."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Selection = Literal["max", "random", "mix"]
Candidates = Literal["one side", "both sides"]


def choose_negatives(similarities: Tensor, selection: Selection = "max", candidates: Candidates = "one side") -> Tensor:
    """Choose the row of each sentence's negative among the 2B sentences of the batch, first members before second ones.

    Args:
        similarities: (2B, 2B) cosines without gradient.
        selection: ``max``: the most similar candidate; ``random``: a uniform one; ``mix``: a fair coin decides.
        candidates: ``one side``: a first member's negative is a first member (the paper's formula); ``both sides``: any
            sentence of another pair (the released code).

    Returns:
        (2B,) int64 rows; never the sentence itself nor its partner.

    Raises:
        ValueError: the batch holds a single pair, so that there is no negative.
    """
    size = similarities.shape[0]
    pairs = size // 2
    if pairs < 2:
        raise ValueError("A batch of one pair has no negative; use a batch size of at least 2.")
    at = torch.arange(size, device=similarities.device)
    forbidden = (at.unsqueeze(1) - at.unsqueeze(0)) % pairs == 0
    if candidates == "one side":
        forbidden = forbidden | ((at.unsqueeze(1) < pairs) != (at.unsqueeze(0) < pairs))
    hardest = similarities.masked_fill(forbidden, float("-inf")).argmax(dim=1)
    if selection == "max":
        return hardest
    noise = torch.rand(size, size, device=similarities.device).masked_fill_(forbidden, -1.0)
    uniform = noise.argmax(dim=1)
    if selection == "random":
        return uniform
    return torch.where(torch.rand(size, device=similarities.device) < 0.5, hardest, uniform)


def margin_loss(
    first: Tensor,
    second: Tensor,
    margin: float = 0.4,
    selection: Selection = "max",
    candidates: Candidates = "one side",
) -> Tensor:
    r"""Compute the hinge of each pair against its two negatives, averaged over the batch.

    $$\frac{1}{B} \sum_{\langle s_1, s_2 \rangle} \max(0, \delta - \cos(s_1, s_2) + \cos(s_1, t_1))
      + \max(0, \delta - \cos(s_1, s_2) + \cos(s_2, t_2))$$

    Negatives are searched in one matrix product of the 2B normalised vectors, which takes no gradient.

    Source: Jiao et al. 2018, equation 5 without its regularisers (`sentbook.training.optim` adds them), section 3.2,
    "Selecting Negative Examples"; Wieting et al. 2016.
    Deviations: negatives are chosen with the representations of the step, dropout included; the released code
    computes them once more without dropout.

    Args:
        first, second: (B, F) vectors of the pairs' members, B >= 2.
        margin: delta.
        selection, candidates: see `choose_negatives`.

    Returns:
        A scalar.

    Raises:
        ValueError: B is 1.

    Example:
        >>> first = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> round(margin_loss(first, first, margin=0.4).item(), 4)  # cos(s1, s2) = 1, cos to any negative = 0
        0.0
        >>> round(margin_loss(first, first.flip(0), margin=0.4).item(), 4)
        0.8
    """
    vectors = functional.normalize(torch.cat([first, second]), dim=1, eps=1e-5)
    found = vectors.detach()
    chosen = choose_negatives(found @ found.T, selection, candidates)
    positive = (vectors[: len(first)] * vectors[len(first) :]).sum(1)
    negative = (vectors * vectors.index_select(0, chosen)).sum(1)
    return functional.relu(margin - positive.repeat(2) + negative).sum() / len(first)
