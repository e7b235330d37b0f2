"""What tests of data share: files of a registry of their own, and a cache of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from sentbook.data import sources

Put = Callable[[str, bytes], str]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Writes a file into a mirror of its own, registered with the digest it has."""
    table: dict[str, dict] = {}
    monkeypatch.setenv("SENTBOOK_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "registry", lambda: table)

    def write(name: str, content: bytes) -> str:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        table[name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "url": None}
        return name

    return write
