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
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import yaml

from sentbook import errors
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
    """What an executed notebook depends on: itself, its parameters, the packages, the recorded runs it shows."""
    paper = source.parent.name
    # Not the runs of this profile: they are what the execution writes.
    shown = (root() / "results" / kind / paper for kind in ("small", "paper") if kind != profile)
    recorded = [file for folder in shown for file in folder.glob("*.json")]
    parameters = root() / "params" / paper / f"{profile}.yaml"
    return [source, parameters, root() / "requirements.lock", *recorded, *_package()]


# -- execution ---------------------------------------------------------------------------------------------------------


def executed_path(source: Path, profile: str) -> Path:
    return root() / "build" / "executed" / profile / source.parent.name / source.name


def failed_path(source: Path, profile: str) -> Path:
    """Where the partial output of a notebook that failed is kept."""
    return executed_path(source, profile).with_suffix(".failed.ipynb")


def execute(
    source: Path, profile: str, parameters: Mapping[str, Any], *, show: bool = False, threads: int | None = None
) -> float:
    """Run one notebook with papermill in a process of its own; seconds taken.

    The output is at `executed_path` once the notebook has ended well, never in part; a partial one is at `failed_path`.

    Args:
        show: let the notebook's own progress lines through to standard output.
        threads: of each numerical library in the notebook; None: as the environment has it.

    Raises:
        NotebookError: with the last lines of the traceback.
    """
    target, failed = executed_path(source, profile), failed_path(source, profile)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{source.stem}.{os.getpid()}.ipynb")
    clock = time.monotonic()
    command = [
        sys.executable, "-m", "papermill", "--no-progress-bar", "--log-level", "ERROR", "--cwd", str(root()),
        *(["--stdout-file", "-"] if show else []),
        # YAML as PyYAML writes it: JSON's 1e-05 would be read as a string.
        "-y", yaml.safe_dump(dict(parameters)), str(source), str(scratch),
    ]  # fmt: skip
    environment = dict(os.environ)
    if threads is not None:
        environment.setdefault("OMP_NUM_THREADS", str(threads))
    output = None if show else subprocess.DEVNULL
    process = subprocess.Popen(
        command, stdout=output, stderr=subprocess.PIPE, text=True, errors="replace", env=environment
    )
    _running.add(process)
    try:
        _, log = process.communicate()
        if process.returncode:
            failed.unlink(missing_ok=True)
            if scratch.is_file():
                scratch.replace(failed)
            name = f"{source.parent.name}/{source.stem}"
            kept = f"\nIts output so far is {failed}." if failed.is_file() else ""
            raise NotebookError(f"Notebook {name} failed: {_last_error(failed, log)}{kept}")
        scratch.replace(target)
        failed.unlink(missing_ok=True)
    finally:
        process.terminate()  # where this process was stopped; one that has ended does not mind
        _running.discard(process)
        scratch.unlink(missing_ok=True)
    return time.monotonic() - clock


_running: set[subprocess.Popen[str]] = set()


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let ``kill`` stop this process as Ctrl-C does, so that no notebook outlives it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _last_error(partial: Path, log: str, lines: int = 12) -> str:
    """What stopped it: a mendable mistake's sentence, the end of a traceback, or the end of papermill's log."""
    if partial.is_file():
        for cell in nbformat.read(partial, as_version=4).cells:
            for output in cell.get("outputs", []):
                if output.get("output_type") != "error":
                    continue
                if hasattr(errors, output["ename"]):
                    return str(output["evalue"])
                return "\n" + _tail("\n".join(output["traceback"]) or f"{output['ename']}: {output['evalue']}", lines)
    return _tail(log, 3) or "no message."


def _tail(text: str, lines: int) -> str:
    return "\n".join(_without_colours(text).strip().splitlines()[-lines:])


def _without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _stamp(source: Path, profile: str) -> Path:
    return executed_path(source, profile).with_suffix(".stamp")


