"""The rows of Zhang et al.'s tables: what each trains, from which grid, with which seeds; what is compared."""

from __future__ import annotations

import numpy as np
import pytest

from sentbook import config
from sentbook.data import suites
from sentbook.evaluation.predictions import sts_predictions
from sentbook.papers.dnt import experiments as dnt
from sentbook.papers.dnt import winners
from sentbook.papers.dnt.settings import Settings
from sentbook.study import Study
from sentbook.training.recipes import Trained
from sentbook.training.search import Found
from sentbook.training.settings import DirectTransfer, Grid, HeadTraining


@pytest.fixture(scope="module")
def settings() -> Settings:
    return config.load("dnt", {"profile": "demo", "seeds": [1, 2, 3]})


@pytest.fixture(scope="module")
def study(settings: Settings) -> Study:
    return Study("dnt/table4", settings)


def test_the_paper_profile_is_the_papers_grid_and_width() -> None:
    paper = config.load("dnt", {"profile": "paper"})
    assert paper.infersent.hidden == paper.bilstm_average.hidden == 2048  # 4096 numbers in two directions
    assert paper.datasets == suites.TRANSFER
    for grid in (paper.feature_grid, paper.network_grid, paper.direct_grid):
        assert grid.learning_rates == (0.1, 0.01, 0.001, 0.0001)
        assert grid.batch_sizes == (32, 64)
        assert grid.epochs == (10, 30, 50)


@pytest.mark.parametrize("profile", ["small", "paper"])
def test_a_smaller_profile_chooses_among_points_of_the_papers_grid(profile: str) -> None:
    grid, own = Grid(), config.load("dnt", {"profile": profile})
    for part in (own.feature_grid, own.network_grid, own.direct_grid):
        assert set(part.learning_rates) <= set(grid.learning_rates)
        assert set(part.batch_sizes) <= set(grid.batch_sizes)
        assert set(part.epochs) <= set(grid.epochs)


@pytest.mark.parametrize("row", dnt.ROWS)
def test_a_row_freezes_what_its_name_says(row: dnt.Row, settings: Settings) -> None:
    stage, grid = dnt.stage_of(settings, row, "miniworld")
    assert isinstance(stage, DirectTransfer if row.startswith("DNT") else HeadTraining)
    assert stage.embedding_update == ("lazy" if row.endswith("row1") else "frozen")
    grids = {"FT": settings.feature_grid, "NT": settings.network_grid, "DNT": settings.direct_grid}
    assert grid == grids[row.split()[0]]
    if isinstance(stage, HeadTraining):
        assert stage.frozen == row.startswith("FT")
        assert stage.loss == ("mse" if "MSE" in row else "kl")


def test_pre_training_is_each_encoders_own_and_meets_no_test_sentence(study: Study, settings: Settings) -> None:
    starts = dnt.encoders(study, settings)
    assert {name: recipes[0].stages for name, recipes in starts.items()} == {
        "InferSent": (settings.inference,),
        "BiLSTM-Avg": (settings.paraphrase,),
        "GRAN": (settings.simple,),
    }
    paper = config.load("dnt", {"profile": "small"})
    for recipes in dnt.encoders(Study("dnt/table4", paper), paper).values():
        assert [recipe.seed for recipe in recipes] == [1, 2, 3]
        assert {recipe.suite for recipe in recipes} == {"dnt"}
        assert all(stage.exclude_overlap for recipe in recipes for stage in recipe.stages)


def test_seeds_of_the_rows(study: Study, settings: Settings) -> None:
    rows = dnt.wanted(settings, dnt.encoders(study, settings))
    assert len(rows) == 3 * len(settings.datasets) * len(dnt.ROWS)
    for row in rows:
        every = any(part in row.method for part in ("[FT] KL", "[DNT]"))
        assert [start.seed for start in row.starts] == ([1, 2, 3] if every else [1])


def test_table_5_moves_the_target_alone(study: Study, settings: Settings) -> None:
    rows = dnt.by_target(settings, dnt.encoders(study, settings))
    named = {(row.method, row.stage.dataset): row.stage for row in rows}
    for (method, dataset), stage in named.items():
        if method.endswith("norm0to1"):
            other = named[method.replace("norm0to1", "norm-1to1"), dataset]
            assert stage.model_dump() | {"target": "[-1, 1]"} == other.model_dump()


