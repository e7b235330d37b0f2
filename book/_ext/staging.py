"""Lay out executed notebooks as pages: ``build/executed/<profile>`` to ``book/_executed``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[2]
EXECUTED = "book/_executed"
# Code is folded, not removed, so that a reader can see how a number came about.
FOLDED, OPEN, OWN_RUN = "hide-input", ("show-code", "parameters"), "your-run"
# A line of a training's progress begins with its name and seed in brackets; one cut in two ends with its speed.
_PROGRESS = re.compile(
    r"^(?:\[[^\n]+, (?:seed|run) \d+[^]\n]*\].*|.*\bepoch \d+/\d+\b.*|waiting for another process.*)\n?", re.MULTILINE
)
_CLOCK = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_SHEET = re.compile(r'(<div class="sentbook">)<style>.*?</style>', re.DOTALL)  # the book loads it once
_WIDGET = "application/vnd.jupyter.widget-view+json"  # no kernel listens to a page


class StagingError(Exception):
    """An executed notebook is missing, cut short, or holds an error."""


def notebook_pages() -> list[str]:
    """Return the notebooks of the table of contents, as ``cse/table1``, in its order."""
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(rf"file: *{EXECUTED}/(\S+)", toc)


def stage(profile: str) -> None:
    """Write ``book/_executed`` from the executed notebooks of a profile; remove pages that are no longer listed."""
    pages = notebook_pages()
    for page in pages:
        notebook = lay_out(_read(page, profile), demo_line(page, profile), run_link(page))
        for number, cell in enumerate(notebook.cells):
            cell["id"] = f"{Path(page).stem}-{number:02d}"
        target = ROOT / EXECUTED / f"{page}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(nbformat.writes(notebook), encoding="utf-8")
    for old in (ROOT / EXECUTED).glob("*/*.ipynb"):
        if f"{old.parent.name}/{old.stem}" not in pages:
            old.unlink()


def lay_out(executed: nbformat.NotebookNode, own_run: str = "", link: str = "") -> nbformat.NotebookNode:
    """Fold code, drop the output of the reader's own run, and take out progress, clock times and this machine.

    Args:
        executed: as papermill wrote it.
        own_run: the line that takes the place of what the cells tagged ``your-run`` show.
        link: HTML that ends the caption of each table and figure.

    Raises:
        StagingError: a cell holds an error; a strict build would show it without failing.
    """
    errors = [output for cell in executed.cells for output in cell.get("outputs", []) if output.output_type == "error"]
    if errors or executed.metadata.get("papermill", {}).get("exception"):
        raise StagingError("a cell ended with an error")
    page = nbformat.from_dict(executed)
    page.metadata = {key: page.metadata[key] for key in ("kernelspec", "language_info") if key in page.metadata}
    page.cells = [cell for cell in page.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    lines = [own_run] * bool(own_run)
    for cell in page.cells:
        tags = set(cell.metadata.get("tags", []))
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        cell.metadata["tags"] = sorted(tags if tags.intersection(OPEN) else {*tags, FOLDED})
        if OWN_RUN in tags:
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=lines.pop())] if lines else []
        else:
            cell.outputs = [_cleaned(output, link) for output in cell.outputs if _shows_something(output)]
    return page


def run_link(page: str) -> str:
    """Return a link from a notebook's page to the page of its recorded run; empty where nothing is recorded."""
    recorded = [name for name in ("small", "paper") if (ROOT / "results" / name / f"{page}.json").is_file()]
    return f' <a href="../../_runs/{recorded[0]}/{page}.html">Run details</a>' if recorded else ""


def demo_line(page: str, profile: str) -> str:
    """Say in one line that a run finished, from its record; empty where there is none, as of a lesson."""
    record = ROOT / "build" / "runs" / profile / f"{page}.json"
    if not record.is_file():
        return ""
    run = json.loads(record.read_text(encoding="utf-8"))
    seconds = run["provenance"]["wall_seconds"]
    return f"{profile.capitalize()} run finished: {len(run['metrics'])} numbers in {seconds:.0f} s."


def _read(page: str, profile: str) -> nbformat.NotebookNode:
    file = ROOT / "build" / "executed" / profile / f"{page}.ipynb"
    if not file.is_file():
        raise StagingError(f"{page} was not executed yet; run `sentbook batch --profile {profile} {page}`.")
    try:
        notebook = nbformat.read(file, as_version=4)
        lay_out(notebook)
    except (ValueError, AttributeError, TypeError, nbformat.ValidationError, StagingError) as error:
        again = f"sentbook run {page} --profile {profile}"
        raise StagingError(f"{file.relative_to(ROOT)}: {error}; run it again by `{again}`.") from None
    return notebook


def _shows_something(output: nbformat.NotebookNode) -> bool:
    """Tell whether a page keeps an output: printed text that is not progress alone, or data; no warnings."""
    if output.output_type == "stream":
        return output.name == "stdout" and bool(_PROGRESS.sub("", output.text).strip())
    return any(output.get("data", {}).values())


def _cleaned(output: nbformat.NotebookNode, link: str) -> nbformat.NotebookNode:
    """Take out of an output what differs from run to run or shows this machine."""
    if output.output_type == "stream":
        output.text = _PROGRESS.sub("", output.text)
    else:
        output.data.pop(_WIDGET, None)
        output.metadata = {}
        if html := "".join(output.data.get("text/html", "")):
            html = _SHEET.sub(r"\1", html)
            if "sb-plot" in html or "sb-scroll" in html:
                html = html.replace("</figcaption>", f"{link}</figcaption>")
            output.data["text/html"] = re.sub(r'(href="(?:\.\./)?[\w/]+)\.ipynb', r"\1.html", html)
    if output.output_type == "execute_result":
        output.execution_count = None
    return nbformat.from_dict(_without_machine(output))


def _without_machine(value: Any) -> Any:
    """Replace the checkout by ``.``, the home folder by ``~`` and clock times by dates, in all text of ``value``."""
    if isinstance(value, str):
        for folder, name in ((ROOT, "."), (Path.home(), "~")):
            if folder != Path(folder.anchor):
                value = re.sub(rf"(?<![\w.~-]){re.escape(str(folder))}(?![\w.-])", name, value)
        return _CLOCK.sub(lambda clock: clock[0][:10], value)
    if isinstance(value, dict):
        return {key: _without_machine(part) for key, part in value.items()}
    return [_without_machine(part) for part in value] if isinstance(value, list) else value
