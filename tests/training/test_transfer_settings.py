"""The settings of transfer: what table 3 says is frozen stays, what it says is updated moves; scales; early stops."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from sentbook.data.text import Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder, build
from sentbook.models.cse import CSEEncoder
from sentbook.models.losses import squared_error_loss
from sentbook.models.wsv import WSVEncoder
from sentbook.runs import printed as reported
from sentbook.training.loop import Problem, fit
from sentbook.training.problems.similarity import SimilarityProblem
from sentbook.training.problems.transfer import SETTINGS, HeadProblem, Setting, settings_table
from sentbook.training.settings import DirectTransfer, HeadTraining

WORDS = [f"w{chr(97 + number)}" for number in range(20)]
VOCABULARY = Vocabulary(WORDS)


def pairs(count: int, seed: int, scale: tuple[float, float] = (-2, 2)) -> ScoredPairs:
    """Scored by the share of common words."""
    rng = np.random.default_rng(seed)
    first = [rng.choice(WORDS, rng.integers(2, 7), replace=False) for _ in range(count)]
    second = [np.where(rng.random(len(one)) < rng.random(), one, rng.choice(WORDS, len(one))) for one in first]
    share = np.array([len({*a} & {*b}) / len({*a} | {*b}) for a, b in zip(first, second, strict=True)])
    low, high = scale
    return ScoredPairs(
        "made", [" ".join(a) for a in first], [" ".join(b) for b in second], low + (high - low) * share, scale
    )


def splits(scale: tuple[float, float] = (-2, 2)) -> dict[str, ScoredPairs]:
    return {name: pairs(40, seed, scale) for seed, name in enumerate(("train", "trial", "test"))}


def encoder(config: Encoder) -> torch.nn.Module:
    weight = torch.randn(len(VOCABULARY), 6, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    return build(config, weight, seed=1)


def direct(config: Encoder, **changes: object) -> tuple[SimilarityProblem, DirectTransfer]:
    settings = DirectTransfer(**{"epochs": 1, "batch_size": 10, **changes})
    return SimilarityProblem(encoder(config), VOCABULARY, settings, splits()), settings


def with_head(config: Encoder, **changes: object) -> tuple[HeadProblem, HeadTraining]:
    settings = HeadTraining(**{"epochs": 1, "batch_size": 10, "hidden": 4, **changes})
    return HeadProblem(encoder(config), VOCABULARY, settings, splits(), seed=1), settings


MAKERS: dict[str, Callable[[Encoder], tuple[Problem, DirectTransfer | HeadTraining]]] = {
    "Feature transfer": lambda config: with_head(config, frozen=True, embedding_update="frozen"),
    "Network transfer": lambda config: with_head(config),
    "Network transfer, wem frozen": lambda config: with_head(config, embedding_update="frozen"),
    "Direct network transfer": lambda config: direct(config),
    "Direct network transfer, wem frozen": lambda config: direct(config, embedding_update="frozen"),
}


def state(problem: Problem) -> dict[str, Tensor]:
    """Copies of every parameter, by the paper's three parts."""
    parts = {
        "wem": problem.encoder.embedding.weight,
        **{f"enc{i}": p for i, p in enumerate(problem.encoder.composition())},
    }
    if problem.head is not None:
        parts |= {f"cla{i}": p for i, p in enumerate(problem.head.parameters())}
    return {name: value.detach().clone() for name, value in parts.items()}


@pytest.mark.parametrize("setting", SETTINGS[1:], ids=lambda setting: setting.name)
@pytest.mark.parametrize("config", [CSEEncoder(filters=3), WSVEncoder(filters=4)], ids=["cse", "wsv"])
def test_what_table_3_freezes_stays_and_what_it_updates_moves(setting: Setting, config: Encoder) -> None:
    problem, settings = MAKERS[setting.name](config)
    before = state(problem)
    fit(problem, settings.model_copy(update={"keep": "last"}), seed=1, device="cpu", report=lambda line: None)
    after = state(problem)
    moved = {name[:3] for name in before if not torch.equal(before[name], after[name])}
    assert moved == set(setting.parts("updated"))
    assert {name[:3] for name in before} == set(setting.parts("updated")) | set(setting.parts("frozen"))


