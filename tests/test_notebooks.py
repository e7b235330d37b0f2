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
from sentbook.report_old import book
from sentbook.runs.claims import specifications
from sentbook.runs.contents import is_lesson

ROOT = Path(__file__).resolve().parents[1]
EVERY = sorted(ROOT.glob("notebooks/*/*.ipynb"))
NOTEBOOKS = [path for path in EVERY if not is_lesson(path)]  # lessons have tests of their own
START = ROOT / "notebooks" / "start.ipynb"  # the list of all others, no page of the book
PARAMETERS = sorted(ROOT.glob("params/*/*.yaml"))
LONGEST_CELL = 40  # lines of a screen


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.fixture(params=NOTEBOOKS, ids=name, scope="module")
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(params=[*EVERY, START], ids=name, scope="module")
def any_path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(scope="module")
def any_notebook(any_path: Path) -> nbformat.NotebookNode:
    return nbformat.read(any_path, as_version=4)


@pytest.fixture(scope="module")
def notebook(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tagged(notebook: nbformat.NotebookNode, tag: str) -> nbformat.NotebookNode:
    (cell,) = (cell for cell in code(notebook) if tag in cell.metadata.get("tags", []))
    return cell


def defaults(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    """What the parameters cell assigns, which has to be plain values."""
    values: dict[str, Any] = {}
    for statement in ast.parse(tagged(notebook, "parameters").source).body:
        assert isinstance(statement, ast.Assign), "a parameters cell holds assignments only"
        value = ast.literal_eval(statement.value)
        for target in statement.targets:
            if isinstance(target, ast.Tuple):
                values |= {ast.unparse(one): part for one, part in zip(target.elts, value, strict=True)}
            else:
                values[ast.unparse(target)] = value
    return values


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


def test_every_notebook_is_a_page_of_the_book() -> None:
    assert sorted(book.notebooks()) == EVERY


def test_the_first_notebook_lists_every_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[str] = []
    monkeypatch.setattr("IPython.display.display", lambda shown: tables.append(shown.data))
    source = "\n".join(cell.source for cell in code(nbformat.read(START, as_version=4)))
    inside: dict[str, Any] = {}
    exec(source, inside)
    once = len(tables)
    exec(source, inside)
    assert tables[:once] == tables[once:]
    lines = [line.split(" | ") for line in "\n".join(tables[:once]).splitlines() if line.startswith("| [")]
    links = [re.search(r"\]\((.*?)\.ipynb\)", line[0]) for line in lines]
    assert sorted(link[1] for link in links if link) == list(map(name, EVERY))
    assert all(len(line) == 5 and len(line[-1]) > 20 for line in lines)  # each with something to try


def test_it_is_valid_and_stored_without_outputs(any_notebook: nbformat.NotebookNode) -> None:
    nbformat.validate(any_notebook)
    for cell in code(any_notebook):
        assert cell.outputs == []
        assert cell.execution_count is None
    assert "papermill" not in any_notebook.metadata


def test_it_opens_with_a_title_and_then_says_what_it_tests(any_notebook: nbformat.NotebookNode) -> None:
    first = any_notebook.cells[0]
    assert first.cell_type == "markdown"
    title, _, rest = first.source.partition("\n")
    assert title.startswith("# ")
    assert len(rest.split()) >= 15
    headings = [
        line for cell in any_notebook.cells if cell.cell_type == "markdown" for line in cell.source.splitlines()
    ]
    assert len([line for line in headings if re.match("# ", line)]) == 1


def test_it_answers_first_and_closes_with_what_to_try(path: Path, notebook: nbformat.NotebookNode) -> None:
    answer, parameters = code(notebook)[:2]
    assert f'report.answer("{name(path)}")' in answer.source
    opening = notebook.cells[0].source
    judged = any(f"{spec.paper}/{spec.experiment}" == name(path) for spec in specifications().values())
    if "?" in opening.splitlines()[0] or not judged:  # no claim answers it
        assert re.search(r"\n\n\*\*Found:\*\* .{40,}\.\Z", opening, re.DOTALL)
    assert parameters is tagged(notebook, "parameters")
    assert "Try this" in notebook.cells[-1].source
    assert f'Study("{name(path)}", globals())' in "".join(cell.source for cell in code(notebook))


def test_it_lists_three_to_eight_parameters(notebook: nbformat.NotebookNode) -> None:
    found = defaults(notebook)
    assert 3 <= len(found) <= 8
    assert {"profile", "seeds"} <= found.keys()


def test_one_cell_shows_the_main_table(notebook: nbformat.NotebookNode) -> None:
    assert tagged(notebook, "main-table")


def test_no_variable_is_called_as_a_parameter(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Else a second run of all cells would find it overwritten."""
    parameters = tagged(notebook, "parameters")
    fields = config.settings_class(path.parent.name).model_fields.keys()
    for cell in code(notebook):
        stored = {
            node.id for node in ast.walk(ast.parse(cell.source))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }  # fmt: skip
        assert cell is parameters or not stored & fields


def test_its_parameters_exist_and_run_the_demo(path: Path, notebook: nbformat.NotebookNode) -> None:
    values = defaults(notebook)
    assert values["profile"] == "demo"
    settings = config.load(path.parent.name, values)
    assert settings == config.load(path.parent.name, {"profile": "demo"})


def test_its_parameters_leave_every_profile_as_it_is(path: Path, notebook: nbformat.NotebookNode) -> None:
    for profile in config.PROFILES:
        settings = config.from_notebook(path.parent.name, defaults(notebook) | {"profile": profile})
        assert settings == config.load(path.parent.name, {"profile": profile})


def test_its_code_is_short_and_calls_the_package(any_notebook: nbformat.NotebookNode) -> None:
    for cell in code(any_notebook):
        assert len(cell.source.splitlines()) <= LONGEST_CELL
        ast.parse(cell.source)  # no `!` and no `%`, which are not Python
    source = "\n".join(cell.source for cell in code(any_notebook))
    assert "from sentbook" in source
    assert not re.search(r"\b(pip|conda) install\b|sys\.path|os\.chdir|subprocess", source)


def test_it_names_no_folder_of_a_machine(any_path: Path) -> None:
    text = any_path.read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert not re.search(r"(?<![\w.])/(home|Users|root|tmp|mnt)/", text)


@pytest.mark.parametrize("file", PARAMETERS, ids=name)
def test_no_number_of_the_parameters_is_read_as_text(file: Path) -> None:
    """YAML 1.1 reads ``1e-3`` as text; papermill would hand it over as such."""
    held = json.dumps(yaml.safe_load(file.read_bytes()), default=str)
    for text in [text for text, key in re.findall(r'"([^"]*)"(:?)', held) if not key]:
        with pytest.raises(ValueError, match="could not convert"):
            float(text)
