"""The search over a grid: the development pairs alone decide, with the first seed; a divergence loses, not the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sentbook import config
from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.models.average import AverageEncoder
from sentbook.papers.dnt import experiments as dnt
from sentbook.papers.dnt.settings import Settings
from sentbook.study import Study
from sentbook.system.errors import NumericalError
from sentbook.training.recipes import Recipe, Trained
from sentbook.training.search import Wanted, points, search
from sentbook.training.settings import DirectTransfer, Grid


def settings(**changes: Any) -> Settings:
    return config.load("dnt", {"profile": "demo", **changes})


class Told(Study):
    """A study whose trainings are told: rate -> development value by seed, None for a divergence."""

    def __init__(self, values: dict[float, float | None]) -> None:
        super().__init__("dnt/table4", settings())
        self.values, self.asked = values, list[tuple[float, int]]()

    def _told(self, recipe: Recipe) -> Trained | None:
        stage = recipe.stages[-1]
        self.asked.append((stage.learning_rate, recipe.seed))
        value = self.values[stage.learning_rate]
        return None if value is None else Trained(recipe, {"history": {"best": value}})

    def attempt(self, recipes: Sequence[Recipe]) -> list[Trained | None]:
        return [self._told(recipe) for recipe in recipes]

    def train(self, *recipes: Sequence[Recipe], jobs: int | None = None) -> list[Trained]:
        found = [self._told(recipe) for group in recipes for recipe in group]
        return [item for item in found if item is not None]


def wanted(study: Study, grid: Grid) -> Wanted:
    starts = study.recipes("PP [UE]", AverageEncoder(), seeds=[4, 5, 6])
    return Wanted("PP [DNT] row1", starts, DirectTransfer(dataset="miniworld"), grid)


def test_the_papers_grid() -> None:
    found = points(DirectTransfer(), Grid())
    assert len(found) == 8  # 4 rates, 2 sizes; 10, 30 and 50 epochs are one run of 50
    assert {point.epochs for point in found} == {50}
    assert {point.batch_size for point in found} == {32, 64}


def test_development_pairs_choose_and_a_divergence_loses() -> None:
    study = Told({0.1: None, 0.01: 0.5, 0.001: 0.7, 0.0001: 0.7})
    [found] = search(study, [wanted(study, Grid(batch_sizes=(32,)))])
    assert found.stage.learning_rate == 0.001  # of equals the first
    assert [item.seed for item in found.trained] == [4, 5, 6]
    assert [point["development"] for point in found.tried] == [None, 0.5, 0.7, 0.7]
    # Every point with the first seed, the chosen one with all.
    assert study.asked == [(rate, 4) for rate in (0.1, 0.01, 0.001, 0.0001)] + [(0.001, seed) for seed in (4, 5, 6)]
    assert found.development() == pytest.approx(0.7)


def test_a_grid_that_diverges_everywhere_says_so() -> None:
    study = Told(dict.fromkeys((0.1, 0.01), None))
    with pytest.raises(NumericalError, match="on miniworld diverged at every learning rate"):
        search(study, [wanted(study, Grid(learning_rates=(0.1, 0.01), batch_sizes=(32,)))])


def test_test_pairs_decide_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the gold scores of the test pairs turned round, the same point and the same epoch are chosen."""
    changes = {
        "seeds": [1],
        "direct_grid": {"learning_rates": [0.01, 0.0001], "epochs": [3]},
        "feature_grid": {"learning_rates": [0.1, 0.001], "epochs": [3]},
    }
    pairs, chosen = suites.pairs, []

    def turned(dataset: str, split: str) -> ScoredPairs:
        found = pairs(dataset, split)
        return replace(found, gold=sum(found.scale) - found.gold) if split == "test" else found

    for name, make in (("as they are", pairs), ("turned", turned)):
        monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / name))
        monkeypatch.setattr(suites, "pairs", make)
        study = Study("dnt/table4", settings(**changes))
        starts = {"PP": study.recipes("PP [UE]", AverageEncoder())}
        rows = dnt.wanted(study.settings, starts, ["FT KL", "DNT, words updated"], ["miniworld"])
        histories = [(row.stage, row.trained[0].metadata["history"]) for row in search(study, rows)]
        chosen.append([(stage, history["best"], history["best_step"]) for stage, history in histories])
    assert chosen[0] == chosen[1]


def test_names_are_those_of_the_printed_table() -> None:
    from sentbook.runs.printed import table

    printed = set(table("dnt", "table4")["method"]) - {"InferSent [UE]", "BiLSTM-Avg [UE]", "GRAN [UE]"}
    ours = {dnt.method_of(encoder, row) for encoder in ("InferSent", "BiLSTM-Avg", "GRAN") for row in dnt.ROWS}
    assert printed < ours
    assert ours - printed == {"InferSent [NT] MSE row1", "InferSent [NT] KL row1", "InferSent [DNT] row1"}
