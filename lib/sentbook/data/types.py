"""The shapes in which data leave this room, and shares of them; readers and the mini-world both return them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.io import DataError

SPLITS = ("train", "trial", "test")


@dataclass(frozen=True)
class Columns:
    """Columns of one length: its lists and arrays. What is neither, a name or a scale, is of all rows.

    Raises:
        DataError: columns of different lengths, so that a misaligned file cannot travel further.
    """

    def __post_init__(self) -> None:
        if len(sizes := {len(column) for column in self._columns().values()}) > 1:
            raise DataError(f"{type(self).__name__} with columns of {sorted(sizes)} rows; give one value to each row.")

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
        columns: dict[str, Any] = {}
        for name, column in parts[0]._columns().items():
            every = [getattr(part, name) for part in parts]
            columns[name] = np.concatenate(every) if isinstance(column, np.ndarray) else list(chain(*every))
        return replace(parts[0], **columns, **changes)

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
    """Pairs taken to mean the same, for training with a margin."""

    name: str
    first: list[str]
    second: list[str]

    @classmethod
    def of(cls, name: str, pairs: Iterable[tuple[str, str]]) -> ParaphrasePairs:
        """Return the pairs of one corpus."""
        rows = list(pairs)
        return cls(name, [first for first, _ in rows], [second for _, second in rows])


@dataclass(frozen=True)
class LabelledPairs(Columns):
    """Premises and hypotheses with a class each (NLI); ``labels`` index ``classes``."""

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
    classes: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """Return all sentences; those that are second come behind those that are first."""
        return [*self.first, *(self.second or [])]


# -- shares ------------------------------------------------------------------------------------------------------------

Data = TypeVar("Data", bound=Columns)


def share_of(data: Data, share: float, seed: int) -> Data:
    """Return a share of ``data``'s rows, drawn by ``seed``; a larger share holds every smaller one.

    At least two rows are kept, the fewest that a batch can hold.
    """
    if share == 1:
        return data
    size = len(data)
    chosen = np.random.default_rng([seed, size]).permutation(size)[: max(2, round(share * size))]
    return data.take(np.sort(chosen))


def held_out(groups: ArrayLike, sizes: Mapping[int, int], seed: int = 0) -> NDArray[np.bool_]:
    """Tell which rows are held out: of each group its number, drawn at random.

    Args:
        groups: (N,) the group of each row.
        sizes: group -> rows to hold out.

    Example:
        >>> held_out([0, 0, 0, 1, 1], {0: 2, 1: 1}).sum()
        np.int64(3)
    """
    members, rng = np.asarray(groups), np.random.default_rng(seed)
    held: list[int] = []
    for group, size in sizes.items():
        held += rng.permutation(np.flatnonzero(members == group))[:size].tolist()
    return np.isin(np.arange(len(members)), held)


def held_out_share(labels: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Tell which of (N,) labelled rows are held out: of each label its share, drawn at random (seed 0)."""
    return held_out(labels, {label: round(share * count) for label, count in enumerate(np.bincount(labels))})
