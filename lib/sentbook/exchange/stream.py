"""Lines in, vectors out, in memory that does not grow with the lines: what ``sentbook encode`` does."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from sentbook.data.text import TOKENISERS
from sentbook.exchange.portable import Portable
from sentbook.system.errors import ConfigError, DataError, StorageError
from sentbook.system.files import replacing

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
        target: seekable; the array begins where it stands.
        report: called with the count of lines so far.

    Raises:
        ConfigError: there is no line.
        DataError: a line is not UTF-8, or has no word; its number is named.
        NumericalError: a vector is not finite.
        OSError: the target cannot be written.
    """
    start, count = target.tell(), 0
    # Not the header of an empty array: a reader must refuse a file whose writer was killed.
    target.write(bytes(len(_header(0, model.dimension))))
    for first, sentences in _chunks(lines):
        target.write(_vectors(model, sentences, first).tobytes())
        count += len(sentences)
        report(count)
    if not count:
        raise ConfigError("Standard input is empty; give one sentence a line.")
    end = target.tell()
    target.seek(start)
    target.write(_header(count, model.dimension))
    target.seek(end)
    return count, model.dimension


def _header(rows: int, width: int) -> bytes:
    """As long for every number of rows: numpy leaves room for its digits."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)})
    return buffer.getvalue()


def _chunks(lines: Iterable[bytes]) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line and the sentences of each chunk."""
    sentences: list[str] = []
    first, characters = 1, 0
    for number, line in enumerate(lines, start=1):
        try:
            sentence = line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"Line {number} is not UTF-8 text; convert the input first, for example with iconv."
            ) from error
        sentences.append(sentence)
        characters += len(sentence)
        if len(sentences) % _TOGETHER == 0 and (len(sentences) >= LINES or characters >= CHARACTERS):
            yield first, sentences
            sentences, first, characters = [], number + 1, 0
    if sentences:
        yield first, sentences


def _vectors(model: Portable, sentences: list[str], first: int) -> NDArray[np.float32]:
    try:
        return model.encode(sentences).astype("<f4", copy=False)
    except DataError as error:
        tokenisation = model.description.tokenisation
        for number, sentence in enumerate(sentences, start=first):
            if not TOKENISERS[tokenisation](sentence):
                raise DataError(
                    f"Line {number} is empty after '{tokenisation}' tokenisation; remove or fill it."
                ) from error
        raise


@contextmanager
def file_at(path: Path) -> Iterator[BinaryIO]:
    """A file to write and seek in, which becomes ``path`` when the block ends without an error.

    A device or a named pipe gets a copy at the end.

    Raises:
        BrokenPipeError: the reader of the pipe went away.
        StorageError: no space, no such folder, or a folder in the way; an earlier file is intact.
    """
    if path.is_file() or not path.exists():
        if not path.parent.is_dir():
            raise StorageError(f"{path} could not be written (there is no folder {path.parent}); {_REMEDY}")
        with replacing(path.resolve(), _REMEDY) as temporary, temporary.open("wb") as file:
            yield file
    else:
        with _reported(str(path)), path.open("wb") as device, _copied_to(device) as file:
            yield file


@contextmanager
def file_of(descriptor: int) -> Iterator[BinaryIO]:
    """A file to write and seek in for an open descriptor, such as standard output.

    A file that it was redirected to is written in place, and emptied again on an error. A pipe, and a file that it is
    appended to, get a copy at the end.

    Raises:
        BrokenPipeError: the reader of the pipe went away.
        ConfigError: it is a terminal.
        StorageError: no space.
    """
    if os.isatty(descriptor):
        raise ConfigError("Vectors are no text for a terminal; redirect the output to a file, or name one with -o.")
    with _reported("Standard output"):
        if _can_seek(descriptor):
            with _in_place(descriptor) as file:
                yield file
        else:
            with open(descriptor, "wb", closefd=False) as pipe, _copied_to(pipe) as file:
                yield file


@contextmanager
def _in_place(descriptor: int) -> Iterator[BinaryIO]:
    start = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            yield file
    except BaseException:
        os.ftruncate(descriptor, start)
        raise


def _can_seek(descriptor: int) -> bool:
    appends = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
    return stat.S_ISREG(os.fstat(descriptor).st_mode) and not appends


@contextmanager
def _copied_to(target: BinaryIO) -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        shutil.copyfileobj(file, target, 1 << 20)
        target.flush()


@contextmanager
def _reported(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the reader has what it wanted, and the command line ends without a word
        raise
    except OSError as error:
        raise StorageError(f"{name} could not be written ({error.strerror or error}); {_REMEDY}") from error
