"""The search over a grid: the development pairs alone decide, with the first seed; a divergence loses, not the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.models.average import AverageEncoder
from sentbook.study import Study
from sentbook.training.objectives import DirectTransfer, Grid, HeadTraining
from sentbook.training.recipes import Recipe, recipes
from sentbook.training.runs import Trained
from sentbook.training.search import (
    Descent,
    descend,
    identity,
    last_quarter_gain,
    over_grid,
    over_steps,
    search,
    searches_of,
)
from trainings import PHRASE


class Told(Study):
    """A study whose trainings are told: rate -> development value, or one by seed, None for a divergence."""

    def __init__(self, values: dict[float, float | dict[int, float | None] | None]) -> None:
        super().__init__("dnt/table4")
        self.values, self.asked = values, list[tuple[float, int]]()

    def attempt(self, recipes: Sequence[Recipe]) -> list[Trained | None]:
        return [self._told(recipe) for recipe in recipes]

    def train(self, *recipes: Sequence[Recipe], **options: Any) -> list[Trained]:
        found = [self._told(recipe) for group in recipes for recipe in group]
        return [item for item in found if item is not None]

    def _told(self, recipe: Recipe) -> Trained | None:
        stage = recipe.stages[-1]
        self.asked.append((stage.learning_rate, recipe.seed))
        value = self.values[stage.learning_rate]
        value = value.get(recipe.seed) if isinstance(value, dict) else value
        return None if value is None else Trained(recipe, {"history": {"best": value}})


def wanted(study: Study, grid: Grid, seeds: Sequence[int] = (4, 5, 6)) -> Descent:
    starts = recipes(study.settings, "PP [UE]", AverageEncoder(), seeds=seeds)
    return over_grid("PP [DNT] row1", starts, DirectTransfer(dataset="miniworld"), grid)


@pytest.mark.parametrize(
    ("seeds", "values", "development", "close", "chosen"),
    [
        # A divergence loses; of equals the first.
        ([4, 5, 6], {0.1: None, 0.01: 0.5, 0.001: 0.7, 0.0001: 0.7}, [None, 0.5, 0.7, 0.7], [0.001, 0.0001], 0.001),
        # The first seed's best is the luck of one training; a close point that diverges once is out, as is a far one.
        (
            [4, 5, 6],
            {
                0.1: {4: 0.7, 5: 0.5, 6: 0.6},
                0.01: {4: 0.695, 5: 0.7, 6: 0.66},
                0.001: {4: 0.698, 5: 0.9, 6: None},
                0.0001: {4: 0.68, 5: 0.9, 6: 0.9},
            },
            [0.6, 0.685, None, 0.68],
            [0.1, 0.01, 0.001],
            0.01,
        ),
        # Three of five seeds choose.
        ([1, 2, 3, 4, 5], {0.03: 0.6, 0.1: 0.605, 0.3: 0.55}, [0.6, 0.605, 0.55], [0.03, 0.1], 0.1),
    ],
)
def test_the_first_seed_tries_every_point_three_seeds_choose_among_close_ones_and_all_train_the_chosen(
    seeds: list[int], values: dict[float, Any], development: list[Any], close: list[float], chosen: float
) -> None:
    study = Told(values)
    [found] = search(study, [wanted(study, Grid(learning_rates=tuple(values), batch_sizes=(32,)), seeds)])
    assert found.search.chosen == {"learning_rate": chosen}
    assert [item.seed for item in found.trained] == seeds
    assert [one["development"] for one in found.search.tried] == [one and pytest.approx(one) for one in development]
    assert [one.get("seeds") for one in found.search.tried] == [3 if rate in close else None for rate in values]
    first, last = [(rate, seeds[0]) for rate in values], [(chosen, seed) for seed in seeds]
    others = [(rate, seed) for rate in close for seed in seeds[1:3]]
    assert sorted(study.asked) == sorted([*first, *others, *last])


def test_a_best_value_at_the_edge_is_followed_until_one_beyond_is_no_better() -> None:
    values = {0.01: 0.5, 0.03: 0.6, 0.1: 0.65, 0.3: {4: 0.7, 5: 0.7, 6: 0.7}, 1.0: {4: 0.695, 5: 0.6, 6: 0.6}, 3.0: 0.9}
    for beyond, best, at_edge in ((0, 0.1, True), (1, 0.3, True), (2, 0.3, False), (9, 0.3, False)):
        grid = Grid(learning_rates=(0.01, 0.03, 0.1), batch_sizes=(32,), beyond=beyond)
        [found] = search(study := Told(values), [wanted(study, grid)])
        assert found.search.chosen == {"learning_rate": best} and found.search.at_edge == ["learning_rate"] * at_edge
        assert found.search.trainings == len({rate for rate, _ in study.asked}) == 3 + min(beyond, 2)
        assert (3.0, 4) not in study.asked
    row = wanted(Told({}), Grid(learning_rates=(0.1,), batch_sizes=(2, 4), beyond=3))
    row.choose(0, row.points(0), [[0.9], [0.5]])
    assert row.points(1) == []  # no stage takes a batch of one
    close = [[0.7], [0.695], [None], [0.698], [0.699], [0.6]]
    assert (row.finalists(close), replace(row, most=None).finalists(close)) == ([0, 4, 3], [0, 4, 3, 1])


def test_test_pairs_decide_nothing_and_no_encoder_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the gold scores of the test pairs turned round, the same point and the same epoch are chosen."""
    pairs, chosen = suites.pairs, []
    head = HeadTraining(dataset="miniworld", frozen=True, embedding_update="frozen")
    grid = Grid(learning_rates=(0.01, 0.0001), batch_sizes=(64,), epochs=(3,))

    def turned(dataset: str, split: str) -> ScoredPairs:
        found = pairs(dataset, split)
        return replace(found, gold=sum(found.scale) - found.gold) if split == "test" else found

    for name, make in (("as they are", pairs), ("turned", turned)):
        monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / name))
        monkeypatch.setattr(suites, "pairs", make)
        study = Study("dnt/table4")
        starts = recipes(study.settings, "PP [UE]", AverageEncoder(), seeds=[1])
        rows = [over_grid("PP", starts, stage, grid) for stage in (head, DirectTransfer(dataset="miniworld"))]
        found = [one for row in search(study, rows) for one in row.trained]
        assert all(len(one.scores("test")) == len(pairs("miniworld", "test")) for one in found)
        assert not list((tmp_path / name).glob("*/encoder.safetensors"))
        histories = [(one.recipe.stages[-1], one.metadata["history"]) for one in found]
        chosen.append([(stage, history["best"], history["best_step"]) for stage, history in histories])
    assert chosen[0] == chosen[1]


