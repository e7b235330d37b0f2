"""Tables 3, 4 and 5 of Gan et al. 2017 as a page shows them."""

from __future__ import annotations

import doctest
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from sentbook.evaluation.taskbook import INTERVALS
from sentbook.records import Metric, Run
from sentbook.report import classification, summary
from sentbook.report.markup import Fragment
from sentbook.system.errors import ConfigError

Check = Callable[[str], ET.Element]
HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)>"
TABLES = {name: summary.reported("cnn_lstm", name) for name in ("table3", "table4", "table5")}
MODELS = [name for name in dict.fromkeys(TABLES["table3"]["method"]) if name.removesuffix("+emb.") in
          classification.ENCODERS]  # fmt: skip


def metric(method: str, dataset: str, name: str, value: float, seed: int = 1, protocol: str = "nested") -> Metric:
    return Metric(method=method, dataset=dataset, metric=name, protocol=protocol, seed=seed, value=value, n=1000)


def as_printed(table: str, seeds: int = 1, shift: float = 0.0) -> list[Metric]:
    """The paper's own models, with the printed values and so much more."""
    frame = TABLES[table]
    frame = frame[frame["method"].isin(MODELS)]
    return [
        metric(str(m), str(d), str(k), float(v) + shift + 0.001 * (seed - (seeds + 1) / 2), seed)
        for m, d, k, v in frame[["method", "dataset", "metric", "value"]].itertuples(index=False)
        for seed in range(1, seeds + 1)
    ]


@pytest.fixture
def table3(run: Run) -> Run:
    rows = as_printed("table3")
    added = ("random CNN+emb.", "average of words", "future predictor+emb.", "autoencoder+emb.", "random CNN")
    for name in (*added, "majority class"):
        rows += [metric(name, dataset, "accuracy", 0.65) for dataset in ("MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP")]
    return run.model_copy(
        update={"paper": "cnn_lstm", "experiment": "table3", "metrics": rows[::-1], "tests": [], "extra": {}}
    )


def cell(made: Fragment, method: str, place: int) -> str:
    """A cell of the Markdown."""
    row = next(line for line in made.to_markdown().splitlines() if line.startswith(f"| {method} |"))
    return row.split("|")[2 + place].strip()


def with_interval(run: Run, method: str, dataset: str, name: str, low: float, high: float) -> Run:
    return run.model_copy(update={"extra": {INTERVALS: {name: {dataset: {method: [low, high]}}}}})


def test_examples_of_the_docstrings() -> None:
    assert doctest.testmod(classification).failed == 0


# -- table 3 ---------------------------------------------------------------------------------------------------------


def test_rows_stand_in_blocks_in_the_papers_order(table3: Run, well_formed: Check) -> None:
    made = classification.classification_table(table3, TABLES["table3"], caption="Table 3")
    root = well_formed(made.html())
    heads = [row.findtext("th") for row in root.iter("tr") if row.get("class") == "sb-group"]
    assert heads == list(classification.BLOCKS)
    frame = made.to_frame()
    blocks = {block: rows["method"].to_list() for block, rows in frame.groupby("block", sort=False)}
    assert blocks["Learned words"] == list(classification.ENCODERS)
    assert blocks["Fixed words"] == [f"{name}+emb." for name in classification.ENCODERS]
    assert set(blocks["Marks"]) == {"average of words", "majority class"}
    assert blocks["Printed, generic"][0] == "ParagraphVec DM" and "SDAE+emb." in blocks["Printed, generic"]
    assert blocks["Printed, for one task"] == ["CNN", "AdaSent", "Bi-CNN-MI", "MPSSM-CNN"]
    top = [(th.text, th.get("colspan")) for th in root.iter("th") if th.get("scope") == "colgroup"]
    assert top == [(name, "1") for name in ("MR", "CR", "SUBJ", "MPQA", "TREC")] + [("MSRP", "2")]


