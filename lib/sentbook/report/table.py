"""The one table of the project: two storeys of heads, cells with interval and marks, each leading to its run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from sentbook.records import Run
from sentbook.report import numbers
from sentbook.report.markup import Fragment, Html, Piece, Recorded, badge, esc, row_key, run_name, scrolling, why

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

    The book adds how stale the run is (`sentbook.report.pedigree`).
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


def not_run(command: str) -> Fragment:
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
        row: the names of the row of the results file that it shows, as `row_key` takes them.
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
    paper: str = ""
    data: bool = False
    title: str = ""
    kind: str = ""
    span: int = 1


class Row(NamedTuple):
    """A row; ``head``: a heading without cells; ``start``: begins a group; ``own``: tinted; ``note``: beside the label.

    ``row`` names the row of the results file that all its cells show.
    """

    label: str
    cells: Sequence[Cell | str] = ()
    head: bool = False
    start: bool = False
    own: bool = False
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

    @property
    def of(self) -> str:
        return run_name(self.run)

    @property
    def body(self) -> str:  # type: ignore[override]
        """HTML without the outer element and style sheet."""
        above = ""
        if self.notice:
            above = self.notice.body
        elif self.badged and isinstance(self.run, Run):
            above = badges(self.run, just_made=self.just_made or is_toy(self.run))
        if self.changes:
            words = ", ".join(f"<code>{esc(change)}</code>" for change in self.changes)
            above += f'<p class="sb-changes"><strong>Your run</strong> with {words}</p>'
        top = f"<strong>{esc(self.caption)}</strong>" if self.caption else ""
        top += f'<span class="sb-how">{esc(self.how)}</span>' if self.how else ""
        label = self.caption or self.heading or "Table"
        drawn = scrolling(self._head(), self._bodies(), top, label=label) if self.rows else ""
        foot = f'<p class="sb-foot">{esc(self.foot)}</p>' if self.foot else ""
        if is_toy(self.run):
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

    @property
    def _two(self) -> bool:
        """Whether the head has two storeys."""
        return any(group for group, _ in self._pairs)

    def _starts(self) -> set[int]:
        """The first columns of groups, which have a line at their left; none where there are no groups."""
        pairs = self._pairs if self._two else []
        return {at for at, (group, _) in enumerate(pairs) if not at or not group or pairs[at - 1][0] != group}

    def _head(self) -> str:
        tall = ' rowspan="2"' if self._two else ""
        first = f'<th scope="col"{tall} class="sb-first">{esc(self.heading)}</th>' if self.heading is not None else ""
        second, starts = "", self._starts()
        for _, members in groupby(enumerate(self._pairs), key=lambda item: item[1][0] or item[0]):
            inside = list(members)
            at, (title, head) = inside[0]
            if not title:
                first += self._title(head, at, starts, tall)
                continue
            first += f'<th scope="colgroup" colspan="{len(inside)}" class="sb-start">{esc(title)}</th>'
            second += "".join(self._title(head, at, starts) for at, (_, head) in inside)
        return f"<tr>{first}</tr>{f'<tr>{second}</tr>' if second else ''}"

    def _title(self, text: str, at: int, starts: set[int], tall: str = "") -> str:
        classes = ["sb-start"] * (at in starts) + [LEFT] * (at in self.kinds)
        return f'<th scope="col"{tall}{_classes(classes)}>{esc(text)}</th>'

    def _bodies(self) -> list[str]:
        bodies, starts = [""], self._starts()
        width = len(self._pairs)
        for row in self.rows:
            note = f' <span class="sb-soft">({esc(row.note)})</span>' if row.note else ""
            if row.head or row.start:
                bodies.append("")
            if row.head and self.heading is None:
                head = f'<th scope="rowgroup" class="sb-left" colspan="{width}">{esc(row.label)}{note}</th>'
                bodies[-1] += f'<tr class="sb-group">{head}</tr>'
                continue
            if row.head:
                head = f'<th scope="rowgroup" class="sb-first">{esc(row.label)}{note}</th>'
                bodies[-1] += f'<tr class="sb-group">{head}<td colspan="{width}"></td></tr>'
                continue
            cells, at = "", 0
            if self.heading is not None:
                cells = f'<th scope="row" class="sb-first{" sb-wrap" * self.wrap}">{esc(row.label)}{note}</th>'
            for given in row.cells:
                cell = given if isinstance(given, Cell) else Cell(given)
                cells += self._cell(cell, at, at in starts, row.row)
                at += cell.span
            bodies[-1] += f"<tr{_classes(['sb-average'] * row.own)}>{cells}</tr>"
        return [body for body in bodies if body]

    def _cell(self, cell: Cell, at: int, start: bool, row: tuple[str, ...]) -> str:
        of_data = cell.data or DATA in self.kinds.get(at, "")
        classes = ["sb-start"] * start + [self.kinds.get(at, ""), cell.kind]
        classes += ["sb-paper"] * bool(cell.paper) + [DATA] * cell.data
        title = cell.title or (f"printed in {cell.paper}" if cell.paper else "")
        attributes = _classes(classes) + (f' title="{esc(title)}"' if title else "")
        attributes += f' colspan="{cell.span}"' if cell.span > 1 else ""
        return f"<td{attributes}>{self._inside(cell, row, linked=not (of_data or cell.paper))}</td>"

    def _inside(self, cell: Cell, row: tuple[str, ...], *, linked: bool) -> str:
        """The cell's HTML; its first number is the link to its run."""
        names = cell.row or row

        def link(line: str) -> Html:
            nonlocal linked
            if not linked or isinstance(line, Html) or not re.search(r"\d", line):
                return esc(line)
            linked = False
            return why(line, self.of, row_key(*names) if names else "", cell.title)

        text = link(cell.text)
        inner: str = f"<u>{text}</u>" if cell.underlined and text else text
        inner = f'<strong class="sb-best">{inner}</strong>' if cell.best and text else inner
        inner = esc(cell.before) + inner + esc(cell.after)
        for line in [cell.below] if isinstance(cell.below, str | Cell) else cell.below:
            if isinstance(line, Cell):
                where = f' title="printed in {esc(line.paper)}"' if line.paper else ""
                classes = _classes(["sb-ci", "sb-paper" * bool(line.paper)])
                inner += f"<span{classes}{where}>{self._inside(line, row, linked=False)}</span>"
            elif line:
                inner += f'<span class="sb-ci">{link(line)}</span>'
        return inner


def simple(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    *,
    left: int = 1,
    label: str = "Table",
    text: frozenset[int] = frozenset(),
    wrap: bool = False,
) -> str:
    """A table of ready HTML cells and caption; heads are plain text. The first column sticks.

    Args:
        left: this many columns align left, the others right.
        text: columns of running text, which may break into lines.
        wrap: so may the first column.
    """
    kinds = {at - 1: TEXT if at in text else LEFT for at in range(1, left)}
    lines = [Row(Html(first), [Html(cell) for cell in cells]) for first, *cells in rows]
    drawn = Table(head[0], head[1:], lines, kinds=kinds, wrap=wrap)
    return scrolling(drawn._head(), drawn._bodies(), caption, label=label)


def _classes(names: Sequence[str]) -> str:
    given = " ".join(name for name in names if name)
    return f' class="{given}"' if given else ""
