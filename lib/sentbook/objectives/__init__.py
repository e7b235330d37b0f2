"""Losses. One file an objective."""

from sentbook.objectives.margin import margin_loss
from sentbook.objectives.relatedness import RelatednessHead, relatedness_loss, sparse_target

__all__ = ["RelatednessHead", "margin_loss", "relatedness_loss", "sparse_target"]
