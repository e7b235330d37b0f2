"""The errors of the score, beside which the divergence of CSE's table 3 stands."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sentbook import config, records
from sentbook.data import suites
from sentbook.papers.cse.experiments import pretrained
from sentbook.papers.cse.settings import CSE
from sentbook.study import Study
from sentbook.training import recipes
from sentbook.training.problems.transfer import RelatednessProblem
from sentbook.training.search import identity, points


@pytest.mark.parametrize(("error", "of"), [("squared", np.square), ("absolute", np.abs)])
def test_an_error_of_the_score_is_that_of_the_predictions(error: str, of: np.ufunc) -> None:
    """On the training pairs, where the gold scores are known: by `predict` and by hand."""
    settings = config.load("cse", {"profile": "demo"})
    [begin] = recipes.recipes(settings, "CSE_random", settings.cse, seeds=[1])
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
    [begin] = recipes.recipes(settings, "CSE_random", settings.cse, seeds=[1])
    given = settings.relatedness.changed(normalise=True)
    keys = {recipes.FineTuning(begin, given.changed(error=error)).key for error in (None, "squared", "absolute")}
    assert len(keys) == 3


def test_pp_can_have_a_recipe_of_its_own() -> None:
    """That of Wieting et al. 2016, CSE's stays, and each has a key of its own."""
    own = {
        "optimiser": "adagrad", "learning_rate": 0.05, "embedding_update": "dense", "batch_size": 100,
        "corpora": ["ppdb"],
    }  # fmt: skip
    settings = config.load("cse", {"profile": "paper", "pp_phrase": own})
    made = pretrained(Study("cse/table1", settings=settings), settings)
    first = {method: of[0].stages[0] for method, of in made.items()}
    assert first["CSE"] == first["GRAN"] == settings.phrase == config.load("cse", {"profile": "paper"}).phrase
    assert (first["PP"].optimiser, first["PP"].learning_rate, first["PP"].batch_size) == ("adagrad", 0.05, 100)
    assert made["PP"][0].stages[1] == made["CSE"][0].stages[1]


def test_at_the_papers_size_each_side_has_what_the_search_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_ORIGINALS", "none")
    settings = config.load("cse", {"profile": "paper"})
    made = pretrained(Study("cse/table2", settings=settings), settings)
    recorded = records.read("cse/tuning")
    chosen = {identity(of[0].prefix(stages)) for of in made.values() for stages in (1, 2)}
    assert recorded and len(chosen) == 4
    assert chosen <= {search.of for search in recorded.searches}


def test_the_papers_whole_grid_can_be_one_step() -> None:
    """Of batch size, margin, lambda_w and lambda_c: 144 points, none of them twice (section 4.1)."""
    whole = {name: values for step in CSE for name, values in step.items()}
    steps = {"PP": [{"margin": [0.4]}], "CSE": [whole]}
    settings = config.load("cse", {"tuning": {"sentence_steps": steps}})
    [step] = settings.tuning.sentence_steps["CSE"]
    assert len({config.digest(point) for point in points(settings.sentence, step)}) == 144
