"""The pages of the package: every room is listed, and docstrings stand on them with their sections and equations."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from sentbook.report_old import api
from sentbook.runs.contents import listed

HTML = Path(__file__).resolve().parents[2] / "_build" / "html"


def test_every_room_of_the_package_is_in_the_table_of_contents() -> None:
    assert sorted(listed(api.FOLDER)) == sorted(f"{api.FOLDER}/{room}" for room in api.rooms())


def built(room: str, name: str) -> Tag:
    """What the built page says of a public name."""
    page = HTML / api.FOLDER / f"{room}.html"
    if not page.is_file():
        pytest.skip("the book is not built; run `make book`")
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    (found,) = [one for one in soup.select("details.sb-api") if one.select_one("summary code").get_text() == name]  # type: ignore[union-attr]
    return found


def test_a_method_stands_with_its_signature_and_its_sections() -> None:
    study = built("study", "Study")
    (record,) = [one for one in study.select(".sb-api-member") if one.get_text().lstrip().startswith("def record(")]
    text = " ".join(record.get_text(" ").split())
    assert "Judge the experiment" in text and "-> results . Run" in text
    assert "Raises" in text and "StorageError" in text and "the ledger cannot be written." in text


def test_equations_of_an_encoder_are_mathematics_and_names_are_links() -> None:
    cse = built("models", "CSE")
    assert "\\hat c = \\sum_{i=1}^{m} c_i" in "".join(one.get_text() for one in cse.select("div.math"))
    assert "Source." in cse.get_text() and ">>> " in cse.get_text()
    options = built("models", "CSEEncoder")
    assert any(str(link["href"]).endswith("#sentbook-models-cse-cse-class") for link in options.select("a[href]"))
