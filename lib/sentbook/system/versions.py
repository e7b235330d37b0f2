"""Versions that a number depends on: of the packages, of Python, of the code."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path

from sentbook.system.paths import root

RECORDED_PACKAGES = ("torch", "numpy", "scipy", "pandas", "scikit-learn", "sentbook")


def packages() -> dict[str, str]:
    """Read the versions of the packages that decide a number."""
    return {name: importlib.metadata.version(name) for name in RECORDED_PACKAGES}


def python_version() -> str:
    """Name the interpreter's version, such as ``3.11.9``."""
    return platform.python_version()


def git_commit() -> str:
    """Name the commit of the working tree; ``+changes`` where code or its lock differs, ``unknown`` outside git.

    A copy of the project that was unpacked within another repository is of no commit of that one.
    """
    changed = ("status", "--porcelain", "--", "lib", "notebooks", "params", "requirements.lock")
    try:
        folder, commit, changes = (
            subprocess.run(
                ["git", "-C", str(root()), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (("rev-parse", "--show-toplevel"), ("rev-parse", "HEAD"), changed)
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    if Path(folder).resolve() != root().resolve():
        return "unknown"
    return f"{commit}+changes" if changes else commit
