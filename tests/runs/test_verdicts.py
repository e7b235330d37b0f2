"""Rules on numbers, and claims as data."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import Predictions, sts_predictions
from sentbook.evaluation.statistics import Estimate, seed_spread
from sentbook.io import ConfigError, root
from sentbook.records import Claim, Finding, Metric, Provenance, Run, Search, Test
from sentbook.runs import claims, verdicts
from sentbook.runs import printed as reported
from sentbook.runs.evidence import Evidence
from sentbook.runs.limits import BUT_FOR, Scale, limited

ENDS = st.tuples(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9)).map(sorted)
STANDS = "the verdict is the same with these as far ahead as may be"
VALUES = st.lists(st.floats(-0.9, 0.9), min_size=1, max_size=6)


def made(low: float, high: float, **changes: Any) -> Test:
    row = {"kind": "paired bootstrap", "a": "CSE", "b": "PP", "dataset": "total_avg", "metric": "pearson"}
    return Test.model_validate({**row, "estimate": (low + high) / 2, "low": low, "high": high, **changes})


def around(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high)


def printed(value: float) -> Finding:
    return Finding(what="difference", unit="pearson", value=value, how=verdicts.PRINTED)


# -- rules, each as its printed sentence has it ------------------------------------------------------------------------


@given(ENDS, st.floats(-0.9, 0.9))
def test_a_side_of_a_bound(ends: list[float], goal: float) -> None:
    """``beats`` and ``above`` say on which side an interval lies; with lower better, the mirrored one has the same."""
    low, high = ends
    decided = low < high
    above = "reproduced" if decided and low > goal else "not reproduced" if decided and high < goal else "inconclusive"
    assert verdicts.above(around(low, high), goal, "x").verdict == above
    assert verdicts.above(around(-high, -low), -goal, "x", lower_is_better=True).verdict == above
    beats = "reproduced" if decided and low > 0 else "not reproduced" if decided and high < 0 else "inconclusive"
    assert verdicts.beats(made(low, high)).verdict == beats
    assert verdicts.beats(made(-high, -low, metric="mse"), lower_is_better=True).verdict == beats
    # A printed difference that an undecided interval excludes is not reproduced; one on B's side claims nothing.
    excluded = beats == "inconclusive" and decided and goal > high
    assert verdicts.beats(made(low, high), printed=printed(goal)).verdict == ("not reproduced" if excluded else beats)
    mirrored = verdicts.beats(made(-high, -low), lower_is_better=True, printed=printed(-goal))
    assert mirrored.verdict == ("not reproduced" if excluded else beats)


@given(ENDS, st.floats(0.01, 0.9))
def test_a_printed_value_is_held_exceeded_or_missed(ends: list[float], value: float) -> None:
    low, high = ends
    side = "exceeded" if low > value else "not reproduced" if high < value else "reproduced"
    wanted = side if low < high else "inconclusive"
    assert verdicts.scores(around(low, high), value, "x").verdict == wanted
    assert verdicts.scores(around(-high, -low), -value, "x", lower_is_better=True).verdict == wanted


@given(ENDS, VALUES, st.integers(1, 7))
def test_a_rank_is_that_of_both_ends(ends: list[float], others: list[float], rank: int) -> None:
    low, high = ends
    first, last = (1 + sum(other > end for other in others) for end in (high, low))
    found = verdicts.ranks(around(low, high), others, rank, "r")
    mirror = verdicts.ranks(around(-high, -low), [-one for one in others], rank, "mse", lower_is_better=True)
    assert found.ours is not None and (found.ours.low, found.ours.high) == (first, last)
    assert found.verdict == mirror.verdict
    if low < high:
        assert (found.verdict == "reproduced") == (first == last == rank)
        assert (found.verdict == "exceeded") == (last < rank)
        assert (found.verdict == "not reproduced") == (first > rank)


@given(ENDS, st.floats(0.01, 0.5))
def test_no_difference_takes_an_interval_within_the_margin(ends: list[float], margin: float) -> None:
    """Low power is never evidence of no difference: an interval wider than the margins decides nothing."""
    low, high = ends
    found = verdicts.equivalent(made(low, high), margin).verdict
    assert (found == "reproduced") == (low < high and -margin < low and high < margin)
    assert (found == "not reproduced") == (low < high and (low > margin or high < -margin))
    assert found == verdicts.equivalent(made(-high, -low), margin).verdict


@pytest.mark.parametrize(
    ("ends", "at_least", "verdict"),
    [
        ([(0.1, 0.2), (-0.1, 0.2), (-0.1, 0.2)], 3, "reproduced"),
        ([(0.1, 0.2), (-0.2, -0.1), (-0.1, 0.2)], 2, "reproduced"),  # one significant win, one loss
        ([(-0.2, -0.1), (-0.1, 0.2), (-0.1, 0.2)], 2, "inconclusive"),  # one loss outnumbers none by luck
        ([(-0.2, -0.1)] * 5 + [(0.1, 0.2)] * 4, 4, "inconclusive"),
        ([(-0.2, -0.1)] * 5 + [(-0.1, 0.2)] * 4, 4, "not reproduced"),  # five outnumber none
        ([(0.1, 0.2), (-0.2, 0.1), (-0.2, 0.1)], 2, "inconclusive"),  # too few wins, but not beyond doubt
        ([(0.1, 0.2), (-0.2, -0.1), (-0.2, 0.1)], 3, "not reproduced"),  # the loss alone leaves two
    ],
)
def test_wins(ends: list[tuple[float, float]], at_least: int, verdict: str) -> None:
    assert verdicts.wins([made(*one) for one in ends], at_least).verdict == verdict


def test_wins_counts_ties_where_the_paper_does() -> None:
    tests = [made(0.1, 0.2), made(-0.01, 0.009, estimate=-0.001), made(-0.01, 0.006, estimate=-0.002)]
    assert verdicts.wins(tests, 2).verdict == "inconclusive"
    found = verdicts.wins(tests, 2, tie=0.002, rows="cells")
    assert found.verdict == "reproduced"
    assert found.evidence == (
        "CSE above PP on 1 of 3 cells and less than 0.2 points below it on 1 more; "
        "the interval excludes 0 in its favour on 1, against it on 0"
    )
    assert verdicts.wins(tests, 3, tie=0.002).verdict == "inconclusive"  # .002 itself is no tie
    with pytest.raises(ValueError, match="at least one test"):
        verdicts.wins([], 1)


def test_evidence_shows_numbers_in_the_units_of_the_house() -> None:
    assert verdicts.beats(made(0.012, 0.034)).evidence == "CSE − PP = +2.3 points [+1.2, +3.4] on total_avg"
    error = verdicts.beats(made(-0.05, -0.01, metric="mse"), lower_is_better=True)
    assert error.evidence == "CSE − PP = -0.0300 [-0.0500, -0.0100] on total_avg"
    assert verdicts.beats(made(0.3, 0.3)).evidence.endswith("[no interval] on total_avg")
    assert verdicts.equivalent(made(0.0, 0.01), 0.02).evidence.endswith("margin 2.0")
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
    ] == ["reproduced", "inconclusive", "not run", "not reproduced"]
    more = verdicts.scores(around(0.3, 0.4), 0.2, "x")
    assert verdicts.all_of([yes, more]).verdict == "exceeded"
    found = verdicts.counted([yes, no, maybe, more], "better")
    assert found.evidence == f"better in 1 of 4 cells, exceeded in 1, undecided in 1; least: {no.evidence}"
    assert found.parts == (yes, no, maybe, more)
    assert found.ours is not None and (found.ours.value, found.ours.of) == (2, 4)


# -- claims as data ----------------------------------------------------------------------------------------------------


def test_the_rules_of_the_book_are_those_that_judge() -> None:
    """Every rule's sentence is in the book word for word, and is that of the function that a claim names."""
    told = " ".join((root() / "book" / "reading.md").read_text(encoding="utf-8").split())
    for spec in claims.specifications().values():
        assert spec.rules and spec.rules[0].run.__name__.endswith(spec.rule), spec.id
        for rule in spec.rules:
            assert f"**{rule.name[0].upper()}{rule.name[1:]}.** {rule.says}" in told, rule.name


