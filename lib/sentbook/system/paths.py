"""Where the project's folders are, from whichever directory a notebook or command was started."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from sentbook.system.errors import ConfigError


@cache
def root() -> Path:
    """The checkout: ``SENTBOOK_ROOT``, or the folder above this package that holds ``params/``.

    Raises:
        ConfigError: the package was installed away from a checkout and ``SENTBOOK_ROOT`` is not set.
    """
    named = os.environ.get("SENTBOOK_ROOT")
    candidates = [Path(named)] if named else [*Path(__file__).resolve().parents, *[Path.cwd(), *Path.cwd().parents]]
    for folder in candidates:
        if (folder / "params").is_dir() and (folder / "_toc.yml").is_file():
            return folder
    raise ConfigError("No sentbook checkout found; set SENTBOOK_ROOT to the folder that holds params/ and _toc.yml.")


def originals() -> Path:
    """What the papers used and nobody may hand on: ``SENTBOOK_ORIGINALS``, or ``originals`` of the checkout."""
    return Path(os.environ.get("SENTBOOK_ORIGINALS") or root() / "originals").expanduser().absolute()


def artifacts() -> Path:
    """Trained encoders and checkpoints: ``SENTBOOK_ARTIFACTS``, or ``build/artifacts`` of the checkout."""
    return Path(os.environ.get("SENTBOOK_ARTIFACTS") or root() / "build" / "artifacts").expanduser().absolute()
