"""What notebooks share: the data they read and the encoders they start from, ready and noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from sentbook import config
from sentbook.papers.wsv import experiments as wsv
from sentbook.runs.batch import planning, preparing, stamps
from sentbook.runs.batch.stamps import Job
from sentbook.study import Study
from sentbook.system.errors import ConfigError
from sentbook.training import recipes


@pytest.fixture(autouse=True)
def own_stamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamps, "folder", lambda profile: tmp_path / profile)
    monkeypatch.delenv(stamps.BATCH, raising=False)


def test_encoders_are_those_that_notebooks_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "artifacts"))
    made = preparing.encoders("wsv/wsv-scnn-sv", "demo")
    settings = config.load("wsv", {"profile": "demo"})
    study = Study("wsv", "table1", settings)
    wanted = study.recipes("WSV-SCNN-SV", settings.wsv, settings.sick)
    assert [key for key, _, _ in made] == [recipe.key() for recipe in wanted]
    assert all(recipes.load(recipe).metadata["pairs"] > 0 for recipe in wanted)
    stamp = stamps.read(Job("demo", "encoders", "wsv/wsv-scnn-sv").stamp)
    assert stamp["keys"] == sorted(key for key, _, _ in made)
    assert set(wsv.pretrained(study, settings)) == set(planning.ENCODERS["wsv"])


def test_what_is_not_there_is_a_sentence() -> None:
    with pytest.raises(ConfigError, match="no encoder 'gram' of dnt; choose one of infersent"):
        preparing.encoders("dnt/gram", "demo")
    with pytest.raises(ConfigError, match="'csa' has no encoders"):
        preparing.encoders("csa", "demo")
    with pytest.raises(ConfigError, match="No recorded run of cse"):
        preparing.data("cse", "demo")


@pytest.mark.real_data
def test_data_are_those_of_the_recorded_runs(mirror: Path) -> None:
    assert preparing.data("wsv", "small").startswith("9 files are here and as registered")
    stamp = stamps.read(Job("small", "data", "wsv").stamp)
    assert set(stamp["data"]) == set(planning.files_of("wsv", "small"))
