"""Files of data: a registry of pinned addresses, digests, sizes and licences, and one way to a verified file.

Look-up order: the mirror folder ``SENTBOOK_DATA``, the cache (``SENTBOOK_CACHE``, else the user's), a download. A file
is verified after download and before use; downloads go to a temporary name and are renamed when they are whole.
``tools/make_registry.py`` writes the registry from a mirror's manifests.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import requests

from sentbook.io import DataError, StorageError, originals, parse_yaml, replacing

with warnings.catch_warnings():
    # pooch brings a progress bar that warns in every notebook without ipywidgets.
    warnings.simplefilter("ignore")
    import pooch

_CHUNK = 1 << 16
Made = TypeVar("Made")
_used: dict[str, str] = {}


@cache
def registry() -> dict[str, dict[str, Any]]:
    """Every file by its name ``<kind>/<dataset>/<file>``.

    Returns:
        Per file ``sha256`` (or ``md5``, where its publisher gives no other), ``bytes``, ``licence``, ``paper``,
        ``source`` in words, ``url`` (None: only from a mirror).
    """
    table: dict[str, dict[str, Any]] = json.loads(
        (files("sentbook.data") / "registry.json").read_text(encoding="utf-8")
    )
    return table


def mirror() -> Path | None:
    """The folder named by ``SENTBOOK_DATA``, or None.

    Raises:
        DataError: the variable names no folder.
    """
    named = os.environ.get("SENTBOOK_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(f"SENTBOOK_DATA names {folder}, which is no folder; correct it or unset it.")
    return folder


def cache_folder() -> Path:
    """Where downloads are kept: ``SENTBOOK_CACHE``, or the user's cache folder."""
    return Path(os.environ.get("SENTBOOK_CACHE") or pooch.os_cache("sentbook")).expanduser()


def kept(
    name: str, make: Callable[[], Made], read: Callable[[Path], Made], write: Callable[[Path, Made], None]
) -> Made:
    """What ``make`` gives, made once and kept as file ``name`` of the cache; a damaged file is made again.

    A cache that cannot be written costs the time to make it, not the run.

    Args:
        name: with a digest of all that decides it.
        read: raises OSError, EOFError, ValueError, IndexError or zlib.error where the file is not whole.
    """
    file = cache_folder() / "derived" / name
    with suppress(OSError, EOFError, ValueError, IndexError, zlib.error):
        return read(file)
    made = make()
    with suppress(StorageError), replacing(file) as temporary:
        write(temporary, made)
    return made


def sha256(name: str) -> str:
    """The registered digest of ``name``; ``md5:...`` where the registry has no SHA-256."""
    entry = _entry(name)
    return str(entry["sha256"]) if "sha256" in entry else f"md5:{entry['md5']}"


def used() -> dict[str, str]:
    """Digests of every file that this process has handed out; of a user's own as ``originals/...``, with sizes."""
    return dict(_used)


def select(names: list[str]) -> list[str]:
    """Registered files by name or by folder (``eval/sick2014``); all of them for an empty list.

    Raises:
        DataError: a name that is neither.
    """
    chosen: dict[str, None] = {} if names else dict.fromkeys(registry())
    for name in (name.strip("/") for name in names):
        found = [file for file in registry() if file == name or file.startswith(name + "/")]
        if not found:
            raise DataError(f"'{name}' is neither a registered file nor a folder of them; see `sentbook data list`.")
        chosen |= dict.fromkeys(found)
    return list(chosen)


def _entry(name: str) -> dict[str, Any]:
    try:
        return registry()[name]
    except KeyError:
        raise DataError(f"'{name}' is not a registered file; see `sentbook data list`.") from None


def find(name: str) -> Path | None:
    """Where ``name`` lies now, verified or not: mirror, then cache; else the same file among the originals, or None."""
    folders = [folder for folder in (mirror(), cache_folder()) if folder is not None]
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    return found or next((file for file in _owned(Path(name).name) if not _fault(name, file)), None)


def original(*names: str) -> Path | None:
    """The first of ``names``, plain or as .gz, that is in the folder of the originals or in a folder of it."""
    return next((file for name in names for one in (name, f"{name}.gz") for file in _owned(one)), None)


def _owned(name: str) -> Iterator[Path]:
    folder = originals()
    return (file for file in (folder / name, *sorted(folder.glob(f"*/{name}"))) if file.is_file())


def owned(*names: str) -> Path:
    """The original by its published ``names``, see `original`.

    Raises:
        DataError: it is not there; the sentence says where to put it.
    """
    if (found := original(*names)) is None:
        raise DataError(
            f"{names[0]} is not in {originals()}; put it there, plain or as .gz, or let SENTBOOK_ORIGINALS name the "
            "folder that has it."
        )
    return noted(found)


