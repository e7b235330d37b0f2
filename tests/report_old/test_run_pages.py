from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from sentbook import config
from sentbook.records import CurvePoint, Run
from sentbook.report_old import ledger, pedigree, run_pages
from sentbook.report_old.markup import row_key, why
from sentbook.runs import ledger as store
from sentbook.runs import lineage
from sentbook.runs.contents import is_lesson, listed, notebook

Check = Callable[[str], ET.Element]
RECORDED = Path(__file__).resolve().parents[2] / "results" / "small"
INTERVAL = r"\[(-?[\d.]+), (-?[\d.]+)\]"


@pytest.fixture
def run(run: Run) -> Run:
    """The synthetic run with the configuration of its profile, a log and an encoder."""
    held = config.load("cse", {"profile": "small"}).model_dump(mode="json")
    encoder = {
        "method": "PP", "seed": 1, "key": "ac61e822136c4d86", "git_commit": "b11cbfa" + "0" * 33, "wall_seconds": 118.7,
        "started": "2026-11-21T07:08:11+00:00", "pairs": 524236,
    }  # fmt: skip
    made = run.provenance.model_copy(update={"config": held, "sources": {"lib/sentbook/optim.py": "0f" * 8}})
    extra = {"artifacts": [encoder], "log": ["PP 1: found ac61e822136c4d86", "CSE 1: trained, 61 s"]}
    return run.model_copy(update={"provenance": made, "extra": extra})


