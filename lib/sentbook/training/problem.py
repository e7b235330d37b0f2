"""What the training loop asks of a problem."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from sentbook.models import SentenceEncoder


class Problem(Protocol):
    """What is trained, on which examples, and how it is judged."""

    encoder: SentenceEncoder
    lengths: NDArray[np.int64]
    metric: str
    # Checks without a better value after which training stops; None: never.
    patience: int | None

    @property
    def head(self) -> nn.Module | None:
        """What is trained with the encoder and thrown away with it, or None."""

    def loss(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        """The mean loss of the examples ``rows``."""

    def validate(self) -> float:
        """The validation metric; higher is better."""

    def watch(self) -> list[dict[str, Any]]:
        """Further values for the curve at each check, as rows of split, metric and value; nothing is chosen by them."""

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        """(parameter, coefficient, anchor): half the coefficient times the squared distance to the anchor (None: 0)."""


class Divisible(Problem, Protocol):
    """A problem whose batch can be cut into parts, for less memory or several processes.

    No example's loss depends on the other examples of its batch, as it does where they are its negatives.
    """

    def loss(self, rows: NDArray[np.int64], rng: np.random.Generator, whole: NDArray[np.int64] | None = None) -> Tensor:
        """The mean loss of ``rows``, or their share of the mean over ``whole``; the parts' shares add up to it."""


def is_divisible(problem: Problem) -> TypeGuard[Divisible]:
    """Whether its loss takes ``whole``."""
    return "whole" in inspect.signature(problem.loss).parameters
