"""The two pages across the papers: what their cells compute, what is refused, and what the recorded runs say."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from cells import of_page
from sentbook import report
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import statistics
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import Aggregation
from sentbook.io import DataError, root

SIZES = {"STS2014/a": 9, "STS2014/b": 14, "STS2014/c": 5}
PAGE = of_page("cross/protocols", "CORRELATIONS", "AGGREGATIONS")
CORRELATIONS, AGGREGATIONS = PAGE["CORRELATIONS"], PAGE["AGGREGATIONS"]
YEAR, WAYS = "STS2014/avg", list(itertools.product(CORRELATIONS, AGGREGATIONS))
Scores = Mapping[str, NDArray[Any]]


def sets() -> list[ScoredPairs]:
    rng = np.random.default_rng(0)
    return [ScoredPairs(name, ["x"] * n, ["y"] * n, rng.integers(0, 6, n) + 0.0, (0, 5)) for name, n in SIZES.items()]


def said(seed: int) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    return {pairs.name: pairs.gold + 2 * rng.normal(size=len(pairs)) + rng.normal() for pairs in sets()}


def predictions(found: Scores, of: list[ScoredPairs] | None = None) -> Predictions:
    made = Predictions(sets() if of is None else of, means={YEAR: list(SIZES)})
    for name, values in found.items():
        made.add("one", 1, name, values)
    return made


@pytest.mark.parametrize(("measure", "way"), WAYS)
def test_the_bootstrap_is_that_of_repeated_pairs(measure: str, way: Aggregation) -> None:
    [found] = predictions(said(11)).resampled(["one"], YEAR, measure, 3, aggregation=way)
    for number in range(3):
        drawn = {
            name: statistics.resample_counts(size, 3, [0, place])[number].astype(int)
            for place, (name, size) in enumerate(SIZES.items())
        }
        again = [replace(p, first=["x"] * len(p), gold=np.repeat(p.gold, drawn[p.name])) for p in sets()]
        copy = predictions({name: np.repeat(said(11)[name], drawn[name]) for name in SIZES}, again)
        assert found[number] == pytest.approx(copy.mean("one", YEAR, measure, way), abs=1e-5)


def test_the_scores_of_some_pairs_are_drawn_with_the_whole_sets() -> None:
    whole, size = predictions(said(11)), SIZES["STS2014/b"]
    keep = of_page("cross/protocols", "Kept", scores=whole)["Kept"]
    np.testing.assert_allclose(*(one.resampled(["one"], YEAR, resamples=60)[0] for one in (keep({}), whole)))
    kept = np.arange(size) % 2 == 0
    half = keep({"STS2014/b": kept, "STS2014/c": np.arange(SIZES["STS2014/c"]) < 1})
    assert half.members(YEAR) == ["STS2014/a", "STS2014/b"] and len(half.gold["STS2014/b"]) == kept.sum()
    counts, values = statistics.resample_counts(size, 60, [0, 1])[:, kept], whole.stacked("one", "STS2014/b")[:, kept]
    expected = statistics.bootstrap("pearson", values, whole.gold["STS2014/b"][kept], counts)
    np.testing.assert_array_equal(half.resampled(["one"], "STS2014/b", resamples=60)[0], expected)


def test_the_nearest_mean_is_that_of_cosines_by_hand_and_length_decides_nothing() -> None:
    nearest_mean, rng = of_page("cross/matrix", "unit", "nearest_mean")["nearest_mean"], np.random.default_rng(0)
    labels = np.arange(60) % 4
    train, test = rng.normal(size=(60, 5)) + 2 * np.eye(4, 5)[labels], rng.normal(size=(30, 5))
    means = np.stack([np.mean([x / np.linalg.norm(x) for x in train[labels == k]], axis=0) for k in range(4)])
    cosines = [[x @ m / np.linalg.norm(x) / np.linalg.norm(m) for m in means] for x in test]
    assert nearest_mean(train, labels, test).tolist() == np.argmax(cosines, axis=1).tolist()
    assert (nearest_mean(train, labels, train) == labels).mean() > 0.7
    scaled = nearest_mean(train * rng.uniform(0.1, 9, size=(60, 1)), labels, test * 7)
    np.testing.assert_array_equal(scaled, nearest_mean(train, labels, test))
    assert nearest_mean([[1, 0], [0, 1], [0, 0]], np.array([0, 1, 1]), [[0, 0]]).tolist() == [0]


def test_of_equal_methods_any_is_called_different_in_one_table_of_twenty() -> None:
    """Eight methods, 28 pairs."""
    all_pairs, rng, wrong = of_page("cross/matrix", "all_pairs")["all_pairs"], np.random.default_rng(3), 0
    for _ in range(200):
        items = rng.normal(size=(8, 60))
        counts = rng.multinomial(60, np.full(60, 1 / 60), size=400)
        sampled = items @ counts.T / 60
        wrong += bool((all_pairs(items.mean(axis=1), sampled) < 0.05).any())
    assert wrong / 200 <= 0.1


def test_real_differences_are_found_and_order_does_not_matter() -> None:
    all_pairs, rng = of_page("cross/matrix", "all_pairs")["all_pairs"], np.random.default_rng(0)
    items = rng.normal(size=(4, 200)) * 0.3 + np.array([[0.0], [0.0], [0.5], [1.0]])
    counts = rng.multinomial(200, np.full(200, 1 / 200), size=500)
    points, sampled = items.mean(axis=1), items @ counts.T / 200
    p = all_pairs(points, sampled)
    assert p[0, 1] > 0.05 > p[0, 2] and p[2, 3] < 0.05
    assert (p == p.T).all() and (p.diagonal() == 1).all()
    turned = [2, 0, 3, 1]
    np.testing.assert_array_equal(all_pairs(points[turned], sampled[turned]), p[np.ix_(turned, turned)])
    assert p[p < 1].min() == pytest.approx(1 / 501)


def own_scores(file: Path, rows: Mapping[str, Any]) -> dict[str, Any]:
    """Run the cell of a reader's own scores on a file of ``rows``."""
    pd.DataFrame(rows).to_csv(file, index=False)
    inside = {
        "s": SimpleNamespace(own_scores=str(file)), "sets": sets(), "years": {YEAR: list(SIZES)}, "report": report,
        "page": report.page("cross/protocols"), "pd": pd, "np": np, "product": itertools.product,
        "Predictions": Predictions, "CORRELATIONS": CORRELATIONS, "AGGREGATIONS": AGGREGATIONS,
    }  # fmt: skip
    notebook = nbformat.read(root() / "notebooks" / "cross" / "protocols.ipynb", as_version=4)
    exec("\n".join(cell.source for cell in notebook.cells if cell.id in ("own-read", "own-scores")), inside)
    return inside


def test_own_scores_are_read_and_anything_but_whole_sets_is_refused(tmp_path: Path) -> None:
    names = [name for name, size in SIZES.items() for _ in range(size)]
    values = [float(value) for pairs in sets() for value in pairs.gold]
    shown = own_scores(tmp_path / "scores.csv", {"set": names, "score": values})["by_way"]
    assert shown["pearson, pooled pairs"] == pytest.approx(
        {"STS 2014 average": 100} | {f"STS 2014 {n[-1]}": 100 for n in SIZES}
    )
    for rows in (
        {"set": names, "scores": values},
        {"set": ["a"], "score": [1]},
        {"set": names, "score": ["0,5", *values[1:]]},
        {},
    ):
        with pytest.raises(DataError, match=r"needs the columns set,score .*STS2014/a 9, STS2014/b 14|no CSV file"):
            own_scores(tmp_path / "scores.csv", rows)
