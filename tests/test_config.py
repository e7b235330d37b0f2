"""Every faulty parameter stops the run with one sentence that helps."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sentbook import config
from sentbook.config import digest, kind_of, load, parse
from sentbook.io import ConfigError
from sentbook.training.objectives import MarginTraining


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sede": [1]}, "Unknown parameter 'sede' in cse, profile demo; did you mean 'seeds'?"),
        ({"sentence": {"margn": 0.4}}, "did you mean 'margin'"),
        ({"cse": {"kind": "cse", "width": [1]}}, "width"),
        ({"sentence": {"margin": "wide"}}, "'sentence.margin'"),
        ({"sentence": {"margin": 3}}, "less than or equal to 2 (got 3)"),
        ({"sentence": {"learning_rate": float("nan")}}, "learning_rate"),
        ({"seeds": [1, 1]}, "holds a seed twice"),
        ({"seeds": []}, "seeds"),
        ({"profile": "large"}, "There is no profile 'large' of cse; choose one of demo, small, paper."),
        ({"sentence": {"batch_size": 1}}, "greater than or equal to 2"),
        ({"sentence": {"margin": True}}, "'sentence.margin' in cse, profile demo: true and false"),
        ({"seeds": [False, True]}, "'seeds' in cse, profile demo: true and false (yes, no, on, off) are no value"),
        ({"resamples": "1:30:00"}, "'resamples'"),
    ],
)
def test_faults(changes: dict, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load("cse", changes)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_yaml_numbers_in_either_spelling() -> None:
    """YAML 1.1 reads 1e-3 as a string; the typed configuration makes it a number all the same."""
    assert yaml.safe_load("1e-3") == "1e-3"
    assert parse(MarginTraining, yaml.safe_load("learning_rate: 1e-3")).learning_rate == 1e-3


@pytest.mark.parametrize("paper", config.papers())
@pytest.mark.parametrize("profile", config.PROFILES)
def test_every_profile_parses_and_says_only_what_differs(paper: str, profile: str) -> None:
    settings = load(paper, {"profile": profile})
    assert config.profile_values(paper, profile)["profile"] == settings.profile == profile
    assert kind_of(paper, settings) == profile


def test_changes_are_laid_over_the_profile() -> None:
    base = load("cse", {"profile": "demo"})
    changed = load("cse", {"profile": "demo", "sentence": {"margin": 0.8}})
    assert changed.sentence.margin == 0.8
    assert changed.sentence.corpora == base.sentence.corpora
    assert kind_of("cse", changed) == f"custom/{digest(changed)}"
    assert kind_of("cse", load("cse", {"profile": "demo", "jobs": 2})) == "demo"  # jobs do not decide a number


def test_broken_yaml(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("a: [1,\nb", encoding="utf-8")
    with pytest.raises(ConfigError, match="is no mapping"):
        config.read_yaml(file)
    file.write_text("- 1", encoding="utf-8")
    with pytest.raises(ConfigError, match="is no mapping"):
        config.read_yaml(file)
    file.write_bytes("é: 1".encode("latin-1"))
    with pytest.raises(ConfigError, match="is no mapping"):
        config.read_yaml(file)
    with pytest.raises(ConfigError, match="is no mapping"):
        config.read_yaml(tmp_path / "none.yaml")


@pytest.mark.parametrize("changes", [{"corpus": "folder"}, {"corpus": "novels", "path": "books"}])
def test_a_folder_of_books_and_its_corpus_go_together(changes: dict[str, str]) -> None:
    with pytest.raises(
        ConfigError, match=r"^Parameter 'pretraining' in .*: corpus 'folder' and the path .* together\.$"
    ):
        load("cnn_lstm", {"profile": "demo", "pretraining": changes})


def test_settings_of_a_notebook_go_over_the_profile_and_single_settings_over_them() -> None:
    given = {"profile": "demo", "seeds": None, "settings": {"resamples": 200, "cse": {"filters": 5, "widths": [1]}}}
    settings = load("cse", {**given, "cse": {"filters": 7}, "phrase": {}})
    assert (settings.resamples, settings.cse.filters, settings.cse.widths) == (200, 7, (1,))
    assert settings.seeds == load("cse", {"profile": "demo"}).seeds
    assert load("dnt", {"settings": {"paraphrase_vectors": None}}).paraphrase_vectors is None


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"seeds": [1]}, "'settings' in cse, profile demo must be a mapping of settings; write profile and seeds besi"),
        ([1], "'settings' in cse, profile demo must be a mapping"),
        ({"resample": 200}, "did you mean 'resamples'"),
    ],
)
def test_settings_of_a_notebook_are_strict(settings: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load("cse", {"profile": "demo", "settings": settings})
