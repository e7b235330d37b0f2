"""The built book as files: every page is there, every link leads somewhere, nothing is loaded from another host."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from _ext import runs, staging
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
LOADED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "manifest", "preconnect", "dns-prefetch"}
# Executed notebooks that use the mini-world openly.
LESSONS = {"cse/model", "cnn_lstm/model", "wsv/model", "dnt/model", "cross/gaps"}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The HTML of each page by its path in the book."""
    if not (HTML / "index.html").is_file():
        pytest.skip("the book is not built; run `make book`")
    files = (path for path in sorted(HTML.rglob("*.html")) if "_static" not in path.parts)
    return {path.relative_to(HTML).as_posix(): path.read_text(encoding="utf-8") for path in files}


@cache
def parsed(html: str) -> BeautifulSoup:
    return BeautifulSoup(html, "html.parser")


@cache
def ids(html: str) -> frozenset[str]:
    return frozenset(re.findall(r'\b(?:id|name)="([^"]+)"', html))


def test_every_listed_page_and_a_page_per_recorded_run_is_there(pages: dict[str, str]) -> None:
    listed = re.findall(r"(?:file|root): *(\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    recorded = [f"book/{runs.address(run)}" for run in runs.recorded()]
    assert {f"{page}.html" for page in (*listed, *recorded, "book/api")} <= pages.keys() and len(recorded) > 45
    sidebar = [str(link["href"]) for link in parsed(pages["book/index.html"]).select(".bd-sidebar-primary nav a[href]")]
    assert len(sidebar) < 70 and not [link for link in sidebar if "_runs/" in link or "_api/" in link]


def loads(html: str) -> list[str]:
    """Return every URL that reading a page asks for."""
    soup = parsed(html)
    found = [str(one.get("src") or one.get("data")) for one in soup.select("[src], object[data]")]
    found += [str(link.get("href")) for link in soup.select("link[rel]") if set(link["rel"]) & LOADED_LINKS]
    found += [part.split()[0] for one in soup.select("[srcset]") for part in str(one["srcset"]).split(",")]
    styles = [sheet.get_text() for sheet in soup.select("style")] + [
        str(one["style"]) for one in soup.select("[style]")
    ]
    return found + urls(" ".join(styles))


def urls(sheet: str) -> list[str]:
    return re.findall(r"(?:@import|url\()\s*['\"]?([^'\")\s;]+)", sheet)


@pytest.mark.slow
def test_reading_asks_no_other_host_and_all_links_lead_somewhere(pages: dict[str, str]) -> None:
    asked = {name: [one for one in loads(html) if urlsplit(one).netloc] for name, html in pages.items()}
    for sheet in HTML.rglob("*.css"):
        asked[sheet.name] = [one for one in urls(sheet.read_text(encoding="utf-8")) if urlsplit(one).netloc]
    assert {name: hosts for name, hosts in asked.items() if hosts} == {}
    missing = []
    for name, html in pages.items():
        for url in {*loads(html), *(str(link["href"]) for link in parsed(html).select("a[href]"))}:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = ((HTML / name).parent / unquote(parts.path) if parts.path else HTML / name).resolve()
            other = pages.get(target.relative_to(HTML.resolve()).as_posix()) if target.is_file() else None
            if not target.is_file() or (other and parts.fragment and unquote(parts.fragment) not in ids(other)):
                missing.append(f"{name}: {url}")
    assert missing == []


def test_no_page_shows_this_machine_or_a_traceback(pages: dict[str, str]) -> None:
    forbidden = (f"{ROOT}/", f"{Path.home()}/", "Traceback (most recent call last)")
    sources = {path.name: path.read_text(encoding="utf-8") for path in (HTML / "_sources").rglob("*.*")}
    assert {name for name, text in {**pages, **sources}.items() if any(word in text for word in forbidden)} == set()


def test_every_figure_has_words_for_those_who_do_not_see_it(pages: dict[str, str]) -> None:
    without = [
        f"{name}: {str(picture)[:90]}"
        for name, html in pages.items()
        for picture in parsed(html).select("article img, article .sb-plot svg")
        if not (picture.get("alt") or picture.get("aria-label"))
    ]
    assert without == []


@pytest.mark.parametrize("name", sorted(set(staging.notebook_pages()) - LESSONS))
def test_no_toy_number_is_on_a_result_page(name: str, pages: dict[str, str]) -> None:
    """The demo's data sets are called after the mini-world; what a cell prints holds no score of the demo."""
    file = ROOT / "book" / "_executed" / f"{name}.ipynb"
    record = ROOT / "build" / "runs" / "demo" / f"{name}.json"
    assert f"book/_executed/{name}.html" in pages
    cells = [cell for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code"]
    outputs = [output for cell in cells if "your-run" not in cell.metadata.tags for output in cell.outputs]
    assert any("your-run" in cell.metadata.tags for cell in cells)
    html = " ".join(output.get("data", {}).get("text/html", "") for output in outputs)
    assert not re.search(r"mini-?world", parsed(html).get_text(" "), re.IGNORECASE)
    plain = [output.get("text", output.get("data", {})) for output in outputs]
    said = " ".join(one if isinstance(one, str) else one["text/plain"] for one in plain if "text/html" not in one)
    toy = {f"{abs(row['value']):.3f}" for row in json.loads(record.read_text(encoding="utf-8"))["metrics"]}
    assert len(toy & set(re.findall(r"\d\.\d{3}", said))) < 2  # one may be equal by chance
