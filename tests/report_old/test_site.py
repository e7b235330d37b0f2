"""The pages' buttons, descriptions and files, in a small book with the real theme and the real configuration."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from matplotlib.colors import to_hex
from matplotlib.image import imread

ROOT = Path(__file__).resolve().parents[2]
FIRST = "A book of one experiment that is long enough to say what it is, and of one page more."


@pytest.fixture(scope="module", params=["", "https://github.com/you/fork"], ids=["no address", "an address"])
def book(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The address of the repository, and the folder of a small book built with it."""
    folder = tmp_path_factory.mktemp("book")
    (folder / "book" / "_executed" / "toy").mkdir(parents=True)
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    config = re.sub(r"&repository .*", f'&repository "{request.param}"', config)
    (folder / "_config.yml").write_text(config)
    pages = "[{file: book/_executed/toy/one}, {file: book/references}]"
    (folder / "_toc.yml").write_text(f"{{format: jb-book, root: book/index, chapters: {pages}}}\n")
    (folder / "book" / "index.md").write_text(f"# sentbook\n\nShort.\n\n> {'Others said. ' * 9}\n\n{FIRST}\n")
    (folder / "book" / "references.md").write_text("# References\n\nNothing.\n")
    (folder / "book" / "references.bib").write_text("")
    figures = [
        f'<figure class="sentbook"{run}><div class="sb-plot sb-wide"><svg viewBox="0 0 40 20"><rect width="40" '
        f'height="20" style="fill: var(--sb-hue-0,{colour})"/></svg></div></figure>'
        for run, colour in ((' data-run="demo/toy/one"', "#c8500a"), (' data-run="small/toy/one"', "#0067a5"))
    ]
    cells = [nbformat.v4.new_markdown_cell("\n\n".join(["# One", "$a^2$", *figures]))]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "book" / "_executed" / "toy" / "one.ipynb")
    for name in ("book/_static", "book/_templates", "lib"):
        (folder / name).symlink_to(ROOT / name)
    tool = str(Path(sys.executable).with_name("jupyter-book"))
    done = subprocess.run([tool, "build", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return request.param, folder / "_build" / "html"


def page(book: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((book / name).read_text(encoding="utf-8"), "html.parser")


@pytest.mark.slow
def test_buttons_lead_to_the_notebook_where_its_repository_has_an_address(book: tuple[str, Path]) -> None:
    address, html = book
    links = [str(link["href"]) for link in page(html, "book/_executed/toy/one.html").select("a[href]")]
    found = [link for link in links if "github" in link or "/gh/" in link]
    assert bool(found) == bool(address)
    if address:
        assert address in found
        assert "https://mybinder.org/v2/gh/you/fork/main?urlpath=lab/tree/notebooks/toy/one.ipynb" in found
        assert "https://colab.research.google.com/github/you/fork/blob/main/notebooks/toy/one.ipynb" in found


@pytest.mark.slow
def test_a_page_says_what_it_is(book: tuple[str, Path]) -> None:
    address, html = book
    front = page(html, "book/index.html")
    said = {str(one.get("property") or one.get("name")): str(one["content"]) for one in front.select("meta[content]")}
    assert front.title is not None and front.title.get_text() == "sentbook"
    assert said["description"] == said["og:description"] == FIRST and said["og:title"] == "sentbook"
    assert said["og:image"] == ("https://you.github.io/fork/" if address else "../") + "_static/page.png"
    one = page(html, "book/_executed/toy/one.html")
    assert one.title is not None and one.title.get_text() == "One – sentbook"
    # A page with a figure that is not of toy data shows it where its address is shared, in the light colours.
    picture = str(one.select_one("meta[property='og:image']")["content"])  # type: ignore[index]
    assert picture.endswith("_static/pages/book/_executed/toy/one.png")
    pixels = imread(html / "_static/pages/book/_executed/toy/one.png")
    assert pixels.shape[:2] == (600, 1200) and to_hex(pixels[300, 600]) == "#0067a5"


@pytest.mark.slow
def test_a_page_loads_what_it_uses(book: tuple[str, Path]) -> None:
    _, html = book
    loads = {}
    for name in ("book/index.html", "book/_executed/toy/one.html", "search.html"):
        soup = page(html, name)
        files = [str(one.get("src") or one.get("href")) for one in soup.select("script[src], link[rel=stylesheet]")]
        loads[name] = {(html / name).parent / file.partition("?")[0] for file in files}
    mathjax = {name for name, files in loads.items() if any("mathjax" in file.parts for file in files)}
    index = {name for name, files in loads.items() if any(file.name == "searchindex.js" for file in files)}
    assert mathjax == {"book/_executed/toy/one.html"} and index == {"search.html"}
    assert sum(file.stat().st_size for file in loads["book/index.html"]) < 160_000
    theme = (html / "_static" / "styles" / "pydata-sphinx-theme.css").read_text(encoding="utf-8")
    assert "@font-face" not in theme and ".bd-sidebar-primary" in theme
