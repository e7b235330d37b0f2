"""Record what a run was made from, and tell what of it has changed since.

A run is made from the files of this package that its process had loaded, the code of its notebook, the parameters, the
numbers and claims of its paper, its data, and what the encoders that it used were trained by. Each has a digest of what
can change a number: of Python without comments, docstrings and empty lines; of a notebook without its text; of
parameters without comments and order. A file that was not loaded cannot have changed a number, and to load another one,
one of these has to change. `sentbook.report_old` draws what is recorded: it counts for a page, not for a number.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from yaml import YAMLError

from sentbook.config import profile_files
from sentbook.data import sources as files
from sentbook.io import parse_yaml, root
from sentbook.records import Run
from sentbook.runs.loaded import PACKAGE, file_digest, loaded_sources

Digests = dict[str, str]
MISSING = "missing"
# What `changed` says of a run that does not tell its sources, and of one whose files have since been moved or removed.
UNKNOWN = ["unknown"]
EARLIER = ["earlier code"]
_PAPERS = "lib/sentbook/papers"
# Written from what runs have recorded, so that it is of no run's making.
AFTER = "causes.yaml"
# The file of the notebook that a kernel runs, where this package has begun the kernel.
NOTEBOOK = "SENTBOOK_NOTEBOOK"


@cache
def grid() -> dict[str, dict[str, Any]]:
    """Read what is known of each paper before its code is imported; see ``papers/grid.yaml``."""
    found: dict[str, dict[str, Any]] = parse_yaml((PACKAGE / "papers" / "grid.yaml").read_text(encoding="utf-8"))
    return found


def copied_to(name: str, namespace: Mapping[str, Any]) -> Path | None:
    """Find the copy of the notebook ``name`` that a kernel runs; None: that notebook itself, or nobody says which file.

    It is named by this package, by VS Code, by JupyterLab, or on the command line of papermill or nbconvert. A notebook
    that only calls for another one may be named too, so that the file counts where the study stands in it.

    Args:
        namespace: the kernel's ``globals()``.
    """
    told = [os.environ.get(NOTEBOOK), namespace.get("__vsc_ipynb_file__"), os.environ.get("JPY_SESSION_NAME")]
    with suppress(psutil.Error):
        if parent := psutil.Process().parent():
            told += [os.path.join(parent.cwd(), part) for part in parent.cmdline() if part.endswith(".ipynb")]
    for file in (Path(one) for one in told if one):
        with suppress(OSError):
            if json.dumps(f'Study("{name}"')[1:-1] in file.read_text(encoding="utf-8", errors="replace"):
                return None if file.resolve() == notebook_path(*name.split("/")).resolve() else file
    return None


def given(paper: str, experiment: str, profile: str, copy: Path | None = None) -> Digests:
    """Digest what a run is given, beside code: its notebook, its parameters, its paper's printed numbers and claims.

    Args:
        copy: the notebook, see `copied_to`.

    Raises:
        ConfigError: no checkout.
    """
    base = root()
    data = [file for ending in ("yaml", "csv") for file in (base / _PAPERS / paper).rglob(f"*.{ending}")]
    of_paper = sorted(file for file in data if file.name != AFTER)
    builds_on = grid().get(paper, {}).get("builds_on", [])
    parameters = [file for name in (paper, *builds_on) for file in profile_files(name, profile)]  # type: ignore[misc]
    names = [copy or notebook_path(paper, experiment), *parameters, *of_paper]
    return digests(os.path.relpath(path, base) for path in names if path.is_file())


def sources(given: Mapping[str, str], used: Iterable[Mapping[str, str]] = ()) -> Digests:
    """Digest all that can have changed the numbers of the run that this process makes, but for its data.

    Args:
        given: see `given`, of the run's start.
        used: the code of each encoder and outcome that it used, as its artifact records it. Where a file has changed
            since then, its digest of then stands: the run is marked as made from code that has changed.
    """
    now = loaded_sources()
    then = {name: value for each in used for name, value in each.items() if now.get(name) != value}
    return dict(sorted({**now, **given, **then}.items()))


def changed(run: Run) -> list[str]:
    """Name the data that differ from what ``run`` was made from; `EARLIER`: its version is below today's."""
    if run.stale:
        return list(EARLIER)
    # Of what the run's owner alone has, nothing can be said here.
    data = run.provenance.data.items()
    named = {f"data:{name}": value for name, value in sorted(data) if not name.startswith("originals/")}
    now = digests(named)
    return [name for name, value in named.items() if now[name] != value]


def digests(names: Iterable[str]) -> Digests:
    """Digest files as they are now, by their names relative to the checkout, or ``data:<name>``.

    Python and notebooks count by their code, YAML by its values, other files by their bytes.
    """
    return {name: _digest(name) for name in names}


def _digest(name: str) -> str:
    if name.startswith("data:"):
        file = name.removeprefix("data:")
        return files.sha256(file) if file in files.registry() else MISSING
    path = root() / name
    if not os.path.isfile(path):  # where `Path` would fail for a name that no file can have
        return MISSING
    if path.suffix == ".py":
        return file_digest(path)
    state = path.stat()
    return _content_digest(path, state.st_size, state.st_mtime_ns)


@cache
def _content_digest(path: Path, size: int, modified: int) -> str:
    content = path.read_bytes()
    with suppress(ValueError, KeyError, TypeError, YAMLError):  # damaged: whoever reads it says so
        if path.suffix == ".ipynb":
            cells = json.loads(content)["cells"]
            content = json.dumps(["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]).encode()
        elif path.suffix == ".yaml":
            content = json.dumps(parse_yaml(content), sort_keys=True, default=str).encode()
    return short(content)


def short(content: bytes) -> str:
    """Hash to 16 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()[:16]


def notebook_path(paper: str, experiment: str) -> Path:
    return root() / "notebooks" / paper / f"{experiment}.ipynb"
