"""One trained encoder under every protocol: what is scored, which choices are moved, and how far a number moves."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sentbook.config import load
from sentbook.data import suites
from sentbook.data.overlap import key
from sentbook.data.splits import STS2012_SOURCES
from sentbook.data.text import UNKNOWN, TokenIds, Tokenisation
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import KIND, Predictions
from sentbook.evaluation.protocols import (
    AGGREGATIONS,
    CORRELATIONS,
    COSINE_PEARSON,
    Aggregation,
    Measure,
    Protocol,
    Score,
)
from sentbook.evaluation.statistics import Estimate, from_bootstrap, percentiles
from sentbook.evaluation.sts import by_year
from sentbook.io import ConfigError, NumericalError
from sentbook.models import FrozenVectors, encode_ids
from sentbook.papers.cross.experiments import met
from sentbook.papers.cross.settings import Settings as CrossSettings
from sentbook.papers.dnt import experiments as dnt
from sentbook.papers.dnt.settings import Settings as DNTSettings
from sentbook.records import Metric, Test
from sentbook.study import Study
from sentbook.training.cosine import cosine, tokenise_sets
from sentbook.training.loop import fit
from sentbook.training.problems.transfer import HeadProblem
from sentbook.training.recipes import Recipe, Trained
from sentbook.training.search import grid_of, points
from sentbook.training.settings import HeadTraining

Array = NDArray[np.float64]
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


# -- the encoder -------------------------------------------------------------------------------------------------------


def transfer_settings(settings: CrossSettings) -> DNTSettings:
    """The configuration of ``dnt`` in the same profile, which makes encoders and heads, so that they are found."""
    changes: dict[str, Any] = {name: getattr(settings, name) for name in ("profile", "device", "jobs")}
    if settings.protocol_seeds is not None:
        changes |= {"seeds": settings.protocol_seeds, "ablation_seeds": settings.protocol_seeds}
    return load("dnt", changes)


def recipes(settings: CrossSettings) -> list[Recipe]:
    """The encoder that ``settings`` names, one recipe a seed.

    Raises:
        ConfigError: ``dnt`` has no such encoder.
    """
    transfer = transfer_settings(settings)
    known = dnt.pretrained(Study("dnt/table4", transfer), transfer)
    if settings.encoder not in known:
        raise ConfigError(f"There is no encoder '{settings.encoder}'; choose one of {', '.join(known)}.")
    return known[settings.encoder]


def test_sets(settings: CrossSettings) -> list[ScoredPairs]:
    """STS 2012 to 2016, SICK and STS-B, or the mini-world's domains."""
    if settings.suite == "miniworld":
        return suites.test_sets("miniworld")
    benchmark = replace(suites.pairs("stsb", "test"), name=suites.test_name("stsb"))
    return [*suites.test_sets("sts"), benchmark]


test_sets.__test__ = False  # type: ignore[attr-defined]  # not a pytest function


