"""How a table names the run and the row of the ledger that its numbers are of.

`sentbook.report.pedigree` turns these marks into links when a page is laid out.
"""

from __future__ import annotations

import hashlib
from typing import Protocol


class Recorded(Protocol):
    """A run, or a study that will record one."""

    @property
    def paper(self) -> str: ...
    @property
    def experiment(self) -> str: ...
    @property
    def profile(self) -> str: ...


def run_name(of: Recorded | None) -> str:
    """``<profile>/<paper>/<experiment>``; empty without a run."""
    return f"{of.profile}/{of.paper}/{of.experiment}" if of is not None else ""


def row_key(*names: str) -> str:
    """The mark of a row of the ledger: of (method, dataset, metric), of (a, b, dataset, metric), of a claim.

    Example:
        >>> row_key("CSE", "STS2012/MSRpar", "pearson")
        'ece98cc5'
    """
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:8]


def row_mark(*names: str) -> str:
    """`row_key` as an attribute of a cell."""
    return f' data-row="{row_key(*names)}"'
