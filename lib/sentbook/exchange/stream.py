"""Lines in, vectors out, in memory that does not grow with the lines: what ``sentbook encode`` does."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sentbook.exchange.portable import Portable
from sentbook.io import ConfigError, DataError, StorageError, replacing

# What is in memory at once: so many lines, or fewer long ones.
LINES, CHARACTERS = 10_000, 4_000_000
# Batches of an encoder that depends on them are whole in every chunk, see `sentbook.models.encode_ids`.
_TOGETHER = 100

_REMEDY = "choose another place."


def encode_lines(
    model: Portable, lines: Iterable[bytes], target: BinaryIO, report: Callable[[int], None] = lambda count: None
) -> tuple[int, int]:
    """Write the vectors of ``lines`` to ``target`` as one .npy array (N, F), float32; N and F.

    Up to `LINES` lines the file is byte for byte what `numpy.save` makes of `sentbook.models.encode`. More are
    encoded by so many at a time, which changes a vector by rounding only.

    Args:
        lines: UTF-8, one sentence each, with or without their line ends.
        target: empty and seekable.
        report: called with the count of lines so far.

    Raises:
        ConfigError: there is no line.
        DataError: a line is not UTF-8, or has no word; its number is named.
        NumericalError: a vector is not finite.
        OSError: the target cannot be written.
    """
    count = 0
    # Not the header of an empty array: a reader must refuse a file whose writer was killed.
    target.write(bytes(len(_header(0, model.dimension))))
    for sentences in _chunks(lines):
        vectors = model.encode(sentences, called=partial(_line, count))
        target.write(vectors.astype("<f4", copy=False).tobytes())
        count += len(sentences)
        report(count)
    if not count:
        raise ConfigError("Standard input is empty; give one sentence a line.")
    target.seek(0)
    target.write(_header(count, model.dimension))
    return count, model.dimension


def _line(before: int, place: int) -> str:
    return f"Line {before + place + 1}"


def _header(rows: int, width: int) -> bytes:
    """As long for every number of rows: numpy leaves room for its digits."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)})
    return buffer.getvalue()


def _chunks(lines: Iterable[bytes]) -> Iterator[list[str]]:
    sentences: list[str] = []
    characters = 0
    for number, line in enumerate(lines, start=1):
        try:
            # Some editors begin a file with a mark of its encoding, which is no letter of the first sentence.
            sentences.append(line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n"))
        except UnicodeDecodeError as error:
            raise DataError(
                f"Line {number} is not UTF-8 text; convert the input first, for example with iconv."
            ) from error
        characters += len(sentences[-1])
        if len(sentences) % _TOGETHER == 0 and (len(sentences) >= LINES or characters >= CHARACTERS):
            yield sentences
            sentences, characters = [], 0
    if sentences:
        yield sentences


@contextmanager
def output(path: Path | None) -> Iterator[BinaryIO]:
    """A file to write and seek in, which is at ``path`` when the block ends without an error.

    Standard output (None), a device and a named pipe get a copy at the end.

    Raises:
        BrokenPipeError: the reader of the pipe went away.
        ConfigError: standard output is a terminal.
        StorageError: no space, no such folder, or a folder in the way; an earlier file is intact.
    """
    if path is None and os.isatty(sys.stdout.fileno()):
        raise ConfigError("Vectors are no text for a terminal; redirect the output to a file, or name one with -o.")
    if path is not None and (path.is_file() or not path.exists()):
        if not path.parent.is_dir():
            raise StorageError(f"{path} could not be written (there is no folder {path.parent}); {_REMEDY}")
        with replacing(path.resolve(), _REMEDY) as temporary, temporary.open("wb") as file:
            yield file
        return
    try:
        # A descriptor stays open, so that what else is said on it can be.
        with open(path or sys.stdout.fileno(), "wb", closefd=path is not None) as target:
            with tempfile.TemporaryFile() as file:
                yield file
                file.seek(0)
                shutil.copyfileobj(file, target, 1 << 20)
            target.flush()
    except BrokenPipeError:  # the reader has what it wanted, and the command line ends without a word
        raise
    except OSError as error:
        name = "Standard output" if path is None else path
        raise StorageError(f"{name} could not be written ({error.strerror or error}); {_REMEDY}") from error
