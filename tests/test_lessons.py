"""The lessons, ``notebooks/<paper>/model.ipynb``: plain torch that is what the package computes, and runs again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

lessons = pytest.mark.parametrize(
    "path",
    sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*/model.ipynb")),
    ids=lambda path: path.parent.name,
)


def run(path: Path, names: dict[str, Any], **parameters: Any) -> None:
    """Run a lesson's cells in the namespace ``names``, parameters changed."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, f"{path.parent.name}/{cell.id}", "exec"), names)
        if "parameters" in cell.metadata.get("tags", []):
            names.update(parameters)


@pytest.mark.slow
@lessons
def test_it_runs_twice_with_other_sentences(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    run(path, names, rounds=1)
    first, said = names["encoder"] if "encoder" in names else names["pretrained"], capsys.readouterr().out
    run(path, names, rounds=1, first="two dogs", second="one old cat is sleeping")
    assert (names.get("encoder") or names["pretrained"]) is not first
    assert said and capsys.readouterr().out != said


@lessons
def test_it_is_a_page_of_its_own_kind(path: Path) -> None:
    first, *cells, last = nbformat.read(path, as_version=4).cells
    assert first.source.startswith("# ") and "**What to look for:**" in first.source and "## Try this" in last.source
    (parameters,) = (cell.source for cell in cells if "parameters" in cell.metadata.get("tags", []))
    names = re.findall(r"^(\w+) =", parameters, re.MULTILINE)
    assert {"first", "second", "rounds", "start"} <= {*names}
    source = "\n".join(cell.source for cell in cells if cell.source != parameters)
    assert not re.search(rf"^({'|'.join(names)}) =", source, re.MULTILINE)  # else a second run would overwrite it
    assert "report.dial(" in source and "nn.Module" in source and "\nassert apart < 1e-6" in source
