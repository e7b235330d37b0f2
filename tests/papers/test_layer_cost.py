"""Both layers are measured turn by turn on the same numbers; a speed-up is a ratio of medians."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from sentbook.papers.wsv import layer_cost
from sentbook.papers.wsv.layer_cost import BASE, EXACT, measure, speedups
from sentbook.papers.wsv.settings import LayerMeasurement
from sentbook.records import CurvePoint

CPU = torch.device("cpu")
TINY = LayerMeasurement(dimension=3, filters=2, batch_size=4, lengths=(2, 5), rounds=3)
SPLIT = "d=3, F=2, batch 4"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The layers in the order of their steps, which take 1, 2, 3, ... milliseconds."""
    found: list[str] = []

    def step(layer: Callable[[], torch.Tensor], device: torch.device) -> float:
        found.append({"base": BASE, "exact": EXACT}[layer.__name__])
        return float(len(found))

    monkeypatch.setattr(layer_cost, "_step", step)
    return found


def timed(method: str, length: int, *values: float) -> list[CurvePoint]:
    return [
        CurvePoint(method=method, seed=at, step=length, split="s", metric="milliseconds", value=value)
        for at, value in enumerate(values, start=1)
    ]


def test_rows_are_rounds_of_both_layers_at_every_length() -> None:
    rows = measure(TINY, CPU)
    assert {row.split for row in rows} == {SPLIT}
    times = [row for row in rows if row.metric == "milliseconds"]
    assert [(row.step, row.seed, row.method) for row in times] == [
        (length, round_, method) for length in (2, 5) for round_ in (1, 2, 3) for method in (BASE, EXACT)
    ]
    assert all(row.value > 0 for row in times)
    peaks = [row for row in rows if row.metric == "peak_mebibytes"]
    assert len(peaks) in (0, 4)  # none where the system does not tell
    assert {(row.step, row.method) for row in peaks} <= set(itertools.product((2, 5), (BASE, EXACT)))
    assert all(row.seed == 0 for row in peaks)
    assert len(rows) == len(times) + len(peaks)
    assert [metric.n for metric in speedups(rows)] == [3, 3]


def test_rounds_alternate_and_the_first_is_not_counted(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_cost, "_peak", lambda layer, device: None)
    rows = measure(TINY.model_copy(update={"lengths": (4,)}), CPU)
    assert steps == [BASE, EXACT] * 4
    assert [(row.metric, row.method, row.value) for row in rows] == [
        ("milliseconds", method, float(at)) for at, method in enumerate([BASE, EXACT] * 3, start=3)
    ]


def test_the_memory_of_a_layer_is_a_row_of_its_own(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter([7.0, 0.5])
    monkeypatch.setattr(layer_cost, "_peak", lambda layer, device: next(taken))
    rows = measure(TINY.model_copy(update={"lengths": (4,), "rounds": 1}), CPU)
    peaks = [(row.method, row.step, row.seed, row.value) for row in rows if row.metric == "peak_mebibytes"]
    assert peaks == [(BASE, 4, 0, 7.0), (EXACT, 4, 0, 0.5)]
    [speedup] = speedups(rows)
    assert speedup.value == 3 / 4  # of the times alone


def test_a_system_that_does_not_tell_has_no_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(field: str) -> float:
        raise OSError(field)

    monkeypatch.setattr(layer_cost, "_status", unknown)
    rows = measure(TINY, CPU)
    assert {row.metric for row in rows} == {"milliseconds"}
    assert len(rows) == 2 * 2 * TINY.rounds


@pytest.mark.parametrize("length", [2, 7])
def test_both_layers_compute_the_same(length: int) -> None:
    settings = TINY.model_copy(update={"dimension": 6, "filters": 5})
    values, gradients = [], []
    for name in ("base", "exact"):
        inputs = layer_cost._Inputs(settings, length, CPU)
        value = getattr(inputs, name)()
        assert value.shape == (layer_cost.K, settings.batch_size, settings.filters)
        assert layer_cost._step(getattr(inputs, name), CPU) > 0
        values.append(value.detach())
        gradients.append([leaf.grad for leaf in inputs.leaves])
        assert len(torch.unique(inputs.places)) == settings.batch_size * length  # no word twice
        assert not inputs.leaves[0][0].any()
    torch.testing.assert_close(values[0], values[1], atol=1e-5, rtol=0)
    for one, other in zip(*gradients, strict=True):
        assert one is not None and other is not None and one.any()
        rows: Any = slice(1, None) if len(one) == settings.batch_size * length + 1 else slice(None)
        torch.testing.assert_close(one[rows], other[rows], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("base", "exact", "expected"),
    [
        ([10.0, 900.0, 20.0], [2.0, 100.0, 4.0], 5.0),  # one slow round moves nothing
        ([1.0], [2.0], 0.5),
        ([1.0, 3.0], [1.0, 1.0], 2.0),
    ],
)
def test_a_speedup_is_a_ratio_of_medians(base: list[float], exact: list[float], expected: float) -> None:
    [metric] = speedups(timed(BASE, 8, *base) + timed(EXACT, 8, *exact))
    assert metric.value == expected
    assert (metric.method, metric.dataset, metric.metric) == (EXACT, "n=8", "speedup")
    assert (metric.seed, metric.n) == (None, len(exact))
    assert metric.protocol == "forward and backward against conv2d on the map, s"


def test_speedups_are_one_a_length_in_the_order_of_the_rows() -> None:
    rows = [row for length in (4, 40) for row in timed(EXACT, length, 1.0) + timed(BASE, length, float(length))]
    rows.append(rows[0].model_copy(update={"metric": "peak_mebibytes", "value": 1e9}))
    assert [(metric.dataset, metric.value) for metric in speedups(rows)] == [("n=4", 4.0), ("n=40", 40.0)]
    assert speedups([]) == []
