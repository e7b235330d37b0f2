"""What the cells of a page define, without running the page."""

from __future__ import annotations

import ast
from typing import Any

import nbformat

from sentbook.io import root


def of_page(page: str, *names: str, **given: Any) -> dict[str, Any]:
    """Run the imports of a page, and the definitions of ``names``, without its other cells."""
    cells = nbformat.read(root() / "notebooks" / f"{page}.ipynb", as_version=4).cells
    nodes = [node for cell in cells if cell.cell_type == "code" for node in ast.parse(cell.source).body]
    wanted = [
        node
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names)
        or (
            isinstance(node, ast.Assign)
            and {part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)} & {*names}
        )
    ]
    inside = dict(given)
    exec(compile(ast.Module(wanted, []), page, "exec"), inside)
    return inside
