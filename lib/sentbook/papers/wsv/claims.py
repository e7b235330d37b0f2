"""The numbers behind each claim of Yao et al. 2018.

On the mini-world, whose pairs are not the paper's, claims that name a printed value are "not run".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.statistics import Estimate, seed_interval
from sentbook.records import Claim, Cost, CurvePoint, Finding
from sentbook.runs.printed import table as printed_table
from sentbook.runs.printed import value as printed
from sentbook.runs.verdicts import (
    OVER_SEEDS,
    PRINTED,
    Judgement,
    above,
    all_of,
    beats,
    count,
    identity,
    judge,
    near,
    not_run,
    same,
    scores,
)

MINIWORLD = "needs SICK and MSRP; this run is on the mini-world"
SICK, MSRP = "SICK2014-test", "MSRP"
METRICS = ("pearson", "spearman", "mse")


def _row(dimension: int) -> str:
    return f"WSV-SCNN-SV d={dimension} L=1"


def _over(
    book: Predictions, method: str, name: str, metric: str, bound: float, resamples: int, *, below: bool = False
) -> Judgement:
    """``method`` against another system's printed value; ``below``: the claim is that it is worse."""
    value = book.interval(method, book.names[0], metric, resamples)
    return above(value, bound, f"{method}, {name}", scale=1, lower_is_better=(metric == "mse") != below, unit=metric)


def _reaches(book: Predictions, method: str, expected: Mapping[str, float], resamples: int) -> Judgement:
    """``method`` against the paper's own values."""
    return all_of(
        [
            scores(
                book.interval(method, book.names[0], metric, resamples),
                value,
                metric,
                scale=1,
                lower_is_better=metric == "mse",
                unit=metric,
            )
            for metric, value in expected.items()
        ]
    )


def figure5(book: Predictions, method: str, resamples: int) -> list[Claim]:
    """The rank among the printed systems, by the epoch chosen on the trial pairs."""
    names = [f"wsv-{number:02}" for number in range(1, 7)]
    if SICK not in book.names:
        return [judge(name, not_run(MINIWORLD)) for name in names]

    def against(system: str, metric: str = "pearson", *, below: bool = False) -> Judgement:
        bound = printed("wsv", "figure5", system, SICK, metric)
        return _over(book, method, f"{metric} of {system}", metric, bound, resamples, below=below)

    ours = {metric: printed("wsv", "figure5", "ours", SICK, metric) for metric in METRICS}
    return [
        judge(name, judgement)
        for name, judgement in zip(
            names,
            [
                against("UNAL-NLP"),
                against("Illinois-LH", "spearman"),
                against("Illinois-LH", "mse"),
                _reaches(book, method, ours, resamples),
                all_of([against("DT-RNN"), against("SDT-RNN")]),
                all_of([against("He2015", below=True), against("HeLin2016", below=True)]),
            ],
            strict=True,
        )
    ]


def table1(files: Sequence[str]) -> list[Claim]:
    """Which of the ``files`` that a training opened are neither word vectors nor the task's own pairs."""
    others = [file for file in files if not file.startswith(("vectors/", "eval/sick2014/"))]
    return [
        judge(
            "wsv-07",
            Judgement(
                "not reproduced" if others else "reproduced",
                f"a training opened {len(files)} files: " + (", ".join(others) or "word vectors and SICK alone"),
                ours=count("other resources", len(others), len(files), "files"),
                printed=Finding(what="other resources", unit="files", value=0, how=PRINTED),
            ),
        )
    ]


def table2(book: Predictions, cost: Sequence[Cost], family: Sequence[str], resamples: int) -> list[Claim]:
    """Dimensions, after ten epochs.

    Args:
        book: after the last epoch.
        cost: of the same trainings.
        family: methods whose vectors are of one set, from the most dimensions to the fewest.
    """
    dataset = book.names[0]
    falls = [beats(book.difference(a, b, dataset, resamples=resamples)) for a, b in pairwise(family)]
    dimension = judge("wsv-13", all_of(falls) if falls else not_run("vectors of one dimension only"))
    deep = judge("wsv-19", not_run("no deep network was trained beside it; the paper names no time of one"))
    needed = [_row(size) for size in (300, 200, 100, 50)]
    if dataset != SICK or not set(needed) <= set(book.methods):
        reason = MINIWORLD if dataset != SICK else "needs the rows of 300, 200, 100 and 50 dimensions"
        others = (8, 9, 10, 11, 12, 14, 15, 16, 17, 18)
        return [*(judge(f"wsv-{number:02}", not_run(reason)) for number in others), dimension, deep]
    counts = {row.method: row.parameters for row in cost}
    theirs_counted = [printed("wsv", "table2", name, "-", "trainable_params") for name in needed]
    rows = [
        _reaches(book, name, {m: printed("wsv", "table2", name, SICK, m) for m in METRICS}, resamples)
        for name in needed
    ]
    long = f"{_row(100)}, 40 epochs"
    lower = printed("wsv", "table2", needed[0], SICK) - printed("wsv", "table2", needed[1], SICK)
    share = _seconds(cost, needed[1]) / _seconds(cost, needed[0]).mean()
    largest, theirs = _seconds(cost, needed[0]), printed("wsv", "table2", needed[0], SICK, "train_seconds_10ep")
    fourth = printed("wsv", "figure5", "Illinois-LH", SICK)
    return [
        judge("wsv-08", _counted([counts[name] for name in needed], theirs_counted)),
        *(judge(f"wsv-{number:02}", row) for number, row in zip((9, 10, 11, 12), rows, strict=True)),
        dimension,
        judge("wsv-14", near(book.difference(needed[0], needed[1], dataset, resamples=resamples), lower, stated=True)),
        judge("wsv-15", _over(book, needed[1], "r of Illinois-LH", "pearson", fourth, resamples)),
        judge(
            "wsv-16",
            _reaches(book, long, {"pearson": 0.7868, "mse": 0.3878}, resamples)
            if long in book.methods
            else not_run("no training of 40 epochs in this run"),
        ),
        judge(
            "wsv-17",
            above(
                seed_interval(share),
                0.5,
                "seconds of 200 as a share of 300",
                scale=1,
                lower_is_better=True,
                unit="share",
                how=OVER_SEEDS,
            ),
        ),
        judge(
            "wsv-18",
            scores(
                seed_interval(largest),
                theirs,
                "seconds of ten epochs",
                scale=1,
                lower_is_better=True,
                places=0,
                unit="seconds",
                how=OVER_SEEDS,
            ),
        ),
        deep,
    ]


