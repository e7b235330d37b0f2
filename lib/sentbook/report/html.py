"""What every output of this room is: HTML that shows itself, escaped, with the style sheet for JupyterLab."""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape


@dataclass(frozen=True)
class Shown:
    """An output; ``html`` is safe to place in a page. The book takes the ``<style>`` out and loads it once."""

    html: Markup = field(repr=False)

    def __html__(self) -> str:
        return self.html

    def _repr_html_(self) -> str:
        return f'<div class="sentbook"><style>{style_sheet()}</style>{self.html}</div>'


@cache
def style_sheet() -> str:
    """Return the style sheet of all outputs."""
    return (files("sentbook.report") / "static" / "outputs.css").read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    return Environment(loader=PackageLoader("sentbook.report"), autoescape=True, undefined=StrictUndefined)


def render(template: str, **values: Any) -> Markup:
    """Fill a template of this room; every value is escaped unless it is markup already."""
    return Markup(_templates().get_template(f"{template}.html").render(**values).strip())


def below(*parts: Shown | None) -> Shown:
    """Show several outputs below each other."""
    return Shown(Markup("\n").join(part.html for part in parts if part is not None))


def captioned(body: Markup, caption: str, note: str = "") -> Shown:
    """Put a caption below a table or figure, its first sentence bold: the message; then ``note``, how it was made."""
    message, stop, rest = caption.partition(". ")
    words = Markup("<b>{}{}</b> {} {}").format(message, stop.strip(), rest, note) if caption else escape(note)
    return Shown(Markup("<figure>{}<figcaption>{}</figcaption></figure>").format(body, words))
