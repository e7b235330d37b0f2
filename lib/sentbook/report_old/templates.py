"""Fill the HTML and Markdown templates of ``templates/``; every value is escaped unless it is markup already."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sentbook.report_old import markup


def _clean(value: Any) -> Any:
    """Escape text by the house's rules, which also replace control characters; leave markup as it is."""
    return value if isinstance(value, Markup) else "" if value is None else Markup(markup.esc(value))


def code(text: object) -> Markup:
    """A span of code on one line of Markdown, in which no markup is seen."""
    return Markup(f"`{' '.join(str(text).split()).replace('`', chr(39)) or ' '}`")


def fenced(text: str, language: str = "text") -> Markup:
    """A block of code in Markdown, as it is: its fence, and that of what it stands in, are longer than any it holds."""
    fence = "~" * 12
    inside = text.replace(fence, "").replace(":" * 12, "").rstrip()
    return Markup(f"{fence}{language}\n{inside}\n{fence}")


def plain(text: object) -> Markup:
    """Text in a line of Markdown: neither markup nor HTML."""
    return Markup(re.sub(r"([\\`*_{}\[\]()!|$~])", r"\\\1", markup.esc(text)))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("sentbook.report_old"), autoescape=True, undefined=StrictUndefined, finalize=_clean,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    filters: dict[str, Callable[..., object]] = {
        "verdict": lambda value: markup.verdict(str(value)),
        "code": code,
        "fenced": fenced,
        "plain": plain,
        "s": lambda number: "" if number == 1 else "s",
    }
    made.filters |= filters
    made.globals["attributes"] = markup.attributes
    return made


def html(name: str, /, **values: Any) -> markup.Html:
    """Fill a template of HTML, on one line: Markdown then leaves it alone."""
    return markup.Html(re.sub(r"\s*\n\s*", "", _environment().get_template(f"{name}.html").render(**values)))


def markdown(name: str, /, **values: Any) -> str:
    """Fill a template of Markdown; at most one blank line stands between its parts."""
    text = _environment().get_template(f"{name}.md").render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
