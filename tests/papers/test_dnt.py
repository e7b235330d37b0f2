"""Zhang et al. 2018: what a row trains, that test pairs choose nothing, and who wins a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from sentbook import config
from sentbook.data import suites
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import Predictions, sts_predictions
from sentbook.papers.dnt import transfers, winners
from sentbook.papers.dnt.settings import Settings
from sentbook.records import Search, Test, read
from sentbook.report import page
from sentbook.study import Study
from sentbook.training.objectives import DirectTransfer
from sentbook.training.recipes import recipes
from sentbook.training.runs import Trained
from sentbook.training.search import Found

SETS = ("STSB-dev", "STSB-test", "SIM", "STS12", "STS12/MSRpar")
# Method -> noise beside gold: the more, the worse.
NOISE = {"GRAN [UE]": 2.0, "GRAN [FT] KL": 0.9, "GRAN [NT] KL row2": 0.6, "GRAN [DNT] row2": 0.45}


@pytest.fixture(scope="module")
def settings() -> Settings:
    return config.load("dnt", {"profile": "demo", "seeds": [1, 2, 3]})


def scores_of(noise: Mapping[str, float], n: int = 300) -> Predictions:
    rng = np.random.default_rng(0)
    pairs = [ScoredPairs(name, [""] * n, [""] * n, rng.integers(0, 26, n) / 5, (0, 5)) for name in SETS]
    scores = sts_predictions(pairs)
    for one in pairs:
        for method, amount in noise.items():
            for seed in (1, 2):
                scores.add(method, seed, one.name, one.gold + 2 * amount * rng.normal(size=n))
    return scores


def test_a_row_trains_what_its_name_says(settings: Settings) -> None:
    labels = [winners.row_label(transfers.method_of("GRAN", row)) for row in transfers.rows(settings)]
    losses = [f"NT {loss}, words {words}" for loss in ("MSE", "KL") for words in ("updated", "frozen")]
    assert labels == ["FT MSE", "FT KL", *losses, "DNT, words updated", "DNT, words frozen"]
    for row, label in zip(transfers.rows(settings), labels, strict=True):
        assert isinstance(row, DirectTransfer) == label.startswith("DNT")
        assert getattr(row, "frozen", False) == label.startswith("FT")
        assert (row.embedding_update == "lazy") == label.endswith("updated")


def test_cells_are_counted_for_the_first_and_words_are_paired_updated_first() -> None:
    row = {"kind": "t", "metric": "pearson", "a": "G [NT]", "b": "G [FT]", "low": -1, "high": 1}
    found = winners.first_above_second([Test(**row, dataset=f"d{n}", estimate=n) for n in (1, 2, 3, -1, 0)])
    assert found.estimate == 0.75 and 0 <= found.low < 0.75 < found.high <= 1
    names = ["A [NT] KL row1", "A [NT] KL row2"]
    assert winners.words_pairs(names) == [tuple(names)]


@pytest.mark.parametrize("profile", ["demo", "small", "paper"])
def test_every_setting_has_as_many_points_to_choose_from(profile: str) -> None:
    """For each encoder, over the rows that a setting is chosen from; and InferSent's words are never updated."""
    s = config.load("dnt", {"profile": profile})
    starts = {"GRAN": recipes(s, "GRAN [UE]", s.gran), "PP": recipes(s, "PP [UE]", s.pp)}
    if profile != "demo":
        starts["InferSent"] = recipes(s, "InferSent [UE]", s.infersent)
    counts: Counter[str] = Counter()
    for row in transfers.wanted_rows(s, starts, transfers.rows(s), ["miniworld"]):
        counts[winners.setting_name(row.method)] += len(row.points(0)) * (" MSE" not in row.method)
        assert "InferSent" not in row.method or row.stage.embedding_update == "frozen"
    found = {counts[f"{name} [{setting}]"] for name in starts for setting in ("FT", "NT", "DNT")}
    assert len(found) == 1 and found != {0}, counts


def test_a_search_sees_no_more_pairs_than_its_grid_says(settings: Settings) -> None:
    """And what it chooses is trained on all of them."""
    small = settings.model_copy(update={"network_grid": settings.network_grid.changed(pairs=50)})
    starts = {"GRAN": recipes(small, "GRAN [UE]", small.gran, seeds=[1])}
    [row] = transfers.wanted_rows(small, starts, [small.head.changed(embedding_update="frozen")], ["miniworld"])
    points = row.points(0)
    size = len(suites.pairs("miniworld", "train"))
    assert {round(point.share * size) for point in points} == {50} and row.stage.share == 1
    row.choose(0, points, [[0.5]])
    [chosen] = row.recipes()
    assert chosen.method == "GRAN [NT] KL row2" and chosen.stages[-1].share == 1


