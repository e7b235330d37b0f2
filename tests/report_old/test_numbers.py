from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.report_old import numbers


@given(st.floats(-1, 1), st.integers(0, 4))
def test_a_correlation_reads_back_to_within_its_rounding(value: float, places: int) -> None:
    text = numbers.shown(value, "pearson", places=places)
    assert "-" not in text and text not in ("\u22120.0", "\u22120")
    assert abs(float(text.replace("\u2212", "-")) - 100 * value) <= 0.5 * 10**-places + 1e-9


@given(st.floats(0, 1))
def test_p_values_have_no_leading_zero_and_never_lie(p: float) -> None:
    text = numbers.p_value(p)
    if text == "<.001":
        assert p < 0.001
    elif text == ">.999":
        assert p > 0.999
    else:
        assert text.startswith(".") and len(text) == 4
        assert abs(float(text) - p) <= 0.0005 + 1e-12


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_float_prints(value: float) -> None:
    text = numbers.plain(value)
    assert text
    assert (text == numbers.DASH) == (not math.isfinite(value))


@given(st.floats(-1, 1), st.floats(0, 0.5))
def test_intervals_hold_their_centre(value: float, half: float) -> None:
    text = numbers.interval(value - half, value + half, "pearson")
    low, high = (float(part.replace("\u2212", "-")) for part in text.strip("[]").split(", "))
    assert low - 0.051 <= 100 * value <= high + 0.051


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("pearson", 0.7163, "71.6"), ("mse", 0.24804, "0.2480"), ("r@1", 0.306, "30.6"), ("median_rank", 3.0, "3.0"),
        ("accuracy", 0.797, "79.7"), ("mae", 0.5, "0.500"), ("search_R@1", 0.266, "26.6"),
        ("annotation_MedR", 3.0, "3.0"),
    ],
)  # fmt: skip
def test_units(metric: str, value: float, text: str) -> None:
    assert numbers.shown(value, metric) == text


def test_ranks_errors_perplexities_and_costs_are_better_when_lower() -> None:
    lower = ("search_MedR", "mse", "loss", "perplexity of the next sentence", "milliseconds", "peak_mebibytes")
    assert all(map(numbers.lower_is_better, lower))
    assert not any(map(numbers.lower_is_better, ("search_R@1", "speedup", "log-likelihood per token", "pearson")))


def test_half_width_and_missing_intervals() -> None:
    assert numbers.half_width(0.70, 0.72, "pearson") == "\u00b1 1.0"
    assert numbers.half_width(None, 0.72, "pearson") == numbers.interval(None, None, "pearson") == ""
    assert numbers.interval(-0.01, 0.02, "pearson", signed=True) == "[\u22121.0, +2.0]"


def test_a_p_value_outside_its_range_is_a_bug() -> None:
    with pytest.raises(ValueError, match="not a probability"):
        numbers.p_value(1.2)


def test_durations_and_sizes() -> None:
    assert [numbers.minutes(s) for s in (2.34, 42, 59.6, 450, 7200)] == ["2.3 s", "42 s", "1.0 min", "7.5 min", "2.0 h"]
    assert [numbers.memory(b) for b in (5e3, 8.12e8, 1.43e9)] == ["5 kB", "812 MB", "1.4 GB"]
