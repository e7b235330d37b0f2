"""A paper comes in by files of its own alone, as CONTRIBUTING.md says: in a copy of the checkout, with one table."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat import v4

from sentbook.records import Run

ROOT = Path(__file__).resolve().parents[1]
PAPER = "lib/sentbook/papers/toy"
PROFILE = """
seeds: [1, 2]
settings:
  suite: miniworld
  resamples: 100
  vectors: {name: miniworld}
  phrase: {corpora: [miniworld-phrases], validation: miniworld, limit: 200, epochs: 1, batch_size: 50}
"""
FILES = {
    f"{PAPER}/__init__.py": "",
    f"{PAPER}/settings.py": """
from sentbook.models.average import AverageEncoder
from sentbook.training.settings import MarginTraining, Paper


class Settings(Paper):
    average: AverageEncoder = AverageEncoder()
    phrase: MarginTraining = MarginTraining()
""",
    f"{PAPER}/claims.yaml": """
claims:
  - {id: toy-01, in: table1, main: true, source: table 1, text: Training helps,
     beats: [trained, untrained], where: total_avg}
""",
    f"{PAPER}/printed/table1.csv": """paper,table,method,dataset,metric,value
toy,table1,trained,STS2012/MSRpar,pearson_x100,50.0
""",
    **{f"params/toy/{name}.yaml": f"profile: {name}{PROFILE}" for name in ("demo", "small", "paper")},
    "book/toy.md": "# A toy\n",
}
TABLE = (
    'profile = "demo"  # small is the same here\nseeds = None  # try [1]\nphrase = {}  # try {"epochs": 2}',
    """
from sentbook import report_old as report
from sentbook.evaluation.protocols import COSINE_PEARSON
from sentbook.report_old import tables
from sentbook.study import Study

study = Study("toy/table1", globals())
encoders = study.train(
    study.recipes("trained", study.settings.average, study.settings.phrase),
    study.recipes("untrained", study.settings.average, seeds=[0]),
)
scores = study.score(encoders)
""",
    """
run = study.record(
    metrics=scores.metric_rows(COSINE_PEARSON), tests=scores.table_tests("trained", "untrained", 100), book=scores
)
tables.comparison(report.View.of(run), pair=("trained", "untrained"))
""",
    'report.answer("toy/table1")',
)
ENTRY = {
    "name": "Toy", "authors": "Nobody et al.", "year": 2030, "title": "On toys", "address": "https://example.org/toy"
}  # fmt: skip


def section(title: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with one paper more; what it shares with this one it cannot change."""
    folder = tmp_path_factory.mktemp("checkout")
    made = shutil.ignore_patterns("__pycache__", "_api", "_executed", "_generated", "_runs")
    for name in ("lib", "params", "book", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=made)
    (folder / "results").mkdir()
    (folder / "results" / "small").symlink_to(ROOT / "results" / "small")
    shutil.copy(ROOT / "_toc.yml", folder)
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    cells = [v4.new_markdown_cell("# A toy\n"), *map(v4.new_code_cell, TABLE)]
    cells[1].metadata.tags = ["parameters"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    (folder / "notebooks" / "toy").mkdir()
    notebook = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "notebooks" / "toy" / "table1.ipynb")
    with (folder / "lib/sentbook/papers/papers.yaml").open("a", encoding="utf-8") as file:
        file.write(yaml.safe_dump({"toy": ENTRY}))
    toc = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))
    page = {"file": "book/toy", "sections": [{"file": "book/_executed/toy/table1"}]}
    toc["parts"].append({"caption": "Toys", "chapters": [page, {"file": "book/_runs/toy/table1"}]})
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    return folder


def call(checkout: Path, *arguments: str) -> str:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SENTBOOK_")}
    variables |= {"PYTHONPATH": str(checkout / "lib"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    made = subprocess.run(command, cwd=checkout, env=variables, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout


def test_the_text_names_every_file() -> None:
    said = {
        name
        for title in ("How to add a paper", "How to add a table")
        for name in re.findall("`([^`]+)`", section(title))
    }
    said = {name.replace("<paper>", "toy").replace("<name>", "table1") for name in said}
    assert FILES.keys() | {"notebooks/toy/table1.ipynb", "_toc.yml", "lib/sentbook/papers/papers.yaml"} <= said
    assert {"book/_executed/toy/table1", "book/_runs/toy/table1", "results/small/toy/table1.json"} <= said


@pytest.mark.parametrize("title", ["How to add an encoder", "How to add a table", "How to add a paper"])
def test_it_is_said_in_about_ten_lines(title: str) -> None:
    assert 5 <= len(section(title).strip().splitlines()) <= 16


@pytest.mark.slow
def test_its_notebook_runs_and_is_recorded(checkout: Path) -> None:
    call(checkout, "-m", "sentbook.cli", "run", "toy/table1")
    text = (checkout / "results/demo/toy/table1.json").read_text(encoding="utf-8")
    run = Run.model_validate_json(text)
    assert (run.paper, run.experiment, run.profile) == ("toy", "table1", "demo")
    assert {row.method for row in run.metrics} == {"trained", "untrained"}
    assert run.claims == []  # on toy data
    executed = nbformat.read(checkout / "build/executed/demo/toy/table1.ipynb", as_version=4)
    outputs = [output for cell in executed.cells for output in cell.get("outputs", ()) if "data" in output]
    shown = "".join(output["data"].get("text/html", "") for output in outputs)
    assert "50.0" in shown  # what the paper prints
    assert "Toy data" in shown  # the run just made
    assert "make run NOTEBOOK=toy/table1 PROFILE=small" in shown  # the answer: nothing is recorded yet


@pytest.mark.slow
def test_its_claims_are_known_and_its_page_is_planned(checkout: Path) -> None:
    asked = """
from sentbook import config
from sentbook.runs import batch, claims, papers
print([spec.id for spec in claims.claims("toy")], papers.paper_of("toy").heading, "toy" in config.papers())
print("notebooks/toy/table1" in batch.jobs("demo"))
"""
    assert call(checkout, "-c", asked).split("\n")[:2] == ["['toy-01'] Toy (Nobody et al. 2030) True", "True"]
