"""The house: which rooms there are, which way imports flow, and that what is a paper's stands with the paper."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

# What still stands against a rule, as the test prints it. Each entry is to go; none is to come.
EXCEPTIONS = {"sentbook.data.suites names a paper"}  # the suite of test sets "dnt" is recorded configuration

PACKAGE = Path(__file__).resolve().parents[1] / "lib" / "sentbook"
FLOW = ["system", "config", "records", "data", "models", "training", "evaluation", "runs", "report_old", "report", "study"]
FLOW += ["exchange", "papers", "cli"]  # from lower to higher
ROOMS = {"system", "data", "models", "training", "evaluation", "runs", "report_old", "report", "exchange", "papers"}
PAPERS = sorted(file.parent.name for file in (PACKAGE / "papers").glob("*/settings.py"))
MODULES = {
    ".".join(["sentbook", *file.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__"): file
    for file in sorted(PACKAGE.rglob("*.py"))
}


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def imported(name: str, nodes: Iterator[ast.AST]) -> Iterator[str]:
    """Yield the modules of the package that import statements among ``nodes`` name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            assert not node.level, f"{name} imports relatively"
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (part if part in MODULES else node.module for part in parts)


def at_import(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the statements that run when a module is imported."""
    for node in body:
        yield node
        if isinstance(node, ast.ClassDef | ast.With | ast.Try) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test)
        ):
            yield from at_import(node.body)


def held(found: set[str]) -> None:
    """Fail with what is against a rule and no known exception."""
    assert not found - EXCEPTIONS, "\n".join(sorted(found - EXCEPTIONS))


def test_nine_rooms_and_four_modules() -> None:
    packages = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    loose = {file.stem for file in PACKAGE.glob("*.py")} - {"__init__"}
    held({f"the room {name}" for name in packages - ROOMS} | {f"the module {name}" for name in loose - set(FLOW)})
    assert packages <= ROOMS


def test_imports_flow_one_way() -> None:
    """Inside functions too."""
    found = set()
    for name in MODULES:
        for other in imported(name, ast.walk(tree(name))):
            here, there = room(name), room(other)
            known = here in FLOW and there in FLOW
            if there and here != there and not (known and FLOW.index(there) < FLOW.index(here)):
                found.add(f"{name} imports {other}")
    held(found)


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = {name: set(imported(name, at_import(tree(name).body))) - {name} for name in MODULES}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_only_the_command_line_imports_papers() -> None:
    found = {
        f"{name} imports {other}"
        for name in MODULES
        if room(name) not in ("papers", "cli")
        for other in imported(name, ast.walk(tree(name)))
        if room(other) == "papers"
    }
    held(found)


def test_a_papers_name_stands_with_the_paper() -> None:
    """As text in code; the kinds of encoders, some of which are called as their paper, are models' own."""
    named = re.compile(rf"({'|'.join(PAPERS)})(/\S*)?")
    found = set()
    for name in MODULES:
        if room(name) not in ("papers", "models"):
            nodes = ast.walk(tree(name))
            texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
            found |= {f"{name} names a paper" for text in texts if named.fullmatch(text)}
    held(found)


def test_importing_models_brings_few_modules() -> None:
    """Neither the mini-world nor tables nor figures: an encoder needs words as numbers alone."""
    code = "import sys, sentbook.models; print(*sorted(sys.modules))"
    lines = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    own = [name for name in lines if name.split(".")[0] == "sentbook"]
    assert len(own) <= 15, own
    assert not {"pandas", "matplotlib", "scipy", "sklearn"} & set(lines)
