from __future__ import annotations

import warnings
from collections.abc import Callable

import pandas as pd
import pytest

from sentbook.records import Cost, Metric, Run
from sentbook.report import summary, systems
from sentbook.report.markup import Fragment
from sentbook.report.svg import Plot
from sentbook.system.errors import ConfigError

Check = Callable[[str], object]
HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)>"
METRICS = ("pearson", "spearman", "mse")
TEN, BEST = "trained cosine, after 10 epochs", "trained cosine, best epoch on trial"
PRINTED = {
    "First": (0.828, 0.769, 0.325, "an overview"),
    "Second": (0.804, 0.746, 0.359, "an overview"),
    "Third": (0.780, 0.732, 0.398, "an overview"),
    "ours": (0.8121, 0.7584, 0.3606, "derived: best minus the gap"),
}


def _metrics(
    method: str, values: tuple[float, ...], protocol: str = TEN, dataset: str = systems.SICK, seeds: int = 5
) -> list[Metric]:
    return [
        Metric(
            method=method, dataset=dataset, metric=metric, protocol=protocol, seed=seed,
            value=value + 0.001 * (seed - (seeds + 1) / 2), n=4927,
        )
        for metric, value in zip(METRICS, values, strict=False) for seed in range(1, seeds + 1)
    ]  # fmt: skip


@pytest.fixture
def table2(run: Run) -> Run:
    """The paper's values after ten epochs, better ones at the best epoch."""
    reported = summary.reported("wsv", "table2")
    metrics, cost = [], []
    for d in (50, 100, 200, 300):
        method = f"WSV-SCNN-SV d={d} L=1"
        values = tuple(summary.printed(reported, metric)[method, systems.SICK] for metric in METRICS)
        metrics += _metrics(method, values) + _metrics(method, (0.9, 0.8, 0.2), BEST)
        count = int(summary.printed(reported, "trainable_params")[method, "-"])
        cost += [
            Cost(
                method=method, seed=seed, seconds=d + seed, peak_memory_bytes=10**9, parameters=count,
                examples_per_second=100.0,
            )
            for seed in range(1, 6)
        ]  # fmt: skip
    changes = {"paper": "wsv", "experiment": "table2", "metrics": metrics, "tests": [], "cost": cost}
    return run.model_copy(update=changes)


@pytest.fixture
def figure5(run: Run) -> Run:
    changes = {"paper": "wsv", "experiment": "figure5", "metrics": _metrics("ours", (0.807, 0.748, 0.371)), "tests": []}
    return run.model_copy(update=changes)


@pytest.fixture
def printed() -> pd.DataFrame:
    rows = [
        ("WSV", "figure5", method, systems.SICK, metric, value, note)
        for method, (*values, note) in PRINTED.items()
        for metric, value in zip(METRICS, values, strict=True)
    ]
    rows.append(("WSV", "figure5", "He2015", systems.SICK, "pearson", 0.8686, "the text"))
    return pd.DataFrame(rows, columns=["paper", "table", "method", "dataset", "metric", "value", "note"])


def _ranking(run: Run | None, reported: pd.DataFrame | None, **changes: object) -> Fragment:
    options: dict = {"ours": ["ours"], "dataset": systems.SICK, "metrics": METRICS, **changes}
    return systems.ranking(run, reported, **options)


# -- by dimension ----------------------------------------------------------------------------------------------------


def test_every_row_of_table_2_joins(table2: Run, well_formed: Check) -> None:
    made = systems.dimensions(table2, summary.reported("wsv", "table2"), protocol=TEN, caption="Table 2")
    frame = made.to_frame().set_index("dimension")
    assert frame.index.to_list() == [300, 200, 100, 50]
    assert not frame.isna().any().any()
    for title in ("Parameters", "r \u00d7 100", "\u03c1 \u00d7 100", "MSE"):
        assert frame[f"{title} paper"].to_list() == pytest.approx(frame[f"{title} ours"].to_list())
    assert frame.loc[300, "Seconds paper"] == 4731 and frame.loc[300, "Seconds ours"] == 303
    assert frame.loc[300, "r \u00d7 100 low"] < 80.69 < frame.loc[300, "r \u00d7 100 high"]
    html = made.html()
    well_formed(html)
    for words in ("1\u202f620\u202f002", "80.69", "0.3897", "\u00b1 0.20", TEN, "SICK 2014 test", "5 seeds \u00b1"):
        assert words in html
    assert BEST not in html


def test_a_part_of_the_protocol_chooses(table2: Run) -> None:
    frame = systems.dimensions(table2, None, protocol="best epoch").to_frame()
    assert frame["r \u00d7 100 ours"].to_list() == pytest.approx([90.0] * 4)
    with pytest.raises(ConfigError, match="protocol="):
        systems.dimensions(table2)
    with pytest.raises(ConfigError, match="holds no protocol 'after 40 epochs'"):
        systems.dimensions(table2, protocol="after 40 epochs")


