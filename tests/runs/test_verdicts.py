from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import Predictions, sts_predictions
from sentbook.evaluation.statistics import Estimate
from sentbook.papers.cse import claims
from sentbook.records import Claim, Finding, Test
from sentbook.runs import printed as reported
from sentbook.runs import verdicts
from sentbook.system.errors import ConfigError


def made(low: float, high: float, estimate: float | None = None, **changes: Any) -> Test:
    middle = (low + high) / 2 if estimate is None else estimate
    row = {"kind": "paired bootstrap", "a": "CSE", "b": "PP", "dataset": "total_avg", "metric": "pearson"}
    return Test(**(row | {"estimate": middle, "low": low, "high": high} | changes))


# -- rules -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.03, "reproduced"),
        (-0.03, -0.01, "not reproduced"),
        (-0.01, 0.01, "inconclusive"),
        (0.0, 0.02, "inconclusive"),  # 0 is not above 0
        (-0.02, 0.0, "inconclusive"),
    ],
)
def test_beats(low: float, high: float, verdict: str) -> None:
    assert verdicts.beats(made(low, high))[0] == verdict
    # With lower better, the mirrored interval has the same verdict.
    assert verdicts.beats(made(-high, -low, metric="mse"), lower_is_better=True)[0] == verdict


def test_evidence_states_points_and_interval() -> None:
    assert verdicts.beats(made(0.012, 0.034))[1] == "CSE − PP = +2.3 points [+1.2, +3.4] on total_avg"
    error = verdicts.beats(made(-0.05, -0.01, metric="mse"), lower_is_better=True)
    assert error == ("reproduced", "CSE − PP = -0.0300 [-0.0500, -0.0100] on total_avg")


@given(st.floats(-0.9, 0.9))
def test_an_interval_of_no_width_decides_nothing(value: float) -> None:
    """One pair in a group, one seed, or a p-value alone leave an estimate without an interval."""
    for judgement in (
        verdicts.beats(made(value, value)),
        verdicts.beats(made(value, value), lower_is_better=True),
        verdicts.above(Estimate(value, value, value), 0.0, "one seed"),
    ):
        assert judgement[0] == "inconclusive"
        assert "[no interval]" in judgement[1]
    assert verdicts.wins([made(value, value)], 1)[1].endswith("in its favour on 0, against it on 0")


@pytest.mark.parametrize(
    ("tests", "at_least", "verdict"),
    [
        ([made(0.1, 0.2), made(-0.1, 0.2), made(-0.1, 0.2)], 3, "reproduced"),
        ([made(0.1, 0.2), made(-0.2, -0.1), made(-0.1, 0.2)], 2, "reproduced"),  # one significant win, one loss
        ([made(-0.2, -0.1), made(-0.1, 0.2), made(-0.1, 0.2)], 2, "not reproduced"),  # losses outnumber
        ([made(0.1, 0.2), made(-0.2, 0.1), made(-0.2, 0.1)], 2, "not reproduced"),  # too few wins
    ],
)
def test_wins(tests: list[Test], at_least: int, verdict: str) -> None:
    assert verdicts.wins(tests, at_least)[0] == verdict


def test_wins_shows_both_counts() -> None:
    tests = [made(0.1, 0.2), made(-0.1, 0.2), made(-0.2, -0.1)]
    assert verdicts.wins(tests, 2)[1] == (
        "CSE above PP on 2 of 3 sets; the interval excludes 0 in its favour on 1, against it on 1"
    )
    with pytest.raises(ValueError, match="at least one test"):
        verdicts.wins([], 1)


def test_wins_counts_ties_where_the_paper_does() -> None:
    tests = [made(0.1, 0.2), made(-0.01, 0.009, -0.001), made(-0.01, 0.006, -0.002)]
    assert verdicts.wins(tests, 2)[0] == "not reproduced"
    found, evidence = verdicts.wins(tests, 2, tie=0.002, rows="cells")
    assert found == "reproduced"
    assert evidence == (
        "CSE above PP on 1 of 3 cells and less than 0.2 points below it on 1 more; "
        "the interval excludes 0 in its favour on 1, against it on 0"
    )
    assert verdicts.wins(tests, 3, tie=0.002)[0] == "not reproduced"  # .002 itself is no tie


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (Estimate(0.74, 0.73, 0.75), "reproduced"),
        (Estimate(0.70, 0.69, 0.71), "not reproduced"),
        (Estimate(0.72, 0.71, 0.73), "inconclusive"),
    ],
)
def test_above(value: Estimate, verdict: str) -> None:
    assert verdicts.above(value, 0.72, "CSE")[0] == verdict
    mirrored = Estimate(-value.estimate, -value.high, -value.low)
    assert verdicts.above(mirrored, -0.72, "mse", scale=1, lower_is_better=True)[0] == verdict


