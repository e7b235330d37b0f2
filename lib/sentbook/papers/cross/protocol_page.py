"""The generated parts of the page on protocols; and one encoder's numbers under every combination of score, measure,
aggregation and tokens, which a reader of the page turns through.

What the page does with these is in ``book/_static/explore/protocols.js``; the table stands there without JavaScript.
"""

from __future__ import annotations

from typing import Any

from sentbook.evaluation.protocols import Aggregation
from sentbook.papers.cross.protocol_tables import YEAR, Held, checklist, path, short_name, spread, twice, words
from sentbook.records import Run
from sentbook.report_old import numbers
from sentbook.report_old.markup import Fragment, row_key, script
from sentbook.report_old.summary import is_average, ordered
from sentbook.report_old.svg import Plot
from sentbook.report_old.table import Cell, Row, Table
from sentbook.runs import ledger

# The fields in the order in which a reader is asked for them.
_SAID = {"score": "Score", "measure": "Measure", "aggregation": "Sets of a year", "tokens": "Tokens"}
_PER_SET = str(Aggregation.PER_SET)


def fragments() -> dict[str, str]:
    """Make the page's generated parts from the recorded run: file name in ``book/_generated`` to HTML."""
    run = ledger.read("cross", "protocols", "small")
    shown: dict[str, Plot | Table | Fragment] = {
        "path": path(run, caption="STS 2014: the same vectors, a choice a step"),
        "checklist": checklist(run),
        "twice": twice(run),
        "spread": spread(run, caption="Every combination of score, measure, aggregation and tokenisation"),
    }
    return {f"protocols_{name}.md": part.html() for name, part in shown.items()} | {"protocols_dial.md": dial(run)}


def dial(run: Run | None) -> str:
    """The generated part of the page: every protocol of one year as a table, and the data of all test sets."""
    if run is None:
        return ""
    held = Held(run)
    return f'<div id="protocol-dial">{table(held).html()}</div>\n\n{script("protocols-data", data(held))}\n'


def data(held: Held) -> dict[str, Any]:
    """Give the choices of each field, and on each test set every combination's values by seed, times 100."""
    fields = [one for one in held.fields.values() if not one["detail"]]
    choices = {name: [one for one in ordered(one[name] for one in fields) if one != _PER_SET] for name in _SAID}
    rows = []
    for row in held.rows:
        found = []
        for name, values in ((name, held.values.get((name, row))) for name in held.fields):
            if values and not held.fields[name]["detail"]:
                places = [_place(choices[field], held.fields[name][field]) for field in _SAID]
                found.append([*places, *(round(100 * value, 3) for value in values)])
        rows.append({
            "name": row, "label": short_name(row), "year": is_average(row), "numbers": found,
            "rows": {measure: row_key(held.encoder, row, measure) for measure in choices["measure"]},
        })  # fmt: skip
    return {
        "encoder": held.encoder,
        "run": f"{held.run.paper}/{held.run.experiment}",
        "profile": held.run.profile,
        "house": [_place(choices[field], held.house[field]) for field in _SAID],
        "fields": [
            {"name": name, "label": _SAID[name], "choices": [words(one) for one in choices[name]]} for name in _SAID
        ],
        "measures": choices["measure"],
        "seeds": held.run.provenance.seeds,
        "first": held.rows.index(YEAR) if YEAR in held.rows else 0,
        "sets": rows,
    }


def _place(choices: list[str], value: str) -> int:
    """The place of a choice; -1 of a test set's number, which has no year to make a mean of."""
    return choices.index(value) if value in choices else -1


def table(held: Held) -> Table:
    """Every combination on one year: a row a score, measure and aggregation, a column a tokenisation."""
    row = YEAR if YEAR in held.years else held.years[0]
    combinations = [one for one in held.combinations() if (one["protocol"], row) in held.means]
    tokens = ordered(one["tokens"] for one in combinations)
    rows = []
    for score, measure, aggregation in ordered(
        (one["score"], one["measure"], one["aggregation"]) for one in combinations
    ):
        line = []
        for kind in tokens:
            name = held.named(row, score=score, measure=measure, aggregation=aggregation, tokens=kind)
            line.append(Cell(numbers.shown(held.means.get((name, row)), measure), row=(held.encoder, row, measure)))
        rows.append(Row(f"{score}, {words(measure)}, {aggregation}", line))
    caption = f"{short_name(row)} by every protocol"
    return Table("Protocol", [("Tokens", words(kind)) for kind in tokens], rows, caption, held.how, run=held.run)
