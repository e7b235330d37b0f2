"""The errors of the score, beside which the divergence of CSE's table 3 stands."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from cells import of_page
from sentbook import config, records
from sentbook.data import suites
from sentbook.evaluation.statistics import resample_counts
from sentbook.papers.cse.experiments import pretrained
from sentbook.papers.cse.settings import CSE
from sentbook.training import recipes
from sentbook.training.objectives import Start
from sentbook.training.search import identity


@pytest.mark.parametrize(("error", "of"), [("squared", np.square), ("absolute", np.abs)])
def test_an_error_of_the_score_is_that_of_the_predictions(error: str, of: np.ufunc) -> None:
    """On the training pairs, where the gold scores are known: by `predict` and by hand."""
    settings = config.load("cse", {"profile": "demo"})
    [begin] = recipes.recipes(settings, "CSE_random", settings.cse, seeds=[1])
    train = suites.pairs("miniworld", "train")
    encoder, vocabulary = recipes.untrained(begin)
    training = settings.relatedness.changed(normalise=True, error=error)
    problem = training.bind(Start(encoder.eval(), vocabulary, seed=1))
    rows = np.arange(40)
    with torch.no_grad():
        found = problem.compute_loss(problem.batch(rows, np.random.default_rng(0))).item()
    gap = problem.predict(problem._sides["train"])[rows] - train.gold[rows]
    assert found == pytest.approx(of(gap).mean(), rel=1e-5)


def test_at_the_papers_size_each_side_has_what_the_search_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_ORIGINALS", "none")
    settings = config.load("cse", {"profile": "paper"})
    made = pretrained(settings)
    recorded = records.read("cse/tuning")
    chosen = {identity(of[0], stage) for of in made.values() for stage in of[0].stages}
    assert recorded and len(chosen) == 4
    assert chosen <= {search.of for search in recorded.searches}


def test_the_papers_grid_has_144_points() -> None:
    """Of batch size, margin, lambda_w and lambda_c (section 4.1)."""
    assert math.prod(len(values) for step in CSE for values in step.values()) == 144


def test_a_pair_belongs_to_the_papers_four_groups_by_its_overlap_and_gold() -> None:
    members = of_page("cse/table6", "CLOSE", "members")["members"]
    found = members(np.array([0.1, 0.9, 0.9, 0.1, 0.4]), np.array([5, 5, 0, 0, 5]))
    assert [np.flatnonzero(mask).tolist() for mask in found.values()] == [[0], [1], [2], [3], [0, 1, 2, 3, 4]]


def test_the_line_is_least_squares_and_stays_on_the_scale() -> None:
    line, random = of_page("cse/table6", "line")["line"], np.random.default_rng(1)
    cosine = random.uniform(-0.2, 1, 100)
    gold = np.clip(4 * cosine + 0.5 + random.normal(0, 0.1, 100), 0, 5)
    slope, offset = np.polyfit(cosine, gold, 1)
    fitted = line(cosine, gold)
    np.testing.assert_allclose(fitted(np.array([0.3, 0.5])), slope * np.array([0.3, 0.5]) + offset)
    assert gold.min() <= fitted(-9.0) <= fitted(9.0) <= gold.max()
    assert line(np.array([0.5, 0.5]), np.array([1.0, 3.0]))(0.9) == 2.0  # constant cosines: the mean


def test_errors_and_their_differences_over_repeated_pairs() -> None:
    page, rng = of_page("cse/table6", "paper_map", "line", "errors", "difference"), np.random.default_rng(0)
    gold = rng.uniform(0, 5, 60)
    cosines = (gold + np.array([[0.1], [-0.3]])) / 2.5 - 1  # two seeds
    np.testing.assert_allclose(page["errors"](cosines, gold, "paper"), np.tile([[0.1], [0.3]], 60))
    np.testing.assert_allclose(page["errors"](cosines, gold, "affine"), 0, atol=0.2)
    first, second = rng.uniform(0, 1, (2, 60))
    found = page["difference"](first, second, 80)
    draws = np.random.default_rng(0)
    sampled = [(first - second)[draws.integers(0, 60, 60)].mean() for _ in range(80)]
    assert found.estimate == pytest.approx((first - second).mean())
    assert (found.low, found.high) == pytest.approx(np.percentile(sampled, [2.5, 97.5]))


def test_overestimation_by_brute_force() -> None:
    overestimation = of_page("cse/table6", "CLOSE", "paper_map", "overestimation")["overestimation"]
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 26, 80) / 5
    cosines, far = rng.uniform(-1, 1, (3, 80)), np.flatnonzero(gold <= 1.5)
    found, draws = overestimation(cosines, gold, 150), resample_counts(len(far), 150, [0]).astype(int)
    excess = np.array([np.mean([2.5 * (row[i] + 1) - gold[i] for row in cosines]) for i in far])
    sampled = [np.repeat(excess, times).mean() for times in draws]
    assert found.estimate == pytest.approx(excess.mean())
    assert (found.low, found.high) == pytest.approx(np.percentile(sampled, [2.5, 97.5]), abs=1e-12)
    assert overestimation(gold[None] / 2.5 - 1, gold, 10).estimate == pytest.approx(0)  # the map alone adds nothing
