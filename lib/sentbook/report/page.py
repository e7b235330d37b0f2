"""One result page of the book: its recorded run, the paper's numbers, and everything drawn from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from sentbook import records
from sentbook.io import ConfigError
from sentbook.judge import Entry, claims, entries, printed
from sentbook.records import Run
from sentbook.report import compare, figures, item_errors, verdicts
from sentbook.report.html import Shown, below, sentence
from sentbook.report.summary import Printed, changes, full_name


def page(
    name: str,
    *,
    printed_as: str = "",
    profile: str = "",
    protocol: str | None = None,
    labels: Mapping[str, str] | None = None,
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
    paper, experiment = name.split("/")
    runs = (records.read(name, one) for one in ((profile,) if profile else ("small", "paper")))
    try:
        numbers = printed.table(paper, printed_as or experiment)
    except ConfigError:  # a page of the book's own
        numbers = pd.DataFrame()
    return Page(name, next((run for run in runs if run is not None), None), numbers, protocol, labels or {})


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
    """

    name: str
    run: Run | None
    paper: pd.DataFrame
    protocol: str | None
    labels: Mapping[str, str]

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

    @property
    def claims(self) -> list[Entry]:
        """The claims of this page with the verdicts of the record, the main one first."""
        found = entries(self.run, claims(*self.name.split("/")))
        return sorted(found, key=lambda claim: not claim.main)

    @property
    def printed(self) -> Printed:
        """The paper's numbers by method, data set and metric."""
        return Printed(self.paper)

    def label(self, name: str, otherwise: str = "") -> str:
        """Name a method or data set as this page calls it."""
        return self.labels.get(name) or otherwise or full_name(name)

    def runs(self, run: Run | None, caption: str) -> Iterator[tuple[Run, str]]:
        """Give the record with its caption, then a run in memory with its changed parameters."""
        if self.run is not None:
            yield self.run, caption
        if run is not None:
            yield run, f"Your run. {'; '.join(changes(run))}."

    def together(self, parts: Sequence[Shown]) -> Shown:
        """Show outputs below each other; without any, the sentence that says how to record this page."""
        return below(*parts) if parts else sentence(f"No run of {self.name} is recorded. {self._how}")

    def unscored(self, run: Run) -> Shown:
        """Say that errors per item are not recorded."""
        where = "This run" if run is not self.run else "The recorded run"
        return sentence(f"{where} has no scores per item, or their sentences are not on this machine. {self._how}")

    @property
    def _how(self) -> str:
        return f"To record one: sentbook run {self.name} --profile small --record"
