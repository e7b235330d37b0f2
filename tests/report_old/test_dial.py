"""A figure with a control: all states on a page, one at a time where ipywidgets is."""

from __future__ import annotations

import sys

import nbformat
import pytest
from nbformat import v4

from sentbook.report_old import book, dial
from sentbook.report_old.dial import WIDGET
from sentbook.report_old.markup import Fragment


def draw(number: int) -> Fragment:
    return Fragment(f"<p>state {number}</p>")


def test_a_page_shows_every_state_and_the_style_sheet_once() -> None:
    html = dial(draw, "Number", {"none": 0, "two & more": 2}).html()
    assert html.index("none") < html.index("state 0") < html.index("two &amp; more") < html.index("state 2")
    assert html.count("<style>") == 1


def test_without_ipywidgets_there_are_the_states_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert set(dial(draw, "Number", [1, 2])._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_the_control_draws_the_chosen_state() -> None:
    pytest.importorskip("ipywidgets")
    box = dial(draw, "Number", [1, 2]).widget()
    slider, figure = box.children
    assert "state 1" in figure.value
    slider.value = "2"
    assert "state 2" in figure.value and "state 1" not in figure.value


def test_a_page_of_the_book_has_no_control() -> None:
    data = {"text/plain": "x", "text/html": "<p>both</p>", WIDGET: {"model_id": "a"}}
    cell = v4.new_code_cell("show()", outputs=[v4.new_output("display_data", data=data)])
    page = book.lay_out(nbformat.from_dict(v4.new_notebook(cells=[cell])))
    assert set(page.cells[0].outputs[0].data) == {"text/plain", "text/html"}
