"""Zhang et al. 2018: settings compared cell by cell, rules that only its claims need, and what they compute.

A setting of an encoder stands for its row that is best on the development pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from sentbook.data import suites
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import measure_on
from sentbook.evaluation.statistics import Estimate, seed_interval
from sentbook.papers.dnt.winners import (
    SETTINGS,
    best_rows,
    encoder_of,
    judged_cells,
    losses,
    named,
    setting_of,
    updated_and_frozen,
)
from sentbook.records import Cost, Finding, Test
from sentbook.runs.evidence import Evidence, Missing
from sentbook.runs.printed import table as printed_table
from sentbook.runs.verdicts import Judgement, bound, count, near

ENCODERS = ("BiLSTM-Avg", "GRAN", "InferSent")
SETS = tuple(suites.TEST_NAMES[dataset] for dataset in suites.TRANSFER)
ACTIVITIES = tuple(suites.TEST_NAMES[dataset] for dataset in suites.ACTIVITIES)
FINE = (*ACTIVITIES, "SAG")
Dev = Mapping[tuple[str, str], float]
_SHARE = re.compile(r"(?P<method>.+) (?P<share>\d+(?:\.\d+)?) %")


# -- settings in cells -------------------------------------------------------------------------------------------------


def _cells(encoders: Iterable[str] = ENCODERS, datasets: Iterable[str] = SETS) -> list[str]:
    names = list(datasets)
    return [f"{dataset} with {encoder}" for encoder in encoders for dataset in names]


class Settings:
    """A book whose methods are the transfer settings and whose rows are cells, ``SAG with GRAN``.

    On a data set alone its methods are settings of encoders, ``GRAN [DNT]``.

    Args:
        best: of `sentbook.papers.dnt.winners.best_rows`.
        rows: the book of every row; None: of no claim about single rows.
        words: what sentences of evidence are filled with.
    """

    def __init__(self, best: Any, rows: Predictions | None = None, words: Mapping[str, str] | None = None) -> None:
        self.best, self.every, self.words = best, rows, words or {}
        self.methods = list(SETTINGS)
        self.names = [f"{dataset} with {encoder}" for encoder, dataset in judged_cells(best, ())]
        self.cells = [(row, self.measures(row)[0]) for row in self.names]
        self.groups = {
            "every set": list(SETS),
            "every cell": _cells(),
            "general": _cells(datasets=SETS[:3]),
            "fine-grained": _cells(datasets=FINE),
            "general with InferSent": _cells(["InferSent"], SETS[:3]),
            "fine-grained with InferSent": _cells(["InferSent"], FINE),
            "activities with InferSent": _cells(["InferSent"], ACTIVITIES),
            "activities with BiLSTM-Avg and GRAN": _cells(ENCODERS[:2], ACTIVITIES),
            "cells held": [f"{dataset} with {encoder}" for encoder, dataset in judged_cells(best)],
        }

    def _place(self, method: str, row: str) -> tuple[str, str]:
        dataset, _, encoder = row.partition(" with ")
        return (named(encoder, method) if encoder else method), dataset

    def measures(self, row: str) -> list[str]:
        """Name the measure of a cell's data set."""
        return [str(measure_on(row.partition(" with ")[0]))]

    def has(self, method: str, row: str) -> bool:
        """Whether a setting was scored in a cell."""
        return bool(self.best.has(*self._place(method, row)))

    def values(self, method: str, row: str, measure: str) -> list[float]:
        """A value for every seed."""
        found: list[float] = self.best.values(*self._place(method, row), measure)
        return found

    def interval(self, method: str, row: str, measure: str, resamples: int) -> Estimate:
        """One value with its interval over pairs."""
        found: Estimate = self.best.interval(*self._place(method, row), measure, resamples)
        return found

    def difference(self, a: str, b: str, row: str, measure: str, resamples: int) -> Test:
        """A - B in a cell."""
        (first, dataset), (second, _) = self._place(a, row), self._place(b, row)
        found: Test = self.best.difference(first, second, dataset, measure, resamples)
        return found.model_copy(update={"a": a, "b": b, "dataset": row})

    def printed(self, method: str, row: str) -> float:
        """The paper's best row of a setting in a cell."""
        place, dataset = self._place(method, row)
        frame = printed_table("dnt", "table4")
        frame = frame[(frame["dataset"] == dataset) & (frame["metric"] == str(measure_on(dataset)))]
        rows = zip(frame["method"], frame["value"], strict=True)
        found = [float(value) for name, value in rows if named(encoder_of(name), setting_of(name)) == place]
        if not found:
            raise Missing(f"needs a row that the paper prints; it prints none of {method} on {row}")
        return max(found)


