"""The one table and its adapters: hostile text, links to runs, a reader's run beside the recorded one, toy data."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest

import sentbook.papers
import sentbook.report_old
from sentbook.io import ConfigError, DataError
from sentbook.papers.cnn_lstm import tables as cnn_lstm_tables
from sentbook.papers.wsv.tables import ranking
from sentbook.records import Metric, Run, Test
from sentbook.report_old import examples, figures, markup, pedigree, run_pages, summary, tables
from sentbook.report_old.table import Cell, Row, Table, badges
from sentbook.report_old.view import View, changes
from sentbook.runs import ledger as store
from sentbook.runs import lineage

Check = Callable[[str], ET.Element]
HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)> \u202e"
ROOMS = [
    name
    for package in (sentbook.report_old, sentbook.papers)
    for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]
PAGE = "book/_executed/cse/table1"


@pytest.mark.parametrize("name", ROOMS)
def test_examples_of_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


# -- hostile text ------------------------------------------------------------------------------------------------------


def hostile(run: Run) -> Run:
    """Every name of a run is hostile."""
    metrics = [
        Metric(method=f"{method} {HOSTILE}", dataset=dataset, metric=name, protocol=HOSTILE, seed=1, value=0.5, n=10)
        for method in ("CSE [UE]", "PP [DNT]")
        for dataset in ("SICK2014-test", "STS2012/avg", HOSTILE)
        for name in ("pearson", "accuracy", "mse")
    ]
    test = Test(
        kind=HOSTILE, a=metrics[0].method, b=HOSTILE, dataset=HOSTILE, metric="pearson",
        estimate=0.1, low=0, high=1, p=0.1,
    )  # fmt: skip
    cost = [row.model_copy(update={"method": f"{HOSTILE} d=50"}) for row in run.cost]
    made = run.provenance.model_copy(update={"device": HOSTILE, "git_commit": HOSTILE})
    changed = {"metrics": metrics, "tests": [test], "cost": cost, "provenance": made, "experiment": f"x{HOSTILE}"}
    return run.model_copy(update=changed)


PRINTED = pd.DataFrame(
    {"paper": HOSTILE, "table": HOSTILE, "method": [HOSTILE, "ours"], "dataset": HOSTILE, "metric": ["pearson", "uses"],
     "value": [0.5, 1.0], "note": HOSTILE}
)  # fmt: skip
SAID = [f"{HOSTILE} a dog", "", "A dog &amp; 7 cats"]
ADAPTERS: dict[str, Callable[[Run], Any]] = {
    "comparison": lambda run: tables.comparison(
        run, PRINTED, pair=(run.tests[0].a, HOSTILE), caption=HOSTILE, notes={HOSTILE: HOSTILE}
    ),
    "comparison not run": lambda run: tables.comparison(None, PRINTED, caption=HOSTILE),
    "by metric": lambda run: tables.by_metric(run, PRINTED, dataset=HOSTILE, caption=HOSTILE),
    "tests": lambda run: tables.tests(run, caption=HOSTILE),
    "matrix of tests": lambda run: tables.test_matrix(run, caption=HOSTILE),
    "claims": tables.claims,
    "cost": tables.cost,
    "provenance": tables.provenance,
    "substitutions": tables.substitutions,
    "plain": lambda run: tables.plain(pd.DataFrame({HOSTILE: [HOSTILE], "paper": [HOSTILE]}), HOSTILE, run=run),
    "examples": lambda run: examples.examples(
        SAID, SAID[::-1], [1, 2, 5], {HOSTILE: [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1]}, a=HOSTILE, b="b",
        caption=HOSTILE, run=run,
    ),
    "sentences": lambda run: examples.sentences(
        HOSTILE, [HOSTILE], [Row(examples.marked(text, HOSTILE), [examples.below(HOSTILE, text)]) for text in SAID],
        HOSTILE, HOSTILE, run=run,
    ),
    "methods": lambda run: cnn_lstm_tables.methods_table(
        run, PRINTED, columns=cnn_lstm_tables.relatedness_columns, caption=HOSTILE
    ),
    "ranking": lambda run: ranking(
        run, PRINTED, ours=[run.metrics[0].method], dataset=HOSTILE, metrics=["pearson"], caption=HOSTILE
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ADAPTERS)
def test_hostile_text_stays_text(name: str, run: Run, well_formed: Check) -> None:
    shown = ADAPTERS[name](hostile(run)).html()
    well_formed(shown)
    assert "<script" not in shown and "<img" not in shown and "\u202e" not in shown


# -- the table ---------------------------------------------------------------------------------------------------------


def test_two_storeys_groups_and_a_frame(well_formed: Check) -> None:
    rows = [
        Row("STS", head=True),
        Row("a", ["1", Cell("2", "[1, 3]", best=True), "x"]),
        Row("b", ["", "3", "y"], own=True),
    ]
    table = Table("Set", [("CSE", "paper"), ("CSE", "ours"), ("", "Note")], rows, "A caption")
    root = well_formed(table.html(style=False))
    heads = [
        ("".join(th.itertext()), th.get("colspan"), th.get("rowspan")) for th in root.iter("th") if th.get("scope")
    ]
    assert heads[:3] == [("Set", None, "2"), ("CSE", "2", None), ("Note", None, "2")]
    assert [th[0] for th in heads[3:5]] == ["paper", "ours"]
    widths = [sum(int(cell.get("colspan", 1)) for cell in row) for row in root.iter("tr")]
    assert widths == [4, 2, 4, 4, 4]  # the second line of the head stands below one group of two
    assert table.frame.loc["a"].tolist() == ["1", "2", "x"] and list(table.frame.columns) == [
        "CSE paper",
        "CSE ours",
        "Note",
    ]


def test_a_number_leads_to_its_run_and_what_is_not_ours_to_none(run: Run) -> None:
    cells = [
        Cell("71.2", row=("CSE", "SICK", "pearson")), Cell("42.6", paper="table 1"), Cell("2 dogs", data=True), "none",
        Cell("\u2013", "12"), Cell("", Cell("9", paper="table 2")),
    ]  # fmt: skip
    table = Table("Set", list("abcdef"), [Row("STS 2012", cells)], run=run)
    key = markup.row_key("CSE", "SICK", "pearson")
    links = re.findall(r'<a data-run="([^"]*)"(?: data-row="([^"]*)")?>(.*?)</a>', table.body)
    assert links == [("small/cse/table1", key, "71.2"), ("small/cse/table1", "", "12")]
    assert "<a" not in Table("Set", ["a"], [Row("b", ["7"])]).body


def test_toy_data_is_framed_and_named(demo_run: Run, run: Run) -> None:
    assert "Toy data: the mini-world" in tables.comparison(demo_run).html()
    assert "Toy data" in tables.cost(demo_run).html() and "Toy data" not in tables.cost(run).html()


def test_best_values_as_printed() -> None:
    assert tables.best({"a": 0.7121, "b": 0.7119, "c": 0.5}, "pearson") == {"a", "b"}
    assert tables.best({"a": 0.31, "b": 0.3}, "mse") == {"b"} and tables.best({"a": 1.0}, "pearson") == set()


def test_what_cannot_be_shown_is_said(run: Run) -> None:
    with pytest.raises(ConfigError, match="brackets or half"):
        tables.comparison(run, interval="whole")
    doubled = run.model_copy(
        update={"metrics": [*run.metrics, run.metrics[0].model_copy(update={"protocol": "other"})]}
    )
    with pytest.raises(ConfigError, match="choose one with protocol="):
        tables.comparison(doubled)
    with pytest.raises(DataError, match="twice"):
        tables.comparison(run.model_copy(update={"metrics": [*run.metrics, run.metrics[0]]}))
    missing = View(run, None, summary.reported("cse", "table1"))
    assert all("make run NOTEBOOK=cse/table1" in draw(missing).html() for draw in (tables.comparison, tables.tests))


# -- the paper, the recorded run, the reader's -------------------------------------------------------------------------


def changed(run: Run, **settings: Any) -> Run:
    """A reader's run with other settings, a little better than the recorded one."""
    config = {**run.provenance.config, "cse": {**run.provenance.config["cse"], **settings}}
    metrics = [row.model_copy(update={"value": row.value + 0.01}) for row in run.metrics]
    made = run.provenance.model_copy(update={"config": config})
    return run.model_copy(update={"profile": "custom/0a1b2c", "metrics": metrics, "provenance": made})