def _execute_if_changed(source: Path, profile: str, threads: int | None) -> None:
    stamp = _stamp(source, profile)
    digest = _digest(_inputs(source, profile))
    name = f"{source.parent.name}/{source.stem}"
    if stamp.is_file() and executed_path(source, profile).is_file() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)
    seconds = execute(source, profile, {"profile": profile}, threads=threads)
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
    """Neither a stream (progress and warnings: one line an epoch of every training) nor a figure of a run not made."""
    if output.output_type == "stream":
        return False
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
            shown = [_without_machine(output) for output in cell.outputs if _shows_something(output)]
            cell.outputs = [nbformat.from_dict({**output, "metadata": {}}) for output in shown]
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = None
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
    """Execute, lay out and build; the first page.

    Args:
        profile: what the notebooks are run with.
        jobs: notebooks side by side, with one thread each where there are several.

    Raises:
        NotebookError: notebooks failed (all others were run first), or the strict build did.
    """
    sources = notebooks()
    say(f"notebooks ({profile}):")
    failures: list[str] = []
    pool, threads = ThreadPoolExecutor(jobs), 1 if jobs > 1 else None
    with _stoppable():
        try:
            for future in [pool.submit(_execute_if_changed, source, profile, threads) for source in sources]:
                try:
                    future.result()
                except SentbookError as error:
                    failures.append(str(error))
                    say(f"  failed: {error}")
        finally:  # all are done, or stopped
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(_running):
                process.terminate()
            pool.shutdown()
    if failures:
        raise NotebookError(
            f"{len(failures)} of {len(sources)} notebooks failed; mend what is shown above and run again."
        )
    for source in sources:
        _stage(source, profile)
    listed = {(source.parent.name, source.name) for source in sources}
    for page in (root() / "book" / "_executed").glob("*/*.ipynb"):
        if (page.parent.name, page.name) not in listed:
            page.unlink()
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
        shutil.rmtree(index.parent, ignore_errors=True)  # nothing else takes away the page of a file that is gone
        tool = str(Path(sys.executable).with_name("jupyter-book"))
        command = [tool, "build", str(root()), "--all", "-W", "-n", "--keep-going"]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        said, log = _without_colours(done.stdout + done.stderr), root() / "build" / "book.log"
        write_atomically(log, said)
        if done.returncode:
            stamp.unlink(missing_ok=True)
            faults = [line for line in said.splitlines() if "WARNING" in line or "ERROR" in line]
            raise NotebookError(
                f"The book did not build; mend what follows (the whole log is {log}).\n"
                + ("\n".join(faults[:10]) or _tail(said, 10))
            )
        write_atomically(stamp, digest)
    say(f"book: {index}")
    return index


# nbconvert's page configures MathJax 2; the bundled 3 would leave $...$ inside a line as it is.
_INLINE_MATH = "<script>window.MathJax = {tex: {inlineMath: [['$', '$']]}};</script>"


def run_one(source: Path, profile: str, parameters: Mapping[str, Any]) -> Path:
    """Run one notebook and write its page as one HTML file that needs no network.

    Args:
        parameters: all that differ from the notebook's defaults. With more than the profile among them the output goes
            to ``custom``, so that the book never takes it for the profile's.

    Raises:
        NotebookError: see `execute`.
    """
    from nbconvert import HTMLExporter

    kind = profile if set(parameters) <= {"profile"} else "custom"
    say(f"{source.parent.name}/{source.stem} ({kind})")
    digest = _digest(_inputs(source, profile))
    _stamp(source, kind).unlink(missing_ok=True)
    with _stoppable():
        seconds = execute(source, kind, parameters, show=True)
    write_atomically(_stamp(source, kind), digest)
    target = root() / "build" / "pages" / kind / source.parent.name / f"{source.stem}.html"
    mathjax = os.path.relpath(root() / "book" / "_static" / "mathjax" / "tex-svg.js", target.parent)
    exporter = HTMLExporter(
        exclude_input=True, exclude_input_prompt=True, exclude_output_prompt=True, require_js_url="", jquery_url="",
        mathjax_url=Path(mathjax).as_posix(),
    )  # fmt: skip
    page = lay_out(nbformat.read(executed_path(source, kind), as_version=4))
    body, _ = exporter.from_notebook_node(page, resources={"metadata": {"name": source.stem}})
    write_atomically(target, body.replace("<head>", f"<head>{_INLINE_MATH}", 1))
    say(f"done in {seconds:.0f} s")
    return target
