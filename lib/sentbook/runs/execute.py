"""Where executed notebooks lie, for the old report room; see `sentbook.cli` for what executes them."""

from __future__ import annotations

import re
from pathlib import Path

from sentbook.io import SentbookError, root


class NotebookError(SentbookError):
    """A notebook, or the book, failed."""

    exit_code = 8


def say(line: str) -> None:
    print(line, flush=True)


def executed_path(source: Path, profile: str) -> Path:
    return root() / "build" / "executed" / profile / source.parent.name / source.name


def tail(text: str, lines: int) -> str:
    return "\n".join(without_colours(text).strip().splitlines()[-lines:])


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
