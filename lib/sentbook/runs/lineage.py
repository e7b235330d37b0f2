"""Tell whether a recorded run is stale, for the old report room; see `sentbook.records.Run.stale`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sentbook.io import PACKAGE, parse_yaml, root
from sentbook.records import Run

# What `changed` says of a run that does not tell its sources, and of one of an earlier version.
UNKNOWN = ["unknown"]
EARLIER = ["earlier code"]


@cache
def grid() -> dict[str, dict[str, Any]]:
    """Read what is known of each paper before its code is imported; see ``papers/grid.yaml``."""
    found: dict[str, dict[str, Any]] = parse_yaml((PACKAGE / "papers" / "grid.yaml").read_text(encoding="utf-8"))
    return found


def changed(run: Run) -> list[str]:
    """Return `EARLIER` where the version of a run is below today's."""
    return list(EARLIER) if run.stale else []


def notebook_path(paper: str, experiment: str) -> Path:
    return root() / "notebooks" / paper / f"{experiment}.ipynb"
