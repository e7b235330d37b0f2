"""The report room: tables, figures, verdict boxes and error statistics of recorded runs.

``report.page("cse/table1")`` shows the record; its methods take ``run=`` for a run in memory. Numbers are multiplied by
100 here, and in the sentences of `sentbook.judge.rules`.
"""

from sentbook.report.figures import colour as colour
from sentbook.report.figures import figure as figure
from sentbook.report.figures import subplots as subplots
from sentbook.report.html import Shown as Shown
from sentbook.report.item_errors import describe_errors as describe_errors
from sentbook.report.item_errors import errors_of as errors_of
from sentbook.report.lessons import diagram as diagram
from sentbook.report.lessons import dial as dial
from sentbook.report.lessons import source as source
from sentbook.report.page import page as page
from sentbook.report.table import table as table
