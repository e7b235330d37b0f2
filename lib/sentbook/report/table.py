"""Draw a pandas frame as a table, with pandas' own Styler: spanners are its MultiIndex columns, all text is escaped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from sentbook.report.html import Shown, captioned
from sentbook.report.numbers import DASH, plain

Format = Callable[[Any], str]


def table(
    frame: pd.DataFrame,
    *,
    caption: str = "",
    note: str = "",
    groups: str | None = None,
    formats: Mapping[Any, Format] | None = None,
    places: int = 1,
) -> Shown:
    """Show a frame as a table: numbers to the right, text to the left, nothing multiplied.

    Args:
        frame: the first column heads its rows, or the index where it has a name; MultiIndex columns become spanners.
        caption: what the table says; its first sentence is bold.
        note: how its numbers were made.
        groups: a column whose values become headings over the rows below them.
        formats: a function by column, in place of ``places`` decimals; `sentbook.report.x100` shows shares x 100.
        places: decimals of other floats.
    """
    frame = frame.reset_index() if any(frame.index.names) else frame
    first = next(column for column in frame.columns if column != groups)
    body = frame.drop(columns=[first] if groups is None else [first, groups])
    heads = list(frame[groups]) if groups is not None else [None] * len(frame)
    chosen = formats or {}
    lines: list[Sequence[Any]] = []
    labels: list[Any] = []
    kinds: list[str] = []
    numeric = {at: pd.api.types.is_numeric_dtype(body.iloc[:, at]) for at in range(body.shape[1])}
    before = None
    for head, label, values in zip(heads, frame[first], body.itertuples(index=False, name=None), strict=True):
        if head is not None and head != before:
            lines, labels, kinds = [*lines, [""] * body.shape[1]], [*labels, head], [*kinds, "sb-head"]
        before = head
        lines.append([_text(chosen.get(name), value, places) for name, value in zip(body.columns, values, strict=True)])
        labels.append(_text(chosen.get(first), label, places))
        kinds.append("")
    text = pd.DataFrame(lines, columns=body.columns, dtype=object)
    classes = pd.DataFrame([[kind] * body.shape[1] for kind in kinds], columns=body.columns, dtype=object)
    for at, number in numeric.items():
        classes.isetitem(at, [f"{kind} {'' if number else 'sb-text'}".strip() for kind in classes.iloc[:, at]])
    return drawn(text, labels, classes, corner=str(first), caption=caption, note=note)


def _text(form: Format | None, value: Any, places: int) -> str:
    """Print one value; text and markup stay as they are."""
    if form is not None:
        return form(value)
    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(float(value), 0 if pd.api.types.is_integer(value) else places)


def drawn(
    text: pd.DataFrame, labels: Sequence[str], classes: pd.DataFrame, *, corner: str = "", caption: str, note: str = ""
) -> Shown:
    """Draw a frame of text: ``labels`` head its rows, ``classes`` are those of the style sheet, a cell each.

    A row of class ``sb-head`` is a heading of those below it, one of ``sb-average`` is shaded.
    """
    label = [escape(one) for one in labels]
    # The same content gives the same bytes, and two tables of a page never share an id.
    uuid = hashlib.sha256(f"{text.to_csv()}{labels}{caption}".encode()).hexdigest()[:8]
    styler = text.reset_index(drop=True).style
    styler = styler.set_uuid(uuid).set_td_classes(classes.reset_index(drop=True).astype(object))
    styler.cell_ids = False
    styler = styler.format(escape="html").format_index(escape="html", axis=1).format_index(lambda at: label[at])
    html = styler.to_html()
    body = Markup(html[html.index("<table") :].replace("&nbsp;", str(escape(corner)), 1).strip())
    return captioned(Markup('<div class="sb-scroll" tabindex="0">{}</div>').format(body), caption, note)
