"""One encoder's scores under every protocol, and how far a number moves when one choice does."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook import records as results
from sentbook.data.splits import take
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics, sts
from sentbook.evaluation.protocols import COSINE_PEARSON, Aggregation, Measure, Protocol
from sentbook.evaluation.sts import by_year
from sentbook.system.errors import NumericalError

Array = NDArray[np.float64]
Kept = Mapping[str, NDArray[np.bool_]]
MEASURES = (Measure.PEARSON, Measure.SPEARMAN)
AGGREGATIONS = (Aggregation.MEAN, Aggregation.WEIGHTED, Aggregation.POOLED)
# The order in which the fields of a protocol act on a number: text, score, set, year.
FIELDS = ("tokens", "score", "measure", "aggregation")
# What a test is held against, and the kind of a step on a path.
HOUSE = "our protocol"
STEP = "paired bootstrap, step"
# Choices that are no field of a protocol stand in its detail.
DROPPED = "unknown words dropped"
INNER = "inner product in place of the cosine"
BENCHMARK_HEAD = "head trained on STS-B"
UNSEEN = "pairs met in pre-training left out"
WITH_TRAINING = "the three sets with training pairs"


def source(protocol: Protocol) -> Protocol:
    """The protocol whose scores ``protocol`` reads: measure and aggregation need none of their own."""
    return replace(protocol, measure=Measure.PEARSON, aggregation=Aggregation.MEAN)


class ProtocolMatrix:
    r"""Per-pair scores of one encoder by where they come from, and the number of each row under each protocol.

    A row is a group of sets (``STS2014/avg``) or a set that is no part of a group (``SICK2014``); of the latter all
    aggregations are one, and its protocols are *per set*.

    Args:
        sets: the scored pairs, in the order of the tables.
        house: the protocol from which choices are moved.

    Example:
        >>> gold = np.arange(8.0)
        >>> sets = [ScoredPairs(f"Y/{name}", ["a"] * 8, ["b"] * 8, gold, (0, 7)) for name in "pq"]
        >>> matrix = ProtocolMatrix(sets)
        >>> matrix.add(COSINE_PEARSON, 1, {"Y/p": gold, "Y/q": 2 * gold + 1})
        >>> pooled = replace(COSINE_PEARSON, aggregation=Aggregation.POOLED)
        >>> [round(matrix.value(how, "Y/avg", 1), 2) for how in (COSINE_PEARSON, pooled)]
        [1.0, 0.81]
    """

    def __init__(self, sets: Sequence[ScoredPairs], house: Protocol = COSINE_PEARSON) -> None:
        self.house = house
        self._sets = {pairs.name: pairs for pairs in sets}
        groups = by_year([pairs for pairs in sets if "/" in pairs.name])
        self._members = {f"{year}/avg": [pairs.name for pairs in members] for year, members in groups.items()}
        self._members |= {pairs.name: [pairs.name] for pairs in sets if "/" not in pairs.name}
        self._scores: dict[Protocol, dict[int, dict[str, Array]]] = {}
        self._kept: dict[str, Kept] = {}
        self._parts: dict[tuple[str, str], list[tuple[ScoredPairs, NDArray[np.bool_]]]] = {}
        self._counts: dict[tuple[str, int], NDArray[np.uint8]] = {}
        self._resampled: dict[tuple[Protocol, str, int], Array] = {}

    # -- contents ------------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[str]:
        return list(self._members)

    @property
    def groups(self) -> list[str]:
        """The rows that are made of several sets."""
        return [row for row in self.rows if row not in self._sets]

    @property
    def seeds(self) -> list[int]:
        return list(self._scores[source(self.house)])

    def add(self, protocol: Protocol, seed: int, scores: Mapping[str, ArrayLike]) -> None:
        """Take one seed's scores of every set; measure and aggregation of ``protocol`` do not count.

        Raises:
            ValueError: a set has no scores, or another number of scores than pairs.
            NumericalError: a score is NaN or infinite.
        """
        arrays = {name: np.asarray(scores.get(name, ()), dtype=np.float64) for name in self._sets}
        for name, array in arrays.items():
            if array.shape != (len(self._sets[name]),):
                raise ValueError(f"{protocol}, seed {seed}: {array.shape} scores do not fit {name}.")
            if not np.isfinite(array).all():
                raise NumericalError(f"{protocol}, seed {seed}: a score on {name} is NaN or infinite; train it again.")
        self._scores.setdefault(source(protocol), {})[seed] = arrays

    def restrict(self, detail: str, kept: Kept) -> None:
        """Let protocols with this ``detail`` see only some pairs: (N,) true where a pair of the set counts.

        Sets that are not named count as a whole, and a set of which fewer than two pairs are left does not count.
        """
        self._kept[detail] = kept

    def protocols(self, row: str) -> list[Protocol]:
        """Every combination that has scores, restrictions of pairs left out; the house's measure and mean first."""
        ways = AGGREGATIONS if row in self.groups else (Aggregation.PER_SET,)
        return [
            replace(scored, measure=measure, aggregation=aggregation)
            for scored in self._scores
            if not scored.detail
            for measure, aggregation in itertools.product(MEASURES, ways)
        ]

    def fitting(self, protocol: Protocol, row: str) -> Protocol:
        """``protocol`` as it is called on ``row``: per set where there is one set alone."""
        return protocol if row in self.groups else replace(protocol, aggregation=Aggregation.PER_SET)

    def differs(self, protocol: Protocol, row: str) -> bool:
        """Whether ``protocol`` has scores, and another way to the row's number than the house's.

        A restriction has one where it leaves out a pair of the row, and leaves in two of some set.
        """
        if source(self._scored(protocol)) not in self._scores:
            return False
        if protocol.detail not in self._kept:
            return self.fitting(protocol, row) != self.fitting(self.house, row)
        sizes = [len(pairs) for pairs, _ in self._members_of(protocol, row)]
        return 0 < sum(sizes) < sum(len(self._sets[name]) for name in self._members[row])

    def _scored(self, protocol: Protocol) -> Protocol:
        return replace(protocol, detail="") if protocol.detail in self._kept else protocol

    def _members_of(self, protocol: Protocol, row: str) -> list[tuple[ScoredPairs, NDArray[np.bool_]]]:
        """The sets behind a row as ``protocol`` sees them, and which of their pairs those are."""
        detail = protocol.detail if protocol.detail in self._kept else ""
        if (detail, row) not in self._parts:
            masks = self._kept.get(detail, {})
            whole = {name: np.ones(len(self._sets[name]), dtype=bool) for name in self._members[row]}
            kept = {name: masks.get(name, everything) for name, everything in whole.items()}
            parts = [(take(self._sets[name], mask), mask) for name, mask in kept.items() if mask.sum() > 1]
            self._parts[detail, row] = parts
        return self._parts[detail, row]

    # -- numbers -------------------------------------------------------------------------------------------------------

    def value(self, protocol: Protocol, row: str, seed: int) -> float:
        """One number; see `sentbook.evaluation.sts.evaluate`."""
        scores = self._scores[source(self._scored(protocol))][seed]
        members = self._members_of(protocol, row)
        seen = {pairs.name: scores[pairs.name][mask] for pairs, mask in members}
        return sts.evaluate(seen, [pairs for pairs, _ in members], self.fitting(protocol, row))

    def values(self, protocol: Protocol, row: str) -> list[float]:
        """A number for every seed."""
        return [self.value(protocol, row, seed) for seed in self.seeds]

    def mean(self, protocol: Protocol, row: str) -> float:
        return float(np.mean(self.values(protocol, row)))

    def metric_rows(self, method: str, protocols: Sequence[Protocol], row: str) -> list[results.Metric]:
        """The ledger's rows: every seed of ``row`` under each of ``protocols``."""
        return [
            results.Metric(
                method=method,
                dataset=row,
                metric=str(how.measure),
                protocol=str(how),
                seed=seed,
                value=self.value(how, row, seed),
                n=sum(len(pairs) for pairs, _ in self._members_of(how, row)),
            )
            for how in dict.fromkeys(self.fitting(protocol, row) for protocol in protocols)
            for seed in self.seeds
        ]

    # -- comparisons ---------------------------------------------------------------------------------------------------

    def resampled(self, protocol: Protocol, row: str, resamples: int) -> Array:
        """(R,) values of a row on resampled pairs, mean over seeds.

        Pairs are drawn within each set, the same for every protocol and seed, so that the difference of two protocols
        is that of two numbers on the same pairs.
        """
        protocol = self.fitting(protocol, row)
        scores = self._scores[source(self._scored(protocol))]
        members = self._members_of(protocol, row)
        if protocol.aggregation is Aggregation.POOLED:
            counts = np.concatenate([self._drawn(pairs.name, resamples)[:, mask] for pairs, mask in members], axis=1)
            pooled = [np.concatenate([by_set[p.name][mask] for p, mask in members]) for by_set in scores.values()]
            gold = np.concatenate([pairs.gold for pairs, _ in members])
            return statistics.bootstrap(str(protocol.measure), pooled, gold, counts)  # type: ignore[arg-type]
        by_set = [self._of_set(protocol, pairs, mask, resamples) for pairs, mask in members]
        weights = [len(pairs) for pairs, _ in members] if protocol.aggregation is Aggregation.WEIGHTED else None
        return np.asarray(np.average(by_set, axis=0, weights=weights))

    def _of_set(self, protocol: Protocol, pairs: ScoredPairs, mask: NDArray[np.bool_], resamples: int) -> Array:
        key = (replace(protocol, aggregation=Aggregation.PER_SET), pairs.name, resamples)
        if key not in self._resampled:
            scores = self._scores[source(self._scored(protocol))]
            stacked = np.stack([found[pairs.name][mask] for found in scores.values()])
            counts = self._drawn(pairs.name, resamples)[:, mask]
            self._resampled[key] = statistics.bootstrap(str(protocol.measure), stacked, pairs.gold, counts)  # type: ignore[arg-type]
        return self._resampled[key]

    def _drawn(self, name: str, resamples: int) -> NDArray[np.uint8]:
        """(R, N) counts of a set's pairs; an item is never drawn 256 times."""
        key = (name, resamples)
        if key not in self._counts:
            place = list(self._sets).index(name)
            self._counts[key] = statistics.resample_counts(len(self._sets[name]), resamples, [0, place]).astype(
                np.uint8
            )
        return self._counts[key]

    def effect(
        self, protocol: Protocol, row: str, resamples: int = 2000, *, against: Protocol | None = None
    ) -> results.Test:
        """``protocol`` less the house's (or ``against``) on a row, by the paired bootstrap over pairs, seeds pooled."""
        other = self.house if against is None else against
        point = self.mean(protocol, row) - self.mean(other, row)
        sampled = self.resampled(protocol, row, resamples) - self.resampled(other, row, resamples)
        found = statistics.from_bootstrap(point, sampled)
        return results.Test(
            kind="paired bootstrap",
            a=str(self.fitting(protocol, row)),
            b=str(self.fitting(other, row)),
            dataset=row,
            metric=str(protocol.measure),
            estimate=found.estimate,
            low=found.low,
            high=found.high,
            p=found.p,
        )

    def interval(self, row: str, resamples: int = 2000) -> statistics.Estimate:
        """The house's number on a row, mean over seeds, with its interval over pairs."""
        low, high = np.percentile(self.resampled(self.house, row, resamples), [2.5, 97.5])
        return statistics.Estimate(self.mean(self.house, row), float(low), float(high))

    def ends(self, row: str) -> tuple[Protocol, Protocol]:
        """The combinations with the lowest and the highest number; of equals, the first."""
        known = self.protocols(row)
        means = [self.mean(protocol, row) for protocol in known]
        return known[int(np.argmin(means))], known[int(np.argmax(means))]

    def path(self, row: str, end: Protocol) -> list[Protocol]:
        """From the house's protocol to ``end``, a field a step: tokens, score, measure, aggregation.

        The steps add up to the whole way; by another order they would be others.
        """
        steps = [self.fitting(self.house, row)]
        for field in FIELDS:
            if getattr(steps[-1], field) != getattr(end, field):
                steps.append(replace(steps[-1], **{field: getattr(end, field)}))
        return steps
