"""One list of dependencies, written three times: pyproject.toml, environment.yml for conda, requirements.lock."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = [line for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines() if line[:1] not in "#"]
OPTIONAL = ("glove", "modern")
# Where conda-forge has another name.
CONDA = {
    "pytorch": "torch",
    "matplotlib-base": "matplotlib",
    "playwright-python": "playwright",
    "snakemake-minimal": "snakemake",  # without the clouds' tools
}
# What only tests, linters and clusters need: 400 MB.
APART = {"mypy", "playwright", "pytest", "ruff", "sentence-transformers", "transformers"}


def specifiers(lines: list[str]) -> dict[str, SpecifierSet]:
    found = {}
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        found[canonicalize_name(CONDA.get(name, name))] = requirement.specifier
    return found


def wanted() -> dict[str, SpecifierSet]:
    """What the package needs, with every extra but the optional encoders and vectors."""
    extras = PROJECT["optional-dependencies"]
    lines = [line for name, lines in extras.items() if name not in OPTIONAL for line in lines]
    return specifiers(PROJECT["dependencies"] + [line for line in lines if not line.startswith("sentbook[")])


def lock() -> dict[str, str]:
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in LOCK)}


def test_conda_has_the_same_names_and_specifiers() -> None:
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert dependencies[-1] == {"pip": ["-e ."]}
    conda = specifiers(dependencies[:-1])
    assert str(conda.pop("python")) == PROJECT["requires-python"] and str(conda.pop("pip")) == ""
    assert conda == wanted()


def test_the_lock_holds_every_dependency_within_its_range() -> None:
    assert {name: lock().get(name) for name, allowed in wanted().items() if lock().get(name, "") not in allowed} == {}
    extras = PROJECT["optional-dependencies"]
    assert not set(specifiers(extras["glove"] + extras["modern"])) & set(lock())


def test_the_lock_installs_anywhere() -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line) for line in LOCK)  # no +cpu, path, address
    assert len(lock()) == len(LOCK)
    assert lock()["soupsieve"] == "2.10"  # later ones refuse Python before 3.11.5
    given = yaml.safe_load((ROOT / ".binder" / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert f"pytorch-cpu=={lock()['torch']}" in given


@pytest.mark.parametrize(("target", "extras"), [("book", []), ("test", ["test"]), ("cluster", ["cluster"])])
def test_a_target_installs_what_it_needs(target: str, extras: list[str]) -> None:
    said = subprocess.check_output(["make", "-n", "-B", target], cwd=ROOT, text=True)
    assert re.findall(r'pip install .*-e "?(\S+?)"?$', said, re.MULTILINE) == [".", *(f".[{one}]" for one in extras)]
    assert not {Requirement(line).name for line in PROJECT["dependencies"]} & APART
