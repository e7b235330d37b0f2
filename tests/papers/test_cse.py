"""The errors of the score, beside which the divergence of CSE's table 3 stands."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from cells import of_page
from sentbook import config, records
from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.statistics import resample_counts
from sentbook.papers.cse.experiments import pretrained
from sentbook.papers.cse.settings import CSE
from sentbook.training import recipes
from sentbook.training.objectives import Start
from sentbook.training.search import identity, over_steps


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
    made = {name: one for name, one in pretrained(settings).items() if "printed" not in name}
    recorded = records.read("cse/tuning")
    chosen = {identity(of[0], stage) for of in made.values() for stage in of[0].stages}
    assert recorded and len(chosen) == 4
    assert chosen <= {search.of for search in recorded.searches}


def test_the_papers_grid_has_144_points() -> None:
    """Of batch size, margin, lambda_w and lambda_c (section 4.1)."""
    assert math.prod(len(values) for step in CSE for values in step.values()) == 144
    phrase, sentence = config.load("cse", {"profile": "small"}).stages_as_printed()
    assert (phrase.dropout, sentence.dropout) == (0.0, 0.1)  # as the released code


def test_a_pair_belongs_to_the_papers_four_groups_by_its_overlap_and_gold() -> None:
    members = of_page("cse/table6", "CLOSE", "members")["members"]
    found = members(np.array([0.1, 0.9, 0.9, 0.1, 0.4]), np.array([5, 5, 0, 0, 5]))
    assert [np.flatnonzero(mask).tolist() for mask in found.values()] == [[0], [1], [2], [3], [0, 1, 2, 3, 4]]


def test_the_scores_of_a_pair_are_the_papers_or_fitted_on_other_pairs() -> None:
    page, rng = of_page("cse/table6", "paper_map", "mapped"), np.random.default_rng(0)
    gold = rng.uniform(0, 5, 60)
    cosines = (gold + 0.3) / 2.5 - 1
    np.testing.assert_allclose(page["mapped"](cosines, gold, "paper") - gold, 0.3)
    np.testing.assert_allclose(page["mapped"](cosines, gold, "isotonic"), gold, atol=0.5)


def test_a_recorded_search_is_not_made_again() -> None:
    """Of a row with the same name, encoder and settings."""
    settings, run = config.load("cse", {"profile": "small"}), records.read("cse/table5")
    assert run
    for width, name, known in ((1, "1-gram", True), (1, "2-gram", False), (2, "1-gram", False)):
        own = recipes.recipes(settings, name, settings.cse.changed(widths=(width,), filters=300), settings.filter_sizes)
        row = over_steps(own, settings.tuning.variant_steps["CSE"], "STS 2016")
        row.adopt(run)
        assert row.points(0) is not known
        if known:
            search = row.record(0.01)
            assert row.stage.composition_rate == search.chosen["composition_rate"] and search.trainings == 3
            assert search.selected_on.startswith("STS 2016, at commit ") and search.last_quarter_gain == 0.01


def test_a_gain_over_no_gain_is_the_gain() -> None:
    """Table 4's difference of two differences, where the second one is 0 and no side has a spread over seeds."""
    gold, rng = np.arange(60.0), np.random.default_rng(3)
    scores = Predictions({"toy": gold})
    for method in "ABC":
        scores.add(method, 1, "toy", gold + rng.normal(0, 20, 60))
    found = of_page("cse/table4", "more", scores=scores)["more"]("toy", ("A", "B"), ("C", "C"), 200)
    plain = scores.difference("A", "B", resamples=200)
    assert (found.estimate, found.low, found.high) == pytest.approx((plain.estimate, plain.low, plain.high))


def test_fnwn_is_as_the_paper_describes_it() -> None:
    """Section 4.1, on a set of three pairs."""
    facts = of_page("cse/table1", "facts")["facts"]
    pairs = ScoredPairs("toy", ["a b c d", "a", "a b"], ["e f", "b c d", "a b"], np.array([1.0, 1.6, 5.0]), (0, 5))
    assert facts(pairs) == {"pairs": 3, "low similarity and overlap": 1, "twice as long": 2}


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
