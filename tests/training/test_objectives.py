"""The problems that pairs of sentences pose: each loss by hand, scores in the order of pairs, nothing chosen by a test.

Margins between paraphrases, similarity alone, a head on pairs of vectors, inference; and what a transfer freezes.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from sentbook.data import corpora
from sentbook.data.text import Vocabulary
from sentbook.data.types import LabelledPairs, ParaphrasePairs, ScoredPairs
from sentbook.judge import printed as reported
from sentbook.models import SentenceEncoder, build, encode
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.encode import cosine
from sentbook.models.losses import (
    EntailmentHead,
    entailment_loss,
    margin_loss,
    pair_score,
    score_loss,
    sparse_target,
    squared_error_loss,
)
from sentbook.models.recurrent import BiLSTMEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.training.correlation import mse, pearson
from sentbook.training.objectives import (
    DirectTransfer,
    EntailmentTraining,
    HeadTraining,
    MarginTraining,
    Objective,
    RelatednessTraining,
    SimilarityTraining,
    Start,
)
from sentbook.training.objectives.scored import shift_to_classes
from sentbook.training.train import History, train

WORDS = [f"{a}{b}" for a in "bcdfghjklm" for b in "aeiou"]
VOCABULARY = Vocabulary(WORDS)
CSE, WSV, AVERAGE = CSEEncoder(filters=3), WSVEncoder(filters=7), AverageEncoder()
ROWS = np.array([3, 17, 0, 8, 21, 5, 11, 2])
Splits = dict[str, ScoredPairs]


def built(options: Encoder) -> SentenceEncoder:
    weight = torch.randn(len(VOCABULARY), 6, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    return build(options, weight, seed=1)


def scored(seed: int, scale: tuple[float, float] = (1, 5), count: int = 30) -> ScoredPairs:
    """Gold is the share of words that the two sentences have in common; some sentences occur in many pairs."""
    rng = np.random.default_rng(seed)
    first, second, gold = [], [], []
    for _ in range(count):
        words = rng.permutation(WORDS)[: rng.integers(4, 9)].tolist()
        kept = int(rng.integers(0, len(words) + 1))
        first.append(" ".join(words))
        second.append(" ".join(words[:kept] + rng.permutation(WORDS)[: rng.integers(1, 10 - kept)].tolist()))
        gold.append(scale[0] + (scale[1] - scale[0]) * kept / len(words))
    # The first sentence again, on either side and beside itself.
    first += [first[0], first[3], first[0]]
    second += [second[5], first[0], first[0]]
    gold += [scale[0], scale[0], scale[1]]
    return ScoredPairs("made", first, second, np.array(gold), scale)


def splits(scale: tuple[float, float] = (1, 5)) -> Splits:
    return {name: scored(seed, scale) for seed, name in enumerate(("train", "trial", "test"), start=1)}


def start(encoder: SentenceEncoder | Encoder, seed: int = 1, trained: bool = False) -> Start:
    made = encoder if isinstance(encoder, SentenceEncoder) else built(encoder)
    return Start(made, VOCABULARY, seed, trained=trained)


def fitted(bound: Objective, report: Callable[[str], Any] = lambda line: None) -> History:
    return train(bound, seed=1, device="cpu", report=report)


@torch.no_grad()
def alone(encoder: SentenceEncoder, sentence: str) -> Tensor:
    """(1, F), the sentence by itself."""
    ids = torch.from_numpy(VOCABULARY.encode([sentence]).flat).unsqueeze(0)
    return encoder(ids, torch.tensor([ids.shape[1]]))


def loss(bound: Objective, rows: NDArray[np.int64] = ROWS) -> Tensor:
    return bound.compute_loss(bound.batch(rows, np.random.default_rng(0))).detach()


# -- margins between paraphrases ---------------------------------------------------------------------------------------


def long_pairs() -> ParaphrasePairs:
    """Long sentences of distinct words, so that a permutation shows."""
    rng = np.random.default_rng(1)
    first, second = ([" ".join(rng.permutation(WORDS)[: rng.integers(12, 20)]) for _ in range(24)] for _ in range(2))
    return ParaphrasePairs("p", first, second)


def paraphrase(encoder: SentenceEncoder | None = None, **changes: Any) -> MarginTraining:
    sets = [dataclasses.replace(scored(seed), name=name) for seed, name in ((1, "one"), (2, "two"))]
    return MarginTraining(**changes).bind(start(encoder or AVERAGE), (long_pairs(), sets))


@pytest.mark.parametrize("windows", ["masked", "batch"])
def test_scrambling_permutes_both_members_of_a_scrambled_pair_only(windows: Any) -> None:
    """And an encoder that sees its batch's padding gets a call for each side, as wide as its longest sentence."""

    def words(scramble: float) -> tuple[list[list[int]], float]:
        rng = np.random.default_rng(7)
        calls = paraphrase(built(CSEEncoder(filters=2, windows=windows)), scramble=scramble).batch(ROWS, rng).sentences
        assert [len(ids) for ids, _ in calls] == ([2 * len(ROWS)] if windows == "masked" else [len(ROWS)] * 2)
        assert all(ids.shape[1] == lengths.max() for ids, lengths in calls)
        return [[word for word in row if word] for ids, _ in calls for row in ids.tolist()], rng.random()

    (before, drawn), (after, _) = words(0.0), words(0.5)
    assert drawn == np.random.default_rng(7).random()  # nothing was drawn
    tokens = VOCABULARY.encode([side[row] for side in (long_pairs().first, long_pairs().second) for row in ROWS])
    assert before == [tokens.flat[slice(*tokens.offsets[at : at + 2])].tolist() for at in range(2 * len(ROWS))]
    chosen = np.random.default_rng(7).random(len(ROWS)) < 0.5
    assert 0 < chosen.sum() < len(ROWS)
    assert [one != other for one, other in zip(before, after, strict=True)] == [*chosen, *chosen]
    assert all(Counter(one) == Counter(other) for one, other in zip(before, after, strict=True))


