"""Published files of tab-separated cells, read without quoting, with their official sizes asserted.

A default CSV reader joins lines at unbalanced quotes and loses rows. Registered files are verified before they are read
(`sentbook.data.sources.path`), so that a line of one needs no check.
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable, Mapping, Sequence, Sized
from pathlib import Path
from typing import TypeVar

import numpy as np

from sentbook.data import sources
from sentbook.data.types import LabelledPairs, ScoredPairs
from sentbook.io import ConfigError, DataError

T = TypeVar("T")
Many = TypeVar("Many", bound=Sized)
Row = list[str]


def lines(name: str | Path, encoding: str = "utf-8-sig") -> list[str]:
    """Return the lines of a registered file or of one at a path; .gz and .xz are unpacked, a BOM is dropped.

    Splits at LF alone: `str.splitlines` would also split at characters that occur inside sentences.
    """
    file = name if isinstance(name, Path) else sources.path(name)
    unpack: Callable[[bytes], bytes] = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(file.suffix, bytes)
    try:
        text = unpack(file.read_bytes()).decode(encoding)
    except (UnicodeDecodeError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DataError(f"{name} cannot be read as {encoding} text; replace it by a whole file.") from error
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]


def rows(name: str, official: int, *, header: bool = False) -> list[Row]:
    """Return the cells of each line of a registered file of ``official`` rows."""
    return expect(name, [line.split("\t") for line in lines(name)][header:], official)


def expect(name: str, found: Many, official: int) -> Many:
    """Return ``found``, or raise a `DataError` with both numbers where a data set has not its official size."""
    if len(found) != official:
        raise DataError(f"{name} has {len(found):,} items, not {official:,}; run `sentbook data fetch`.")
    return found


def one_of(what: str, name: str, choices: Mapping[str, T]) -> T:
    """Return what ``name`` stands for, or raise a `ConfigError` with the known names."""
    if name not in choices:
        raise ConfigError(f"Unknown {what} '{name}'; choose among {', '.join(choices)}.")
    return choices[name]


def scored(
    name: str, found: Sequence[Row], sides: tuple[int, int], column: int, scale: tuple[float, float], domain: str = ""
) -> ScoredPairs:
    """Return pairs of the columns ``sides`` with the scores of ``column``."""
    first, second = ([row[side] for row in found] for side in sides)
    return ScoredPairs(name, first, second, np.array([float(row[column]) for row in found]), scale, domain)


def labelled(
    name: str,
    found: Sequence[Row],
    sides: tuple[int, int],
    column: int,
    classes: tuple[str, ...],
    written: Sequence[str] = (),
) -> LabelledPairs:
    """Return pairs of the columns ``sides``; ``column`` names a class, or has what is ``written`` for it."""
    first, second = ([row[side] for row in found] for side in sides)
    labels = np.array([(written or classes).index(row[column]) for row in found], dtype=np.int64)
    return LabelledPairs(name, first, second, labels, classes)
