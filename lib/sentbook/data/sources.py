"""Files of data: a registry of pinned addresses, digests, sizes and licences, and one way to a verified file.

Look-up order: the mirror folder ``SENTBOOK_DATA``, the cache (``SENTBOOK_CACHE``, else the user's), the originals, a
download. A file is verified after download and before use. What is missing, unreachable or not as registered is a
`DataError` that says how to get it; this holds for every reader of this room.
``tools/make_registry.py`` writes the registry from a mirror's manifests.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import requests
from numpy.typing import NDArray

from sentbook.io import DataError, StorageError, originals, parse_yaml, replacing

with warnings.catch_warnings():
    # pooch brings a progress bar that warns in every notebook without ipywidgets.
    warnings.simplefilter("ignore")
    import pooch

pooch.get_logger().setLevel("WARNING")
_used: dict[str, str] = {}


@cache
def registry() -> dict[str, dict[str, Any]]:
    """Return every file by its name ``<kind>/<dataset>/<file>``.

    Returns:
        Per file ``sha256`` (or ``md5``, where its publisher gives no other), ``bytes``, ``licence``, ``paper``,
        ``source`` in words, ``url`` (None: only from a mirror).
    """
    table: dict[str, dict[str, Any]] = json.loads(
        (files("sentbook.data") / "registry.json").read_text(encoding="utf-8")
    )
    return table


def mirror() -> Path | None:
    """Return the folder named by ``SENTBOOK_DATA``, or None."""
    named = os.environ.get("SENTBOOK_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(f"SENTBOOK_DATA names {folder}, which is no folder; correct it or unset it.")
    return folder


def cache_folder() -> Path:
    """Return where downloads are kept: ``SENTBOOK_CACHE``, or the user's cache folder."""
    return Path(os.environ.get("SENTBOOK_CACHE") or pooch.os_cache("sentbook")).expanduser()


