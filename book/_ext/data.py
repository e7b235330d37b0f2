"""Tables of the data page: test sets, training corpora, and the sentences that they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from _ext.html import render
from sentbook.data import corpora, sources
from sentbook.records import read
from sentbook.report import numbers, table


def data_sets(kind: str) -> Markup:
    """Return a row per data set of a kind: licences, size, and files with digests and sources.

    Args:
        kind: the first folder of its files, such as ``eval``.
    """
    sets: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for path, entry in sources.registry().items():
        first, _, rest = path.partition("/")
        if first == kind:
            sets.setdefault(rest.partition("/")[0], []).append((path.rpartition("/")[2], entry))
    return render("data_sets.html", sets=sets)


def training_corpora() -> Markup:
    """Return what stands in for the papers' training corpora, with sources and licences."""
    rows = []
    for name, corpus in corpora.CORPORA.items():
        if not name.startswith("miniworld"):
            entries = [sources.registry()[file] for file in corpus.files]
            stands = {"Corpus": name, "Stands in for": corpus.substitute}
            for column, key in (("Source", "paper"), ("Licence", "licence")):
                stands[column] = "; ".join(dict.fromkeys(entry[key] for entry in entries))
            rows.append(stands)
    return table(pd.DataFrame(rows)).html


def overlap() -> Markup:
    """Return how many sentences each training corpus shares with each test set."""
    run = read("data/overlap")
    if run is None:
        return Markup("<p>Not measured: copy what <code>tools/overlap.py</code> writes to results/small/data/.</p>")
    frame = pd.DataFrame(run.extra["overlap"])
    frame.columns = [str(name).replace("_", " ").capitalize() for name in frame.columns]
    share = {"Share": lambda value: f"{numbers.plain(100 * value)} %"}
    return table(frame, formats=share).html