def noted(file: Path) -> Path:
    """``file``, an original or the user's own, kept for the run with its size and digest.

    Where it is not as published, a line says so: it is read all the same.
    """
    size, digest = file.stat().st_size, file_digest(file)
    if note(file.name, size, digest):
        known = _published().get(file.name, {})
        here = {"lines": str(_line_count(file)) if "lines" in known else "", "bytes": str(size), "sha256": digest}
        if differing := [f"{what} {here[what]}, not {known[what]}" for what in known if here[what] != str(known[what])]:
            print(f"{file.name} is not as published ({differing[0]}); what is here is read.")
    return file


def note(name: str, size: int, digest: str) -> bool:
    """Keep for the run what it reads of a user's own; whether that is new."""
    before, now = _used.get(f"originals/{name}"), f"{digest} ({size:,} bytes)"
    _used[f"originals/{name}"] = now
    return before != now


@cache
def _published() -> dict[str, dict[str, int | str]]:
    found: dict[str, dict[str, int | str]] = parse_yaml(
        (files("sentbook.data") / "originals.yaml").read_text(encoding="utf-8")
    )
    return found


def _line_count(file: Path) -> int:
    with file.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


def path(name: str) -> Path:
    """A verified file.

    Raises:
        DataError: unknown, missing and without an address, unreachable, or not what the registry says.
        StorageError: the cache cannot be written.
    """
    _entry(name)
    file = find(name)
    if file is None:
        file = download(name)
    else:
        verify(name, file)
    _used[name] = sha256(name)
    return file


def file_digest(file: Path, algorithm: str = "sha256") -> str:
    """The digest of a file, once a process for one that does not change (all registered ones together take 0.2 s)."""
    state = file.stat()
    return _digest(file, state.st_size, state.st_mtime_ns, algorithm)


@cache
def _digest(file: Path, size: int, modified: int, algorithm: str) -> str:
    return str(pooch.file_hash(str(file), alg=algorithm))


def _fault(name: str, file: Path) -> str | None:
    """What is wrong with ``file``, in words, or None when it is the registered ``name``."""
    entry, state = _entry(name), file.stat()
    algorithm = "sha256" if "sha256" in entry else "md5"
    if file_digest(file, algorithm) == entry[algorithm]:
        return None
    with file.open("rb") as stream:
        head = stream.read(512).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return "is an HTML page in place of data"
    if state.st_size < entry["bytes"]:
        return f"is truncated ({state.st_size:,} of {entry['bytes']:,} bytes)"
    return f"is not the registered file (its {'SHA-256' if algorithm == 'sha256' else 'MD5'} differs)"


def verify(name: str, file: Path) -> None:
    """Raise unless ``file`` is the registered ``name``.

    Raises:
        DataError: an HTML page, a truncated or another file, with the command that mends it.
    """
    try:
        fault = _fault(name, file)
    except OSError as error:
        raise DataError(f"{file} cannot be read ({error.strerror}); give yourself the right to read it.") from error
    if fault is None:
        return
    if _entry(name)["url"] is None:
        raise DataError(f"{name} {fault}; copy it again from a whole mirror to {file}.")
    # A mirror is never written to, and comes before the cache.
    first = "" if file == cache_folder() / name else f"delete {file} and "
    raise DataError(f"{name} {fault}; {first}run `sentbook data fetch {name}`.")


class _Capped(io.BufferedWriter):
    """A file that takes little more than ``most`` bytes, and raises OverflowError at those that follow."""

    most = 0

    def write(self, content: Any) -> int:
        if self.tell() + len(content) > self.most + _CHUNK:
            raise OverflowError
        return super().write(content)


def download(name: str) -> Path:
    """Fetch ``name`` into the cache, whatever lies there, and verify it.

    Raises:
        DataError: no address, no network, or what came is not the file.
        StorageError: the cache cannot be written.
    """
    entry, target = _entry(name), cache_folder() / name
    if entry["url"] is None:
        raise DataError(f"{name} can be had only from a mirror; set SENTBOOK_DATA to a mirror folder that holds it.")
    again = f"run `sentbook data fetch {name}` again, or set SENTBOOK_DATA to a mirror."
    with replacing(target, "free some space or set SENTBOOK_CACHE to a writable folder.") as temporary:
        try:
            fetch = pooch.HTTPDownloader(chunk_size=_CHUNK, timeout=30, headers={"Accept-Encoding": "identity"})
            with _Capped(temporary.open("wb", buffering=0)) as stream:
                stream.most = entry["bytes"]
                fetch(entry["url"], stream, None)
        except OverflowError:
            raise DataError(f"{name} was not downloaded: {entry['url']} has more than it should; {again}") from None
        except requests.RequestException as error:
            reason = "no connection"
            if isinstance(error, requests.exceptions.ChunkedEncodingError):
                reason = f"the connection broke before all {entry['bytes']:,} bytes were here"
            elif error.response is not None:
                reason = f"HTTP {error.response.status_code} from {entry['url']}"
            raise DataError(f"{name} could not be downloaded ({reason}); check the network and {again}") from error
        if fault := _fault(name, temporary):
            raise DataError(f"{name} was downloaded from {entry['url']} but {fault}; {again}")
    return target
