# What runs for a profile: shared encoders -> notebooks -> the book. `sentbook batch` calls it; so does `snakemake --cores 2`.
#
# A job runs again when its inputs, its parameters or the code of the package change; `sentbook batch -n` lists these. Trained
# encoders and recorded runs are no outputs, since Snakemake deletes the outputs of a job that fails.
import ast
import hashlib
import os
import re
import sys
from functools import cache
from pathlib import Path

import yaml
from sentbook.config import profile_values
from sentbook.io import SentbookError
from snakemake.exceptions import WorkflowError

PYTHON, PROFILE = sys.executable, config.get("profile", "demo")
RECORD = "--record" if config.get("record") in (True, "True") else ""
AT, EXECUTED = f"build/batch/{PROFILE}", f"build/executed/{PROFILE}"
GRID = yaml.safe_load(Path("lib/sentbook/papers/grid.yaml").read_text())
NOTEBOOKS = re.findall(r"file: book/_executed/(\S+)", Path("_toc.yml").read_text())
TARGETS = str(config.get("targets") or ("book" if PROFILE == "demo" else "notebooks")).split(",")
# Searches take hours and are recorded once: but for the demo they run by name, and other pages read what is committed.
SEARCHES = [name for name in NOTEBOOKS if name.endswith("/tuning")]
# Pages of data that only their owner may hold are left out where these are not there.
ORIGINALS = Path(os.environ.get("SENTBOOK_ORIGINALS") or "originals")
NEEDS = {f"{paper}/{page}": folder for paper, of in GRID.items() for page, folder in of.get("needs", {}).items()}
LEFT_OUT = [] if "searches" in TARGETS else SEARCHES
LEFT_OUT = [*LEFT_OUT, *(page for page, folder in NEEDS.items() if not (ORIGINALS / folder).is_dir())]
LEFT_OUT = [] if PROFILE == "demo" else LEFT_OUT
# Without the book's pages that are made from notebooks and records.
MADE = {"_api", "_executed", "_runs", "__pycache__"}
TEXT = [str(file) for file in Path("book").rglob("*") if file.is_file() and not MADE & set(file.parts)]
GPU = {"gpu": 1} if PROFILE == "paper" else {}
# For a cluster; twice as much where the first attempt did not end.
MEGABYTES = {"demo": 2_000, "small": 6_000, "paper": 24_000}[PROFILE]
MINUTES = {"demo": 30, "small": 480, "paper": 2_880}[PROFILE]
# How many trainings of a paper run side by side; a damaged file of parameters stops here, in one sentence.
try:
    CORES = {one.parent.name: profile_values(one.parent.name, PROFILE).get("jobs", 1) for one in Path("params").glob(f"*/{PROFILE}.yaml")}
except SentbookError as error:
    raise WorkflowError(str(error)) from None


def encoders(paper):
    """The stamps of the encoders that pages of a paper share. Those of the demo train in seconds: one job a paper."""
    names = GRID.get(paper, {}).get("encoders", [])
    names = ["all"] if names and PROFILE == "demo" else names
    return [f"{AT}/encoders/{paper}/{name.replace(' ', '_')}.done" for name in names]


def papers(paper):
    return [paper, *GRID.get(paper, {}).get("builds_on", [])]


def parameters(paper):
    return [f"params/{name}/{PROFILE}.yaml" for name in papers(paper)]


def shown(paper, page):
    """What a page shows besides its own run: printed numbers, claims, causes, the recorded run and search."""
    files = [*Path("lib/sentbook/papers", paper).rglob("*.yaml"), *Path("lib/sentbook/papers", paper).rglob("*.csv")]
    recorded = [Path("results", kind, paper) for kind in ("small", "paper") if kind != PROFILE]
    files += [file for folder in recorded for file in folder.glob(f"{page}.*")]
    if f"{paper}/tuning" in LEFT_OUT and page != "tuning":
        files += Path("results").glob(f"*/{paper}/tuning.json")
    files += Path("results").glob("*/*/*.json") if page == "gaps" else []  # it draws the records of all papers
    return sorted({str(file) for file in files})


def before(paper, page):
    """The stamps and pages that a page waits for: encoders, and the search whose choices it trains with."""
    first = [f"{paper}/{name}" for name in GRID.get(paper, {}).get("first", [])]
    waits = [name for name in first if name in NOTEBOOKS and name not in LEFT_OUT]
    pages = [] if f"{paper}/{page}" in first else [f"{EXECUTED}/{name}.ipynb" for name in waits]
    return [stamp for name in papers(paper) for stamp in encoders(name)] + pages


