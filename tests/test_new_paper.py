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
SETTINGS = """
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
from sentbook.training.objectives import MarginTraining, Paper


class Settings(Paper):
    average: AverageEncoder = AverageEncoder()
    phrase: MarginTraining = MarginTraining()
""",
    f"{PAPER}/claims.yaml": """
claims:
  - {id: toy-01, in: table1, main: true, source: table 1, text: Training helps,
     rule: beats, of: [trained, untrained], where: total_avg}
""",
    f"{PAPER}/printed/table1.csv": """paper,table,method,dataset,metric,value
toy,table1,trained,STS2012/MSRpar,pearson_x100,50.0
""",
    **{f"params/toy/{name}.yaml": f"profile: {name}{SETTINGS}" for name in ("demo", "small", "paper")},
    "book/toy.md": "# A toy\n",
}
CELLS = (
    'from sentbook import report\n\npage = report.page("toy/table1")\npage.verdict()',
    'profile = "demo"\nseeds = None\nphrase = {}\nsettings = {}',
    """
from sentbook.evaluation.protocols import COSINE_PEARSON
from sentbook.study import Study
from sentbook.training.recipes import recipes

study = Study("toy/table1", profile=profile, seeds=seeds, settings=settings, phrase=phrase)
s = study.settings
runs = study.train(recipes(s, "trained", s.average, s.phrase), recipes(s, "untrained", s.average, seeds=[0]))
scores = study.score(runs)
run = study.record(scores, protocol=COSINE_PEARSON, tests=scores.table_tests("trained", "untrained", s.resamples))
""",
    'page.comparison(["trained"], difference=("trained", "untrained"), run=run)',
    "page.details()",
)


def section(title: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with one paper more; what it shares with this one it cannot change."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("lib", "params", "notebooks", "workflow"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("_toc.yml", "_config.yml", "Snakefile", "requirements.lock"):
        shutil.copy(ROOT / name, folder)
    (folder / "results").symlink_to(ROOT / "results")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    cells = [v4.new_markdown_cell("# A toy\n"), *map(v4.new_code_cell, CELLS)]
    cells[2].metadata.tags, cells[4].metadata.tags = ["parameters"], ["your-run"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    (folder / "notebooks" / "toy").mkdir()
    notebook = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "notebooks" / "toy" / "table1.ipynb")
    with (folder / "lib/sentbook/papers/papers.yaml").open("a", encoding="utf-8") as file:
        file.write("toy: {name: Toy}\n")
    toc = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))
    page = {"file": "book/toy", "sections": [{"file": "book/_executed/toy/table1"}]}
    toc["parts"].append({"caption": "Toys", "chapters": [page]})
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    return folder


def call(checkout: Path, *arguments: str) -> str:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SENTBOOK_")}
    variables |= {"PYTHONPATH": str(checkout / "lib"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=checkout, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_text_names_every_file() -> None:
    titles = ("How to add a paper", "How to add a table")
    said = {name for title in titles for name in re.findall("`([^`]+)`", section(title))}
    said = {name.replace("<paper>", "toy").replace("<name>", "table1") for name in said}
    assert FILES.keys() | {"notebooks/toy/table1.ipynb", "_toc.yml", "lib/sentbook/papers/papers.yaml"} <= said
    assert {"book/_executed/toy/table1", "results/small/toy/table1.json"} <= said


@pytest.mark.slow
def test_its_page_runs_and_its_claims_are_known(checkout: Path) -> None:
    call(checkout, "-m", "sentbook.cli", "batch", "toy/table1", "--jobs", "1")
    run = Run.model_validate_json((checkout / "build/runs/demo/toy/table1.json").read_bytes())
    assert (run.name, run.profile) == ("toy/table1", "demo")
    assert {row.method for row in run.metrics} == {"trained", "untrained"}
    executed = nbformat.read(checkout / "build/executed/demo/toy/table1.ipynb", as_version=4)
    outputs = [output for cell in executed.cells for output in cell.get("outputs", ()) if "data" in output]
    shown = "".join(output["data"].get("text/html", "") for output in outputs)
    assert "sentbook run toy/table1 --profile small --record" in shown  # nothing is recorded yet
    assert "untrained" in shown  # the run just made
    code = "from sentbook.judge.claims import claims, papers; print(claims()['toy-01'].page, papers()['toy'].name)"
    assert call(checkout, "-c", code) == "toy/table1 Toy\n"
