"""The first layer of WSV-SCNN-SV as the paper computes it, map and all: what `additive` is held equal to."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from sentbook.models.additive import MISSING


def word_set_map(words: Tensor, weights: Tensor) -> Tensor:
    r"""Draw the (B, D, n, n) map $\lambda_1 w_i + \lambda_2 w_j$ of (B, n, D) words: Yao et al. 2018, algorithm 1."""
    rows, columns = words.transpose(1, 2).unsqueeze(3), words.transpose(1, 2).unsqueeze(2)
    return weights[0] * rows + weights[1] * columns


def k_max_of_map(words: Tensor, kernel: Tensor, weights: Tensor, k: int) -> Tensor:
    """Take the (k, B, F) largest cells of the convolved map of sentences of one length, in falling order.

    Args:
        words: (B, n, D).
        kernel: (3, 3, D, F).
        weights: (2,).
    """
    convolved = functional.conv2d(word_set_map(words, weights), kernel.permute(3, 2, 0, 1), padding=1).flatten(2)
    missing = max(0, k - convolved.shape[2])
    padded = functional.pad(convolved, (0, missing), value=MISSING)
    return torch.topk(padded, k, dim=2).values.permute(2, 0, 1)
