"""Zhang et al. 2018: settings compared cell by cell, and the two rules that only its claims need.

A setting of an encoder stands for its row that is best on the development pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from sentbook.data import suites
from sentbook.evaluation.predictions import INTERVALS
from sentbook.evaluation.protocols import measure_on
from sentbook.evaluation.statistics import Estimate
from sentbook.papers.dnt.winners import (
    SETTINGS,
    encoder_of,
    judged_cells,
    named,
    of_settings,
    partners,
    setting_of,
    settings_of,
    words_pairs,
)
from sentbook.records import Finding, Run, Test, Verdict
from sentbook.runs.evidence import Evidence, Missing, Rows
from sentbook.runs.printed import table as printed_table
from sentbook.runs.verdicts import Judgement, Rule, bound, count, equivalent

ENCODERS = ("BiLSTM-Avg", "GRAN", "InferSent")
SETS = tuple(suites.TEST_NAMES[dataset] for dataset in suites.TRANSFER)
ACTIVITIES = tuple(suites.TEST_NAMES[dataset] for dataset in suites.ACTIVITIES)
FINE = (*ACTIVITIES, "SAG")


# -- settings in cells -------------------------------------------------------------------------------------------------


def _cells(encoders: Iterable[str] = ENCODERS, datasets: Iterable[str] = SETS) -> list[str]:
    names = list(datasets)
    return [f"{dataset} with {encoder}" for encoder in encoders for dataset in names]


# What table 5 calls the two ranges of the target.
RANGES = {"norm0to1": "[0, 1]", "norm-1to1": "[-1, 1]"}


def ranged(encoder: str, target: str) -> str:
    """The method of an encoder's direct network transfer to a range of the target, whichever its row."""
    return f"{named(encoder, 'DNT')} {target}"


class Cells:
    """A book whose methods are the transfer settings, or the ranges of the target, and whose rows are cells, ``SAG with
    GRAN``.

    On a data set alone its methods are settings of encoders, ``GRAN [DNT]``.

    Args:
        best: of `sentbook.papers.dnt.winners.best_rows`.
        words: what sentences of evidence are filled with.
        ranges: the methods are those of table 5, `ranged`.
    """

    def __init__(self, best: Any, words: Mapping[str, str] | None = None, *, ranges: bool = False) -> None:
        self.best, self.words, self.ranges = best, words or {}, ranges
        self.methods = list(RANGES.values() if ranges else SETTINGS)
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
            "PAC": _cells(datasets=["PAC"]),
            "all but PAC": _cells(datasets=[name for name in SETS if name != "PAC"]),
            "cells held": self.names if ranges else [f"{name} with {who}" for who, name in judged_cells(best)],
        }

    def place(self, method: str, row: str) -> tuple[str, str]:
        """Name the encoder's setting and the data set of a cell."""
        dataset, _, encoder = row.partition(" with ")
        name = ranged if self.ranges else named
        return (name(encoder, method) if encoder else method), dataset

    def measures(self, row: str) -> list[str]:
        """Name the measure of a cell's data set."""
        return [str(measure_on(row.partition(" with ")[0]))]

    def has(self, method: str, row: str) -> bool:
        """Whether a setting was scored in a cell."""
        return bool(self.best.has(*self.place(method, row)))

    def seeds(self, method: str, row: str) -> list[int | None]:
        """The seeds of a setting's row in a cell."""
        found: list[int | None] = self.best.seeds(*self.place(method, row))
        return found

    def values(self, method: str, row: str, measure: str) -> list[float]:
        """A value for every seed."""
        found: list[float] = self.best.values(*self.place(method, row), measure)
        return found

    def interval(self, method: str, row: str, measure: str, resamples: int, **how: Any) -> Estimate:
        """One value with its interval over pairs."""
        found: Estimate = self.best.interval(*self.place(method, row), measure, resamples, **how)
        return found

    def difference(self, a: str, b: str, row: str, measure: str, resamples: int, **how: Any) -> Test:
        """A - B in a cell."""
        (first, dataset), (second, _) = self.place(a, row), self.place(b, row)
        found: Test = self.best.difference(first, second, dataset, measure, resamples, **how)
        return found.model_copy(update={"a": a, "b": b, "dataset": row})

    def printed(self, method: str, row: str) -> float:
        """The paper's best row of a setting, or of a range of the target, in a cell."""
        place, dataset = self.place(method, row)
        frame = printed_table("dnt", "table5" if self.ranges else "table4")
        frame = frame[(frame["dataset"] == dataset) & (frame["metric"] == str(measure_on(dataset)))]
        rows = zip(frame["method"], frame["value"], strict=True)
        found = [float(value) for name, value in rows if self._setting(name) == place]
        if not found:
            raise Missing(f"needs a row that the paper prints; it prints none of {method} on {row}")
        return max(found)

    def _setting(self, row: str) -> str:
        """The method that a row of the paper's table is one of."""
        if self.ranges:
            return ranged(encoder_of(row), RANGES[row.rpartition(" ")[2]])
        return named(encoder_of(row), setting_of(row))