def test_a_contradiction_is_in_the_papers_own_numbers() -> None:
    claimed = {spec.id for spec in claims.specifications().values() if spec.contradicts}
    assert claimed == {"cse-37", "wsv-15", "dnt-09"}
    phrase, sentence = (reported.value("cse", "table4", f"CSE_{one}", "STS2012/avg") for one in ("phrase", "sentence"))
    assert phrase > sentence
    ours = reported.value("wsv", "table2", "WSV-SCNN-SV d=200 L=1", "SICK2014-test")
    assert ours < reported.value("wsv", "figure5", "Illinois-LH", "SICK2014-test")
    kl, none = (reported.value("dnt", "table4", f"InferSent {one}", "SAG") for one in ("[FT] KL", "[UE]"))
    assert kl - none < 0.529


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
        ("- {id: a, in: t, source: s, text: t, beats: [A, B], above: A}", "beats and above"),
        ("- {id: a, in: t, source: s, text: t, beats: [A, B], about: seeds}", "about"),
        ("- {id: a, in: t, source: s, text: t, beats: [A, B], scale: {widths: 2}}", "scale"),
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


def book_of(
    *methods: str, names: tuple[str, ...] = ("STS2012/a", "STS2013/FNWN"), seeds: tuple[int, ...] = (1, 2, 3)
) -> Predictions:
    """The first method knows gold best, the last least."""
    rng = np.random.default_rng(1)
    sets = [ScoredPairs(name, [""] * 60, [""] * 60, rng.integers(0, 26, 60) / 5, (0, 5)) for name in names]
    book = sts_predictions(sets)
    for noise, method in enumerate(methods, start=1):
        for pairs in sets:
            for seed in seeds:
                book.add(method, seed, pairs.name, pairs.gold / 5 + 0.3 * noise * rng.normal(size=60))
    return book