def test_the_table_prints_as_the_papers() -> None:
    """The CSV's row1 updates all, row2 freezes the word vectors."""
    printed = reported.table("dnt", "table3").pivot(index="method", columns="metric", values="value")
    ours = settings_table().map(lambda words: words.replace(", ", "+"))
    assert len(SETTINGS) == len(printed)
    names = {
        "Unsupervised evaluation": "Unsupervised evaluation", "Feature transfer": "Feature transfer",
        "Network transfer": "Network transfer row1", "Network transfer, wem frozen": "Network transfer row2",
        "Direct network transfer": "Direct network transfer row1",
        "Direct network transfer, wem frozen": "Direct network transfer row2",
    }  # fmt: skip
    for name, theirs in names.items():
        assert ours.loc[name].to_dict() == printed.loc[theirs, ["frozen", "updated"]].to_dict()


def test_feature_transfer_encodes_each_sentence_once(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, settings = with_head(CSEEncoder(filters=3), frozen=True, embedding_update="frozen", epochs=3)
    calls: list[int] = []
    forward = problem.encoder.forward
    monkeypatch.setattr(
        problem.encoder, "forward", lambda ids, lengths: calls.append(len(ids)) or forward(ids, lengths)
    )
    fit(problem, settings, seed=1, device="cpu", report=lambda line: None)
    sides = [*problem.sides, *problem.trial_sides]
    distinct = {tuple(side.padded(np.array([row]))[0][0]) for side in sides for row in range(len(side))}
    assert sum(calls) == len(distinct) < 2 * (40 + 40)  # of the training and the trial pairs


def test_feature_transfer_equals_the_head_on_the_encoders_vectors() -> None:
    """Frozen and cached, or frozen by hand: the same predictions."""
    cached, settings = with_head(CSEEncoder(filters=3), frozen=True, embedding_update="frozen", epochs=2)
    plain, _ = with_head(CSEEncoder(filters=3), embedding_update="frozen", epochs=2)
    for parameter in plain.encoder.composition():
        parameter.requires_grad_(False)
    for problem in (cached, plain):
        fit(problem, settings, seed=1, device="cpu", report=lambda line: None)
    np.testing.assert_allclose(cached.scores("test"), plain.scores("test"), atol=1e-5)


@pytest.mark.parametrize(("target", "expected"), [("[0, 1]", [0.0, 0.5, 1.0]), ("[-1, 1]", [-1.0, 0.0, 1.0])])
def test_targets_follow_the_limits_of_the_scale(target: str, expected: list[float]) -> None:
    three = {name: ScoredPairs("PAC", ["wa"] * 3, ["wb"] * 3, np.array([-2.0, 0.0, 2.0]), (-2, 2)) for name in splits()}
    settings = DirectTransfer(target=target)  # type: ignore[arg-type]
    problem = SimilarityProblem(encoder(AverageEncoder()), VOCABULARY, settings, three)
    assert problem.target.tolist() == expected


def test_scores_come_back_to_one_scale() -> None:
    """The cosine is the score of [0, 1]; of [-1, 1] it is stretched, so that both read on the gold scale alike."""
    zero, _ = direct(AverageEncoder())
    minus, _ = direct(AverageEncoder(), target="[-1, 1]")
    np.testing.assert_allclose(minus.scores("test"), (zero.scores("test") + 1) / 2, atol=1e-6)


def test_a_heads_scores_are_expectations_on_the_scale() -> None:
    problem, settings = with_head(CSEEncoder(filters=3), epochs=80, learning_rate=2e-2, keep="last")
    fit(problem, settings, seed=1, device="cpu", report=lambda line: None)
    scores = problem.scores("trial")
    assert scores.shape == (40,)
    assert ((scores >= 0) & (scores <= 1)).all()
    learned = problem.predict(problem.sides)  # on the classes 1 to 5
    assert np.abs(learned - 3 - problem.splits["train"].gold).mean() < 0.3


def test_the_squared_error_is_the_mean_over_batch_and_classes() -> None:
    predicted, target = torch.tensor([[0.5, 0.5], [0.9, 0.1]]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert squared_error_loss(predicted.log(), target).item() == pytest.approx((0.25 + 0.25 + 0.01 + 0.01) / 4)


def test_training_stops_when_patience_is_spent() -> None:
    lines: list[str] = []
    problem, settings = direct(CSEEncoder(filters=3), epochs=200, patience=3, learning_rate=0.3)
    history = fit(problem, settings, seed=1, device="cpu", report=lines.append)
    checks = [point["step"] for point in history.curve if point["split"] == "validation"]
    assert len(checks) < 200
    assert sum(step > history.best_step for step in checks) == 3
    assert lines[-1] == "stopped: no better pearson in 3 checks"
    assert all(one < other for one, other in pairwise(checks))
