"""From executed notebooks to the built book: lay out, write the generated fragments, build.

    build/executed/<profile>/<paper>/<name>.ipynb  --stage----->   book/_executed/<paper>/<name>.ipynb  (see _toc.yml)
    results/<profile>/...                          --pages----->   book/_generated/*.md
                                                   --jupyter-book-->  _build/html

What executes notebooks is `sentbook.runs.execute`, and for all that changed `sentbook.runs.batch`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from sentbook.io import root, write_atomically
from sentbook.report_old.dial import WIDGET
from sentbook.report_old.style import without_sheet
from sentbook.runs.contents import notebooks
from sentbook.runs.execute import NotebookError, executed_path, say, tail, without_colours


def digest_of(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        if file.is_file():
            digest.update(os.path.relpath(file, root()).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


# -- laying out --------------------------------------------------------------------------------------------------------

# Folded, not removed: a reader may want to see how a number came about. A cell that is the page's point stands open.
_FOLDED, _OPEN = "hide-input", "show-code"
# A line of a training's progress begins with its name in brackets; one that was cut in two ends with its speed.
_PROGRESS = re.compile(r"^(?:\[[^]\n]+\].*|.*\bepoch \d+/\d+\b.*)\n?", re.MULTILINE)


def _without_machine(value: Any) -> Any:
    """``value`` with this machine's folders out of all its text: the checkout becomes ``.``, the home folder ``~``."""
    if isinstance(value, str):
        for folder, name in ((root(), "."), (Path.home(), "~")):
            if folder != Path(folder.anchor):
                value = re.sub(rf"(?<![\w.~-]){re.escape(str(folder))}(?![\w.-])", name, value)
        return value
    if isinstance(value, Mapping):
        return {key: _without_machine(part) for key, part in value.items()}
    return [_without_machine(part) for part in value] if isinstance(value, list) else value


def _shows_something(output: nbformat.NotebookNode) -> bool:
    """Tell what a page keeps: neither warnings nor progress alone, nor a figure of a run that was not made."""
    if output.output_type == "stream":
        return output.name == "stdout" and bool(output.text.strip())
    data = output.get("data", {})
    return bool(data.get("text/html", True)) and any(data.values())


