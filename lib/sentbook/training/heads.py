"""Classifiers on the vectors of encoders that are not trained: feature transfer whose head is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sentbook.data.text import Tokenisation
from sentbook.io import NumericalError
from sentbook.models import FrozenVectors
from sentbook.training.objectives import HeadTraining, Start
from sentbook.training.recipes import Recipe, Trained, load, prepare_stage
from sentbook.training.train import silent, train

# Of the scale: how far a head that is trained again may be from the first one.
SAME_HEAD = 0.02


def train_head(
    item: Trained,
    vectors: FrozenVectors,
    stage: HeadTraining,
    *,
    tokenisation: Tokenisation = "ptb",
    device: str = "auto",
) -> tuple[HeadTraining, float]:
    """Train a head on the scored pairs of ``stage.dataset``.

    Args:
        item: the encoder, whose words and seed are used.
        vectors: of the encoder; several heads may share them.

    Returns:
        The head, whose ``predict`` gives expected scores from 1 to K, and its best value on development pairs.

    Raises:
        NumericalError: the loss is not finite.
    """
    start = Start(vectors.encoder, item.vocabulary, item.seed, tokenisation, trained=True, frozen=lambda: vectors)
    problem = stage.bind(start)
    history = train(problem, seed=item.seed, device=device, report=silent)
    return problem, history.best


def search_heads(
    items: Sequence[Trained],
    vectors: Sequence[FrozenVectors],
    stages: Sequence[HeadTraining],
    *,
    tokenisation: Tokenisation = "ptb",
    device: str = "auto",
) -> tuple[list[HeadTraining], dict[str, Any]]:
    """Choose one of ``stages`` with the first encoder on development pairs, and train a head on each encoder.

    Returns:
        A head per encoder, and what was tried and chosen.

    Raises:
        NumericalError: every stage diverged with the first encoder.
    """

    def trained(place: int, stage: HeadTraining) -> tuple[HeadTraining, float]:
        return train_head(items[place], vectors[place], stage, tokenisation=tokenisation, device=device)

    found: list[tuple[HeadTraining, float] | None] = []
    for stage in stages:
        try:
            found.append(trained(0, stage))
        except NumericalError:
            found.append(None)
    values = [None if one is None else one[1] for one in found]
    best = max((value for value in values if value is not None), default=None)
    if best is None:
        raise NumericalError(f"Every head on {stages[0].dataset} diverged; add a lower learning rate to its grid.")
    place = values.index(best)
    chosen, first = stages[place], found[place]
    assert first is not None
    about = {
        "learning_rate": chosen.learning_rate,
        "batch_size": chosen.batch_size,
        "development": best,
        "tried": [
            {"learning_rate": stage.learning_rate, "development": value}
            for stage, value in zip(stages, values, strict=True)
        ],
    }
    return [first[0], *(trained(place, chosen)[0] for place in range(1, len(items)))], about


def train_head_again(recipe: Recipe, device: str = "auto") -> HeadTraining:
    """Train the head of a feature transfer again, since its artifact keeps none; on frozen vectors it takes seconds.

    Raises:
        NumericalError: on the test pairs it predicts something else than the transfer's own head did.
    """
    problem = prepare_stage(recipe, device)
    assert isinstance(problem, HeadTraining)
    train(problem, seed=recipe.seed, device=device, report=silent)
    off = float(np.abs(problem.scores("test") - load(recipe).scores("test")).max())
    if off > SAME_HEAD:  # another processor rounds differently, but not as much
        raise NumericalError(
            f"{recipe.method}: the head trained again is off by {off:.2g} of the scale; delete the folder "
            f"{recipe.key()} of the artifacts and run again."
        )
    return problem
