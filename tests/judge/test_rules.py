"""Rules on numbers, claims as data, and what else a verdict needs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import AND_SEEDS, Predictions, sts_predictions
from sentbook.evaluation.protocols import COSINE_PEARSON
from sentbook.evaluation.statistics import seed_spread
from sentbook.io import ConfigError, root
from sentbook.judge import Entry, claims, judge, judged, measured, printed
from sentbook.judge.claims import parse
from sentbook.judge.evidence import Evidence
from sentbook.records import Provenance, Run, Search

# Six decimals: a width that only a denormal number has is lost where a bound is taken off.
PLACES = st.integers(-900_000, 900_000).map(lambda one: one / 1e6)
ENDS = st.tuples(PLACES, PLACES).map(sorted)
SAME = "The verdict is the same with these as good as may be."


def run_of(
    *searches: Search, findings: dict[str, Any] | None = None, seeds: tuple[int, ...] = (1, 2), **rows: Any
) -> Run:
    made = Provenance(
        git_commit="c", config={"encoder": {"filters": 200}}, config_hash="h", python="3", device="cpu", started="s",
        wall_seconds=1, peak_memory_bytes=1, seeds=list(seeds), data={"eval/coco/x": "d"},
    )  # fmt: skip
    place = {"paper": "cse", "experiment": "table1", "profile": "small", "provenance": made}
    return Run(**place, searches=list(searches), findings=findings or {}, **rows)


def made(low: float, high: float, **changes: Any) -> dict[str, Any]:
    row = {"kind": "paired bootstrap", "a": "CSE", "b": "PP", "dataset": "total_avg", "metric": "pearson"}
    return {**row, "estimate": (low + high) / 2, "low": low, "high": high, **changes}


def rows(values: dict[str, float], *seeds: int | None, **place: Any) -> list[dict[str, Any]]:
    """Give each method a row of each seed, 1 and 2 where none is named, with its value."""
    common = {"dataset": "total_avg", "metric": "pearson", "protocol": "p", "n": 9, **place}
    named = seeds or (1, 2)
    return [{"method": name, "seed": seed, "value": one, **common} for name, one in values.items() for seed in named]


def around(low: float, high: float) -> dict[str, float]:
    return {"estimate": (low + high) / 2, "low": low, "high": high}


def claim(rule: str, of: Any, run: Run, book: Predictions | None = None, **operands: Any) -> Entry:
    """Judge one claim of ``claims.yaml`` on a run."""
    entry = {"id": "cse-99", "in": "table1", "source": "here", "text": "A claim", "rule": rule, "of": of, **operands}
    return judged(parse(yaml.safe_dump({"claims": [entry]}), "cse")[0], run, book)


def verdict(rule: str, finding: Any, **operands: Any) -> str:
    return claim(rule, {"finding": "it"}, run_of(findings={"it": finding}), **operands).verdict


@given(ENDS, st.floats(-0.9, 0.9))
def test_a_side_of_a_bound(ends: list[float], goal: float) -> None:
    """``beats`` and ``above`` say on which side an interval lies; with lower better, the mirrored one has the same."""
    low, high = ends
    decided = low < high
    above = "reproduced" if decided and low > goal else "not reproduced" if decided and high < goal else "inconclusive"
    assert verdict("above", around(low, high), than=goal) == above
    assert verdict("above", around(-high, -low), than=-goal, worse=True) == above
    assert verdict("above", around(-high, -low), than=-goal, unit="mse") == above
    beats = "reproduced" if decided and low > 0 else "not reproduced" if decided and high < 0 else "inconclusive"
    assert verdict("beats", made(low, high)) == beats
    assert verdict("beats", made(-high, -low, metric="mse")) == beats


# The paper prints .685 for CSE and .677 for PP; in its table 3 errors of .2532 and .3224.
CORRELATIONS = ("table1", "CSE", "PP", {"dataset": "total_avg", "metric": "pearson"})
ERRORS = ("table3", "Dependency Tree-LSTM", "Meaning Factory", {"dataset": "SICK2014-test", "metric": "mse"})


@pytest.mark.parametrize(
    ("printed_in", "low", "high", "found"),
    [
        (CORRELATIONS, -0.01, 0.004, "not reproduced"),
        (CORRELATIONS, -0.01, 0.007, "inconclusive"),
        (CORRELATIONS, 0.001, 0.002, "reproduced"),
        (CORRELATIONS, 0.0, 0.0, "inconclusive"),  # no interval
        (ERRORS, -0.02, 0.04, "not reproduced"),  # errors count downwards
        (ERRORS, -0.08, 0.04, "inconclusive"),
    ],
)
def test_a_printed_difference_that_an_undecided_interval_excludes_is_not_reproduced(
    printed_in: tuple[str, str, str, dict[str, str]], low: float, high: float, found: str
) -> None:
    """With a spread of its own; a printed difference on B's side claims nothing."""
    table, a, b, place = printed_in
    run = run_of(metrics=rows({a: 0.5, b: 0.5}, 1, **place), tests=[made(low, high, a=a, b=b, **place)])
    run = run.model_copy(update={"experiment": table})
    of = {"where": place["dataset"], "metric": place["metric"], "about": "encoders"}
    assert claim("beats", [a, b], run, **of).verdict == found
    assert claim("beats", [b, a], run, **of).verdict != "reproduced"


