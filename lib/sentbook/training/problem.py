"""What the training loop asks of a problem: an encoder, examples, a loss and a judgement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from sentbook.data.suites import Suite
from sentbook.data.text import TokenIds, Tokenisation, Vocabulary
from sentbook.models import FrozenVectors, SentenceEncoder
from sentbook.models.encode import padded

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Start:
    """What a stage begins with: the encoder as the stages before have left it.

    Attributes:
        frozen: gives the vectors of the encoder, which trainings on other data sets share.
    """

    encoder: SentenceEncoder
    vocabulary: Vocabulary
    seed: int
    tokenisation: Tokenisation
    suite: Suite
    frozen: Callable[[], FrozenVectors]


class Problem(ABC):
    """What is trained, on which examples, and how it is judged.

    Attributes:
        encoder: what is trained.
        head: what is trained with the encoder and thrown away with it, or None.
        lengths: (N,) words of each training example.
        metric: name of the validation metric; higher is better.
        patience: checks without a better value after which training stops; None: never.
        decay: coefficient that pulls the encoder's composition towards 0.
    """

    encoder: SentenceEncoder
    head: nn.Module | None = None
    lengths: Rows
    metric: str = "pearson"
    patience: int | None = None
    decay: float = 0.0

    @abstractmethod
    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        """Return the mean loss of the examples ``rows``."""

    @abstractmethod
    def validate(self) -> float:
        """Return the validation metric."""

    def watch(self) -> list[dict[str, Any]]:
        """Return further points of the curve at a check: split, metric and value; nothing is chosen by them."""
        return []

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        """Yield (parameter, coefficient, anchor): half the coefficient times the squared distance to it (None: 0)."""
        for parameter in self.encoder.composition():
            yield parameter, self.decay, None

    def held_out_scores(self) -> Mapping[str, NDArray[np.float64]]:
        """Return scores of pairs that were not trained on, by their split, in the present state."""
        return {}

    def kept(self) -> Mapping[str, nn.Module]:
        """Return parts of the head that are stored beside the encoder, by the name of their file."""
        return {}

    def vectors(self, tokens: TokenIds, rows: Rows, order: NDArray[np.float64] | None = None) -> Tensor:
        """Encode the sentences ``rows`` of ``tokens``, their words permuted by the sort keys ``order``; (B, F)."""
        vectors: Tensor = self.encoder(*padded(tokens, rows, self.encoder, order))
        return vectors

    def pair_vectors(
        self, tokens: TokenIds, rows: Rows, order: NDArray[np.float64] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Encode both members of the pairs ``rows``, (B, F) each; ``tokens``: N first members, then N second ones.

        One call for both has half the overhead; an encoder that sees its batch's padding gets a call for each.
        """
        sides = rows, rows + len(tokens) // 2
        if self.encoder.batch_dependent:
            keys = (None, None) if order is None else np.split(order, 2)
            first, second = (self.vectors(tokens, side, one) for side, one in zip(sides, keys, strict=True))
        else:
            first, second = self.vectors(tokens, np.concatenate(sides), order).chunk(2)
        return first, second
