"""The built book as files: numbers have runs, links their places, figures their rooms; no page asks another host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag

from sentbook.report_old.pedigree import listed
from sentbook.runs.contents import is_lesson, notebook

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
RUNS, ALL_RUNS = "book/_runs/", "book/runs.html"
MADE = {"genindex.html", "search.html", "index.html"}  # by Sphinx, not listed in the table of contents
# A value with its interval behind it, as cells of tables print them.
VALUE = re.compile(r"([+-]?\d+(?:\.\d+)?)[^\d\[\]-]{0,12}\[([+-]?\d+(?:\.\d+)?), ([+-]?\d+(?:\.\d+)?)\]")
FORMULA = re.compile(r"\\\(.*?\\\)")
# What loads something as a page is read: an attribute of an element.
LOADS = ", ".join(f"{tag}[src]" for tag in ("script", "img", "iframe", "source", "video", "audio", "embed", "track"))
LOADED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "manifest", "preconnect", "dns-prefetch"}
# How many tables of a page hold no results, beside those of what was searched and chosen.
FACTS = {
    "book/_executed/cse/ambiguities.html": 1,  # what the variants are
    "book/_executed/dnt/sample_size.html": 2,  # trainings that failed, the recorded and the demo's
    "book/_executed/cross/matrix.html": 3,  # what is compared, settings, how a task is scored
    "book/_executed/wsv/ambiguities.html": 2,  # what the variants are; what two falling functions give
    "book/_executed/cross/protocols.html": 5,  # what papers printed, a table a protocol
    "book/_executed/dnt/table3.html": 3,  # what a setting moves, what a row; sizes of the data sets
    "book/cnn_lstm.html": 2,  # what is moved alone; where text and code leave a choice
    "book/dnt.html": 1,
    "book/data.html": 2,  # files, licences, sizes; what parts of a set share
    "book/protocols.html": 1,  # what two papers printed of one encoder
    "book/profiles.html": 8,  # minutes; precision; hours projected; speeds that `make bench` prints; operations counted
    "book/playground.html": 1,  # cosines of five pairs under the page's own encoders
    "book/verdicts.html": 1,  # tolerances of a certificate
    "book/status.html": 1,  # what is equal in runs that were recorded twice
}


def text_of(name: str) -> str:
    return (HTML / name).read_text(encoding="utf-8")


@cache
def parsed(html: str) -> BeautifulSoup:
    return BeautifulSoup(html, "html.parser")


@cache
def ids(html: str) -> frozenset[str]:
    return frozenset(re.findall(r'\b(?:id|name)="([^"]+)"', html))


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Address in the book to the page's text."""
    if not (HTML / "index.html").is_file():
        pytest.skip("the book is not built; run `make book`")
    found = (path.relative_to(HTML).as_posix() for path in sorted(HTML.rglob("*.html")))
    return {name: text_of(name) for name in found if "_static" not in name}


# -- no number without a run -------------------------------------------------------------------------------------------


def number_cells(html: str) -> Iterator[Tag]:
    """Cells that hold a number of ours: not in a table of facts, not printed by a paper, not text of a data set."""
    soup = BeautifulSoup(html, "html.parser")
    for other in soup.select('[data-kind="facts"] table, .facts table, .sb-paper, .sb-data, .sb-parts th + td'):
        other.extract()
    for cell in soup.select("td"):
        drawn = cell.find_parent(class_=["sentbook", "dataframe"]) is not None
        text = cell.get_text() if drawn else FORMULA.sub("", cell.get_text())
        # A cell of a hand-written table that says more than a word is a sentence; its first one names the row.
        sentence = not drawn and (cell.find_previous_sibling() is None or len(re.findall(r"[^\W\d_]{2,}", text)) > 1)
        if re.search(r"\d", text) and not sentence:
            yield cell


def without_a_run(name: str, html: str, pages: Mapping[str, str]) -> list[str]:
    """Numbers of a page from which no link leads to a place on a run's page."""
    return [
        f"{name}: {cell.get_text().strip()[:60]}"
        for cell in number_cells(html)
        if not any(leads(name, str(link.get("href", "")), pages) for link in links_of(cell))
    ]


def links_of(cell: Tag) -> list[Tag]:
    """The links of a cell, or that of its column's head, where one run made the whole column."""
    table, after = cell.find_parent("table"), len(cell.find_next_siblings(["td", "th"]))  # before it the paper's is out
    heads = table.select("thead tr:only-child > th") if table is not None else []
    return [*cell.select("a"), *(heads[-1 - after].select("a") if after < len(heads) else [])]


def leads(name: str, link: str, pages: Mapping[str, str]) -> bool:
    """Whether ``link`` of the page ``name`` is to a run's page, and to a place that there is."""
    parts = urlsplit(link)
    target = (HTML / name).parent.joinpath(unquote(parts.path)).resolve()
    if parts.scheme or parts.netloc or not parts.path or not target.is_relative_to(HTML.resolve()):
        return False
    to = target.relative_to(HTML.resolve()).as_posix()
    return to in pages and (to == ALL_RUNS or (to.startswith(RUNS) and unquote(parts.fragment) in ids(pages[to])))


