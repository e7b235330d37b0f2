"""Scrambling moves whole pairs and only those; the faithful encoder sees one side at a time; sets weigh the same."""

from collections import Counter

import numpy as np
import pytest
import torch
from torch import Tensor

from sentbook.data.text import Vocabulary
from sentbook.data.types import ParaphrasePairs, ScoredPairs
from sentbook.models import CSE, Average
from sentbook.models.build import build
from sentbook.models.cse import CSEEncoder
from sentbook.models.losses import margin_loss
from sentbook.training.correlation import pearson
from sentbook.training.cosine import cosine
from sentbook.training.problems.paraphrase import ParaphraseProblem, prepare
from sentbook.training.settings import MarginTraining

WORDS = [f"{a}{b}" for a in "bcdfghjklm" for b in "aeiou"]
VOCABULARY = Vocabulary(WORDS)


def weight() -> Tensor:
    matrix = torch.randn(len(VOCABULARY), 6, generator=torch.Generator().manual_seed(0))
    matrix[0] = 0
    return matrix


def pairs(count: int = 24) -> ParaphrasePairs:
    """Long sentences of distinct words, so that a permutation shows."""
    rng = np.random.default_rng(1)
    first, second = ([" ".join(rng.permutation(WORDS)[: rng.integers(12, 20)]) for _ in range(count)] for _ in range(2))
    return ParaphrasePairs("p", first, second, ["p"] * count)


def check(name: str, seed: int, noise: float = 1.0) -> ScoredPairs:
    rng = np.random.default_rng(seed)
    sides = [[" ".join(rng.choice(WORDS, rng.integers(1, 8))) for _ in range(10)] for _ in range(2)]
    return ScoredPairs(name, *sides, rng.random(10) * noise, (0, 5))


def problem(encoder: CSE | Average | None = None, **changes: object) -> ParaphraseProblem:
    sets = [check("one", 1), check("two", 2, 5.0)]
    return prepare(encoder or Average(weight()), VOCABULARY, pairs(), MarginTraining(**changes), sets, "ptb")


def seen(trained: ParaphraseProblem) -> list[Tensor]:
    """The ids of every call of the encoder from now on."""
    calls: list[Tensor] = []
    trained.encoder.register_forward_pre_hook(lambda module, arguments: calls.append(arguments[0].clone()))
    return calls


def as_lists(ids: Tensor) -> list[list[int]]:
    return [[word for word in row if word] for row in ids.tolist()]


ROWS = np.array([3, 17, 0, 8, 21, 5, 11, 2])


@pytest.mark.parametrize("windows", ["masked", "batch"])
def test_scrambling_permutes_both_members_of_a_scrambled_pair_only(windows: str) -> None:
    encoder = build(CSEEncoder(filters=2, windows=windows), weight(), seed=1)
    plain, scrambling = problem(encoder, scramble=0.0), problem(encoder, scramble=0.5)
    calls = seen(plain)  # the encoder is shared
    plain.loss(ROWS, np.random.default_rng(7))
    before = [row for ids in calls for row in as_lists(ids)]
    calls.clear()
    scrambling.loss(ROWS, np.random.default_rng(7))
    after = [row for ids in calls for row in as_lists(ids)]
    assert len(before) == len(after) == 2 * len(ROWS)
    chosen = np.random.default_rng(7).random(len(ROWS)) < 0.5
    assert 0 < chosen.sum() < len(ROWS)
    moved = [one != other for one, other in zip(before, after, strict=True)]
    assert moved == [*chosen, *chosen]
    assert all(Counter(one) == Counter(other) for one, other in zip(before, after, strict=True))


def test_without_scrambling_words_stay_in_order_and_nothing_is_drawn() -> None:
    trained = problem(scramble=0.0)
    calls = seen(trained)
    rng = np.random.default_rng(7)
    trained.loss(ROWS, rng)
    expected = VOCABULARY.encode([pairs().first[row] for row in ROWS] + [pairs().second[row] for row in ROWS])
    assert as_lists(calls[0]) == [
        expected.flat[expected.offsets[row] : expected.offsets[row + 1]].tolist() for row in range(2 * len(ROWS))
    ]
    assert rng.random() == np.random.default_rng(7).random()


@pytest.mark.parametrize("windows", ["masked", "batch"])
def test_a_batch_dependent_encoder_is_run_a_side_at_a_time(windows: str) -> None:
    encoder = build(CSEEncoder(filters=2, windows=windows), weight(), seed=1)
    with torch.no_grad():
        encoder.composition()[-1].fill_(0.3)
    trained = problem(encoder)
    calls = seen(trained)
    loss = trained.loss(ROWS, np.random.default_rng(0))
    if windows == "masked":
        assert [len(ids) for ids in calls] == [2 * len(ROWS)]
    else:
        assert [len(ids) for ids in calls] == [len(ROWS), len(ROWS)]
        for ids in calls:  # padded to its own side's longest sentence
            assert ids.shape[1] == max(map(len, as_lists(ids)))
    assert loss.item() > 0


def test_the_loss_is_the_margin_loss_of_the_two_sides() -> None:
    trained = problem(margin=0.5, candidates="both sides")
    ids = [VOCABULARY.encode([side[row] for row in ROWS]) for side in (pairs().first, pairs().second)]
    vectors = [trained.encoder(*map(torch.from_numpy, tokens.padded(np.arange(len(ROWS))))) for tokens in ids]
    expected = margin_loss(*vectors, margin=0.5, selection="max", candidates="both sides")
    torch.testing.assert_close(trained.loss(ROWS, np.random.default_rng(0)), expected)


def test_validation_is_the_mean_pearson_of_the_sets() -> None:
    trained = problem()
    values = []
    for pairs_ in trained.validation:
        sides = []
        for side in (pairs_.first, pairs_.second):
            tokens = VOCABULARY.encode(side)
            with torch.no_grad():
                sides.append(trained.encoder(*map(torch.from_numpy, tokens.padded(np.arange(len(side))))).numpy())
        values.append(pearson(cosine(*sides), pairs_.gold))
    assert trained.validate() == pytest.approx(np.mean(values), abs=1e-6)
    assert values[0] != pytest.approx(values[1], abs=1e-3)


def test_the_composition_alone_is_pulled_to_zero() -> None:
    trained = problem(build(CSEEncoder(filters=2), weight(), seed=1), composition_decay=0.25)
    found = list(trained.penalties())
    assert [id(parameter) for parameter, _, _ in found] == [id(value) for value in trained.encoder.composition()]
    assert {(coefficient, anchor) for _, coefficient, anchor in found} == {(0.25, None)}
    assert list(problem().penalties()) == []  # PP has no composition