def at_smallest_share(book: Predictions, dev: Dev) -> Settings:
    """Settings trained on the smallest share of the pairs, and UE, under their names without the share.

    Args:
        book: methods such as ``GRAN [FT] KL 10 %``; UE without a share, since it needs no pairs.
        dev: (row, test set) -> value on the development pairs, which choose a setting's row.

    Raises:
        ValueError: no method names a share.
    """
    parsed = {method: _SHARE.fullmatch(method) for method in book.methods}
    smallest = min(float(found["share"]) for found in parsed.values() if found)
    part, values = book.copy([]), {}
    for method, found in parsed.items():
        if setting_of(method) != "UE" if found is None else float(found["share"]) != smallest:
            continue
        name = method if found is None else found["method"]
        for dataset in book.names:
            if book.has(method, dataset):
                part.take(book, method, dataset, name)
            if (method, dataset) in dev:
                values[name, dataset] = dev[method, dataset]
    return Settings(best_rows(values, part), words={"share": f"{smallest:g} %"})


def gains_of_training(evidence: Evidence) -> dict[str, Estimate]:
    """Give every trained row of InferSent minus none on answer grading, with its interval over pairs."""
    if evidence.book.every is None or not evidence.book.has("UE", "SAG with InferSent"):
        raise Missing("needs InferSent on SAG without training")
    rows, found = evidence.book.every, {}
    for method in rows.methods:
        if encoder_of(method) == "InferSent" and setting_of(method) != "UE" and rows.has(method, "SAG"):
            test = rows.difference(method, named("InferSent", "UE"), "SAG", resamples=evidence.resamples)
            found[f"{method} − UE on SAG"] = Estimate(test.estimate, test.low, test.high)
    return found


# -- rows that differ in one thing -------------------------------------------------------------------------------------


def _compared(evidence: Evidence, what: str) -> list[Test]:
    """The run's tests of rows that differ in the words (updated or frozen) or in the loss alone."""
    methods = list(dict.fromkeys(name for test in evidence.tests for name in (test.a, test.b)))
    pairs = {"words": updated_and_frozen, "losses": losses}[what](methods)
    found = [test for test in evidence.tests if (test.a, test.b) in pairs]
    if not found:
        raise Missing(f"needs rows that differ in their {what}")
    return found


def no_pattern(evidence: Evidence, what: str) -> Judgement:
    """Reproduced when the exact 95 % interval of the share of cells in which A is above B holds one half."""
    tests, (a, b) = _compared(evidence, what), _NAMES[what]
    differ, first = sum(test.estimate != 0 for test in tests), sum(test.estimate > 0 for test in tests)
    if not differ:
        return Judgement("inconclusive", f"{a} and {b} are equal in all of {len(tests)} cells")
    share = stats.binomtest(first, differ).proportion_ci(method="exact")
    better, worse = sum(test.low > 0 for test in tests), sum(test.high < 0 for test in tests)
    return Judgement(
        "reproduced" if share.low <= 0.5 <= share.high else "not reproduced",
        f"{a} above {b} in {first} of {differ} cells, {100 * first / differ:.0f} % "
        f"[{100 * share.low:.0f}, {100 * share.high:.0f}]; "
        f"the interval excludes 0 in its favour on {better}, against it on {worse}",
        ours=Finding(
            what=f"cells in which {a} is above {b}",
            unit="share",
            value=first / differ,
            low=share.low,
            high=share.high,
            how="exact binomial",
        ),
        printed=bound("interval to hold", "share", 0.5, False),
    )


_NAMES = {"words": ("words updated", "words frozen"), "losses": ("MSE", "KL")}