@pytest.mark.real_data
def test_scores_are_on_the_scale_of_their_set_and_the_parts_of_sts12_are_cut_from_it(mirror: object) -> None:
    class Told(Trained):
        seed = 1

        def scores(self, split: str, state: str = "best") -> np.ndarray:
            return np.linspace(0, 1, 1959)

    found = Found("GRAN [DNT] row1", "sts12", [Told.__new__(Told)], Search(method="GRAN [DNT] row1"))
    scores = transfers.score(Study("dnt/table4"), [], [found], ["sts12"])
    [whole] = scores.stacked("GRAN [DNT] row1", "STS12")
    parts = [scores.stacked("GRAN [DNT] row1", name)[0] for name in scores.names[1:]]
    np.testing.assert_allclose(whole, np.linspace(0, 5, 1959), atol=2e-4)
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=3e-4)
    assert [text for name in scores.names[1:] for text in scores.pairs[name].first] == list(scores.pairs["STS12"].first)
    assert scores.members("STS12/avg") == scores.names[1:]


def found_row(method: str, *development: float) -> Found:
    trained = [Trained(None, {"history": {"best": value}}) for value in development]  # type: ignore[arg-type]
    return Found(method, "sim", trained, Search(method=method, trainings=8))


def test_development_pairs_choose_the_row_of_a_setting() -> None:
    rows = [
        found_row(f"GRAN [NT] {name}", *own)
        for name, own in {"MSE row1": (0.9, 0.9), "KL row1": (0.8, 0.2), "KL row2": (0.6, 0.6)}.items()
    ]
    assert transfers.chosen_rows(rows) == {"SIM": {"GRAN [NT]": "GRAN [NT] KL row2"}}
    *of_rows, of_setting = transfers.searches(rows)
    assert [one.method for one in of_rows] == [row.method for row in rows]
    assert (of_setting.method, of_setting.dataset, of_setting.trainings) == ("GRAN [NT]", "SIM", 16)


def test_a_setting_has_the_scores_of_its_row() -> None:
    scores = scores_of({**NOISE, "GRAN [NT] KL row1": 0.5})
    rows = {f"GRAN [{winners.setting_of(name)}]": name for name in NOISE if "[UE]" not in name}
    best = winners.best_rows(scores, {name: rows for name in winners.tested_sets(scores)})
    assert set(best.methods) == {f"GRAN [{setting}]" for setting in winners.SETTINGS}
    own = scores.difference("GRAN [DNT] row2", "GRAN [NT] KL row2", "STS12", resamples=100)
    tests = winners.contrasts(best, winners.direct_pairs(best.methods), 100)
    [found] = [t for t in tests if (t.a, t.b, t.dataset) == ("GRAN [DNT]", "GRAN [NT]", "STS12")]
    assert (found.estimate, found.low, found.high, found.p) == (own.estimate, own.low, own.high, own.p)
    assert {test.dataset for test in tests} == {"STSB-test", "SIM", "STS12"} and len(tests) == 9


def test_a_record_in_cells_has_the_numbers_of_its_rows() -> None:
    run, cells = read("dnt/table4"), winners.cells(page("dnt/table4"))
    assert run is not None and cells.run is not None
    values = {(row.method, row.dataset, row.seed): row.value for row in cells.run.metrics}
    assert len(values) == len(cells.run.metrics) == (4 * 24 + 2 * 9) * 3  # settings; two variants of DNT on three sets
    row = next(row for row in run.metrics if (row.method, row.dataset) == ("GRAN [NT] KL row1", "SAG"))
    assert values["NT", "GRAN/SAG", row.seed] == row.value


def test_the_papers_count_of_ties() -> None:
    """16 of 24 with ties, 15 without; UE is best in one, within the rule in three: the text says two."""
    printed = winners.cells(page("dnt/table4")).paper.query("~dataset.str.endswith('dev')")
    best = printed.pivot(index="dataset", columns="method", values="value")
    # Printed values of three decimals differ by .002 only up to rounding.
    tied = best.ge(best.max(axis=1) - 0.002 + 1e-9, axis=0)
    assert len(best) == 24 and tied.DNT.sum() == 16 and tied.UE.sum() == 3
    assert (best.drop(columns="DNT").max(axis=1) < best.DNT).sum() == 15
