"""The search over a grid: the development pairs alone decide, with the first seed; a divergence loses, not the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sentbook import config
from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.io import NumericalError
from sentbook.models.average import AverageEncoder
from sentbook.papers.dnt import transfers
from sentbook.papers.dnt.settings import Settings
from sentbook.study import Study
from sentbook.training import recipes as training
from sentbook.training.objectives import DirectTransfer, Grid, MarginTraining
from sentbook.training.recipes import Recipe, Trained
from sentbook.training.search import (
    Descent,
    Wanted,
    descend,
    identity,
    is_at_edge,
    last_quarter_gain,
    search,
    searches_of,
    trained_at_best,
)


def settings(**changes: Any) -> Settings:
    return config.load("dnt", {"profile": "demo", **changes})


class Told(Study):
    """A study whose trainings are told: rate -> development value, or one by seed, None for a divergence."""

    def __init__(self, values: dict[float, float | dict[int, float | None] | None]) -> None:
        super().__init__("dnt/table4", settings=settings())
        self.values, self.asked = values, list[tuple[float, int]]()

    def _told(self, recipe: Recipe) -> Trained | None:
        stage = recipe.stages[-1]
        self.asked.append((stage.learning_rate, recipe.seed))
        value = self.values[stage.learning_rate]
        value = value.get(recipe.seed) if isinstance(value, dict) else value
        return None if value is None else Trained(recipe, {"history": {"best": value}})

    def attempt(self, recipes: Sequence[Recipe]) -> list[Trained | None]:
        return [self._told(recipe) for recipe in recipes]

    def train(self, *recipes: Sequence[Recipe], jobs: int | None = None) -> list[Trained]:
        found = [self._told(recipe) for group in recipes for recipe in group]
        return [item for item in found if item is not None]


def wanted(study: Study, grid: Grid) -> Wanted:
    starts = training.recipes(study.settings, "PP [UE]", AverageEncoder(), seeds=[4, 5, 6])
    return Wanted("PP [DNT] row1", starts, DirectTransfer(dataset="miniworld"), grid)


def test_the_papers_grid() -> None:
    found = wanted(Told({}), Grid()).descent().points(0)
    assert len(found) == 8  # 4 rates, 2 sizes; 10, 30 and 50 epochs are one run of 50
    assert {point.epochs for point in found} == {50}
    assert {point.batch_size for point in found} == {32, 64}


def test_development_pairs_choose_and_a_divergence_loses() -> None:
    study = Told({0.1: None, 0.01: 0.5, 0.001: 0.7, 0.0001: 0.7})
    [found] = search(study, [wanted(study, Grid(batch_sizes=(32,)))])
    assert found.stage.learning_rate == 0.001  # of equals the first
    assert [item.seed for item in found.trained] == [4, 5, 6]
    assert [point["development"] for point in found.tried] == [None, 0.5, pytest.approx(0.7), pytest.approx(0.7)]
    # Every point with the first seed, the equals with the others too, the chosen one with all.
    equals = [(rate, seed) for rate in (0.001, 0.0001) for seed in (5, 6)]
    first = [(rate, 4) for rate in (0.1, 0.01, 0.001, 0.0001)]
    assert study.asked == [*first, *equals, *((0.001, seed) for seed in (4, 5, 6))]
    assert found.development() == pytest.approx(0.7)


def test_all_seeds_decide_among_points_that_the_first_leaves_close() -> None:
    """The first seed's best is the luck of one training; a close point that diverges once is out, as is a far one."""
    rates: dict[float, float | dict[int, float | None] | None] = {
        0.1: {4: 0.7, 5: 0.5, 6: 0.6},
        0.01: {4: 0.695, 5: 0.7, 6: 0.66},
        0.001: {4: 0.698, 5: 0.9, 6: None},
        0.0001: {4: 0.68, 5: 0.9, 6: 0.9},
    }
    study = Told(rates)
    [found] = search(study, [wanted(study, Grid(batch_sizes=(32,)))])
    assert found.stage.learning_rate == 0.01
    assert [(point["development"], point.get("seeds")) for point in found.tried] == [
        (pytest.approx(0.6), 3), (pytest.approx(0.685), 3), (None, 3), (0.68, None),
    ]  # fmt: skip
    assert (0.0001, 5) not in study.asked


def test_three_trainings_choose_where_a_row_has_five_and_all_five_are_trained() -> None:
    study = Told({0.01: 0.5, 0.03: 0.6, 0.1: 0.605, 0.3: 0.55})
    recipes = training.recipes(
        study.settings, "row", AverageEncoder(), DirectTransfer(dataset="miniworld"), seeds=[1, 2, 3, 4, 5]
    )
    rows = [(recipes, [{"learning_rate": [0.03, 0.1, 0.3]}])]
    trained, [found] = trained_at_best(study, rows, "development pairs", keep=True)
    assert found.chosen == {"learning_rate": 0.1}
    chosen = study.asked[: -len(trained)]
    assert sorted(chosen) == [(0.03, 1), (0.03, 2), (0.03, 3), (0.1, 1), (0.1, 2), (0.1, 3), (0.3, 1)]
    assert study.asked[-len(trained) :] == [(0.1, seed) for seed in range(1, 6)]