def test_models_of_one_dimension_keep_their_names(table2: Run) -> None:
    more = table2.metrics + _metrics("WSV-SCNN-SV d=300 L=2", (0.82, 0.76, 0.35))
    more += _metrics("BiLSTM", (0.85, 0.79, 0.28))  # names no dimension
    made = systems.dimensions(table2.model_copy(update={"metrics": more}), protocol=TEN)
    assert made.to_frame()["method"].to_list()[:2] == ["WSV-SCNN-SV d=300 L=1", "WSV-SCNN-SV d=300 L=2"]
    assert "WSV-SCNN-SV d=300 L=2" in made.html() and "BiLSTM" not in made.html()
    assert ">200</th>" in made.html() and "nan" not in made.html()


def test_other_data_sets_have_no_paper_columns(table2: Run, well_formed: Check) -> None:
    metrics = _metrics("WSV-SCNN-SV d=16 L=1", (0.6, 0.5, 0.9), dataset="miniworld")
    made = systems.dimensions(
        table2.model_copy(update={"metrics": metrics, "cost": []}),
        summary.reported("wsv", "table2"),
        dataset="miniworld",
        just_made=True,
    )
    well_formed(made.html())
    assert made.to_frame()["dimension"].to_list() == [16]
    assert ">paper</th>" not in made.html() and "Parameters</th>" not in made.html()
    assert "run just made" in made.html() and "Mini-world" in made.html()


def test_no_run_shows_the_notice_and_the_papers_numbers(well_formed: Check) -> None:
    made = systems.dimensions(None, summary.reported("wsv", "table2"))
    well_formed(made.html())
    assert "Not run" in made.html() and "make run NOTEBOOK=wsv/table2 PROFILE=small" in made.html()
    assert "4\u202f731" in made.html() and ">ours</th>" not in made.html()


# -- a ranking -------------------------------------------------------------------------------------------------------


def test_ours_stands_at_its_place(figure5: Run, printed: pd.DataFrame, well_formed: Check) -> None:
    made = _ranking(figure5, printed, caption="Figure 5")
    frame = made.to_frame()
    assert frame["system"].to_list() == [
        "He2015",
        "First",
        "WSV-SCNN-SV, paper",
        "WSV-SCNN-SV, ours",
        "Second",
        "Third",
    ]
    own = frame.set_index("system").loc["WSV-SCNN-SV, ours"]
    assert own["pearson"] == pytest.approx(80.7) and own["pearson low"] < 80.7 < own["pearson high"]
    assert own["mse"] == pytest.approx(0.371) and own["ours"]
    html = made.html()
    well_formed(html)
    assert html.count('class="sb-average"') == 1 and html.count(">derived<") == 3
    assert "derived: best minus the gap" in html and "this run, 5 seeds" in html
    # He2015 prints r alone; the paper's own row is no rival of ours.
    assert "place 3 of 5 by Pearson\u2019s r, 2 of 4 by Spearman\u2019s \u03c1, 3 of 4 by mean squared error" in html
    assert "**WSV-SCNN-SV, ours**" in made.to_markdown()


def test_lower_errors_come_first(figure5: Run, printed: pd.DataFrame) -> None:
    made = _ranking(figure5, printed, metrics=("mse",))
    assert made.to_frame()["system"].to_list()[:2] == ["First", "Second"]
    assert made.to_frame()["mse"].is_monotonic_increasing
    assert "He2015" not in made.html()  # prints no error


def test_shares_in_percent_and_several_of_ours(run: Run) -> None:
    """Figure 7: printed in percent, recorded as shares."""
    rows = [("WSV", "figure7", "Baseline", "MSRP", m, v) for m, v in (("accuracy", 66.5), ("f1", 79.9))]
    frame = pd.DataFrame(rows, columns=["paper", "table", "method", "dataset", "metric", "value"])
    names = ("WSV-SCNN-SV", "WSV-SCNN-SV, pre-trained on SICK")
    metrics = [
        Metric(method=name, dataset="MSRP", metric=metric, protocol=f"trained cosine, {rule}", seed=1, value=v, n=1725)
        for name, v in zip(names, (0.66, 0.72), strict=True)
        for metric in ("accuracy", "f1")
        for rule in ("threshold .5", "threshold tuned on training pairs")
    ]
    changed = run.model_copy(update={"metrics": metrics})
    options: dict = {"ours": names, "dataset": "MSRP", "metrics": ("accuracy", "f1")}
    made = systems.ranking(changed, frame, protocol="tuned", **options)
    assert made.to_frame()["system"].to_list() == [f"{names[1]}, ours", "Baseline", f"{names[0]}, ours"]
    assert made.to_frame()["accuracy"].to_list() == pytest.approx([72.0, 66.5, 66.0])
    assert "Source" in made.html() and "one seed: no interval" in made.html() and "threshold .5" not in made.html()
    with pytest.raises(ConfigError, match="protocol="):
        systems.ranking(changed, frame, **options)


