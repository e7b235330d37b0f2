"""The report room: tables, figures, diagrams, error examples and generated pages.

Numbers are multiplied by 100 here and only here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentbook.report_old.diagrams import diagram
from sentbook.report_old.dial import dial
from sentbook.report_old.source import source
from sentbook.report_old.view import View

if TYPE_CHECKING:
    from sentbook.report_old.markup import Fragment


def answer(name: str) -> Fragment:
    """Show the answer of the page ``<paper>/<experiment>``, see `sentbook.report_old.answers.answer`."""
    from sentbook.report_old import answers  # what a table needs is less

    return answers.answer(*name.split("/"))


__all__ = ["View", "answer", "diagram", "dial", "source"]
