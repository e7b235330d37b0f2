"""One result page of the book: its recorded run, the paper's numbers, and everything drawn from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from sentbook import records
from sentbook.io import ConfigError
from sentbook.judge import Entry, claims, entries, printed
from sentbook.records import CurvePoint, Run
from sentbook.report import comparison, errors, figures, verdict
from sentbook.report.html import Shown, both, sentence
from sentbook.report.summary import Printed, changes


def page(name: str, *, printed_as: str = "", profile: str = "") -> Page:
    """Open a result page.

    Args:
        name: such as ``cse/table1``.
        printed_as: the table of the paper's numbers where it is not named as the page is, such as ``text_numbers``.
        profile: whose record is shown; empty: ``small``, else ``paper``.

    Raises:
        DataError: the file is no run of this schema.
    """
    paper, experiment = name.split("/")
    runs = (records.read(name, one) for one in ((profile,) if profile else ("small", "paper")))
    try:
        numbers = printed.table(paper, printed_as or experiment)
    except ConfigError:
        numbers = pd.DataFrame()
    return Page(name, next((run for run in runs if run is not None), None), numbers)


@dataclass(frozen=True)
class Page:
    """A page's recorded run and the paper's numbers.

    Every method shows the record. With ``run=`` it shows a run in memory next to it, its changed parameters named.

    Attributes:
        name: such as ``cse/table1``.
        run: the committed record; None where nothing is recorded.
        paper: the printed numbers: columns paper, table, method, dataset, metric, value.
    """

    name: str
    run: Run | None
    paper: pd.DataFrame

    @property
    def claims(self) -> list[Entry]:
        """The claims of this page with the verdicts of the record, the main one first."""
        found = entries(self.run, claims(*self.name.split("/")))
        return sorted(found, key=lambda claim: not claim.main)

    @property
    def unrecorded(self) -> Shown:
        """One sentence that says how to record this page."""
        return sentence(
            f"No run of {self.name} is recorded. To record one: sentbook run {self.name} --profile small --record"
        )

    def verdict(self, measured: str = "") -> Shown:
        """Show the verdict box: the paper's number, ours, its interval, and what we found.

        Args:
            measured: one sentence on what was found, for a page without a claim.
        """
        if self.run is None:
            return self.unrecorded
        return verdict.box(self.run, self.claims, measured)

    def details(self) -> Shown:
        """Show claims, substitutes, searches, cost and provenance in one fold."""
        if self.run is None:
            return self.unrecorded
        return verdict.details(self.run, self.claims)

    # -- tables -------------------------------------------------------------------------------------------------------

    def comparison(
        self,
        methods: Sequence[str] | None = None,
        *,
        rows: Sequence[str] | None = None,
        metric: str | Mapping[str, str] | None = None,
        protocol: str | None = None,
        difference: tuple[str, str] | None = None,
        gap: bool = False,
        labels: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
        places: int | None = None,
        caption: str = "",
        run: Run | None = None,
    ) -> Shown:
        """Compare methods, a row per data set: the paper's number, ours, and the interval of A - B.

        Args:
            methods: in the order shown; None: all of the record.
            rows: data sets; None: all of the record.
            metric: one, or one by data set; None: Pearson's r, else the data set's first.
            protocol: words of one protocol, where the record has several.
            difference: A and B.
            gap: a column ours - paper for each method.
            labels: what a method or data set is called here, by its name in the record.
            notes: words after a data set or year, such as ``{"STS2016": "validation"}``.
            places: decimals, in place of the metric's.
            run: a run in memory, shown in a column "yours".
        """
        layout = comparison.Layout(
            methods=methods,
            rows=rows,
            metric=metric,
            difference=difference,
            gap=gap,
            labels=labels or {},
            notes=notes or {},
            places=places,
        )
        return self._compared(layout, protocol, caption, run)

    def by_method(
        self,
        methods: Sequence[str] | None = None,
        *,
        datasets: Sequence[str] | None = None,
        metrics: Sequence[str] = (),
        metric: str | Mapping[str, str] | None = None,
        protocol: str | None = None,
        gap: bool = False,
        labels: Mapping[str, str] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        places: int | None = None,
        caption: str = "",
        run: Run | None = None,
    ) -> Shown:
        """Compare methods, a row per method: a column group per data set, or per metric of one data set.

        Args:
            datasets: those shown; with ``metrics`` the one that they are of.
            metrics: head the columns in place of data sets.
            groups: headings over methods, with the methods below each.
            methods, metric, protocol, gap, labels, places, run: as in `comparison`.
        """
        layout = comparison.Layout(
            methods=methods,
            rows=datasets,
            metric=metric,
            metrics=metrics,
            across="metric" if metrics else "dataset",
            gap=gap,
            labels=labels or {},
            groups=groups or {},
            places=places,
        )
        return self._compared(layout, protocol, caption, run)

    def _compared(self, layout: comparison.Layout, protocol: str | None, caption: str, run: Run | None) -> Shown:
        if self.run is None and run is None:
            return self.unrecorded
        return comparison.comparison(self.run, Printed(self.paper), layout, protocol=protocol, caption=caption, run=run)

    def tests(self, *, a: str | None = None, b: str | None = None, caption: str = "") -> Shown:
        """List the record's comparisons A - B, all or those of ``a`` and ``b``, with interval and p."""
        if self.run is None:
            return self.unrecorded
        rows = [row for row in self.run.tests if a in (None, row.a) and b in (None, row.b)]
        return verdict.tests(rows, caption)

    # -- figures ------------------------------------------------------------------------------------------------------

    def dumbbell(
        self,
        a: str,
        b: str,
        *,
        rows: Sequence[str] | None = None,
        metric: str | None = None,
        protocol: str | None = None,
        caption: str = "",
        run: Run | None = None,
    ) -> Shown:
        """Draw A and B on each data set: ours filled, a tick per seed, the paper's hollow."""
        paper = Printed(self.paper)
        parts = [
            figures.dumbbell(one, paper, a, b, rows=sets, metric=metric, protocol=protocol, caption=words)
            for one, sets, words in self._shown(rows, caption, run)
        ]
        return both(*parts) if parts else self.unrecorded

    def forest(
        self,
        a: str,
        b: str,
        *,
        rows: Sequence[str] | None = None,
        metric: str | None = None,
        caption: str = "",
        run: Run | None = None,
    ) -> Shown:
        """Draw A - B with its 95 % interval on each data set."""
        parts = [
            figures.forest(one, a, b, rows=sets, metric=metric, caption=words)
            for one, sets, words in self._shown(rows, caption, run)
        ]
        return both(*parts) if parts else self.unrecorded

    def bars(
        self,
        methods: Sequence[str] | None = None,
        *,
        rows: Sequence[str] | None = None,
        metric: str | None = None,
        protocol: str | None = None,
        reference: str | None = None,
        caption: str = "",
        run: Run | None = None,
    ) -> Shown:
        """Draw a bar per method in a group per data set, the averages unless ``rows`` names others.

        Args:
            reference: a method whose mean is taken off, so that small differences show.
        """
        parts = [
            figures.bars(
                one, methods=methods, rows=sets, metric=metric, protocol=protocol, reference=reference, caption=words
            )
            for one, sets, words in self._shown(rows, caption, run)
        ]
        return both(*parts) if parts else self.unrecorded

    def curve(
        self,
        *,
        split: str | None = None,
        metric: str | None = None,
        methods: Sequence[str] | None = None,
        points: Sequence[CurvePoint] | None = None,
        label: str | None = None,
        caption: str = "",
        run: Run | None = None,
    ) -> Shown:
        """Draw a metric over the training examples seen, a line per seed.

        Args:
            split: ``validation``, ``test`` or ``train``.
            metric: None: the correlation or accuracy that was followed.
            points: some of the record's, under other names; None: all of them.
            label: of the upright axis, in place of split and metric.
        """
        parts = [
            figures.curve(
                one,
                split=split,
                metric=metric,
                methods=methods,
                points=points if one is self.run else None,
                label=label,
                caption=words,
            )
            for one, _, words in self._shown(None, caption, run)
        ]
        return both(*parts) if parts else self.unrecorded

    def _shown(
        self, rows: Sequence[str] | None, caption: str, run: Run | None
    ) -> Iterable[tuple[Run, Sequence[str] | None, str]]:
        """Give the record, then the run in memory, each with the rows that it has and its caption."""
        if self.run is not None:
            yield self.run, rows, caption
        if run is not None:
            shared = [name for name in rows or () if any(name == row.dataset for row in run.metrics)]
            yield run, shared or None, f"Your run. {'; '.join(changes(run))}."

    # -- errors -------------------------------------------------------------------------------------------------------

    def errors(self, a: str, b: str, *, dataset: str | None = None, caption: str = "", run: Run | None = None) -> Shown:
        """Show on which items A and B err: statistics by length, overlap, negation and numbers, and quoted pairs.

        Args:
            dataset: None, or one that the run does not have: its first.
        """
        parts = [self._errors(a, b, dataset, words, one) for one, _, words in self._shown(None, caption, run)]
        return both(*parts) if parts else self.unrecorded

    def _errors(self, a: str, b: str, dataset: str | None, caption: str, run: Run) -> Shown:
        described = [one for one in run.findings.get("errors", ()) if (one["a"], one["b"]) == (a, b)]
        found = next((one for one in described if dataset in (None, one["dataset"])), next(iter(described), None))
        if found is None:
            path = records.committed_path if run is self.run else records.own_path
            file = path(run.name, run.profile).with_suffix(".npz")
            scores = records.Scores.load(file) if file.exists() else None
            found = None if scores is None else errors.from_scores(run, scores, a, b, dataset)
        if found is None:
            return sentence(
                f"This run of {run.name} has no scores per item, or the text of its items is not on this machine. "
                f"To record them: sentbook run {run.name} --profile small --record"
            )
        return errors.shown(found, caption)