def mostly_near(evidence: Evidence, what: str, *, margin: float) -> Judgement:
    """Judge by what `near` finds in more than half of the cells; else inconclusive."""
    tests = _compared(evidence, what)
    counts = Counter(near(test, margin).verdict for test in tests)
    verdict, most = counts.most_common(1)[0]
    sizes = np.abs([test.estimate for test in tests])
    return Judgement(
        verdict if 2 * most > len(tests) else "inconclusive",
        f"below {margin * 100:.0f} point in {int((sizes < margin).sum())} of {len(tests)} cells, "
        f"with all of its interval in {counts['reproduced']}, all of it beyond in {counts['not reproduced']}; "
        f"median {float(np.median(sizes)) * 100:.1f} points",
        ours=count("all of the interval within the margin", counts["reproduced"], len(tests), "cells"),
        printed=bound("at least", "cells", len(tests) // 2 + 1, False, len(tests)),
    )


def more_with_infersent(evidence: Evidence) -> list[Test]:
    """Give sizes of MSE - KL with InferSent minus those with the others, by Welch's t over cells."""
    sizes: dict[tuple[str, str], list[float]] = {}
    for test in _compared(evidence, "losses"):
        sizes.setdefault((encoder_of(test.a), test.dataset), []).append(abs(test.estimate))
    if any((encoder, name) not in sizes for encoder in ENCODERS for name in SETS):
        raise Missing("needs rows of both losses of all three encoders on all data sets")

    def of(encoders: Sequence[str], datasets: Sequence[str]) -> list[float]:
        return [size for encoder in encoders for name in datasets for size in sizes[encoder, name]]

    return [
        _welch(of(ENCODERS[2:], names), of(ENCODERS[:2], names), where)
        for where, names in (("all data sets", SETS), ("human activities", ACTIVITIES))
    ]


def _welch(a: Sequence[float], b: Sequence[float], where: str) -> Test:
    bounds = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    gap = float(np.mean(a) - np.mean(b))
    low, high = (float(bounds.low), float(bounds.high)) if np.isfinite(bounds.low) else (gap, gap)
    return Test(
        kind="Welch",
        a="|MSE − KL| with InferSent",
        b="with the others",
        dataset=f"{where} ({len(a)} and {len(b)} cells)",
        metric="difference",
        estimate=gap,
        low=low,
        high=high,
    )


def _normalised(evidence: Evidence, *, on_pac: bool) -> list[Test]:
    """Targets in [0, 1] minus targets in [-1, 1], or of PAC the other way round."""
    found = []
    for test in evidence.tests:
        if test.a.endswith(" norm0to1") and test.b.endswith(" norm-1to1") and (test.dataset == "PAC") == on_pac:
            turned = {"estimate": -test.estimate, "low": -test.high, "high": -test.low} if on_pac else {}
            names = {"a": "[-1, 1]", "b": "[0, 1]"} if on_pac else {"a": "[0, 1]", "b": "[-1, 1]"}
            found.append(test.model_copy(update={**names, **turned}))
    return found


# -- time --------------------------------------------------------------------------------------------------------------


def _speeds(evidence: Evidence) -> dict[str, float]:
    """Examples a second by method, the mean over its timed trainings."""
    by_method: dict[str, list[float]] = {}
    timed = (
        [Cost.model_validate(row) for row in evidence.extra["timed"]] if "timed" in evidence.extra else evidence.cost
    )
    for row in timed:
        by_method.setdefault(row.method, []).append(row.examples_per_second)
    return {method: float(np.mean(values)) for method, values in by_method.items()}


def speed_without_classifier(evidence: Evidence) -> Estimate:
    """Give the speed of DNT over that of NT, of either loss, with the same words updated or frozen, over rows."""
    speeds, ratios = _speeds(evidence), []
    for method, speed in speeds.items():
        encoder, direct, row = method.partition(" [DNT]")
        same_words = re.compile(rf"{re.escape(encoder)} \[NT\] (?:MSE|KL){re.escape(row)}")
        beside = [other for name, other in speeds.items() if direct and same_words.fullmatch(name)]
        ratios += [speed / np.mean(beside)] if beside else []
    if not ratios:
        raise Missing("no trainings of DNT and NT were timed here")
    return seed_interval(ratios)


def speed_of_frozen_words(evidence: Evidence) -> Test:
    """Give how much faster training with frozen words is, as a share, over rows."""
    speeds = _speeds(evidence)
    ratios = [speeds[frozen] / speeds[updated] - 1 for updated, frozen in updated_and_frozen(speeds)]
    if not ratios:
        raise Missing("no trainings with words updated and with words frozen were timed here")
    share = seed_interval(ratios)
    return Test(
        kind="t",
        a="words frozen",
        b="words updated",
        dataset="examples a second, as a share of the latter",
        metric="share",
        estimate=share.estimate,
        low=share.low,
        high=share.high,
    )


RULES = {"no_pattern": no_pattern, "mostly_near": mostly_near}
FINDINGS = {
    "gains of training": gains_of_training,
    "more with InferSent": more_with_infersent,
    "[0, 1] against [-1, 1], but for PAC": lambda evidence: _normalised(evidence, on_pac=False),
    "[-1, 1] against [0, 1], on PAC": lambda evidence: _normalised(evidence, on_pac=True),
    "speed of DNT over NT": speed_without_classifier,
    "speed of frozen words": speed_of_frozen_words,
}