def test_a_changed_run_stands_beside_the_recorded_one() -> None:
    recorded = store.read("cse", "table1", "small")
    assert recorded is not None
    view = View.of(changed(recorded, activation="tanh"))
    assert set(view.changes) - set(changes(recorded)) == {"cse.activation = tanh"}
    table = tables.comparison(view, methods=["PP", "CSE"])
    assert [head for _, head in table.columns] == ["paper", "recorded", "your run"] * 2
    assert "<strong>Your run</strong> with <code>" in table.html()
    assert "<code>cse.activation = tanh</code>" in table.html()
    alone = tables.comparison(recorded, summary.reported("cse", "table1"), methods=["PP", "CSE"])
    ours, both = alone.frame["PP ours"].tolist(), table.frame
    assert both["PP recorded"].tolist() == ours and both["PP paper"].tolist() == alone.frame["PP paper"].tolist()
    assert float(both["PP your run"].iloc[0]) == pytest.approx(float(ours[0]) + 1.0, abs=0.11)


def test_a_run_at_the_papers_size_has_a_column_unless_its_numbers_stand_there_already() -> None:
    recorded = store.read("cse", "table1", "small")
    assert recorded is not None
    for made, columns in [(changed(recorded), 3), (recorded, 0)]:
        full = View(recorded, recorded, None, made.model_copy(update={"profile": "paper"}))
        html = tables.comparison(full, methods=["PP", "CSE"], pair=("CSE", "PP")).html()
        assert html.count("paper\u2019s size") == columns and ('data-run="paper/cse/table1"' in html) == bool(columns)
        assert figures.forest(full, a="CSE", b="PP")  # a figure has no room for another run