def test_the_loss_is_the_margin_loss_and_validation_the_mean_pearson_of_the_sets() -> None:
    problem = paraphrase(margin=0.5, candidates="both sides")
    sides = [
        torch.cat([alone(problem.encoder, side[row]) for row in ROWS])
        for side in (long_pairs().first, long_pairs().second)
    ]
    expected = margin_loss(*sides, margin=0.5, selection="max", candidates="both sides")
    torch.testing.assert_close(loss(problem), expected)
    values = [
        pearson(cosine(*(encode(problem.encoder, VOCABULARY, side) for side in (one.first, one.second))), one.gold)
        for one in problem._sets
    ]
    assert problem.judge() == pytest.approx(np.mean(values), abs=1e-6)
    assert values[0] != pytest.approx(values[1], abs=1e-3)


# -- similarity alone --------------------------------------------------------------------------------------------------


def similarity(encoder: Encoder = WSV, data: Splits | None = None, **changes: Any) -> SimilarityTraining:
    return SimilarityTraining(**changes).bind(start(encoder), data or splits())


@pytest.mark.parametrize("scale", [(1.0, 5.0), (0.0, 1.0), (-2.0, 2.0)])
def test_targets_and_what_is_watched_are_on_the_scales_that_are_asked_for(scale: tuple[float, float]) -> None:
    data, span = splits(scale), scale[1] - scale[0]
    problem = similarity(data=data, watch="test")
    share = (data["train"].gold - scale[0]) / span
    np.testing.assert_allclose(problem._target.numpy(), share, atol=1e-6)
    zero, minus = (DirectTransfer(target=target).bind(start(WSV), data) for target in ("[0, 1]", "[-1, 1]"))
    np.testing.assert_allclose(minus._target.numpy(), 2 * share - 1, atol=1e-6)
    np.testing.assert_allclose(minus.scores("test"), (zero.scores("test") + 1) / 2, atol=1e-6)
    gold, scores = data["test"].gold, problem.scores("test")
    assert problem.watched() == [
        {"split": "test", "metric": "pearson", "value": pearson(scores, gold)},
        {"split": "test", "metric": "mse", "value": mse(scale[0] + span * scores, gold)},
    ]
    assert problem.judge() == pearson(problem.scores("trial"), data["trial"].gold)


