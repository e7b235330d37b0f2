"""Yes or no from scores: thresholds, and every number that is computed from decisions."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook import records as results
from sentbook.evaluation import statistics
from sentbook.evaluation.protocols import Measure, Protocol
from sentbook.system.errors import NumericalError

Array = NDArray[np.float64]


def threshold(scores: ArrayLike, labels: ArrayLike, goal: Literal["accuracy", "f1"] = "accuracy") -> float:
    """The threshold that decides best on these pairs: yes where the score reaches it.

    Candidates lie halfway between neighbouring distinct scores, and beyond the least and the greatest; of several that
    are best, the nearest to .5.

    Args:
        scores: (N,) in [0, 1].
        labels: (N,) of 0 and 1.

    Raises:
        ValueError: no pairs, or another number of labels than scores.
        NumericalError: a score is NaN or infinite.

    Example:
        >>> threshold([0.1, 0.4, 0.6, 0.9], [0, 1, 1, 1])
        0.25
    """
    values, gold = np.asarray(scores, dtype=np.float64), np.asarray(labels) == 1
    if values.ndim != 1 or values.shape != gold.shape or not len(values):
        raise ValueError(f"A threshold needs as many labels as scores, not {gold.shape} and {values.shape}.")
    _check(values)
    order = np.argsort(values, kind="stable")
    values, gold = values[order], gold[order]
    # Deciding no on the first m pairs: only a cut between distinct scores can be made by a threshold.
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]])
    below = np.concatenate([[0], np.cumsum(gold)])[cuts]  # yes among the first m
    found = gold.sum() - below
    right = cuts - below + found
    claimed = len(values) - cuts
    quality = right / len(values) if goal == "accuracy" else 2 * found / np.maximum(claimed + gold.sum(), 1)
    halfway = (values[1:] + values[:-1]) / 2
    halfway = np.where(halfway > values[:-1], halfway, values[1:])  # between two floats without a third
    bounds = np.concatenate([[min(values[0] - 0.5, 0.0)], halfway, [max(values[-1] + 0.5, 1.0)]])[cuts]
    best = np.flatnonzero(quality >= quality.max() - 1e-12)
    return float(bounds[best[np.argmin(np.abs(bounds[best] - 0.5))]])


def decide(scores: ArrayLike, bound: float) -> Array:
    """(N,) of 1 where the score reaches ``bound``, else 0.

    Raises:
        NumericalError: a score is NaN or infinite.
    """
    values = np.asarray(scores, dtype=np.float64)
    _check(values)
    return (values >= bound).astype(np.float64)


def _check(scores: Array) -> None:
    if not np.isfinite(scores).all():
        raise NumericalError("A score is NaN or infinite; train the encoder again with a lower learning rate.")


class DecisionBook:
    """Decisions of many methods and seeds on the same pairs.

    Args:
        name: of the data set.
        gold: (N,) labels of 0 and 1.
    """

    def __init__(self, name: str, gold: ArrayLike) -> None:
        self.name, self.gold = name, np.asarray(gold, dtype=np.float64)
        self._decisions: dict[str, dict[int, Array]] = {}
        self._counts: dict[int, NDArray[np.float32]] = {}

    @property
    def methods(self) -> list[str]:
        return list(self._decisions)

    def seeds(self, method: str) -> list[int]:
        return list(self._decisions[method])

    def add(self, method: str, seed: int, decisions: ArrayLike) -> None:
        """Take the (N,) decisions of one method and seed.

        Raises:
            ValueError: another number of decisions than pairs, or one that is neither 0 nor 1.
        """
        array = np.asarray(decisions, dtype=np.float64)
        if array.shape != self.gold.shape or not np.isin(array, (0, 1)).all():
            raise ValueError(f"{method}, seed {seed}: not a decision of 0 or 1 for each of {len(self.gold)} pairs.")
        self._decisions.setdefault(method, {})[seed] = array

    def stacked(self, method: str) -> Array:
        """(S, N) decisions, a row a seed."""
        return np.stack(list(self._decisions[method].values()))

    def value(self, method: str, seed: int, measure: Measure) -> float:
        """Accuracy, or the F1 of yes."""
        ones = np.ones((1, len(self.gold)))
        row = self._decisions[method][seed]
        return float(statistics.bootstrap(_metric(measure), row, self.gold, ones)[0])

    def values(self, method: str, measure: Measure) -> list[float]:
        """A value for every seed."""
        return [self.value(method, seed, measure) for seed in self.seeds(method)]

    def metric_rows(self, protocol: Protocol) -> list[results.Metric]:
        """The ledger's rows: every method and seed under ``protocol``."""
        return [
            results.Metric(
                method=method,
                dataset=self.name,
                metric=str(protocol.measure),
                protocol=str(protocol),
                seed=seed,
                value=self.value(method, seed, protocol.measure),
                n=len(self.gold),
            )
            for method in self.methods
            for seed in self.seeds(method)
        ]

    def mcnemar(self, a: str, b: str, seed: int) -> tuple[int, int, float]:
        """Pairs that A alone and B alone decided rightly with this seed, and the exact p of "as many"."""
        first, second = (self._decisions[method][seed] == self.gold for method in (a, b))
        return statistics.mcnemar(first, second)

    def _bootstrap(self, method: str, measure: Measure, resamples: int) -> Array:
        """(R,) resampled values; the resamples are the same for every method."""
        if resamples not in self._counts:
            self._counts[resamples] = statistics.resample_counts(len(self.gold), resamples, [0, 0])
        return statistics.bootstrap(_metric(measure), self.stacked(method), self.gold, self._counts[resamples])

    def interval(self, method: str, measure: Measure, resamples: int = 2000) -> statistics.Estimate:
        """One method's value, mean over seeds, with its interval over pairs."""
        low, high = np.percentile(self._bootstrap(method, measure, resamples), [2.5, 97.5])
        return statistics.Estimate(float(np.mean(self.values(method, measure))), float(low), float(high))

    def difference(self, a: str, b: str, measure: Measure, resamples: int = 2000) -> results.Test:
        """A - B by the paired bootstrap over pairs, seeds pooled."""
        point = float(np.mean(self.values(a, measure)) - np.mean(self.values(b, measure)))
        sampled = self._bootstrap(a, measure, resamples) - self._bootstrap(b, measure, resamples)
        found = statistics.from_bootstrap(point, sampled)
        return results.Test(
            kind="paired bootstrap",
            a=a,
            b=b,
            dataset=self.name,
            metric=str(measure),
            estimate=found.estimate,
            low=found.low,
            high=found.high,
            p=found.p,
        )


def _metric(measure: Measure) -> Literal["accuracy", "f1"]:
    if measure is Measure.ACCURACY:
        return "accuracy"
    if measure is Measure.F1:
        return "f1"
    raise ValueError(f"Decisions have accuracy and F1, not {measure}.")
