"""A toy checkout: two notebooks with their parameters, in a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat import v4

from sentbook.system.paths import root

ROOT = Path(__file__).resolve().parents[2]


def write_notebook(checkout: Path, name: str, *cells: str, prose: str = "# A toy") -> Path:
    """Write ``toy/<name>``: a title, a cell of parameters, and ``cells``."""
    parameters = v4.new_code_cell('profile = "demo"', metadata={"tags": ["parameters"]})
    content = [v4.new_markdown_cell(prose), parameters, *(v4.new_code_cell(cell) for cell in cells)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = checkout / "notebooks" / "toy" / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=content, metadata={"kernelspec": kernel}), path)
    return path


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SENTBOOK_ROOT", str(tmp_path))
    for variable in ("SENTBOOK_BATCH", "SENTBOOK_STAMP", "SENTBOOK_ARTIFACTS"):
        monkeypatch.delenv(variable, raising=False)
    for name in ("one", "two"):
        write_notebook(tmp_path, name, "print('epoch 1')", f"profile + '-{name}'")
    (tmp_path / "params" / "toy").mkdir(parents=True)
    (tmp_path / "params" / "toy" / "demo.yaml").write_text("profile: demo\n")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.md").write_text("# Toy\n")
    pages = [{"file": "book/_executed/toy/one"}, {"file": "book/_executed/toy/two"}]
    toc = {"format": "jb-book", "root": "book/index", "parts": [{"caption": "Toys", "chapters": pages}]}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc))
    (tmp_path / "_config.yml").write_text("execute: {execute_notebooks: 'off'}\n")
    shutil.copy(ROOT / "Snakefile", tmp_path)
    shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    root.cache_clear()
    yield tmp_path
    root.cache_clear()


@pytest.fixture
def write(checkout: Path) -> Callable[..., Path]:
    """Write a notebook of the checkout, see `write_notebook`."""
    return partial(write_notebook, checkout)
