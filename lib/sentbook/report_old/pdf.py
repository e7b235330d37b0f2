"""The book as one PDF: each page of the built book as Chromium prints it, in the book's order, after its contents."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from sentbook.io import ConfigError, root
from sentbook.report_old.markup import esc
from sentbook.runs.contents import listed

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# A4 between margins, in pixels of a style sheet.
_WIDTH, _HEIGHT = 718, 1047
_MARGIN = {side: "10mm" for side in ("top", "right", "bottom", "left")}
_STYLE = """
.bd-article-container { max-width: none !important; padding: 0 !important; }
.bd-article div, .bd-article figure { overflow: visible !important; max-height: none !important; }
.bd-article pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.bd-article tr, .bd-article svg { break-inside: avoid; }
.bd-article h1 { display: block !important; }
.onlyprint, .headerlink, .copybtn { display: none !important; }
"""
# Make whatever is wider than the sheet as wide as the sheet, before it is printed.
_FIT = """async () => {
  await window.MathJax?.startup?.promise;
  document.querySelectorAll('details.sb-procedure').forEach(part => part.open = true);
  const article = document.querySelector('article'), edge = () => article.getBoundingClientRect().right;
  for (const wide of article.querySelectorAll('table, mjx-container[display], svg')) {
    const {left, right, width} = wide.getBoundingClientRect();
    if (right > edge() + 1 && !wide.parentElement.closest('svg')) wide.style.zoom = (edge() - left) / width;
  }
}"""


def write(pages: Iterable[str] = ()) -> Path:
    """Print the built book, or some of its pages, to ``_build/sentbook.pdf``.

    Args:
        pages: as in the table of contents, e.g. ``book/cse``; all when left out.

    Raises:
        ConfigError: there is no built book, no browser, or a library of the extra ``pdf`` is missing.
    """
    html = root() / "_build" / "html"
    files = {name: html / f"{name}.html" for name in pages or ["book/index", *listed("book")]}
    if missing := [name for name, file in files.items() if not file.is_file()]:
        raise ConfigError(f"The built book has no page {missing[0]}; run `make book` first.")
    try:
        from pypdf import PdfReader, PdfWriter
    except ImportError:
        raise ConfigError("A library to write PDF is missing; run `make pdf`, or pip install -e '.[pdf]'.") from None

    writer, starts = PdfWriter(), {}
    with _browser() as page:
        titles, printed = {}, {}
        for name, file in files.items():
            printed[name] = PdfReader(io.BytesIO(_print(page, file.as_uri())))
            titles[name] = page.title().removesuffix(" – sentbook")
        # Their own length moves the numbers that contents name.
        length = len(PdfReader(io.BytesIO(_contents(page, files, titles, dict.fromkeys(files, 0)))).pages)
        at = length
        for name, part in printed.items():
            starts[name] = at
            at += len(part.pages)
        writer.append(io.BytesIO(_contents(page, files, titles, starts)), import_outline=False)
    for part in printed.values():
        writer.append(part, import_outline=False)
    for name, number in starts.items():
        writer.add_outline_item(title=titles[name], page_number=number)
    _lead_inside(writer, {str(file): starts[name] for name, file in files.items()})
    writer.compress_identical_objects()
    writer.add_metadata({"/Title": "sentbook"})
    target = root() / "_build" / "sentbook.pdf"
    writer.write(target)
    return target


@contextmanager
def _browser() -> Iterator[Page]:
    """Open a tab of a headless Chromium, as wide as a sheet."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        raise ConfigError(
            "Chromium prints the PDF and none is on the PATH; install it (Debian: apt-get install chromium)."
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = running.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light")
        page.emulate_media(media="print")
        yield page
        running.close()


def _print(page: Page, address: str) -> bytes:
    page.goto(address, wait_until="load")
    page.add_style_tag(content=_STYLE)
    page.evaluate(_FIT)
    return page.pdf(format="A4", margin=_MARGIN, print_background=True)  # type: ignore[arg-type]


def _contents(page: Page, files: Mapping[str, Path], titles: Mapping[str, str], starts: Mapping[str, int]) -> bytes:
    """Print the list of all pages with their numbers."""
    lines = "".join(
        f'<tr><td><a href="{esc(file.as_uri())}">{esc(titles[name])}</a></td><td>{starts[name] + 1}</td></tr>'
        for name, file in files.items()
    )
    style = "body{font: 11pt sans-serif} table{width: 100%} td+td{text-align: right} a{color: inherit}"
    page.set_content(f"<style>{style}</style><h1>sentbook</h1><table>{lines}</table>")
    return page.pdf(format="A4", margin=_MARGIN)  # type: ignore[arg-type]


def _lead_inside(writer: Any, numbers: Mapping[str, int]) -> None:
    """Let links between pages of the book lead to sheets of the PDF, and none to a file of this machine."""
    from pypdf.generic import ArrayObject, NameObject

    for sheet in writer.pages:
        for link in sheet.get("/Annots", []):
            link = link.get_object()
            address = str(link.get("/A", {}).get("/URI", ""))
            if address.startswith("file:"):
                del link["/A"]
                if (number := numbers.get(unquote(urlsplit(address).path))) is not None:
                    to = writer.pages[number].indirect_reference
                    link[NameObject("/Dest")] = ArrayObject([to, NameObject("/Fit")])