def fragments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("<div", "<figure"))]


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*/*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_recorded_value_lies_outside_its_own_interval(path: Path) -> None:
    """In the file, and on the page of the run, where a value of another protocol has no interval."""
    run = Run.model_validate_json(path.read_bytes())
    numbers = [one for claim in run.claims for one in (claim.ours, *(part.ours for part in claim.parts)) if one]
    held = [(one.value, one.low, one.high) for one in numbers] + [
        (one.estimate, one.low, one.high) for one in run.tests
    ]
    assert [one for one in held if None not in one and not one[1] - 1e-9 <= one[0] <= one[2] + 1e-9] == []
    for row in BeautifulSoup(ledger.rows(run), "html.parser").select("tr"):
        cells = [cell.get_text().replace("\u2212", "-") for cell in row.select("td")]
        ends = [[float(end) for end in found] for cell in cells for found in re.findall(INTERVAL, cell)]
        values = [float(cell) for cell in cells[1:] if re.fullmatch(r"-?[\d.]+", cell)]
        # The mean where there are several values, else the one.
        assert all(low - 0.011 <= values[0] <= high + 0.011 for low, high in ends), row.get_text(" ")


def of_table1(run: Run, changed: list[str] | None = None) -> str:
    return run_pages.page("cse", "table1", [run], {"small": changed or []})


def test_a_page_says_all_that_is_known_of_a_run(run: Run, kept: Path, well_formed: Check) -> None:
    text = of_table1(run)
    for part in (
        "# Run: CSE, table 1", "[CSE, table 1](../../_executed/cse/table1.ipynb)", "## Profile small",
        "make run NOTEBOOK=cse/table1 PROFILE=small", "1, 2, 3, 4, 5", "30.6 min", "1.4 GB", "cpu",
        "2026-11-21 06:12:00",
        "torch 2.13.0", "captions for PPDB XL", "https://code.example/x/tree/0123456789abcdef0123456789abcdef01234567",
        "\naaaaaaaaaaaa  eval/sick2014/SICK_test_annotated.txt\n", "\n0f0f0f0f0f0f0f0f  lib/sentbook/optim.py\n",
        "PP 1: found ac61e822136c4d86\nCSE 1: trained, 61 s",
        "\nac61e822136c4d86  b11cbfa  2026-11-21T07:08  PP, seed 1: 119 s, 524236 examples\n",
    ):  # fmt: skip
        assert part in text, part
    assert "stale" not in text.replace(fragments(text)[0], "")
    ids = [name for fragment in fragments(text) for name in re.findall(r' id="(small-[^"]+)"', fragment)]
    assert len(ids) == len(set(ids)) > 80
    for fragment in fragments(text):
        well_formed(fragment)
    assert "figure" in "".join(fragments(text)) and "Training examples seen" in text


def test_what_differs_from_the_paper_profile_is_said_first(run: Run, kept: Path, monkeypatch) -> None:
    theirs = config.load("cse", {"profile": "paper"}).model_dump(mode="json")
    ours = theirs | {"profile": "small", "resamples": theirs["resamples"] + 1}
    changed = run.provenance.model_copy(update={"config": ours})
    text = of_table1(run.model_copy(update={"provenance": changed}))
    assert "1 of its values differs from the paper profile" in text
    first, _, whole = text.partition("In full:")
    assert f"- `resamples`: `{ours['resamples']}`, in `paper` `{theirs['resamples']}`" in first
    assert f"resamples: {ours['resamples']}\n" in whole and "profile" not in re.findall(r"^- `(\w+)`:", first, re.M)


def test_rows_hold_every_seed(run: Run, kept: Path, well_formed: Check) -> None:
    row = next(
        element
        for element in well_formed(ledger.rows(run)).iter("tr")
        if element.get("id") == f"small-{row_key('CSE', 'STS2012/MSRpar', 'pearson')}"
    )
    cells = ["".join(cell.itertext()) for cell in row]
    # 51.6 and .2 more with each seed from the third.
    assert cells == ["STS 2012 MSRpar", "750", "51.60", "[51.21, 51.99]", "51.20", "51.40", "51.60", "51.80", "52.00"]


def test_many_rows_fold_by_method_and_few_do_not(run: Run, kept: Path) -> None:
    assert ledger.rows(run).count("<details") == len({row.method for row in run.metrics})
    few = run.model_copy(update={"metrics": [row for row in run.metrics if row.dataset.startswith("STS2012")]})
    assert "<details" not in ledger.rows(few)


def test_rows_of_two_protocols_share_an_anchor_and_show_intervals_over_examples(run: Run, kept: Path) -> None:
    twice = [row.model_copy(update={"protocol": "pooled"}) for row in run.metrics]
    ends = {"pearson": {"STS2012/MSRpar": {"CSE": [0.5011, 0.5349]}}}
    changed = {"metrics": [*run.metrics, *twice], "extra": {"intervals over examples": ends}}
    html = ledger.rows(run.model_copy(update=changed))
    assert html.count(f'id="small-{row_key("CSE", "STS2012/MSRpar", "pearson")}"') == 1
    assert html.count(">STS 2012 MSRpar</th>") == 4
    assert "95 % over examples" in html and "[50.11, 53.49]" in html


def test_a_stale_run_names_the_files(run: Run, kept: Path) -> None:
    text = of_table1(run, ["lib/sentbook/optim.py", "data:eval/x.txt"])
    assert "stale: 2 files changed since</li></ul>" in text
    assert "dropdown} Stale: 2 files changed since\n\n- `lib/sentbook/optim.py`\n- `data:eval/x.txt`\n" in text
    assert "0f0f0f0f0f0f0f0f  lib/sentbook/optim.py, changed since" in text
    used = run.model_copy(update={"extra": {"used": {"artifacts": 5, "of other code": 2}}})
    assert "sources not recorded; encoders and scores of other code: 2 of 5</li></ul>" in of_table1(used, ["unknown"])


def test_no_line_of_a_log_ends_the_block_that_it_stands_in(run: Run, kept: Path) -> None:
    hostile = ["::::", ":" * 40, "~" * 40, ":::{raw} html", "<script>"]
    text = of_table1(run.model_copy(update={"extra": {**run.extra, "log": hostile}}))
    assert ":::{raw} html" in text
    for fence in (":" * 12, "~" * 12):
        lines = [line.lstrip() for line in text.splitlines() if line.lstrip().startswith(fence)]
        assert len(lines) % 2 == 0 and all(line[len(fence)] != fence[0] for line in lines[::2])
        assert set(lines[1::2]) == {fence}


def test_without_log_and_without_run(run: Run, kept: Path) -> None:
    assert "No log was kept." in of_table1(run.model_copy(update={"extra": {}}))
    text = run_pages.page("wsv", "table2", [], {})
    assert "Not run" in text and "`make run NOTEBOOK=wsv/table2 PROFILE=small`" in text
    assert "`sentbook data overlap --record`" in run_pages.page("data", "overlap", [], {})


def test_curves_too_many_for_a_figure_are_a_table(run: Run, kept: Path, well_formed: Check) -> None:
    points = [
        CurvePoint(method=f"m{i}", seed=1, step=step, split="validation", metric="pearson", value=value)
        for i in range(6)
        for step, value in ((10, 0.1), (30, 0.7), (20, 0.8))
    ]
    text = of_table1(run.model_copy(update={"curves": points}))
    assert "<figure" not in text and "Curves of 6 trainings" in text
    row = next(well_formed(ledger.curve_rows(points).html(style=False)).iter("tbody"))[0]
    assert ["".join(cell.itertext()) for cell in row][4:] == ["30", "10.0", "80.0", "70.0"]


def test_pages_are_written_once_and_unlisted_ones_go(run: Run, kept: Path, monkeypatch) -> None:
    folder = kept / "book" / "_runs"
    (folder / "cse").mkdir(parents=True)
    (folder / "cse" / "gone.md").write_text("old")
    run_pages.write()
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md")) == [
        "cse/table1.md", "data/overlap.md", "wsv/table2.md",
    ]  # fmt: skip
    drawn = []
    page = run_pages.page
    monkeypatch.setattr(run_pages, "page", lambda *args: drawn.append(args[:2]) or page(*args))
    run_pages.write()
    assert drawn == []
    monkeypatch.setattr(lineage, "changed", lambda run: ["lib/sentbook/optim.py"])
    run_pages.write()
    assert drawn == [("cse", "table1")]
    store.write(run.model_copy(update={"paper": "wsv", "experiment": "table2"}))
    run_pages.write()
    assert drawn[1:] == [("wsv", "table2")]


def test_a_demo_has_a_page_of_its_own(run: Run, kept: Path) -> None:
    store.write(run.model_copy(update={"profile": "demo"}))
    run_pages.write()
    real, toy = ((kept / f"book/_runs/cse/table1{suffix}.md").read_text() for suffix in ("", "-demo"))
    assert "## Profile small" in real and "demo" not in real
    assert "# Run: CSE, table 1 on toy data\n" in toy and "## Profile demo" in toy and "small-" not in toy
    assert 'href="_runs/cse/table1-demo.html#profile-demo"' in pedigree.linked(why(1, "demo/cse/table1"), "book/x")


def test_all_runs_in_one_table(run: Run, kept: Path, well_formed: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    html = pedigree.linked(run_pages.overview(), "book/runs.md").strip()
    well_formed(html)
    assert '<a href="_runs/cse/table1.html">Table 1</a>' in html and ">fresh<" in html and ">not run<" in html
    assert '<a href="_runs/cse/table1.html#profile-small">30.6 min</a>' in html
    rules = [f"lib/sentbook/{name}.py" for name in ("papers/cse/claims", "runs/rules")]  # they move no number
    monkeypatch.setattr(lineage, "changed", lambda run: ["a", "b", *rules])
    assert ">stale: 2 files<" in run_pages.overview()
    own = "lib/sentbook/papers/dnt/claims.py"  # the notebook names its rows by it
    monkeypatch.setattr(lineage, "changed", lambda run: ["a", own, *rules])
    dnt = run.model_copy(update={"paper": "dnt", "experiment": "table5"})
    assert pedigree.changed_since(dnt) == ["a", own] and pedigree.changed_since(run) == ["a"]


def test_every_notebook_of_the_book_has_a_page_of_its_runs() -> None:
    shown = [page.removeprefix("book/_executed/") for page in listed("book/_executed")]
    notebooks = [name for name in shown if not is_lesson(notebook(name))]
    assert len(notebooks) > 25 and set(notebooks) <= {"/".join(names) for names in run_pages.experiments()}
