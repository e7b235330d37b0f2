"""Figures: the same bytes twice, words for who cannot see them, and what is drawn of a run that failed."""

from __future__ import annotations

import re
from collections.abc import Callable

import bs4
import matplotlib.pyplot as plt
import pytest

import samples
from sentbook import report
from sentbook.io import ConfigError
from sentbook.report import Shown
from sentbook.report.page import Page

DRAWN: dict[str, Callable[[Page], Shown]] = {
    "dumbbell": lambda page: page.dumbbell("CSE", "PP", caption="A."),
    "forest": lambda page: page.forest("CSE", "PP", caption="B."),
    "bars": lambda page: page.bars(caption="C."),
    "bars less PP": lambda page: page.bars(reference="PP"),
    "curve": lambda page: page.curve(caption="D."),
}


def record(**rows: object) -> Page:
    return samples.page(samples.run(tests=samples.test_rows(), curves=samples.curve(), **rows))


@pytest.mark.parametrize("kind", DRAWN)
def test_a_figure_is_the_same_twice_and_has_words_for_it(kind: str) -> None:
    first, second = DRAWN[kind](record()).html, DRAWN[kind](record()).html
    assert first == second
    svg = bs4.BeautifulSoup(first, "html.parser").svg
    assert svg is not None and svg["role"] == "img" and len(svg["aria-label"]) > 10
    assert "<metadata" not in first and not re.search(r"20\d\d-\d\d-\d\d", first)


def test_a_run_in_memory_is_drawn_below_the_record_with_its_parameters() -> None:
    shown = record().curve(run=samples.run(curves=samples.curve(), profile="demo")).html
    assert shown.count("<svg") == 2 and "Your run, profile demo." in shown


def test_a_diverged_run_does_not_stretch_the_axis_and_is_counted() -> None:
    values = {name: dict(sets) for name, sets in samples.VALUES.items()} | {"PP": {"SICK2014": [0.70, 0.72, 0.05]}}
    shown = samples.page(samples.run(values)).dumbbell("CSE", "PP", rows=["SICK2014"]).html
    assert "1 run below half of the median not drawn." in shown


def test_a_dial_shows_all_its_states() -> None:
    def draw(number: int) -> Shown:
        drawing, axes = report.subplots(1)
        axes.plot([0, number])
        return report.figure(drawing, alt=f"A line to {number}.")

    dial = report.dial(draw, "Filters", {"one <filter>": 1, "two": 2})
    page = dial._repr_html_()
    assert page.count("<svg") == 2 and "Filters: one &lt;filter&gt;" in page and page.count("<style>") == 1


def test_what_a_run_does_not_have_is_one_sentence() -> None:
    page = record()
    for draw in (page.forest, page.dumbbell, lambda *_: page.curve(metric="f1")):
        with pytest.raises(ConfigError, match=r"^This run holds no [^\n]+\.$"):
            draw("GRAN", "ATT-CCG")
    with pytest.raises(ConfigError, match="reference GRAN"):
        record().bars(reference="GRAN")


def test_a_figure_of_ones_own_is_shown_once_and_escaped() -> None:
    drawing, axes = plt.subplots()
    axes.set_title("<b>")
    shown = report.figure(drawing, caption="Mine. <i>", alt='"><script>').html
    assert "<script" not in shown and "<i>" not in shown and "<b></b>" not in shown
    assert not plt.get_fignums()