class Encoded:
    """An encoder's vectors of the test sets under one tokenisation; each distinct sentence is encoded once."""

    def __init__(self, item: Trained, sets: Sequence[ScoredPairs], tokenisation: Tokenisation, device: str) -> None:
        self.item, self.tokenisation, self.device = item, tokenisation, device
        self.tokens = tokenise_sets(sets, item.vocabulary, tokenisation)
        self.frozen = FrozenVectors(item.encoder(device))

    def sides(self, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(N, F) vectors of the first and of the second sentences of a set."""
        first, second = (self.frozen.places(side) for side in self.tokens[name])
        table = self.frozen.table.numpy()
        return table[first], table[second]

    def cosines(self) -> dict[str, Array]:
        return {name: cosine(*self.sides(name)) for name in self.tokens}

    def inner_products(self) -> dict[str, Array]:
        """The numerators of the cosines: long sentences and strong words weigh more."""
        return {name: np.einsum("nf,nf->n", *self.sides(name), dtype=np.float64) for name in self.tokens}

    def cosines_of_known(self) -> dict[str, Array]:
        """Cosines without the tokens that have no vector, in place of the one vector of all of them."""
        return {
            name: cosine(*(encode_ids(self.frozen.encoder, without_unknown(side)) for side in both))
            for name, both in self.tokens.items()
        }

    def head(self, stage: HeadTraining) -> tuple[float, dict[str, Array]]:
        """A head trained on the vectors: its best development value, and the scores that it then predicts.

        Raises:
            NumericalError: the training diverged.
        """
        splits = {split: suites.pairs(stage.dataset, split) for split in ("train", "trial", "test")}
        problem = HeadProblem(
            self.frozen.encoder, self.item.vocabulary, stage, splits, seed=self.item.seed,
            tokenisation=self.tokenisation, vectors=self.frozen,
        )  # fmt: skip
        history = fit(problem, stage, seed=self.item.seed, device=self.device, report=lambda line: None)
        return history.best, {name: problem.predict(sides) for name, sides in self.tokens.items()}


def without_unknown(tokens: TokenIds) -> TokenIds:
    """The same sentences without unknown words; a sentence of nothing else stays as it is.

    Example:
        >>> short = without_unknown(TokenIds(np.array([5, 1, 6, 1, 1]), np.array([0, 3, 5])))
        >>> short.flat.tolist(), short.offsets.tolist()
        ([5, 6, 1, 1], [0, 2, 4])
    """
    sentences = np.split(tokens.flat, tokens.offsets[1:-1])
    known = [ids[ids != UNKNOWN] if (ids != UNKNOWN).any() else ids for ids in sentences]
    return TokenIds(np.concatenate(known), np.cumsum([0, *map(len, known)]))


# -- numbers -----------------------------------------------------------------------------------------------------------


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

    Attributes:
        groups: the rows that are made of several sets.
        rows: all rows.

    Example:
        >>> gold = np.arange(8.0)
        >>> sets = [ScoredPairs(f"Y/{name}", ["a"] * 8, ["b"] * 8, gold, (0, 7)) for name in "pq"]
        >>> matrix = ProtocolMatrix(sets)
        >>> matrix.add(COSINE_PEARSON, 1, {"Y/p": gold, "Y/q": 2 * gold + 1})
        >>> pooled = replace(COSINE_PEARSON, aggregation=Aggregation.POOLED)
        >>> [round(matrix.mean(how, "Y/avg"), 2) for how in (COSINE_PEARSON, pooled)]
        [1.0, 0.81]
    """

    def __init__(self, sets: Sequence[ScoredPairs], house: Protocol = COSINE_PEARSON) -> None:
        self.house = house
        groups = by_year([pairs for pairs in sets if "/" in pairs.name])
        means = {f"{year}/avg": [pairs.name for pairs in members] for year, members in groups.items()}
        self.groups = list(means)
        self.rows = [*self.groups, *(pairs.name for pairs in sets if "/" not in pairs.name)]
        # All pairs kept is as all pairs, but for the memory's layout, which the rounding of recorded intervals follows.
        whole = {pairs.name: np.ones(len(pairs), dtype=bool) for pairs in sets}
        # The book of all pairs, whose methods are protocols without measure and aggregation in words; and by the detail
        # of protocols that see some pairs alone, the book of these.
        self._books = {"": Predictions(sets, means=means).restricted(whole)}
        self._sources: dict[Protocol, None] = {}

    def add(self, protocol: Protocol, seed: int, scores: Mapping[str, ArrayLike]) -> None:
        """Take one seed's scores of every set; measure and aggregation of ``protocol`` do not count.

        Raises:
            ValueError: a set has no scores, or another number of scores than pairs.
            NumericalError: a score is NaN or infinite.
        """
        self._sources[source(protocol)] = None
        for name in self._books[""].names:
            self._books[""].add(str(source(protocol)), seed, name, scores.get(name, ()))

    def restrict(self, detail: str, kept: Mapping[str, NDArray[np.bool_]]) -> None:
        """Let protocols with this ``detail`` see only some pairs of the scores so far: (N,) true where a pair counts.

        Sets that are not named count as a whole, and a set of which fewer than two pairs are left does not count.
        """
        self._books[detail] = self._books[""].restricted(kept)

    def _seen(self, protocol: Protocol) -> tuple[Predictions, Protocol]:
        """The book of the pairs that ``protocol`` sees, and the protocol whose scores it reads there."""
        restricted = protocol.detail in self._books
        return self._books[protocol.detail if restricted else ""], source(
            replace(protocol, detail="") if restricted else protocol
        )

    def protocols(self, row: str) -> list[Protocol]:
        """Every combination that has scores, restrictions of pairs left out; the house's measure and mean first."""
        ways = AGGREGATIONS if row in self.groups else (Aggregation.PER_SET,)
        return [
            replace(scored, measure=measure, aggregation=aggregation)
            for scored in self._sources
            if not scored.detail
            for measure, aggregation in itertools.product(CORRELATIONS, ways)
        ]

    def fitting(self, protocol: Protocol, row: str) -> Protocol:
        """``protocol`` as it is called on ``row``: per set where there is one set alone."""
        return protocol if row in self.groups else replace(protocol, aggregation=Aggregation.PER_SET)

    def differs(self, protocol: Protocol, row: str) -> bool:
        """Whether ``protocol`` has scores, and another way to the row's number than the house's.

        A restriction has one where it leaves out a pair of the row, and leaves in two of some set.
        """
        book, scored = self._seen(protocol)
        if book is self._books[""] or scored not in self._sources:
            return scored in self._sources and self.fitting(protocol, row) != self.fitting(self.house, row)
        size, whole = (
            sum(len(one.gold(name)) for name in one.members(row) if name in one.names)
            for one in (book, self._books[""])
        )
        return 0 < size < whole

    def mean(self, protocol: Protocol, row: str) -> float:
        """One number, the mean over seeds; see `sentbook.evaluation.predictions.Predictions.value`."""
        (book, scored), how = self._seen(protocol), self.fitting(protocol, row)
        return book.mean(str(scored), row, how.measure, how.aggregation)

    def resampled(self, protocol: Protocol, row: str, resamples: int) -> Array:
        """(R,) values of a row on resampled pairs, mean over seeds.

        Pairs are drawn within each set, the same for every protocol and seed, so that the difference of two protocols
        is that of two numbers on the same pairs.
        """
        (book, scored), how = self._seen(protocol), self.fitting(protocol, row)
        (found,) = book.resampled([str(scored)], row, how.measure, resamples, aggregation=how.aggregation)
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

    def measured(self, moved: Iterable[Protocol], row: str) -> list[Protocol]:
        """Every protocol that the ledger keeps of a row: all combinations, then the choices that are none of them, of
        fewer sets also by the other aggregations."""
        alone = [how for how in moved if self.differs(how, row)]
        fewer = [replace(how, aggregation=way) for how in alone if how.detail == WITH_TRAINING for way in AGGREGATIONS]
        return list(dict.fromkeys(self.fitting(how, row) for how in [*self.protocols(row), *alone, *fewer]))

    def metric_rows(self, method: str, moved: Sequence[Protocol]) -> list[Metric]:
        """The ledger's rows: every row and seed under every protocol that was measured."""
        found = []
        for row in self.rows:
            for how in self.measured(moved, row):
                book, scored = self._seen(how)
                rows = book.metric_rows(how, [row], [str(scored)])
                found += [metric.model_copy(update={"method": method}) for metric in rows]
        return found


def score(settings: CrossSettings, trained: Sequence[Trained]) -> tuple[ProtocolMatrix, list[dict[str, Any]]]:
    """Every score that a protocol reads, and how each head was chosen.

    Cosine and head are scored under every tokenisation, the head trained anew for each; the other choices under the
    house's alone. The heads' learning rate and batch size are chosen with the first seed on the development pairs.
    """
    transfer, sets = transfer_settings(settings), test_sets(settings)
    house = replace(COSINE_PEARSON, tokens=settings.tokenisation)
    matrix, chosen = ProtocolMatrix(sets, house), []
    real = settings.suite != "miniworld"
    for tokens in dict.fromkeys((settings.tokenisation, *settings.tokenisations)):
        how = replace(house, tokens=tokens)
        encoded = [Encoded(item, sets, tokens, settings.device) for item in trained]
        heads: dict[str, suites.Dataset] = {"": "sts12" if real else transfer.datasets[0]}
        for item in encoded:
            matrix.add(how, item.item.seed, item.cosines())
        if how == house:
            heads |= {BENCHMARK_HEAD: "stsb"} if real else {}
            for item in encoded:
                matrix.add(replace(how, detail=DROPPED), item.item.seed, item.cosines_of_known())
                matrix.add(replace(how, detail=INNER), item.item.seed, item.inner_products())
        for detail, dataset in heads.items():
            found, tried = heads_of(transfer, encoded, dataset)
            for item, scores in zip(encoded, found, strict=True):
                matrix.add(replace(how, score=Score.TRAINED_HEAD, detail=detail), item.item.seed, scores)
            chosen.append({"tokens": tokens, "dataset": dataset, **tried})
    matrix.restrict(UNSEEN, unseen(sets, trained))
    kept = [f"STS2012/{name}" for name in STS2012_SOURCES]
    year = [pairs for pairs in sets if pairs.name.startswith("STS2012/")]
    matrix.restrict(WITH_TRAINING, {pairs.name: np.full(len(pairs), pairs.name in kept) for pairs in year})
    return matrix, chosen


def heads_of(
    transfer: DNTSettings, encoded: Sequence[Encoded], dataset: suites.Dataset
) -> tuple[list[dict[str, Array]], dict[str, Any]]:
    """The scores of feature transfer by KL, one mapping a seed, and what its grid was chosen from.

    Raises:
        NumericalError: every training of the grid diverged.
    """
    grid = [
        stage
        for stage in points(*grid_of(*dnt.stage_of(transfer, "FT KL", dataset)))
        if isinstance(stage, HeadTraining)
    ]
    tried: list[tuple[float | None, dict[str, Array]]] = []
    for stage in grid:
        try:
            tried.append(encoded[0].head(stage))
        except NumericalError:
            tried.append((None, {}))
    values = [value for value, _ in tried if value is not None]
    if not values:
        raise NumericalError(f"Every head on {dataset} diverged; add a lower learning rate to dnt's feature_grid.")
    best, (_, first) = next(pair for pair in zip(grid, tried, strict=True) if pair[1][0] == max(values))
    about = {
        "learning_rate": best.learning_rate,
        "batch_size": best.batch_size,
        "development": max(values),
        "tried": [{"learning_rate": s.learning_rate, "development": v} for s, (v, _) in zip(grid, tried, strict=True)],
    }
    return [first, *(item.head(best)[1] for item in encoded[1:])], about


def unseen(sets: Sequence[ScoredPairs], trained: Iterable[Trained]) -> dict[str, NDArray[np.bool_]]:
    """For each set which of its pairs hold no sentence that the encoder's pre-training met, of any seed."""
    known = met(item.recipe for item in trained)
    return {
        pairs.name: np.array([not {key(a), key(b)} & known for a, b in zip(pairs.first, pairs.second, strict=True)])
        for pairs in sets
    }
