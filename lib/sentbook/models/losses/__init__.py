"""Losses: what a training makes small, one file an objective."""

from sentbook.models.losses.margin import margin_loss
from sentbook.models.losses.relatedness import (
    RelatednessHead,
    relatedness_loss,
    score_error,
    sparse_target,
    squared_error_loss,
)
from sentbook.models.losses.similarity import cross_entropy_loss, kl_loss, mse_loss, pair_score, score_loss

__all__ = [
    "RelatednessHead",
    "cross_entropy_loss",
    "kl_loss",
    "margin_loss",
    "mse_loss",
    "pair_score",
    "relatedness_loss",
    "score_error",
    "score_loss",
    "sparse_target",
    "squared_error_loss",
]
