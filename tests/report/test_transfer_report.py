"""Table 4 as a page shows it, and who wins."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import pytest

from sentbook.evaluation import winners
from sentbook.records import Metric, Run, Test
from sentbook.report import summary, transfer
from sentbook.report.markup import Fragment
from sentbook.system.errors import ConfigError

Check = Callable[[str], ET.Element]
HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)>"
MINUS = "\u2212"
PRINTED = summary.reported("dnt", "table4")
VALUES = {(m, d): float(v) for m, d, v in PRINTED[["method", "dataset", "value"]].itertuples(index=False)}
COLUMNS = ["STSB-test", "SICK", "STS12", "SIM", "REL", "MA", "PAC", "SAG"]


def metrics(values: Mapping[tuple[str, str], float], seeds: int = 3, protocol: str = "") -> list[Metric]:
    return [
        Metric(
            method=method, dataset=dataset, metric=str(winners.measure_on(dataset)),
            protocol=protocol or f"trained head, {winners.measure_on(dataset)}, per set, ptb tokens", seed=seed,
            value=value + 0.001 * (seed - (seeds + 1) / 2), n=1000,
        )
        for (method, dataset), value in values.items() for seed in range(1, seeds + 1)
    ]  # fmt: skip


def test_of(encoder: str, a: str, b: str, dataset: str, estimate: float, p: float, kind: str = winners.KIND) -> Test:
    return Test(
        kind=kind, a=f"{encoder} [{a}]", b=f"{encoder} [{b}]", dataset=dataset,
        metric=str(winners.measure_on(dataset)), estimate=estimate, low=estimate - 0.01, high=estimate + 0.01,
        p=p / 24, p_holm=p,
    )  # fmt: skip


test_of.__test__ = False  # type: ignore[attr-defined]  # makes a test of the ledger


def chosen(values: Mapping[tuple[str, str], float]) -> dict[str, dict[str, str]]:
    """Data set -> ``GRAN [NT]`` -> the row with the highest value."""
    found: dict[str, dict[str, str]] = {}
    for (method, dataset), value in values.items():
        rows = found.setdefault(dataset, {})
        setting = winners.named(winners.encoder_of(method), winners.setting_of(method))
        if value > values.get((rows.get(setting, ""), dataset), -1):
            rows[setting] = method
    return found


@pytest.fixture
def table4(run: Run) -> Run:
    """The paper's own values and rows; of GRAN on SICK DNT and NT tie, BiLSTM-Avg's DNT is alone on SIM."""
    tests = [
        test_of("GRAN", "DNT", other, "SICK", gap, p)
        for other, gap, p in (("UE", 0.154, 0.001), ("FT", 0.065, 0.001), ("NT", 0.0, 1.0))
    ]
    tests += [test_of("BiLSTM-Avg", "DNT", other, "SIM", 0.05, 0.01) for other in ("UE", "FT", "NT")]
    tests += [
        test_of("GRAN", "NT", other, "SICK", 0.1, p, winners.BEST_KIND)
        for other, p in (("UE", 0.001), ("FT", 0.001), ("DNT", 1.0))
    ]
    tests += [test_of("BiLSTM-Avg", "DNT", other, "SIM", 0.05, 0.01, winners.BEST_KIND) for other in ("UE", "FT", "NT")]
    changes = {"paper": "dnt", "experiment": "table4", "metrics": metrics(VALUES), "tests": tests}
    return run.model_copy(update=changes | {"extra": {winners.CHOSEN: chosen(VALUES)}})


def cell(made: Fragment, method: str, dataset: str) -> str:
    """A cell of the Markdown."""
    lines = made.to_markdown().splitlines()
    label = f"| {winners.encoder_of(method)} {transfer.row_label(method)} |"
    row = next(line for line in lines if line.startswith(label))
    return row.split("|")[2 + COLUMNS.index(dataset)].strip()


# -- table 4 ---------------------------------------------------------------------------------------------------------


def test_rows_stand_in_the_papers_order_under_their_encoder(table4: Run, well_formed: Check) -> None:
    shuffled = table4.model_copy(update={"metrics": table4.metrics[::-1]})
    made = transfer.cells_table(shuffled, None, caption="Table 4")
    root = well_formed(made.html())
    heads = [row.findtext("th") for row in root.iter("tr") if row.get("class") == "sb-group"]
    assert heads == ["InferSent", "GRAN", "BiLSTM-Avg"]  # of the run alone, as it holds them
    assert made.to_frame()["method"].to_list()[6:15] == [
        f"GRAN {row}"
        for row in (
            "[UE]", "[FT] MSE", "[FT] KL", "[NT] MSE row1", "[NT] MSE row2", "[NT] KL row1", "[NT] KL row2",
            "[DNT] row1", "[DNT] row2",
        )
    ]  # fmt: skip
    with_paper = transfer.cells_table(shuffled, PRINTED).to_frame()
    assert with_paper["method"].to_list() == list(dict.fromkeys(PRINTED["method"]))
    assert [th.text for th in root.iter("th") if th.get("scope") == "row"][6:9] == ["UE", "FT MSE", "FT KL"]


def test_our_extra_rows_stand_before_those_with_frozen_words(table4: Run) -> None:
    extra = {("InferSent [DNT] row1", d): 0.5 for d in COLUMNS} | {("InferSent [NT] KL row1", "SICK"): 0.5}
    made = transfer.cells_table(table4.model_copy(update={"metrics": table4.metrics + metrics(extra)}), PRINTED)
    rows = made.to_frame()["method"].to_list()
    assert rows[-5:] == [
        "InferSent [NT] MSE", "InferSent [NT] KL row1", "InferSent [NT] KL", "InferSent [DNT] row1", "InferSent [DNT]",
    ]  # fmt: skip
    assert cell(made, "InferSent [DNT] row1", "SAG") == "50.0"
    assert cell(made, "InferSent [NT] KL row1", "SAG") == ""  # neither ours nor theirs


def test_cells_hold_ours_and_the_papers(table4: Run, well_formed: Check) -> None:
    made = transfer.cells_table(table4, PRINTED)
    assert cell(made, "BiLSTM-Avg [UE]", "STSB-test") == "79.1/78.3 (79.1/78.3)"
    assert cell(made, "GRAN [FT] KL", "PAC") == "39.8 (39.8)"
    row = made.to_frame().set_index("method").loc["GRAN [FT] KL"]
    assert row["PAC ours"] == pytest.approx(39.8) and row["PAC paper"] == pytest.approx(39.8)
    assert row["PAC low"] < 39.8 < row["PAC high"]
    html = made.html()
    well_formed(html)
    assert 'title="[39.6, 40.0], 3 seeds"' in html and re.search(r'class="sb-ci sb-paper" title="[^"]+">39.8<', html)
    for words in ("STSB dev/test", "\u03c1 \u00d7 100", "r \u00d7 100", "recorded run", "mean of 3 seeds"):
        assert words in html
    assert "trained head, per set, ptb tokens \u00b7" in html  # once, the measure being the column's


def test_bold_and_underline_are_those_of_the_paper(table4: Run) -> None:
    made = transfer.cells_table(table4, PRINTED)
    overall = {
        "STSB-test": {"BiLSTM-Avg [DNT] row1", "BiLSTM-Avg [DNT] row2"},
        "SICK": {"InferSent [FT] MSE"},
        "STS12": {"BiLSTM-Avg [FT] MSE"},
        "SIM": {"InferSent [DNT]"},
        "REL": {"InferSent [DNT]"},
        "MA": {"InferSent [DNT]"},
        "PAC": {"InferSent [DNT]"},
        "SAG": {"InferSent [DNT]"},
    }
    for dataset, best in overall.items():
        shown = {method: cell(made, method, dataset) for method in dict.fromkeys(PRINTED["method"])}
        assert {method for method, text in shown.items() if text.startswith("**_")} == best
        assert {method for method, text in shown.items() if "(**_" in text} == best
    assert cell(made, "GRAN [UE]", "PAC") == "**44.4** (**44.4**)"  # best of its encoder alone
    assert cell(made, "GRAN [DNT] row1", "SICK").startswith("**85.7**")  # as printed four rows are equal
    assert "<u>85.2/82.4</u>" in made.html()


def test_ties_are_marked_on_the_chosen_rows(table4: Run) -> None:
    made = transfer.cells_table(table4, PRINTED)
    frame = made.to_frame().set_index("method")
    marked = [(method, name) for name in COLUMNS for method in frame.index[frame[f"{name} tied"]]]
    assert marked == [("GRAN [NT] MSE row1", "SICK"), ("GRAN [DNT] row1", "SICK")]
    assert made.html().count(" \u2248<") == 2 and "development pairs" in made.html()
    assert cell(made, "GRAN [DNT] row1", "SICK") == "**85.7** \u2248 (**85.7**)"
    plain = transfer.cells_table(table4.model_copy(update={"tests": [], "extra": {}}), PRINTED)
    assert "\u2248" not in plain.html()


def test_other_data_sets_have_no_paper(table4: Run, well_formed: Check) -> None:
    values = {(m, d): v for (m, _), v in VALUES.items() for d in ("miniworld/answers", "miniworld/relatedness")}
    made = transfer.cells_table(table4.model_copy(update={"metrics": metrics(values, 1)}), PRINTED, just_made=True)
    html = made.html()
    well_formed(html)
    assert "Mini-world relatedness" in html and "STSB" not in html and "sb-ci" not in html.partition("</style>")[2]
    assert "run just made" in html and "one seed" in html and "Small: the paper." not in html


def test_no_run_shows_the_notice_and_the_paper(well_formed: Check) -> None:
    made = transfer.cells_table(None, PRINTED)
    html = made.html()
    well_formed(html)
    assert "Not run" in html and "make run NOTEBOOK=dnt/table4 PROFILE=small" in html
    assert cell(made, "InferSent [DNT]", "SAG") == "**_83.8_**" and "as printed" in html
    assert made.to_frame()["SAG ours"].isna().all()
    nothing = transfer.cells_table(None, None, command=HOSTILE)
    well_formed(nothing.html())
    assert "<table" not in nothing.html()


def test_names_are_escaped(table4: Run, well_formed: Check) -> None:
    values = {(f"{HOSTILE} [{s}] {HOSTILE}", "SICK"): 0.5 for s in ("FT", "DNT")}
    changed = table4.model_copy(update={"metrics": metrics(values, protocol=HOSTILE)})
    for made in (
        transfer.cells_table(changed, PRINTED, caption=HOSTILE),
        transfer.wins_table(changed, caption=HOSTILE),
    ):
        well_formed(made.html())
        assert "<script>" not in made.html() and "&lt;script&gt;" in made.html()


def test_two_protocols_need_a_choice(table4: Run) -> None:
    cells = {("GRAN [UE]", "SICK"): 0.7}
    both = table4.model_copy(update={"metrics": metrics(cells, protocol="one") + metrics(cells, protocol="two")})
    with pytest.raises(ConfigError, match="protocol="):
        transfer.cells_table(both, PRINTED)
    assert "two" in transfer.cells_table(both, PRINTED, protocol="two").html()


def test_rows_of_other_names_and_measures_are_left_out(table4: Run) -> None:
    others = [
        Metric(method="GRAN", dataset="SICK", metric="pearson", protocol="p", seed=1, value=0.1, n=9),
        Metric(method="GRAN [UE]", dataset="SIM", metric="pearson", protocol="p", seed=1, value=0.1, n=9),
        Metric(method="GRAN [UE]", dataset="STS12/avg", metric="pearson", protocol="p", seed=1, value=0.1, n=9),
    ]
    made = transfer.cells_table(table4.model_copy(update={"metrics": table4.metrics + others}), PRINTED)
    pd.testing.assert_frame_equal(made.to_frame(), transfer.cells_table(table4, PRINTED).to_frame())


# -- who wins --------------------------------------------------------------------------------------------------------


def test_wins_by_test_and_by_the_papers_rule(table4: Run, well_formed: Check) -> None:
    made = transfer.wins_table(table4, caption="Who wins")
    well_formed(made.html())
    frame = made.to_frame().set_index(["encoder", "data set"])
    assert len(frame) == 24
    sick, sim = frame.loc[("GRAN", "SICK")], frame.loc[("BiLSTM-Avg", "SIM")]
    assert (sick["tie group"], sick["within .002"]) == ("NT, DNT", "NT, DNT")
    assert (sim["tie group"], sim["within .002"]) == ("DNT", "DNT")
    assert sick["DNT - UE"] == pytest.approx(15.4) and sick["DNT - NT p"] == 1.0
    assert (sim["metric"], sim["DNT - FT low"]) == ("spearman", pytest.approx(4.0))
    assert frame.loc[("InferSent", "PAC"), "tie group"] == "" and math.isnan(
        frame.loc[("InferSent", "PAC"), "DNT - UE"]
    )
    # The paper's 16 of 24, and the three that it shares.
    assert "Of 24 cells DNT is best or within .2 points of the best in 16, in 13 of them alone" in made.html()
    assert "not significantly below the best in 2; significantly above every other setting in 1." in made.html()
    row = next(line for line in made.to_markdown().splitlines() if line.startswith("| GRAN, SICK"))
    assert "+15.4 [+14.4, +16.4] | .001" in row and "0.0 [-1.0" not in row and f"[{MINUS}1.0, +1.0] | >.999" in row


def test_too_few_resamples_are_said(table4: Run) -> None:
    for smallest, said in ((0.024, False), (0.05, True), (0.096, True)):
        changed = table4.model_copy(update={"extra": table4.extra | {winners.SMALLEST: smallest}})
        for made in (transfer.cells_table(changed, PRINTED), transfer.wins_table(changed)):
            assert ("The resamples are too few" in made.html()) == said


def test_a_comparison_recorded_the_other_way_round(table4: Run) -> None:
    turned = [test_of("GRAN", "UE", "DNT", "SICK", -0.154, 0.001)]
    frame = (
        transfer.wins_table(table4.model_copy(update={"tests": turned})).to_frame().set_index(["encoder", "data set"])
    )
    assert frame.loc[("GRAN", "SICK"), "DNT - UE"] == pytest.approx(15.4)
    assert frame.loc[("GRAN", "SICK"), "DNT - UE high"] == pytest.approx(16.4)


def test_wins_without_tests_or_a_run(table4: Run, well_formed: Check) -> None:
    made = transfer.wins_table(table4.model_copy(update={"tests": [], "extra": {}}))
    well_formed(made.html())
    assert np.isnan(made.to_frame()["DNT - NT"]).all() and "in 0, in 0 of them alone" in made.html()
    assert "Not run" in transfer.wins_table(None).html()
    empty = transfer.wins_table(table4.model_copy(update={"metrics": []}))
    well_formed(empty.html())
