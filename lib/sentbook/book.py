"""From notebooks to the built book: execute what changed, lay it out, write the generated fragments, build.

    notebooks/<paper>/<name>.ipynb  --papermill-->  build/executed/<profile>/<paper>/<name>.ipynb
                                    --stage----->   book/_executed/<paper>/<name>.ipynb  (what _toc.yml lists)
    results/<profile>/...           --pages----->   book/_generated/*.md
                                    --jupyter-book-->  _build/html

Each step is skipped when nothing it reads has changed since it last succeeded.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
import yaml

from sentbook.errors import SentbookError
from sentbook.paths import root
from sentbook.results import write_atomically


class NotebookError(SentbookError):
    """A notebook, or the book, failed."""

    exit_code = 8


def say(line: str) -> None:
    print(line, flush=True)


# -- what a step reads -------------------------------------------------------------------------------------------------


def _digest(files: Iterable[Path], *extra: object) -> str:
    digest = hashlib.sha256(json.dumps(extra, sort_keys=True, default=str).encode())
    for file in sorted(set(files)):
        if file.is_file():
            digest.update(str(file.relative_to(root())).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _package() -> list[Path]:
    folder = root() / "lib" / "sentbook"
    return [path for path in folder.rglob("*") if path.suffix in (".py", ".csv", ".yaml", ".json", ".css")]


def _inputs(source: Path, profile: str) -> list[Path]:
    """What an executed notebook depends on: itself, its parameters, the package, the recorded runs it shows."""
    paper = source.parent.name
    recorded = (root() / "results" / "small" / paper).glob("*.json")
    return [source, root() / "params" / paper / f"{profile}.yaml", *recorded, *_package()]


# -- execution ---------------------------------------------------------------------------------------------------------


def executed_path(source: Path, profile: str) -> Path:
    return root() / "build" / "executed" / profile / source.parent.name / source.name


def execute(source: Path, profile: str, parameters: Mapping[str, Any]) -> float:
    """Run one notebook with papermill in a process of its own; seconds taken.

    A notebook that fails keeps its partial output at `executed_path`.

    Raises:
        NotebookError: with the error's last line.
    """
    target = executed_path(source, profile)
    target.parent.mkdir(parents=True, exist_ok=True)
    clock = time.monotonic()
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", "--log-level", "ERROR", "--cwd", str(root()),
               "-y", json.dumps(dict(parameters)), str(source), str(target)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        name = f"{source.parent.name}/{source.stem}"
        raise NotebookError(
            f"Notebook {name} failed: {_last_error(target, done.stderr)} Its output so far is {target}."
        )
    return time.monotonic() - clock


def _last_error(target: Path, log: str) -> str:
    """``Kind: sentence`` of the failed cell, or the end of papermill's log where no cell was run."""
    if target.is_file():
        for cell in nbformat.read(target, as_version=4).cells:
            for output in cell.get("outputs", []):
                if output.get("output_type") == "error":
                    return f"{output['ename']}: {output['evalue']}"
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", log).strip().splitlines()[-3:]) or "no message."


def _execute_if_changed(source: Path, profile: str) -> None:
    stamp = executed_path(source, profile).with_suffix(".stamp")
    digest = _digest(_inputs(source, profile))
    name = f"{source.parent.name}/{source.stem}"
    if stamp.is_file() and executed_path(source, profile).is_file() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)
    seconds = execute(source, profile, {"profile": profile})
    write_atomically(stamp, digest)
    say(f"  {name}  {seconds:.0f} s")


def notebooks() -> list[Path]:
    """Every notebook that the table of contents lists, in its order.

    Raises:
        NotebookError: the table of contents names one that does not exist.
    """
    listed: list[Path] = []

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            file = node.get("file", "")
            if file.startswith("book/_executed/"):
                listed.append(root() / "notebooks" / f"{file.removeprefix('book/_executed/')}.ipynb")
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(yaml.safe_load((root() / "_toc.yml").read_text(encoding="utf-8")))
    for path in listed:
        if not path.is_file():
            raise NotebookError(f"_toc.yml lists {path.stem}, but {path} does not exist; write it or take it out.")
    return listed


# -- laying out --------------------------------------------------------------------------------------------------------

# Folded, not removed: a reader may want to see how a number came about.
_FOLDED = "hide-input"
_PRIVATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+")


