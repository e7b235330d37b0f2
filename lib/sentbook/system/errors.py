"""Mistakes a user can mend. The message of each is one sentence that says what is wrong and what to do.

The command line prints the message alone and exits with the class's ``exit_code``; a notebook shows it
as the last line of its traceback. Anything that is not a `SentbookError` is a bug in sentbook.
"""

# What helps where the system has killed a process.
SPARING = "close other programs or run with fewer jobs, then run again: what was finished is kept"


def brief(text: str, length: int = 80) -> str:
    """Cut what a user gave to ``length``, so that the sentence that repeats it can be read."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


# What libraries say, beside Python's MemoryError and torch's OutOfMemoryError, where sizes fit no memory.
_TOO_LARGE = ("allocate memory", "not enough memory", "out of memory", "calculation overflowed", "array is too big")


def mended(kind: str, said: str) -> str | None:
    """Say what to do where an exception, by its class's name and its words, is of memory or of rights; else None."""
    if kind == "PermissionError":
        reason, _, place = said.partition("] ")[2].partition(": ")
        return f"{place.strip(chr(39)) or 'A file'} may not be opened ({reason}); make it readable and writable."
    if not kind.endswith("MemoryError") and not any(words in said for words in _TOO_LARGE):
        return None
    asked = brief(" ".join(said.split()).rstrip("."), 200) or "no more is free"
    return f"This does not fit in memory ({asked}); set smaller sizes (batches, widths, limit, resamples), {SPARING}."


class SentbookError(Exception):
    """Base of every mistake that a user can mend."""

    exit_code = 1


class ConfigError(SentbookError):
    """An unknown, misspelt, wrongly typed or out-of-range parameter."""

    exit_code = 2


class DataError(SentbookError):
    """A data file is missing, unreachable, corrupted, truncated or malformed."""

    exit_code = 3


class CheckpointError(SentbookError):
    """A checkpoint or artifact is truncated, or belongs to another configuration."""

    exit_code = 4


class DamagedCheckpointError(CheckpointError):
    """A checkpoint or artifact is truncated, or was never one."""


class StorageError(SentbookError):
    """A file could not be written: no space, or a read-only folder. What was there before is intact."""

    exit_code = 5


class NumericalError(SentbookError):
    """A loss or a parameter became NaN or infinite."""

    exit_code = 6


class DeviceError(SentbookError):
    """The device that was asked for is not there."""

    exit_code = 7