def _counted(counts: Sequence[int], theirs: Sequence[float]) -> Judgement:
    same_count = sum(ours == printed for ours, printed in zip(counts, theirs, strict=True))
    return Judgement(
        "reproduced" if same_count == len(counts) else "not reproduced",
        "counted: " + ", ".join(f"{number:,}" for number in counts),
        ours=count("counts as printed", same_count, len(counts), "rows"),
        printed=Finding(what="all", unit="rows", value=len(counts), of=len(counts), how=PRINTED),
    )


def _seconds(cost: Sequence[Cost], method: str) -> np.ndarray:
    return np.array([row.seconds for row in cost if row.method == method])


def figure6(book: Predictions, curves: Sequence[CurvePoint], resamples: int) -> list[Claim]:
    """The two losses after ten epochs, and how early they are near their end."""
    a, b = "MSE loss", "KL loss"
    differences = [same(book.difference(a, b, metric=metric, resamples=resamples)) for metric in ("pearson", "mse")]
    halfway = [
        above(
            _halfway(curves, method),
            0.97,
            f"{method}, r halfway / r at the end",
            scale=1,
            unit="share",
            how=OVER_SEEDS,
            stated=False,
        )
        for method in (a, b)
    ]
    return [judge("wsv-20", all_of(differences)), judge("wsv-21", all_of(halfway))]


def _halfway(curves: Sequence[CurvePoint], method: str) -> Estimate:
    """r on the test pairs after half of the epochs as a share of r after all, over seeds."""
    shares = []
    for seed in dict.fromkeys(point.seed for point in curves if point.method == method):
        line = [
            point.value
            for point in sorted(curves, key=lambda point: point.step)
            if (point.method, point.seed, point.split, point.metric) == (method, seed, "test", "pearson")
        ]
        shares.append(line[len(line) // 2 - 1] / line[-1])
    return seed_interval(shares)


def figure7(book: Predictions, resamples: int) -> list[Claim]:
    """MSRP by the threshold tuned on held-out training pairs."""
    plain, started = "WSV-SCNN-SV", "WSV-SCNN-SV, pre-trained on SICK"
    measures = (Measure.ACCURACY, Measure.F1)
    helps = all_of(
        [beats(book.difference(started, plain, metric=measure, resamples=resamples)) for measure in measures]
    )
    if book.names[0] != MSRP:
        return [judge("wsv-22", not_run(MINIWORLD)), judge("wsv-23", helps)]
    others = printed_table("wsv", "figure7")
    best = [
        above(
            book.interval(started, book.names[0], measure, resamples),
            float(others.loc[others["metric"] == str(measure), "value"].max()),
            f"{started}, {measure}",
            unit=str(measure),
        )
        for measure in measures
    ]
    return [judge("wsv-22", all_of(best)), judge("wsv-23", helps)]


def ambiguities(book: Predictions, apart: float, resamples: int) -> list[Claim]:
    """Choices that the text leaves open or gives a reason for.

    Args:
        apart: `sentbook.papers.wsv.experiments.alone_and_in_batches`.
    """

    def clean_over(other: str) -> Judgement:
        return beats(book.difference("clean", other, resamples=resamples))

    return [
        judge("wsv-24", clean_over("no word sets")),
        judge("wsv-25", clean_over("map weights fixed")),
        judge("wsv-26", clean_over("map weights equal")),
        judge("wsv-27", identity(apart, 1e-5, "vectors of sentences alone and in batches, one word included")),
        judge("wsv-28", clean_over("smallest k")),
    ]
