from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from sentbook.records import Run
from sentbook.report import contrasts, figures, ledger, marks, markup, pedigree, summary, tables
from sentbook.report.markup import Fragment, simple
from sentbook.runs import ledger as store
from sentbook.runs import lineage

Check = Callable[[str], object]
PAGE = "book/_executed/cse/table1"
TOC = """format: jb-book
root: book/index
chapters:
  - file: book/runs
    sections:
      - file: book/_runs/cse/table1
"""


@pytest.fixture
def ledger_of_runs(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of its own, with table 1 recorded and listed, and table 2 recorded alone."""
    (tmp_path / "_toc.yml").write_text(TOC)
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    monkeypatch.setattr(pedigree, "root", lambda: tmp_path)
    monkeypatch.setattr(lineage, "changed", lambda run: [])
    for experiment in ("table1", "table2"):
        store.write(run.model_copy(update={"experiment": experiment}))
    return tmp_path


def shown(cell: str, run: str = "small/cse/table1") -> str:
    """A table of one cell."""
    return Fragment(f"<table><tbody><tr><td>{cell}</td></tr></tbody></table>", run=run).html(style=False)


def test_examples_of_the_docstrings() -> None:
    assert doctest.testmod(marks).failed == 0 and doctest.testmod(pedigree).failed == 0


def test_every_table_of_a_run_names_it(run: Run) -> None:
    reported = summary.reported("cse", "table1")
    frame = pd.DataFrame({"encoder": ["CSE"], "value": [0.5], "paper": [0.7]})
    made = [
        tables.comparison(run, reported), tables.by_metric(run, dataset="SICK2014-test"), tables.claims(run),
        tables.cost(run), tables.tests(run), tables.provenance(run), tables.plain(frame, run=run),
        contrasts.matrix(run), figures.forest(run, a="CSE", b="PP"), figures.scatter([0, 1], {"CSE": [0, 1]}, run=run),
    ]  # fmt: skip
    for fragment in made:
        start = fragment.html(style=False).partition(">")[0]
        assert ' data-run="small/cse/table1" title="run small/cse/table1"' in start
    assert "data-run" not in tables.comparison(None, reported).html() + tables.plain(frame).html()
    assert 'data-kind="facts"' in tables.plain(frame, facts=True).html()
    assert '<span class="sb-paper" title="printed in the paper">0.7</span>' in tables.plain(frame).html()


def test_a_cell_leads_to_its_row(run: Run, ledger_of_runs: Path, well_formed: Check) -> None:
    made = tables.comparison(run, summary.reported("cse", "table1"), pair=("CSE", "PP"))
    html = pedigree.linked(made.html(), PAGE)
    well_formed(html)
    key = marks.row_key("CSE", "STS2012/MSRpar", "pearson")
    link = f'<a href="../../_runs/cse/table1.html#small-{key}" title="Why this number">'
    assert f"{link}51.6</a>" in html and f'<td class="sb-soft">{link}0.0</a></td>' in html
    contrast = marks.row_key("CSE", "PP", "STS2012/MSRpar", "pearson")
    # The cell's own tooltip, its p, is not hidden by the link's.
    assert re.search(rf'title="p[^"]+"><a href="[^"]+#small-{contrast}">\+9\.0', html)
    assert "data-row" not in html
    # What the paper printed is left as it is, and says where.
    assert '<td class="sb-start sb-paper" title="printed in table 1 of the CSE paper">42.6</td>' in html


def test_every_row_that_a_table_names_is_on_the_page_of_the_run(run: Run, ledger_of_runs: Path) -> None:
    made = [
        tables.comparison(run, pair=("CSE", "PP")), tables.by_metric(run, dataset="SICK2014-test"), tables.tests(run),
        tables.claims(run), tables.cost(run), contrasts.matrix(run),
    ]  # fmt: skip
    html = pedigree.linked("".join(fragment.html(style=False) for fragment in made), PAGE)
    wanted = set(re.findall(r"#(small-[0-9a-f]+)", html))
    parts = (tables.tests(run), tables.claims(run), tables.cost(run))
    there = ledger.rows(run) + "".join(ledger.anchored(part.body, "small") for part in parts)
    assert len(wanted) > 80
    assert wanted <= set(re.findall(r' id="([^"]+)"', there))


def test_numbers_that_are_no_results_stay(ledger_of_runs: Path) -> None:
    for cell in (
        '<span class="sb-paper">42.6</span>', '<span class="sb-data">2 dogs</span>', "", "none", "it&#x27;s",
        '<svg><text x="3">12</text></svg>',
    ):  # fmt: skip
        assert pedigree.linked(shown(cell), PAGE) == shown(cell)
    sentences = Fragment(
        simple(["a", "b"], [["x", "7 dogs"]], text=frozenset({1}), of_data=True), run="small/cse/table1"
    )
    assert "<a" not in pedigree.linked(sentences.html(), PAGE)


def test_one_link_a_cell_around_its_first_number(ledger_of_runs: Path) -> None:
    to = "../../_runs/cse/table1.html#profile-small"
    html = pedigree.linked(shown('<u><strong>71.2</strong></u> ✓<span class="sb-ci">[70, 72]</span>'), PAGE)
    assert f'<strong><a href="{to}" title="Why this number">71.2</a></strong></u> ✓<span class="sb-ci">[70' in html
    assert html.count("<a ") == 1
    paper_first = pedigree.linked(shown('<span class="sb-paper">66</span> 71.2'), PAGE)
    assert '66</span> <a href="' in paper_first and ">71.2</a>" in paper_first
    assert pedigree.linked(shown('<a href="x">7</a>'), PAGE).count("<a ") == 1


def test_addresses_are_relative_to_the_page(ledger_of_runs: Path) -> None:
    assert 'href="_runs/cse/table1.html#profile-small"' in pedigree.linked(shown("1"), "book/status")
    inside = pedigree.linked(f'<div data-run="small">{shown("2", "")}</div>', "book/status")
    assert 'href="runs.html"' in inside


@pytest.mark.parametrize("name", ["small/cse/table2", "demo/cse/table1", "small/wsv/table1", "custom/0a1b/cse/table1"])
def test_a_run_without_a_page_has_no_link(ledger_of_runs: Path, name: str) -> None:
    assert pedigree.linked(shown("71.2", name), PAGE) == shown("71.2", name)


def test_badges_lead_to_the_run_and_say_when_it_is_stale(
    run: Run, ledger_of_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Fragment(tables.badges(run), run="small/cse/table1").html()
    fresh = pedigree.linked(made, PAGE)
    assert '<a href="../../_runs/cse/table1.html#profile-small">recorded run</a></li>' in fresh
    assert "stale" not in fresh.partition("</style>")[2]
    monkeypatch.setattr(lineage, "changed", lambda run: ["lib/sentbook/optim.py", "data:eval/x.txt"])
    stale = pedigree.linked(made, PAGE)
    assert '<li class="sb-badge sb-badge-stale">stale: 2 files changed since</li></ul>' in stale
    counts = '<ul class="sb-badges" aria-label="Verdicts"><li>3 reproduced</li></ul>'
    assert pedigree.linked(Fragment(counts, run="small/cse/table1").html(), PAGE).endswith(f"{counts}</div>")


def test_a_figure_leads_to_its_run(run: Run, ledger_of_runs: Path, well_formed: Check) -> None:
    html = pedigree.linked(figures.forest(run, a="CSE", b="PP").html(), PAGE)
    well_formed(html)
    assert html.count("<a ") == 1
    assert ' <a href="../../_runs/cse/table1.html#profile-small">Its run</a></figcaption>' in html


def test_outputs_of_a_notebook(run: Run, ledger_of_runs: Path) -> None:
    data = {"text/html": shown("71.2"), "text/plain": "71.2"}
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("text"),
            nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("display_data", data)]),
        ]
    )
    pedigree.link_outputs(notebook, PAGE)
    found = notebook.cells[1].outputs[0].data
    assert found["text/html"] == pedigree.linked(shown("71.2"), PAGE) and found["text/plain"] == "71.2"


def test_hostile_names_stay_text(ledger_of_runs: Path, well_formed: Check) -> None:
    name = 'small/cse/"><script>'
    well_formed(pedigree.linked(shown("7", name), PAGE))
    assert (
        markup.of_run(name)
        == ' data-run="small/cse/&quot;&gt;&lt;script&gt;" title="run small/cse/&quot;&gt;&lt;script&gt;"'
    )
