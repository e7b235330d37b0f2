"""Teach Sphinx what every page of the book has: buttons from one address, a description, search in prose, no idle file.

An extension, named in ``_config.yml``. The address of the repository stands there once, under ``repository``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Set
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import matplotlib
import resvg_py
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.search import IndexBuilder

from sentbook.report.style import PALETTE

# What a card of a shared link has room for.
_LETTERS = 200
# The picture of a page without a figure, and of others the folder and the width: what a card of a shared link shows.
_PICTURE = "_static/page.png"
_PICTURES = Path("_static/pages")
_PIXELS = 1200
_FIGURE = re.compile(r'<figure (?![^>]*data-run="demo/)[^>]*>\s*<div class="sb-plot">(<svg.*?</svg>)', re.DOTALL)
# A description says more than a name.
_FEWEST = 50
_BRACKETS = re.compile(r"\((?:[^()]|\([^()]*\))*\)")


def _address(app: Sphinx, config: Config) -> None:
    """Show the buttons to the repository, Binder and Colab where its address is known, and guess that of its pages."""
    options = config.html_theme_options
    address = (options.get("repository_url") or "").rstrip("/").removesuffix(".git")
    options |= {"repository_url": address, "use_repository_button": bool(address)}
    if not address:
        options.pop("launch_buttons", None)
    elif urlsplit(address).netloc == "github.com" and not config.html_baseurl:
        owner, name = urlsplit(address).path.strip("/").split("/")
        config.html_baseurl = f"https://{owner.lower()}.github.io/{name}/"


def _launch(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Let Binder and Colab open the notebook that a page was run from: what was run is in no repository."""
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button.get("text") in ("Binder", "Colab"):
                button["url"] = button["url"].replace("book/_executed/", "notebooks/")
            if button.get("text") == "Colab":
                button["tooltip"] += "; CONTRIBUTING.md names the first cell to run there"


def _described(doctree: nodes.document) -> str:
    """Give the first paragraph that says something, cut after a word."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) >= _FEWEST and not any(paragraph.findall(nodes.raw)):
            return text if len(text) <= _LETTERS else text[:_LETTERS].rpartition(" ")[0].rstrip(",;:") + " …"
    return ""


def _picture(app: Sphinx, page: str, body: str) -> str:
    """Draw the first figure of a page as an image, and give its path; that of all pages where there is none.

    A figure of toy data says so beside its drawing alone, and is no card of the page.
    Figures are SVG in the colours of the reader's theme, and what reads og:image has no theme and draws no SVG. The
    font is matplotlib's own, so that a machine without fonts draws the same.
    """
    found = _FIGURE.search(body)
    if not found:
        return _PICTURE
    light = re.sub(r"var\(--sb-[\w-]+,(#\w+)\)", r"\1", found[1]).replace(
        "font-family: inherit", "font-family: 'DejaVu Sans'"
    )
    drawn = resvg_py.svg_to_bytes(
        light,
        width=_PIXELS,
        background=PALETTE.paper,
        skip_system_fonts=True,
        font_family="DejaVu Sans",
        sans_serif_family="DejaVu Sans",
        font_files=[str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")],
    )
    path = (_PICTURES / page).with_suffix(".png")
    (Path(app.outdir) / path).parent.mkdir(parents=True, exist_ok=True)
    (Path(app.outdir) / path).write_bytes(drawn)
    return path.as_posix()


def _metadata(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Give a page what a search engine and the card of a shared link show of it."""
    title = re.sub(r"<[^>]+>", "", context.get("title", "")) or app.config.html_title
    base = app.config.html_baseurl
    path = _picture(app, page, context.get("body", "")) if app.builder.format == "html" else _PICTURE
    picture = urljoin(base, path) if base else context["pathto"](path, True)
    described = (_described(doctree) if doctree else "") or app.config.description
    context["shown"] = {"title": title, "description": described, "image": picture, "url": context.get("pageurl")}


def _equations(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Load MathJax where the page itself has mathematics; Sphinx does so on a page above such pages too."""
    if not doctree or not any(doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block))):
        context["script_files"] = [one for one in context["script_files"] if "mathjax" not in str(vars(one)).lower()]


def _slim(app: Sphinx, exception: Exception | None) -> None:
    """Take the icon fonts out of the theme, and out of its style sheets what no page or script names.

    ``icons.css`` draws the icons that the book shows.
    """
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    shutil.rmtree(static / "vendor" / "fontawesome", ignore_errors=True)
    for file in {*static.glob("scripts/fontawesome.js*"), *static.rglob("*.map")}:
        file.unlink()
    readers = [*Path(app.outdir).rglob("*.html"), *(file for file in static.rglob("*.js") if file.stat().st_size < 1e6)]
    named = {word for file in readers for word in re.findall(r"[\w-]+", file.read_text(encoding="utf-8"))}
    for sheet in [*static.glob("styles/*.css"), *static.glob("mystnb*.css"), *static.glob("sphinx-design*.css")]:
        sheet.write_text(slimmed(sheet.read_text(encoding="utf-8"), named), encoding="utf-8")


def slimmed(sheet: str, named: Set[str]) -> str:
    """A style sheet without rules for classes that are not in ``named``, without icon fonts and comments.

    Example:
        >>> slimmed(".a{x:y}.b,.a .c,i:not(.d){x:y}@media print{.b{x:y}}", {"a"})
        '.a{x:y}i:not(.d){x:y}'
    """

    def rule(found: re.Match[str]) -> str:
        selectors = re.split(r",(?![^(\[]*[)\]])", found[1])
        # What is in brackets is a condition, not a class that an element must have.
        kept = [one for one in selectors if set(re.findall(r"\.([A-Za-z_][\w-]*)", _BRACKETS.sub("", one))) <= named]
        icons = ("Awesome" in found[2] and "@font-face" in found[1]) or re.match(r"\s*\.fa-[\w-]+:before", found[1])
        return f"{','.join(kept)}{{{found[2]}}}" if kept and not icons else ""

    text = re.sub(r"([^{}]+)\{([^{}]*)\}", rule, re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL))
    return re.sub(r"@(?:media|supports)[^{}]*\{\s*\}", "", text)


def _prose_alone() -> None:
    """Feed pages to the index of the search without their blocks of code."""
    feed = IndexBuilder.feed

    def without_code(index: IndexBuilder, docname: str, filename: str, title: str, doctree: nodes.document) -> None:
        prose = doctree.deepcopy()
        for block in list(prose.findall(nodes.literal_block)):
            block.parent.remove(block)
        feed(index, docname, filename, title, prose)

    IndexBuilder.feed = without_code  # type: ignore[assignment]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of it with Sphinx."""
    app.add_config_value("description", "", "html")
    app.connect("config-inited", _address)
    app.connect("html-page-context", _launch, priority=900)  # after the theme has made its buttons
    app.connect("html-page-context", _metadata)
    app.connect("html-page-context", _equations, priority=900)
    app.connect("build-finished", _slim)
    _prose_alone()
    return {"parallel_read_safe": True, "parallel_write_safe": True}
