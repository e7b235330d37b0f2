"""Tables: the one comparison, rows per method, and frames; what they escape and where their rows come from."""

from __future__ import annotations

import bs4
import pandas as pd
import pytest

import samples
from sentbook import report
from sentbook.io import ConfigError
from sentbook.report import Shown, numbers, summary

HOSTILE = "<script>alert(1)</script>&\"'"


def cells(shown: Shown, at: int = 0) -> list[list[str]]:
    """The rows of a table as text, the headers first."""
    table = bs4.BeautifulSoup(shown.html, "html.parser").find_all("table")[at]
    return [[cell.get_text().strip() for cell in row.find_all(["th", "td"])] for row in table.find_all("tr")]


def bold(shown: Shown) -> list[str]:
    return [cell.get_text() for cell in bs4.BeautifulSoup(shown.html, "html.parser").select("td.sb-best")]


def test_units_follow_the_metric() -> None:
    shares = [numbers.shown(value, "pearson") for value in (0.55806, -0.0004, None, float("nan"))]
    assert shares == ["55.8", "0.0", "–", "–"]
    assert numbers.shown(0.25319, "mse") == "0.2532"
    assert numbers.shown(2882400, "parameters") == "2,882,400"
    assert numbers.shown(3.4e-8, "distance") == "3e-08"
    assert numbers.interval(-0.012, 0.004, "pearson", signed=True) == "[−1.2, +0.4]"
    assert (numbers.p_value(0.0004), numbers.p_value(0.0123)) == ("< 0.001", "0.012")
    assert (numbers.minutes(42), numbers.minutes(450), numbers.memory(1.4e9)) == ("42.0 s", "7.5 min", "1.4 GB")


def test_the_comparison_shows_paper_ours_and_the_difference_with_one_sign() -> None:
    page = samples.page(samples.run(tests=samples.test_rows()))
    shown = page.comparison(["PP", "CSE"], difference=("CSE", "PP"), caption="They are tied. The rest.")
    assert cells(shown) == [
        ["", "PP", "CSE", "CSE − PP"],
        ["", "paper", "ours", "paper", "ours", "ours"],
        ["STS 2012", "", "", "", "", ""],
        ["MSRpar", "42.6", "41.0", "51.6", "32.0", "−9.0 [−12.0, −6.0]"],
        ["OnWN", "70.6", "71.0", "69.9", "71.0", ""],
        ["Average", "58.7", "56.0", "63.3", "51.5", ""],
        ["SICK 2014", "71.6", "71.0", "71.9", "76.0", "+5.0 [+2.0, +8.0]"],
        ["Total average", "67.7", "61.0", "68.5", "62.0", "+1.0 [−2.0, +4.0]"],
    ]
    assert bold(shown) == ["41.0", "71.0", "71.0", "56.0", "76.0", "62.0"]  # of ours alone, a tie on both sides
    words = bs4.BeautifulSoup(shown.html, "html.parser").figcaption
    assert words is not None and words.b is not None
    assert words.b.get_text() == "They are tied."
    counts = "It is above 0 on 1 of 2 sets, in the paper on 2; the interval is above 0 on 1 and below 0 on 1."
    assert counts in words.get_text()
    averages = page.comparison(["PP", "CSE"], rows=["total_avg"], difference=("CSE", "PP"))
    assert "95 % interval" in averages.html and "of 0 sets" not in averages.html


def test_rows_and_columns_are_the_records_whatever_the_run_in_memory_has() -> None:
    mine = {"PP": {samples.SETS[0]: [0.5]}, "new": {samples.SETS[0]: [0.9], "miniworld/people": [0.1]}}
    shown = samples.page(samples.run()).comparison(run=samples.run(mine))
    first, own = cells(shown), cells(shown, 1)
    assert [row[0] for row in first] == [row[0] for row in cells(samples.page(samples.run()).comparison())]
    assert first[1] == ["", "paper", "ours", "yours", "paper", "ours", "yours"]
    assert first[3] == ["MSRpar", "42.6", "41.0", "50.0", "51.6", "32.0", "90.0"]
    assert own[0][1:] == ["new"] and own[2] == ["Mini-world people", "10.0"]
    assert "Yours: profile small." in shown.html


