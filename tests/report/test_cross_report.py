"""The matrix as tables and a figure: every cell of the run, what is missing with its reason, nothing hostile."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.evaluation.columns import Items, column, mean_of, summary
from sentbook.evaluation.protocols import Measure
from sentbook.records import Cost, Metric, Provenance, Run
from sentbook.report import cross
from sentbook.report.marks import row_key
from sentbook.report.markup import Fragment

METHODS = {"PP [UE]": 2.0, "PP [FT]": 1.0, "PP [DNT]": 0.4, "GRAN [UE]": 1.9, "GRAN [DNT]": 0.1, "MiniLM [UE]": 0.05}


def made_run(seeds: tuple[int, ...] = (1,)) -> Run:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=150)
    tables = {method: [gold + rng.normal(size=(len(seeds), 150)) * noise] for method, noise in METHODS.items()}
    year = column("STS2013/avg", Measure.PEARSON, [Items("a", gold)], tables, 300)
    sick = column("SICK", Measure.SPEARMAN, [Items("b", gold)], tables, 300)
    labels = {method: [(table[0] > 0).astype(float)] for method, table in tables.items()}
    msrp = [
        column("MSRP", measure, [Items("c", (gold > 0).astype(float))], labels, 300)
        for measure in (Measure.ACCURACY, Measure.F1)
    ]
    columns = [
        year, sick, mean_of(cross.SIMILARITY, "correlation", [year, sick]),
        *msrp, mean_of(cross.CLASSIFICATION, "accuracy", msrp[:1]),
    ]  # fmt: skip
    metrics = [
        Metric(
            method=m, dataset=one.name, metric=one.measure, protocol="cosine, mean of sets", seed=s, value=v, n=one.n
        )
        for one in columns
        for m, v in one.values.items()
        for s in seeds
    ]
    metrics += [m.model_copy(update={"protocol": "cosine, pooled pairs", "value": 0.0}) for m in metrics[:6]]
    provenance = Provenance(
        git_commit="0" * 40, config={}, config_hash="x", python="3", device="cpu",
        started="2026-11-21T06:12:00+00:00", wall_seconds=1, peak_memory_bytes=1, seeds=list(seeds),
    )  # fmt: skip
    speeds = [
        {
            "encoder": name, "parameters": 10**place, "word parameters": 7, "sentences per second": 9000.0 / place,
            "rounds": [1.0, 2.0], "ratio": 1 / place, "sentences": 200,
        }
        for place, name in enumerate(("PP", "GRAN", "MiniLM"), 1)
    ]  # fmt: skip
    missing = {"MiniLM [DNT]": "its weights are not trained here", "USE [UE]": "not installed: pip install 'x<y'"}
    extra = {"speeds": speeds, "missing": missing, "met": {"paraphrases": {"STS2013/avg": 0.25, "SICK": 0.0}}}
    cost = [
        Cost(method="PP [DNT]", seed=1, seconds=90, peak_memory_bytes=1, parameters=1, examples_per_second=1),
        Cost(method="MiniLM [FT]", seed=1, seconds=3, peak_memory_bytes=1, parameters=1, examples_per_second=1),
    ]
    return Run(
        paper="cross", experiment="matrix", profile="small", provenance=provenance, metrics=metrics, cost=cost,
        extra={**extra, **summary(columns)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Run:
    return made_run()


def parsed(fragment: Fragment) -> ET.Element:
    return ET.fromstring(fragment.html(style=False))


def test_each_cell_shows_its_number_letters_interval_and_row_of_the_ledger(run: Run) -> None:
    fragment, held = cross.matrix(run), cross.Matrix(run)
    rows = {row[0].text: row for row in parsed(fragment).iter("tr") if row.get("class") is None and len(row) > 3}
    for (method, place), cell in held.cells.items():
        if place.dataset == "SICK":
            name = method.replace("[", "").replace("]", "")
            (td,) = (td for td in rows[name] if td.get("data-row") == row_key(method, "SICK", "spearman"))
            assert "".join(td.itertext()) == f"{100 * cell.value:.1f}{cell.letters}"
            assert td.get("title") == f"[{100 * cell.low:.1f}, {100 * cell.high:.1f}]".replace("-", "\u2212")
    assert fragment.run == "small/cross/matrix"


def test_bold_are_those_that_share_a_letter_with_the_best(run: Run) -> None:
    held = cross.Matrix(run)
    for place in held.places:
        best = held.best(place)
        assert max((m for m, at in held.cells if at == place), key=lambda m: held.cells[m, place].value) in best
        column = {m: cell for (m, at), cell in held.cells.items() if at == place}
        assert best != set(column)
    text = cross.matrix(run).html()
    assert len(re.findall("sb-best", text.split("</style>")[-1])) == sum(
        len(held.best(place)) for place in held.part(cross.SIMILARITY)
    )


def test_pooled_years_are_no_cells_and_seeds_are_averaged() -> None:
    one, several = cross.Matrix(made_run()), cross.Matrix(made_run((1, 2)))
    place = one.places[0]
    assert place.title == "STS 2013"
    assert one.cells["PP [DNT]", place].value > 0.5  # and not 0, as pooled
    assert "mean of 2 seeds" in cross.matrix(made_run((1, 2))).markdown
    assert several.places == one.places


def test_the_two_parts_hold_every_column_once(run: Run) -> None:
    held = cross.Matrix(run)
    assert [*held.part(cross.SIMILARITY), *held.part(cross.CLASSIFICATION)] == held.places
    frame = cross.matrix(run, cross.CLASSIFICATION).to_frame()
    assert {"MSRP accuracy", "MSRP f1", "Mean accuracy"} <= set(frame.columns)
    assert not any("SICK" in name for name in frame.columns)


def test_rows_among_the_best_are_counted_without_and_with_the_marks(run: Run) -> None:
    held, frame = cross.Matrix(run), cross.wins(run).to_frame().set_index("encoder")
    places = held.part(cross.SIMILARITY)[:-1]
    for method in ("GRAN [DNT]", "PP [UE]", "MiniLM [UE]"):
        name, setting = method.split(" [")[0], method.split("[")[1][:-1]
        assert frame.loc[name, f"Similarity {setting} of all"] == sum(method in held.best(place) for place in places)
    # The mark is the best of all columns, GRAN DNT of those without it.
    assert frame.loc["MiniLM", "Similarity UE of all"] == 2
    assert frame.loc["GRAN", "Similarity DNT"] == 2 and frame.loc["MiniLM", "Similarity UE"] == 0
    assert frame.loc["PP", "Similarity UE"] == 0
    assert "1 of classification" in cross.wins(run).markdown


def test_what_is_missing_says_why(run: Run) -> None:
    text = cross.matrix(run).html()
    assert "not run: its weights are not trained here" in text
    assert "x&lt;y" in text and "x<y" not in text
    frame = cross.matrix(run).to_frame().set_index(["encoder", "setting"])
    assert np.isnan(frame.loc[("USE", "UE"), "SICK spearman"])
    assert ("GRAN", "FT") not in frame.index  # neither measured nor excused


def test_a_run_that_is_not_there_says_how_to_make_it() -> None:
    for fragment in (cross.matrix(None), cross.wins(None), cross.cost_table(None), cross.met_table(None)):
        assert "make run NOTEBOOK=cross/matrix PROFILE=small" in fragment.markdown
    assert not cross.pareto(None)


def test_cost_beside_quality(run: Run) -> None:
    frame = cross.cost_table(run).to_frame().set_index("encoder")
    assert frame.loc["GRAN", "ratio"] == 0.5 and frame.loc["MiniLM", "parameters"] == 1000
    text = cross.cost_table(run).markdown
    assert "1.5 min" in text and "3.0 s" in text and "median of 2 rounds over 200 sentences" in text
    assert "0.50\u00d7" in cross.matrix(run).markdown


def test_shares_of_met_sentences(run: Run) -> None:
    assert "| paraphrases | 25.0 | 0.0 |" in cross.met_table(run).markdown


# -- the figure --------------------------------------------------------------------------------------------------------


def test_the_figure_is_well_formed_and_names_the_efficient(run: Run) -> None:
    plot = cross.pareto(run, caption="Quality")
    ET.fromstring(plot.drawing)
    assert all(name in plot.drawing for name in ("GRAN", "MiniLM", "Similarity", "Classification"))
    assert "PP DNT" in plot.alt and "PP UE" not in plot.alt
    assert replace(plot, run="").html() != plot.html() and "small/cross/matrix" in plot.html()


speeds = st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.tuples(st.integers(0, 5), st.integers(0, 5)))


@given(speeds)
def test_efficient_points_are_those_that_no_other_beats(points: dict[str, tuple[int, int]]) -> None:
    kept = cross.efficient(points)

    def beaten(name: str) -> bool:
        x, y = points[name]
        return any(a >= x and b >= y and (a > x or b > y) for a, b in points.values())

    assert set(kept) == {name for name in points if not beaten(name)}
    rates, values = [points[name][0] for name in kept], [points[name][1] for name in kept]
    assert rates == sorted(rates, reverse=True) and values == sorted(values)


@given(st.lists(st.floats(0, 10), max_size=12), st.floats(0.1, 2))
def test_names_stand_apart_and_stay_where_they_can(places: list[float], gap: float) -> None:
    rising = sorted(places)
    moved = cross.spread(rising, gap)
    assert all(b - a >= gap - 1e-9 for a, b in itertools.pairwise(moved))
    if all(b - a >= gap for a, b in itertools.pairwise(rising)):
        assert moved == pytest.approx(rising)