def lay_out(executed: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """An executed notebook as a page: code folded, machine paths and clock times out of its metadata.

    Raises:
        NotebookError: a cell holds an error; a strict build would show it without failing.
    """
    page = nbformat.from_dict(executed)
    page.metadata = nbformat.from_dict(
        {key: page.metadata[key] for key in ("kernelspec", "language_info") if key in page.metadata}
    )
    kept = []
    for cell in page.cells:
        tags = list(cell.metadata.get("tags", []))
        if any(output.get("output_type") == "error" for output in cell.get("outputs", [])):
            raise NotebookError("A cell of an executed notebook holds an error; run it again before building the book.")
        if "papermill-error-cell-tag" in tags:
            continue
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.execution_count = None
            progress = [output for output in cell.outputs if output.output_type == "stream"]
            cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
            if progress:  # one line an epoch of every training: folded with the code
                tags.append("sentbook-progress")
            cell.metadata["tags"] = sorted({*tags, _FOLDED})
        kept.append(cell)
    page.cells = kept
    return page


def _stage(source: Path, profile: str) -> None:
    page = lay_out(nbformat.read(executed_path(source, profile), as_version=4))
    for number, cell in enumerate(page.cells):
        cell["id"] = f"{source.stem}-{number:02d}"
    target = root() / "book" / "_executed" / source.parent.name / source.name
    text = nbformat.writes(page)
    if not target.is_file() or target.read_text(encoding="utf-8") != text:
        write_atomically(target, text)


def _fragments() -> dict[str, str]:
    """The generated pieces of Markdown that the book's pages include."""
    from sentbook.report import fragments  # imports matplotlib, which a failing run need not wait for

    return fragments.all_fragments()


# -- the whole ---------------------------------------------------------------------------------------------------------


def build(profile: str, jobs: int) -> Path:
    """Execute, lay out and build; the address of the first page.

    Raises:
        NotebookError: notebooks failed (all others were run first), or the strict build did.
    """
    sources = notebooks()
    say(f"notebooks ({profile}):")
    failures: list[str] = []
    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(_execute_if_changed, source, profile) for source in sources]:
            try:
                future.result()
            except SentbookError as error:
                failures.append(str(error))
                say(f"  failed: {error}")
    if failures:
        raise NotebookError(f"{len(failures)} of {len(sources)} notebooks failed; the first: {failures[0]}")
    for source in sources:
        _stage(source, profile)
    for name, text in _fragments().items():
        target = root() / "book" / "_generated" / name
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            write_atomically(target, text)
    return _build_html()


def _build_html() -> Path:
    index, stamp = root() / "_build" / "html" / "index.html", root() / "build" / "book.stamp"
    pages = [path for path in (root() / "book").rglob("*") if path.is_file()]
    digest = _digest([*pages, root() / "_config.yml", root() / "_toc.yml"])
    if not (index.is_file() and stamp.is_file() and stamp.read_text() == digest):
        say("book: building")
        # --all: an incremental build keeps stale fragments. -W -n: every warning, a broken reference too, is an error.
        command = [
            str(Path(sys.executable).with_name("jupyter-book")),
            "build",
            str(root()),
            "--all",
            "-W",
            "-n",
            "--keep-going",
        ]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        log = root() / "build" / "book.log"
        write_atomically(log, done.stdout + done.stderr)
        if done.returncode:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "WARNING" in line or "ERROR" in line]
            stamp.unlink(missing_ok=True)
            raise NotebookError(f"The book did not build; {(lines or ['see the log'])[0]} (all of it in {log}).")
        write_atomically(stamp, digest)
    say(f"book: {index}")
    return index


def run_one(source: Path, profile: str, parameters: Mapping[str, Any]) -> Path:
    """Run one notebook and write its page as one HTML file that needs no network.

    Raises:
        NotebookError: see `execute`.
    """
    say(f"{source.parent.name}/{source.stem} ({profile})")
    seconds = execute(source, profile, parameters)
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(
        exclude_input=True,
        require_js_url="",
        jquery_url="",
        mathjax_url=(root() / "book" / "_static" / "mathjax" / "tex-svg.js").as_uri(),
    )
    page = lay_out(nbformat.read(executed_path(source, profile), as_version=4))
    body, _ = exporter.from_notebook_node(page)
    target = root() / "build" / "pages" / profile / source.parent.name / f"{source.stem}.html"
    write_atomically(target, body)
    say(f"done in {seconds:.0f} s")
    return target