def lay_out(executed: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """An executed notebook as a page: code folded, progress lines, clock times and this machine's folders taken out.

    Raises:
        NotebookError: a cell holds an error; a strict build would show it without failing.
    """
    page = nbformat.from_dict(executed)
    page.metadata = nbformat.from_dict(
        {key: page.metadata[key] for key in ("kernelspec", "language_info") if key in page.metadata}
    )
    if executed.metadata.get("papermill", {}).get("exception"):
        raise NotebookError("An executed notebook was stopped by an exception; run it again before building the book.")
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
            for output in cell.outputs:
                if output.output_type == "stream":
                    output.text = _PROGRESS.sub("", output.text)
            shown = [_without_machine(output) for output in cell.outputs if _shows_something(output)]
            cell.outputs = [nbformat.from_dict(output) for output in shown]
            for output in cell.outputs:
                output.get("data", {}).pop(WIDGET, None)  # no kernel listens to a page
                if "metadata" in output:
                    output.metadata = nbformat.from_dict({})
                if output.output_type == "execute_result":
                    output.execution_count = None
            cell.metadata["tags"] = sorted(set(tags) if _OPEN in tags else {*tags, _FOLDED})
        kept.append(cell)
    page.cells = kept
    return page


def _executed(source: Path, kind: str) -> nbformat.NotebookNode:
    """Read the output of a notebook.

    Raises:
        NotebookError: it is not there, or cut short.
    """
    name, file = f"{source.parent.name}/{source.stem}", executed_path(source, kind)
    if not file.is_file():
        raise NotebookError(f"{name} was not executed yet; run `sentbook batch --profile {kind} {name}`.")
    try:
        return nbformat.read(file, as_version=4)
    except (ValueError, AttributeError, TypeError, nbformat.ValidationError):  # no JSON, or another's
        again = f"sentbook run {name} --profile {kind}"
        raise NotebookError(f"{file} is no whole notebook; run it again by `{again}`.") from None


def _stage(source: Path, profile: str) -> None:
    from sentbook.report_old import pedigree  # imports pandas

    page = lay_out(_executed(source, profile))
    for number, cell in enumerate(page.cells):
        cell["id"] = f"{source.stem}-{number:02d}"
    pedigree.link_outputs(page, f"book/_executed/{source.parent.name}/{source.stem}")
    for cell in page.cells:
        for output in cell.get("outputs", []):
            if html := output.get("data", {}).get("text/html"):
                output["data"]["text/html"] = without_sheet("".join(html))
    target = root() / "book" / "_executed" / source.parent.name / source.name
    text = nbformat.writes(page)
    if not target.is_file() or target.read_text(encoding="utf-8") != text:
        write_atomically(target, text)


def _fragments(of_papers: Callable[[], Mapping[str, str]]) -> dict[str, str]:
    """The generated pieces of Markdown that pages include; the pages of runs and package are written on the way."""
    from sentbook.report_old import api, fragments, run_pages  # which import matplotlib

    api.write()
    run_pages.write()
    return fragments.all_fragments(of_papers())


# -- the whole ---------------------------------------------------------------------------------------------------------


def build(profile: str, of_papers: Callable[[], Mapping[str, str]] = dict) -> Path:
    """Lay out what was executed, and build; the first page.

    Args:
        profile: whose executed notebooks become pages. There is one book a checkout: it takes another profile's place.
        of_papers: makes the pieces of pages that serve one paper alone: file name in ``book/_generated`` to text.

    Raises:
        NotebookError: a notebook was not executed or its output is cut short, or the strict build failed.
    """
    sources = notebooks()
    for source in sources:
        _stage(source, profile)
    listed = {(source.parent.name, source.name) for source in sources}
    for page in (root() / "book" / "_executed").glob("*/*.ipynb"):
        if (page.parent.name, page.name) not in listed:
            page.unlink()
    for name, text in _fragments(of_papers).items():
        target = root() / "book" / "_generated" / name
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            write_atomically(target, text)
    return _build_html()


def _build_html() -> Path:
    index, stamp = root() / "_build" / "html" / "index.html", root() / "build" / "book.stamp"
    pages = [path for path in (root() / "book").rglob("*") if path.is_file()]
    digest = digest_of([*pages, *(root() / name for name in ("_config.yml", "_toc.yml", "requirements.lock"))])
    if not (index.is_file() and stamp.is_file() and stamp.read_bytes() == digest.encode()):
        say("book: building")
        # --all: an incremental build keeps stale fragments. -W -n: every warning, a broken reference too, is an error.
        # Built elsewhere: until it changes places the old one stands, and then no page of a file that is gone is left.
        made = root() / "build" / "book"
        shutil.rmtree(made, ignore_errors=True)
        tool = str(Path(sys.executable).with_name("jupyter-book"))
        command = [tool, "build", str(root()), "--path-output", str(made), "--all", "-W", "-n", "--keep-going"]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        said, log = without_colours(done.stdout + done.stderr), root() / "build" / "book.log"
        write_atomically(log, said)
        if done.returncode:
            stamp.unlink(missing_ok=True)
            faults = [line for line in said.splitlines() if "WARNING" in line or "ERROR" in line]
            raise NotebookError(
                f"The book did not build; mend what follows (the whole log is {log}).\n"
                + ("\n".join(faults[:10]) or tail(said, 10))
            )
        index.parent.mkdir(parents=True, exist_ok=True)
        index.parent.rename(made / "before")
        (made / "_build" / "html").rename(index.parent)
        shutil.rmtree(made, ignore_errors=True)
        write_atomically(stamp, digest)
    say(f"book: {index}")
    return index


# nbconvert's page configures MathJax 2; the bundled 3 would leave $...$ inside a line as it is. In what cells put out a
# dollar is a dollar, as in the book.
_INLINE_MATH = (
    "<script>window.MathJax = {tex: {inlineMath: [['$', '$']]}, options: {ignoreHtmlClass: 'jp-OutputArea'}};</script>"
)


def write_page(source: Path, kind: str) -> Path:
    """The page of one executed notebook as one HTML file that needs no network.

    Args:
        kind: as `sentbook.runs.execute.run` returns it.

    Raises:
        NotebookError: its output is not there, or cut short.
    """
    from nbconvert import HTMLExporter

    target = root() / "build" / "pages" / kind / source.parent.name / f"{source.stem}.html"
    mathjax = os.path.relpath(root() / "book" / "_static" / "mathjax" / "tex-svg.js", target.parent)
    exporter = HTMLExporter(
        exclude_input=True, exclude_input_prompt=True, exclude_output_prompt=True, require_js_url="", jquery_url="",
        mathjax_url=Path(mathjax).as_posix(),
    )  # fmt: skip
    page = lay_out(_executed(source, kind))
    body, _ = exporter.from_notebook_node(page, resources={"metadata": {"name": source.stem}})
    write_atomically(target, body.replace("<head>", f"<head>{_INLINE_MATH}", 1))
    return target
