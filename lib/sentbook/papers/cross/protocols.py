"""One trained encoder under every protocol: what is scored, which choices are moved, and what the ledger keeps."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentbook import records as results
from sentbook.config import load
from sentbook.data import suites
from sentbook.data.overlap import key
from sentbook.data.splits import STS2012_SOURCES
from sentbook.data.text import UNKNOWN, TokenIds, Tokenisation
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.protocol_matrix import (
    AGGREGATIONS,
    BENCHMARK_HEAD,
    DROPPED,
    HOUSE,
    INNER,
    STEP,
    UNSEEN,
    WITH_TRAINING,
    ProtocolMatrix,
)
from sentbook.evaluation.protocols import COSINE_PEARSON, Aggregation, Measure, Protocol, Score
from sentbook.evaluation.statistics import corrected
from sentbook.models import FrozenVectors, encode_ids
from sentbook.papers.cross.settings import Settings as CrossSettings
from sentbook.papers.dnt import experiments as dnt
from sentbook.papers.dnt.settings import Settings as DNTSettings
from sentbook.study import Study
from sentbook.system.errors import ConfigError, NumericalError
from sentbook.training.cosine import cosine, tokenise_sets
from sentbook.training.devices import device_of
from sentbook.training.loop import fit
from sentbook.training.problems.transfer import HeadProblem
from sentbook.training.recipes import Recipe, Trained
from sentbook.training.search import points
from sentbook.training.settings import HeadTraining

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """One choice moved from the house's protocol, all others left; ``kind`` is the step of scoring it is part of."""

    name: str
    kind: str
    protocol: Protocol


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
    study = Study("dnt/table4", transfer)
    known = dnt.encoders(study, transfer) | dnt.other_encoders(study, transfer)
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


# -- scores ------------------------------------------------------------------------------------------------------------


class Encoded:
    """An encoder's vectors of the test sets under one tokenisation; each distinct sentence is encoded once."""

    def __init__(self, item: Trained, sets: Sequence[ScoredPairs], tokenisation: Tokenisation, device: str) -> None:
        self.item, self.tokenisation, self.device = item, tokenisation, device
        self.tokens = tokenise_sets(sets, item.vocabulary, tokenisation)
        self.frozen = FrozenVectors(item.encoder().to(device_of(device)))

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
        encoder = self.frozen.encoder
        return {
            name: cosine(*(encode_ids(encoder, without_unknown(side)) for side in both))
            for name, both in self.tokens.items()
        }

    def head(self, stage: HeadTraining) -> tuple[float, dict[str, Array]]:
        """A head trained on the vectors: its best development value, and the scores that it then predicts.

        Raises:
            NumericalError: the training diverged.
        """
        splits = {split: suites.pairs(stage.dataset, split) for split in ("train", "trial", "test")}
        problem = HeadProblem(
            self.frozen.encoder,
            self.item.vocabulary,
            stage,
            splits,
            seed=self.item.seed,
            tokenisation=self.tokenisation,
            vectors=self.frozen,
        )
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
        heads = {"": "sts12" if real else transfer.datasets[0]}
        for item in encoded:
            matrix.add(how, item.item.seed, item.cosines())
        if how == house:
            heads |= {BENCHMARK_HEAD: "stsb"} if real else {}
            for item in encoded:
                matrix.add(replace(how, detail=DROPPED), item.item.seed, item.cosines_of_known())
                matrix.add(replace(how, detail=INNER), item.item.seed, item.inner_products())
        for detail, dataset in heads.items():
            found, tried = _heads(transfer, encoded, dataset)  # type: ignore[arg-type]
            for item, scores in zip(encoded, found, strict=True):
                matrix.add(replace(how, score=Score.TRAINED_HEAD, detail=detail), item.item.seed, scores)
            chosen.append({"tokens": tokens, "dataset": dataset, **tried})
    matrix.restrict(UNSEEN, unseen(sets, trained))
    surprises = [pairs for pairs in sets if pairs.name.startswith("STS2012/")]
    kept = [f"STS2012/{source}" for source in STS2012_SOURCES]
    matrix.restrict(WITH_TRAINING, {pairs.name: np.full(len(pairs), pairs.name in kept) for pairs in surprises})
    return matrix, chosen


