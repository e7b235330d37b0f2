"""Every pair of every set on one scale, for the error analysis; and its numbers as rows of the ledger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sentbook.evaluation.scorebook import ScoreBook
from sentbook.evaluation.statistics import from_bootstrap, resample_counts
from sentbook.records import Metric, Test

Array = NDArray[np.float64]
FAR = 1.5


@dataclass(frozen=True)
class AllPairs:
    """N pairs of all STS sets, gold on 0-5, with the cosines (S, N) of each method."""

    first: list[str]
    second: list[str]
    gold: Array
    scores: dict[str, Array]

    def overestimation(self, resamples: int) -> list[Test]:
        """By the paper's map 2.5 (cos + 1): the mean of score minus gold on pairs of gold at most 1.5."""
        far = self.gold <= FAR
        counts = resample_counts(int(far.sum()), resamples, [0])
        tests = []
        for method, cosines in self.scores.items():
            excess = (2.5 * (cosines + 1) - self.gold).mean(axis=0)[far]
            found = from_bootstrap(float(excess.mean()), counts @ excess / counts.sum(axis=1))
            tests.append(
                Test(
                    kind="bootstrap",
                    a=method,
                    b="gold",
                    dataset=f"{int(far.sum())} pairs of gold at most {FAR}",
                    metric="mae",
                    estimate=found.estimate,
                    low=found.low,
                    high=found.high,
                    p=found.p,
                )
            )
        return tests


def all_pairs(book: ScoreBook) -> AllPairs:
    """The pairs of the book's sets on a 0-5 scale (all but SICK)."""
    names = [name for name in book.names if book.pairs(name).scale == (0, 5)]
    return AllPairs(
        first=[text for name in names for text in book.pairs(name).first],
        second=[text for name in names for text in book.pairs(name).second],
        gold=np.concatenate([book.gold(name) for name in names]),
        scores={method: np.hstack([book.stacked(method, name) for name in names]) for method in book.methods},
    )


def group_rows(groups: pd.DataFrame, methods: list[str]) -> list[Metric]:
    """Mean absolute errors by group and map, from the frame of `error_groups.groups`; seeds are pooled.

    A group without pairs has no error, and no row.
    """
    return [
        Metric(
            method=method,
            dataset=f"{row['map']} map/{row['group']}",
            metric="mae",
            protocol="cosine, mean absolute error, seeds pooled",
            seed=None,
            value=float(row[method]),
            n=int(row["n"]),
        )
        for row in groups.to_dict("records")
        if row["n"]
        for method in methods
    ]


def group_tests(groups: pd.DataFrame, a: str, b: str) -> list[Test]:
    """The difference of errors, A minus B, by group and map."""
    return [
        Test(
            kind="paired bootstrap",
            a=a,
            b=b,
            dataset=f"{row['map']} map/{row['group']}",
            metric="mae",
            estimate=float(row["difference"]),
            low=float(row["difference low"]),
            high=float(row["difference high"]),
        )
        for row in groups.to_dict("records")
        if row["n"]
    ]