def test_above_evidence() -> None:
    assert verdicts.above(Estimate(0.74, 0.73, 0.75), 0.72, "CSE")[1] == "CSE: 74.0 [73.0, 75.0] against 72.0"
    assert verdicts.above(Estimate(0.25, 0.24, 0.26), 0.27, "mse", scale=1, lower_is_better=True)[1] == (
        "mse: 0.2500 [0.2400, 0.2600] against 0.2700"
    )


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (Estimate(0.60, 0.58, 0.62), "reproduced"),  # holds .61
        (Estimate(0.65, 0.64, 0.66), "reproduced"),  # better
        (Estimate(0.58, 0.57, 0.59), "not reproduced"),
        (Estimate(0.58, 0.58, 0.58), "inconclusive"),  # one seed, below
        (Estimate(0.65, 0.65, 0.65), "reproduced"),  # one seed, better
    ],
)
def test_scores(value: Estimate, verdict: str) -> None:
    found, evidence = verdicts.scores(value, 0.61, "STS2012/avg")
    assert found == verdict
    assert f"printed 61.0, gap {(value.estimate - 0.61) * 100:+.1f}" in evidence


def test_scores_where_lower_is_better() -> None:
    low = {"scale": 1, "lower_is_better": True}
    assert verdicts.scores(Estimate(0.30, 0.28, 0.32), 0.29, "mse", **low)[0] == "reproduced"  # type: ignore[arg-type]
    assert verdicts.scores(Estimate(0.20, 0.18, 0.22), 0.29, "mse", **low)[0] == "reproduced"  # type: ignore[arg-type]
    found = verdicts.scores(Estimate(0.40, 0.38, 0.42), 0.29, "mse", **low)  # type: ignore[arg-type]
    assert found == ("not reproduced", "mse: 0.4000 [0.3800, 0.4200], printed 0.2900, gap +0.1100")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.01, 0.02, "reproduced"),
        (0.0, 0.02, "reproduced"),
        (0.01, 0.02, "not reproduced"),
        (-0.02, -0.01, "not reproduced"),
        (0.01, 0.01, "inconclusive"),  # no interval
    ],
)
def test_same(low: float, high: float, verdict: str) -> None:
    assert verdicts.same(made(low, high))[0] == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.009, 0.009, "reproduced"),
        (0.001, 0.009, "reproduced"),  # a difference that shows, and is small
        (0.011, 0.02, "not reproduced"),
        (-0.02, -0.011, "not reproduced"),
        (-0.02, 0.02, "inconclusive"),
        (0.009, 0.011, "inconclusive"),
        (0.001, 0.001, "inconclusive"),  # no interval
    ],
)
def test_near(low: float, high: float, verdict: str) -> None:
    found, evidence = verdicts.near(made(low, high), 0.01)
    assert found == verdict
    assert evidence.endswith("margin 1.0")


def test_all_of_is_its_worst_part() -> None:
    yes, no, maybe, absent = [("reproduced", "a"), ("not reproduced", "b"), ("inconclusive", "c"), ("not run", "d")]
    assert verdicts.all_of([yes, yes]) == ("reproduced", "a; a")  # type: ignore[list-item]
    assert verdicts.all_of([yes, maybe])[0] == "inconclusive"  # type: ignore[list-item]
    assert verdicts.all_of([yes, absent, maybe])[0] == "not run"  # type: ignore[list-item]
    assert verdicts.all_of([maybe, no, absent]) == ("not reproduced", "c; b; d")  # type: ignore[list-item]


def test_identity_and_not_run() -> None:
    assert verdicts.identity(3e-9, 1e-6, "PP and CSE") == (
        "reproduced",
        "PP and CSE: at most 3.0e-09 apart, tolerance 1e-06",
    )
    assert verdicts.identity(0.1, 1e-6, "PP and CSE")[0] == "not reproduced"
    assert verdicts.not_run("no data") == ("not run", "no data")


# -- the claims as data ------------------------------------------------------------------------------------------------


def test_claims_are_well_formed() -> None:
    specs = verdicts.claims("cse")
    assert [spec.id for spec in specs] == [f"cse-{number:02}" for number in range(1, len(specs) + 1)]
    assert {spec.experiment for spec in specs} == {*(f"table{number}" for number in range(1, 7)), "ambiguities"}
    for spec in specs:
        assert len(spec.text.split()) <= 30, spec.id
        assert re.search(r"section|table|abstract", spec.source), spec.id
    assert verdicts.claims("cse", "table4") == [spec for spec in specs if spec.experiment == "table4"]
    assert verdicts.claims("nobody") == []