def test_verdicts_follow_the_scores_and_their_label_is_the_rule_that_ran() -> None:
    book = book_of("CSE", "PP")
    found = {claim.id: claim for claim in claims.judge(Evidence("cse", "table1", book, 200))}
    assert list(found) == [spec.id for spec in claims.claims("cse", "table1")]
    assert found["cse-01"].rule == "wins" and found["cse-01"].verdict == "reproduced"
    assert found["cse-02"].rule == "beats" and found["cse-02"].verdict == "reproduced"
    assert found["cse-02"].printed == Finding(what="difference", unit="pearson", value=0.008, how="printed")
    assert found["cse-02"].judged_by == claims.specifications()["cse-02"].judged_by
    assert found["cse-03"].verdict == "not reproduced"  # here CSE is better on FNWN
    assert found["cse-04"].verdict == "not run" and "no ablation" in found["cse-04"].evidence


def test_the_better_of_two_printed_rows_stands_beside_ours_on_every_set() -> None:
    spec = claims.specifications()["cse-06"]
    book = book_of("CSE", "PP", names=tuple(spec.operands["where"]))
    found = claims.judged(spec, Evidence("cse", "table2", book, 200))
    assert found.ours is not None and found.ours.of == 19
    assert all(part.printed is not None for part in found.parts)


def test_a_claim_whose_number_is_missing_is_not_run_and_says_which() -> None:
    found = claims.judge(Evidence("cse", "table5", book_of("1-gram", "2-gram", "3-gram"), 200))
    missed = {claim.id: claim for claim in found}
    assert {claim.verdict for claim in found} == {"not run"}
    assert missed["cse-18"].evidence == "needs 4-gram on total_avg"
    (first, *_) = claims.judge(Evidence("cse", "ambiguities", book_of("clean", "tanh", names=("x",)), 200))
    assert first.evidence == "needs mean pooling on STS2013/FNWN"


