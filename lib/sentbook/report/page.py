"""One result page of the book: its recorded run, the paper's numbers, and everything drawn from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd
from markupsafe import Markup

from sentbook import records
from sentbook.io import ConfigError
from sentbook.judge import Entry, judge, printed
from sentbook.records import Run
from sentbook.report import compare, figures, item_errors, verdicts
from sentbook.report.html import Shown, below
from sentbook.report.numbers import MINUS
from sentbook.report.summary import changes, full_name


def page(
    name: str, *, printed_as: str = "", profile: str = "", protocol: str = "", labels: Mapping[str, str] | None = None
) -> Page:
    """Open a result page.

    Args:
        name: such as ``cse/table1``.
        printed_as: the table of the paper's numbers where it is not named as the page is, such as ``text_numbers``.
        profile: whose record is shown; empty: ``small``, else ``paper``.
        protocol: words of one protocol, where the record has several for a number.
        labels: what methods and data sets are called on this page, by their names in the record.

    Raises:
        DataError: the file is no run of this schema.
    """
    paper, _, experiment = name.partition("/")
    run = next(filter(None, (records.read(name, one) for one in ([profile] if profile else ["small", "paper"]))), None)
    try:
        theirs = printed.table(paper, printed_as or experiment)
    except ConfigError:  # a page of the book's own
        theirs = pd.DataFrame()
    return Page(name, run, theirs, protocol, labels or {}, profile or "small")


@dataclass(frozen=True)
class Page:
    """A page's recorded run and the paper's numbers.

    Every method shows the record. With ``run=`` it shows a run in memory next to it, its changed parameters named.
    Where nothing is recorded it shows one sentence that says how to record.

    Attributes:
        name: such as ``cse/table1``.
        run: the committed record; None where nothing is recorded.
        paper: the printed numbers: columns paper, table, method, dataset, metric, value.
        protocol, labels: as in `page`.
        profile: the one to record, where nothing is recorded.
    """

    name: str
    run: Run | None
    paper: pd.DataFrame
    protocol: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    profile: str = "small"

    verdict = verdicts.verdict
    details = verdicts.details
    tests = verdicts.tests
    comparison = compare.comparison
    by_method = compare.by_method
    dumbbell = figures.dumbbell
    forest = figures.forest
    bars = figures.bars
    curve = figures.curve
    errors = item_errors.errors

    @cached_property
    def claims(self) -> list[Entry]:
        """The claims of this page with the verdicts of the record, the main one first."""
        return sorted(judge(self.name, self.run), key=lambda claim: not claim.main)

    def label(self, name: str, otherwise: str = "") -> str:
        """Name a method or data set as this page calls it."""
        return self.labels.get(name) or otherwise or full_name(name)

    def difference(self, a: str, b: str) -> str:
        """Name a difference by the labels of this page, without what they have in brackets: ``CSE − PP``."""
        short = (self.label(name).partition(" (")[0] if name in self.labels else name for name in (a, b))
        return f" {MINUS} ".join(short)

    def runs(self, run: Run | None, caption: str) -> Iterator[tuple[Run, str]]:
        """Give the record with its caption, then a run in memory with its changed parameters."""
        if self.run is not None:
            yield self.run, caption
        if run is not None:
            yield run, f"Your run, {', '.join(changes(run))}."

    @property
    def unrecorded(self) -> Shown:
        """One sentence that says how to record this page."""
        return self.missing(f"No run of {self.name} is recorded.")

    def missing(self, what: str) -> Shown:
        """Say in one sentence what is not here, and how to record it."""
        words = Markup("<p>{} To record it: <code>sentbook run {} --profile {} --record</code></p>")
        return Shown(words.format(what, self.name, self.profile))

    def together(self, parts: Sequence[Shown]) -> Shown:
        """Show outputs below each other; without any, that nothing is recorded."""
        return below(*parts) if parts else self.unrecorded
