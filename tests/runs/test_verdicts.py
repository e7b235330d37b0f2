"""Rules on numbers, and claims as data."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import Predictions, sts_predictions
from sentbook.evaluation.statistics import Estimate
from sentbook.records import Finding, Test
from sentbook.runs import claims, verdicts
from sentbook.runs import printed as reported
from sentbook.runs.evidence import Evidence
from sentbook.system.errors import ConfigError

ENDS = st.tuples(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9)).map(sorted)


def made(low: float, high: float, **changes: Any) -> Test:
    row = {"kind": "paired bootstrap", "a": "CSE", "b": "PP", "dataset": "total_avg", "metric": "pearson"}
    return Test.model_validate({**row, "estimate": (low + high) / 2, "low": low, "high": high, **changes})


# -- rules -------------------------------------------------------------------------------------------------------------


@given(ENDS, st.floats(-0.9, 0.9))
def test_a_side_of_a_bound(ends: list[float], goal: float) -> None:
    """``beats`` and ``above`` say on which side an interval lies; with lower better, the mirrored one has the same."""
    low, high = ends
    value, mirror = Estimate((low + high) / 2, low, high), Estimate(-(low + high) / 2, -high, -low)
    decided = low < high
    above = "reproduced" if decided and low > goal else "not reproduced" if decided and high < goal else "inconclusive"
    assert verdicts.above(value, goal, "x").verdict == above
    assert verdicts.above(mirror, -goal, "x", lower_is_better=True).verdict == above
    beats = "reproduced" if decided and low > 0 else "not reproduced" if decided and high < 0 else "inconclusive"
    assert verdicts.beats(made(low, high)).verdict == beats
    assert verdicts.beats(made(-high, -low, metric="mse"), lower_is_better=True).verdict == beats


@given(ENDS, st.floats(0.01, 0.9))
def test_a_printed_value_is_reached_within_the_interval_or_beyond(ends: list[float], printed: float) -> None:
    low, high = ends
    found = verdicts.scores(Estimate((low + high) / 2, low, high), printed, "x").verdict
    assert found == ("reproduced" if high >= printed else "not reproduced" if low < high else "inconclusive")


@given(ENDS, st.floats(0.01, 0.5))
def test_no_difference(ends: list[float], margin: float) -> None:
    low, high = ends
    holds, width = low <= 0 <= high, low < high
    assert verdicts.same(made(low, high)).verdict == (
        "inconclusive" if not width else "reproduced" if holds else "not reproduced"
    )
    near = verdicts.near(made(low, high), margin).verdict
    assert (near == "reproduced") == (width and -margin < low and high < margin)
    assert (near == "not reproduced") == (width and (low > margin or high < -margin))


@pytest.mark.parametrize(
    ("ends", "at_least", "verdict"),
    [
        ([(0.1, 0.2), (-0.1, 0.2), (-0.1, 0.2)], 3, "reproduced"),
        ([(0.1, 0.2), (-0.2, -0.1), (-0.1, 0.2)], 2, "reproduced"),  # one significant win, one loss
        ([(-0.2, -0.1), (-0.1, 0.2), (-0.1, 0.2)], 2, "not reproduced"),  # losses outnumber
        ([(0.1, 0.2), (-0.2, 0.1), (-0.2, 0.1)], 2, "not reproduced"),  # too few wins
    ],
)
def test_wins(ends: list[tuple[float, float]], at_least: int, verdict: str) -> None:
    assert verdicts.wins([made(*one) for one in ends], at_least).verdict == verdict


def test_wins_counts_ties_where_the_paper_does() -> None:
    tests = [made(0.1, 0.2), made(-0.01, 0.009, estimate=-0.001), made(-0.01, 0.006, estimate=-0.002)]
    assert verdicts.wins(tests, 2).verdict == "not reproduced"
    found = verdicts.wins(tests, 2, tie=0.002, rows="cells")
    assert found.verdict == "reproduced"
    assert found.evidence == (
        "CSE above PP on 1 of 3 cells and less than 0.2 points below it on 1 more; "
        "the interval excludes 0 in its favour on 1, against it on 0"
    )
    assert verdicts.wins(tests, 3, tie=0.002).verdict == "not reproduced"  # .002 itself is no tie
    with pytest.raises(ValueError, match="at least one test"):
        verdicts.wins([], 1)


def test_evidence_shows_numbers_in_the_units_of_the_house() -> None:
    assert verdicts.beats(made(0.012, 0.034)).evidence == "CSE − PP = +2.3 points [+1.2, +3.4] on total_avg"
    error = verdicts.beats(made(-0.05, -0.01, metric="mse"), lower_is_better=True)
    assert error.evidence == "CSE − PP = -0.0300 [-0.0500, -0.0100] on total_avg"
    assert verdicts.beats(made(0.3, 0.3)).evidence.endswith("[no interval] on total_avg")
    assert verdicts.near(made(0.0, 0.01), 0.02).evidence.endswith("margin 2.0")
    value = Estimate(0.25, 0.24, 0.26)
    assert verdicts.above(value, 0.27, "mse", scale=1).evidence == "mse: 0.2500 [0.2400, 0.2600] against 0.2700"
    assert verdicts.scores(value, 0.27, "a").evidence == "a: 25.0 [24.0, 26.0], printed 27.0, gap -2.0"
    assert verdicts.identity(3e-9, 1e-6, "PP and CSE").evidence == "PP and CSE: at most 3.0e-09 apart, tolerance 1e-06"


def test_a_judgement_keeps_its_numbers() -> None:
    ours = verdicts.beats(made(0.01, 0.02)).ours
    assert ours == Finding(
        what="CSE − PP on total_avg", unit="pearson", value=0.015, low=0.01, high=0.02, how="paired bootstrap"
    )
    alone = verdicts.beats(made(0.3, 0.3)).ours
    assert alone is not None and (alone.low, alone.high, alone.how) == (None, None, "")
    told = [verdicts.wins([made(0.1, 0.2)], 1, stated=stated).printed for stated in (True, False)]
    assert [one.how for one in told if one] == [verdicts.PRINTED, verdicts.BOUND]


def test_all_of_is_its_worst_part_and_counts_show_the_weakest() -> None:
    yes, no, maybe = (verdicts.beats(made(*ends)) for ends in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.2)))
    absent = verdicts.not_run("d")
    assert verdicts.all_of([yes]) is yes
    assert [
        verdicts.all_of(parts).verdict for parts in ([yes, yes], [yes, maybe], [yes, absent, maybe], [absent, no])
    ] == [
        "reproduced",
        "inconclusive",
        "not run",
        "not reproduced",
    ]
    found = verdicts.counted([yes, no, maybe], "better")
    assert found.evidence == f"better in 1 of 3 cells, undecided in 1; least: {no.evidence}"
    assert found.parts == (yes, no, maybe)
    assert found.ours is not None and (found.ours.value, found.ours.of) == (1, 3)


# -- claims as data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", claims.papers())
def test_claims_are_well_formed(paper: str) -> None:
    specs = claims.claims(paper)
    assert [spec.id for spec in specs] == sorted(spec.id for spec in specs)
    for spec in specs:
        assert len(spec.text.split()) <= 40, spec.id
        assert re.search(r"section|table|abstract|not of the paper", spec.source), spec.id
    assert claims.claims(paper, specs[0].experiment)[0] == specs[0]


def test_numbers_in_the_claims_are_the_printed_ones() -> None:
    texts = {spec.id: spec.text for spec in claims.claims("cse")}

    def cell(table: str, method: str, dataset: str) -> str:
        return f"{reported.value('cse', table, method, dataset) * 100:.1f}"

    for claim, table, other, row in (
        ("cse-02", "table1", "PP", "total_avg"),
        ("cse-07", "table2", "GRAN", "SICK2014"),
        ("cse-08", "table2", "ATT-CCG", "STS2016/avg"),
    ):
        assert f"{cell(table, 'CSE', row)} against {cell(table, other, row)}" in texts[claim]
    others = reported.table("cse", "table3")
    others = others[~others["method"].str.startswith("CSE")].groupby("metric")["value"].agg(["min", "max"])
    best = {"pearson": others.loc["pearson", "max"], "spearman": others.loc["spearman", "max"]}
    best["mse"] = others.loc["mse", "min"]
    assert claims.specifications()["cse-13"].operands["than"] == best


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {id: a, in: t, source: s, text: t, beat: [A, B]}", "names no rule; name one of beats"),
        ("- {id: a, in: t, source: s, text: t, beats: [A, B], same: [A, B]}", "beats and same"),
        ("- {id: a, in: t, source: s, text: t, beats: [A, B], were: x}", "rule beats.*'were'"),
        ("- {id: a, in: t, source: s, text: t, above: A}", "rule above.*'than'"),
        ("- {id: a, in: t, source: s, text: t, all: [{above: A}]}", "rule above.*'than'"),
        ("- {id: a, in: t, source: s, beats: [A, B]}", "text"),
        ("- {id: a, in: t, source: s, text: t, beats: $pairs}", "pairs"),
        ("- {id: a, in: t, source: s, text: t, beats: [A, B]}\n" * 2, "a more than once"),
        ("- {id: a", "mend that entry"),
        ("", "mend that entry"),
    ],
)
def test_a_mistake_in_the_claims_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        claims.parse_claims(f"claims:\n{text}", "cse")


# -- from scores to the claims of an experiment ------------------------------------------------------------------------


def book_of(*methods: str, names: tuple[str, ...] = ("STS2012/a", "STS2013/FNWN")) -> Predictions:
    """The first method knows gold best, the last least."""
    rng = np.random.default_rng(1)
    sets = [ScoredPairs(name, [""] * 60, [""] * 60, rng.integers(0, 26, 60) / 5, (0, 5)) for name in names]
    book = sts_predictions(sets)
    for noise, method in enumerate(methods, start=1):
        for pairs in sets:
            book.add(method, 1, pairs.name, pairs.gold / 5 + 0.3 * noise * rng.normal(size=60))
    return book


def test_verdicts_follow_the_scores_and_their_label_is_the_rule_that_ran() -> None:
    book = book_of("CSE", "PP")
    found = {claim.id: claim for claim in claims.judge(Evidence("cse", "table1", book, 200))}
    assert list(found) == [spec.id for spec in claims.claims("cse", "table1")]
    assert found["cse-01"].rule == "wins" and found["cse-01"].verdict == "reproduced"
    assert found["cse-02"].rule == "beats" and found["cse-02"].verdict == "reproduced"
    assert found["cse-02"].printed == Finding(what="difference", unit="pearson", value=0.008, how="printed")
    assert found["cse-03"].verdict == "not reproduced"  # here CSE is better on FNWN
    assert found["cse-04"].verdict == "not run" and "no ablation" in found["cse-04"].evidence


def test_a_claim_whose_number_is_missing_is_not_run_and_says_which() -> None:
    found = claims.judge(Evidence("cse", "table5", book_of("1-gram", "2-gram", "3-gram"), 200))
    assert {claim.verdict for claim in found} == {"not run"}
    assert found[0].evidence == "needs 4-gram on total_avg"
    (first, *_) = claims.judge(Evidence("cse", "ambiguities", book_of("clean", "tanh", names=("x",)), 200))
    assert first.evidence == "needs mean pooling on STS2013/FNWN"