class Bowl(Told):
    """A study whose validation value falls with the distance from rate .01, margin .4 and words sorted by length."""

    def __init__(self) -> None:
        super().__init__({})
        self.stages: list[Any] = []

    def attempt(self, recipes: Sequence[Recipe]) -> list[Trained | None]:
        self.stages += [recipe.stages[-1] for recipe in recipes]
        return [Trained(recipe, {"history": {"best": self.value(recipe.stages[-1])}}) for recipe in recipes]

    @staticmethod
    def value(stage: Any) -> float:
        return 1 - abs(np.log10(stage.learning_rate) + 2) / 10 - abs(stage.margin - 0.4) - 0.1 * (not stage.bucket)


def searched() -> tuple[Bowl, Descent]:
    study = Bowl()
    steps = [{"learning_rate": [1e-3, 1e-2, 1e-1], "bucket": [False, True]}, {"margin": [0.2, 0.4]}]
    group = recipes(study.settings, "PP", AverageEncoder(), PHRASE, seeds=[4])
    found = replace(over_steps(group, steps, "STS 2016"), beyond=0)
    descend(study, [found])
    return study, found


def test_each_step_goes_on_from_the_best_point_and_the_record_says_what_was_tried_and_where_the_edge_was() -> None:
    study, found = searched()
    assert study.value(found.stage) == max(point["development"] for point in found.tried)
    assert {stage.margin for stage in study.stages[:6]} == {PHRASE.margin}
    assert [(stage.margin, stage.learning_rate) for stage in study.stages[6:]] == [(0.2, 1e-2), (0.4, 1e-2)]
    record = found.record()
    assert record.grid == {"learning_rate": [1e-3, 1e-2, 1e-1], "bucket": [False, True], "margin": [0.2, 0.4]}
    assert record.chosen == {"learning_rate": 1e-2, "bucket": True, "margin": 0.4}
    assert (record.trainings, record.at_edge) == (8, ["margin"])
    assert (record.selected_on, record.seed) == ("STS 2016", 4)


def test_a_grid_trains_its_most_epochs() -> None:
    assert wanted(Told({}), Grid(epochs=(3, 9, 5))).stage.epochs == 9


@given(values=st.lists(st.floats(-1, 1), min_size=4, max_size=40))
def test_the_last_quarter_gains_what_the_best_value_gains(values: list[float]) -> None:
    curve = [{"step": step, "split": "validation", "value": value} for step, value in enumerate(values, start=1)]
    gain = last_quarter_gain({"curve": curve})
    early = values[: int(0.75 * len(values))]
    assert gain == pytest.approx(max(values) - max(early))
    assert last_quarter_gain({"curve": curve[:3]}) is None


def test_a_run_knows_whose_search_chose_its_settings() -> None:
    _, found = searched()
    start, known = found.starts[0].changed(seed=9), found.record()
    longer = start.changed(method="PP, longer").then(found.stage.changed(epochs=7))
    other = start.changed(method="PP, another margin").then(found.stage.changed(margin=0.7))
    told = {"history": {"curve": []}}
    rows = searches_of([Trained(longer, told), Trained(other, told)], [known])
    assert [(row.method, row.trainings, bool(row.grid)) for row in rows] == [
        ("PP, longer", 8, True),
        ("PP, another margin", 1, False),
    ]
    assert identity(longer, longer.stages[-1]) == known.of != identity(other, other.stages[-1])
