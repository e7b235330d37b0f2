"""The page of protocols: its numbers are the run's, in the order of their size, and the printed ones the papers'."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sentbook import config
from sentbook.data.readers.sts import SETS
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.protocol_matrix import WITH_TRAINING, ProtocolMatrix
from sentbook.evaluation.protocols import COSINE_PEARSON, Score
from sentbook.papers.cross import protocols as ablations
from sentbook.papers.cross.settings import Settings
from sentbook.records import Provenance, Run
from sentbook.report import protocols
from sentbook.report.markup import Fragment
from sentbook.report.svg import Plot
from sentbook.runs import printed as reported

SIZES = {"STS2012/MSRpar": 30, "STS2012/OnWN": 20, "STS2014/a": 25, "STS2014/b": 40, "SICK2014": 30}
SHOWN: list[Callable[[Run | None], Fragment | Plot]] = [
    protocols.effects,
    protocols.path,
    protocols.spread,
    protocols.heat,
    protocols.every,
    protocols.twice,
    protocols.checklist,
    protocols.leak,
]


def made(encoder: str = "BiLSTM-Avg") -> Run:
    rng = np.random.default_rng(0)
    sets = [ScoredPairs(name, ["x"] * n, ["y"] * n, rng.uniform(0, 5, n), (0, 5)) for name, n in SIZES.items()]
    matrix = ProtocolMatrix(sets)
    tokens = Settings().tokenisations
    settings = config.load("cross", {"profile": "demo", "encoder": encoder, "tokenisations": tokens})
    for name in tokens:
        for score, noise in ((Score.COSINE, 1), (Score.TRAINED_HEAD, 3)):
            for seed in (1, 2):
                found = {pairs.name: pairs.gold + noise * rng.normal(size=len(pairs)) for pairs in sets}
                matrix.add(replace(COSINE_PEARSON, score=score, tokens=name), seed, found)
    matrix.restrict(WITH_TRAINING, {"STS2012/OnWN": np.zeros(20, dtype=bool)})
    moved = ablations.choices(settings)
    extra = ablations.extra(matrix, settings, moved, [])
    return Run(
        paper="cross",
        experiment="protocols",
        profile="small",
        provenance=Provenance(
            git_commit="0123456789abcdef0123456789abcdef01234567", config={}, config_hash="9f8e", python="3.11.7",
            device="cpu", started="2026-11-21T06:12:00+00:00", wall_seconds=3.0, peak_memory_bytes=1, seeds=[1, 2],
        ),
        metrics=ablations.metric_rows(matrix, encoder, moved),
        tests=ablations.comparisons(matrix, moved, 100),
        extra=extra | {"in STS-B's training pairs": {"STS2014/avg": 0.5}},
    )  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Run:
    return made()


def test_a_row_a_choice_the_largest_first(run: Run) -> None:
    frame = protocols.effects(run).frame.set_index("choice")
    tests = {(test.a.lower(), test.dataset): 100 * test.estimate for test in run.tests}
    years = {"STS2012/avg": "STS 2012", "STS2014/avg": "STS 2014"}
    sizes = []
    for choice in frame.index[1:-2]:
        known = {year: tests[choice.lower(), year] for year in years if (choice.lower(), year) in tests}
        sizes.append(np.mean([abs(size) for size in known.values()]))
        for year, column in years.items():
            assert frame.loc[choice, column] == pytest.approx(known.get(year, np.nan), nan_ok=True)
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == 10
    house = [m.value for m in run.metrics if m.protocol == str(COSINE_PEARSON) and m.dataset == "STS2014/avg"]
    assert frame.loc["Our protocol", "STS 2014"] == pytest.approx(100 * np.mean(house))
    assert frame.loc["Best less worst seed", "STS 2014"] == pytest.approx(100 * np.ptp(house))


def test_every_combination_on_every_set(run: Run) -> None:
    shown = protocols.every(run)
    assert len(shown.frame) == 2 * 6 * 6 and "<details>" in shown.html()
    values: dict[tuple[str, str], list[float]] = {}
    for metric in run.metrics:
        values.setdefault((metric.protocol, metric.dataset), []).append(metric.value)
    for row in shown.frame.to_dict("records"):
        assert row["STS 2014"] == pytest.approx(100 * np.mean(values[row["protocol"], "STS2014/avg"]))
    single = shown.frame.groupby(lambda at: at // 3)["SICK 2014"].nunique()
    assert (single == 1).all()  # three aggregations of one set are one number


def test_the_path_ends_at_the_lowest_and_the_highest(run: Run) -> None:
    lowest = min(protocols.every(run).frame["STS 2014"])
    drawn = protocols.path(run)
    assert isinstance(drawn, Plot) and f"from {lowest:.1f} to" in drawn.alt
    assert drawn.run == "small/cross/protocols"
    heat = protocols.heat(run)
    assert isinstance(heat, Plot) and f"from {lowest:.1f} to" in heat.alt


def test_the_checklist_is_in_the_order_of_the_effects_and_has_its_words(run: Run) -> None:
    frame, table = protocols.checklist(run).frame, protocols.effects(run).frame
    assert [c.lower() for c in frame["choice"]] == [c.lower() for c in table["choice"][1:-2]]
    known = {choice.name for choice in ablations.choices(config.load("cross", {"profile": "small"}))}
    assert known == set(protocols._ADVICE)


def test_gran_in_two_papers_beside_ours(run: Run) -> None:
    frame = protocols.twice(run).frame
    assert frame["printed"].round(1).tolist() == [62.5, 60.7, 62.4, 56.0]
    of_2012 = {m.protocol: m for m in run.metrics if m.dataset == "STS2012/avg" and m.seed == 1}
    for aggregation, size in (("mean of sets", 30), ("size-weighted mean of sets", 30), ("pooled pairs", 30)):
        assert of_2012[f"cosine, pearson, {aggregation}, ptb tokens, {WITH_TRAINING}"].n == size
    assert frame["ours"].nunique() == 2  # of one set alone all aggregations are one
    assert "ours" not in protocols.twice(None).frame


def test_printed_averages_are_held_against_their_sets() -> None:
    average, mean, weighted = protocols.by_its_sets("cse", "table2", "GRAN", 2014) or (0, 0, 0)
    sets = [reported.value("cse", "table2", "GRAN", f"STS2014/{name}") for name, *_ in SETS[2014]]
    sizes = [size for *_, size in SETS[2014]]
    assert average == 0.759 and mean == pytest.approx(sum(sets) / 6)
    assert weighted == pytest.approx(sum(v * n for v, n in zip(sets, sizes, strict=True)) / sum(sizes))
    assert protocols.by_its_sets("cse", "table2", "GRAN", 2016) is None  # not printed
    assert protocols.by_its_sets("cse", "table5", "1-gram", 2014) is None  # averages alone


def test_every_system_of_the_registry_is_printed_and_said_of() -> None:
    entries = protocols.registry()["systems"]
    methods = [(entry, method) for entry in entries for method in entry["methods"]]
    frame = protocols.printed().frame
    assert frame["system"].tolist() == [m for _, m in methods] or sorted(frame["system"]) == sorted(
        m for _, m in methods
    )
    for entry, method in methods:
        known = reported.table(entry["paper"], entry["table"])
        assert method in set(known["method"])
        assert entry["from"] and set(entry) <= {*protocols._STATED, "paper", "table", "methods", "tokens", "from"}
    gran = frame[(frame["system"] == "GRAN") & (frame["aggregation"] == "mean of sets")]
    assert gran["STS 2014"].item() == pytest.approx(75.9)
    unsaid = frame[frame["system"].str.contains(r"\[UE\]")]
    assert (unsaid["aggregation"] == "").all() and unsaid["STS 2012"].round(1).tolist() == [60.7, 80.3, 56.0]
    assert "\u2713" in protocols.printed().markdown.split("GRAN", 1)[1][:20]


@pytest.mark.parametrize("show", SHOWN, ids=lambda show: show.__name__)
def test_it_is_well_formed_escaped_and_names_its_run(show: Callable[[Run | None], Fragment | Plot]) -> None:
    hostile = made("BiLSTM-Avg")
    hostile.extra["encoder"] = "<script>alert('x')</script> & co"
    for metric in hostile.metrics:
        metric.method = hostile.extra["encoder"]
    shown = show(hostile)
    html = shown.html(style=False)
    assert "<script" not in html and 'data-run="small/cross/protocols"' in html
    ET.fromstring(html)


@pytest.mark.parametrize("show", SHOWN, ids=lambda show: show.__name__)
def test_without_a_run_nothing_is_invented(show: Callable[[Run | None], Fragment | Plot]) -> None:
    shown = show(None)
    assert isinstance(shown, Fragment)
    if show is protocols.twice:
        assert shown.facts and "data-run" not in shown.html()
    elif shown:
        assert "make run NOTEBOOK=cross/protocols PROFILE=small" in shown.html() and shown.frame.empty


def test_the_demos_single_group_is_shown_in_place_of_a_year() -> None:
    run = made()
    run.metrics = [metric for metric in run.metrics if metric.dataset in ("STS2012/avg", "SICK2014")]
    drawn = protocols.heat(run)
    assert isinstance(drawn, Plot) and "STS 2012" in drawn.caption
