"""The rows of Gan et al.'s tables, and what a table says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from sentbook import config
from sentbook import records as results
from sentbook.data.tasks import task
from sentbook.evaluation.predictions import INTERVALS
from sentbook.io import ConfigError
from sentbook.models.average import AverageEncoder
from sentbook.papers.cnn_lstm import experiments, tables
from sentbook.papers.cnn_lstm.settings import Settings
from sentbook.runs.printed import table as reported
from sentbook.study import Study
from sentbook.training.recipes import Trained, untrained

SMALL = {"books": 60, "vocabulary": 400, "hidden": 8, "epochs": 1, "held_out": 64}
NAMES = ["autoencoder", "future predictor", "hierarchical model", "composite model"]
ROWS = [*NAMES, "combine"]
CHANGES: dict[str, Any] = {
    "profile": "demo", "device": "cpu", "resamples": 200, "encoder": {"filters": 8}, "pretraining": SMALL,
    "hierarchical": SMALL, "classification": ["miniworld/question", "miniworld/paraphrase"],
    "ranking": {"dimension": 6, "epochs": 1},
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What one test of this module trains, the next one finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path_factory.mktemp("artifacts")))
        yield


def paper(**changes: Any) -> Settings:
    return config.load("cnn_lstm", config.merge(CHANGES, changes))


def study_of(settings: Settings) -> Study:
    return Study("cnn_lstm/table3", settings)


@pytest.fixture(scope="module")
def settings() -> Settings:
    return paper()


@pytest.fixture(scope="module")
def study(settings: Settings) -> Study:
    return study_of(settings)


@pytest.fixture(scope="module")
def trained(settings: Settings, study: Study, artifacts: None) -> dict[str, Trained]:
    made = experiments.recipes(study, settings, [""])
    return {name: study.train(made[name])[0] for name in ("hierarchical model", "composite model")}


# -- rows --------------------------------------------------------------------------------------------------------------


def test_a_row_is_trained_as_its_name_says(settings: Settings, study: Study) -> None:
    made = experiments.recipes(study, settings)
    assert list(made) == NAMES + [f"{name}+emb." for name in NAMES]
    kinds = ["autoencoder", "future predictor", "hierarchical", "composite"]
    for (name, [recipe]), kind in zip(made.items(), kinds * 2, strict=True):
        stage = recipe.generation
        assert stage is not None and len(recipe.stages) == 1
        update = "frozen" if name.endswith("+emb.") else "dense"
        base = settings.hierarchical if kind == "hierarchical" else settings.pretraining
        assert stage.model_dump() == base.model_dump() | {"model": kind, "embedding_update": update}
        assert (recipe.method, recipe.seed, recipe.encoder) == (name, 1, settings.encoder)


def test_all_rows_read_one_text() -> None:
    own = {"corpus": "folder", "path": "my/books", "layout": "lines"}
    settings = paper(pretraining=own)
    stages = [experiments.stage_of(settings, name) for name in NAMES]
    assert [stage.model_dump(include=set(own)) for stage in stages] == [own] * len(NAMES)
    assert paper(pretraining=own, hierarchical=own) == settings
    with pytest.raises(ConfigError, match="all models read one text, so set"):
        paper(pretraining=own, hierarchical=own | {"path": "my/others"})
    with pytest.raises(ConfigError, match="layout 'lines' goes with corpus 'folder'"):
        paper(pretraining={"layout": "lines"})


def test_every_seed_is_a_row_and_marks_have_theirs() -> None:
    settings = paper(seeds=[3, 5])
    study = study_of(settings)
    rows = experiments.features(experiments.recipes(study, settings))
    assert [(row.method, row.seed) for row in rows] == [
        (f"{name}{suffix}", seed) for suffix in ("", "+emb.") for name in ROWS for seed in (3, 5)
    ]
    assert len({row.key() for row in rows}) == 20
    marks = experiments.marks(study, settings)
    names = ["random CNN", "random CNN+emb.", "random wide CNN", "random wide CNN+emb."]
    assert [(mark.method, mark.seed) for mark in marks] == [
        *((name, seed) for name in names for seed in (3, 5)),
        *(("random LSTM", 1), ("random LSTM+emb.", 1), ("average of words", 3)),
    ]
    recipes = [part for mark in marks for part in mark.parts if not isinstance(part, str)]
    assert not any(recipe.stages for recipe in recipes)
    assert recipes[-1].encoder == AverageEncoder()


def test_rows_are_called_as_they_are_printed(settings: Settings, study: Study) -> None:
    rows = {row.method for row in experiments.features(experiments.recipes(study, settings))}
    for name in ("table3", "table4", "table5"):
        printed = set(reported("cnn_lstm", name).method)
        assert {method for method in printed if method.removesuffix("+emb.") in ROWS} <= rows
    marks = {mark.method for mark in experiments.marks(study, settings)}
    assert {method for pair in [*experiments.WORDS, *experiments.STARTS] for method in pair} <= rows | marks


def test_a_rate_of_its_own_moves_its_row_alone(study: Study) -> None:
    settings = paper(rates={"composite model+emb.": 0.03})
    found = {name: group[0].stages[0].learning_rate for name, group in experiments.recipes(study, settings).items()}
    assert found.pop("composite model+emb.") == 0.03 and set(found.values()) == {0.01}


def test_what_is_moved_is_one_thing(settings: Settings, study: Study) -> None:
    made = {**experiments.variants(study, settings), **experiments.lstms(study, settings)}
    base = {name: group[0] for name, group in experiments.recipes(study, settings).items()}

    def moved(name: str, of: str) -> set[str]:
        one, other = made[name][0], base[of]
        pairs = ((one.encoder, other.encoder), (one.stages[0], other.stages[0]))
        values = [(a.model_dump(), b.model_dump()) for a, b in pairs]
        return {key for a, b in values for key in a.keys() | b.keys() if a.get(key) != b.get(key)}

    assert moved("hierarchical model (2)", "hierarchical model") == {"paragraph", "batch_size"}
    assert moved(experiments.WIDE, "composite model+emb.") == {"filters"}
    assert made["LSTM autoencoder"][0].stages == base["autoencoder"].stages
    widths = {name: group[0].encoder for name, group in made.items()}
    assert widths["LSTM autoencoder"].hidden == settings.encoder.filters * len(settings.encoder.widths)


def test_combine_is_the_hierarchical_beside_the_composite_model(
    settings: Settings, study: Study, trained: Mapping[str, Trained]
) -> None:
    made = experiments.recipes(study, settings)
    rows = {row.method: row for row in experiments.features(made)}
    said = ["the dog ran .", "the cook saw a cat .", "the dog ran ."]
    one, other = (rows[name].vectors(said) for name in experiments.COMBINE)
    np.testing.assert_array_equal(rows["combine"].vectors(said), np.hstack([one, other]))
    assert one.shape == other.shape == (3, 24) and not np.array_equal(one, other)
    some = experiments.features({name: made[name] for name in ("autoencoder", "composite model")})
    assert [row.method for row in some] == ["autoencoder", "composite model"]


def test_a_projection_keeps_the_largest_directions(
    settings: Settings, study: Study, trained: Mapping[str, Trained]
) -> None:
    combine = next(
        row for row in experiments.features(experiments.recipes(study, settings, [""])) if len(row.parts) > 1
    )
    [row] = experiments.projected([*experiments.features(experiments.recipes(study, settings, [""]))])
    said = ["the dog ran .", "the cook saw a cat .", "a girl went home ."]
    z, p = combine.vectors(said), row.vectors(said)
    assert p.shape == (3, 24) and z.shape == (3, 48) and row.key() != combine.key()
    lengths, kept = np.linalg.norm(z, axis=1), np.linalg.norm(p, axis=1)
    assert (kept <= lengths * (1 + 1e-6)).all() and (kept > 0.9 * lengths).all()


def test_the_last_check_of_a_training_is_the_state_it_ended_with(study: Study, trained: Mapping[str, Trained]) -> None:
    one = trained["composite model"]
    history = one.metadata["history"]
    steps = [point["step"] for point in history["curve"] if point["split"] == "train"]
    best = one.at(1 + steps.index(history["best_step"])).encoder().state_dict()
    whole = one.encoder().state_dict()
    assert len(steps) == 2 and all(torch.equal(best[name], whole[name]) for name in whole)
    other = one.at(2 - steps.index(history["best_step"])).encoder().state_dict()
    assert not torch.equal(other["weights.0"], whole["weights.0"])


@pytest.mark.parametrize(("fixed", "bound"), [(True, 0.07), (False, 0.07 / 25)])
def test_a_random_start_has_filters_of_a_common_size(fixed: bool, bound: float, study: Study) -> None:
    settings = paper(encoder={"filters": 60, "padding": "released"})
    found = experiments.random_start(settings, fixed=fixed)
    assert found.model_dump() == settings.encoder.model_dump() | {"bound": bound}
    [recipe] = study.recipes("random CNN", found, random_words=not fixed)
    filters = torch.cat([value.detach().ravel() for value in untrained(recipe)[0].composition() if value.ndim == 2])
    assert 0.99 * bound < filters.abs().max() <= bound


def test_random_starts_neither_saturate_nor_vanish(settings: Settings, study: Study) -> None:
    for mark in experiments.marks(study, settings)[:2]:
        size = np.abs(mark.vectors(task("miniworld/question").train.first[:50])).mean()
        assert 0.005 < size < 0.5, mark.method


def test_a_gain_is_that_of_the_last_quarter_of_the_checks_over_tasks_and_seeds() -> None:
    checks = enumerate((0.5, 0.7, 0.6, 0.75), start=1)
    run = run_of(*((f"autoencoder{experiments.CHECK}{at}", "p", value) for at, value in checks))
    other = [row.model_copy(update={"seed": 2, "value": 0.7}) for row in run.metrics]
    assert experiments.task_gains([*run.metrics, *other]) == {"autoencoder": pytest.approx(0.025)}
    assert experiments.task_gains(run_of(("autoencoder", "p", 0.7)).metrics) == {}


# -- the table ---------------------------------------------------------------------------------------------------------


def run_of(*values: tuple[str, str, float], **extra: Any) -> results.Run:
    made = {"git_commit": "0", "config": {}, "config_hash": "0", "python": "3", "device": "cpu", "started": "now"}
    provenance = results.Provenance(**made, wall_seconds=1, peak_memory_bytes=1, seeds=[1])
    rows = [
        results.Metric(method=name, dataset="TREC", metric="accuracy", protocol=protocol, seed=1, value=value, n=500)
        for name, protocol, value in values
    ]
    return results.Run(
        paper="cnn_lstm", experiment="made", profile="small", provenance=provenance, metrics=rows, extra=extra
    )


def table(run: results.Run, **options: Any) -> str:
    return tables.methods_table(run, columns=tables.classification_columns, **options).html(style=False)


def test_an_interval_stands_beside_values_of_its_own_protocol() -> None:
    ends = {INTERVALS: {"accuracy": {"TREC": {"combine": [0.71, 0.79]}}}}
    run = run_of(("combine", "one", 0.75), ("combine", "other", 0.9), **ends)
    assert "71.0, 79.0" in table(run, protocol="one")
    assert "71.0, 79.0" not in table(run, protocol="other")


def test_the_readers_run_stands_below_the_recorded_one() -> None:
    shown = table(run_of(("combine", "p", 0.75)), beside=run_of(("combine", "p", 0.813)))
    assert "75.0" in shown and "your run 81.3" in shown
