"""What a run was made from: its notebook, its parameters, the code that it imports and its data, each with a digest.

A digest is of what can change a number. Of Python it leaves out comments, docstrings and empty lines; of a notebook,
its text; of parameters, comments and order. The package is followed import by import, statically, so that a module
counts for those runs alone that reach it. `sentbook.report` draws what is recorded and changes none of it: it counts
for a page, not for a number.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sentbook.data import sources as files
from sentbook.records import Run
from sentbook.system.errors import StorageError
from sentbook.system.files import replacing
from sentbook.system.paths import root

Digests = dict[str, str]
UNKNOWN = ["unknown"]
# Papers whose parameters an experiment loads beside its own.
BUILDS_ON = {"cross": ("dnt", "cnn_lstm")}
# Experiments that a command makes, without a notebook.
_COMMANDS = {"data/overlap": "sentbook.runs.leakage"}
_DRAWS = "sentbook.report"


def sources(paper: str, experiment: str, profile: str) -> Digests:
    """What can change the numbers of a run, but for its data: file, relative to the checkout, to digest.

    Args:
        paper, experiment, profile: as in ``results/<profile>/<paper>/<experiment>.json``; of ``custom/<hash>`` the
            parameters stand in the run itself.

    Raises:
        ConfigError: no checkout.
    """
    found = {name: digest for name, digest in _modules(paper, experiment).items() if not _is_drawing(name)}
    return {**_parameters(paper, profile), **_notebook(paper, experiment, prose=False), **found}


def page_sources(paper: str, experiment: str, profile: str) -> Digests:
    """What can change anything on a run's page: `sources`, text, drawing, versions of packages, recorded runs shown."""
    base = root()
    shown = (base / "results" / kind / paper for kind in ("small", "paper") if kind != profile)
    recorded = [base / "requirements.lock", *(file for folder in shown for file in sorted(folder.glob("*.json")))]
    styles = sorted((base / "lib" / "sentbook" / "report").rglob("*.css"))
    return {
        **_parameters(paper, profile),
        **_notebook(paper, experiment, prose=True),
        **_modules(paper, experiment),
        **{_name(file): _short(file.read_bytes()) for file in (*recorded, *styles) if file.is_file()},
    }


def module_sources(*modules: str) -> Digests:
    """Those of modules, e.g. ``sentbook.training.recipes``, and of all that they import; drawing left out."""
    return {name: digest for name, digest in _code(frozenset(modules)).items() if not _is_drawing(name)}


def parameter_sources(paper: str, profile: str) -> Digests:
    """Those of a paper's parameters, and of the papers' that it builds on."""
    return _parameters(paper, profile)


def data(names: Iterable[str]) -> Digests:
    """The digest of each registered data file as it lies here; of one that does not, the registry's."""
    found = {}
    for name in names:
        if name in files.registry():
            lies = files.find(name)
            found[name] = files.sha256(name) if lies is None else _bytes(lies, *_stat(lies))
    return found


def changed(run: Run) -> list[str]:
    """The files that differ from what ``run`` was made from, data as ``data:<name>``.

    ``[]``: the run is fresh; ``["unknown"]``: it does not say what it was made from.
    """
    made = run.provenance
    if not made.sources:
        return list(UNKNOWN)
    now = sources(run.paper, run.experiment, run.profile)
    names = sorted(set(now) | set(made.sources))
    differ = [name for name in names if now.get(name) != made.sources.get(name)]
    return differ + [f"data:{name}" for name in sorted(made.data) if _registered(name) != made.data[name]]


def _registered(name: str) -> str | None:
    return files.sha256(name) if name in files.registry() else None


# -- notebooks and parameters ------------------------------------------------------------------------------------------


def notebook_path(paper: str, experiment: str) -> Path:
    return root() / "notebooks" / paper / f"{experiment}.ipynb"


def _notebook(paper: str, experiment: str, *, prose: bool) -> Digests:
    path = notebook_path(paper, experiment)
    if not path.is_file():
        return {}
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if prose or _is_code(cell)]
    return {_name(path): _short(json.dumps(["".join(cell["source"]) for cell in cells]))}


def _is_code(cell: dict[str, Any]) -> bool:
    return bool(cell["cell_type"] == "code")


