"""What a run was made from: the files that its process loaded, its notebook's code, parameters by value, its data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from sentbook.data import sources
from sentbook.records import Provenance, Run
from sentbook.runs import lineage


def run(made_from: dict[str, str], data: dict[str, str] | None = None) -> Run:
    provenance = Provenance(
        git_commit="a" * 40, config={}, config_hash="0", python="3.11", data=data or {}, device="cpu",
        sources=made_from, started="2026-01-01", wall_seconds=1, peak_memory_bytes=1, seeds=[1],
    )  # fmt: skip
    return Run(paper="toy", experiment="one", profile="demo", provenance=provenance, metrics=[])


@pytest.fixture
def made_from(checkout: Path) -> dict[str, str]:
    return lineage.given("toy", "one", "demo")


def test_code_and_values_count_and_words_do_not(
    checkout: Path, write: Callable[..., Path], made_from: dict[str, str]
) -> None:
    assert set(made_from) == {"notebooks/toy/one.ipynb", "params/toy/demo.yaml"}
    assert lineage.changed(run(made_from)) == []
    write("one", "print('epoch 1')", "profile + '-one'", prose="# Other words")
    parameters = checkout / "params" / "toy" / "demo.yaml"
    parameters.write_text("# other words\n{profile: demo}\n")
    assert lineage.changed(run(made_from)) == []
    parameters.write_text("profile: demo\nseeds: [2]\n")
    write("one", "print('epoch 2')")
    assert lineage.changed(run(made_from)) == ["notebooks/toy/one.ipynb", "params/toy/demo.yaml"]
    for name in made_from:  # damaged, they are other files, of which their readers will speak
        (checkout / name).write_text('{"cells": [')
    assert lineage.changed(run(made_from)) == list(made_from)


def test_what_is_written_after_a_run_is_no_source_of_it(checkout: Path) -> None:
    paper = checkout / "lib" / "sentbook" / "papers" / "toy"
    paper.mkdir(parents=True)
    for name in ("claims.yaml", "causes.yaml"):
        (paper / name).write_text("claims: []\n")
    given = lineage.given("toy", "one", "demo")
    assert [name for name in given if "papers" in name] == ["lib/sentbook/papers/toy/claims.yaml"]


def test_python_counts_by_its_code(checkout: Path) -> None:
    file = checkout / "lib" / "sentbook" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text('"""Words."""\n\n\ndef f():\n    "Words."\n    return "# kept"  # words\n')
    made_from = lineage.digests(["lib/sentbook/a.py"])
    other = checkout / "lib" / "sentbook" / "b.py"
    other.write_text('def f():\n    return "# kept"\n')
    assert lineage.digests(["lib/sentbook/b.py"])["lib/sentbook/b.py"] == made_from["lib/sentbook/a.py"]


def test_data_count_by_the_digest_of_the_registry(checkout: Path, made_from: dict[str, str]) -> None:
    name, entry = next(iter(sources.registry().items()))
    assert lineage.changed(run(made_from, {name: entry["sha256"]})) == []
    assert lineage.changed(run(made_from, {name: "0", "eval/none": "0"})) == [f"data:{name}", "data:eval/none"]


def test_a_run_that_cannot_be_compared_says_so(checkout: Path, made_from: dict[str, str]) -> None:
    assert lineage.changed(run({})) == lineage.UNKNOWN
    assert lineage.changed(run(made_from | {"lib/sentbook/gone.py": "0"})) == lineage.EARLIER


def test_an_encoder_by_code_that_has_changed_since_marks_the_run(checkout: Path, made_from: dict[str, str]) -> None:
    name = "lib/sentbook/a.py"
    (checkout / "lib" / "sentbook").mkdir(parents=True)
    (checkout / name).write_text("X = 1\n")
    loaded = {path for path in lineage.sources(made_from) if path.startswith("lib/")}
    assert all(not path.startswith("lib/sentbook/report_old/") for path in loaded) and loaded
    then = lineage.sources({}, [{name: "trained by an earlier one"}])
    assert then[name] == "trained by an earlier one"


@pytest.mark.slow
def test_a_notebook_tells_the_files_that_it_loaded(tmp_path: Path) -> None:
    """Two encoders without a decoder load none; drawing and the command line are not counted."""
    cells = nbformat.read(Path(__file__).parents[2] / "notebooks" / "cse" / "table2.ipynb", as_version=4).cells
    lines = [line for cell in cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    tell = "import json; from sentbook.runs.loaded import loaded_sources; print(json.dumps(sorted(loaded_sources())))"
    code = "\n".join([*(line for line in lines if line.startswith(("from sentbook", "import sentbook"))), tell])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert "lib/sentbook/study.py" in found and "lib/sentbook/training/loop.py" in found
    assert not [name for name in found if "/report/" in name or "/papers/dnt/" in name or name.endswith("/cli.py")]
