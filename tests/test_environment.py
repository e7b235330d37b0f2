"""One list of dependencies, written three times: pyproject.toml, environment.yml for conda, requirements.lock."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

OPTIONAL = ("glove", "modern")
# What conda-forge may not have comes with the package itself, by pip.
PYPI = {"kubernetes-validate", "resvg-py"}
ROOT = Path(__file__).resolve().parents[1]
# Where conda-forge has another name.
CONDA = {
    "pytorch": "torch",
    "griffe": "griffelib",
    "matplotlib-base": "matplotlib",
    "playwright-python": "playwright",
    "snakemake-minimal": "snakemake",  # without the clouds' tools
}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wanted(project: dict[str, Any]) -> dict[str, SpecifierSet]:
    """What the package needs, with every extra but the optional encoders and vectors."""
    extras = project["optional-dependencies"]
    chosen = [line for name, lines in extras.items() if name not in OPTIONAL for line in lines]
    return specifiers(project["dependencies"] + [line for line in chosen if not line.startswith("sentbook[")])


@pytest.fixture(scope="module")
def environment() -> list[Any]:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]


@pytest.fixture(scope="module")
def lock() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    entries = [line.partition("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, _, version in entries}


def specifiers(lines: list[str]) -> dict[str, SpecifierSet]:
    found = {}
    for line in lines:
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        found[canonicalize_name(CONDA.get(name, name))] = requirement.specifier
    return found


def test_conda_has_the_same_names_and_specifiers(
    project: dict[str, Any], wanted: dict[str, SpecifierSet], environment: list[Any]
) -> None:
    conda = specifiers([line for line in environment if isinstance(line, str)])
    assert str(conda.pop("python")) == project["requires-python"]
    assert str(conda.pop("pip")) == ""
    assert conda == {name: range_ for name, range_ in wanted.items() if name not in PYPI}


# What only tests, linters and clusters need: 480 MB.
APART = {"kubernetes", "mypy", "playwright", "pytest", "ruff", "sentence-transformers", "transformers"}


@pytest.mark.parametrize(("target", "extras"), [("book", []), ("test", ["test"]), ("cluster", ["cluster"])])
def test_a_target_installs_what_it_needs(project: dict[str, Any], target: str, extras: list[str]) -> None:
    said = subprocess.check_output(["make", "-n", "-B", target], cwd=ROOT, text=True)
    assert re.findall(r'pip install .*-e "?(\S+?)"?$', said, re.MULTILINE) == [".", *(f".[{one}]" for one in extras)]
    assert not {Requirement(line).name for line in project["dependencies"]} & APART


def test_what_a_person_gives_to_make_is_one_word_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "installed").touch()
    (tmp_path / "sentbook").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (tmp_path / "sentbook").chmod(0o755)
    given = {"NOTEBOOK": f"cse/table1; touch {tmp_path}/made", "PROFILE": "a 'b\" c"}
    command = ["make", "-s", "run", f"BIN={tmp_path}", f"STAMP={tmp_path}/installed"]
    for called in (command + [f"{name}={value}" for name, value in given.items()], command):
        said = subprocess.check_output(called, cwd=ROOT, text=True, env={**os.environ, **given})
        assert said.splitlines() == ["run", given["NOTEBOOK"], "--profile", given["PROFILE"]]
    assert not (tmp_path / "made").exists()


def test_conda_installs_the_package_itself(environment: list[Any]) -> None:
    (pip,) = (line for line in environment if isinstance(line, dict))
    assert pip == {"pip": ["-e ."]}


def test_the_lock_holds_every_dependency_within_its_range(
    wanted: dict[str, SpecifierSet], lock: dict[str, str]
) -> None:
    assert {name for name in wanted if name not in lock} == set()
    outside = {name: lock[name] for name, range_ in wanted.items() if lock[name] not in range_}
    assert outside == {}


def test_the_lock_installs_anywhere() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line) for line in lines)  # no +cpu, path, address
    names = [canonicalize_name(line.partition("==")[0]) for line in lines]
    assert names == list(dict.fromkeys(names))


def test_a_fork_in_the_cloud_gets_the_torch_of_the_lock(lock: dict[str, str]) -> None:
    given = yaml.safe_load((ROOT / ".binder" / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert f"pytorch-cpu=={lock['torch']}" in given


def test_the_lock_leaves_optional_encoders_and_vectors_out(project: dict[str, Any], lock: dict[str, str]) -> None:
    extras = project["optional-dependencies"]
    assert not set(specifiers(extras["glove"] + extras["modern"])) & set(lock)


def test_the_lock_pins_what_old_patch_releases_of_python_need(lock: dict[str, str]) -> None:
    assert lock["soupsieve"] == "2.10"  # later ones refuse Python before 3.11.5
    assert SpecifierSet("<2").contains(lock["jupyter-book"])  # 2.x does not read _config.yml
