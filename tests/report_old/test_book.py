"""The book's build: which notebooks run and how they are laid out. Built pages are in ``tests/test_built_pages``."""

from __future__ import annotations

import re
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from playwright.sync_api import Browser

from sentbook.report_old import api, book, fragments, run_pages
from sentbook.report_old.markup import Fragment
from sentbook.runs.contents import notebooks
from sentbook.runs.execute import NotebookError, executed_path

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def executed(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of both notebooks as if executed; a build then goes without Sphinx, and writes one piece."""
    for source in notebooks():
        target = executed_path(source, "demo")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    for module in (api, run_pages):
        monkeypatch.setattr(module, "write", lambda: None)
    monkeypatch.setattr(fragments, "all_fragments", lambda of_papers: {"status.md": "All is well.\n"})
    put_tool(checkout, "touch", monkeypatch)
    return checkout / "build" / "executed" / "demo" / "toy"


def put_tool(checkout: Path, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a jupyter-book in the real one's place, which makes a first page ``after`` some words of a shell."""
    tool = checkout / "jupyter-book"
    tool.write_text(f'#!/bin/sh\nmkdir -p "$4/_build/html" && {after} "$4/_build/html/index.html"\n')
    tool.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(checkout / "python"))


def test_the_notebooks_are_those_of_the_table_of_contents(checkout: Path) -> None:
    assert [path.stem for path in notebooks()] == ["one", "two"]
    (checkout / "notebooks" / "toy" / "two.ipynb").unlink()
    with pytest.raises(NotebookError, match="lists two"):
        notebooks()


def test_fragments_are_written_and_pages_without_a_notebook_go(checkout: Path, executed: Path) -> None:
    old = checkout / "book" / "_executed" / "toy" / "three.ipynb"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    book.build("demo")
    assert (checkout / "book" / "_generated" / "status.md").read_text() == "All is well.\n"
    assert sorted(path.name for path in old.parent.iterdir()) == ["one.ipynb", "two.ipynb"]


def test_a_page_is_the_same_bytes_each_time(checkout: Path, executed: Path) -> None:
    book.build("demo")
    page = checkout / "book" / "_executed" / "toy" / "one.ipynb"
    first, when = page.read_bytes(), page.stat().st_mtime_ns
    again = nbformat.read(executed / "one.ipynb", as_version=4)
    for number, cell in enumerate(again.cells):
        cell["id"] = f"another-{number}"
    nbformat.write(again, executed / "one.ipynb")
    book.build("demo")
    assert (page.read_bytes(), page.stat().st_mtime_ns) == (first, when)


