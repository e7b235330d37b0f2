"""Every faulty parameter stops the run with one sentence that helps."""

import re
from pathlib import Path

import pytest

from sentbook import config
from sentbook.config import digest, kind_of, load
from sentbook.io import ConfigError


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sede": [1]}, "Unknown parameter 'sede' in cse, profile demo; see params/"),
        ({"sentence": {"margn": 0.4}}, "Unknown parameter 'sentence.margn' in cse"),
        ({"sentence": {"margin": 3}}, "less than or equal to 2 (got 3)"),
        ({"seeds": 1}, "Input should be a list, such as [1, 2] (got 1)."),
        ({"settings": {"seeds": [1]}}, "'settings' in cse, profile demo is no mapping (by papermill: -y"),
        ({"settings": {"resample": 200}}, "Unknown parameter 'resample' in cse"),
        ({"sentence": {"margin": True}}, "'sentence.margin' in cse, profile demo: true and false"),
        ({"seeds": {True, 3}}, "'seeds' in cse, profile demo: true and false"),
        ({"seeds": "[1]"}, "papermill passes such values by -y 'seeds: ...', not by -p."),
        ({"cse": {"widths": "1, 2"}}, "papermill passes such values by -y 'cse: ...', not by -p."),
        ({"cse": "{widths: [1]}"}, "papermill passes such values by -y 'cse: ...', not by -p."),
        ({"settings": "{resamples: 200}"}, "is no mapping (by papermill: -y 'settings: ...')"),
    ],
)
def test_faults(changes: dict, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load("cse", changes)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_rate_of_no_row_is_refused() -> None:
    assert load("cnn_lstm", {"rates": {"wide composite model+emb.": 1e-3}}).rates
    with pytest.raises(ConfigError, match=r"'rates\.autoencodr.*autoencoder\|future predictor\|"):
        load("cnn_lstm", {"rates": {"autoencodr": 1e-3}})


@pytest.mark.parametrize(
    ("paper", "section", "other"),
    [
        ("cse", "phrase", "corpora 'file' and the path of a file of pairs go together"),
        ("cnn_lstm", "pretraining", "corpus 'folder' and the path of a folder of .txt books go together"),
        ("cnn_lstm", "ranking", "miniworld-scenes reads no path; write {corpus: coco, path: "),
    ],
)
def test_a_path_is_read_or_refused(tmp_path: Path, paper: str, section: str, other: str) -> None:
    for path, said in (
        (tmp_path / "none.txt", f"there is no {tmp_path}/none.txt; correct the path"),
        (tmp_path, other),
    ):
        with pytest.raises(ConfigError, match=re.escape(said)):
            load(paper, {section: {"path": str(path)}})


def test_changes_are_laid_over_the_profile() -> None:
    base = load("cse", {"profile": "demo"})
    changed = load("cse", {"profile": "demo", "sentence": {"margin": 0.8}})
    assert changed.sentence == base.sentence.changed(margin=0.8)
    assert kind_of("cse", changed) == f"custom/{digest(changed)}"
    assert kind_of("cse", load("cse", {"profile": "demo", "jobs": 2})) == "demo"  # jobs do not decide a number


def test_seeds_are_of_every_row_but_for_those_set_by_their_own_name() -> None:
    seeds, few = [1, 2, 3], load("cse", {"seeds": [4], "settings": {"filter_seeds": [5, 6]}})
    assert load("cse", {"seeds": seeds}).ablation_seeds == (1, 2, 3) != load("cse", {}).ablation_seeds
    assert (few.seeds, few.ablation_seeds, few.filter_seeds) == ((4,), (4,), (5, 6))


def test_broken_yaml(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    for content in (b"a: [1,\nb", b"- 1", "é: 1".encode("latin-1")):
        file.write_bytes(content)
        with pytest.raises(ConfigError, match="is no mapping"):
            config.read_yaml(file)


def test_settings_of_a_notebook_go_over_the_profile_and_single_settings_over_them() -> None:
    given = {"profile": "demo", "seeds": None, "settings": {"resamples": 200, "cse": {"filters": 5, "widths": [1]}}}
    settings = load("cse", {**given, "cse": {"filters": 7}, "phrase": {}})
    assert (settings.resamples, settings.cse.filters, settings.cse.widths) == (200, 7, (1,))
    assert settings.seeds == load("cse", {"profile": "demo"}).seeds
    assert load("dnt", {"settings": {"paraphrase_vectors": None}}).paraphrase_vectors is None
