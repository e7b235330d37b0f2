from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sentbook.records import Metric, Run
from sentbook.report import summary
from sentbook.system.errors import ConfigError, DataError


def test_examples_of_the_docstrings() -> None:
    assert doctest.testmod(summary).failed == 0


def test_interval_of_the_mean_equals_scipy() -> None:
    values = [0.61, 0.63, 0.60, 0.66, 0.62]
    middle, low, high = summary.centre_and_interval(values)
    expected = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
    assert (middle, low, high) == pytest.approx((np.mean(values), *expected))


def test_interval_of_the_median_is_the_range_and_covers_as_said() -> None:
    assert summary.centre_and_interval([0.3, 0.1, 0.2], "median") == (0.2, 0.1, 0.3)
    draws = np.random.default_rng(0).exponential(size=(20_000, 5))
    covered = (draws.min(axis=1) <= np.log(2)) & (np.log(2) <= draws.max(axis=1))
    assert covered.mean() == pytest.approx(1 - 2**-4, abs=0.01)


def test_one_seed_has_no_interval() -> None:
    assert summary.centre_and_interval([0.5]) == (0.5, None, None)
    assert "no interval" in summary.interval_words("mean", [1])


def test_two_protocols_for_a_cell_must_be_chosen(run: Run) -> None:
    more = Metric(
        method="CSE", dataset="SICK2014", metric="pearson", protocol="trained head", seed=1, value=0.85, n=4906
    )
    both = run.model_copy(update={"metrics": [*run.metrics, more]})
    with pytest.raises(ConfigError, match="protocol="):
        summary.over_seeds(both, "pearson")
    cells, protocols = summary.over_seeds(both, "pearson", protocol="trained head")
    assert protocols == ["trained head"]
    assert cells["CSE", "SICK2014"].value == 0.85


def test_a_seed_recorded_twice_is_refused(run: Run) -> None:
    twice = run.model_copy(update={"metrics": [run.metrics[0], run.metrics[0]]})
    with pytest.raises(DataError, match="twice"):
        summary.over_seeds(twice, "pearson")


def test_printed_units_are_converted_once() -> None:
    raw = pd.DataFrame(
        [
            ("X", "A", "pearson_x100", 42.6),
            ("X", "A", "pearson", 0.8),
            ("X", "A", "accuracy", 79.7),
            ("X", "A", "n", "-"),
        ],
        columns=["method", "dataset", "metric", "value"],
    )
    once = summary.on_scale(raw)
    assert once["value"].to_list() == pytest.approx([0.426, 0.8, 0.797])
    pd.testing.assert_frame_equal(summary.on_scale(once), once)


@pytest.mark.parametrize(("paper", "table"), [("cse", f"table{n}") for n in range(1, 6)] + [("cnn_lstm", "table3")])
def test_reported_values_are_shares_or_errors(paper: str, table: str) -> None:
    frame = summary.reported(paper, table)
    bounded = frame[frame["metric"].isin(["pearson", "spearman", "accuracy", "f1"])]
    assert len(bounded) and bounded["value"].between(-1, 1).all()


def test_an_unknown_table_is_a_clear_mistake() -> None:
    with pytest.raises(ConfigError, match="no printed numbers"):
        summary.reported("cse", "table9")


def test_a_test_with_an_interval_is_preferred(run: Run) -> None:
    alone = run.tests[0].model_copy(update={"kind": "williams", "low": 0.09, "high": 0.09})
    pool = [alone, *run.tests]
    dataset = alone.dataset
    assert summary.test_of(pool, "CSE", "PP", dataset, "pearson")[0].kind == "paired bootstrap"
    assert summary.test_of(pool, "CSE", "PP", dataset, "pearson", kind="williams")[0] == alone


def test_a_test_is_found_both_ways_round(run: Run) -> None:
    _, estimate, low, high = summary.test_of(run.tests, "CSE", "PP", "SICK2014", "pearson")
    _, back, back_low, back_high = summary.test_of(run.tests, "PP", "CSE", "SICK2014", "pearson")
    assert (back, back_low, back_high) == (-estimate, -high, -low)
    assert summary.test_of(run.tests, "CSE", "GRAN", "SICK2014", "pearson") is None