def test_an_average_over_other_items_is_not_beside_the_records() -> None:
    shown = samples.page(samples.run()).comparison(
        ["PP"], run=samples.run({"PP": {"total_avg": [0.9]}}, profile="demo", n=60)
    )
    assert [row[1:] for row in cells(shown)] == [["PP"], ["yours"], ["90.0"]]  # nothing is shared


def test_changed_parameters_are_named() -> None:
    mine = samples.run()
    mine.provenance.config["cse"]["activation"] = "tanh"
    mine.provenance.config["resamples"] = 7
    assert summary.changes(mine) == ["profile small", "resamples = 7", "cse.activation = tanh"]


def test_rows_per_method_by_data_set_and_by_metric() -> None:
    page = samples.page(samples.run(), labels={"PP": "averages"})
    assert cells(page.by_method(datasets=["SICK2014"], groups={"Convolutions": ["CSE"]})) == [
        ["", "SICK 2014"],
        ["", "paper", "ours"],
        ["averages", "71.6", "71.0"],
        ["Convolutions", "", ""],
        ["CSE", "71.9", "76.0"],
    ]
    assert cells(page.by_method(["CSE"], datasets=["SICK2014"], metrics=["pearson"]))[0] == ["", "r × 100"]
    fewer = samples.page(samples.run({"PP": {samples.SETS[0]: [0.5, 0.6]}, "CSE": {samples.SETS[0]: [0.7]}}))
    assert "Ours: mean of 1 to 2 seeds" in fewer.by_method().html
    assert cells(samples.page(samples.run({"new": {"other": [0.5]}})).by_method()) == [["", "other"], ["new", "50.0"]]


def test_a_number_under_two_protocols_asks_which() -> None:
    both = samples.run()
    both.metrics += [row.model_copy(update={"protocol": "trained head", "value": 0.9}) for row in both.metrics]
    with pytest.raises(ConfigError, match="choose by report"):
        samples.page(both).comparison()
    assert cells(samples.page(both, protocol="trained").comparison(["PP"]))[3] == ["MSRpar", "42.6", "90.0"]


def test_a_frame_is_shown_with_headings_formats_and_dashes() -> None:
    frame = pd.DataFrame({"Set": ["a", "b"], "kind": ["x", "y"], "n": [12345, 6], "r": [0.5, None], "why": ["p", "q"]})
    shown = report.table(frame, groups="kind", formats={"why": str.upper}, caption="Said. How.")
    assert cells(shown)[:3] == [["Set", "n", "r", "why"], ["x", "", "", ""], ["a", "12,345", "0.5", "P"]]
    assert cells(shown)[3:] == [["y", "", "", ""], ["b", "6", "–", "Q"]]
    wide = pd.DataFrame([[1.0, 2.0]], index=pd.Index(["row"], name="Model"), columns=[["A", "A"], ["one", "two"]])
    assert cells(report.table(wide))[:2] == [["Model", "A"], ["", "one", "two"]]


def test_hostile_text_is_escaped_everywhere() -> None:
    frame = pd.DataFrame({HOSTILE: [HOSTILE], f"{HOSTILE}2": [HOSTILE], "group": [HOSTILE]})
    run = samples.run({HOSTILE: {HOSTILE: [0.5]}})
    page = samples.page(run, labels={"CSE": HOSTILE})
    outputs = [
        report.table(frame, caption=HOSTILE, note=HOSTILE, groups="group"),
        page.comparison(caption=HOSTILE),
        page.by_method(),
        page.bars(caption=HOSTILE),
        page.verdict(HOSTILE),
        page.details(),
    ]
    for shown in outputs:
        assert "<script" not in shown.html
        assert shown._repr_html_().count("<style>") == 1
