"""The book's build: which notebooks run, how they are laid out, and that the built pages hold together offline."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from nbformat import v4

from sentbook.report import book
from sentbook.runs.contents import notebooks
from sentbook.runs.execute import NotebookError, executed_path
from sentbook.system.paths import root

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
# Made by Sphinx, not listed in the table of contents.
MADE = {"genindex.html", "search.html", "index.html"}


# -- a toy checkout ----------------------------------------------------------------------------------------------------


def notebook(*sources: str) -> nbformat.NotebookNode:
    cells = [v4.new_markdown_cell("# A toy")]
    cells += [v4.new_code_cell(source) for source in ('profile = "demo"', *sources)]
    cells[1].metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Notebooks ``toy/one`` and ``toy/two`` with their parameters, in a folder of their own."""
    monkeypatch.setenv("SENTBOOK_ROOT", str(tmp_path))
    for name in ("one", "two"):
        write(tmp_path, name, notebook("print('epoch 1')", f"profile + '-{name}'"))
    (tmp_path / "params" / "toy").mkdir(parents=True)
    (tmp_path / "params" / "toy" / "demo.yaml").write_text("profile: demo\n")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.md").write_text("# Toy\n")
    pages = [{"file": "book/_executed/toy/one"}, {"file": "book/_executed/toy/two"}]
    toc = {"format": "jb-book", "root": "book/index", "parts": [{"caption": "Toys", "chapters": pages}]}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc))
    (tmp_path / "_config.yml").write_text("execute: {execute_notebooks: 'off'}\n")
    root.cache_clear()
    yield tmp_path
    root.cache_clear()


def write(checkout: Path, name: str, content: nbformat.NotebookNode) -> Path:
    path = checkout / "notebooks" / "toy" / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(content, path)
    return path


@pytest.fixture
def executed(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of both notebooks as if executed; a build then goes without Sphinx."""
    for source in notebooks():
        target = executed_path(source, "demo")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    monkeypatch.setattr(book, "_fragments", lambda: {"status.md": "All is well.\n"})
    monkeypatch.setattr(book, "_build_html", lambda: checkout / "_build" / "html" / "index.html")
    return checkout / "build" / "executed" / "demo" / "toy"


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


def test_a_notebook_that_was_not_executed_is_named(executed: Path) -> None:
    (executed / "two.ipynb").unlink()
    with pytest.raises(NotebookError, match="toy/two was not executed yet; run `sentbook batch"):
        book.build("demo")


def test_one_notebook_has_a_page_that_needs_no_network(checkout: Path, executed: Path) -> None:
    page = book.write_page(checkout / "notebooks" / "toy" / "one.ipynb", "demo")
    text = page.read_text(encoding="utf-8")
    assert text.index("inlineMath: [['$', '$']]") < text.index("tex-svg.js")
    assert list(outside(text)) == [] and str(checkout) not in text


# -- laying out --------------------------------------------------------------------------------------------------------


def executed_with(*outputs: nbformat.NotebookNode) -> nbformat.NotebookNode:
    content = notebook("show()")
    content.cells[-1].outputs = list(outputs)
    content.cells[-1].execution_count = 3
    content.metadata["papermill"] = {"input_path": "/a/b", "start_time": "2026-01-01T00:00:00", "duration": 3.1}
    for cell in content.cells:
        cell.metadata["papermill"] = {"start_time": "2026-01-01T00:00:00", "status": "completed"}
    return content


def test_code_is_folded_and_times_and_folders_of_the_run_are_left_out() -> None:
    page = book.lay_out(executed_with())
    assert set(page.metadata) <= {"kernelspec", "language_info"}
    assert [cell.metadata.get("tags") for cell in page.cells] == [None, ["hide-input", "parameters"], ["hide-input"]]
    assert page.cells[-1].execution_count is None
    assert "2026" not in nbformat.writes(page)


def test_progress_and_warnings_are_left_out_and_results_stay() -> None:
    page = book.lay_out(
        executed_with(
            v4.new_output("stream", name="stdout", text="epoch 1\n"),
            v4.new_output("stream", name="stderr", text="Warning\n"),
            v4.new_output("execute_result", data={"text/html": "<b>1</b>"}, execution_count=3),
        )
    )
    (output,) = page.cells[-1].outputs
    assert output.data["text/html"] == "<b>1</b>"
    assert output.execution_count is None
    nbformat.validate(page)


def test_an_output_that_shows_nothing_leaves_no_box() -> None:
    """A figure of a run that was not made is an empty text."""
    nothing = v4.new_output("display_data", data={"text/html": "", "text/plain": "Fragment"})
    assert book.lay_out(executed_with(nothing)).cells[-1].outputs == []


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


# -- the built book ----------------------------------------------------------------------------------------------------


# What a page loads, by element and attribute; and which relations of a <link> load something.
LOADS = {
    "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "embed": "src",
    "object": "data", "track": "src",
}  # fmt: skip
LOADED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "manifest", "preconnect", "dns-prefetch"}


class Page(HTMLParser):
    """What a page loads, links to, and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and set(values.get("rel", "").split()) & LOADED_LINKS:
            self.loads.append(values.get("href", ""))
        if tag in LOADS and values.get(LOADS[tag]):
            self.loads.append(values[LOADS[tag]])
        if "srcset" in values:
            self.loads += [part.split()[0] for part in values["srcset"].split(",") if part.split()]
        self.loads += re.findall(r"url\(\s*['\"]?([^'\")]+)", values.get("style", ""))


def outside(html: str) -> Iterator[str]:
    """Addresses on other hosts that reading the page would ask for."""
    page = Page(html)
    sheets = re.findall(r"<style[^>]*>(.*?)</style>", html, flags=re.DOTALL)
    found = [*page.loads, *(address for sheet in sheets for address in addresses(sheet))]
    yield from (address for address in found if urlsplit(address).netloc)


def addresses(sheet: str) -> list[str]:
    return re.findall(r"(?:@import|url\()\s*['\"]?([^'\")\s;]+)", sheet)


def test_the_check_for_outside_hosts_finds_them() -> None:
    bad = (
        '<script src="https://cdn.example/x.js"></script>', '<link rel="stylesheet" href="//fonts.example/f.css">',
        '<img src="http://example.org/a.png">', "<style>@import 'https://example.org/a.css';</style>",
        '<p style="background: url(https://example.org/b.png)">',
        '<img srcset="a.png 1x, https://example.org/c.png 2x">',
    )  # fmt: skip
    assert all(list(outside(html)) for html in bad)
    assert list(outside('<a href="https://example.org">a link</a><script src="_static/x.js"></script>')) == []


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    """Address in the book to page."""
    if not (HTML / "index.html").is_file():
        pytest.skip("the book is not built; run `make book`")
    return {
        path.relative_to(HTML).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(HTML.rglob("*.html"))
        if "_static" not in path.relative_to(HTML).parts
    }


def listed() -> list[str]:
    """Every file of the table of contents."""

    def walk(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (node[name] for name in ("root", "file") if name in node)
            for value in node.values():
                yield from walk(value)
        elif isinstance(node, list):
            for value in node:
                yield from walk(value)

    return list(walk(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))))


