"""Tables of sentences: laid out as the paper's, escaped, and with no sentence in what is recorded."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable

import numpy as np
import pytest

from sentbook.data.analogies import Analogies, paper_analogies, template_analogies
from sentbook.report import generated
from sentbook.report.markup import Fragment
from sentbook.system.errors import ConfigError

Check = Callable[[str], ET.Element]
HOSTILE = "<script>alert('x')</script> <img src=x onerror=\"go()\"> | & \x00 \u202e end"


def texts(element: ET.Element, path: str) -> list[str]:
    return ["".join(found.itertext()) for found in element.iterfind(path)]


def rows(made: Fragment, check: Check) -> list[list[str]]:
    """The cells of each row of the bodies, as text."""
    root = check(made.html())
    return [[*texts(row, "th"), *texts(row, "td")] for row in root.iterfind(".//tbody/tr")]


def test_table_1_has_the_papers_layout(well_formed: Check) -> None:
    given = paper_analogies()
    made = generated.analogies(
        given, {"autoencoder": ["you see it.", "You are great .", "", "he had"]}, target="printed", caption="T"
    )
    cells = rows(made, well_formed)
    assert [row[0] for row in cells] == ["A", "B", "C", "D, printed", "D, autoencoder"]
    assert cells[0][1:] == given.a and cells[3][1:] == given.d
    assert cells[4][1:] == ["you see it.", "You are great . (as printed)", "(empty)", "he had"]
    assert "<mark>You</mark> <mark>are</mark> <mark>great</mark>" in made.html()
    assert "<mark>see</mark>" not in made.html()
    assert made.to_frame().to_dict("records") == [{"written by": "autoencoder", "as given": 1, "of": 4}]
    assert "| autoencoder | 1 | 4 |" in made.to_markdown()
    root = well_formed(generated.analogies(template_analogies(9), {}, first=2).html())
    assert texts(root, ".//thead/tr/th") == ["Sentence", "1. subject and verb", "2. subject and object"]


def test_samples_show_what_each_decoder_wrote(well_formed: Check) -> None:
    made = generated.samples(
        ["the dog ran.", "he slept."], {"greedy": ["the dog ran .", "she"], "next": ["it barked.", "he slept ."]}
    )
    root = well_formed(made.html())
    assert texts(root, ".//thead/tr/th") == ["Sentence", "greedy", "next"]
    assert rows(made, well_formed)[1] == ["he slept.", "she", "he slept ."]
    assert made.to_frame()["as given"].tolist() == [1, 1]


def test_a_paragraph_is_told_written_and_in_the_book(well_formed: Check) -> None:
    told, written, book = [["one.", "two."], ["three."]], [["four."] * 15, [""]], [["six."], ["seven.", "eight."]]
    made = generated.paragraphs(told, written, book, caption="Paragraphs")
    root = well_formed(made.html())
    assert len(root.findall(".//tbody")) == 2
    assert texts(root, ".//tbody/tr/th") == ["Told", "Written", "In the book"] * 2
    cells = texts(root, ".//tbody/tr/td")
    assert cells[0] == "one.two." and cells[1] == "four." * 12 + "and 3 more" and cells[4] == "(nothing)"
    assert made.to_frame()["sentences"].tolist() == [2, 15, 1, 1, 0, 2]
    assert texts(well_formed(generated.paragraphs(told, written).html()), ".//tbody/tr/th") == ["Told", "Written"] * 2


def test_table_2_pairs_queries_with_sentences(well_formed: Check) -> None:
    found = [["the cat ran"], []]
    made = generated.neighbours(
        ["the dog ran", "alone"], found, [[0.91234], [np.nan]], caption="Nearest", note="among 100,000 sentences"
    )
    assert rows(made, well_formed) == [
        ["Query", "the dog ran", ""],
        ["Nearest", "the cat ran", "0.912"],
        ["Query", "alone", ""],
        ["Nearest", "(nothing)", ""],
    ]
    assert "among 100,000 sentences" in made.html()
    assert made.to_frame().to_dict("records") == [{"query": 1, "place": 1, "cosine": 0.91234, "common words": 0.5}]
    several = generated.neighbours(["a b"], [["a", "b"]], [[0.5, 0.4]])
    assert [row[0] for row in rows(several, well_formed)] == ["Query", "1.", "2."]


def hostile() -> list[Fragment]:
    given = Analogies("x", [HOSTILE], [f"{HOSTILE} b"], [f"{HOSTILE} c"], [f"{HOSTILE} d"], [f"{HOSTILE} k"])
    return [
        generated.analogies(given, {HOSTILE: [HOSTILE]}, caption=HOSTILE),
        generated.samples([HOSTILE], {HOSTILE: [HOSTILE]}, head=HOSTILE, caption=HOSTILE),
        generated.paragraphs([[HOSTILE]], [[HOSTILE]], [[HOSTILE]], caption=HOSTILE),
        generated.neighbours([HOSTILE], [[HOSTILE]], [[0.5]], caption=HOSTILE, note=HOSTILE),
    ]


def test_hostile_text_is_shown_not_run(well_formed: Check) -> None:
    for made in hostile():
        html = made.html()
        well_formed(html)  # the parser finds no script, no image and no handler
        assert "<script" not in html and "<img" not in html and "&lt;" in html
        assert "\x00" not in html and "\u202e" not in html


def test_long_sentences_are_cut(well_formed: Check) -> None:
    long = "dog " * 5000
    for made in (
        generated.samples([long], {"greedy": [long]}),
        generated.paragraphs([[long]], [[long]]),
        generated.neighbours([long], [[long]], [[1.0]]),
    ):
        well_formed(made.html())
        assert len(made.html()) < 40_000 and "\u2026" in made.html()


def test_the_record_holds_no_sentence() -> None:
    secret = "zebra crossing"
    given = Analogies("x", [secret], [f"{secret} b"], [f"{secret} c"], [f"{secret} d"], ["k"])
    for made in (
        generated.analogies(given, {"model": [secret]}),
        generated.samples([secret], {"model": [secret]}),
        generated.paragraphs([[secret]], [[secret]]),
        generated.neighbours([secret], [[secret]], [[0.5]]),
    ):
        assert "zebra" in made.html()
        assert "zebra" not in made.to_markdown() + repr(made) + made.to_frame().to_csv()


def test_nothing_is_a_table_too(well_formed: Check) -> None:
    for made in (
        generated.samples([], {"greedy": []}),
        generated.paragraphs([], []),
        generated.neighbours([], [], np.zeros((0, 1))),
    ):
        well_formed(made.html())
    assert generated.paragraphs([], []).to_markdown() == "Nothing was generated."


def test_mistakes_are_clear() -> None:
    with pytest.raises(ConfigError, match="'model' has 1 entries for 4 analogies"):
        generated.analogies(paper_analogies(), {"model": ["x"]})
    with pytest.raises(ConfigError, match="2 entries for 1 sentences"):
        generated.samples(["x"], {"greedy": ["x", "y"]})
    with pytest.raises(ConfigError, match="'Written' has 0 entries for 1 paragraphs"):
        generated.paragraphs([["x"]], [])
    with pytest.raises(ConfigError, match="do not fit"):
        generated.neighbours(["x"], [["y"]], [0.5])
    with pytest.raises(ConfigError, match="Query 1 has 2 sentences and 1 cosines"):
        generated.neighbours(["x"], [["y", "z"]], [[0.5]])
