"""The book as one PDF: which pages, what is said where it cannot be printed, and two pages that are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pypdf import PdfReader

from sentbook.io import ConfigError
from sentbook.report_old import pdf


@pytest.fixture
def built(checkout: Path) -> Path:
    """A toy checkout with three built pages that have links, an equation's room and a wide table."""
    for name, title in (("index", "Toy"), ("_executed/toy/one", "One"), ("_executed/toy/two", "Two")):
        file = checkout / "_build" / "html" / "book" / f"{name}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        wide = "".join(f"<td>column-{number}</td>" for number in range(30))
        link = f'<a href="{"_executed/toy/two" if name == "index" else "one"}.html">on</a>'
        body = f"<article><h1>{title}</h1>{link}<div><table><tr>{wide}</tr></table></div></article>"
        file.write_text(f"<html><head><title>{title} – sentbook</title></head><body>{body}</body></html>")
    return checkout


def test_a_page_that_is_not_built_and_a_missing_browser_are_one_sentence_each(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="no page book/none; run `make book` first"):
        pdf.write(["book/none"])
    monkeypatch.setattr(pdf, "BROWSERS", ("no-such-browser",))
    with pytest.raises(ConfigError, match="install it"):
        pdf.write()


@pytest.mark.browser
@pytest.mark.slow
def test_all_pages_stand_in_order_after_their_contents_with_tables_whole_and_links_inside(built: Path) -> None:
    if not any(map(shutil.which, pdf.BROWSERS)):
        pytest.skip("no Chromium on the PATH")
    sheets = PdfReader(pdf.write()).pages
    assert len(sheets) == 4
    contents, *texts = [sheet.extract_text() for sheet in sheets]
    assert [text.split()[0] for text in texts] == ["Toy", "One", "Two"]
    assert contents.split() == ["sentbook", "Toy", "2", "One", "3", "Two", "4"]
    assert all("column-29" in text.replace("\n", "") for text in texts)
    links = [link.get_object() for sheet in sheets for link in sheet.get("/Annots", [])]
    assert len(links) == 6 and all("/Dest" in link and "/A" not in link for link in links)