@given(ENDS, st.floats(0.01, 0.9))
def test_a_printed_value_is_held_exceeded_or_missed(ends: list[float], value: float) -> None:
    """An interval as wide as the difference that the paper makes, here to 0, holds no value that counts."""
    low, high = ends
    side = "exceeded" if low > value else "not reproduced" if high < value else "reproduced"
    wide = side == "reproduced" and (high - value) - (low - value) >= value
    wanted = side if low < high and not wide else "inconclusive"
    assert verdict("scores", around(low, high), printed=value) == wanted
    assert verdict("scores", around(-high, -low), printed=-value, unit="mse") == wanted


def test_a_held_value_needs_an_interval_narrower_than_the_difference_to_the_next_best() -> None:
    """The paper's 74.4 on STS 2016 is 2.6 above ATT-CCG."""
    for half, found in ((0.012, "reproduced"), (0.014, "inconclusive")):
        ends = made(0.74 - half, 0.74 + half, b="", dataset="STS2016/avg")
        run = run_of(metrics=rows({"CSE": 0.74}, dataset="STS2016/avg"), tests=[ends])
        of = {"where": "STS2016/avg", "table": "table2"}
        assert claim("scores", "CSE", run, **of).verdict == found
        assert claim("scores", "CSE", run, than=0.74, **of).verdict == "inconclusive"


@given(ENDS, st.floats(-0.5, 0.5).filter(lambda margin: abs(margin) > 0.01))
def test_no_difference_takes_an_interval_within_the_margin(ends: list[float], margin: float) -> None:
    """Low power is never evidence of no difference; the sign of a margin, which may be a printed gap, says nothing."""
    low, high = ends
    found, size = verdict("equivalent", made(low, high), margin=margin), abs(margin)
    assert (found == "reproduced") == (low < high and -size < low and high < size)
    assert (found == "not reproduced") == (low < high and (low > size or high < -size))
    assert found == verdict("equivalent", made(-high, -low), margin=margin)


@given(
    st.floats(0.7, 0.9),
    st.integers(0, 50).map(lambda one: one / 1000),
    st.integers(1, 7),
    st.sampled_from(["pearson", "mse"]),
)
@example(0.9, 0.0, 1, "pearson")
def test_a_rank_is_that_of_both_ends(value: float, half: float, rank: int, metric: str) -> None:
    among = ["ECNU", "The Meaning Factory", "UNAL-NLP", "Illinois-LH", "CECL", "SemantiKLUE"]
    place = {"dataset": "SICK2014-test", "metric": metric}
    interval = made(value - half, value + half, a="ours", b="", **place)
    run = run_of(metrics=rows({"ours": value}, None, **place), findings={"measured": [interval]}).model_copy(
        update={"paper": "wsv", "experiment": "figure5"}
    )
    operands = {"printed": rank, "than": {"printed": among}, "where": "SICK2014-test", "metric": metric}
    entry = claim("ranks", "ours", run, **operands)
    found = entry.found.ours
    others = [printed.value("wsv", "figure5", name, "SICK2014-test", metric) for name in among]
    ends = (value - half, value + half) if metric == "mse" else (value + half, value - half)
    first, last = (1 + sum(one < end if metric == "mse" else one > end for one in others) for end in ends)
    assert found is not None
    assert (found.low, found.high) == (first, last)
    exceeded, missed = last < rank, first > rank
    held = "reproduced" if first == last else "inconclusive"
    decided = "exceeded" if exceeded else "not reproduced" if missed else held
    assert entry.verdict == (decided if half else "inconclusive")  # without an interval


