from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest

from sentbook.records import Metric, Run
from sentbook.report import summary, tables
from sentbook.system.errors import ConfigError

Check = Callable[[str], object]


def test_every_row_of_table_1_joins(run: Run, well_formed: Check) -> None:
    reported = summary.reported("cse", "table1")
    made = tables.comparison(run, reported, caption="Table 1", pair=("CSE", "PP"), centre="median")
    frame = made.to_frame()
    assert frame["data set"].to_list() == list(dict.fromkeys(reported["dataset"]))  # the paper's order
    assert len(frame) == 25 and not frame.isna().any().any()
    np.testing.assert_allclose(frame["CSE paper"], frame["CSE ours"])
    np.testing.assert_allclose(frame["CSE difference"], 0, atol=1e-9)
    well_formed(made._repr_html_())


def test_values_are_multiplied_here_and_the_run_stays_as_it_was(run: Run) -> None:
    before = copy.deepcopy(run)
    frame = tables.comparison(run, summary.reported("cse", "table1")).to_frame().set_index("data set")
    assert frame.loc["STS2012/MSRpar", "PP paper"] == pytest.approx(42.6)
    assert frame.loc["STS2012/MSRpar", "PP ours"] == pytest.approx(42.6)
    assert frame.loc["STS2012/MSRpar", "PP low"] < 42.6 < frame.loc["STS2012/MSRpar", "PP high"]
    assert run == before and max(metric.value for metric in run.metrics) < 1


def test_header_names_metric_protocols_and_interval(run: Run) -> None:
    html = tables.comparison(run, summary.reported("cse", "table1"), centre="median").html()
    for words in (
        "Pearson\u2019s r \u00d7 100",
        "cosine, per set",
        "cosine, mean of sets",
        "median of 5 seeds [lowest",
    ):
        assert words in html


def test_badges_say_which_run(run: Run) -> None:
    html = tables.comparison(run, None).html()
    for words in ("recorded run", "profile small", "5 seeds", "2026-11-21", "commit 0123456<", "cpu", "30.6 min"):
        assert words in html
    assert "run just made" in tables.comparison(run, None, just_made=True).html()


def test_best_of_a_row_is_bold_in_paper_and_ours(run: Run) -> None:
    lines = tables.comparison(run, summary.reported("cse", "table1")).to_markdown().splitlines()
    row = next(line for line in lines if "STS 2013 FNWN" in line)
    assert row.count("**43.9**") == 2 and "**29.8**" not in row


def test_lower_errors_are_the_best(run: Run) -> None:
    metrics = [
        Metric(method=m, dataset="SICK2014-test", metric="mse", protocol="trained head", seed=s, value=v, n=4927)
        for m, v in (("CSE_random", 0.273), ("CSE_universal", 0.248))
        for s in (1, 2)
    ]
    made = tables.by_metric(
        run.model_copy(update={"metrics": metrics}), summary.reported("cse", "table3"), dataset="SICK2014-test"
    )
    row = next(line for line in made.to_markdown().splitlines() if line.startswith("| CSE_universal"))
    assert row.count("**0.2480**") == 2
    assert len(made.to_frame()) == 11  # every printed system stays in the table


def test_stars_follow_holm(run: Run) -> None:
    made = tables.comparison(run, summary.reported("cse", "table1"), pair=("CSE", "PP"))
    frame = made.to_frame()
    stars = [line.split("|")[-2].count("*") for line in made.to_markdown().splitlines() if line.startswith("| ")][1:]
    assert stars == [int(p < 0.05) for p in frame["p_holm"]]
    assert f"{sum(stars)} of 25 rows" in made.to_markdown()
    turned = tables.comparison(run, None, pair=("PP", "CSE")).to_frame()
    np.testing.assert_allclose(turned["a - b"], -frame["a - b"])


def test_other_data_sets_have_no_paper_columns(demo_run: Run, well_formed: Check) -> None:
    made = tables.comparison(demo_run, summary.reported("cse", "table1"), interval="half")
    assert list(made.to_frame()["data set"]) == ["miniworld/scenes", "miniworld/news"]
    assert not any("paper" in column or "difference" in column for column in made.to_frame().columns)
    assert "\u00b1" in made.html() and ">paper<" not in made.html()
    well_formed(made.html())


def test_printed_competitors_stand_beside_ours(run: Run) -> None:
    frame = tables.comparison(run, summary.reported("cse", "table2"), methods=["GRAN", "ATT-CCG", "CSE"]).to_frame()
    assert {"GRAN paper", "ATT-CCG paper", "CSE paper", "CSE ours"} <= set(frame.columns)
    assert "GRAN ours" not in frame.columns


def test_no_run_shows_the_notice_and_the_papers_numbers(well_formed: Check) -> None:
    made = tables.comparison(None, summary.reported("cse", "table4"))
    html = made.html()
    assert "Not run" in html and "make run NOTEBOOK=cse/table4 PROFILE=small" in html
    assert "63.3" in html and "ours" not in made.to_frame().columns
    well_formed(html)
    assert "Not run" in tables.comparison(None, None, command="make run NOTEBOOK=cse/table1").html()
    for other in (tables.claims(None), tables.cost(None), tables.tests(None)):
        assert "Not run" in other.html()


def test_notes_and_unknown_interval(run: Run) -> None:
    noted = tables.comparison(run, None, notes={"STS2013/FNWN": "n = 189", "STS2015": "<b>"}).html()
    assert "(n = 189)" in noted and "(&lt;b&gt;)" in noted
    with pytest.raises(ConfigError, match="brackets or half"):
        tables.comparison(run, None, interval="wide")


def test_claims_show_verdicts_in_words(run: Run, well_formed: Check) -> None:
    html = tables.claims(run).html()
    well_formed(html)
    for verdict in ("reproduced", "not-reproduced", "inconclusive", "not-run"):
        assert f'class="verdict verdict-{verdict}"' in html and verdict.replace("-", " ") in html
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_provenance_cost_substitutions(run: Run, well_formed: Check) -> None:
    for made in (tables.provenance(run), tables.cost(run), tables.substitutions(run), tables.tests(run)):
        well_formed(made.html())
        assert "<script>" not in made.html()
        assert made.to_markdown()
    html = tables.provenance(run).html()
    assert "aaaaaaaaaaaa" in html and "a" * 13 not in html and "<details>" in html
    cost = tables.cost(run).to_frame().set_index("method")
    assert cost.loc["CSE", "seconds"] == 120 and cost.loc["CSE", "parameters"] == 180_300
    assert "captions for PPDB XL" in tables.substitutions(run).html()
    bare = run.model_copy(update={"provenance": run.provenance.model_copy(update={"substitutions": []})})
    assert not tables.substitutions(bare) and tables.substitutions(bare)._repr_html_() == ""


def test_the_style_sheet_can_be_left_out(run: Run) -> None:
    assert tables.cost(run).html().count("<style>") == 1
    assert "<style>" not in tables.cost(run).html(style=False)
