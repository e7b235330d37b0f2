"""The shapes in which data leave this room; readers and the mini-world both return them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sentbook.io import DataError


@dataclass(frozen=True)
class Columns:
    """Columns of one length: its lists and arrays. What is neither, a name or a scale, is of all rows.

    Raises:
        DataError: columns of different lengths, so that a misaligned file cannot travel further.
    """

    def __post_init__(self) -> None:
        sizes = {name: len(column) for name, column in self._columns().items()}
        if len(set(sizes.values())) > 1:
            name = getattr(self, "name", type(self).__name__)
            raise DataError(f"{name} is misaligned ({sizes}); fetch it again with `sentbook data fetch`.")

    def __len__(self) -> int:
        return len(next(iter(self._columns().values())))

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        """Return the rows where (N,) ``rows`` is true, or those that it names, in its order."""
        chosen = np.arange(len(self))[rows]
        columns: dict[str, Any] = {
            name: column[chosen] if isinstance(column, np.ndarray) else [column[row] for row in chosen]
            for name, column in self._columns().items()
        }
        return replace(self, **columns)

    @classmethod
    def joined(cls, parts: Sequence[Self], **changes: Any) -> Self:
        """Return all rows of ``parts``, in order; what is of all rows is the first part's, or one of ``changes``."""
        first, *others = parts
        columns: dict[str, Any] = {}
        for name, column in first._columns().items():
            every = [column, *(getattr(part, name) for part in others)]
            columns[name] = np.concatenate(every) if isinstance(column, np.ndarray) else list(chain(*every))
        return replace(first, **columns, **changes)

    def _columns(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, list | np.ndarray)}


@dataclass(frozen=True)
class ScoredPairs(Columns):
    """Sentence pairs with a gold similarity.

    Attributes:
        name: spelt as in ``papers/*.csv``, e.g. ``STS2012/MSRpar`` or ``SICK2014``.
        first, second: N sentences each, as published (untokenised, case kept).
        gold: (N,) float64 scores on ``scale``.
        scale: the limits of the published scale, e.g. (0, 5) for STS and (1, 5) for SICK.
    """

    name: str
    first: list[str]
    second: list[str]
    gold: NDArray[np.float64]
    scale: tuple[float, float]


@dataclass(frozen=True)
class ParaphrasePairs(Columns):
    """Pairs taken to mean the same, for training with a margin. ``source`` names the corpus of each pair."""

    name: str
    first: list[str]
    second: list[str]
    source: list[str]

    @classmethod
    def of(cls, name: str, pairs: Iterable[tuple[str, str]]) -> ParaphrasePairs:
        """Return the pairs of one corpus."""
        rows = list(pairs)
        return cls(name, [first for first, _ in rows], [second for _, second in rows], [name] * len(rows))


@dataclass(frozen=True)
class LabelledPairs(Columns):
    """Sentence pairs with a class: paraphrase or not (MSRP), or entailment (NLI). ``labels`` index ``classes``."""

    name: str
    first: list[str]
    second: list[str]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Examples(Columns):
    """Sentences, or pairs of them, with a class each; ``labels`` index ``classes``.

    Attributes:
        first: N sentences.
        second: the other sentence of each pair; None for single sentences.
        labels: (N,) classes.
    """

    first: list[str]
    second: list[str] | None
    labels: NDArray[np.int64]
    name: str = ""
    classes: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """All sentences; those that are second come behind those that are first."""
        return [*self.first, *(self.second or [])]


@dataclass(frozen=True)
class CaptionedScenes(Columns):
    """Feature vectors (N, F) of images or generated scenes, each with its captions."""

    name: str
    features: NDArray[np.float32]
    captions: list[list[str]]