@pytest.mark.parametrize("encoder", [WSV, AVERAGE], ids=["wsv", "average"])
@pytest.mark.parametrize(("score", "falling"), [("cosine", "f1"), ("euclidean", "f3"), ("manhattan", "f2")])
def test_loss_and_scores_are_those_of_the_pairs_in_their_order(encoder: Encoder, score: Any, falling: Any) -> None:
    problem = similarity(encoder, score=score, falling=falling)
    vectors = {
        split: [torch.cat([alone(problem.encoder, text) for text in side]) for side in (pairs.first, pairs.second)]
        for split, pairs in splits().items()
    }
    for split, sides in vectors.items():
        found = problem.scores(split)
        np.testing.assert_allclose(found, pair_score(*sides, score, falling).numpy(), atol=1e-5)
        assert found.dtype == np.float64 and len(set(np.round(found, 4))) > 10
    scores = pair_score(*(side[ROWS] for side in vectors["train"]), score, falling)
    gold = torch.tensor((splits()["train"].gold[ROWS] - 1) / 4, dtype=torch.float32)
    for name in ("mse", "kl", "cross-entropy"):
        problem = similarity(encoder, loss=name, score=score, falling=falling, smoothing=0.07)
        expected = score_loss(name, scores, gold, 0.07)  # type: ignore[arg-type]
        torch.testing.assert_close(loss(problem), expected, atol=1e-5, rtol=1e-5)


def test_the_test_pairs_decide_nothing_and_watching_them_changes_nothing() -> None:
    data, runs = splits(), list[tuple[dict[str, Tensor], float, int]]()
    turned = data | {"test": dataclasses.replace(data["test"], gold=6 - data["test"].gold)}
    for asked, watch in ((data, "nothing"), (data, "test"), (turned, "test")):
        problem = similarity(data=asked, watch=watch, epochs=6, learning_rate=0.03, batch_size=8)
        history = fitted(problem)
        runs.append((problem.encoder.state_dict(), history.best, history.best_step))
    for state, *best in runs[1:]:
        assert best == [*runs[0][1:]]
        assert all(torch.equal(value, runs[0][0][name]) for name, value in state.items())


def test_a_target_below_zero_is_no_probability() -> None:
    for changes in ({"loss": "kl"}, {"loss": "cross-entropy"}, {"score": "euclidean"}):
        with pytest.raises(ValueError, match=r"target '\[-1, 1\]' goes with the loss 'mse' of the cosine"):
            DirectTransfer(target="[-1, 1]", **changes)  # type: ignore[arg-type]


# -- a head on pairs of vectors ----------------------------------------------------------------------------------------


def graded(seed: int) -> ScoredPairs:
    """Gold of any value, none of them exactly 5."""
    pairs = scored(seed)
    return dataclasses.replace(pairs, gold=np.random.default_rng(seed).uniform(1, 5, len(pairs)))


def related(loaded: bool = True, seed: int = 1, **changes: Any) -> RelatednessTraining:
    data = {"train": graded(1), "trial": graded(2), "test": graded(3)}
    return RelatednessTraining(hidden=7, **changes).bind(start(CSE, seed, trained=loaded), data)


