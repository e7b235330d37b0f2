"""The card says what the encoder learned from and only numbers that a recorded run holds of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sentbook import records as results
from sentbook.data.vectors import Vectors
from sentbook.exchange import model_card, portable
from sentbook.exchange.export import CARD, export
from sentbook.exchange.model_card import Measured, card, recorded
from sentbook.models.average import AverageEncoder
from sentbook.models.bilstm import BiLSTMEncoder
from sentbook.runs import ledger as store
from sentbook.training.recipes import Recipe, Trained
from sentbook.training.settings import DirectTransfer, EntailmentTraining, HeadTraining

KEY = "a" * 16
DRAWN = Callable[..., portable.Portable]


def run(experiment: str, artifacts: list[tuple[str, int, str]], values: dict[tuple[str, int], float]) -> results.Run:
    provenance: dict[str, Any] = {
        "git_commit": "c0ffee", "config": {}, "config_hash": "", "python": "3", "device": "cpu", "started": "",
        "wall_seconds": 1, "peak_memory_bytes": 1, "seeds": [1],
    }  # fmt: skip
    metrics = [
        results.Metric(
            method=method, seed=seed, value=value, dataset="Set|A", metric="pearson", protocol="cosine", n=1234
        )
        for (method, seed), value in values.items()
    ]
    entries = [{"method": method, "seed": seed, "key": key} for method, seed, key in artifacts]
    return results.Run(
        paper="cse", experiment=experiment, profile="small", provenance=results.Provenance(**provenance),
        metrics=metrics, extra={"artifacts": entries},
    )  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "root", lambda: tmp_path)
    monkeypatch.setattr(model_card, "root", lambda: tmp_path)
    return tmp_path


def test_the_numbers_are_those_of_the_key_and_seed(ledger: Path, artifacts: dict[str, Trained], tmp_path: Path) -> None:
    trained = artifacts["cse"]
    key = trained.recipe.key()
    assert trained.file is not None
    values = {("CSE", 1): 0.71234, ("CSE", 2): 0.5, ("PP", 1): 0.6}
    store.write(run("table1", [("CSE", 1, key), ("CSE", 2, KEY), ("PP", 1, KEY)], values))
    store.write(run("table2", [("other name", 3, key)], {("other name", 3): 0.25}))
    store.write(run("table3", [("CSE", 1, key), ("CSE", 1, KEY)], {("CSE", 1): 0.9}))
    store.write(run("table4", [("CSE", 1, key)], {("CSE", 1): 0.71234}))
    store.write(run("table5", [("CSE", 1, key)], {}))
    store.write(run("table6", [("CSE", 1, KEY)], {("CSE", 1): 0.8}))
    found = {measured.name: measured.rows for measured in recorded(key)}
    assert list(found) == [f"small/cse/table{number}" for number in (1, 2, 3, 4, 5)]
    export(trained.file, tmp_path / "out", name="  My\nencoder ")
    text = (tmp_path / "out" / CARD).read_text(encoding="utf-8")
    assert "| Set\\|A | pearson | cosine | 1,234 | 0.7123 |" in text
    assert text.count("0.7123") == 1 and "`results/small/cse/table4.json`, commit `c0ffee`): the numbers of" in text
    assert "0.2500" in text
    assert "from which its rows do not tell it" in text
    assert "has no row of it alone" in text
    assert not any(value in text for value in ("0.5000", "0.6000", "0.8000", "0.9000"))
    assert "\n# My encoder\n" in text


def test_without_a_run_no_number_is_claimed(
    ledger: Path, artifacts: dict[str, Trained], exported: dict[str, Path]
) -> None:
    assert recorded(artifacts["cse"].recipe.key()) == []
    for kind, folder in exported.items():
        text = (folder / CARD).read_text(encoding="utf-8")
        head = yaml.safe_load(text.split("---")[1])
        assert head["library_name"] == "sentence-transformers" and head["license"] == "other"
        assert f"# {kind}, seed 1" in text
        assert artifacts[kind].recipe.key() in text
        assert 0 < text.find('\nmodel = load("this folder")') < text.find("trust_remote_code")
        for section in ("Use", "Training", "Evaluation", "Intended use and limits", "Data and licences"):
            assert f"## {section}\n" in text
        assert "generated word vectors of the mini-world" in text


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("average", ["Wieting et al. 2016", "paraphrase pairs (miniworld-phrases), margin 0.6; 2 epochs\n"]),
        ("cse", ["Jiao et al. 2018", "1. paraphrase pairs (miniworld-phrases)", "2. paraphrase pairs (miniworld-sent"]),
        ("gran", ["Wieting and Gimpel 2017"]),
        ("bilstm", ["Conneau et al. 2017"]),
        ("wsv", ["Yao et al. 2018", "scored pairs (miniworld), by the cosine of two vectors"]),
        ("cnn", ["Gan et al. 2017", "text (miniworld-stories) that decoders write, autoencoder; word vectors learned"]),
        ("cnn fixed", ["word vectors fixed"]),
    ],
)
def test_source_and_stages(exported: dict[str, Path], kind: str, parts: list[str]) -> None:
    text = (exported[kind] / CARD).read_text(encoding="utf-8")
    for part in parts:
        assert part in text


def test_real_vectors_have_their_licence_and_what_they_stand_in_for(drawn: DRAWN) -> None:
    model = drawn(BiLSTMEncoder(hidden=3, pool="mean"), ["cook"])
    model.description.origin["data"] = {"vectors/glove6b_50d.npy": "f" * 64}
    stages = (
        EntailmentTraining(corpus="nli"),
        HeadTraining(dataset="sick", frozen=True),
        DirectTransfer(dataset="stsb"),
    )
    recipe = Recipe(
        method="BiLSTM-Avg", seed=1, vectors=Vectors(name="glove-6b-50d"),
        encoder=BiLSTMEncoder(pool="mean"), stages=stages,
    )  # fmt: skip
    text = card(model, "BiLSTM-Avg", recipe, [])
    assert "BiLSTM-Avg, the mean of the states" in text and "Wieting and Gimpel 2017" in text
    assert "- GloVe 6B 50-d for GloVe 840B and PARAGRAM-SL999" in text
    assert "- inference pairs of SNLI's dev and test, CAD, ConjNLI and SICK train for SNLI and MultiNLI" in text
    assert "1. three-way inference pairs (nli); 20 epochs" in text
    assert "by a classifier on two vectors, trained alone, the encoder fixed; it is not here" in text
    assert "| vectors/glove6b_50d.npy | PDDL 1.0 | `ffffffffffffffff` |" in text
    assert "No recorded run used this encoder" in text and "mini-world" not in text


def test_fewer_words_than_were_measured_are_said(drawn: DRAWN) -> None:
    model = drawn(AverageEncoder(), ["cook"])
    recipe = Recipe(method="PP", seed=1, vectors=Vectors(name="glove-6b-50d"), encoder=AverageEncoder())
    measured = [Measured(run("table1", [], {("PP", 1): 0.5}), [])]
    assert "Measured with all" not in card(model, "PP", recipe, measured)
    model.description.origin["words"] = 1000
    assert "**Measured with all 1,000 words of the encoder; this folder keeps fewer.**" in card(
        model, "PP", recipe, measured
    )
