"""The numbers behind each claim of Jiao et al. 2018, gathered from an experiment's scores and handed to its rule.

On the mini-world, whose data sets are not the paper's, claims about named sets are "not run".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sentbook.evaluation.predictions import TOTAL, Predictions
from sentbook.evaluation.statistics import Estimate, bootstrap, from_bootstrap, resample_counts
from sentbook.records import Claim, Finding, Test
from sentbook.runs.printed import value as printed
from sentbook.runs.verdicts import BOUND, Judgement, above, all_of, beats, identity, judge, not_run, scores, wins
from sentbook.training.correlation import pearson

MINIWORLD = "needs the STS sets; this run is on the mini-world"
FNWN, SICK = "STS2013/FNWN", "SICK2014"
# A share of a vector's length below this is rounding in float32.
SAME = 1e-6
YEARS = ("STS2012/avg", "STS2013/avg", "STS2014/avg", "STS2015/avg")


def table1(book: Predictions, resamples: int) -> list[Claim]:
    """CSE against PP after phrase pairs."""
    each = [book.difference("CSE", "PP", name, resamples=resamples) for name in book.total]
    on_fnwn = (
        beats(book.difference("PP", "CSE", FNWN, resamples=resamples)) if FNWN in book.names else not_run(MINIWORLD)
    )
    return [
        judge("cse-01", wins(each, round(0.7 * len(each)), stated=len(each) == 20)),
        judge("cse-02", beats(book.difference("CSE", "PP", TOTAL, resamples=resamples))),
        judge("cse-03", on_fnwn),
        judge(
            "cse-04",
            not_run("no ablation moves the overestimation of dissimilar pairs alone; see table 6 for its size"),
        ),
    ]


def table2(book: Predictions, resamples: int) -> list[Claim]:
    """After sentence pairs, against the printed numbers of GRAN and ATT-CCG and against our PP."""
    against_pp = judge("cse-10", beats(book.difference("CSE", "PP", TOTAL, resamples=resamples)))
    if SICK not in book.names:
        return [*(judge(f"cse-0{number}", not_run(MINIWORLD)) for number in (6, 7, 8, 9)), against_pp]
    shared = [name for name in book.names if name.startswith("STS") and not name.startswith("STS2016")]
    each = [_over_printed(book, name, resamples) for name in shared]
    years = [*YEARS, "STS2016/avg"]

    def interval(row: str) -> Estimate:
        return book.interval("CSE", row, resamples=resamples)

    ours, theirs = interval(years[-1]), printed("cse", "table2", "ATT-CCG", years[-1])
    lead = Estimate(ours.estimate - theirs, ours.low - theirs, ours.high - theirs)
    return [
        judge("cse-06", wins(each, 10)),
        judge("cse-07", above(interval(SICK), printed("cse", "table2", "GRAN", SICK), "CSE on SICK")),
        judge("cse-08", scores(lead, 0.026, "CSE − ATT-CCG as printed, on STS 2016")),
        judge(
            "cse-09", all_of([scores(interval(year), printed("cse", "table2", "CSE", year), year) for year in years])
        ),
        against_pp,
    ]


def table3(book: Predictions, resamples: int) -> list[Claim]:
    """Supervised relatedness."""
    row = book.names[0]
    footnote = judge("cse-31", not_run("no encoder was trained with a squared or absolute error here"))
    universal = [
        judge("cse-12", beats(book.difference("CSE_universal", "CSE_random", row, resamples=resamples))),
        judge("cse-14", beats(book.difference("CSE_universal", "PP_universal", row, resamples=resamples))),
    ]
    if not row.startswith(SICK):
        return [*universal, *(judge(name, not_run(MINIWORLD)) for name in ("cse-11", "cse-13")), footnote]
    best = {"pearson": 0.8686, "spearman": 0.8083, "mse": 0.2532}
    state_of_the_art = [
        above(
            book.interval("CSE_universal", row, metric, resamples),
            bound,
            metric,
            scale=1,
            lower_is_better=metric == "mse",
            unit=metric,
        )
        for metric, bound in best.items()
    ]
    random = book.interval("CSE_random", row, resamples=resamples)
    between = [
        above(random, 0.8491, "CSE_random against the Constituency Tree-LSTM", scale=1),
        above(random, best["pearson"], "and below the state of the art", scale=1, lower_is_better=True),
    ]
    return [judge("cse-11", all_of(between)), *universal, judge("cse-13", all_of(state_of_the_art)), footnote]


def table4(book: Predictions, resamples: int) -> list[Claim]:
    """Regimes, judged on the mean over all sets but the validation's."""
    easier = judge("cse-32", not_run("the paper gives no measure of how easy learning is; see cse-16 for its outcome"))
    pairs = {"cse-15": ("sentence", "phrase"), "cse-16": ("cumulative", "sentence"), "cse-17": ("cumulative", "phrase")}
    regimes = [
        judge(name, beats(book.difference(f"CSE_{a}", f"CSE_{b}", TOTAL, resamples=resamples)))
        for name, (a, b) in pairs.items()
    ]
    return [*regimes, easier]