@pytest.mark.parametrize("status", [1, 0])
def test_the_old_book_stands_until_the_new_one_does(
    checkout: Path, executed: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    html = checkout / "_build" / "html"
    html.mkdir(parents=True)
    for name in ("index.html", "page.html"):
        (html / name).write_text("old")
    put_tool(checkout, f"trap 'exit {status}' EXIT; touch", monkeypatch)
    with pytest.raises(NotebookError, match="The book did not build") if status else nullcontext():
        book.build("demo")
    assert sorted(path.name for path in html.iterdir()) == ["index.html", "page.html"][: 1 + status]


def test_a_notebook_that_was_not_executed_is_named(executed: Path) -> None:
    (executed / "two.ipynb").unlink()
    with pytest.raises(NotebookError, match="toy/two was not executed yet; run `sentbook batch"):
        book.build("demo")


@pytest.mark.parametrize("left", [b"", bytes(9), b"{}", b"[1]", -400])
def test_an_output_that_is_cut_short_is_to_be_made_again(checkout: Path, executed: Path, left: bytes | int) -> None:
    file = executed / "two.ipynb"
    file.write_bytes(file.read_bytes()[:left] if isinstance(left, int) else left)
    said = r"two\.ipynb is no whole notebook; run it again by `sentbook run toy/two --profile demo`\.$"
    with pytest.raises(NotebookError, match=said):
        book.build("demo")
    with pytest.raises(NotebookError, match=said):
        book.write_page(checkout / "notebooks" / "toy" / "two.ipynb", "demo")


def test_one_notebook_has_a_page_that_needs_no_network(checkout: Path, executed: Path) -> None:
    page = book.write_page(checkout / "notebooks" / "toy" / "one.ipynb", "demo")
    text = page.read_text(encoding="utf-8")
    assert text.index("inlineMath: [['$', '$']]") < text.index("tex-svg.js")
    assert not re.search(r'<(?:script|img|link)[^>]*(?:src|href)="(?:https?:)?//', text) and str(checkout) not in text


def test_a_dollar_that_a_cell_puts_out_is_a_dollar(checkout: Path, browser: Browser) -> None:
    (checkout / "book").mkdir(exist_ok=True)
    (checkout / "book" / "_static").symlink_to(ROOT / "book" / "_static")
    content = executed_with(v4.new_output("display_data", {"text/html": "<p>It cost $5 and then $10.</p>"}))
    content.cells[0].source = "# A toy\n\nBut $a^2$ is mathematics."
    file = executed_path(checkout / "notebooks" / "toy" / "one.ipynb", "demo")
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(content, file)
    page = browser.new_page()
    page.goto(book.write_page(checkout / "notebooks" / "toy" / "one.ipynb", "demo").as_uri(), wait_until="load")
    page.evaluate("() => MathJax.startup.promise.then(() => true)")
    assert page.locator("mjx-container").count() == 1
    assert page.get_by_text("It cost $5 and then $10.").count() == 1
    page.close()


# -- laying out --------------------------------------------------------------------------------------------------------


def executed_with(*outputs: nbformat.NotebookNode) -> nbformat.NotebookNode:
    parameters = v4.new_code_cell('profile = "demo"', metadata={"tags": ["parameters"]})
    content = v4.new_notebook(cells=[v4.new_markdown_cell("# A toy"), parameters, v4.new_code_cell("show()")])
    content.cells[-1].outputs = list(outputs)
    content.cells[-1].execution_count = 3
    content.metadata["papermill"] = {"input_path": "/a/b", "start_time": "2026-01-01T00:00:00", "duration": 3.1}
    for cell in content.cells:
        cell.metadata["papermill"] = {"start_time": "2026-01-01T00:00:00", "status": "completed"}
    return content


def test_code_is_folded_but_where_it_is_the_point_and_times_of_the_run_are_left_out() -> None:
    content = executed_with()
    page = book.lay_out(content)
    assert set(page.metadata) <= {"kernelspec", "language_info"}
    assert [cell.metadata.get("tags") for cell in page.cells] == [None, ["hide-input", "parameters"], ["hide-input"]]
    assert page.cells[-1].execution_count is None
    assert "2026" not in nbformat.writes(page)
    content.cells[-1].metadata["tags"] = ["show-code"]
    assert book.lay_out(content).cells[-1].metadata["tags"] == ["show-code"]


def test_progress_and_warnings_are_left_out_and_results_stay() -> None:
    page = book.lay_out(
        executed_with(
            v4.new_output("stream", name="stdout", text="[PP, seed 1] epoch 1\n"),
            v4.new_output("stream", name="stderr", text="Warning\n"),
            v4.new_output("stream", name="stdout", text="[CSE, stage 1] epoch 1/4  loss 0.8\nPP: cosine 1.0\n"),
            v4.new_output("display_data", data={"text/html": "", "text/plain": "of a run that was not made"}),
            v4.new_output("execute_result", data={"text/html": "<b>1</b>"}, execution_count=3),
        )
    )
    printed, output = page.cells[-1].outputs
    assert printed.text == "PP: cosine 1.0\n"
    assert output.data["text/html"] == "<b>1</b>"
    assert output.execution_count is None
    nbformat.validate(page)


def test_folders_of_this_machine_do_not_reach_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "root", lambda: Path("/somewhere/checkout"))
    monkeypatch.setattr(Path, "home", lambda: Path("/somewhere/me"))
    text = "/somewhere/checkout/params /somewhere/me/.cache '/somewhere/checkout' /somewhere/checkouts x/somewhere/me"
    page = book.lay_out(executed_with(v4.new_output("display_data", data={"text/plain": text})))
    shown = page.cells[-1].outputs[0].data["text/plain"]
    assert shown == "./params ~/.cache '.' /somewhere/checkouts x/somewhere/me"


@pytest.mark.parametrize("how", ["an error output", "papermill's mark"])
def test_a_notebook_that_failed_is_refused(how: str) -> None:
    failed = executed_with(v4.new_output("error", ename="E", evalue="no", traceback=[]))
    if how == "papermill's mark":
        failed = executed_with()
        failed.metadata["papermill"]["exception"] = True
    with pytest.raises(NotebookError, match="run it again"):
        book.lay_out(failed)


def test_the_style_sheet_is_left_out_of_a_page_that_loads_it(checkout: Path, executed: Path) -> None:
    content = nbformat.read(executed / "one.ipynb", as_version=4)
    shown = Fragment("<p>1</p>").html()
    content.cells[-1].outputs = [v4.new_output("display_data", data={"text/html": shown})]
    nbformat.write(content, executed / "one.ipynb")
    book.build("demo")
    page = (checkout / "book" / "_executed" / "toy" / "one.ipynb").read_text(encoding="utf-8")
    assert "<style>" in shown and "<style>" not in page and "<p>1</p>" in page