def _is_docstring(part):
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


@cache
def bare(file):
    """A module without comments and docstrings."""
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(getattr(node, "body", None), list):
            node.body = [part for part in node.body if not _is_docstring(part)]
    return ast.dump(tree).encode()


@cache
def code(*of):
    """Digest the package, its templates and data too, without the folders of papers other than ``of``."""
    digest = hashlib.sha256()
    for file in sorted(Path("lib/sentbook").rglob("*.*")):
        shared = file.parts[2] != "papers" or len(file.parts) == 4
        if file.suffix == ".py" and (shared or file.parts[3] in of):
            digest.update(bare(file))
        elif shared and file.is_file() and "__pycache__" not in file.parts:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def wanted():
    """The files of the targets: pages, papers, ``encoders``, ``searches``, ``notebooks`` and ``book``."""
    levels = {"book": [f"{AT}/book.done"], "encoders": [stamp for paper in GRID for stamp in encoders(paper)]}
    levels["searches"] = [f"{EXECUTED}/{page}.ipynb" for page in SEARCHES]
    levels["notebooks"] = [f"{EXECUTED}/{page}.ipynb" for page in NOTEBOOKS if page not in LEFT_OUT]
    if "book" in TARGETS and LEFT_OUT:
        raise WorkflowError(f"The book needs every page, and not here: {', '.join(LEFT_OUT)}; build it by `make book`.")
    for target in TARGETS:
        name = target.removeprefix("notebooks/").removesuffix(".ipynb")
        named = [page for page in NOTEBOOKS if page == name or page.startswith(f"{name}/") and page not in LEFT_OUT]
        pages = [f"{EXECUTED}/{page}.ipynb" for page in named]
        if not levels.get(name, pages):
            raise WorkflowError(f"'{target}' is no page, paper or level; name one of {', '.join([*levels, *NOTEBOOKS])}.")
        yield from levels.get(name, pages)


if not Path("_build/html/index.html").is_file():
    Path(AT, "book.done").unlink(missing_ok=True)
localrules: all, book


rule all:
    input: list(wanted())


rule encoder:
    input: lambda w: parameters(w.paper)
    output: touch(f"{AT}/encoders/{{paper}}/{{encoder}}.done")
    log: f"{AT}/encoders/{{paper}}/{{encoder}}.log"
    benchmark: f"{AT}/encoders/{{paper}}/{{encoder}}.tsv"
    message: "encoders of {wildcards.paper}: {wildcards.encoder}"
    threads: lambda w: GRID[w.paper].get("jobs") or CORES.get(w.paper, 1)
    resources: mem_mb=lambda w, attempt: attempt * MEGABYTES, runtime=lambda w, attempt: attempt * MINUTES, **GPU
    params: name=lambda w: "" if w.encoder == "all" else w.encoder.replace("_", " "), code=lambda w: code(w.paper)
    shell:
        "{PYTHON:q} -m sentbook.cli train {wildcards.paper} {params.name:q} --profile {PROFILE} -p jobs {threads}"
        " > {log} 2>&1"


rule notebook:
    input:
        "notebooks/{paper}/{page}.ipynb", "requirements.lock",
        lambda w: parameters(w.paper), lambda w: shown(w.paper, w.page), lambda w: before(w.paper, w.page),
    output: f"{EXECUTED}/{{paper}}/{{page}}.ipynb"
    log: f"{AT}/{{paper}}/{{page}}.log"
    benchmark: f"{AT}/{{paper}}/{{page}}.tsv"
    message: "{wildcards.paper}/{wildcards.page}"
    threads: lambda w: CORES.get(w.paper, 1)
    resources: mem_mb=lambda w, attempt: attempt * MEGABYTES, runtime=lambda w, attempt: attempt * MINUTES, **GPU
    params: code=lambda w: code(*papers(w.paper)), record=RECORD
    shell: "{PYTHON:q} -m sentbook.cli run {wildcards.paper}/{wildcards.page} --profile {PROFILE} {params.record} > {log} 2>&1"


rule book:
    input:
        [f"{EXECUTED}/{name}.ipynb" for name in NOTEBOOKS], TEXT, "_toc.yml", "_config.yml",
        [str(file) for file in Path("results").glob("*/*/*.*")],
    output: touch(f"{AT}/book.done")
    log: f"{AT}/book.log"
    message: "book"
    params: code=code(*GRID)
    shell: "rm -f build/batch/*/book.done; cd book; {PYTHON:q} -m _ext.build --profile {PROFILE} > ../{log} 2>&1"
