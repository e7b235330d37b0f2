"""What lessons show: code without its docstring, drawings, and a figure in several states."""

from __future__ import annotations

import pytest

from sentbook import report
from sentbook.report import Shown


def doubled(number: int) -> int:
    """Return twice ``number``."""
    return 2 * number  # said once


def test_code_is_shown_without_its_docstring() -> None:
    assert (
        report.source(doubled).data
        == "```python\ndef doubled(number: int) -> int:\n    return 2 * number  # said once\n```"
    )


def draw(number: int) -> Shown:
    drawing, axes = report.subplots(1)
    axes.plot([0, number])
    return report.figure(drawing, alt=f"A line to {number}.")


def test_a_dial_is_a_slider_and_on_a_page_all_its_states() -> None:
    dial = report.dial(draw, "Filters", {"one <filter>": 1, "two": 2})
    page = dial._repr_html_()
    assert page.count("<svg") == 2 and "Filters: one &lt;filter&gt;" in page and page.count("<style>") == 1
    pytest.importorskip("ipywidgets")
    assert "application/vnd.jupyter.widget-view+json" in dial._repr_mimebundle_()
