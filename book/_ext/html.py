"""What the directives share: templates, data for a script, links."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sentbook.judge.claims import papers
from sentbook.report import numbers


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent / "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.globals |= {"numbers": numbers}
    return made


def render(template: str, **values: Any) -> Markup:
    """Fill a template; every value is escaped unless it is markup already."""
    return Markup(_environment().get_template(template).render(**values))


def script_data(name: str, data: Any) -> Markup:
    """Return data that a page's script reads from the element ``name``."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup('<script type="application/json" id="{}">{}</script>').format(name, Markup(text))


def title(paper: str, experiment: str) -> str:
    """Name a page as a reader would.

    Example:
        >>> title("cse", "table1"), title("dnt", "sample_size")
        ('CSE, table 1', 'DNT, sample size')
    """
    words = re.sub(r"^(table|figure)(?=\d+$)", r"\1 ", experiment.replace("_", " "))
    return f"{papers()[paper].name if paper in papers() else paper}, {words}"
