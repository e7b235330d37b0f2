"""Figure 3: points with intervals by task and by share, the paper's numbers beside them, and the table of both."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pandas as pd
import pytest

from sentbook.records import Metric, Run, Test
from sentbook.report import pretraining_gain
from sentbook.report.markup import Fragment
from sentbook.report.svg import Plot
from sentbook.runs import printed as reported
from sentbook.system.errors import ConfigError

Check = Callable[[str], ET.Element]
HOSTILE = "<script>alert(1)</script>"
GAINS = {"MR": 0.03, "SUBJ": -0.01, "total_avg": 0.01, "TREC": 0.02, "TREC-10%-labels": 0.08, "TREC-50%-labels": 0.04}


def fine_tuned(run: Run, gains: dict[str, float], runs: int = 3) -> Run:
    metrics = [
        Metric(
            method=method, dataset=dataset, metric="accuracy", protocol=f"p {len(dataset) % 2}", seed=number,
            value=0.8 + 0.01 * number + gain * (method == "pretrained-composite"), n=100,
        )
        for dataset, gain in gains.items()
        for number in range(1, runs + 1)
        for method in ("pretrained-composite", "random-init")
    ]  # fmt: skip
    tests = [
        Test(
            kind="t over runs", a="pretrained-composite", b="random-init", dataset=dataset, metric="accuracy",
            estimate=gain, low=gain - 0.02, high=gain + 0.02, p=0.01, p_holm=0.04 if gain > 0.02 else 0.4,
        )
        for dataset, gain in gains.items()
    ]  # fmt: skip
    update = {"paper": "cnn_lstm", "experiment": "figure3", "metrics": metrics, "tests": tests}
    return run.model_copy(update=update)


@pytest.fixture
def paper() -> pd.DataFrame:
    return reported.table("cnn_lstm", "fig3_text_numbers")


def test_tasks_with_their_gains(run: Run, paper: pd.DataFrame, well_formed: Check) -> None:
    plot = pretraining_gain.by_task(fine_tuned(run, GAINS), paper, caption="Left")
    assert isinstance(plot, Plot)
    assert "MR 82.0 and 85.0, gain +3.0; SUBJ 82.0 and 81.0, gain \u22121.0; TREC" in plot.alt
    assert plot.alt.endswith("Mean 82.0 and 83.0, gain +1.0.")  # the average stands last
    assert "10 %" not in plot.alt
    assert "TREC-" not in plot.alt
    assert "mean of 3 runs [95 % t-interval]" in plot.caption
    assert "+3.52" in plot.caption
    well_formed(plot.html(style=False))
    for drawing in (plot.drawing,):
        assert [name in drawing for name in (">+3.0<", ">\u22121.0<", ">Mean<", ">random parameters<")] == [True] * 4


def test_error_bars_are_drawn_only_with_several_runs(run: Run) -> None:
    def caps(runs: int) -> int:
        plot = pretraining_gain.by_task(fine_tuned(run, GAINS, runs))
        assert isinstance(plot, Plot)
        return len(re.findall(r"LineCollection", plot.drawing))

    assert caps(3) == 8  # four data sets with all labels, two starts
    assert caps(1) == 0
    plot = pretraining_gain.by_task(fine_tuned(run, GAINS, 1))
    assert isinstance(plot, Plot)
    assert "one run, no interval" in plot.caption
    assert "paper" not in plot.caption


def test_shares_rise_and_the_papers_points_are_hollow(run: Run, paper: pd.DataFrame, well_formed: Check) -> None:
    plot = pretraining_gain.by_share(fine_tuned(run, GAINS), paper)
    assert isinstance(plot, Plot)
    assert "TREC: 10 % 82.0 and 90.0, 50 % 82.0 and 86.0, 100 % 82.0 and 84.0" in plot.alt
    assert "MR" not in plot.alt
    assert "Hollow: the paper." in plot.caption
    assert ">random parameters, paper<" in plot.drawing
    well_formed(plot.html(style=False))
    without = pretraining_gain.by_share(fine_tuned(run, GAINS))
    assert isinstance(without, Plot)
    assert "Hollow" not in without.caption
    assert "paper" not in without.drawing


def test_a_start_that_was_not_run_leaves_a_dash(run: Run) -> None:
    whole = fine_tuned(run, GAINS)
    part = whole.model_copy(update={"metrics": [row for row in whole.metrics if row.method == "random-init"]})
    for plot in (pretraining_gain.by_task(part), pretraining_gain.by_share(part)):
        assert isinstance(plot, Plot)
        assert "82.0 and \u2013" in plot.alt


def test_the_table_holds_both_figures(run: Run, paper: pd.DataFrame, well_formed: Check) -> None:
    table = pretraining_gain.table(fine_tuned(run, GAINS), paper)
    root = well_formed(table.html(style=False))
    heads = ["".join(cell.itertext()) for cell in root.iter("th") if cell.get("scope") == "row"]
    assert heads == ["MR", "SUBJ", "TREC", "Total average", "TREC-10%-labels", "TREC-50%-labels"]
    assert "+3.0*" in table.markdown
    assert "+2.0 [" in table.markdown  # not significant by Holm
    frame = table.to_frame().set_index("data set")
    assert frame.loc["TREC-10%-labels", "random-init paper"] == pytest.approx(79.7)
    assert frame.loc["TREC-10%-labels", "pretrained-composite difference"] == pytest.approx(90 - 84.1)


def test_tasks_of_the_mini_world_stand_without_the_papers(run: Run, paper: pd.DataFrame) -> None:
    made = fine_tuned(run, {"miniworld/question": 0.02, "miniworld/question-10%-labels": 0.05})
    table = pretraining_gain.table(made, paper)
    assert "79.7" not in table.markdown
    plot = pretraining_gain.by_share(made, paper)
    assert isinstance(plot, Plot)
    assert "Mini-world question: 10 % 82.0 and 87.0" in plot.alt
    assert "Hollow" not in plot.caption


def test_names_are_escaped(run: Run, well_formed: Check) -> None:
    made = fine_tuned(run, {HOSTILE: 0.02, f"{HOSTILE}-10%-labels": 0.05})
    for plot in (pretraining_gain.by_task(made), pretraining_gain.by_share(made), pretraining_gain.table(made)):
        well_formed(plot.html(style=False))
        assert HOSTILE not in plot.html()


def test_without_a_run_the_command_is_named(run: Run, paper: pd.DataFrame) -> None:
    made = pretraining_gain.table(None, paper)
    assert "make run NOTEBOOK=cnn_lstm/figure3 PROFILE=small" in made.html()
    assert "79.7" in made.markdown
    for plot in (pretraining_gain.by_task(None), pretraining_gain.by_share(None)):
        assert isinstance(plot, Fragment)
        assert not plot
    with pytest.raises(ConfigError, match="no accuracy"):
        pretraining_gain.by_task(run)
    with pytest.raises(ConfigError, match="two shares"):
        pretraining_gain.by_share(fine_tuned(run, {"TREC": 0.1}))
