"""The lessons, ``notebooks/<paper>/model.ipynb``: plain torch that is what the package computes, and runs again."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from sentbook.data.text import tokenise_ptb
from sentbook.data.vectors import load

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted(ROOT.glob("notebooks/*/model.ipynb"))


# What makes an encoder of the lesson's class, and the vectors of the package's with its numbers, of (B, T) ids.
def cells(path: Path) -> list[Any]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def run(path: Path, names: dict[str, Any], **parameters: Any) -> None:
    """Run a lesson's cells in the namespace ``names``, parameters changed."""
    for cell in cells(path):
        exec(compile(cell.source, f"{path.parent.name}/{cell.id}", "exec"), names)
        if "parameters" in cell.metadata.get("tags", []):
            names.update(parameters)


def test_every_paper_has_one() -> None:
    assert {path.parent.name for path in LESSONS} == {"cse", "cnn_lstm", "wsv", "dnt"}


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.parent.name)
def test_it_runs_twice_with_other_sentences(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    run(path, names, rounds=1)
    first, said = names["encoder"] if "encoder" in names else names["pretrained"], capsys.readouterr().out
    run(path, names, rounds=1, first="two dogs", second="one old cat is sleeping")
    assert (names.get("encoder") or names["pretrained"]) is not first
    assert said and capsys.readouterr().out != said


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.parent.name)
def test_it_is_a_page_of_its_own_kind(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    first, last = notebook.cells[0], notebook.cells[-1]
    assert first.source.startswith("# ") and "> " in first.source and "**What to look for:**" in first.source
    assert "## Try this" in last.source and last.source.count("\n1. ") == 1
    (parameters,) = (cell for cell in cells(path) if "parameters" in cell.metadata.get("tags", []))
    names = [target.id for line in ast.parse(parameters.source).body for target in line.targets]  # type: ignore[attr-defined]
    assert 5 <= len(names) <= 8 and {"first", "second", "rounds", "start"} <= set(names)
    source = "\n".join(cell.source for cell in cells(path))
    stored = re.findall(rf"^({'|'.join(names)}) =", source.replace(parameters.source, ""), re.MULTILINE)
    assert stored == []  # else a second run would find a parameter overwritten
    assert "report.dial(" in source and "nn.Module" in source and "\nassert apart < 1e-6" in source


def test_the_words_of_a_lesson_s_sentences_are_known() -> None:
    known = set(load("miniworld").words)
    for path in LESSONS:
        parameters: dict[str, Any] = {}
        exec(next(cell.source for cell in cells(path) if "parameters" in cell.metadata.get("tags", [])), parameters)
        assert {*tokenise_ptb(parameters["first"]), *tokenise_ptb(parameters["second"])} <= known