def test_all_pairs_are_the_rows_of_table_4(study: Study, settings: Settings) -> None:
    """So that the artifacts of one page serve the other."""
    starts = {"BiLSTM-Avg": dnt.encoders(study, settings)["BiLSTM-Avg"]}
    whole = {row.method: row for row in dnt.wanted(settings, starts, datasets=settings.shared_datasets)}
    for row in dnt.by_share(settings, starts):
        assert row.stage.share in settings.shares
        if row.method.endswith(" 100 %"):
            assert row.stage == whole[row.method.removesuffix(" 100 %")].stage


def scored(dataset: suites.Dataset, size: int, trial: int) -> tuple[Found, np.ndarray]:
    values = np.linspace(0, 1, size)

    class Told(Trained):
        seed = 1

        def scores(self, split: str, state: str = "best") -> np.ndarray:
            return values if split == "test" else np.linspace(0, 1, trial)

    stage = DirectTransfer(dataset=dataset)
    return Found("GRAN [DNT] row1", dataset, stage, [Told.__new__(Told)], []), values


def test_scores_come_back_on_the_data_sets_scale(study: Study, settings: Settings) -> None:
    pairs = suites.pairs("miniworld", "test")
    found, values = scored("miniworld", len(pairs), 3)
    book = dnt.score(study, settings, [], [found], ["miniworld"])
    np.testing.assert_allclose(book.stacked("GRAN [DNT] row1", "miniworld/relatedness")[0], 1 + 4 * values)


@pytest.mark.real_data
def test_the_parts_of_sts12_are_cut_from_its_pooled_pairs(study: Study, settings: Settings, mirror: object) -> None:
    found, _ = scored("sts12", 1959, 234)
    book = dnt.score(study, settings, [], [found], ["sts12"])
    parts = [book.stacked("GRAN [DNT] row1", name)[0] for name in book.names[1:]]
    np.testing.assert_array_equal(np.concatenate(parts), book.stacked("GRAN [DNT] row1", "STS12")[0])
    for name in book.names[1:]:
        start = book.pairs("STS12").first.index(book.pairs(name).first[0])
        assert book.pairs("STS12").first[start : start + len(book.pairs(name))] == book.pairs(name).first
    assert book.members("STS12/avg") == book.names[1:]


def test_contrasts_pair_rows_that_differ_in_one_thing() -> None:
    rows = [dnt.method_of(encoder, row) for encoder in ("InferSent", "GRAN") for row in dnt.ROWS]
    assert len(winners.updated_and_frozen(rows)) == 6
    assert len(winners.losses(rows)) == 6
    assert ("InferSent [NT] MSE row1", "InferSent [NT] KL row1") in winners.losses(rows)
    assert dnt.target_pairs(["GRAN [DNT] row1 norm0to1", "GRAN [DNT] row1 norm-1to1"]) == [
        ("GRAN [DNT] row1 norm0to1", "GRAN [DNT] row1 norm-1to1")
    ]
    assert dnt.hidden_pairs(["GRAN [FT] KL", "GRAN [FT] KL, 300 hidden"]) == [
        ("GRAN [FT] KL, 300 hidden", "GRAN [FT] KL")
    ]
    shared = dnt.share_pairs(config.load("dnt", {"profile": "demo"}), [
        "BiLSTM-Avg [UE]", "BiLSTM-Avg [FT] KL 10 %", "BiLSTM-Avg [NT] KL row1 10 %", "BiLSTM-Avg [DNT] row1 10 %"
    ])  # fmt: skip
    assert [b for _, b in shared] == ["BiLSTM-Avg [FT] KL 10 %", "BiLSTM-Avg [NT] KL row1 10 %", "BiLSTM-Avg [UE]"]


def test_holms_correction_is_over_the_test_sets_of_a_pair() -> None:
    rng = np.random.default_rng(0)
    sets = suites.transfer_sets(["miniworld", "miniworld-answers"])
    book = sts_predictions(sets)
    for method in ("GRAN [DNT] row1", "GRAN [DNT] row2", "PP [DNT] row1", "PP [DNT] row2"):
        for pairs in sets:
            book.add(method, 1, pairs.name, pairs.gold + rng.normal(size=len(pairs)))
    tests = dnt.contrasts(book, winners.updated_and_frozen(book.methods), 200)
    assert len(tests) == 4
    for pair in (tests[:2], tests[2:]):
        smallest = min(test.p or 1 for test in pair)
        assert min(test.p_holm or 1 for test in pair) == pytest.approx(min(1, 2 * smallest))