def test_cells_hold_both_values_and_whether_the_printed_one_was_reached(table3: Run) -> None:
    made = classification.classification_table(table3, TABLES["table3"])
    assert cell(made, "combine+emb.", 0) == "**77.8** \u2713 (**77.8**)"
    assert cell(made, "combine+emb.", 6) == "**83.8** \u2713 (**83.8**)"
    assert cell(made, "autoencoder", 0) == "75.5 \u2713 (75.5)"
    assert cell(made, "random CNN", 0) == "65.0" and cell(made, "random CNN", 6) == ""
    assert cell(made, "combine-skip", 2) == "**93.6**" and cell(made, "CNN", 5) == ""
    row = made.to_frame().set_index("method").loc["combine"]
    assert row["MSRP f1 ours"] == pytest.approx(82.62) and row["MSRP f1 verdict"] == "reproduced"
    assert math.isnan(float(str(row["MSRP f1 low"])))
    assert '>paper <strong class="sb-best">77.8</strong></span>' in made.html()


@pytest.mark.parametrize(
    ("low", "high", "shift", "sign", "words"),
    [
        (0.75, 0.78, -0.01, "\u2713", "printed value reached"),  # holds .7634
        (0.74, 0.76, -0.01, "\u2717", "below the printed value"),
        (None, None, -0.01, "\u2248", "below the printed value, without an interval"),
        (None, None, 0.01, "\u2713", "printed value reached"),
    ],
)
def test_signs(
    table3: Run, well_formed: Check, low: float | None, high: float | None, shift: float, sign: str, words: str
) -> None:
    part = table3.model_copy(update={"metrics": as_printed("table3", shift=shift)})
    if low is not None and high is not None:
        part = with_interval(part, "composite model", "MR", "accuracy", low, high)
    made = classification.classification_table(part, TABLES["table3"])
    assert sign in cell(made, "composite model", 0)
    assert (f"[{low * 100:.1f}" in cell(made, "composite model", 0)) if low is not None else True
    root = well_formed(made.html())
    row = next(row for row in root.iter("tr") if row.findtext("th") == "composite model")
    mark = next(row.iter("td")).find("span")
    assert mark is not None and (mark.text, mark.get("aria-label"), mark.get("role")) == (sign, words, "img")


def test_the_interval_over_examples_comes_before_that_over_seeds(table3: Run) -> None:
    several = table3.model_copy(update={"metrics": as_printed("table3", 3)})
    over_seeds = classification.classification_table(several, TABLES["table3"])
    assert "mean of 3 seeds \u00b7 95 % t-intervals over seeds" in over_seeds.html()
    assert "[75.3, 75.8]" in cell(over_seeds, "autoencoder", 0)
    over_examples = classification.classification_table(
        with_interval(several, "autoencoder", "MR", "accuracy", 0.74, 0.76), TABLES["table3"]
    )
    assert "95 % intervals over examples" in over_examples.html()
    assert "[74.0, 76.0]" in cell(over_examples, "autoencoder", 0)
    assert "one seed" in classification.classification_table(table3).html()


def test_the_best_of_each_block_is_bold(table3: Run) -> None:
    frame = classification.classification_table(table3, TABLES["table3"])
    for block in ("", "+emb."):
        bold = [name for name in classification.ENCODERS if cell(frame, name + block, 1).startswith("**")]
        assert bold == ["combine"]


# -- tables 4 and 5 ----------------------------------------------------------------------------------------------------


def test_ranking(run: Run, well_formed: Check) -> None:
    rows = as_printed("table4")
    rows = [row.model_copy(update={"value": row.value - 1}) if "MedR" in row.metric and "combine" in row.method else row
            for row in rows]  # fmt: skip
    part = run.model_copy(update={"metrics": rows, "extra": {}})
    made = classification.ranking_table(part, TABLES["table4"])
    root = well_formed(made.html())
    groups = [th.text for th in root.iter("th") if th.get("scope") == "colgroup"]
    assert groups == ["Image annotation", "Image search"]
    assert cell(made, "combine+emb.", 0) == "**34.4** \u2713 (**34.4**)"
    assert cell(made, "combine+emb.", 1) == "**2.0** \u2713 (**3.0**)"  # a lower rank is better
    assert cell(made, "m-RNN", 2) == "**29.0**"
    assert made.to_frame().set_index("method").loc["DVSA", f"{classification.COCO} annotation_R@1 paper"] == (
        pytest.approx(38.4)
    )