def test_a_best_value_at_the_edge_is_followed_until_one_beyond_is_no_better() -> None:
    values = {0.01: 0.5, 0.03: 0.6, 0.1: 0.65, 0.3: {4: 0.7, 5: 0.7, 6: 0.7}, 1.0: {4: 0.695, 5: 0.6, 6: 0.6}, 3.0: 0.9}
    for beyond, best, at_edge in ((0, 0.1, True), (1, 0.3, True), (2, 0.3, False), (9, 0.3, False)):
        grid = Grid(learning_rates=(0.01, 0.03, 0.1), batch_sizes=(32,), beyond=beyond)
        [found] = search(study := Told(values), [wanted(study, grid)])
        assert found.stage.learning_rate == best and found.search.at_edge == ["learning_rate"] * at_edge
        assert found.search.trainings == len({rate for rate, _ in study.asked}) == 3 + min(beyond, 2)
        assert (3.0, 4) not in study.asked
    pairs = wanted(Told({}), Grid(learning_rates=(0.1,), batch_sizes=(2, 4), beyond=3)).descent()
    pairs.choose(0, pairs.points(0), [{"best": 0.9}, {"best": 0.5}])
    assert pairs.points(1) == []  # no stage takes a batch of one


def test_a_grid_that_diverges_everywhere_says_so() -> None:
    study = Told(dict.fromkeys((0.1, 0.01), None))
    with pytest.raises(NumericalError, match=r"on miniworld diverged at every learning rate of 0.1, 0.01; add"):
        search(study, [wanted(study, Grid(learning_rates=(0.1, 0.01), batch_sizes=(32,)))])


