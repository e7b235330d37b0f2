from __future__ import annotations

import doctest
import warnings
from collections.abc import Callable

import pytest

from sentbook.records import Cost, CurvePoint, Run
from sentbook.report import cost, summary
from sentbook.report.svg import Plot
from sentbook.system.errors import ConfigError

Check = Callable[[str], object]
HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)>"
SPLIT = "d=300, F=600, batch 20"
LENGTHS = (4, 8, 12, 16, 24, 40)


def _points(split: str = SPLIT, methods: tuple[str, str] = (cost.BASE, cost.EXACT)) -> list[CurvePoint]:
    """The map costs n^2 milliseconds and MiB, the exact layer 2 n; in one of three rounds half as much again."""
    values = {methods[0]: lambda n: float(n * n), methods[1]: lambda n: 2.0 * n}
    return [
        CurvePoint(method=m, seed=s, step=n, split=split, metric=metric, value=value(n) * (1.5 if s == 2 else 1.0))
        for m, value in values.items()
        for n in LENGTHS
        for s in range(3)
        for metric in ("milliseconds", "peak_mebibytes")
    ]


@pytest.fixture
def layer(run: Run) -> Run:
    changes = {"paper": "wsv", "experiment": "exact_layer", "curves": _points(), "metrics": [], "tests": []}
    return run.model_copy(update=changes)


@pytest.fixture
def trained(run: Run) -> Run:
    rows = [
        Cost(
            method=f"WSV-SCNN-SV d={d} L={layers}", seed=seed, seconds=d * layers + seed, peak_memory_bytes=10**9,
            parameters=9 * d * 2 * d + 2, examples_per_second=100.0,
        )
        for layers in (2, 1) for d in (300, 200, 100, 50) for seed in (1, 2, 3)
    ]  # fmt: skip
    return run.model_copy(update={"paper": "wsv", "experiment": "table2", "cost": rows})


def _drawn(draw: Callable[[], object], well_formed: Check) -> Plot:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot = draw()
    assert isinstance(plot, Plot)
    html = plot.html()
    well_formed(html)
    assert html.count('role="img"') == 1 and plot.alt
    return plot


def test_examples_of_the_docstrings() -> None:
    assert doctest.testmod(cost).failed == 0


def test_lines_against_length_and_the_speed_up(layer: Run, well_formed: Check) -> None:
    plot = _drawn(lambda: cost.cost_against_length(layer, caption="The layer"), well_formed)
    for words in ("Time, ms", "Peak memory, MiB", cost.BASE, cost.EXACT, "Words in the sentence, n"):
        assert f">{words}</text>" in plot.drawing
    assert ">2.0\u00d7</text>" in plot.drawing and ">20.0\u00d7</text>" in plot.drawing  # n / 2, first and last
    assert "20.0 times at n = 40" in plot.alt
    assert plot.caption.startswith("The layer. ") and SPLIT in plot.caption and "3 rounds" in plot.caption


def test_without_memory_there_is_one_panel(layer: Run, well_formed: Check) -> None:
    timed = [p for p in layer.curves if p.metric == "milliseconds"]
    plot = _drawn(lambda: cost.cost_against_length(layer.model_copy(update={"curves": timed})), well_formed)
    assert "Time, ms" in plot.drawing and "Peak memory" not in plot.drawing
    assert "MiB" not in cost.cost_table(layer.model_copy(update={"curves": timed})).html()


def test_the_table_holds_medians_ratio_and_spread(layer: Run, well_formed: Check) -> None:
    made = cost.cost_table(layer)
    frame = made.to_frame().set_index("n")
    assert frame.index.to_list() == list(LENGTHS)
    assert frame.loc[12, f"{cost.BASE} ms"] == 144 and frame.loc[12, f"{cost.EXACT} ms"] == 24
    assert frame.loc[12, "ratio"] == 6 and frame.loc[40, f"{cost.BASE} MiB"] == 1600
    html = made.html()
    well_formed(html)
    for words in ("[144, 216]", "[24.0, 36.0]", ">6.0\u00d7<", "1\u202f600", SPLIT, "recorded run"):
        assert words in html
    assert "| 12 | 144 [144, 216] | 24.0 [24.0, 36.0] | **6.0\u00d7** | 144 | 24.0 |" in made.to_markdown()


def test_a_length_that_only_one_method_reached(layer: Run, well_formed: Check) -> None:
    """The map of a long sentence may not fit into memory."""
    short = [p for p in layer.curves if p.method == cost.EXACT or p.step < 40]
    part = layer.model_copy(update={"curves": short})
    _drawn(lambda: cost.cost_against_length(part), well_formed)
    frame = cost.cost_table(part).to_frame().set_index("n")
    assert frame.index.to_list() == list(LENGTHS)
    assert frame.loc[40].isna().sum() == 3 and frame.loc[40, f"{cost.EXACT} ms"] == 80
    assert "nan" not in cost.cost_table(part).html()


def test_several_sizes_need_a_choice(layer: Run) -> None:
    both = layer.model_copy(update={"curves": _points() + _points("d=50, F=200, batch 50")})
    for call in (cost.cost_against_length, cost.cost_table):
        with pytest.raises(ConfigError, match="split="):
            call(both)
        assert call(both, split=SPLIT)
        with pytest.raises(ConfigError, match="holds no milliseconds"):
            call(both, split="d=7")


def test_names_and_splits_are_escaped(layer: Run, well_formed: Check) -> None:
    methods = (f"map {HOSTILE}", f"exact {HOSTILE}")
    hostile = layer.model_copy(update={"curves": _points(HOSTILE, methods)})
    names = {"base": methods[0], "exact": methods[1]}
    _drawn(lambda: cost.cost_against_length(hostile, caption=HOSTILE, **names), well_formed)
    made = cost.cost_table(hostile, caption=HOSTILE, **names)
    well_formed(made.html())
    assert "<script>" not in made.html() and "&lt;script&gt;" in made.html()


def test_seconds_against_dimension(trained: Run, well_formed: Check) -> None:
    plot = _drawn(
        lambda: cost.cost_against_dimension(trained, summary.reported("wsv", "table2"), caption="Time"), well_formed
    )
    for words in ("4\u202f731 s", "495 s", "302 s", "52 s", "the paper, ten epochs", "ours"):  # of L = 1: the paper's
        assert f">{words}</text>" in plot.drawing
    assert "602 s" not in plot.drawing and "302 at 300" in plot.alt
    alone = _drawn(lambda: cost.cost_against_dimension(trained), well_formed)
    assert "the paper" not in alone.drawing and "computer" not in alone.caption


def test_what_is_not_there_is_a_clear_mistake(run: Run) -> None:
    for call in (cost.cost_against_length, cost.cost_table):
        with pytest.raises(ConfigError, match=r"holds no milliseconds.*wsv/exact_layer"):
            call(run)
    with pytest.raises(ConfigError, match="d="):
        cost.cost_against_dimension(run)


def test_no_run_shows_the_command_or_nothing(well_formed: Check) -> None:
    html = cost.cost_table(None).html()
    well_formed(html)
    assert "Not run" in html and "make run NOTEBOOK=wsv/exact_layer" in html
    assert not cost.cost_against_length(None)
    assert not cost.cost_against_dimension(None, summary.reported("wsv", "table2"))


def test_figures_are_the_same_twice(layer: Run, trained: Run) -> None:
    assert cost.cost_against_length(layer) == cost.cost_against_length(layer)
    assert cost.cost_against_dimension(trained) == cost.cost_against_dimension(trained)
