"""The code behind an equation, as a page shows it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from IPython.display import Markdown


def source(*functions: Callable[..., Any]) -> Markdown:
    """Show the source of functions or methods without their docstrings, for a cell to end with."""
    return Markdown("\n".join(f"```python\n{_without_docstring(function)}\n```" for function in functions))


def _without_docstring(function: Callable[..., Any]) -> str:
    text = textwrap.dedent(inspect.getsource(function))
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    lines, first = text.rstrip().splitlines(), definition.body[0]
    if ast.get_docstring(definition) is not None:
        del lines[first.lineno - 1 : first.end_lineno]
    return "\n".join(lines)