# -- rows that differ in one thing -------------------------------------------------------------------------------------


def _compared(evidence: Evidence, what: str) -> list[Test]:
    """The run's tests of rows that differ in the words (updated or frozen) or in the loss alone."""
    methods = list(dict.fromkeys(name for test in evidence.tests for name in (test.a, test.b)))
    pairs = words_pairs(methods) if what == "words" else partners(methods, " MSE", " KL")
    found = [test for test in evidence.tests if (test.a, test.b) in pairs]
    if not found:
        raise Missing(f"needs rows that differ in their {what}")
    return [evidence.at_level(test) for test in found]


def no_pattern(evidence: Evidence, what: str, *, within: Sequence[float]) -> Judgement:
    """Reproduced when the interval of the share of cells in which A is above B, the wider of the exact one and that of
    t over the groups of one encoder on one data set, lies between two bounds that the claim states, not reproduced
    when it lies beyond one, else inconclusive.

    Groups share encoders and test pairs, so that the interval may still be too narrow.
    """
    tests, (a, b) = _compared(evidence, what), _NAMES[what]
    differ, first = sum(test.estimate != 0 for test in tests), sum(test.estimate > 0 for test in tests)
    if not differ:
        return Judgement("inconclusive", f"{a} and {b} are equal in all of {len(tests)} cells")
    exact = stats.binomtest(first, differ).proportion_ci(method="exact")
    groups: dict[tuple[str, str], list[bool]] = {}
    for test in tests:
        if test.estimate != 0:
            groups.setdefault((encoder_of(test.a), test.dataset), []).append(test.estimate > 0)
    shares = [float(np.mean(signs)) for signs in groups.values()]
    over = stats.ttest_1samp(shares, 0.5).confidence_interval() if len(set(shares)) > 1 else exact
    share_low, share_high = max(0.0, min(exact.low, over.low)), min(1.0, max(exact.high, over.high))
    low, high = within
    better, worse = sum(test.low > 0 for test in tests), sum(test.high < 0 for test in tests)
    verdict: Verdict = "not reproduced" if share_high < low or share_low > high else "inconclusive"
    return Judgement(
        "reproduced" if low < share_low and share_high < high else verdict,
        f"{a} above {b} in {first} of {differ} cells, {100 * first / differ:.0f} % "
        f"[{100 * share_low:.0f}, {100 * share_high:.0f}], a pattern from {100 * high:.0f} % on; "
        f"the interval excludes 0 in its favour on {better}, against it on {worse}",
        ours=Finding(
            what=f"cells in which {a} is above {b}",
            unit="share",
            value=first / differ,
            low=share_low,
            high=share_high,
            how="exact binomial, or t over groups",
        ),
        printed=bound("to stay below", "share", high, False),
    )


_NAMES = {"words": ("words updated", "words frozen"), "losses": ("MSE", "KL")}


def mostly_near(evidence: Evidence, what: str, *, margin: float) -> Judgement:
    """What the rule of no difference finds in more than half of the cells; else inconclusive."""
    tests = _compared(evidence, what)
    counts = Counter(equivalent(test, margin).verdict for test in tests)
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


RULES = {
    "no_pattern": Rule(no_pattern, "no clear pattern"),
    "mostly_near": Rule(mostly_near, "mostly no difference", None),
}


def recorded_book(run: Run) -> Cells | None:
    """Read the settings in cells from the rows that a run records, see `sentbook.runs.recorded`."""
    if not (names := settings_of(run)):
        return None
    intervals = {
        measure: {
            dataset: {names[row, dataset]: ends for row, ends in by_row.items() if (row, dataset) in names}
            for dataset, by_row in by_dataset.items()
        }
        for measure, by_dataset in run.extra.get(INTERVALS, {}).items()
    }
    return Cells(Rows(of_settings(run), run.tests, intervals), ranges=run.experiment == "table5")
