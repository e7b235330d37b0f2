"""The protocol dial: one encoder's number under every protocol, from the recorded run of ``cross/protocols``."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from _ext.html import render, script_data
from sentbook.records import Run, read
from sentbook.report import numbers, summary

FIRST = "STS2014/avg"
_FIELDS = {"score": "Score", "measure": "Measure", "aggregation": "Sets of a year", "tokens": "Tokens"}
_WORDS = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "ptb": "Penn Treebank",
    "ptb-cased": "Penn Treebank, cased",
    "words": "without punctuation",
    "whitespace": "split at spaces",
    "content": "without stop words",
}
_PER_SET = "per set"  # a test set without years has no mean of sets to choose


def dial() -> Markup:
    """Return the page's form, its data, and every number of one year as a table for readers without JavaScript."""
    run = read("cross/protocols", "small")
    if run is None:
        return Markup("<p>Not measured: run <code>sentbook run cross/protocols --profile small</code>.</p>")
    held = dial_data(run)
    choices = [field["choices"] for field in held["fields"]]
    shown = next(one for one in held["sets"] if one["name"] == FIRST)
    rows = [
        (
            ", ".join(choices[at][place] for at, place in enumerate(line[:4])),
            numbers.plain(sum(line[4:]) / len(line[4:])),
        )
        for line in shown["numbers"]
    ]
    return render("dial.html", held=held, rows=rows, first=shown["label"]) + script_data("dial-data", held)


def dial_data(run: Run) -> dict[str, Any]:
    """Return the choices of each field and, on each test set, the values x 100 per seed of every combination."""
    protocols = {one["protocol"]: one for one in run.extra["protocols"] if not one["detail"]}
    values: dict[str, dict[str, list[float]]] = {}
    for row in run.metrics:
        if row.protocol in protocols:
            values.setdefault(row.dataset, {}).setdefault(row.protocol, []).append(round(100 * row.value, 3))
    choices = {
        field: [one for one in summary.ordered(p[field] for p in protocols.values()) if one != _PER_SET]
        for field in _FIELDS
    }

    def places(protocol: str) -> list[int]:
        chosen = protocols[protocol]
        return [choices[field].index(chosen[field]) if chosen[field] != _PER_SET else -1 for field in _FIELDS]

    return {
        "encoder": run.extra["encoder"],
        "house": places(run.extra["house"]),
        "seeds": len(run.provenance.seeds),
        "fields": [
            {"name": name, "label": label, "choices": [_WORDS.get(one, one) for one in choices[name]]}
            for name, label in _FIELDS.items()
        ],
        "sets": [
            {
                "name": name,
                "label": summary.full_name(name).removesuffix(" average"),
                "numbers": [[*places(protocol), *held] for protocol, held in by_protocol.items()],
            }
            for name, by_protocol in values.items()
        ],
    }
