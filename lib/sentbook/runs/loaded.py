"""Which files of this package the running process has loaded, each with a digest of what can change a number."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from contextlib import suppress
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from sentbook.io import PACKAGE

# The rooms in the order of their imports: each may import those before it.
FLOW = (
    "io", "config", "records", "data", "models", "training", "evaluation", "judge", "runs", "report_old",
    "study", "export", "exchange", "papers", "cli",
)  # fmt: skip
# Draw what is recorded, and change none of it: a room, and files of a paper's own.
DRAWING = ("report_old/*", "papers/*/*tables.py", "papers/*/*figures.py")
# A string, which may hold a "#", or a comment. Python's own tokeniser takes three times as long, in each process.
_STRING_OR_COMMENT = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'{3}(?:\\.|[^\\])*?\'{3}|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(#[^\n]*)''',
    re.DOTALL,
)


def loaded_sources(up_to: str | None = None) -> dict[str, str]:
    """Name every loaded file of the package, as ``lib/sentbook/...``, with its digest; drawing is left out.

    A file that was not loaded cannot have changed a number. A digest is that of the file when this process first asked
    for it, so that an edit while a run goes on is not taken for what ran.

    Args:
        up_to: the last room of `FLOW` that counts: a training is run by the rooms up to ``training``, whichever
            notebook asked for it.

    Example:
        >>> sorted(name.split("/")[2] for name in loaded_sources("io"))
        ['io.py']
    """
    rooms = set(FLOW[: FLOW.index(up_to) + 1 if up_to else None])
    files = [getattr(module, "__file__", None) for name, module in sys.modules.items() if _is_own(name)]
    paths = sorted(Path(file).resolve() for file in files if file)
    return {f"lib/sentbook/{name}": file_digest(path) for path in paths if (name := _inside(path, rooms))}


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "sentbook"


def _inside(path: Path, rooms: set[str]) -> str | None:
    """The name of ``path`` in the package; None for a file elsewhere, of another room, or that draws."""
    if not path.is_relative_to(PACKAGE):
        return None
    name = path.relative_to(PACKAGE)
    drawn = any(fnmatch(name.as_posix(), pattern) for pattern in DRAWING)
    return name.as_posix() if name.with_suffix("").parts[0] in rooms and not drawn else None


@cache
def file_digest(path: Path) -> str:
    """Digest a Python file without its comments, docstrings and empty lines; 16 hexadecimal digits."""
    content = path.read_bytes()
    with suppress(SyntaxError, ValueError):  # damaged: whoever imports it says so
        content = bare(content.decode()).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def bare(text: str) -> str:
    """Strip Python of comments, docstrings and empty lines, in the same way under every version of Python.

    Example:
        >>> bare('def f():\\n    "Doc."\\n    return 1  # one\\n')
        'def f():\\n    return 1'
    """
    lines = _STRING_OR_COMMENT.sub(lambda found: "" if found[1] else found[0], text).splitlines()
    statements: list[ast.AST] = [ast.parse(text)]
    while statements:
        node = statements.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body[:1]:
                case [ast.Expr(value=ast.Constant(value=str())) as docstring]:
                    for row in range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1):
                        lines[row - 1] = ""
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):  # an expression holds no docstring
            statements += getattr(node, block, ())
    return "\n".join(line.rstrip() for line in lines if line.strip())
