"""Which notebooks there are, and which of them the book's table of contents lists."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from pathlib import Path

from sentbook.runs.execute import NotebookError
from sentbook.system.errors import ConfigError
from sentbook.system.paths import root


def notebook(name: str) -> Path:
    """Find the file of ``cse/table1``, also where the folder or the ending of its name is given.

    Raises:
        ConfigError: no such notebook.
    """
    folder = root() / "notebooks"
    known = {str(path.relative_to(folder).with_suffix("")): path for path in sorted(folder.glob("*/*.ipynb"))}
    short = name.removesuffix(".ipynb").removeprefix("notebooks/")
    if short not in known:
        raise ConfigError(f"There is no notebook '{name}'; choose one of {', '.join(known)}.")
    return known[short]


def is_lesson(source: Path) -> bool:
    """Tell whether a notebook has parameters of its own, and so no profile, no run on record and no claim.

    It shows how a model works, on the mini-world, whichever profile the book is of.
    """
    parameters = _parameters(source)
    return bool(parameters) and "profile" not in parameters


def check_lesson(source: Path, names: Iterable[str]) -> None:
    """Check that a lesson has the parameters ``names``.

    Raises:
        ConfigError: it has not; its own are named.
    """
    known = _parameters(source)
    for name in names:
        if name not in known:
            raise ConfigError(f"{source.parent.name}/{source.stem} has no '{name}'; choose one of {', '.join(known)}.")


def _parameters(source: Path) -> list[str]:
    """List what the parameters cell of a notebook assigns.

    Raises:
        NotebookError: it is cut short, or no notebook.
    """
    try:
        cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError, TypeError) as error:
        name = source.relative_to(root())
        raise NotebookError(f"{name} is no whole notebook ({error}); restore it by `git checkout {name}`.") from None
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    lines = [
        line for cell in tagged for line in ast.parse("".join(cell["source"])).body if isinstance(line, ast.Assign)
    ]
    return [ast.unparse(target) for line in lines for target in line.targets]


def notebooks() -> list[Path]:
    """Every notebook that the table of contents lists, in its order.

    Raises:
        NotebookError: the table of contents names one that does not exist.
    """
    pages = listed("book/_executed")
    found = [root() / "notebooks" / f"{page.removeprefix('book/_executed/')}.ipynb" for page in pages]
    for path in found:
        if not path.is_file():
            raise NotebookError(f"_toc.yml lists {path.stem}, but {path} does not exist; write it or take it out.")
    return found


def listed(folder: str) -> list[str]:
    """The files of the table of contents under ``folder``, in its order.

    Example:
        >>> listed("book/_runs")[0]
        'book/_runs/cse/table1'
    """
    files = re.findall(r"^[\s-]*file: *(\S+)$", (root() / "_toc.yml").read_text(encoding="utf-8"), re.MULTILINE)
    return [file for file in files if file.startswith(f"{folder}/")]