def kept(name: str, make: Callable[[], dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that ``make`` gives, made once and kept in the cache; a damaged file is made again.

    A cache that cannot be written costs the time to make them, not the run.

    Args:
        name: with a digest of all that decides them and the version of what makes them.
    """
    file = cache_folder() / "derived" / f"{name}.npz"
    damaged = suppress(OSError, EOFError, ValueError, zipfile.BadZipFile)
    with damaged, file.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
        return {key: held[key] for key in held.files}
    made = make()
    with suppress(StorageError), replacing(file) as temporary, temporary.open("wb") as written:
        np.savez(written, **made)  # type: ignore[arg-type]
    return made


def packed(lines: Sequence[str]) -> NDArray[np.uint8]:
    """Return lines as one array of bytes, see `unpacked`."""
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def unpacked(array: NDArray[np.uint8]) -> list[str]:
    """Return the lines of an array of bytes."""
    return array.tobytes().decode().split("\n")


def sha256(name: str) -> str:
    """Return the registered digest of ``name``; ``md5:...`` where the registry has no SHA-256."""
    entry = _entry(name)
    return str(entry["sha256"]) if "sha256" in entry else f"md5:{entry['md5']}"


def used() -> dict[str, str]:
    """Return digests of every file that this process handed out; of a user's own as ``originals/...``, with sizes."""
    return dict(_used)


def select(names: list[str]) -> list[str]:
    """Return registered files by name or by folder (``eval/sick2014``); all of them for an empty list."""
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
    """Return where ``name`` lies now: mirror, then cache, verified or not; else the same file of the originals."""
    folders = [folder for folder in (mirror(), cache_folder()) if folder is not None]
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    return found or next((file for file in _owned(Path(name).name) if _is_registered(name, file)), None)


def path(name: str) -> Path:
    """Return a verified file, downloaded where it is not here."""
    file = find(name)
    if file is None or (file == cache_folder() / name and not _is_registered(name, file)):
        file = download(name)
    elif not _is_registered(name, file):
        raise DataError(f"{file} is not the registered {name}; copy it again from a whole mirror, or delete it.")
    _used[name] = sha256(name)
    return file


def download(name: str) -> Path:
    """Return ``name`` in the cache, fetched where it is not there or damaged."""
    entry, folder = _entry(name), cache_folder()
    if entry["url"] is None:
        raise DataError(f"{name} comes only from a mirror; set SENTBOOK_DATA to a mirror folder that holds it.")
    digest = f"sha256:{entry['sha256']}" if "sha256" in entry else sha256(name)
    files = pooch.create(folder, base_url="", registry={name: digest}, urls={name: entry["url"]})
    fetch = pooch.HTTPDownloader(timeout=30, headers={"Accept-Encoding": "identity"})
    try:
        return Path(files.fetch(name, downloader=fetch))
    except (requests.RequestException, ValueError) as error:
        again = f"run `sentbook data fetch {name}` again, or set SENTBOOK_DATA to a mirror"
        raise DataError(f"{name} could not be downloaded from {entry['url']} ({_short(error)}); {again}.") from error
    except OSError as error:
        remedy = "free some space or set SENTBOOK_CACHE to a writable folder"
        raise StorageError(f"{folder / name} could not be written ({error.strerror or error}); {remedy}.") from error


def _short(error: Exception) -> str:
    if isinstance(error, ValueError):
        return "what came is not the registered file"
    response = getattr(error, "response", None)
    return "no connection" if response is None else f"HTTP {response.status_code}"


def _is_registered(name: str, file: Path) -> bool:
    entry = _entry(name)
    algorithm = "sha256" if "sha256" in entry else "md5"
    try:
        return file_digest(file, algorithm) == entry[algorithm]
    except OSError as error:
        raise DataError(f"{file} cannot be read ({error.strerror}); give yourself the right to read it.") from error


def file_digest(file: Path, algorithm: str = "sha256") -> str:
    """Return the digest of a file, computed once a process while it does not change."""
    state = file.stat()
    return _digest(file, state.st_size, state.st_mtime_ns, algorithm)


@cache
def _digest(file: Path, size: int, modified: int, algorithm: str) -> str:
    return str(pooch.file_hash(str(file), alg=algorithm))


# -- a user's own files ------------------------------------------------------------------------------------------------


def original(*names: str) -> Path | None:
    """Return the first of ``names``, plain or as .gz, in the folder of the originals or a folder of it; or None."""
    return next((file for name in names for one in (name, f"{name}.gz") for file in _owned(one)), None)


def _owned(name: str) -> Iterator[Path]:
    folder = originals()
    return (file for file in (folder / name, *sorted(folder.glob(f"*/{name}"))) if file.is_file())


def owned(*names: str) -> Path:
    """Return the original by its published ``names``, see `original`."""
    if (found := original(*names)) is None:
        raise DataError(
            f"{names[0]} is not in {originals()}; put it there, plain or as .gz, or let SENTBOOK_ORIGINALS name the "
            "folder that has it."
        )
    return noted(found)


def noted(file: Path) -> Path:
    """Return ``file``, an original or the user's own, kept for the run with its size and digest.

    Where it is not as published, a line says so: it is read all the same.
    """
    size, digest = file.stat().st_size, file_digest(file)
    if note(file.name, size, digest):
        known = _published().get(file.name, {})
        here = {"bytes": str(size), "sha256": digest}
        if "lines" in known:
            with file.open("rb") as stream:
                here["lines"] = str(sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b"")))
        if differing := [f"{what} {here[what]}, not {known[what]}" for what in known if here[what] != str(known[what])]:
            print(f"{file.name} is not as published ({differing[0]}); what is here is read.")
    return file


def note(name: str, size: int, digest: str) -> bool:
    """Keep for the run what it reads of a user's own; return whether that is new."""
    before, now = _used.get(f"originals/{name}"), f"{digest} ({size:,} bytes)"
    _used[f"originals/{name}"] = now
    return before != now


@cache
def _published() -> dict[str, dict[str, int | str]]:
    return dict(parse_yaml((files("sentbook.data") / "originals.yaml").read_text(encoding="utf-8")))