def by_hand(problem: RelatednessTraining, pairs: ScoredPairs) -> NDArray[np.float64]:
    """(N, K) probabilities by Tai's equation 15 in numpy."""
    u, v = (encode(problem.encoder, VOCABULARY, side).astype(float) for side in (pairs.first, pairs.second))
    if problem.normalise:
        u, v = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (u, v))
    hidden, output = problem.head.layers[0], problem.head.layers[2]  # type: ignore[index]

    def linear(layer: torch.nn.Module, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()

    h = 1 / (1 + np.exp(-linear(hidden, np.hstack([u * v, np.abs(u - v)]))))
    scores = np.exp(linear(output, h))
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("normalise", "smoothing"), [(True, 0.0), (False, 1e-2)])
def test_the_heads_loss_is_the_formula_and_its_predictions_are_expected_scores(
    normalise: bool, smoothing: float
) -> None:
    problem, gold = related(normalise=normalise, smoothing=smoothing), graded(1).gold
    expected = 0.0
    for probabilities, y in zip(by_hand(problem, graded(1))[ROWS], gold[ROWS], strict=True):
        p = np.zeros(5)
        p[int(y) - 1], p[int(y)] = int(y) - y + 1, y - int(y)
        p += smoothing
        expected += sum(pi * np.log(pi / qi) for pi, qi in zip(p, probabilities, strict=True) if pi > 0)
    assert loss(problem).item() == pytest.approx(expected / (5 * len(ROWS)), rel=1e-4)
    predictions = problem.predict(problem._sides["trial"])
    np.testing.assert_allclose(predictions, by_hand(problem, graded(2)) @ np.arange(1, 6), rtol=1e-5)
    assert ((predictions >= 1) & (predictions <= 5)).all()
    assert problem.judge() == pytest.approx(pearson(predictions, graded(2).gold), abs=1e-6)


@pytest.mark.parametrize("loaded", [True, False])
def test_a_huge_coefficient_holds_loaded_values_where_they_were_and_fresh_ones_at_zero(loaded: bool) -> None:
    """With learning rate x coefficient = 1, a step of SGD lands one loss gradient away from the anchor."""
    problem = related(
        loaded, optimiser="sgd", embedding_update="frozen", learning_rate=1e-4, composition_decay=1e4, head_decay=1e4,
        epochs=2, keep="last", batch_size=10, normalise=False,  # a vector near 0 has no direction to learn from
    )  # fmt: skip
    anchors = [value.detach().clone() if loaded else torch.zeros_like(value) for value in problem.encoder.composition()]
    anchors += [torch.zeros_like(value) for value in problem.head.parameters()]
    fitted(problem)
    for value, anchor in zip([*problem.encoder.composition(), *problem.head.parameters()], anchors, strict=True):
        torch.testing.assert_close(value.detach(), anchor, atol=1e-4, rtol=0)


def test_the_seed_decides_the_head_and_the_global_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    one, same, other = (next(iter(related(seed=seed).head.parameters())) for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, same) and not torch.equal(one, other)


