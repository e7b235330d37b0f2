"""No number without a run: every results table of the built book, cell by cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
RUNS, ALL_RUNS = "book/_runs/", "book/runs.html"
# What a paper printed, and what stands in a data set or was written by a decoder.
NOT_OURS = {"sb-paper", "sb-data"}
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr", "path", "use", "rect", "source"}
# A cell of a hand-written table that says more than this many words is a sentence, not a number.
WORDS = 1
FORMULA = re.compile(r"\\\(.*?\\\)")


@dataclass
class Cell:
    """A cell of a table: its text without what is not ours, and where it leads."""

    table: str
    ours: bool  # in a table that the package drew
    first: bool
    text: str = ""
    links: list[str] = field(default_factory=list)

    @property
    def is_number(self) -> bool:
        if self.ours:
            return bool(re.search(r"\d", self.text))
        text = FORMULA.sub("", self.text)
        return not self.first and bool(re.search(r"\d", text)) and len(re.findall(r"[^\W\d_]{2,}", text)) <= WORDS


@dataclass
class Element:
    tag: str
    classes: frozenset[str]
    facts: bool
    not_ours: bool
    ours: bool


class Tables(HTMLParser):
    """The cells of all tables of a page but those that are marked as facts, and the places one can link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[Cell] = []
        self.facts: list[str] = []
        self.ids: set[str] = set()
        self._stack = [Element("", frozenset(), False, False, False)]
        self._table = ""
        self._cell: Cell | None = None
        self._position = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag in VOID:
            return
        classes, above = frozenset(values.get("class", "").split()), self._stack[-1]
        facts = above.facts or values.get("data-kind") == "facts" or "facts" in classes
        ours = above.ours or "sentbook" in classes or "dataframe" in classes
        self._stack.append(Element(tag, classes, facts, above.not_ours or bool(classes & NOT_OURS), ours))
        if tag == "table":
            self._table = values.get("aria-label", "a table")
            if facts:
                self.facts.append(self._table)
        elif tag == "tr":
            self._position = 0
        elif tag in ("td", "th"):
            self._position += 1
            if tag == "td" and not facts:
                self._cell = Cell(self._table, ours, self._position == 1)
                self.cells.append(self._cell)
        elif tag == "a" and self._cell is not None:
            self._cell.links.append(values.get("href", ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        while len(self._stack) > 1 and self._stack.pop().tag != tag:
            pass
        if tag == "td":
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None and not self._stack[-1].not_ours:
            self._cell.text += data


def without_a_run(pages: Mapping[str, Tables]) -> Iterator[str]:
    """Numbers of results tables from which no link leads to a place on a run's page, as ``page, table: number``.

    Args:
        pages: address in the book to what stands on it.
    """
    for name, page in pages.items():
        for cell in page.cells:
            if not name.startswith(RUNS) and cell.is_number and not any(leads(name, to, pages) for to in cell.links):
                yield f"{name}, {cell.table}: {cell.text.strip()[:60]}"


def leads(page: str, link: str, pages: Mapping[str, Tables]) -> bool:
    """Whether ``link`` of ``page`` is to a run's page, and to a place that there is."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or not parts.path:
        return False
    target = (HTML / page).parent.joinpath(unquote(parts.path)).resolve()
    name = target.relative_to(HTML.resolve()).as_posix() if target.is_relative_to(HTML.resolve()) else ""
    if name == ALL_RUNS:
        return name in pages
    return (
        name.startswith(RUNS) and name in pages and bool(parts.fragment) and unquote(parts.fragment) in pages[name].ids
    )


# -- the built book ----------------------------------------------------------------------------------------------------


@cache
def built() -> dict[str, Tables]:
    return {
        path.relative_to(HTML).as_posix(): Tables(path.read_text(encoding="utf-8"))
        for path in sorted(HTML.rglob("*.html"))
        if "_static" not in path.relative_to(HTML).parts
    }


@pytest.fixture(scope="module")
def pages() -> dict[str, Tables]:
    if not (HTML / "index.html").is_file():
        pytest.skip("the book is not built; run `make book`")
    return built()


@pytest.mark.slow
def test_every_number_of_a_results_table_leads_to_its_run(pages: dict[str, Tables]) -> None:
    assert list(without_a_run(pages)) == []


@pytest.mark.slow
def test_the_walk_meets_the_tables(pages: dict[str, Tables]) -> None:
    """Nothing is found because all is linked, not because nothing was looked at."""
    numbers = {name: sum(cell.is_number for cell in page.cells) for name, page in pages.items()}
    notebooks = {name: count for name, count in numbers.items() if name.startswith("book/_executed/")}
    assert len(notebooks) > 25 and min(notebooks.values()) > 0
    assert sum(notebooks.values()) > 4000
    assert numbers["book/status.html"] > 50 and numbers["book/data.html"] > 10


# How many tables of a page hold no results.
FACTS = {
    "book/_executed/cse/ambiguities.html": 1,  # what the variants are
    "book/_executed/wsv/ambiguities.html": 1,
    "book/_executed/cross/protocols.html": 5,  # what papers printed, a table a protocol
    "book/_executed/dnt/table3.html": 2,  # what a setting moves; sizes of the data sets
    "book/cnn_lstm.html": 1,  # where text and code leave a choice
    "book/dnt.html": 1,
    "book/data.html": 1,  # files, licences, sizes
    "book/protocols.html": 1,  # what two papers printed of one encoder
    "book/verdicts.html": 1,  # tolerances of a certificate
}


@pytest.mark.slow
def test_few_tables_are_said_to_hold_no_results(pages: dict[str, Tables]) -> None:
    assert {name: page.facts for name, page in pages.items() if len(page.facts) > FACTS.get(name, 0)} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["book/_executed/cse/table1.html", "book/_executed/dnt/table4.html", "book/status.html"]
)
def test_one_broken_link_of_the_book_would_be_found(pages: dict[str, Tables], name: str) -> None:
    text = (HTML / name).read_text(encoding="utf-8")
    links = re.findall(r'<td[^>]*>(?:<[^>]+>)*<a href="[^"]*_runs/[^"#]*#[^"]+"', text)
    assert len(links) > 20
    for broken in (links[-1].replace("#", "#no-such-"), links[-1].replace("_runs", "_walks")):
        changed = {page: cells for page, cells in pages.items() if page.startswith(RUNS) or page == ALL_RUNS}
        assert len(list(without_a_run({**changed, name: Tables(text.replace(links[-1], broken, 1))}))) == 1


# -- the walk itself ---------------------------------------------------------------------------------------------------

RUN = Tables('<article><h2 id="profile-small">x</h2><tr id="small-01"></tr></article>')
TO = "../../_runs/cse/table1.html"


def walk(html: str, name: str = "book/_executed/cse/table1.html") -> list[str]:
    pages = {"book/_runs/cse/table1.html": RUN, "book/runs.html": Tables(""), name: Tables(html)}
    return list(without_a_run(pages))


def drawn(cell: str, more: str = "") -> str:
    return f'<div class="sentbook"{more}><table aria-label="T"><tr><th>STS 2012</th>{cell}</tr></table></div>'


@pytest.mark.parametrize(
    "cell",
    [
        "<td>71.2</td>", "<td><strong>71.2</strong><span>[70, 72]</span></td>", f'<td><a href="{TO}">71.2</a></td>',
        f'<td><a href="{TO}#small-99">71.2</a></td>',
        '<td><a href="../../_runs/cse/table9.html#small-01">71.2</a></td>',
        '<td><a href="../../data.html#small-01">71.2</a></td>', '<td><a href="https://x.example/_runs/a">71.2</a></td>',
        '<td><span class="sb-paper">70.0</span> 71.2</td>', '<td>PP is better on 12 of 20 sets</td>',
    ],
)  # fmt: skip
def test_a_number_without_a_run_is_found(cell: str) -> None:
    (found,) = walk(drawn(cell))
    assert found.startswith("book/_executed/cse/table1.html, T: ")


@pytest.mark.parametrize(
    "cell",
    [
        f'<td><a href="{TO}#small-01">71.2</a><span>[70, 72]</span></td>',
        f'<td><a href="{TO}#profile-small">+1</a></td>',
        '<td class="sb-paper">70.0</td>', '<td class="sb-text sb-data">2 dogs</td>', "<td>none</td>", "<td></td>",
        '<td><a href="../../runs.html">61 min</a></td>',
    ],
)  # fmt: skip
def test_a_number_with_a_run_or_of_a_paper_is_not(cell: str) -> None:
    assert walk(drawn(cell)) == []


def test_facts_and_the_pages_of_runs_are_left_out() -> None:
    assert walk(drawn("<td>9,927</td>", ' data-kind="facts"')) == []
    assert walk(f'<div class="facts docutils">{drawn("<td>9,927</td>")}</div>') == []
    assert walk(drawn("<td>71.2</td>"), "book/_runs/cse/table2.html") == []


def test_tables_of_hand_written_pages_are_looked_at() -> None:
    row = '<table class="table"><tr><td><p>table 1</p></td><td><p>{}</p></td></tr></table>'
    for number in ("71.2", "about 71.2", ".716", "+1.2 [0.3, 2.1]"):
        assert len(walk(row.format(number), "book/cse.html")) == 1
    assert walk(row.format("3 encoders, 8 data sets, 9 rows each"), "book/cse.html") == []
    frame = '<table class="dataframe"><tr><td>the mean over seeds is 71.2</td></tr></table>'
    assert len(walk(frame)) == 1