def test_no_value_of_a_page_lies_outside_its_own_interval(pages: dict[str, str]) -> None:
    looked = 0
    for name, html in pages.items():
        for cell in parsed(html).select("td"):
            found = VALUE.match(cell.get_text().strip().replace("\u2212", "-"))
            if found:
                looked += 1
                value, low, high = map(float, found.groups())
                last = 10.0 ** -len(found[2].partition(".")[2])  # of the printed ends
                assert low - last <= value <= high + last, (name, cell.get_text())
    assert looked > 500


@pytest.mark.slow
def test_every_number_of_a_results_table_leads_to_its_run(pages: dict[str, str]) -> None:
    shown = {name: html for name, html in pages.items() if not name.startswith(RUNS)}
    assert [fault for name, html in shown.items() for fault in without_a_run(name, html, pages)] == []
    # Nothing is found because all is linked, not because nothing was looked at.
    counts = {name: sum(1 for _ in number_cells(html)) for name, html in shown.items() if with_a_run(name)}
    assert len(counts) > 25 and min(counts.values()) > 0 and sum(counts.values()) > 4000
    facts = {name: sum(1 for _ in fact_tables(html)) for name, html in shown.items()}
    assert {name: count for name, count in facts.items() if count > FACTS.get(name, 0)} == {}


def fact_tables(html: str) -> Iterator[Tag]:
    """Yield the tables of a page that hold no results, but for what was searched and chosen."""
    for table in parsed(html).select('[data-kind="facts"] table, .facts table'):
        around = table.find_parent(attrs={"data-kind": "facts"}) or table
        said = around.get_text()
        if "How settings were chosen" not in said and "learning rates ·" not in said:
            yield table


def with_a_run(name: str) -> bool:
    """Tell a notebook's page from a lesson's, which records nothing."""
    shown = name.removeprefix("book/_executed/").removesuffix(".html")
    return shown != name.removesuffix(".html") and not is_lesson(notebook(shown))


TO = "../../_runs/cse/table1.html"
TOY = {"book/_runs/cse/table1.html": '<h2 id="profile-small">x</h2><tr id="small-01"></tr>', ALL_RUNS: ""}


def walk(cell: str, around: str = '<div class="sentbook">{}</div>') -> int:
    row = f"<table><tr><th>STS 2012</th>{cell}</tr></table>"
    return len(without_a_run("book/_executed/cse/table1.html", around.format(row), TOY))


@pytest.mark.parametrize(
    ("cell", "faults"),
    [
        ("<td>71.2</td>", 1), ("<td><strong>71.2</strong></td>", 1), (f'<td><a href="{TO}">71.2</a></td>', 1),
        (f'<td><a href="{TO}#small-99">71.2</a></td>', 1), ('<td><a href="https://x.example/_runs/a">71.2</a></td>', 1),
        ('<td><a href="../../data.html#small-01">71.2</a></td>', 1), ("<td>PP is better on 12 of 20 sets</td>", 1),
        ('<td><span class="sb-paper">70.0</span> 71.2</td>', 1), (f'<td><a href="{TO}#small-01">71.2</a></td>', 0),
        (f'<td><a href="{TO}#profile-small">+1</a> [0, 2]</td>', 0), ('<td class="sb-paper">70.0</td>', 0),
        ('<td class="sb-text sb-data">2 dogs</td>', 0), ("<td>none</td>", 0),
        ('<td><a href="../../runs.html">61 min</a></td>', 0),
    ],
)  # fmt: skip
def test_the_walk_finds_a_number_without_a_run(cell: str, faults: int) -> None:
    assert walk(cell) == faults
    assert walk(cell, '<div class="sentbook" data-kind="facts">{}</div>') == 0


def test_the_walk_looks_at_hand_written_tables() -> None:
    assert walk("<td><p>about 71.2</p></td>", "{}") == 1
    assert walk("<td><p>3 encoders, 8 data sets, 9 rows each</p></td>", "{}") == 0


# -- figures have room -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_axes_covers_a_sensible_share_of_its_figure(
    pages: dict[str, str], squeezed: Callable[[str], list[tuple[float, float]]]
) -> None:
    """Long labels and legends have squeezed axes to nothing."""
    figures = [(name, str(svg)) for name, html in pages.items() for svg in parsed(html).select(".sb-plot svg")]
    assert len(figures) > 100 and [(name, squeezed(svg)) for name, svg in figures if squeezed(svg)] == []


# -- the pages hold together, offline ----------------------------------------------------------------------------------


def loads(html: str) -> list[str]:
    """Every address that reading a page asks for."""
    soup = parsed(html)
    found = [str(element.get("src") or element.get("data")) for element in soup.select(f"{LOADS}, object[data]")]
    found += [str(link.get("href")) for link in soup.select("link[rel]") if set(link["rel"]) & LOADED_LINKS]
    for element in soup.select("[srcset]"):
        found += [part.split()[0] for part in str(element["srcset"]).split(",") if part.split()]
    styles = [sheet.get_text() for sheet in soup.select("style")]
    return found + addresses(" ".join(styles + [str(one["style"]) for one in soup.select("[style]")]))