@given(scale=st.sampled_from([(0, 5), (1, 5), (0, 4), (-2, 2), (0, 1)]), shares=st.lists(st.floats(0, 1), max_size=9))
def test_classes_begin_at_one_and_targets_expect_the_score(scale: tuple[float, float], shares: list[float]) -> None:
    low, high = scale
    pairs = ScoredPairs("made", ["a"] * len(shares), ["b"] * len(shares), low + (high - low) * np.array(shares), scale)
    shifted = shift_to_classes(pairs)
    classes = round(shifted.scale[1])
    assert shifted.scale == (1, high - low + 1)
    np.testing.assert_allclose(shifted.gold - pairs.gold, 1 - low)
    target = sparse_target(torch.from_numpy(shifted.gold), classes).numpy()
    np.testing.assert_allclose(target.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(target @ np.arange(1, classes + 1), shifted.gold, atol=1e-12)


# -- the settings of transfer ------------------------------------------------------------------------------------------


def direct(config: Encoder, **changes: Any) -> DirectTransfer:
    return DirectTransfer(**{"epochs": 1, "batch_size": 10, **changes}).bind(start(config), splits((-2, 2)))


def with_head(config: Encoder | SentenceEncoder, **changes: Any) -> HeadTraining:
    return HeadTraining(**{"epochs": 1, "batch_size": 10, "hidden": 4, **changes}).bind(start(config), splits((-2, 2)))


MAKERS: dict[str, Callable[[Encoder], Objective]] = {
    "Feature transfer": lambda config: with_head(config, frozen=True, embedding_update="frozen", keep="last"),
    "Network transfer row1": lambda config: with_head(config, keep="last"),
    "Network transfer row2": lambda config: with_head(config, embedding_update="frozen", keep="last"),
    "Direct network transfer row1": lambda config: direct(config, keep="last"),
    "Direct network transfer row2": lambda config: direct(config, embedding_update="frozen", keep="last"),
}
TABLE_3 = reported.table("dnt", "table3").pivot(index="method", columns="metric", values="value")


def state(problem: Objective) -> dict[str, Tensor]:
    """Copies of every parameter, by the paper's three parts."""
    parts = {"wem": problem.encoder.embedding.weight}
    parts |= {f"enc{i}": value for i, value in enumerate(problem.encoder.composition())}
    parts |= {f"cla{i}": value for i, value in enumerate(problem.head.parameters())}
    return {name: value.detach().clone() for name, value in parts.items()}


@pytest.mark.parametrize("row", sorted({*TABLE_3.index} - {"Unsupervised evaluation"}))
@pytest.mark.parametrize("config", [CSE, WSV], ids=["cse", "wsv"])
def test_what_table_3_freezes_stays_and_what_it_updates_moves(row: str, config: Encoder) -> None:
    problem = MAKERS[row](config)
    before = state(problem)
    fitted(problem)
    after = state(problem)
    moved = {name[:3] for name in before if not torch.equal(before[name], after[name])}
    assert moved == {*TABLE_3.updated[row].split("+")}
    assert {name[:3] for name in before} == moved | {*TABLE_3.frozen[row].replace("-", "").split("+")} - {""}


def test_feature_transfer_is_the_head_on_vectors_that_are_made_once() -> None:
    """Frozen and cached, or frozen by hand: the same predictions."""
    made = built(CSE)
    calls = list[Tensor]()
    made.register_forward_pre_hook(lambda module, arguments: calls.append(arguments[0].clone()))
    cached = with_head(made, frozen=True, embedding_update="frozen", epochs=3)
    plain = with_head(CSE, embedding_update="frozen", epochs=3)
    for parameter in plain.encoder.composition():
        parameter.requires_grad_(False)
    for problem in (cached, plain):
        fitted(problem)
    sides = [*cached._sides["train"], *cached._sides["trial"]]
    distinct = {tuple(side.padded(np.array([row]))[0][0]) for side in sides for row in range(len(side))}
    assert sum(map(len, calls)) == len(distinct) < 4 * len(splits()["train"])
    np.testing.assert_allclose(cached.scores("test"), plain.scores("test"), atol=1e-5)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_rescaled_transfer_does_not_see_how_long_vectors_are(frozen: bool) -> None:
    """An average of words a thousand times smaller: the same scores where vectors are rescaled, others where not."""

    def scores(size: float, rescale: bool) -> NDArray[np.float64]:
        average = built(AVERAGE)
        average.embedding.weight.data *= size
        problem = with_head(average, epochs=2, frozen=frozen, embedding_update="frozen", rescale=rescale)
        fitted(problem)
        return problem.scores("test")

    np.testing.assert_allclose(scores(1e-3, True), scores(1.0, True), atol=1e-5)
    assert np.abs(scores(1e-3, False) - scores(1.0, False)).max() > 1e-3


def test_the_squared_error_is_the_mean_over_batch_and_classes() -> None:
    predicted, target = torch.tensor([[0.5, 0.5], [0.9, 0.1]]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert squared_error_loss(predicted.log(), target).item() == pytest.approx((0.25 + 0.25 + 0.01 + 0.01) / 4)


def test_training_stops_when_patience_is_spent() -> None:
    lines: list[str] = []
    history = fitted(direct(CSE, epochs=200, patience=3, learning_rate=0.3), report=lines.append)
    checks = [point["step"] for point in history.curve if point["split"] == "validation"]
    assert len(checks) < 200 and sum(step > history.best_step for step in checks) == 3
    assert lines[-1] == "stopped: no better pearson in 3 checks"
    assert all(one < other for one, other in pairwise(checks))


# -- inference ---------------------------------------------------------------------------------------------------------

CLASSES = ("contradiction", "neutral", "entailment")


def labelled(count: int, seed: int) -> LabelledPairs:
    """Entailed: the premise's first word; contradicted: always the same word twice; neutral: another word."""
    rng, (bad, *others) = np.random.default_rng(seed), WORDS[:12]
    labels = rng.integers(0, 3, count)
    first = [" ".join(rng.choice(others, 3)) for _ in labels]
    said = [
        [f"{bad} {bad}", str(rng.choice(others)), one.split()[0]][label]
        for label, one in zip(labels, first, strict=True)
    ]
    return LabelledPairs("made", first, said, labels, CLASSES)


def entailment(**changes: Any) -> EntailmentTraining:
    settings = EntailmentTraining(**{"epochs": 3, "batch_size": 20, "hidden": 8, **changes})
    return settings.bind(start(BiLSTMEncoder(hidden=8)), (labelled(200, 1), labelled(60, 2)))


def test_the_inference_head_sees_both_vectors_their_distance_and_their_product() -> None:
    head = EntailmentHead(2, classes=3, hidden=4)
    u, v = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 5.0]])
    features = torch.tensor([[1.0, -2.0, 3.0, 5.0, 2.0, 7.0, 3.0, -10.0]])
    torch.testing.assert_close(head(u, v), head.layers(features))
    assert sum(parameter.numel() for parameter in head.parameters()) == (8 * 4 + 4) + (4 * 4 + 4) + (4 * 3 + 3)
    logits, labels = torch.tensor([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]), torch.tensor([2, 0])
    expected = -(np.log(np.exp(2) / np.exp([0, 1, 2]).sum()) + np.log(1 / 3)) / 2
    assert entailment_loss(logits, labels).item() == pytest.approx(expected)


