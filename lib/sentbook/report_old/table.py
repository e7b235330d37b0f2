"""The one table of the project: two storeys of heads, cells with interval and marks, each leading to its run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from sentbook.records import Run
from sentbook.report_old import numbers, templates
from sentbook.report_old.markup import (
    Fragment,
    Html,
    Piece,
    Recorded,
    attributes,
    badge,
    esc,
    row_id,
    row_key,
    run_name,
    why,
)

TEXT, LEFT, DATA = "sb-text", "sb-left", "sb-data"  # kinds of columns: running text, short text, of a data set
_TOY = "Toy data: the mini-world, seconds of training; says nothing of the paper"


# -- which run ---------------------------------------------------------------------------------------------------------


def is_toy(run: Recorded | None) -> bool:
    """Whether a run is on the generated mini-world: the demo, also with changed parameters."""
    if isinstance(run, Run):
        return str(run.provenance.config.get("profile", run.profile)) == "demo" or run.profile == "demo"
    settings = getattr(run, "settings", run)  # of a study that is not recorded yet
    return getattr(settings, "profile", "") == "demo"


def badges(run: Run, *, just_made: bool = False) -> str:
    """Say which run the numbers are of: profile, seeds, recorded or just made, date, commit, device, minutes.

    The book adds how stale the run is (`sentbook.report_old.pedigree`).
    """
    made, name = run.provenance, run_name(run)
    first = "run just made" if just_made else "recorded run"
    kind = " sb-badge-new" if just_made else ""
    items = [
        f'<li class="sb-badge{kind}">{why(first, name)}</li>',
        badge(f"profile {run.profile}"),
        badge(numbers.counted(len(made.seeds), "seed")),
        badge(made.started[:10]),
        badge(f"commit {_short_commit(made.git_commit)}"),
        badge(made.device),
        badge(time_of(run)),
        badge("substituted training data", "substitute") if made.substitutions else "",
        f'<li class="sb-badge sb-badge-stale" hidden="" data-stale="{esc(name)}"></li>',
    ]
    return f'<ul class="sb-badges" aria-label="Which run">{"".join(items)}</ul>'


def time_of(run: Run) -> str:
    """Minutes of the run, and of the trainings whose encoders it used."""
    made = run.provenance
    trained = f" + {numbers.minutes(made.training_seconds)} of training" if made.training_seconds else ""
    return numbers.minutes(made.wall_seconds) + trained


def _short_commit(commit: str) -> str:
    plain, plus, changes = commit.partition("+")
    return (plain[:7] if len(plain) > 12 else plain) + plus + changes


def command(paper: str, experiment: str, profile: str = "small") -> str:
    """What makes a run, again or for the first time."""
    if paper == "data":
        return f"sentbook data {experiment} --record"
    return f"make run NOTEBOOK={paper}/{experiment} PROFILE={profile}"


def not_run(command: str = command("<paper>", "<experiment>")) -> Fragment:
    """The notice that stands where numbers would."""
    return Fragment(
        f'<div class="sb-notice" role="note"><strong>Not run</strong>'
        f"No numbers of this experiment are recorded in this profile. Make them with <code>{esc(command)}</code></div>"
    )


# -- cells and rows ----------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """A cell of plain text, which is escaped when it is drawn; `Html` stays as it is.

    Attributes:
        text: the value.
        below: the lines that stand small below it, such as its interval; a `Cell` where one has marks of its own.
        before: what stands before the value; after: what follows the value: a star, a sign, letters of ties.
        best, underlined: two ranks of emphasis.
        row: the names of the row of the results file that it shows, as `row_key` takes them; run: of which run, as
            `run_name`, where it is not its table's.
        paper: where it is printed; data: it is of a data set, or a decoder wrote it. Neither leads to a run.
        title: its tooltip.
        kind: further classes.
        span: over how many columns.
    """

    text: str = ""
    below: str | Cell | Sequence[str | Cell] = ()
    after: str = ""
    before: str = ""
    best: bool = False
    underlined: bool = False
    row: tuple[str, ...] = ()
    run: str = ""
    paper: str = ""
    data: bool = False
    title: str = ""
    kind: str = ""
    span: int = 1

    def marks(self, *kinds: str) -> Html:
        """The attributes of its element, of further ``kinds``."""
        title = self.title or (f"printed in {self.paper}" if self.paper else "")
        classes = [*kinds, "sb-paper" if self.paper else "", DATA if self.data else ""]
        return attributes(**{"class": classes, "title": title})


class Row(NamedTuple):
    """A row; ``head``: a heading without cells, ``wide``: over all columns; ``start``: begins a group; ``own``: tinted;
    ``note``: beside the label.

    ``row`` names the row of the results file that all its cells show.
    """

    label: str
    cells: Sequence[Cell | str] = ()
    head: bool = False
    start: bool = False
    own: bool = False
    wide: bool = False
    note: str = ""
    row: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Table(Piece):
    """A table of plain text with the badges of its run above and a remark below; it draws itself in a notebook.

    A number leads to the run that made it. A table of a run on toy data is framed and named so.

    Attributes:
        heading: of the first column; None: rows have no label.
        columns: heads, or (group, head): neighbours of one group stand under its name.
        rows: see `Row`.
        caption, how, foot: title; how the numbers were made, small; the remark below.
        run: whose numbers they are; None: nobody's.
        badged: whether the badges of the run stand above.
        just_made: the run was made by this notebook, not read from the ledger.
        notice: stands in place of the badges.
        kinds: column -> `TEXT`, `LEFT` or `DATA` (0 is the first after the row's label); others hold numbers.
        wrap: the first column may break into lines.
        facts: the numbers are no result.
        changes: the parameters that the reader's run changed, in words; they stand above.
        label: read aloud; empty: the caption.
        anchors: a profile, on the page of its run: its rows are what numbers elsewhere lead to, see `row_id`.
    """

    heading: str | None
    columns: Sequence[str | tuple[str, str]]
    rows: Sequence[Row]
    caption: str = ""
    how: str = ""
    foot: str = ""
    run: Recorded | None = None
    badged: bool = False
    just_made: bool = False
    notice: Fragment | None = None
    kinds: Mapping[int, str] = field(default_factory=dict)
    wrap: bool = False
    kind: str = "sentbook-table"
    facts: bool = False
    changes: Sequence[str] = ()
    label: str = ""
    anchors: str = ""

    @property
    def of(self) -> str:
        return run_name(self.run)

    @property
    def body(self) -> str:  # type: ignore[override]
        """HTML without the outer element and style sheet."""
        above = ""
        if self.notice:
            above = self.notice.body
        elif self.badged:
            run = self.run if isinstance(self.run, Run) else None
            above = badges(run, just_made=self.just_made or is_toy(run)) if run else not_run().body
        if self.changes:
            words = ", ".join(f"<code>{esc(change)}</code>" for change in self.changes)
            above += f'<p class="sb-changes"><strong>Your run</strong> with {words}</p>'
        top = f"<strong>{esc(self.caption)}</strong>" if self.caption else ""
        top += f'<span class="sb-how">{esc(self.how)}</span>' if self.how else ""
        drawn = self.drawn(Html(top)) if self.rows else ""
        foot = f'<p class="sb-foot">{esc(self.foot)}</p>' if self.foot else ""
        if is_toy(self.run) and above + drawn + foot:
            return f'<div class="sb-toy"><p class="sb-toy-name">{esc(_TOY)}</p>{above}{drawn}{foot}</div>'
        return above + drawn + foot

    @property
    def frame(self) -> pd.DataFrame:
        """The table as shown: a row a row, a column a column, text without the lines below."""
        heads = [" ".join(filter(None, pair)) for pair in self._pairs]
        lines = [row for row in self.rows if not row.head]
        texts = [[cell if isinstance(cell, str) else cell.text for cell in row.cells] for row in lines]
        return pd.DataFrame(texts, columns=heads, index=pd.Index([row.label for row in lines], name=self.heading))

    def __repr__(self) -> str:
        return f"Table: {self.caption or self.heading}"

    # -- drawing -------------------------------------------------------------------------------------------------------

    @property
    def _pairs(self) -> list[tuple[str, str]]:
        return [("", column) if isinstance(column, str) else column for column in self.columns]

    def drawn(self, top: Html) -> str:
        """The part that scrolls, with ready HTML above it."""
        members = [list(found) for _, found in groupby(enumerate(self._pairs), key=lambda pair: pair[1][0] or pair[0])]
        groups = [(found[0][0], found[0][1][0], [head for _, (_, head) in found]) for found in members]
        second = any(group for _, group, _ in groups)
        # Groups have a line at their left; where there are none, no column has.
        starts = {at for at, *_ in groups} if second else set()
        bodies: list[list[tuple[Row, Html, str]]] = [[]]
        seen: set[str] = set()
        for row in self.rows:
            if row.head or row.start:
                bodies.append([])
            bodies[-1].append((row, self._cells(row, starts), self._anchor(row, seen)))
        return templates.html(
            "table", top=top, label=self.label or self.caption or self.heading or "Table", heading=self.heading,
            groups=groups, second=second, starts=starts, kinds=self.kinds, bodies=list(filter(None, bodies)),
            width=len(self.columns), wrap=self.wrap,
        )  # fmt: skip

    def _anchor(self, row: Row, seen: set[str]) -> str:
        """The identifier that links to a row lead to; of several of one key the first row has it."""
        if not self.anchors or not row.row or (key := row_key(*row.row)) in seen:
            return ""
        seen.add(key)
        return row_id(self.anchors, key)

    def _cells(self, row: Row, starts: set[int]) -> Html:
        drawn, at = "", 0
        for given in row.cells:
            cell = given if isinstance(given, Cell) else Cell(given)
            kinds = ["sb-start" if at in starts else "", self.kinds.get(at, ""), cell.kind]
            marks = cell.marks(*kinds) + attributes(colspan=cell.span if cell.span > 1 else "")
            linked = not (cell.paper or cell.data or DATA in self.kinds.get(at, "") or self.anchors)
            drawn += f"<td{marks}>{self._inside(cell, row.row, linked=linked)}</td>"
            at += cell.span
        return Html(drawn)

    def _inside(self, cell: Cell, row: tuple[str, ...], *, linked: bool) -> str:
        """The cell's HTML; its first number is the link to its run."""
        names = cell.row or row

        def link(line: str) -> Html:
            nonlocal linked
            if not linked or isinstance(line, Html) or not re.search(r"\d", line):
                return esc(line)
            linked = False
            return why(line, cell.run or self.of, row_key(*names) if names else "", cell.title)

        text = link(cell.text)
        inner: str = f"<u>{text}</u>" if cell.underlined and text else text
        inner = f'<strong class="sb-best">{inner}</strong>' if cell.best and text else inner
        inner = esc(cell.before) + inner + esc(cell.after)
        for line in [cell.below] if isinstance(cell.below, str | Cell) else cell.below:
            if isinstance(line, Cell):
                inner += f"<span{line.marks('sb-ci')}>{self._inside(line, row, linked=False)}</span>"
            elif line:
                inner += f'<span class="sb-ci">{link(line)}</span>'
        return inner
