"""One encoder's scores under every protocol, and how far a number moves when one choice does."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import KIND, Predictions
from sentbook.evaluation.protocols import COSINE_PEARSON, Aggregation, Measure, Protocol
from sentbook.evaluation.statistics import Estimate, from_bootstrap, percentiles
from sentbook.evaluation.sts import by_year
from sentbook.records import Metric, Test

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
        groups = by_year([pairs for pairs in sets if "/" in pairs.name])
        means = {f"{year}/avg": [pairs.name for pairs in members] for year, members in groups.items()}
        # The rows that are made of several sets, and all rows.
        self.groups = list(means)
        self.rows = [*self.groups, *(pairs.name for pairs in sets if "/" not in pairs.name)]
        # Its methods are protocols without measure and aggregation, in words.
        # All pairs kept is as all pairs, but for the memory's layout, which the rounding of recorded intervals follows.
        whole = {pairs.name: np.ones(len(pairs), dtype=bool) for pairs in sets}
        self._book = Predictions(sets, means=means).restricted(whole)
        self._sources: dict[Protocol, str] = {}
        self._kept: dict[str, Kept] = {}
        self._restricted: dict[str, Predictions] = {}

    # -- contents ------------------------------------------------------------------------------------------------------

    @property
    def seeds(self) -> list[int | None]:
        return self._book.seeds(self._sources[source(self.house)])

    def add(self, protocol: Protocol, seed: int, scores: Mapping[str, ArrayLike]) -> None:
        """Take one seed's scores of every set; measure and aggregation of ``protocol`` do not count.

        Raises:
            ValueError: a set has no scores, or another number of scores than pairs.
            NumericalError: a score is NaN or infinite.
        """
        method = self._sources.setdefault(source(protocol), str(source(protocol)))
        for name in self._book.names:
            self._book.add(method, seed, name, scores.get(name, ()))
        self._restricted = {}

    def restrict(self, detail: str, kept: Kept) -> None:
        """Let protocols with this ``detail`` see only some pairs: (N,) true where a pair of the set counts.

        Sets that are not named count as a whole, and a set of which fewer than two pairs are left does not count.
        """
        self._kept[detail] = kept

    def _seen(self, protocol: Protocol) -> tuple[Predictions, str]:
        """The book of the pairs that ``protocol`` sees, and the method that its scores have there."""
        if protocol.detail not in self._kept:
            return self._book, self._sources[source(protocol)]
        if protocol.detail not in self._restricted:
            self._restricted[protocol.detail] = self._book.restricted(self._kept[protocol.detail])
        return self._restricted[protocol.detail], self._sources[source(replace(protocol, detail=""))]

    def protocols(self, row: str) -> list[Protocol]:
        """Every combination that has scores, restrictions of pairs left out; the house's measure and mean first."""
        ways = AGGREGATIONS if row in self.groups else (Aggregation.PER_SET,)
        return [
            replace(scored, measure=measure, aggregation=aggregation)
            for scored in self._sources
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
        restricted = protocol.detail in self._kept
        if source(replace(protocol, detail="") if restricted else protocol) not in self._sources:
            return False
        if not restricted:
            return self.fitting(protocol, row) != self.fitting(self.house, row)
        return 0 < self._size(protocol, row) < self._size(self.house, row)

    def _size(self, protocol: Protocol, row: str) -> int:
        """How many pairs of the row ``protocol`` sees."""
        book, _ = self._seen(protocol)
        return sum(len(book.gold(name)) for name in book.members(row) if name in book.names)

    # -- numbers -------------------------------------------------------------------------------------------------------

    def value(self, protocol: Protocol, row: str, seed: int | None) -> float:
        """One number; see `sentbook.evaluation.predictions.Predictions.value`."""
        (book, method), how = self._seen(protocol), self.fitting(protocol, row)
        return book.value(method, seed, row, how.measure, how.aggregation)

    def mean(self, protocol: Protocol, row: str) -> float:
        """The mean over seeds."""
        return float(np.mean([self.value(protocol, row, seed) for seed in self.seeds]))

    def metric_rows(self, method: str, protocols: Sequence[Protocol], row: str) -> list[Metric]:
        """The ledger's rows: every seed of ``row`` under each of ``protocols``."""
        found = []
        for how in dict.fromkeys(self.fitting(protocol, row) for protocol in protocols):
            book, name = self._seen(how)
            rows = book.metric_rows(how, [row], [name])
            found += [metric.model_copy(update={"method": method}) for metric in rows]
        return found

    # -- comparisons ---------------------------------------------------------------------------------------------------

    def resampled(self, protocol: Protocol, row: str, resamples: int) -> Array:
        """(R,) values of a row on resampled pairs, mean over seeds.

        Pairs are drawn within each set, the same for every protocol and seed, so that the difference of two protocols
        is that of two numbers on the same pairs.
        """
        (book, method), how = self._seen(protocol), self.fitting(protocol, row)
        (found,) = book.resampled([method], row, how.measure, resamples, aggregation=how.aggregation)
        return found

    def effect(self, protocol: Protocol, row: str, resamples: int = 2000, *, against: Protocol | None = None) -> Test:
        """``protocol`` less the house's (or ``against``) on a row, by the paired bootstrap over pairs, seeds pooled."""
        other = self.house if against is None else against
        sampled = self.resampled(protocol, row, resamples) - self.resampled(other, row, resamples)
        names = {"a": str(self.fitting(protocol, row)), "b": str(self.fitting(other, row))}
        found = from_bootstrap(self.mean(protocol, row) - self.mean(other, row), sampled)
        return Test.of(found, kind=KIND, **names, dataset=row, metric=str(protocol.measure))

    def interval(self, row: str, resamples: int = 2000) -> Estimate:
        """The house's number on a row, mean over seeds, with its interval over pairs."""
        return percentiles(self.mean(self.house, row), self.resampled(self.house, row, resamples))

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