def _parameters(paper: str, profile: str) -> Digests:
    paths = [root() / "params" / name / f"{profile}.yaml" for name in (paper, *BUILDS_ON.get(paper, ()))]
    return {
        _name(path): _short(json.dumps(yaml.safe_load(path.read_bytes()), sort_keys=True, default=str))
        for path in paths
        if path.is_file()
    }


# -- code --------------------------------------------------------------------------------------------------------------


def _modules(paper: str, experiment: str) -> Digests:
    path = notebook_path(paper, experiment)
    if path.is_file():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if _is_code(cell))
        begin = frozenset(_imports(ast.parse(code), "", is_package=False))
    else:
        begin = frozenset(filter(None, [_COMMANDS.get(f"{paper}/{experiment}")]))
    return {**_code(begin), **(_printed(paper) if begin else {})}


def _code(begin: frozenset[str]) -> Digests:
    """The modules that are reached from ``begin``."""
    reached: dict[str, Path] = {}
    ahead = list(begin)
    tried: set[str] = set()
    while ahead:
        name = ahead.pop()
        path = _module_path(name) if name not in tried else None
        tried.add(name)
        if path is None:
            continue
        reached[name] = path
        # Importing a module runs the packages around it.
        ahead += [name.rpartition(".")[0], *_read(path, *_stat(path), name)[1]]
    found = {_name(path): _read(path, *_stat(path), name)[0] for name, path in sorted(reached.items())}
    _keep()
    return found


def _module_path(name: str) -> Path | None:
    """The file of ``sentbook[.x.y]``; None for what is no module of the package."""
    first, *rest = name.split(".")
    if first != "sentbook":
        return None
    place = (root() / "lib" / "sentbook").joinpath(*rest)
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


@cache
def _read(path: Path, size: int, modified: int, name: str) -> tuple[str, tuple[str, ...]]:
    """The digest of a module and what it imports; parsed once for a file that does not change."""
    kept = _kept(root())
    known = kept.get(_name(path))
    if known is None or known[:2] != [size, modified]:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        imports = _imports(tree, name, is_package=path.name == "__init__.py")
        known = kept[_name(path)] = [size, modified, _short(_bare(text, tree)), imports]
        _parsed.append(name)
    return known[2], tuple(known[3])


# Modules parsed since they were last kept. To parse all takes a second, which every notebook would spend.
_parsed: list[str] = []


def _store() -> Path:
    """Where what was parsed is kept; another version of this module has another place."""
    return root() / "build" / f"lineage-{_short(Path(__file__).read_bytes())}.json"


@cache
def _kept(checkout: Path) -> dict[str, list[Any]]:
    try:
        found = json.loads(_store().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _keep() -> None:
    if _parsed:
        _parsed.clear()
        with suppress(StorageError), replacing(_store()) as temporary:  # without it, the second is spent again
            temporary.write_text(json.dumps(_kept(root())), encoding="utf-8")


def _imports(tree: ast.AST, name: str, *, is_package: bool) -> list[str]:
    """Names that may be modules: of ``from a import b`` both ``a`` and ``a.b``; inside functions too."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                around = parts[: len(parts) - node.level + (1 if is_package else 0)]
                base = ".".join([*around, *filter(None, [node.module])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return [item for item in found if item.split(".")[0] == "sentbook"]


def _bare(text: str, tree: ast.Module) -> str:
    """``text`` without comments, docstrings and empty lines, the same under every version of Python."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body[:1]:
                case [ast.Expr(value=ast.Constant(value=str())) as docstring]:
                    for row in range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1):
                        lines[row - 1] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _printed(paper: str) -> Digests:
    """The paper's printed numbers and its claims, which verdicts compare with."""
    folder = root() / "lib" / "sentbook" / "reported"
    found = {_name(path): _short(path.read_bytes()) for path in sorted(folder.glob(f"{paper.replace('_', '')}_*.csv"))}
    path = folder / "claims.yaml"
    if path.is_file():
        own = [entry for entry in _claims(path, *_stat(path)) if entry["paper"] == paper]
        if own:
            found[f"{_name(path)}#{paper}"] = _short(json.dumps(own, sort_keys=True))
    return found


@cache
def _claims(path: Path, size: int, modified: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return entries


# -- small hands -------------------------------------------------------------------------------------------------------


def _is_drawing(name: str) -> bool:
    return name.startswith("lib/" + _DRAWS.replace(".", "/") + "/")


def _name(path: Path) -> str:
    return path.relative_to(root()).as_posix()


def _short(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


def _stat(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


@cache
def _bytes(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
