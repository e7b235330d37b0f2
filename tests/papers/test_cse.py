"""The errors of the score, beside which the divergence of CSE's table 3 stands."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sentbook import config
from sentbook.data import suites
from sentbook.study import Study
from sentbook.training import recipes
from sentbook.training.problems.transfer import RelatednessProblem


@pytest.mark.parametrize(("error", "of"), [("squared", np.square), ("absolute", np.abs)])
def test_an_error_of_the_score_is_that_of_the_predictions(error: str, of: np.ufunc) -> None:
    """On the training pairs, where the gold scores are known: by `predict` and by hand."""
    settings = config.load("cse", {"profile": "demo"})
    study = Study("cse/table3", settings)
    [begin] = study.recipes("CSE_random", settings.cse, seeds=[1])
    train, trial = (suites.relatedness("miniworld", split) for split in ("train", "trial"))
    encoder, vocabulary = recipes.untrained(begin)
    training = settings.relatedness.changed(normalise=True)
    problem = RelatednessProblem(encoder.eval(), vocabulary, training, train, trial, loaded=False, seed=1, loss=error)
    rows = np.arange(40)
    with torch.no_grad():
        found = problem.loss(rows, np.random.default_rng(0)).item()
    gap = problem.predict(problem.sides)[rows] - train.gold[rows]
    assert found == pytest.approx(of(gap).mean(), rel=1e-5)


def test_each_error_has_a_key_of_its_own() -> None:
    settings = config.load("cse", {"profile": "demo"})
    [begin] = Study("cse/table3", settings).recipes("CSE_random", settings.cse, seeds=[1])
    given = settings.relatedness.changed(normalise=True)
    keys = {recipes.FineTuning(begin, given.changed(error=error)).key for error in (None, "squared", "absolute")}
    assert len(keys) == 3