def _heads(
    transfer: DNTSettings, encoded: Sequence[Encoded], dataset: suites.Dataset
) -> tuple[list[dict[str, Array]], dict[str, Any]]:
    """The scores of feature transfer by KL, one mapping a seed, and what its grid was chosen from."""
    grid = points(*dnt.stage_of(transfer, "FT KL", dataset))
    tried: list[tuple[float | None, dict[str, Array]]] = []
    for stage in grid:
        assert isinstance(stage, HeadTraining), "feature transfer trains a head"
        try:
            tried.append(encoded[0].head(stage))
        except NumericalError:
            tried.append((None, {}))
    values = [value for value, _ in tried if value is not None]
    if not values:
        raise NumericalError(f"Every head on {dataset} diverged; add a lower learning rate to dnt's feature_grid.")
    place = next(at for at, (value, _) in enumerate(tried) if value == max(values))
    best = grid[place]
    assert isinstance(best, HeadTraining), "feature transfer trains a head"
    others = [item.head(best)[1] for item in encoded[1:]]
    about = {
        "learning_rate": best.learning_rate,
        "batch_size": best.batch_size,
        "development": max(values),
        "tried": [{"learning_rate": s.learning_rate, "development": v} for s, (v, _) in zip(grid, tried, strict=True)],
    }
    return [tried[place][1], *others], about


# -- pairs that were met -----------------------------------------------------------------------------------------------


def met(trained: Iterable[Trained]) -> frozenset[str]:
    """Keys of every sentence that some seed's pre-training may have drawn."""
    keys: set[str] = set()
    for recipe in (item.recipe for item in trained):
        for stage in recipe.stages:
            keys |= {key(text) for text in stage.sentences(recipe.seed, recipe.suite)}
    return frozenset(keys)


def unseen(sets: Sequence[ScoredPairs], trained: Iterable[Trained]) -> dict[str, NDArray[np.bool_]]:
    """For each set which of its pairs hold no sentence that the encoder's pre-training met."""
    known = met(trained)
    return {
        pairs.name: np.array([not {key(a), key(b)} & known for a, b in zip(pairs.first, pairs.second, strict=True)])
        for pairs in sets
    }


def shared_with_benchmark(sets: Sequence[ScoredPairs]) -> dict[str, float]:
    """Row -> the share of its pairs that are training pairs of STS-B: what a head trained there has seen."""
    train = suites.pairs("stsb", "train")
    known = {frozenset((key(a), key(b))) for a, b in zip(train.first, train.second, strict=True)}
    found: dict[str, list[bool]] = {}
    for pairs in sets:
        row = f"{pairs.name.split('/')[0]}/avg" if "/" in pairs.name else pairs.name
        hits = [frozenset((key(a), key(b))) in known for a, b in zip(pairs.first, pairs.second, strict=True)]
        found.setdefault(row, []).extend(hits)
    return {row: float(np.mean(hits)) for row, hits in found.items()}


# -- choices -----------------------------------------------------------------------------------------------------------


