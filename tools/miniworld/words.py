"""The word lists of the mini-world, text files in the folder ``words``."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def tables(name: str) -> dict[str, tuple[str, ...]]:
    """The lines of each ``[section]`` of ``words/<name>.txt``; empty lines and comments (``#``) are left out."""
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "words" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            section.append(line)
    return {section: tuple(lines) for section, lines in found.items()}


def texts(cell: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(text.strip() for text in cell.split(","))


def phrases(name: str, section: str) -> tuple[str, ...]:
    """Every phrase of a section whose lines are lists of phrases with commas between."""
    return tuple(text for line in tables(name)[section] for text in texts(line))
