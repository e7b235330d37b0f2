"""Draw tables with pandas' own Styler: spanners are MultiIndex columns, all text is escaped."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup, escape
from pandas.io.formats.style import Styler

from sentbook.report.html import Shown, captioned
from sentbook.report.numbers import plain

HEADING, AVERAGE = "sb-head", "sb-average"  # kinds of rows: a heading of those below it, and one that is shaded
Row = tuple[Any, str, str]  # key, label and kind
Cell = tuple[str, str]  # text and class of the style sheet


def table(
    frame: pd.DataFrame,
    *,
    caption: str = "",
    note: str = "",
    groups: str | None = None,
    formats: Mapping[Any, Callable[[Any], str]] | None = None,
    places: int = 1,
) -> Shown:
    """Show a frame as a table: numbers to the right, text to the left, nothing multiplied.

    Args:
        frame: the first column heads its rows, or the index where it has a name; MultiIndex columns become spanners.
        caption: what the table says; its first sentence is bold.
        note: how its numbers were made.
        groups: a column whose values become headings over the rows below them.
        formats: a function by column, in place of ``places`` decimals.
        places: decimals of other floats.
    """
    frame = frame.reset_index() if any(frame.index.names) else frame
    first, *others = (column for column in frame.columns if column != groups)
    forms = formats or {}

    def text(column: Any, value: Any) -> str:
        if column in forms:
            return forms[column](value)
        if isinstance(value, str):
            return value
        return plain(None if pd.isna(value) else float(value), 0 if pd.api.types.is_integer(value) else places)

    columns: dict[Any, dict[Any, Cell]] = {}
    for column in others:
        words = not (pd.api.types.is_numeric_dtype(frame[column]) or column in forms)
        cells = [text(column, value) for value in frame[column]]
        kind = "sb-text sb-long" if words and max(map(len, cells), default=0) > 24 else "sb-text" if words else ""
        columns[column] = {at: (cell, kind) for at, cell in enumerate(cells)}
    rows: list[Row] = []
    for at, label in enumerate(frame[first]):
        if groups is not None and (at == 0 or frame[groups].iloc[at] != frame[groups].iloc[at - 1]):
            rows.append((None, str(frame[groups].iloc[at]), HEADING))
        rows.append((at, text(first, label), ""))
    corner = first[0] if isinstance(first, tuple) else first  # of a frame with spanners
    return of_cells(rows, columns, corner=str(corner), caption=caption, note=note)


def of_cells(
    rows: Sequence[Row], columns: Mapping[Any, Mapping[Any, Cell]], *, corner: str = "", caption: str, note: str = ""
) -> Shown:
    """Draw cells by column and row key; a row that a column does not have is empty there."""
    cells = [[column.get(key, ("", "")) for column in columns.values()] for key, _, _ in rows]
    heads: Any = pd.MultiIndex.from_tuples(columns) if isinstance(next(iter(columns), ""), tuple) else list(columns)
    kinds = [[f"{kind} {row[2]}".strip() for _, kind in line] for line, row in zip(cells, rows, strict=True)]
    text = pd.DataFrame([[one for one, _ in line] for line in cells], columns=heads, dtype=object)
    classes = pd.DataFrame(kinds, columns=heads, dtype=object)
    labels: Any = [escape(label) for _, label, _ in rows]
    # The same content gives the same bytes, and two tables of a page never share an id.
    uuid = hashlib.sha256(f"{text.to_csv()}{labels}{caption}".encode()).hexdigest()[:8]
    styler = Styler(text, uuid=uuid, cell_ids=False).set_td_classes(classes.astype(object)).format(escape="html")
    html = styler.format_index(escape="html", axis=1).format_index(lambda at: labels[at]).to_html()
    for at, column in enumerate(classes.T.to_numpy()):
        if all({"sb-text", HEADING} & {*kind.split()} for kind in column):  # its header stands over its text
            html = re.sub(rf"(col_heading level\d col{at})(?=\W)", r"\1 sb-text", html)
    body = Markup(html[html.index("<table") :].replace("&nbsp;", str(escape(corner)), 1).strip())
    return captioned(Markup('<div class="sb-scroll" tabindex="0">{}</div>').format(body), caption, note)