def choices(settings: CrossSettings) -> list[Choice]:
    """Each choice moved alone, in the order in which a number is made: pairs, text, score, measure, year."""
    house = replace(COSINE_PEARSON, tokens=settings.tokenisation)
    head = replace(house, score=Score.TRAINED_HEAD)
    moved = [
        Choice(WITH_TRAINING, "sets", replace(house, detail=WITH_TRAINING)),
        Choice(UNSEEN, "training data", replace(house, detail=UNSEEN)),
        *(
            Choice(f"tokens: {tokens}", "tokenisation", replace(house, tokens=tokens))
            for tokens in settings.tokenisations
            if tokens != settings.tokenisation
        ),
        Choice(DROPPED, "unknown words", replace(house, detail=DROPPED)),
        Choice(INNER, "score", replace(house, detail=INNER)),
        Choice("trained head", "score", head),
        Choice(BENCHMARK_HEAD, "score", replace(head, detail=BENCHMARK_HEAD)),
        Choice("Spearman in place of Pearson", "measure", replace(house, measure=Measure.SPEARMAN)),
        *(
            Choice(str(aggregation), "aggregation", replace(house, aggregation=aggregation))
            for aggregation in (Aggregation.WEIGHTED, Aggregation.POOLED)
        ),
    ]
    return moved


def comparisons(matrix: ProtocolMatrix, moved: Iterable[Choice], resamples: int) -> list[results.Test]:
    """Each choice less the house's protocol on every row where it can be moved, Holm's correction over its rows.

    Then, for each group of sets, the steps from the house's protocol to those of the lowest and the highest number.
    """
    found: list[results.Test] = []
    for choice in moved:
        rows = [row for row in matrix.rows if matrix.differs(choice.protocol, row)]
        family = [matrix.effect(choice.protocol, row, resamples) for row in rows]
        found += [test.model_copy(update={"a": choice.name, "b": HOUSE}) for test in corrected(family)]
    for row in matrix.groups:
        paths = [matrix.path(row, end) for end in matrix.ends(row)]
        steps = dict.fromkeys(pair for path in paths for pair in itertools.pairwise(path))  # both may begin alike
        for before, after in steps:
            step = matrix.effect(after, row, resamples, against=before)
            found.append(step.model_copy(update={"kind": STEP}))
    return found


def _recorded(matrix: ProtocolMatrix, moved: Iterable[Choice], row: str) -> list[Protocol]:
    """Every combination, and the choices that are none of them; fewer sets also by the other aggregations."""
    alone = [choice.protocol for choice in moved if matrix.differs(choice.protocol, row)]
    fewer = [
        replace(protocol, aggregation=aggregation)
        for protocol in alone
        if protocol.detail == WITH_TRAINING
        for aggregation in AGGREGATIONS
    ]
    return list(dict.fromkeys([*matrix.protocols(row), *alone, *fewer]))


def metric_rows(matrix: ProtocolMatrix, method: str, moved: Sequence[Choice]) -> list[results.Metric]:
    """The ledger's rows: every row and seed under every protocol that was measured."""
    return [metric for row in matrix.rows for metric in matrix.metric_rows(method, _recorded(matrix, moved, row), row)]


def extra(
    matrix: ProtocolMatrix,
    settings: CrossSettings,
    moved: Sequence[Choice],
    chosen: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """What the page says beside the numbers: the protocols by their fields, the paths, the overlap, the heads."""
    known = dict.fromkeys(
        matrix.fitting(protocol, row) for row in matrix.rows for protocol in _recorded(matrix, moved, row)
    )
    sets = test_sets(settings)
    return {
        "encoder": settings.encoder,
        "house": str(matrix.house),
        "protocols": [{"protocol": str(how), **_fields(how)} for how in known],
        "choices": [{"name": choice.name, "kind": choice.kind, **_fields(choice.protocol)} for choice in moved],
        "paths": {
            row: [[str(how) for how in matrix.path(row, end)] for end in matrix.ends(row)] for row in matrix.groups
        },
        "intervals": {row: vars(matrix.interval(row, settings.resamples)) for row in matrix.rows},
        "in STS-B's training pairs": shared_with_benchmark(sets) if settings.suite != "miniworld" else {},
        "heads": list(chosen),
    }


def _fields(protocol: Protocol) -> dict[str, str]:
    return {name: str(value) for name, value in vars(protocol).items()}
