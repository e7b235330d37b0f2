"""The rows of table 2, the ranking of figures 5 and 7, and what is computed for claims of WSV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cells import of_page
from sentbook import records
from sentbook.data import suites, vectors
from sentbook.data.vectors import WordVectors
from sentbook.judge.printed import table as reported
from sentbook.papers.wsv.experiments import dimension_recipes, scored
from sentbook.papers.wsv.ranking import systems
from sentbook.papers.wsv.settings import Settings
from sentbook.records import Metric, Run
from sentbook.study import Study
from sentbook.training.recipes import recipes


def study(**changes: Any) -> Study:
    return Study("wsv/table2", **{"wsv": {"filters": 6}, **changes})


@pytest.fixture(scope="module")
def run() -> Run:
    found = records.read("wsv/figure5")
    assert found is not None
    return found


@pytest.mark.parametrize("here", [True, False], ids=["all vectors", "no large ones"])
def test_rows_take_the_first_vectors_that_are_here_and_count_as_printed(
    monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    def load(name: str, path: str = "") -> WordVectors:
        size = next(int(part[:-1]) for part in name.split("-")[::-1] if part[:-1].isdigit())
        return WordVectors(["ba", "be"], np.ones((2, size), dtype=np.float32))

    monkeypatch.setattr(vectors, "load", load)
    monkeypatch.setattr(vectors, "available", lambda name: here or name == "glove-6b-50d" or "6b" not in name)
    made = study(dimensions=[row.model_dump() for row in Settings().dimensions])
    groups = dimension_recipes(made.settings)
    used = [group[0].vectors.name for group in groups]
    assert used == [row.vectors[not here and at < 3] for at, row in enumerate(made.settings.dimensions)]
    *as_printed, larger = (group[0] for group in groups)
    assert larger.method == "WSV-SCNN-SV d=50 L=1, GloVe 840B"
    printed = reported("wsv", "table2")
    counts = printed[printed["metric"] == "trainable_params"].set_index("method")["value"]
    dimension_of = of_page("wsv/table2", "dimension_of")["dimension_of"]
    found = {one.method: 9 * dimension_of(one.method) * one.encoder.filters + 2 for one in as_printed}
    assert found == dict(counts)


def test_scores_of_pairs_are_on_the_gold_scale_of_one_data_set() -> None:
    tiny = {"epochs": 1}
    made = study(seeds=[1, 2], device="cpu", wsv={"filters": 5}, sick=tiny, msrp=tiny)
    wsv, sick, msrp = made.settings.wsv, made.settings.sick, made.settings.msrp
    encoders = made.train(recipes(made.settings, "WSV", wsv, sick))
    test = suites.pairs("miniworld", "test")
    for state in ("best", "last"):
        book = scored(encoders, state)
        expected = np.stack([1 + 4 * item.scores("test", state) for item in encoders])
        np.testing.assert_allclose(book.stacked("WSV", test.name), expected, atol=2e-4)
    assert {row.metric for row in book.relatedness_rows()} == {"pearson", "spearman", "mse"}
    with pytest.raises(ValueError, match="too many values"):
        scored([*encoders, *made.train(recipes(made.settings, "b", wsv, msrp))])


def printed(**values: tuple[float, float]) -> pd.DataFrame:
    rows = [
        (name, "SICK2014-test", metric, value, "printed")
        for name, pair in values.items()
        for metric, value in zip(("pearson", "mse"), pair, strict=True)
    ]
    return pd.DataFrame(rows, columns=["method", "dataset", "metric", "value", "note"])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6, unique=True), st.floats(0, 1))
def test_systems_are_sorted_and_ours_is_below_the_better_ones(run: Run, others: list[float], value: float) -> None:
    row = Metric(method="ours", dataset="SICK2014-test", metric="pearson", protocol="p", seed=1, value=value, n=9)
    paper = printed(**{f"s{at}": (other, 1 - other) for at, other in enumerate(others)})
    mine = run.model_copy(update={"metrics": [row]})
    found = systems(paper, mine, ours=["ours"], dataset="SICK2014-test", metrics=["pearson", "mse"])
    assert list(found["pearson"]) == sorted([*others, value], reverse=True)
    assert sum(found["pearson"] > value) == sum(other > value for other in others)
    assert list(found[found["ours"]]["system"]) == ["WSV-SCNN-SV"]
