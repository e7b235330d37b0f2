"""The report room: tables, figures, diagrams, error examples and generated pages.

Numbers are multiplied by 100 here and only here.
"""

from sentbook.report.diagrams import diagram

__all__ = ["diagram"]