def test_every_page_of_the_table_of_contents_is_there_and_no_other(pages: dict[str, Page]) -> None:
    assert set(pages) - MADE == {f"{file}.html" for file in listed()}


def test_reading_asks_no_other_host(pages: dict[str, Page]) -> None:
    found = {name: list(outside((HTML / name).read_text(encoding="utf-8"))) for name in pages}
    for sheet in HTML.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        found[sheet.name] = [address for address in addresses(text) if urlsplit(address).netloc]
    assert {name: hosts for name, hosts in found.items() if hosts} == {}


def test_all_that_a_page_loads_and_links_to_is_there(pages: dict[str, Page]) -> None:
    missing = []
    for name, page in pages.items():
        for address in page.loads + page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (HTML / name).parent / unquote(parts.path) if parts.path else HTML / name
            if not target.resolve().is_file():
                missing.append(f"{name}: {address}")
                continue
            other = pages.get(target.resolve().relative_to(HTML.resolve()).as_posix())
            if other is not None and parts.fragment and unquote(parts.fragment) not in other.ids:
                missing.append(f"{name}: {address} (no such place)")
    assert missing == []


def test_no_folder_of_this_machine_is_in_the_pages(pages: dict[str, Page]) -> None:
    files = [
        path for path in HTML.rglob("*") if path.suffix in {".html", ".ipynb", ".md"} and "_static" not in path.parts
    ]
    texts = {path.name: path.read_text(encoding="utf-8") for path in files}
    assert {name for name, text in texts.items() if f"{ROOT}/" in text or f"{Path.home()}/" in text} == set()


def test_no_page_shows_a_traceback(pages: dict[str, Page]) -> None:
    texts = {name: (HTML / name).read_text(encoding="utf-8") for name in pages}
    assert {name for name, text in texts.items() if "Traceback (most recent call last)" in text} == set()


def test_mathematics_is_served_from_here(pages: dict[str, Page]) -> None:
    text = (HTML / "book" / "cse.html").read_text(encoding="utf-8")
    assert "_static/mathjax/tex-svg.js" in text
    assert "thebe-button" not in text


def test_search_knows_the_pages(pages: dict[str, Page]) -> None:
    index = (HTML / "searchindex.js").read_text(encoding="utf-8")
    assert all(f'"{file}"' in index for file in listed())