WINS = [
    ([(0.1, 0.2), (-0.1, 0.2), (-0.1, 0.2)], 3, "reproduced"),
    ([(0.1, 0.2), (-0.2, -0.1), (-0.1, 0.2)], 2, "inconclusive"),  # one significant win, one loss
    ([(-0.1, 0.2), (-0.1, 0.2), (-0.2, 0.1)], 2, "inconclusive"),  # no interval decides
    ([(-0.2, -0.1), (-0.1, 0.2), (-0.1, 0.2)], 2, "inconclusive"),  # one loss outnumbers none by luck
    ([(-0.2, -0.1)] * 5 + [(0.1, 0.2)] * 4, 4, "inconclusive"),
    ([(-0.2, -0.1)] * 5 + [(-0.1, 0.2)] * 4, 4, "not reproduced"),  # five outnumber none
    ([(0.1, 0.2), (-0.2, 0.1), (-0.2, 0.1)], 2, "inconclusive"),  # too few wins, but not beyond doubt
    ([(0.1, 0.2), (-0.2, -0.1), (-0.2, 0.1)], 3, "not reproduced"),  # the loss alone leaves two
]


@pytest.mark.parametrize(("ends", "at_least", "found"), WINS)
def test_wins(ends: list[tuple[float, float]], at_least: int, found: str) -> None:
    tests = [made(*one) for one in ends]
    assert verdict("wins", tests, at_least=f"{at_least} of {len(ends)}") == found


def test_wins_counts_ties_where_the_paper_does() -> None:
    tests = [made(0.1, 0.2), made(-0.01, 0.009, estimate=-0.001), made(-0.01, 0.006, estimate=-0.002)]
    assert verdict("wins", tests, at_least="2 of 3") == "inconclusive"
    assert verdict("wins", tests, at_least="2 of 3", tie=0.002) == "reproduced"
    assert verdict("wins", tests, at_least="3 of 3", tie=0.002) == "inconclusive"  # .002 itself is no tie
    assert verdict("wins", tests, at_least="most", tie=0.002) == "reproduced"


@pytest.mark.parametrize(
    ("bounds", "held"), [({"at_most": 1}, "0 1"), ({"at_least": 1}, "1 2"), ({"at_least": 1, "at_most": 1}, "1")]
)
def test_an_exact_number_is_what_the_claim_says_or_not(bounds: dict[str, float], held: str) -> None:
    for value in (0, 1, 2):
        wanted = "reproduced" if str(value) in held else "not reproduced"
        assert verdict("identity", value, what="a count", **bounds) == wanted


@pytest.mark.parametrize(
    ("names", "found"),
    [(("yes", "no"), "inconclusive"), (("no", "no"), "not reproduced"), (("yes", "maybe"), "inconclusive")],
)
def test_readings_of_open_words_decide_only_together(names: tuple[str, ...], found: str) -> None:
    run = run_of(findings={"yes": made(0.1, 0.2), "no": made(-0.2, -0.1), "maybe": made(-0.1, 0.2)})
    parts = [{"rule": "beats", "of": {"finding": name}} for name in names]
    assert claim("all", None, run, parts=parts, readings=True).verdict == found


def test_all_parts_have_the_worst_verdict() -> None:
    parts = {"yes": made(0.1, 0.2), "no": made(-0.2, -0.1), "maybe": made(-0.1, 0.2), "more": around(0.3, 0.4)}
    run = run_of(findings=parts)

    def of(*names: str) -> str:
        beats = [{"rule": "beats", "of": {"finding": name}} for name in names if name != "more"]
        scores = [{"rule": "scores", "of": {"finding": "more"}, "printed": 0.2}] if "more" in names else []
        return claim("all", None, run, parts=beats + scores).verdict

    assert [of("yes", "yes"), of("yes", "more"), of("yes", "maybe"), of("maybe", "no", "more")] == [
        "reproduced", "exceeded", "inconclusive", "not reproduced",
    ]  # fmt: skip
    assert of("yes", "none") == "not run"


def test_claims_are_well_formed() -> None:
    found = list(claims().values())
    for paper in dict.fromkeys(claim.paper for claim in found):
        text = (root() / "lib/sentbook/papers" / paper / "claims.yaml").read_text(encoding="utf-8")
        ids = re.findall(r"(?m)^  - \{id: ([^,]+)", text)
        assert ids == sorted(set(ids)) == [claim.id for claim in found if claim.paper == paper]
    for claim in found:
        assert len(claim.text.split()) <= 40 and bool(claim.rule) != bool(claim.absent), claim.id
        assert (claim.rule == "all") == bool(claim.parts) and all(one.rule for one in claim.parts), claim.id
        assert re.search(r"section|table|abstract|not of the paper", claim.source), claim.id