def table5(book: Predictions, resamples: int) -> list[Claim]:
    """Widths, judged on the total average."""

    def better(a: str, b: str) -> Judgement:
        return beats(book.difference(a, b, TOTAL, resamples=resamples))

    return [
        judge("cse-18", all_of([better("1-gram", f"{width}-gram") for width in (2, 3, 4)])),
        judge("cse-19", all_of([better(f"{width}-gram", f"{width + 1}-gram") for width in (1, 2, 3)])),
        judge("cse-20", better("3-gram", "4-gram")),
        judge("cse-21", all_of([better("combined", f"{width}-gram") for width in (1, 2, 3, 4)])),
    ]


def table6(groups: pd.DataFrame, overestimation: Sequence[Test]) -> list[Claim]:
    """Errors by group with the fitted monotone map, since the paper's map fixes the level of every score.

    The overestimation of dissimilar pairs is judged by the paper's map, whose own part in it the evidence names: a
    fitted map draws every prediction towards the mean, and would overestimate low scores with any encoder.
    """
    fitted: dict[str, Any] = {row["group"]: row for row in groups.to_dict("records") if row["map"] == "isotonic"}
    named = {
        "cse-22": ("low overlap, close", "CSE"),
        "cse-23": ("high overlap, close", "PP"),
        "cse-24": ("high overlap, far", "CSE"),
        "cse-25": ("low overlap, far", "PP"),
    }
    claims = []
    for identifier, (group, winner) in named.items():
        row = fitted[group]
        low, high = float(row["difference low"]), float(row["difference high"])
        test = Test(
            kind="paired bootstrap",
            a="CSE",
            b="PP",
            dataset=f"{group} ({int(row['n'])} pairs, fitted map)",
            metric="mae",
            estimate=float(row["difference"]),
            low=low,
            high=high,
        )
        if winner == "PP":
            test = test.model_copy(
                update={"a": "PP", "b": "CSE", "estimate": -test.estimate, "low": -high, "high": -low}
            )
        claims.append(judge(identifier, beats(test, lower_is_better=True)))
    both = all_of([beats(test) for test in overestimation])
    return [*claims, judge("cse-26", both.said(f"{both[1]}; the map 2.5 (cos + 1) alone sends a cosine of 0 to 2.5"))]


def ambiguities(book: Predictions, moved: Mapping[str, float], apart: float, resamples: int) -> list[Claim]:
    """Choices that the text leaves open.

    Args:
        moved: `sentbook.papers.interior_permutation`.
        apart: `sentbook.papers.average_as_cse`.
    """
    length = (
        beats(book.difference("mean pooling", "clean", FNWN, resamples=resamples))
        if FNWN in book.names
        else not_run(MINIWORLD)
    )
    blind = moved["clean"] < SAME
    return [
        judge("cse-05", length),
        judge("cse-27", beats(book.difference("clean", "tanh", TOTAL, resamples=resamples))),
        judge("cse-28", beats(book.difference("clean", "mean pooling", TOTAL, resamples=resamples))),
        judge(
            "cse-29",
            Judgement(
                "not reproduced" if blind else "reproduced",
                "permuting a sentence's interior moves the linear encoder's vector by "
                f"{_at_most(moved['clean'])} of its length, "
                f"the tanh encoder's by {moved['tanh']:.1e}",
                ours=Finding(what="moved by a permutation", unit="distance", value=moved["clean"]),
                printed=Finding(what="to be above", unit="distance", value=SAME, how=BOUND),
            ),
        ),
        judge("cse-30", identity(apart, 1e-5, "PP and CSE of width 1 with identity filters, no bias, mean pooling")),
    ]


def _at_most(share: float) -> str:
    return f"at most {share:.1e}" if share else "0 (to float32 precision)"


def _over_printed(book: Predictions, name: str, resamples: int) -> Test:
    """CSE minus the better of GRAN and ATT-CCG as printed; the interval is that of our CSE over pairs."""
    bound = max(printed("cse", "table2", method, name) for method in ("GRAN", "ATT-CCG"))
    stacked, gold = book.stacked("CSE", name), book.gold(name)
    point = float(np.median([pearson(row, gold) for row in stacked]))
    counts = resample_counts(len(gold), resamples, [0, book.names.index(name)])
    found = from_bootstrap(point - bound, bootstrap("pearson", stacked, gold, counts) - bound)
    return Test(
        kind="against a printed value",
        a="CSE",
        b="the better of GRAN and ATT-CCG",
        dataset=name,
        metric="pearson",
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        p=found.p,
    )
