"""The report room: tables, figures, verdict boxes and error statistics of recorded runs.

``report.page("cse/table1")`` shows the record; its methods take ``run=`` for a run in memory. Numbers are multiplied by
100 here and only here.
"""

from sentbook.report.figures import colour, figure, style, subplots
from sentbook.report.html import Shown
from sentbook.report.item_errors import describe as describe_errors
from sentbook.report.lessons import diagram, dial, source
from sentbook.report.numbers import x100
from sentbook.report.page import Page, page
from sentbook.report.table import table

__all__ = [
    "Page",
    "Shown",
    "colour",
    "describe_errors",
    "diagram",
    "dial",
    "figure",
    "page",
    "source",
    "style",
    "subplots",
    "table",
    "x100",
]
