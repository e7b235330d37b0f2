"""Lines and cells, the same way for every reader: UTF-8, no quoting, line ends removed and nothing else."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from sentbook.data import sources
from sentbook.system.errors import ConfigError, DataError

T = TypeVar("T")


def lines(name: str, encoding: str = "utf-8-sig") -> list[str]:
    """The lines of a registered file (.gz and .xz are unpacked), without line ends; a BOM is dropped.

    Splits at LF alone: `str.splitlines` would also split at characters that occur inside sentences.

    Raises:
        DataError: the file is missing, damaged, or not text in ``encoding``.
    """
    file = sources.path(name)
    unpack: Callable[[bytes], bytes] = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(file.suffix, bytes)
    try:
        text = unpack(file.read_bytes()).decode(encoding)
    except (UnicodeDecodeError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DataError(
            f"{name} cannot be read as {encoding} text; run `sentbook data check` and fetch it again."
        ) from error
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]


def rows(name: str, columns: int, *, header: bool = False) -> Iterator[list[str]]:
    """The tab-separated cells of each line, at least ``columns`` of them.

    Raises:
        DataError: a line has too few cells; its number is named.
    """
    for number, line in enumerate(lines(name), start=1):
        if header and number == 1:
            continue
        cells = line.split("\t")
        if len(cells) < columns:
            raise DataError(f"{name}, line {number}: {len(cells)} cells where {columns} are needed; fetch it again.")
        yield cells


def expect(name: str, found: int, official: int) -> None:
    """Raise unless a data set has its official size.

    Raises:
        DataError: with both numbers.
    """
    if found != official:
        raise DataError(f"{name} has {found:,} items, not {official:,}; run `sentbook data check` and fetch it again.")


def one_of(what: str, name: str, choices: Mapping[str, T]) -> T:
    """What ``name`` stands for among ``choices``.

    Raises:
        ConfigError: an unknown name, with the known ones.
    """
    if name not in choices:
        raise ConfigError(f"Unknown {what} '{name}'; choose among {', '.join(choices)}.")
    return choices[name]
