"""Folders are found from whichever directory a command is started in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sentbook.system import paths
from sentbook.system.errors import ConfigError


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("SENTBOOK_ROOT", "SENTBOOK_ARTIFACTS"):
        monkeypatch.delenv(name, raising=False)
    paths.root.cache_clear()
    yield
    paths.root.cache_clear()


def checkout(folder: Path) -> Path:
    (folder / "params").mkdir(parents=True)
    (folder / "_toc.yml").touch()
    return folder


def test_the_checkout_is_found_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (paths.root() / "params" / "cse" / "demo.yaml").is_file()
    assert paths.artifacts() == paths.root() / "build" / "artifacts"


def test_the_variables_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTBOOK_ROOT", str(checkout(tmp_path / "house")))
    monkeypatch.setenv("SENTBOOK_ARTIFACTS", str(tmp_path / "kept"))
    assert paths.root() == tmp_path / "house"
    assert paths.artifacts() == tmp_path / "kept"


def test_an_installed_package_finds_the_checkout_it_is_used_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "site-packages" / "sentbook" / "paths.py"))
    inside = checkout(tmp_path / "house") / "notebooks" / "cse"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert paths.root() == tmp_path / "house"


@pytest.mark.parametrize("named", ["nowhere", "."])
def test_a_root_that_is_no_checkout_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("SENTBOOK_ROOT", str(tmp_path / named))
    with pytest.raises(ConfigError, match=r"set SENTBOOK_ROOT to the folder that holds params/ and _toc\.yml\.$"):
        paths.root()