def test_inference_is_learned_and_leaves_the_word_vectors() -> None:
    problem = entailment(epochs=30, optimiser="adam", learning_rate=5e-3)
    before = problem.encoder.embedding.weight.detach().clone()
    assert fitted(problem).best > 0.6  # a third by chance
    assert torch.equal(problem.encoder.embedding.weight, before)


def test_the_rate_falls_each_epoch_and_shrinks_without_progress() -> None:
    settings = EntailmentTraining(decay=0.9, shrink=5)
    assert settings.rate_after(1.0, improved=True) == pytest.approx(0.9)
    assert settings.rate_after(1.0, improved=False) == pytest.approx(0.18)
    problem, told = entailment(epochs=5), list[tuple[float, bool]]()
    values = iter((0.5, 0.6, 0.6, 0.4, 0.7))
    object.__setattr__(problem, "judge", lambda: next(values))
    object.__setattr__(problem, "rate_after", lambda rate, *, improved: told.append((rate, improved)) or rate / 2)
    fitted(problem)
    assert told == [(0.1 / 2**n, better) for n, better in enumerate((True, True, False, False, True))]


def test_inference_is_judged_by_the_accuracy_on_held_out_pairs() -> None:
    problem, held = entailment(), labelled(60, 2)
    u, v = (torch.from_numpy(encode(problem.encoder, VOCABULARY, side)) for side in (held.first, held.second))
    right = problem.head(u, v).argmax(1).numpy() == held.labels
    assert problem.judge() == pytest.approx(right.mean(), abs=1e-9)


def test_no_objective_reads_a_pair_with_a_test_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = ["a b", "c d", "e f", "g h"], ["i", "j", "k", "l"]
    monkeypatch.setattr(corpora, "read", lambda *given: ParaphrasePairs("p", *sides))
    monkeypatch.setattr(corpora, "all_nli", lambda part: LabelledPairs("n", *sides, np.arange(4), tuple("wxyz")))
    monkeypatch.setattr("sentbook.training.objectives.pairs.excluded", lambda suite: frozenset({"c d", "l"}))
    for one in (MarginTraining(corpora=("ppdb",), validation="miniworld"), EntailmentTraining(corpus="all-nli")):
        assert sorted(one.load(1, "sts")[0].first) == ["a b", "e f"]
        assert len(one.changed(exclude_overlap=False).load(1, "sts")[0]) == 4


def test_human_activities_choose_by_rho_and_a_share_is_of_the_training_pairs() -> None:
    assert [HeadTraining(dataset=name).metric for name in ("sim", "pac", "sick")] == ["spearman"] * 2 + ["pearson"]
    data = SimilarityTraining(dataset="miniworld", share=0.1).load(1, "miniworld")
    assert {name: len(split) for name, split in data.items()} == {"train": 45, "trial": 50, "test": 500}