def test_an_unchanged_run_stands_alone() -> None:
    recorded = store.read("cse", "table1", "small")
    assert recorded is not None
    shown = tables.comparison(View.of(recorded), methods=["PP", "CSE"], caption="Table 1")
    assert isinstance(shown, Table) and "Your run" not in shown.html()


def test_toy_data_and_recorded_numbers_share_no_table(demo_run: Run) -> None:
    shown = tables.comparison(View.of(demo_run), rows=["STS2012/avg"], notes={"STS2012": "x"}, caption="Table 1")
    first, second = shown.pieces
    assert first.frame.index.tolist() == ["STS 2012 average"] and "Toy data" not in first.html()
    assert "Toy data" in second.html() and all("paper" not in head for _, head in second.columns)
    metric = View.of(demo_run)
    assert len(tables.by_metric(metric, dataset="SICK2014-test", metrics=["pearson"]).pieces) == 2


def test_two_measures_of_a_set_are_two_columns_of_the_matrix(run: Run) -> None:
    test = run.tests[0]
    both = [test, test.model_copy(update={"metric": "f1", "estimate": -0.123})]
    found = tables.test_matrix(run.model_copy(update={"tests": both})).frame
    assert found.shape == (1, 2) and "f1" in found.columns[1].lower() and "12.3" in str(found.iloc[0, 1])


# -- links -------------------------------------------------------------------------------------------------------------


def test_links_lead_to_rows_that_the_runs_page_has(run: Run, kept: Path, well_formed: Check) -> None:
    shown = [
        tables.comparison(run, pair=("CSE", "PP")), tables.by_metric(run, dataset="SICK2014-test"), tables.tests(run),
        tables.claims(run), tables.cost(run), tables.test_matrix(run),
    ]  # fmt: skip
    page = pedigree.linked("".join(piece.html(style=False) for piece in shown), PAGE)
    well_formed(page)
    wanted = set(re.findall(r'href="../../_runs/cse/table1.html#(small-[0-9a-f]+)"', page))
    there = run_pages.page("cse", "table1", [run], {})
    assert len(wanted) > 80 and wanted <= set(re.findall(r' id="([^"]+)"', there))
    assert "data-row" not in page
    # A cell's own tooltip, its p, is not hidden by the link's.
    assert re.search(r'<td[^>]* title="(p[^"]+)"><a href="[^"]+" title="\1">\+9\.0</a>', page)


def test_addresses_are_relative_to_the_page(kept: Path) -> None:
    small = markup.why("1", "small/cse/table1")
    assert 'href="_runs/cse/table1.html#profile-small"' in pedigree.linked(small, "book/x")
    assert 'href="runs.html"' in pedigree.linked(markup.why("2", "small"), "book/status")


@pytest.mark.parametrize("name", ["demo/cse/table2", "small/cse/table2", "custom/0a1b/cse/table1", 'small/cse/"><b>'])
def test_a_run_without_a_page_has_no_link(ledger: Path, name: str) -> None:
    assert pedigree.linked(markup.why("71.2", name, "ab", "a <title>"), PAGE) == "71.2"
    assert pedigree.linked(markup.why("Its run", name, hidden=True), PAGE) == ""


def test_badges_and_figures_lead_to_the_run(run: Run, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = markup.Fragment(badges(run), run="small/cse/table1").html(style=False)
    fresh = pedigree.linked(shown, PAGE)
    assert '#profile-small">recorded run</a></li>' in fresh and "stale" not in fresh
    monkeypatch.setattr(lineage, "changed", lambda run: ["lib/sentbook/optim.py", "data:eval/x.txt"])
    store.write(run.model_copy(update={"profile": "paper"}))
    beside = pedigree.linked(shown + markup.why("71.2", "paper/cse/table1"), PAGE)
    assert beside.count("stale: 2 files changed since</li>") == 2 and ">paper\u2019s size: stale: 2 files" in beside
    figure = pedigree.linked(figures.forest(run, a="CSE", b="PP").html(style=False), PAGE)
    assert figure.count("<a ") == 1 and '#profile-small">Its run</a></figcaption>' in figure


def test_outputs_of_a_notebook_get_their_links(kept: Path) -> None:
    shown = markup.why("71.2", "small/cse/table1")
    output = nbformat.v4.new_output("display_data", {"text/html": shown, "text/plain": "71.2"})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])])
    pedigree.link_outputs(notebook, PAGE)
    found = notebook.cells[0].outputs[0].data
    assert found["text/html"] == pedigree.linked(shown, PAGE) != shown and found["text/plain"] == "71.2"
