"""The numbers behind each claim of Jiao et al. 2018, gathered from an experiment's scores and handed to its rule.

On the mini-world, whose data sets are not the paper's, claims about named sets are "not run".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from sentbook.evaluation.correlation import pearson
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.scorebook import TOTAL, ScoreBook
from sentbook.evaluation.statistics import Estimate, bootstrap, from_bootstrap, resample_counts, seed_interval
from sentbook.reported import value as printed
from sentbook.results import Claim, Test
from sentbook.verdicts import Judgement, above, all_of, beats, judge, not_run, scores, wins

MINIWORLD = "needs the STS sets; this run is on the mini-world"
FNWN, SICK = "STS2013/FNWN", "SICK2014"
YEARS = ("STS2012/avg", "STS2013/avg", "STS2014/avg", "STS2015/avg")


def table1(book: ScoreBook, resamples: int) -> list[Claim]:
    """CSE against PP after phrase pairs."""
    each = [book.difference("CSE", "PP", name, resamples=resamples) for name in book.total]
    on_fnwn = beats(book.difference("PP", "CSE", FNWN, resamples=resamples)) if FNWN in book.names else not_run(MINIWORLD)
    return [
        judge("cse-01", wins(each, round(0.7 * len(each)))),
        judge("cse-02", beats(book.difference("CSE", "PP", TOTAL, resamples=resamples))),
        judge("cse-03", on_fnwn),
        judge("cse-04", not_run("no ablation moves the overestimation of dissimilar pairs alone; see table 6 for its size")),
    ]


def table2(book: ScoreBook, resamples: int) -> list[Claim]:
    """After sentence pairs, against the printed numbers of GRAN and ATT-CCG and against our PP."""
    against_pp = judge("cse-10", beats(book.difference("CSE", "PP", TOTAL, resamples=resamples)))
    if SICK not in book.names:
        return [*(judge(f"cse-0{number}", not_run(MINIWORLD)) for number in (6, 7, 8, 9)), against_pp]
    shared = [name for name in book.names if name.startswith("STS") and not name.startswith("STS2016")]
    each = [_over_printed(book, name, resamples) for name in shared]
    years = [*YEARS, "STS2016/avg"]
    return [
        judge("cse-06", wins(each, 10)),
        judge("cse-07", above(_interval(book, "CSE", SICK), printed("cse", "table2", "GRAN", SICK), "CSE on SICK")),
        judge("cse-08", above(_interval(book, "CSE", years[-1]), printed("cse", "table2", "ATT-CCG", years[-1]), "CSE on STS 2016")),
        judge(
            "cse-09",
            all_of([scores(_interval(book, "CSE", year), printed("cse", "table2", "CSE", year), year) for year in years]),
        ),
        against_pp,
    ]


def table3(book: ScoreBook, resamples: int) -> list[Claim]:
    """Supervised relatedness."""
    row = book.names[0]
    universal = [
        judge("cse-12", beats(book.difference("CSE_universal", "CSE_random", row, resamples=resamples))),
        judge("cse-14", beats(book.difference("CSE_universal", "PP_universal", row, resamples=resamples))),
    ]
    if not row.startswith(SICK):
        return [*universal, judge("cse-11", not_run(MINIWORLD)), judge("cse-13", not_run(MINIWORLD))]
    best = {"pearson": 0.8686, "spearman": 0.8083, "mse": 0.2532}
    state_of_the_art = [
        above(_interval(book, "CSE_universal", row, Measure(metric)), bound, metric, scale=1, lower_is_better=metric == "mse")
        for metric, bound in best.items()
    ]
    random = above(_interval(book, "CSE_random", row), 0.8491, "CSE_random", scale=1)
    return [judge("cse-11", random), *universal, judge("cse-13", all_of(state_of_the_art))]


def table4(book: ScoreBook, resamples: int) -> list[Claim]:
    """Regimes, judged on the mean over all sets but the validation's."""
    pairs = {"cse-15": ("sentence", "phrase"), "cse-16": ("cumulative", "sentence"), "cse-17": ("cumulative", "phrase")}
    return [
        judge(name, beats(book.difference(f"CSE_{a}", f"CSE_{b}", TOTAL, resamples=resamples))) for name, (a, b) in pairs.items()
    ]


def table5(book: ScoreBook, resamples: int) -> list[Claim]:
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
    fitted = groups[groups["map"] == "isotonic"].set_index("group")
    named = {
        "cse-22": ("low overlap, close", "CSE"),
        "cse-23": ("high overlap, close", "PP"),
        "cse-24": ("high overlap, far", "CSE"),
        "cse-25": ("low overlap, far", "PP"),
    }
    claims = []
    for identifier, (group, winner) in named.items():
        row = fitted.loc[group]
        low, high = float(row["difference low"]), float(row["difference high"])
        test = Test(
            kind="paired bootstrap", a="CSE", b="PP", dataset=f"{group} ({int(row['n'])} pairs, fitted map)", metric="mae",
            estimate=float(row["difference"]), low=low, high=high,
        )
        if winner == "PP":
            test = test.model_copy(update={"a": "PP", "b": "CSE", "estimate": -test.estimate, "low": -high, "high": -low})
        claims.append(judge(identifier, beats(test, lower_is_better=True)))
    verdict, evidence = all_of([beats(test) for test in overestimation])
    return [*claims, judge("cse-26", (verdict, f"{evidence}; the map 2.5 (cos + 1) alone sends a cosine of 0 to 2.5"))]


def ambiguities(book: ScoreBook, moved: Mapping[str, float], resamples: int) -> list[Claim]:
    """Choices that the text leaves open."""
    length = (
        beats(book.difference("mean pooling", "clean", FNWN, resamples=resamples)) if FNWN in book.names else not_run(MINIWORLD)
    )
    blind = moved["clean"] < 1e-6
    return [
        judge("cse-05", length),
        judge("cse-27", beats(book.difference("clean", "tanh", TOTAL, resamples=resamples))),
        judge("cse-28", beats(book.difference("clean", "mean pooling", TOTAL, resamples=resamples))),
        judge(
            "cse-29",
            (
                "not reproduced" if blind else "reproduced",
                f"permuting a sentence's interior moves the linear encoder's vector by at most {moved['clean']:.1e} of its length, "
                f"the tanh encoder's by {moved['tanh']:.2f}",
            ),
        ),
    ]


def _interval(book: ScoreBook, method: str, row: str, measure: Measure = Measure.PEARSON) -> Estimate:
    return seed_interval(book.values(method, row, measure))


def _over_printed(book: ScoreBook, name: str, resamples: int) -> Test:
    """CSE minus the better of GRAN and ATT-CCG as printed; the interval is that of our CSE over pairs."""
    bound = max(printed("cse", "table2", method, name) for method in ("GRAN", "ATT-CCG"))
    stacked, gold = book.stacked("CSE", name), book.gold(name)
    point = float(np.median([pearson(row, gold) for row in stacked]))
    counts = resample_counts(len(gold), resamples, [0, book.names.index(name)])
    found = from_bootstrap(point - bound, bootstrap("pearson", stacked, gold, counts) - bound)
    return Test(
        kind="against a printed value", a="CSE", b="the better of GRAN and ATT-CCG", dataset=name, metric="pearson",
        estimate=found.estimate, low=found.low, high=found.high, p=found.p,
    )