def test_numbers_in_the_claims_are_the_printed_ones() -> None:
    texts = {spec.id: spec.text for spec in verdicts.claims("cse")}

    def cell(table: str, method: str, dataset: str) -> str:
        return f"{reported.value('cse', table, method, dataset) * 100:.1f}"

    for claim, table, other, row in (
        ("cse-02", "table1", "PP", "total_avg"),
        ("cse-07", "table2", "GRAN", "SICK2014"),
        ("cse-08", "table2", "ATT-CCG", "STS2016/avg"),
    ):
        assert f"{cell(table, 'CSE', row)} against {cell(table, other, row)}" in texts[claim]
    for year in range(2012, 2017):
        assert cell("table2", "CSE", f"STS{year}/avg") in texts["cse-09"]
    others = reported.table("cse", "table3")
    others = others[~others["method"].str.startswith("CSE")].groupby("metric")["value"].agg(["min", "max"])
    best = [others.loc["pearson", "max"], others.loc["spearman", "max"], others.loc["mse", "min"]]
    assert all(f"{value:.4f}".removeprefix("0") in texts["cse-13"] for value in best)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {id: a, in: t, rule: beat, source: s, text: t}", "rule"),
        ("- {id: a, in: t, rule: beats, source: s}", "text"),
        ("- {id: a, in: t, rule: beats, source: s, text: t, sauce: s}", "sauce"),
        ("- {id: a, in: t, rule: beats, source: s, text: t}\n" * 2, "a more than once"),
        ("- {id: a", "mend that entry"),
        ("", "mend that entry"),
    ],
)
def test_a_mistake_in_the_claims_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        verdicts.parse_claims(text, "cse")


def test_judging_keeps_the_papers_words() -> None:
    claim = verdicts.judge("cse-02", verdicts.beats(made(0.01, 0.02)))
    spec = verdicts.specifications()["cse-02"]
    assert claim == Claim(
        id=spec.id,
        text=spec.text,
        source=spec.source,
        rule="beats",
        verdict="reproduced",
        evidence="CSE − PP = +1.5 points [+1.0, +2.0] on total_avg",
        printed=Finding(what="difference", unit="pearson", value=0.008, how="printed"),
        ours=Finding(
            what="CSE − PP on total_avg", unit="pearson", value=0.015, low=0.01, high=0.02, how="paired bootstrap"
        ),
    )


def test_the_papers_difference_is_looked_up_or_left_out() -> None:
    """68.5 against 67.7; turned about; a row that the table does not print; the bound that a rule was given stays."""
    turned = verdicts.judge("cse-02", verdicts.beats(made(0.01, 0.02, a="PP", b="CSE"))).printed
    assert turned is not None and turned.value == -0.008
    assert verdicts.judge("cse-02", verdicts.beats(made(0.01, 0.02, dataset="elsewhere"))).printed is None
    assert verdicts.judge("cse-27", verdicts.beats(made(0.01, 0.02, a="clean", b="tanh"))).printed is None
    held = verdicts.judge("wsv-14", verdicts.near(made(0.001, 0.003), 0.0139, stated=True)).printed
    assert held is not None and (held.value, held.how) == (0.0139, verdicts.PRINTED)


def test_a_rule_says_whether_its_bound_is_the_papers() -> None:
    tests = [made(0.1, 0.2), made(-0.1, 0.2), made(-0.2, -0.1)]
    stated, read = (verdicts.wins(tests, 2, stated=stated).printed for stated in (True, False))
    assert stated is not None and (stated.value, stated.of, stated.how) == (2, 3, verdicts.PRINTED)
    assert read is not None and read.how == verdicts.BOUND
    ours = verdicts.wins(tests, 2).ours
    assert ours is not None and (ours.value, ours.of, ours.unit) == (2, 3, "sets")


def test_a_claim_of_several_parts_keeps_each() -> None:
    parts = [verdicts.beats(made(0.01, 0.02, dataset="STS2013/FNWN")), verdicts.beats(made(-0.02, -0.01))]
    claim = verdicts.judge("cse-02", verdicts.all_of(parts))
    assert claim.ours is not None and (claim.ours.value, claim.ours.of) == (1, 2)
    assert [part.verdict for part in claim.parts] == ["reproduced", "not reproduced"]
    # 29.8 against 43.9 on FNWN.
    assert [part.printed.value for part in claim.parts if part.printed] == [-0.141, 0.008]
    alone = verdicts.judge("cse-02", verdicts.all_of(parts[:1]))
    assert alone.parts == [] and alone.ours == parts[0].ours