def addresses(sheet: str) -> list[str]:
    return re.findall(r"(?:@import|url\()\s*['\"]?([^'\")\s;]+)", sheet)


@pytest.mark.parametrize(
    ("html", "outside"),
    [
        ('<script src="https://x.example/x.js"></script>', 1),
        ('<img srcset="a.png 1x, https://x.example/c.png 2x">', 1),
        ('<link rel="stylesheet" href="//fonts.example/f.css">', 1),
        ("<style>@import 'https://x.example/a.css';</style>", 1),
        ('<p style="background: url(https://x.example/b.png)">', 1),
        ('<a href="https://x.example">a link</a>', 0),
        ('<script src="_static/x.js"></script>', 0),
    ],
)  # fmt: skip
def test_the_check_for_outside_hosts_finds_them(html: str, outside: int) -> None:
    assert sum(bool(urlsplit(address).netloc) for address in loads(html)) == outside


@pytest.mark.slow
def test_reading_asks_no_other_host_and_all_links_lead_somewhere(pages: dict[str, str]) -> None:
    asked = {name: [one for one in loads(html) if urlsplit(one).netloc] for name, html in pages.items()}
    for sheet in HTML.rglob("*.css"):
        asked[sheet.name] = [one for one in addresses(sheet.read_text(encoding="utf-8")) if urlsplit(one).netloc]
    assert {name: hosts for name, hosts in asked.items() if hosts} == {}
    missing = []
    for name, html in pages.items():
        for address in {*loads(html), *(str(link["href"]) for link in parsed(html).select("a[href]"))}:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = ((HTML / name).parent / unquote(parts.path) if parts.path else HTML / name).resolve()
            other = pages.get(target.relative_to(HTML.resolve()).as_posix()) if target.is_file() else None
            if not target.is_file() or (other and parts.fragment and unquote(parts.fragment) not in ids(other)):
                missing.append(f"{name}: {address}")
    assert missing == []


# Bytes of a page with all that its elements load, mathematics and what a click asks for aside.
MOST = 600_000


def test_no_page_is_heavy(pages: dict[str, str]) -> None:
    def weight(name: str, html: str) -> int:
        files = {(HTML / name).parent.joinpath(unquote(urlsplit(one).path)).resolve() for one in loads(html)}
        return len(html.encode()) + sum(file.stat().st_size for file in files if "mathjax" not in file.parts)

    weights = {name: weight(name, html) for name, html in pages.items()}
    assert {name: size for name, size in weights.items() if size > MOST} == {}
    assert weights["book/index.html"] > 150_000  # with what it loads
    # The index of the search holds words of prose.
    index = (HTML / "searchindex.js").read_text(encoding="utf-8")
    assert len(index) < 250_000 and not re.search(r'"[0-9a-f]*\d[0-9a-f]{11,}"', index)


def test_a_script_of_ours_is_short() -> None:
    scripts = [file for file in (ROOT / "book/_static").rglob("*.js") if "mathjax" not in file.parts]
    lines = {file.name: file.read_text(encoding="utf-8").count("\n") for file in scripts}
    assert len(lines) >= 9 and {name: count for name, count in lines.items() if count >= 300} == {}


def test_pages_are_those_of_the_table_of_contents(pages: dict[str, str]) -> None:
    files = {f"{file}.html" for file in (*listed("book"), "book/index")}
    toys = {name for name in pages if name.startswith(RUNS) and name.endswith("-demo.html")}
    assert {*pages} - MADE - toys == files and {name.replace("-demo.html", ".html") for name in toys} < files
    index = (HTML / "searchindex.js").read_text(encoding="utf-8")
    assert all(f'"{file.removesuffix(".html")}"' in index for file in files)
    assert all(f"<code>{name[len(RUNS) : -len('-demo.html')]}</code>" in pages["book/status.html"] for name in toys)


def test_no_page_shows_this_machine_or_a_traceback(pages: dict[str, str]) -> None:
    forbidden = (f"{ROOT}/", f"{Path.home()}/", "Traceback (most recent call last)")
    sources = {path.name: path.read_text(encoding="utf-8") for path in (HTML / "_sources").rglob("*.*")}
    assert {name for name, text in {**pages, **sources}.items() if any(word in text for word in forbidden)} == set()


def test_mathematics_and_the_style_of_outputs_are_served_from_here(pages: dict[str, str]) -> None:
    # MathJax refuses a number inside what Sphinx makes of several lines.
    split = re.compile(r"begin\{split\}(?:(?!end\{split\}).)*?\\tag", re.DOTALL)
    assert [name for name, html in pages.items() if split.search(html)] == []
    text = pages["book/cse.html"]
    assert "_static/mathjax/tex-svg.js" in text and "_static/outputs.css" in text and "thebe-button" not in text
    assert not any("<style>.sentbook{" in html for html in pages.values())