def test_test_pairs_decide_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the gold scores of the test pairs turned round, the same point and the same epoch are chosen."""
    changes = {
        "seeds": [1],
        "direct_grid": {"learning_rates": [0.01, 0.0001], "epochs": [3]},
        "feature_grid": {"learning_rates": [0.1, 0.001], "epochs": [3], "pairs": 100},
    }
    pairs, chosen = suites.pairs, []

    def turned(dataset: str, split: str) -> ScoredPairs:
        found = pairs(dataset, split)
        return replace(found, gold=sum(found.scale) - found.gold) if split == "test" else found

    for name, make in (("as they are", pairs), ("turned", turned)):
        monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / name))
        monkeypatch.setattr(suites, "pairs", make)
        study = Study("dnt/table4", settings=settings(**changes))
        starts = {"PP": training.recipes(study.settings, "PP [UE]", AverageEncoder())}
        _, feature, *_, direct, _ = transfers.rows(study.settings)
        rows = transfers.wanted_rows(study.settings, starts, [feature, direct], ["miniworld"])
        histories = [(row.stage, row.trained[0].metadata["history"]) for row in search(study, rows)]
        chosen.append([(stage, history["best"], history["best_step"]) for stage, history in histories])
    assert chosen[0] == chosen[1]


def test_names_are_those_of_the_printed_table() -> None:
    from sentbook.judge.printed import table

    printed = set(table("dnt", "table4")["method"]) - {"InferSent [UE]", "BiLSTM-Avg [UE]", "GRAN [UE]"}
    encoders, rows = ("InferSent", "BiLSTM-Avg", "GRAN"), transfers.rows(settings())
    ours = {transfers.method_of(encoder, row) for encoder in encoders for row in rows}
    assert printed < ours
    assert ours - printed == {"InferSent [NT] MSE row1", "InferSent [NT] KL row1", "InferSent [DNT] row1"}


# -- step by step ------------------------------------------------------------------------------------------------------

PAIRS = MarginTraining(
    corpora=("miniworld-phrases",), validation="miniworld", limit=400, epochs=1, batch_size=50, checks_per_epoch=4
)


class Bowl(Told):
    """A study whose validation value falls with the distance from rate .01, margin .4 and words sorted by length."""

    def __init__(self) -> None:
        super().__init__({})
        self.stages: list[MarginTraining] = []

    def histories(self, recipes: Sequence[Recipe]) -> list[dict[str, Any] | None]:
        self.stages += [recipe.stages[-1] for recipe in recipes]
        return [{"best": self.value(recipe.stages[-1])} for recipe in recipes]

    @staticmethod
    def value(stage: MarginTraining) -> float:
        return 1 - abs(np.log10(stage.learning_rate) + 2) / 10 - abs(stage.margin - 0.4) - 0.1 * (not stage.bucket)


def descents(study: Study) -> list[Descent]:
    starts = [training.recipes(study.settings, name, AverageEncoder(), seeds=[4])[0] for name in ("PP", "CSE")]
    rates, margins = {"learning_rate": [1e-3, 1e-2, 1e-1], "bucket": [False, True]}, {"margin": [0.2, 0.4]}
    return [
        Descent("PP", starts[0], PAIRS, [rates, margins], "STS 2016"),
        Descent("CSE", starts[1], PAIRS, [rates], "STS 2016"),
    ]


def test_each_step_goes_on_from_the_best_point_and_the_record_says_what_was_tried_and_where_the_edge_was() -> None:
    study = Bowl()
    searches = descents(study)
    descend(study, searches)
    for found in searches:
        assert (found.stage.learning_rate, found.stage.bucket) == (1e-2, True)
        assert study.value(found.stage) == max(point["development"] for point in found.tried)
    assert {stage.margin for stage in study.stages[:12]} == {PAIRS.margin}
    assert [(stage.margin, stage.learning_rate) for stage in study.stages[12:]] == [(0.2, 1e-2), (0.4, 1e-2)]
    pp, cse = (search.record() for search in searches)
    assert pp.grid == {"learning_rate": [1e-3, 1e-2, 1e-1], "bucket": [False, True], "margin": [0.2, 0.4]}
    assert pp.chosen == {"learning_rate": 1e-2, "bucket": True, "margin": 0.4}
    assert (pp.trainings, cse.trainings) == (8, 6)
    assert (pp.at_edge, cse.at_edge) == (["margin"], [])
    assert (pp.selected_on, pp.seed) == ("STS 2016", 4)


@given(values=st.lists(st.floats(1e-6, 10), min_size=2, max_size=8, unique=True), data=st.data())
def test_an_edge_is_the_least_or_the_largest_number(values: list[float], data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(values))
    assert is_at_edge(value, values) == (value in (min(values), max(values)))
    assert not is_at_edge(0.0, [0.0, *values])
    assert not is_at_edge(True, [False, True])


@given(values=st.lists(st.floats(-1, 1), min_size=4, max_size=40))
def test_the_last_quarter_gains_what_the_best_value_gains(values: list[float]) -> None:
    curve = [{"step": step, "split": "validation", "value": value} for step, value in enumerate(values, start=1)]
    gain = last_quarter_gain({"curve": curve})
    early = values[: int(0.75 * len(values))]
    assert gain == pytest.approx(max(values) - max(early))
    assert last_quarter_gain({"curve": curve[:3]}) is None


def test_a_trial_leaves_the_history_of_the_training_and_no_encoder(artifacts: Path) -> None:
    study = Study("dnt/table4", settings=settings())
    [recipe] = training.recipes(study.settings, "PP", AverageEncoder(), PAIRS, seeds=[1])
    [tried] = study.histories([recipe])
    assert not list(artifacts.glob("*/encoder.safetensors"))
    [trained] = study.train([recipe])
    assert tried is not None and tried["curve"] == trained.metadata["history"]["curve"]
    (artifacts / recipe.key() / "trial.safetensors").unlink()
    assert study.histories([recipe]) == [trained.metadata["history"]]  # the encoder's own, and nothing is trained


def test_a_run_knows_whose_search_chose_its_settings() -> None:
    study = Bowl()
    [search, _] = searches = descents(study)
    descend(study, searches)
    known = [one.record() for one in searches]
    longer = search.recipe(search.stage.changed(epochs=7)).model_copy(update={"method": "PP, longer", "seed": 9})
    other = search.recipe(search.stage.changed(margin=0.7)).model_copy(update={"method": "PP, another margin"})
    told = {"history": {"curve": []}}
    rows = searches_of([Trained(longer, told), Trained(other, told)], known)
    searched = [(row.method, row.trainings, bool(row.grid)) for row in rows]
    assert searched == [("PP, longer", 8, True), ("PP, another margin", 1, False)]
    assert identity(longer) == search.record().of != identity(other)


@pytest.mark.usefixtures("artifacts")
def test_the_composition_may_have_a_rate_of_its_own() -> None:
    study = Study("dnt/table4", settings=settings())
    rates = {"one rate": None, "the same": PAIRS.learning_rate, "none to speak of": 1e-12}
    stages = {name: PAIRS.changed(composition_rate=rate) for name, rate in rates.items()}
    cse = study.settings.cse
    recipes = {name: training.recipes(study.settings, name, cse, stage, seeds=[1]) for name, stage in stages.items()}
    found = {name: study.train(recipe)[0].encoder().state_dict() for name, recipe in recipes.items()}
    start = study.untrained(cse, seed=1).state_dict()
    for name, values in found["one rate"].items():
        assert torch.equal(values, found["the same"][name])
        still = torch.allclose(start[name], found["none to speak of"][name], atol=1e-9)
        assert still == (name != "embedding.weight")
        assert not torch.allclose(start[name], values, atol=1e-5)
