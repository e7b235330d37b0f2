"""The report room: tables, figures, diagrams, error examples and generated pages.

Numbers are multiplied by 100 here and only here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentbook.report.diagrams import diagram
from sentbook.report.dial import dial
from sentbook.report.source import source
from sentbook.report.view import View

if TYPE_CHECKING:
    from sentbook.report.markup import Fragment


def answer(name: str) -> Fragment:
    """Show the answer of the page ``<paper>/<experiment>``, see `sentbook.report.answers.answer`."""
    from sentbook.report import answers  # what a table needs is less

    return answers.answer(*name.split("/"))


__all__ = ["View", "answer", "diagram", "dial", "source"]