def test_a_contradiction_is_in_the_papers_own_numbers_or_words() -> None:
    assert {claim.id for claim in claims().values() if claim.contradicts} == {"wsv-15", "wsv-27", "dnt-09"}
    value = printed.value
    ours = value("wsv", "table2", "WSV-SCNN-SV d=200 L=1", "SICK2014-test")
    assert ours < value("wsv", "figure5", "Illinois-LH", "SICK2014-test")
    assert value("dnt", "table4", "InferSent [FT] KL", "SAG") - value("dnt", "table4", "InferSent [UE]", "SAG") < 0.529


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {id: a, in: t, source: s, text: t, rule: beat, of: [A, B]}", "beats"),
        ("- {id: a, in: t, source: s, text: t, rule: beats, of: [A, B], were: x}", "were"),
        ("", "mend that entry"),
    ],
)
def test_a_mistake_in_the_claims_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(f"claims:\n{text}", "cse")


def book_of(*methods: str, seeds: tuple[int, ...] = (1, 2, 3)) -> Predictions:
    """The first method knows gold best, the last least."""
    rng = np.random.default_rng(1)
    names = ("STS2012/a", "STS2013/FNWN")
    sets = [ScoredPairs(name, [""] * 60, [""] * 60, rng.integers(0, 26, 60) / 5, (0, 5)) for name in names]
    book = sts_predictions(sets)
    for noise, method in enumerate(methods, start=1):
        for pairs in sets:
            for seed in seeds:
                book.add(method, seed, pairs.name, pairs.gold / 5 + 0.3 * noise * rng.normal(size=60))
    return book


def test_verdicts_follow_the_scores_per_item() -> None:
    book = book_of("CSE", "PP")
    run = run_of(searched("CSE"), searched("PP"), metrics=book.metric_rows(COSINE_PEARSON))
    run.findings["measured"] = [test.model_dump() for test in measured(run, book.stored())]
    found = {one.id: one for one in judge("cse/table1", run)}
    assert list(found) == [claim.id for claim in claims().values() if claim.page == "cse/table1"]
    assert found["cse-01"].verdict == "not run"  # of its 20 data sets there are two
    assert found["cse-02"].rule == "beats" and found["cse-02"].verdict == "reproduced"
    assert found["cse-03"].verdict == "not reproduced"  # here CSE is better on FNWN
    alone = run.model_copy(update={"findings": {}})
    assert {one.verdict for one in judge("cse/table1", alone)} == {"not run"}  # rows without a test or scores
    toy = run.model_copy(update={"provenance": run.provenance.model_copy(update={"config": {"profile": "demo"}})})
    toys = judge("cse/table1", toy)
    assert {one.found.evidence for one in toys} == {"a run on toy data carries no verdict"}


def test_the_interval_of_a_claim_about_models_is_over_seeds_too() -> None:
    book = book_of("CSE", "PP")
    items = book.difference("CSE", "PP", "total_avg", resamples=2000, resample_seeds=False)
    run = run_of(metrics=book.metric_rows(COSINE_PEARSON), tests=[items])
    half = seed_spread(*(list(book.values(method, "total_avg").values()) for method in ("CSE", "PP")))
    for scores in (book, None):  # from scores per item, and from the recorded test
        of_items, of_models = (
            claim("beats", ["CSE", "PP"], run, scores, where="total_avg", about=about).found.ours
            for about in ("encoders", "models")
        )
        assert of_items is not None and (of_items.low, of_items.high) == (items.low, items.high)
        assert of_models is not None and of_models.how == f"paired bootstrap{AND_SEEDS}"
        assert of_models.value - of_models.low == pytest.approx(np.hypot(items.estimate - items.low, half))
    twice = run.model_copy(update={"tests": [book.difference("CSE", "PP", "total_avg")]})
    again = claim("beats", ["CSE", "PP"], twice, where="total_avg").found.ours
    assert again is not None and again.low == twice.tests[0].low  # never widened twice


def judged_with(*searches: Search, seeds: tuple[int, ...] = (1, 2, 3)) -> Entry:
    book = book_of("CSE", "PP", seeds=seeds)
    run = run_of(*searches, metrics=book.metric_rows(COSINE_PEARSON))
    return claim("beats", ["CSE", "PP"], run, book, where="total_avg")


