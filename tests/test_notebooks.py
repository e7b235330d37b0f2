"""Each notebook as a product: it reads like a page of a book, is stored clean, and takes only parameters that exist."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml

from sentbook import config

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted(ROOT.glob("notebooks/*/model.ipynb"))  # have tests of their own
EVERY = sorted(ROOT.glob("notebooks/*/*.ipynb"))
GAPS = ROOT / "notebooks" / "cross" / "gaps.ipynb"  # draws records, and makes none
PAGES = [path for path in EVERY if path not in (*LESSONS, GAPS)]
START = ROOT / "notebooks" / "start.ipynb"  # lists the others, no page of the book
LONGEST_CELL = 40  # lines of a screen
Notebook = nbformat.NotebookNode


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def read(path: Path) -> Notebook:
    return nbformat.read(path, as_version=4)


def code(notebook: Notebook) -> list[Notebook]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def defaults(path: Path) -> dict[str, Any]:
    """What the parameters cell assigns, which has to be plain values, one name a line."""
    (cell,) = (cell for cell in code(read(path)) if "parameters" in cell.metadata.get("tags", []))
    found = {}
    for statement in ast.parse(cell.source).body:
        assert isinstance(statement, ast.Assign), "a parameters cell holds assignments only"
        (target,) = statement.targets
        found[ast.unparse(target)] = ast.literal_eval(statement.value)
    return found


pages = pytest.mark.parametrize("path", PAGES, ids=name)
every = pytest.mark.parametrize("path", [*EVERY, START], ids=name)


def test_every_notebook_is_a_page_of_the_book() -> None:
    listed = re.findall(r"file: book/_executed/(\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == list(map(name, EVERY))


@every
def test_it_is_valid_and_stored_without_outputs(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code(notebook))
    assert "papermill" not in notebook.metadata
    assert not re.search(r"(?<![\w.])/(home|Users|root|tmp|mnt|work)/", path.read_text(encoding="utf-8"))


@every
def test_its_code_is_short_and_calls_the_package(path: Path) -> None:
    cells = code(read(path))
    assert [cell.source for cell in cells if len(cell.source.splitlines()) > LONGEST_CELL] == []
    assert [cell.source for cell in cells if not ast.parse(cell.source).body] == []  # no `!` and no `%` either
    source = "\n".join(cell.source for cell in cells)
    assert "from sentbook" in source
    assert not re.search(r"\b(pip|conda) install\b|sys\.path|os\.chdir|subprocess", source)


@pages
def test_its_parameters_exist_and_leave_every_profile_as_it_is(path: Path) -> None:
    values, paper = defaults(path), path.parent.name
    assert 5 <= len(values) <= 9 and values["profile"] == "demo"
    assert {"profile", "seeds", "settings"} <= values.keys()
    for profile in config.PROFILES:
        assert config.load(paper, {**values, "profile": profile}) == config.load(paper, {"profile": profile})


@pages
def test_it_hands_its_parameters_over_and_records(path: Path) -> None:
    source = "\n".join(cell.source for cell in code(read(path)))
    call = re.search(rf'Study\(\s*"{name(path)}",(.*?)\n?\)', source, re.DOTALL)
    assert call is not None and ".record(" in source
    assert {*re.findall(r"(\w+)=(\w+)", call[1])} == {(parameter, parameter) for parameter in defaults(path)}
    assert re.search(rf'report\.page\(\s*"{name(path)}"', source)


@pytest.mark.parametrize("file", sorted(ROOT.glob("params/*/*.yaml")), ids=name)
def test_no_number_of_the_parameters_is_read_as_text(file: Path) -> None:
    """YAML 1.1 reads ``1e-3`` as text; papermill would hand it over as such."""
    held = json.dumps(yaml.safe_load(file.read_bytes()), default=str)
    for text in [text for text, key in re.findall(r'"([^"]*)"(:?)', held) if not key]:
        with pytest.raises(ValueError, match="could not convert"):
            float(text)