def test_the_interval_of_a_claim_about_models_is_over_seeds_too() -> None:
    book = book_of("CSE", "PP")
    items = book.difference("CSE", "PP", "total_avg", resamples=200, resample_seeds=False)
    about = {level: Evidence("cse", "table1", book, 200, about=level) for level in ("models", "encoders")}
    found = {level: held.difference("CSE", "PP", "total_avg", "pearson") for level, held in about.items()}
    assert found["encoders"] == items
    half = seed_spread(book.values("CSE", "total_avg"), book.values("PP", "total_avg"))
    assert found["models"].estimate == items.estimate and found["models"].kind == "paired bootstrap, t over seeds"
    assert items.estimate - found["models"].low == pytest.approx(np.hypot(items.estimate - items.low, half))
    assert found["models"].high - items.estimate == pytest.approx(np.hypot(items.high - items.estimate, half))
    assert about["models"].at_level(found["models"]) == found["models"]  # never widened twice


# -- what else a verdict needs -----------------------------------------------------------------------------------------


def run_of(*searches: Search, **extra: Any) -> Run:
    made = Provenance(
        git_commit="c", config={"encoder": {"filters": 200}}, config_hash="h", python="3", device="cpu", started="s",
        wall_seconds=1, peak_memory_bytes=1, seeds=[1], data={"eval/coco/x": "d"},
    )  # fmt: skip
    return Run(paper="cse", experiment="table1", profile="small", provenance=made, searches=list(searches), extra=extra)


def judged_with(*searches: Search, seeds: tuple[int, ...] = (1, 2, 3)) -> Claim:
    evidence = Evidence("cse", "table1", book_of("CSE", "PP", seeds=seeds), 200, run=run_of(*searches))
    return claims.judged(claims.specifications()["cse-02"], evidence)


def searched(method: str, **changes: Any) -> Search:
    grid = {"rate": [1e-4, 1e-3, 1e-2]}
    return Search.model_validate({"method": method, "grid": grid, "chosen": {"rate": 1e-3}, "trainings": 3} | changes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"last_quarter_gain": 1e-4}, ""),
        ({"trainings": 2}, "PP was searched less than CSE"),
        ({"at_edge": ["rate"]}, "PP took the edge of its grid in rate"),
        ({"last_quarter_gain": 0.5}, "PP was still rising, by 50.0 points in its last quarter of training"),
    ],
)
def test_a_verdict_against_an_under_tuned_side_is_inconclusive_and_names_it(change: dict[str, Any], said: str) -> None:
    found = judged_with(searched("CSE"), searched("PP", **change))
    bounded = "inconclusive", ["by its numbers alone reproduced", said]
    assert (found.verdict, found.notes) == (bounded if said else ("reproduced", []))
    # An under-tuned side that is ahead could only be further ahead.
    ahead = judged_with(searched("CSE", **change), searched("PP"))
    assert ahead.verdict == "reproduced" and ahead.notes[1:] == ([STANDS] if said else [])


@pytest.mark.parametrize(
    ("doubted", "on", "at_least", "verdict"),
    [
        ("PP", "won", "3 of 4", "inconclusive"),
        ("PP", "won", "2 of 4", "reproduced"),
        ("CSE", "won", "3 of 4", "reproduced"),
        ("PP", "lost", "3 of 4", "reproduced"),
        ("CSE", "lost", "3 of 4", "reproduced"),
        ("CSE", "lost", "4 of 4", "inconclusive"),
    ],
)
def test_a_count_stands_where_no_under_tuned_side_could_turn_it(
    doubted: str, on: str, at_least: str, verdict: str
) -> None:
    ahead = {"won": 0.1, "two": 0.1, "three": 0.1, "lost": -0.1}
    values = {("CSE", name): 0.5 + by for name, by in ahead.items()} | {("PP", name): 0.5 for name in ahead}
    common: dict[str, Any] = {"metric": "pearson", "protocol": "cosine", "n": 9}
    metrics = [
        Metric(method=method, dataset=name, seed=seed, value=value, **common)
        for (method, name), value in values.items()
        for seed in (1, 2)
    ]
    searches = [searched(method, dataset=name) for method, name in values]
    searches.append(searched(doubted, dataset=on, at_edge=["rate"]))
    tests = [made(by - 0.01, by + 0.01, dataset=name) for name, by in ahead.items()]
    entry = {"id": "cse-99", "in": "table1", "source": "here", "text": "Wins", "wins": ["CSE", "PP"]}
    entry |= {"where": list(ahead), "at_least": at_least}
    spec = claims.parse_claims(yaml.safe_dump({"claims": [entry]}), "cse")["cse-99"]
    run = run_of(*searches).model_copy(update={"metrics": metrics, "tests": tests})
    assert claims.judged(spec, Evidence.of(run)).verdict == verdict