def test_a_ranking_without_a_run(printed: pd.DataFrame, well_formed: Check) -> None:
    made = _ranking(None, printed)
    well_formed(made.html())
    assert "Not run" in made.html() and "make run NOTEBOOK=wsv/figure5" in made.html() and "82.8" in made.html()
    assert len(made.to_frame()) == 5 and "place" not in made.html()


def test_a_ranking_of_ours_alone(figure5: Run, well_formed: Check) -> None:
    made = _ranking(figure5, None)
    well_formed(made.html())
    assert made.to_frame()["system"].to_list() == ["WSV-SCNN-SV, ours"] and "place" not in made.html()


def test_names_and_notes_are_escaped(figure5: Run, printed: pd.DataFrame, well_formed: Check) -> None:
    hostile = printed.assign(note=HOSTILE, method=printed["method"].replace("First", HOSTILE))
    for made in (_ranking(figure5, hostile, caption=HOSTILE), _ranking(None, hostile, command=HOSTILE)):
        well_formed(made.html())
        assert "<script>" not in made.html() and "&lt;script&gt;" in made.html()
    uses = pd.DataFrame([("W", "t", HOSTILE, HOSTILE, "uses", 1.0)], columns=list(summary.COLUMNS))
    made = systems.resources(uses, caption=HOSTILE)
    well_formed(made.html())
    assert "<script>" not in made.html()


def test_dots_show_ours_and_the_printed_ones(figure5: Run, printed: pd.DataFrame, well_formed: Check) -> None:
    options: dict = {"ours": ["ours"], "dataset": systems.SICK, "metrics": METRICS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot = systems.ranking_bars(figure5, printed, caption=f"Figure 5 {HOSTILE}", **options)
    assert isinstance(plot, Plot)
    well_formed(plot.html())
    for words in (
        "WSV-SCNN-SV, ours",
        "WSV-SCNN-SV, paper",
        "He2015",
        "Pearson\u2019s r \u00d7 100",
        "(lower is better)",
    ):
        assert f">{words}</text>" in plot.drawing
    assert "derived" in plot.caption and "place 3 of 5" in plot.alt
    assert plot == systems.ranking_bars(figure5, printed, caption=f"Figure 5 {HOSTILE}", **options)
    assert not systems.ranking_bars(None, printed, **options)
    alone = systems.ranking_bars(figure5, None, **{**options, "metrics": ("mse",)})
    assert isinstance(alone, Plot) and "printed" not in alone.caption
    with pytest.raises(ConfigError, match="holds no pearson of theirs"):
        systems.ranking_bars(figure5, printed, **{**options, "ours": ["theirs"]})


# -- what systems need -----------------------------------------------------------------------------------------------


def test_resources_count_the_marks(well_formed: Check) -> None:
    made = systems.resources(summary.reported("wsv", "table1"))
    well_formed(made.html())
    frame = made.to_frame()
    assert len(frame) == 11
    counts = {name: int(frame[name].sum()) for name in ("ECNU", "The Meaning Factory", "UNAL-NLP", "Illinois-LH")}
    assert counts == {"ECNU": 6, "The Meaning Factory": 4, "UNAL-NLP": 4, "Illinois-LH": 4}
    assert frame.loc[frame["This work"], "resource"].to_list() == [
        "Convolutional network",
        "STS MSR-Video or word vectors",
    ]
    assert "| **Number** | 6 | 4 | 4 | 4 | 2 |" in made.to_markdown()
    for words in ("Learning methods", "External resources", "\u2713", "Illinois-LH"):
        assert words in made.html()


def test_parameter_counts_add_the_word_vectors_that_moved(table2: Run) -> None:
    method = "WSV-SCNN-SV d=300 L=1"
    run = table2.model_copy(update={"extra": {"fine-tuned words": {method: 2000}}})
    frame = systems.parameter_counts(run, summary.reported("wsv", "table2"))
    assert frame["dimension"].tolist() == ["300"]
    row = {column: str(value).replace("\u202f", "").replace("\u2009", "") for column, value in frame.iloc[0].items()}
    assert (row["paper"], row["ours"], row["in all"]) == ("1620002", "1620002", str(1_620_002 + 2000 * 300))
    assert systems.parameter_counts(None).empty


def test_the_table_of_dimensions_can_leave_parameters_out(table2: Run) -> None:
    shown = systems.dimensions(table2, summary.reported("wsv", "table2"), protocol=TEN, parameters=False)
    assert "Parameters" not in shown.html()
    assert "Seconds" in shown.html()