def test_an_estimate_without_an_interval_has_none() -> None:
    ours = verdicts.beats(made(0.3, 0.3)).ours
    assert ours is not None and (ours.low, ours.high, ours.how) == (None, None, "")


# -- from scores to the claims of an experiment ------------------------------------------------------------------------

STS = ("STS2012/a", "STS2012/b", "STS2013/FNWN", "STS2013/c", "STS2014/d", "STS2014/e", "STS2015/f", "STS2015/g",
       "STS2016/h", "STS2016/i")  # fmt: skip
MINIWORLD = ("miniworld/people", "miniworld/places")


def book_of(methods: list[str], names: tuple[str, ...], scale: tuple[float, float] = (0, 5)) -> Predictions:
    """The first method knows gold best, the last least."""
    rng = np.random.default_rng(1)
    sets = [ScoredPairs(name, [""] * 60, [""] * 60, rng.integers(0, 26, 60) / 5, scale) for name in names]
    book = sts_predictions(sets)
    for noise, method in enumerate(methods, start=1):
        for seed in (1, 2, 3):
            for pairs in sets:
                book.add(method, seed, pairs.name, pairs.gold / 5 + 0.3 * noise * rng.normal(size=60))
    return book


def overestimations() -> list[Test]:
    return [made(0.5, 0.7, a=method, b="gold", metric="mae") for method in ("PP", "CSE")]


def group_frame() -> pd.DataFrame:
    rows = [(name, n) for name, n in (("low overlap, close", 40), ("high overlap, close", 30), ("high overlap, far", 1),
                                      ("low overlap, far", 50))]  # fmt: skip
    low = [-0.3, 0.1, -0.5, 0.1]
    high = [-0.1, 0.3, -0.5, 0.3]
    return pd.DataFrame(
        {"map": "isotonic", "group": [name for name, _ in rows], "n": [n for _, n in rows], "difference low": low,
         "difference high": high, "difference": (np.array(low) + high) / 2}
    )  # fmt: skip


GRAMS = ["combined", "1-gram", "2-gram", "3-gram", "4-gram"]
REGIMES = ["CSE_cumulative", "CSE_sentence", "CSE_phrase"]
SUPERVISED = ["CSE_universal", "PP_universal", "CSE_random"]
VARIANTS = ["clean", "tanh", "mean pooling"]


def judged(experiment: str, names: tuple[str, ...]) -> list[Claim]:
    resamples, moved = 100, {"clean": 1e-8, "tanh": 0.3}
    if experiment == "table6":
        return claims.table6(group_frame(), overestimations())
    if experiment == "ambiguities":
        return claims.ambiguities(book_of(VARIANTS, names), moved, 1e-8, resamples)
    if experiment == "table3":
        row = ("SICK2014-test",) if "SICK2014" in names else ("miniworld/relatedness",)
        return claims.table3(book_of(SUPERVISED, row, (1, 5)), resamples)
    methods = {"table1": ["CSE", "PP"], "table2": ["CSE", "PP"], "table4": REGIMES, "table5": GRAMS}[experiment]
    return getattr(claims, experiment)(book_of(methods, names), resamples)


@pytest.mark.parametrize("experiment", ["table1", "table2", "table3", "table4", "table5", "table6", "ambiguities"])
@pytest.mark.parametrize("names", [(*STS, "SICK2014"), MINIWORLD], ids=["sts", "miniworld"])
def test_every_claim_of_an_experiment_gets_one_verdict(
    experiment: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "printed", lambda *cell: 0.5)  # these sets are not the paper's
    found = judged(experiment, names)
    assert sorted(claim.id for claim in found) == sorted(spec.id for spec in verdicts.claims("cse", experiment))
    assert all(claim.evidence for claim in found)


def test_verdicts_follow_the_scores() -> None:
    """The first method of each book is made the best by far, and the claims about it come out so."""
    by_id = {claim.id: claim.verdict for claim in judged("table5", STS) + judged("table4", STS)}
    assert by_id["cse-21"] == by_id["cse-16"] == by_id["cse-17"] == "reproduced"
    table1 = {claim.id: claim for claim in judged("table1", (*STS, "SICK2014"))}
    assert table1["cse-01"].verdict == table1["cse-02"].verdict == "reproduced"
    assert table1["cse-03"].verdict != "reproduced"  # here CSE is better on FNWN


def test_a_group_of_one_pair_is_inconclusive() -> None:
    table6 = {claim.id: claim for claim in judged("table6", STS)}
    assert table6["cse-22"].verdict == "reproduced"
    assert table6["cse-23"].verdict == "reproduced"
    assert table6["cse-24"].verdict == "inconclusive"
    assert "(1 pairs" in table6["cse-24"].evidence