def searched(method: str, **changes: Any) -> Search:
    grid = {"rate": [1e-4, 1e-3, 1e-2]}
    return Search.model_validate({"method": method, "grid": grid, "chosen": {"rate": 1e-3}, "trainings": 10} | changes)


@pytest.mark.parametrize(
    ("doubted", "said"),
    [
        ([{}], ""),
        ([{"last_quarter_gain": 1e-4}], ""),
        ([{"trainings": 8}], ""),
        ([{"trainings": 7}], "PP was searched less than CSE."),
        ([{}, {"trainings": 2}], ""),  # stages: the largest search counts, and the largest gain
        ([{}, {"last_quarter_gain": 0.5}], "PP still gained 50.0 points in its last quarter of training."),
        ([{"at_edge": ["rate"]}], "PP took the edge of its grid in rate."),
    ],
)
def test_a_verdict_against_an_under_tuned_side_is_inconclusive_and_names_it(doubted: list[Any], said: str) -> None:
    found = judged_with(searched("CSE"), *(searched("PP", **one) for one in doubted))
    bounded = "inconclusive", ["By its numbers alone: reproduced.", said]
    assert (found.verdict, found.notes) == (bounded if said else ("reproduced", []))
    # An under-tuned side that is ahead could only be further ahead.
    ahead = judged_with(*(searched("CSE", **one) for one in doubted), searched("PP"))
    assert ahead.verdict == "reproduced" and ahead.notes[1:] == ([SAME] if said else [])


@pytest.mark.parametrize(
    ("doubted", "on", "at_least", "found"),
    [
        ("PP", "won", "3 of 4", "inconclusive"),
        ("PP", "won", "2 of 4", "reproduced"),
        ("CSE", "won", "3 of 4", "reproduced"),
        ("PP", "lost", "3 of 4", "reproduced"),
        ("CSE", "lost", "3 of 4", "reproduced"),
        ("CSE", "lost", "4 of 4", "inconclusive"),
    ],
)
def test_a_count_stays_where_no_under_tuned_side_could_turn_it(
    doubted: str, on: str, at_least: str, found: str
) -> None:
    ahead = {"won": 0.1, "two": 0.1, "three": 0.1, "lost": -0.1}
    metrics = [row for name, by in ahead.items() for row in rows({"CSE": 0.5 + by, "PP": 0.5}, dataset=name)]
    searches = [searched(method, dataset=name) for method in ("CSE", "PP") for name in ahead]
    searches.append(searched(doubted, dataset=on, at_edge=["rate"]))
    tests = [made(by - 0.01, by + 0.01, dataset=name) for name, by in ahead.items()]
    run = run_of(*searches, metrics=metrics, tests=tests)
    assert claim("wins", ["CSE", "PP"], run, where=list(ahead), at_least=at_least).verdict == found


def test_a_search_that_is_not_recorded_is_said_and_one_training_is_not_enough() -> None:
    given = [searched("CSE", grid={}), searched("PP", grid={})]
    assert all((judged_with(*held).verdict, judged_with(*held).notes) == ("reproduced", []) for held in ([], given))
    book = book_of("CSE", "PP")
    run = run_of(metrics=book.metric_rows(COSINE_PEARSON))
    against = claim("beats", ["PP", "CSE"], run, book, where="total_avg")
    said = ["By its numbers alone: not reproduced.", "No search of the settings of CSE, PP is recorded."]
    assert (against.verdict, against.notes) == ("inconclusive", said)
    of_one = run.model_copy(update={"searches": [searched("PP")]})
    untuned = claim("beats", ["PP", "CSE"], of_one, book, where="total_avg", untuned=["CS"])
    assert untuned.verdict == "not reproduced"  # of CSE nothing was to choose
    found = judged_with(searched("CSE"), searched("PP"), seeds=(1,))
    alone = "One training of CSE, PP, where a claim about models needs several."
    assert (found.verdict, found.notes) == ("inconclusive", ["By its numbers alone: reproduced.", alone])


def test_encoders_of_one_training_decide_nothing_against_a_claim() -> None:
    for seeds, against in (((1,), "inconclusive"), ((1, 2), "not reproduced")):
        run = run_of(findings={"no": made(-0.2, -0.1), "yes": made(0.1, 0.2)}, seeds=seeds)
        assert claim("beats", {"finding": "no"}, run, about="encoders").verdict == against
        assert claim("beats", {"finding": "yes"}, run, about="encoders").verdict == "reproduced"


