"""Teach Sphinx what every page of the book has: buttons from one address, a description, search in prose, no idle byte.

An extension, named in ``_config.yml``. The address of the repository stands there once, under ``repository``.
"""

from __future__ import annotations

import hashlib
import html
import re
import shutil
from collections import Counter
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

from sentbook.report_old.style import PALETTE

# What a card of a shared link has room for.
_LETTERS = 200
# The picture of a page without a figure, and of others the folder and the width: what a card of a shared link shows.
_PICTURE = "_static/page.png"
_PICTURES = Path("_static/pages")
_PIXELS = 1200
_SERVED = "book/_generated/_static"
_FIGURE = re.compile(
    r'<figure (?![^>]*data-run="demo/)[^>]*>\s*<div class="sb-plot(?: sb-wide)?">(<svg.*?</svg>)', re.DOTALL
)
# A description says more than a name, and best what was found.
_FEWEST = 50
_SAID = ("What came of it. ", "Found: ")
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


def _served(app: Sphinx, config: Config) -> None:
    """Serve the data that pages load when a reader asks for it; a book without recorded runs has none."""
    if (Path(app.srcdir) / _SERVED).is_dir():
        config.html_static_path.append(_SERVED)


def _launch(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Let Binder and Colab open the notebook that a page was run from: what was run is in no repository."""
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button.get("text") in ("Binder", "Colab"):
                button["url"] = button["url"].replace("book/_executed/", "notebooks/")
            if button.get("text") == "Colab":
                button["tooltip"] += "; CONTRIBUTING.md names the first cell to run there"


def _described(doctree: nodes.document) -> str:
    """Give what came of a page, else its first own sentences, as many as fit: no quote, table, title or formula."""
    found = []
    for paragraph in doctree.findall(nodes.paragraph):
        title = paragraph.next_node(nodes.emphasis)
        if isinstance(paragraph.parent, nodes.block_quote | nodes.entry) or (title and len(title.astext()) >= _FEWEST):
            continue
        text = "".join(_said(one) for one in paragraph.findall(nodes.Text))
        sentences = re.split(r"(?<=[.?]) ", " ".join(text.split()))
        if len(text := " ".join(one for one in sentences if "\0" not in one)) >= _FEWEST:
            found.append(text)
    text = next((one.partition(said)[2] for said in _SAID for one in found if one.startswith(said)), "".join(found[:1]))
    text = text[:1].upper() + re.sub(":$", ".", text)[1:]
    whole = re.match(rf".{{{_FEWEST - 1},{_LETTERS - 1}}}[.?](?= |$)", text)
    if len(text) <= _LETTERS or whole:
        return whole[0] if whole else text
    return text[:_LETTERS].rpartition(" ")[0].rstrip(",;:") + " …"


def _said(text: nodes.Text) -> str:
    """What a description has of a text: of HTML nothing, of a formula a sign that the sentence has one."""
    return "" if isinstance(text.parent, nodes.raw) else "\0" if isinstance(text.parent, nodes.math) else text.astext()


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


def _results_first(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Fold what stands on a notebook's page between its answer and its main table: sections, then steps of its own."""
    parts = [part for top in doctree.children[:1] for part in top.children if isinstance(part, nodes.section)]
    at = next((at for at, part in enumerate(parts) if any(part.findall(_is_main))), 0)
    if app.builder.format != "html" or not at:
        return
    titles = [part.next_node(nodes.title).astext() for part in parts[:at]]
    _fold(parts[0], parts[at], "How it was made", " \u00b7 ".join(titles))
    steps = [node for node in parts[at].children if isinstance(node, nodes.container)]
    table = next((node for node in parts[at].children if any(node.findall(_is_main))), None)
    if table is not None and steps and steps[0] is not table:
        _fold(steps[0], table, "Step by step", "from scores to the table")


def _is_main(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "tag_main-table" in node["classes"]


def _fold(first: nodes.Element, behind: nodes.Element, name: str, of: str) -> None:
    """Put the neighbours from ``first`` to before ``behind`` into an element that opens."""
    opening = f'<details class="sb-procedure"><summary><strong>{name}</strong> {html.escape(of)}</summary>'
    for node, text in ((first, opening), (behind, "</details>")):
        node.parent.insert(node.parent.index(node), nodes.raw("", text, format="html"))


# Files that not every page loads -> what a page has that needs them.
_NEEDED = {
    r"clipboard|copybutton": 'class="highlight',
    r"mystnb": 'class="cell',
    r"sphinx-design": 'class="sd-',
    r"design-tabs": "sd-tab-set",
    r"explore/": "_static/explore/",
    r"api\.css": "sb-api",
}


def _light(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Load on a page what it uses, and write its body without what no reader sees.

    Sphinx loads MathJax on a page above pages with mathematics too.
    """
    body = context.get("body", "")
    idle = [pattern for pattern, sign in _NEEDED.items() if sign not in body]
    if not doctree or not any(doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block))):
        idle.append("mathjax")
    for kind in ("script_files", "css_files"):
        context[kind] = [one for one in context[kind] if not (idle and re.search("|".join(idle), str(vars(one))))]
    if body and app.builder.format == "html":
        context["body"] = compact(body)


_PLOT = re.compile(r'(?<=<div class="sb-plot)([^>]*>)(<svg xmlns.*?</svg>)', re.DOTALL)
# Pygments' classes that have the colour of the text around them.
_PLAIN = re.compile(r'<span class="(?:n|nn|nx|p|pm|w)">([^<]*)</span>|(?<=<pre>)<span></span>')


def compact(body: str) -> str:
    """Write drawings by matplotlib and highlighted code of a page shorter, with the same to see.

    A style that many elements have becomes a class, named after what it says: the same on every page.
    """
    body = _PLAIN.sub(lambda found: found[1] or "", body)
    counts = Counter(style for _, svg in _PLOT.findall(body) for style in re.findall(r'(?<= style=")[^"]*', svg))
    named = {style: f"d{_short(style)}" for style, count in counts.items() if count > 1}

    def classed(svg: str) -> str:
        return re.sub(r' style="([^"]*)"', lambda at: f' class="{named[at[1]]}"' if at[1] in named else at[0], svg)

    sheet = "".join(f".sb-plot .{name}{{{style}}}" for style, name in named.items())
    return (f"<style>{sheet}</style>" if sheet else "") + _PLOT.sub(lambda found: found[1] + classed(found[2]), body)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


# Style sheets that are not ours.
_THEIRS = ("styles/*.css", "mystnb*.css", "sphinx-design*.css", "pygments.css")


def _slim(app: Sphinx, exception: Exception | None) -> None:
    """Take the icon fonts out of the theme, and out of its style sheets what no page or script names.

    ``icons.css`` draws the icons that the book shows.
    """
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    shutil.rmtree(static / "vendor" / "fontawesome", ignore_errors=True)
    for file in {
        *static.glob("scripts/fontawesome.js*"),
        *static.glob("scripts/bootstrap.js*"),
        *static.rglob("*.map"),
    }:
        file.unlink()
    pages = [page.read_text(encoding="utf-8") for page in Path(app.outdir).rglob("*.html")]
    scripts = [file.read_text(encoding="utf-8") for file in static.rglob("*.js") if file.stat().st_size < 1e6]
    named = {
        word for page in pages for classes in re.findall(r'\bclass=\\?"([^"\\]*)', page) for word in classes.split()
    }
    named.update(word for script in scripts for word in re.findall(r"[\w-]{3,}", script))
    # Rules first, so that what only they have asked for goes with them.
    for sheet in (file for pattern in _THEIRS for file in static.glob(pattern)):
        sheet.write_text(slimmed(sheet.read_text(encoding="utf-8"), named), encoding="utf-8")
    sheets = {file: file.read_text(encoding="utf-8") for file in static.rglob("*.css")}
    asked = {name for one in (*pages, *scripts, *sheets.values()) for name in re.findall(r"var\(\s*(--[\w-]+)", one)}
    idle = re.compile(r"(?<=[{;])(--[\w-]+):[^;{}\"']*(?:;|(?=\}))")
    for file, text in sheets.items():
        short = re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
        file.write_text(idle.sub(lambda at: at[0] if at[1] in asked else "", short), encoding="utf-8")


def slimmed(sheet: str, named: Set[str]) -> str:
    """A style sheet without rules for classes that are not in ``named``, without icon fonts and comments.

    Example:
        >>> slimmed(".a{x:y}.b,.a .c,i:not(.d){x:y}@media print{.b{x:y}}", {"a"})
        '.a{x:y}i:not(.d){x:y}'
    """

    def rule(found: re.Match[str]) -> str:
        selectors = re.split(r",(?![^(\[]*[)\]])", found[1])
        # What is in brackets is a condition, not a class that an element must have.
        kept = [one for one in selectors if set(re.findall(r"\.(-?[A-Za-z_][\w-]*)", _BRACKETS.sub("", one))) <= named]
        icons = ("Awesome" in found[2] and "@font-face" in found[1]) or re.match(r"\s*\.fa-[\w-]+:before", found[1])
        return f"{','.join(kept)}{{{found[2]}}}" if kept and not icons else ""

    text = re.sub(r"([^{}]+)\{([^{}]*)\}", rule, re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL))
    return re.sub(r"@(?:media|supports)[^{}]*\{\s*\}", "", text)


_UNREAD = re.compile(r"<(script|style|svg|pre)\b.*?</\1>", re.DOTALL)
_CELL = re.compile(r"<t[dh]\b[^>]*>((?:(?!</?t[dh]\b).)*)</t[dh]>", re.DOTALL)
_DIGEST = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b")
# A cell with more words than this is a sentence.
_WORDS = 4


def prose(markup: str) -> str:
    """Give the sentences of HTML, without code, drawings, digests and the cells of tables that hold names and numbers.

    Example:
        >>> prose("<p>One <b>claim</b></p><td>71.2</td><pre>x = 1</pre><td>CSE is better than PP here</td>").split()
        ['One', 'claim', 'CSE', 'is', 'better', 'than', 'PP', 'here']
    """

    def cell(found: re.Match[str]) -> str:
        return found[1] if len(re.findall(r"[^\W\d_]{2,}", re.sub(r"<[^>]+>", " ", found[1]))) > _WORDS else " "

    text = re.sub(r"<[^>]+>", " ", _CELL.sub(cell, _UNREAD.sub(" ", markup)))
    return _DIGEST.sub(" ", html.unescape(text))


def _prose_alone() -> None:
    """Feed pages to the index of the search without code, formulas and what `prose` leaves out."""
    feed = IndexBuilder.feed

    def without_code(index: IndexBuilder, docname: str, filename: str, title: str, doctree: nodes.document) -> None:
        page = doctree.deepcopy()
        for node in list(page.findall()):
            if isinstance(node, nodes.literal_block | nodes.math | nodes.math_block):
                node.parent.remove(node)
            elif isinstance(node, nodes.raw):
                node.replace_self(nodes.paragraph("", prose(node.astext())))
        feed(index, docname, filename, title, page)

    IndexBuilder.feed = without_code  # type: ignore[assignment]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of it with Sphinx."""
    app.add_config_value("description", "", "html")
    app.connect("config-inited", _address)
    app.connect("config-inited", _served)
    app.connect("doctree-resolved", _results_first)
    app.connect("html-page-context", _launch, priority=900)  # after the theme has made its buttons
    app.connect("html-page-context", _metadata)
    app.connect("html-page-context", _light, priority=900)
    app.connect("build-finished", _slim, priority=900)  # after the theme has written its colours of code
    _prose_alone()
    return {"parallel_read_safe": True, "parallel_write_safe": True}
