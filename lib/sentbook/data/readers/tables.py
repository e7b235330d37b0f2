"""Lines, cells, scores and labels, the same way for every reader: no quoting, line ends removed and nothing else."""

from __future__ import annotations

import gzip
import lzma
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from sentbook.data import sources
from sentbook.data.types import LabelledPairs, ScoredPairs
from sentbook.io import ConfigError, DataError

T = TypeVar("T")
Scale = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a line, which knows its file and number."""

    cells: list[str]
    file: str
    line: int

    def __getitem__(self, column: int) -> str:
        return self.cells[column]

    def number(self, column: int, scale: Scale) -> float:
        """The number in a cell.

        Raises:
            DataError: it is none within ``scale``; file and line are named.
        """
        try:
            value = float(self[column])
        except ValueError:
            value = math.nan
        low, high = scale
        if not low <= value <= high:
            raise self.fault(f"{self[column][:40]!r} is no number from {low:g} to {high:g}")
        return value

    def label(self, column: int, written: Sequence[str]) -> int:
        """The place of a cell among ``written``.

        Raises:
            DataError: it is none of them; file and line are named.
        """
        if self[column] not in written:
            raise self.fault(f"{self[column][:40]!r} is none of {', '.join(written)}")
        return written.index(self[column])

    def fault(self, what: str) -> DataError:
        """What is wrong with the line, in one sentence."""
        return DataError(f"{self.file}, line {self.line}: {what}; fetch it again.")


@dataclass(frozen=True)
class Format:
    """A data set's files of tab-separated cells.

    Attributes:
        name: of the data set, in messages.
        folder: of its registered files.
        parts: of each split its file and its official number of rows.
        columns: a line has at least so many.
        header: whether the first line names them.
    """

    name: str
    folder: str
    parts: Mapping[str, tuple[str, int]]
    columns: int
    header: bool = False

    def rows(self, split: str) -> list[Row]:
        """The rows of a split.

        Raises:
            ConfigError: an unknown split.
            DataError: the file is missing or damaged, or has not its official size.
        """
        file, size = one_of(f"{self.name} split", split, self.parts)
        found = rows(f"{self.folder}/{file}", self.columns, header=self.header)
        expect(f"{self.name} {split}", len(found), size)
        return found


def scored(
    name: str, found: Sequence[Row], sides: tuple[int, int], column: int, scale: Scale, domain: str = ""
) -> ScoredPairs:
    """Pairs of the columns ``sides`` with the scores of ``column``; raises as `Row.number`."""
    first, second = ([row[side] for row in found] for side in sides)
    gold = np.array([row.number(column, scale) for row in found])
    return ScoredPairs(name, first, second, gold, scale, domain)


def labelled(
    name: str,
    found: Sequence[Row],
    sides: tuple[int, int],
    column: int,
    classes: tuple[str, ...],
    written: Sequence[str] = (),
) -> LabelledPairs:
    """Pairs of the columns ``sides``; ``column`` names a class, or has what is ``written`` for it; see `Row.label`."""
    first, second = ([row[side] for row in found] for side in sides)
    labels = np.array([row.label(column, written or classes) for row in found], dtype=np.int64)
    return LabelledPairs(name, first, second, labels, classes)


def rows(name: str | Path, columns: int, *, header: bool = False) -> list[Row]:
    """The tab-separated cells of each line, at least ``columns`` of them.

    Raises:
        DataError: a line has too few cells; its number is named.
    """
    found = [Row(line.split("\t"), str(name), number) for number, line in enumerate(lines(name), start=1)][header:]
    for row in found:
        if len(row.cells) < columns:
            raise row.fault(f"{len(row.cells)} cells where {columns} are needed")
    return found


def lines(name: str | Path, encoding: str = "utf-8-sig") -> list[str]:
    """The lines of a registered file or of one at a path, without line ends; .gz and .xz are unpacked, a BOM dropped.

    Splits at LF alone: `str.splitlines` would also split at characters that occur inside sentences.

    Raises:
        DataError: the file is missing, damaged, or not text in ``encoding``.
    """
    file = name if isinstance(name, Path) else sources.path(name)
    unpack: Callable[[bytes], bytes] = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(file.suffix, bytes)
    try:
        text = unpack(file.read_bytes()).decode(encoding)
    except (UnicodeDecodeError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DataError(
            f"{name} cannot be read as {encoding} text; fetch it again with `sentbook data fetch`."
        ) from error
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]


def expect(name: str, found: int, official: int) -> None:
    """Raise unless a data set has its official size.

    Raises:
        DataError: with both numbers.
    """
    if found != official:
        raise DataError(f"{name} has {found:,} items, not {official:,}; fetch it again with `sentbook data fetch`.")


def one_of(what: str, name: str, choices: Mapping[str, T]) -> T:
    """What ``name`` stands for among ``choices``.

    Raises:
        ConfigError: an unknown name, with the known ones.
    """
    if name not in choices:
        raise ConfigError(f"Unknown {what} '{name}'; choose among {', '.join(choices)}.")
    return choices[name]
