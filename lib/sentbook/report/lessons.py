"""What lessons show beside their cells: the code behind an equation, a drawing, a figure in several states."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from IPython.display import Markdown
from markupsafe import Markup

from sentbook.io import root
from sentbook.report.html import Shown, captioned


def source(*functions: Callable[..., Any]) -> Markdown:
    """Show the code of functions or methods without their docstrings."""
    return Markdown("\n".join(f"```python\n{_without_docstring(function)}\n```" for function in functions))


def _without_docstring(function: Callable[..., Any]) -> str:
    text = textwrap.dedent(inspect.getsource(function))
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    lines, first = text.rstrip().splitlines(), definition.body[0]
    if ast.get_docstring(definition) is not None:
        del lines[first.lineno - 1 : first.end_lineno]
    return "\n".join(lines)


def diagram(*names: str, caption: str = "") -> Shown:
    """Show drawings of ``book/_static/diagrams`` side by side."""
    files = [root() / "book" / "_static" / "diagrams" / f"{name}.svg" for name in names]
    drawings = Markup("").join(Markup(file.read_text(encoding="utf-8").strip()) for file in files)
    return captioned(Markup('<div class="sb-diagrams">{}</div>').format(drawings), caption)


def dial(draw: Callable[[Any], Shown], name: str, states: Mapping[str, Any] | Sequence[Any]) -> Shown:
    """Draw a figure for each of ``states``, values that read well or values by their words, next to each other."""
    named = states if isinstance(states, Mapping) else {str(value): value for value in states}
    state = Markup("<div><p><b>{}: {}</b></p>{}</div>")
    shown = Markup("").join(state.format(name, words, draw(value).html) for words, value in named.items())
    return Shown(Markup('<div class="sb-states">{}</div>').format(shown))
