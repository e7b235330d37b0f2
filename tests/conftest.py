"""What tests of several rooms share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_data: needs the mirror of real data (SENTBOOK_DATA, or ../shared/data)")


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of real data, which the test then uses; the test is skipped where there is none."""
    folder = Path(os.environ.get("SENTBOOK_DATA") or HERE.parent / "shared" / "data").resolve()
    if not folder.is_dir():
        pytest.skip(f"no mirror of real data at {folder}; set SENTBOOK_DATA")
    monkeypatch.setenv("SENTBOOK_DATA", str(folder))
    return folder
