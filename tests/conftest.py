"""What tests of several rooms share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_data: needs the mirror of real data (SENTBOOK_DATA, or ../shared/data)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep a file's tests on one worker, where they share what they train; notebooks that run live go one by one."""
    for item in items:
        live = item.path.name == "test_notebooks_live.py"
        item.add_marker(pytest.mark.xdist_group(item.name if live else str(item.path)))


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of real data, which the test then uses; the test is skipped where there is none."""
    folder = Path(os.environ.get("SENTBOOK_DATA") or HERE.parent / "shared" / "data").resolve()
    if not folder.is_dir():
        pytest.skip(f"no mirror of real data at {folder}; set SENTBOOK_DATA")
    monkeypatch.setenv("SENTBOOK_DATA", str(folder))
    return folder


@pytest.fixture(scope="session")
def axes_shares() -> Callable[[str], list[tuple[float, float]]]:
    """Give width and height of each axes of a drawing by matplotlib, as shares of the whole."""

    def shares(svg: str) -> list[tuple[float, float]]:
        box = re.search(r'viewbox="0 0 ([\d.]+) ([\d.]+)"', svg, re.IGNORECASE)
        assert box is not None
        found = []
        for path in re.findall(r'id="[^"]*axes_\d+">\s*<g id="[^"]*patch_\d+">\s*<path d="([^"]+)"', svg):
            corners = [float(number) for number in re.findall(r"-?[\d.]+", path)]
            x, y = corners[0::2], corners[1::2]
            found.append(((max(x) - min(x)) / float(box[1]), (max(y) - min(y)) / float(box[2])))
        return found

    return shares