def test_relatedness(run: Run, well_formed: Check) -> None:
    rows = as_printed("table5")
    worse = [row.model_copy(update={"value": 0.9}) if (row.method, row.metric) == ("combine", "mse") else row
             for row in rows]  # fmt: skip
    part = with_interval(run.model_copy(update={"metrics": worse}), "combine", "SICK2014-test", "mse", 0.8, 1.0)
    made = classification.relatedness_table(part, TABLES["table5"])
    well_formed(made.html())
    assert cell(made, "combine", 2) == "0.9000 \u2717 [0.8000, 1.0000] (**0.2791**)"
    assert cell(made, "composite model", 2).startswith("**0.2972** \u2713")
    assert cell(made, "combine+emb.", 0) == "**86.2** \u2713 (**86.2**)"
    assert "SICK 2014 test" in made.html()


# -- what may be missing -----------------------------------------------------------------------------------------------


def test_a_run_on_the_mini_world_shows_itself_alone(table3: Run, well_formed: Check) -> None:
    names = ("miniworld/sentiment", "miniworld/paraphrase")
    rows = [metric(method, name, kind, 0.7) for method in ("combine", "random CNN") for name in names
            for kind in ("accuracy", "f1") if kind == "accuracy" or "para" in name]  # fmt: skip
    made = classification.classification_table(table3.model_copy(update={"metrics": rows}), TABLES["table3"])
    well_formed(made.html())
    frame = made.to_frame()
    assert frame["method"].to_list() == ["combine", "random CNN"]
    assert "Mini-world sentiment" in made.html() and "paper" not in made.to_markdown().splitlines()[-1]
    assert [column for column in map(str, frame) if column.endswith("ours")] == [
        "miniworld/sentiment accuracy ours", "miniworld/paraphrase accuracy ours", "miniworld/paraphrase f1 ours",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("table3", classification.classification_table),
        ("table4", classification.ranking_table),
        ("table5", classification.relatedness_table),
    ],
)
def test_without_a_run_the_papers_numbers_stand_under_a_notice(
    name: str, make: Callable[..., Fragment], well_formed: Check
) -> None:
    made = make(None, TABLES[name])
    well_formed(made.html())
    assert f"make run NOTEBOOK=cnn_lstm/{name} PROFILE=small" in made.html()
    assert "combine+emb." in made.to_markdown() and "Small: interval" not in made.html()


def test_nothing_at_all(well_formed: Check) -> None:
    well_formed(classification.classification_table(None).html())


def test_hostile_names_are_escaped(table3: Run, well_formed: Check) -> None:
    rows = [*table3.metrics, metric(HOSTILE, "MR", "accuracy", 0.5, protocol=HOSTILE)]
    made = classification.classification_table(
        table3.model_copy(update={"metrics": rows}), TABLES["table3"], caption=HOSTILE
    )
    well_formed(made.html())
    assert "&lt;script&gt;" in made.html()


def test_two_protocols_need_a_choice(table3: Run) -> None:
    rows = [*table3.metrics, *[row.model_copy(update={"protocol": "SentEval"}) for row in table3.metrics]]
    both = table3.model_copy(update={"metrics": rows})
    with pytest.raises(ConfigError, match="choose one with protocol="):
        classification.classification_table(both)
    assert "SentEval" in classification.classification_table(both, protocol="SentEval").html()


def test_headings_leave_room_on_a_phone() -> None:
    """The sticky column's headings do not break: at 7 px a letter they stay below 195 px."""
    assert max(map(len, classification.BLOCKS)) * 7 < 195
