"""One list of dependencies, written three times: pyproject.toml, environment.yml for conda, requirements.lock."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
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


CLI = "import os\nprint(__file__, os.environ['SENTBOOK_ROOT'])\n"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A checkout with a Makefile, a package that says where it lies, and a .venv that a stamp says is complete."""
    house = tmp_path / "first"
    (house / "lib" / "sentbook").mkdir(parents=True)
    (house / "lib" / "sentbook" / "cli.py").write_text(CLI)
    for name in ("Makefile", "requirements.lock", "pyproject.toml", "tools/moved.py"):
        (house / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, house / name)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", house / ".venv"], check=True)
    site = next(house.glob(".venv/lib/python*/site-packages"))
    (site / "__editable__.sentbook.pth").write_text(f"{house}/lib\n")
    (house / ".venv" / "bin" / "sentbook").write_text(f"#!{house}/.venv/bin/python\nimport sentbook.cli\n")
    (house / ".venv" / "bin" / "sentbook").chmod(0o755)
    (house / ".venv" / ".installed").touch()
    return house


def made(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Call make in a folder, from a shell that points to another checkout."""
    environment = {**os.environ, "SENTBOOK_ROOT": "/elsewhere", "PYTHONPATH": "/elsewhere/lib"}
    command = ["make", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["copy", "a copy, with spaces", f"{'long' * 40}"])
def test_make_works_on_the_copy_that_it_is_called_in(house: Path, name: str) -> None:
    copy = house.parent / name
    shutil.copytree(house, copy, symlinks=True)
    before = {file: file.read_bytes() for file in house.rglob("*") if file.is_file()}
    done = made(copy, "run", "NOTEBOOK=x")
    assert f"{copy}/lib/sentbook/cli.py {copy}\n" in done.stdout, done.stderr
    assert "files of .venv now name" in done.stdout
    gone = house.rename(house.with_name("gone"))
    said = subprocess.check_output([copy / ".venv" / "bin" / "sentbook"], env={"SENTBOOK_ROOT": "here"}, text=True)
    assert said == f"{copy}/lib/sentbook/cli.py here\n"
    assert "files of .venv" not in made(copy, "run", "NOTEBOOK=x").stdout
    assert {house / file.relative_to(gone): file.read_bytes() for file in gone.rglob("*") if file.is_file()} == before


def test_make_says_where_it_cannot_work(house: Path) -> None:
    linked = house.parent / "linked"
    shutil.copytree(house, linked, symlinks=True, ignore=shutil.ignore_patterns(".venv"))
    (linked / ".venv").symlink_to(house / ".venv")
    before = {file: file.stat().st_mtime_ns for file in house.rglob("*")}
    assert f"{linked}/lib/sentbook/cli.py {linked}\n" in made(linked, "run", "NOTEBOOK=x").stdout
    (linked / "requirements.lock").touch()
    assert made(linked, "run", "NOTEBOOK=x").stderr.startswith(".venv is a link, and make installs nothing in other ")
    assert (
        made(house.parent, "-f", "first/Makefile", "clean").stderr.count("Call make in the folder of its Makefile") == 1
    )
    assert {file: file.stat().st_mtime_ns for file in house.rglob("*")} == before
    (house / ".venv" / "bin" / "python").unlink()
    assert made(house, "run", "NOTEBOOK=x").stderr.startswith("The Python of .venv is not on this machine; run: rm -rf")