@pytest.mark.parametrize(
    ("size", "ours"),
    [
        ({"paper": 91, "run": "examples"}, "9 of the paper's 91"),
        ({"paper": 90, "run": "examples"}, ""),
        ({"paper": 4096, "run": "encoder.filters"}, "200 of the paper's 4,096"),
        ({"paper": 800, "run": "encoder.filters"}, ""),
        ({"paper": 71, "run": "words"}, "7 of the paper's 71"),
    ],
)
def test_less_than_a_tenth_is_out_of_scale_whatever_the_numbers_say(size: dict[str, Any], ours: str) -> None:
    findings = {"no": made(-0.2, -0.1), "yes": made(0.1, 0.2), "words": 7}
    run = run_of(findings=findings, extra={"artifacts": [{"pairs": 9}, {"pairs": 8}]})
    for finding, alone in (("no", "not reproduced"), ("yes", "reproduced")):
        found = claim("beats", {"finding": finding}, run, scale=[{**size, "says": "pairs"}])
        assert found.verdict == ("out of scale" if ours else alone)
        lacking = [f"It is about more than the run has: {ours} pairs.", f"By its numbers alone: {alone}."]
        assert found.notes == (lacking if ours else [])


def test_an_under_tuned_side_could_have_a_smaller_error() -> None:
    values, place = {"CSE": 0.4, "PP": 0.5}, {"dataset": "SICK2014-test", "metric": "mse"}
    for doubted, found in (("PP", "inconclusive"), ("CSE", "reproduced")):
        searches = [searched(name, at_edge=["rate"] if name == doubted else []) for name in values]
        run = run_of(*searches, metrics=rows(values, **place), tests=[made(-0.12, -0.08, **place)])
        assert claim("beats", ["CSE", "PP"], run, where="SICK2014-test", metric="mse").verdict == found


def test_a_count_of_other_rows_is_as_large_a_part() -> None:
    tests = [made(0.1, 0.2), *[made(-0.2, 0.1)] * 2]
    assert verdict("wins", tests, at_least="1 of 2") == "inconclusive"  # 1.5 of 3 are 2
    assert verdict("wins", [made(0.1, 0.2), *tests], at_least="most") == "inconclusive"  # 2 of 4
    assert verdict("wins", [*[made(0.1, 0.2)] * 2, *tests], at_least="most") == "reproduced"


def test_of_a_mean_the_seeds_of_all_its_sets_count() -> None:
    sets = (("MR", 1, 0.5), ("MR", 2, 0.7), ("CR", 1, 0.6))
    metrics = [row for name, seed, one in sets for row in rows({"CSE": one}, seed, dataset=name, metric="accuracy")]
    found = Evidence(run_of(metrics=metrics)).seeds("CSE", "mean of MR, CR", "accuracy")
    assert found == {1: pytest.approx(0.55)}  # seed 2 has no CR


def test_the_interval_of_a_pair_is_the_bootstraps_and_no_runs_are_added_twice() -> None:
    metrics = [row for seed in (1, 2) for row in rows(dict.fromkeys(("CSE", "PP"), 0.5 + seed / 100), seed)]
    tests = [made(0.1, 0.1, kind="williams", p=0.01), made(0.1, 0.2, kind="t over runs")]
    found = claim("beats", ["CSE", "PP"], run_of(metrics=metrics, tests=tests), where="total_avg").found.ours
    assert found is not None and (found.low, found.high) == (0.1, 0.2)


@pytest.mark.parametrize(
    "unit",
    ["loss", "seconds", "milliseconds", "peak_mebibytes", "perplexity per word", "median_rank", "search_MedR", "mae"],
)
def test_of_errors_time_and_ranks_less_is_better(unit: str) -> None:
    assert verdict("above", around(1, 2), than=3, unit=unit) == "reproduced"
    assert verdict("scores", around(1, 2), printed=3, unit=unit) == "exceeded"


def test_a_gain_is_held_against_intervals_of_correlations() -> None:
    """Not against that of a squared error, which is on another scale."""
    place, both = "SICK2014-test", ["pearson", "mse"]
    metrics = [row for metric in both for row in rows({"CSE": 0.5, "PP": 0.5}, dataset=place, metric=metric)]
    tests = [made(0.1, 0.3, dataset=place), made(-0.101, -0.1, dataset=place, metric="mse")]
    run = run_of(searched("CSE"), searched("PP", last_quarter_gain=0.05), metrics=metrics, tests=tests)
    parts = [{"rule": "beats", "of": ["CSE", "PP"], "where": place, "metric": both}]
    assert claim("all", None, run, parts=parts).notes == []
