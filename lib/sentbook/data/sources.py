"""Files of data: a registry of pinned addresses, digests, sizes and licences, and one way to a verified file.

Look-up order: the mirror folder ``SENTBOOK_DATA``, the cache (``SENTBOOK_CACHE``, else the user's), the originals, a
download. A file is verified after download and before use. What is missing, unreachable or not as registered is a
`DataError` that says how to get it; this holds for every reader of this room.
``tools/make_registry.py`` writes the registry from a mirror's manifests.
"""

import gzip
import io
import json
import os
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from sentbook.io import DataError, locked, originals, replacing

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
        Per file ``sha256``, ``bytes``, ``licence``, ``paper``, ``source`` in words, ``url`` (None: only from a mirror).
    """
    return dict(json.loads((files("sentbook.data") / "registry.json").read_text(encoding="utf-8")))


def cache_folder() -> Path:
    """Return where downloads are kept: ``SENTBOOK_CACHE``, or the user's cache folder."""
    return Path(os.environ.get("SENTBOOK_CACHE") or pooch.os_cache("sentbook")).expanduser()


def kept(name: str, make: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the arrays, memory-mapped, and lists of lines that ``make`` gives, made once and kept in the cache.

    Args:
        name: with a digest of all that decides them and the version of what makes them.
    """
    folder = cache_folder() / "derived" / name
    with locked(folder):
        if not (folder / "whole").is_dir():
            made = make()
            with replacing(folder / "whole") as making:
                making.mkdir()
                for key, value in made.items():
                    if isinstance(value, np.ndarray):
                        np.save(making / f"{key}.npy", value)
                    else:
                        (making / f"{key}.txt").write_bytes("".join(f"{line}\n" for line in value).encode())
        try:
            texts = {file.stem: file.read_bytes().decode().split("\n")[:-1] for file in folder.glob("whole/*.txt")}
            return texts | {file.stem: np.load(file, mmap_mode="r") for file in folder.glob("whole/*.npy")}
        except (OSError, EOFError, ValueError) as error:
            raise DataError(f"{folder} is damaged ({error}); delete this folder, then run again.") from error


def sha256(name: str) -> str:
    """Return the registered SHA-256 of ``name``."""
    return str(registry()[name]["sha256"])


def used() -> dict[str, str]:
    """Return digests of every file that this process handed out; of a user's own as ``originals/...``, with sizes."""
    return dict(_used)


def select(names: list[str]) -> list[str]:
    """Return registered files by name or by folder (``eval/sick2014``); all of them for an empty list."""
    found = {name: [file for file in registry() if f"{file}/".startswith(f"{name.strip('/')}/")] for name in names}
    if missing := [name for name, held in found.items() if not held]:
        raise DataError(f"'{missing[0]}' is neither a registered file nor a folder of them; see `sentbook data list`.")
    return [file for held in found.values() for file in held] if names else list(registry())


def find(name: str) -> Path | None:
    """Return where ``name`` lies now: mirror, then cache, verified or not; else the same file of the originals.

    Raises:
        DataError: ``SENTBOOK_DATA`` names no folder.
    """
    folders = [Path(folder).expanduser() for folder in (os.environ.get("SENTBOOK_DATA"), cache_folder()) if folder]
    if len(folders) > 1 and not folders[0].is_dir():
        raise DataError(f"SENTBOOK_DATA is {folders[0]}, where no folder is; name a mirror folder, or unset it.")
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    return found or next((file for file in _owned(Path(name).name) if _is_registered(name, file)), None)


def path(name: str) -> Path:
    """Return a verified file, downloaded where it is not here."""
    file = find(name)
    if file is None or (file == cache_folder() / name and not _is_registered(name, file)):
        file = _download(name)
    elif not _is_registered(name, file):
        raise DataError(f"{file} is not the registered {name}; copy it again from a whole mirror, or delete it.")
    _used[name] = sha256(name)
    return file


def _download(name: str) -> Path:
    entry = registry()[name]
    if entry["url"] is None:
        raise DataError(f"{name} comes only from a mirror; set SENTBOOK_DATA to a mirror folder that holds it.")
    remote = pooch.create(cache_folder(), base_url="", registry={name: sha256(name)}, urls={name: entry["url"]})
    fetch = pooch.HTTPDownloader(timeout=30, headers={"Accept-Encoding": "identity"})
    try:
        return Path(remote.fetch(name, downloader=fetch))
    except (OSError, ValueError) as error:
        raise DataError(
            f"{name} could not be fetched from {entry['url']} to {cache_folder()} ({error}); run "
            f"`sentbook data fetch {name}` again, or set SENTBOOK_DATA to a mirror or SENTBOOK_CACHE to another folder."
        ) from error


def _is_registered(name: str, file: Path) -> bool:
    return file_digest(file) == sha256(name)


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file, computed once a process while it does not change."""
    state = file.stat()
    return _digest(file, state.st_size, state.st_mtime_ns)


@cache
def _digest(file: Path, size: int, modified: int) -> str:
    return str(pooch.file_hash(str(file)))


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
            f"{names[0]} is not in {originals()}; put it there, plain or as .gz, as the page on data says, or let "
            "SENTBOOK_ORIGINALS name the folder that has it."
        )
    return noted(found)


def noted(path: Path | str) -> Path:
    """Return a file, an original or the user's own, kept for the run with its size and digest."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(f"The file {file} does not exist; let path name one.")
    note(file.name, file.stat().st_size, file_digest(file))
    return file


def note(name: str, size: int, digest: str) -> None:
    """Keep for the run what it reads of a user's own."""
    _used[f"originals/{name}"] = f"{digest} ({size:,} bytes)"


@contextmanager
def opened(file: Path) -> Iterator[gzip.GzipFile | io.BufferedReader]:
    """Open a user's file, plain or as .gz; one that cannot be read to its end is a `DataError` that names it."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            yield stream
    except (OSError, EOFError, UnicodeError, zlib.error) as error:
        raise DataError(f"{file} cannot be read ({error}); replace it by a whole file, text in UTF-8.") from error


def lines(file: Path, encoding: str = "utf-8-sig", errors: str = "strict") -> Iterator[str]:
    """Yield the lines of a file of text; they end at LF alone, since other marks of lines occur in sentences."""
    with opened(file) as stream, io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="\n") as text:
        yield from (line.rstrip("\r\n") for line in text)