def test_a_search_that_is_not_recorded_is_said_and_one_training_is_not_enough() -> None:
    said = ["no search of the settings of CSE, PP is recorded"]
    given = [searched("CSE", grid={}), searched("PP", grid={})]
    assert all((judged_with(*held).verdict, judged_with(*held).notes) == ("reproduced", said) for held in ([], given))
    against = verdicts.beats(made(-0.2, -0.1))
    sides = Evidence("cse", "table1", None, run=run_of(), asked={("CSE", "x"): 3, ("PP", "x"): 3})
    assert limited(against, sides)[0].verdict == "inconclusive"
    as_is = Evidence("cse", "table1", None, run=run_of(searched("PP")), asked=sides.asked, untuned=["CS"])
    assert limited(against, as_is)[0].verdict == "not reproduced"  # of CSE there was nothing to choose
    found = judged_with(searched("CSE"), searched("PP"), seeds=(1,))
    assert found.verdict == "inconclusive"
    assert found.notes == [f"{BUT_FOR}reproduced", "one training of CSE, PP, where a claim about models needs several"]


def test_encoders_of_one_training_decide_nothing_against_a_claim() -> None:
    for seeds, verdict in (([1], "inconclusive"), ([1, 2], "not reproduced")):
        run = run_of()
        run = run.model_copy(update={"provenance": run.provenance.model_copy(update={"seeds": seeds})})
        given = Evidence("cse", "table1", None, run=run, about="encoders")
        assert limited(verdicts.beats(made(-0.2, -0.1)), given)[0].verdict == verdict
        assert limited(verdicts.beats(made(0.1, 0.2)), given) == (verdicts.beats(made(0.1, 0.2)), [])


@pytest.mark.parametrize(
    ("searches", "notes"),
    [
        (["E [NT]", "E [NT] row1", "F"], []),  # a row that is named as its setting
        (["E [NT] row1", "E [NT] row2", "F"], [f"{BUT_FOR}not reproduced", "F was searched less than E [NT] on x"]),
    ],
)
def test_a_setting_without_a_search_of_its_own_has_those_of_its_rows(searches: list[str], notes: list[str]) -> None:
    setting, other = ("E [NT]", "x"), ("F", "x")
    run = run_of(*map(searched, searches))
    sides = Evidence("cse", "table1", None, run=run, asked={setting: 3, other: 3}, pairs=[(setting, other)])
    assert limited(verdicts.beats(made(-0.2, -0.1)), sides)[1] == notes


@pytest.mark.parametrize(
    ("scale", "lacks"),
    [
        ({"examples": 10}, "9 training examples"),
        ({"examples": 9}, ""),
        ({"settings": {"encoder.filters": 800}}, "encoder.filters of 200"),
        ({"settings": {"encoder.filters": 200}}, ""),
        ({"files": ["eval/flickr"]}, "no eval/flickr"),
        ({"files": ["eval/coco"]}, ""),
    ],
)
def test_what_a_smaller_run_does_not_show_is_out_of_scale(scale: dict[str, Any], lacks: str) -> None:
    evidence = Evidence("cse", "table1", None, run=run_of(artifacts=[{"pairs": 9}]))
    yes, no = (verdicts.beats(made(*ends)) for ends in ((0.1, 0.2), (-0.2, -0.1)))
    found, notes = limited(no, evidence, Scale(**scale, says="more"))
    assert found.verdict == ("out of scale" if lacks else "not reproduced")
    assert notes == ([f"the claim is about more; this run has {lacks}"] if lacks else [])
    assert limited(yes, evidence, Scale(**scale, says="more"))[0].verdict == "reproduced"
