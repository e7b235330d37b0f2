"""Compute the numbers and verdicts of the committed records again, from the records alone.

``results/<profile>/verdicts.json`` holds each claim's verdict, so that git shows where a new record or rule changes
one.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from sentbook.config import read_yaml
from sentbook.evaluation.predictions import AND_SEEDS, KIND, OVER_ITEMS, Predictions
from sentbook.evaluation.protocols import MEASURES, Aggregation
from sentbook.io import ConfigError, root, write_atomically
from sentbook.judge import gather
from sentbook.judge.evidence import Evidence, Missing, members
from sentbook.records import Run, Scores, Test, read, read_scores

# Numbers are computed from the scores as they are stored. Folds of different sizes weigh alike in a value, and not in a
# difference.
STORED, ROWS = 1e-6, 1e-4


def check(profile: str = "small", pages: Collection[str] = (), write: bool = False) -> list[str]:
    """Say what in the committed records of a profile does not follow from them.

    Args:
        pages: of these alone, such as ``cse/table1``; empty: of all.
        write: write the verdicts first, after a new record or a rule has changed them.

    Raises:
        ConfigError: no record of a page.
        DataError: a file is no run of this schema.
        StorageError: no space or a read-only folder; what was there before is intact.
    """
    found, path, entries = list[str](), root() / "results" / profile / "verdicts.json", gather(profile)
    if write:
        write_atomically(path, json.dumps({one.id: one.verdict for one in entries}, indent=1) + "\n")
    recorded_pages = sorted(f"{one.parent.name}/{one.stem}" for one in path.parent.glob("*/*.json"))
    for name in pages or recorded_pages:
        if (run := read(name, profile)) is None:
            raise ConfigError(f"No {profile} record of {name}; choose out of {', '.join(recorded_pages)}.")
        for words, recorded, again, least in _numbers(run, read_scores(name, profile)):
            if abs(recorded - again) > least:
                found.append(f"{profile}/{name}: {words} is {recorded:.4f}, by its rows or scores {again:.4f}")
    held = read_yaml(path) if path.exists() else {}  # JSON is YAML
    for entry in entries:
        if (not pages or entry.page in pages) and held.get(entry.id) != entry.verdict:
            found.append(f"{entry.id}: {held.get(entry.id, 'no verdict')} is recorded, the record says {entry.verdict}")
    return found


def _numbers(run: Run, scores: Scores | None) -> Iterator[tuple[str, float, float, float]]:
    """Yield numbers as recorded and by the scores per item or the rows, in words, and by how much they may differ."""
    book, evidence = Predictions.restored(scores) if scores else Predictions(), Evidence(run)
    held = [book.has(m.method, book.place(m.dataset, m.protocol)) for m in run.metrics if m.metric in MEASURES]
    if held and not run.stale:
        yield "the number of .npz files next to it that hold its scores per item", float(any(held)), 1.0, 0.0
    for row in run.metrics:
        how = max((one for one in Aggregation if one in row.protocol), key=len, default=Aggregation.MEAN)
        place, metric = book.place(row.dataset, row.protocol), row.metric if row.metric in MEASURES else None
        again = book.values(row.method, place, metric, how) if book.has(row.method, place) else {}
        if same := [value for seed, value in again.items() if row.seed in (None, seed)]:
            words = f"{row.metric} of {row.method} on {row.dataset}, seed {row.seed}"
            yield words, row.value, float(np.mean(same)), STORED
    for test in run.tests:
        if test.kind.startswith(KIND):
            with suppress(Missing):
                first, second = (evidence.mean(side, test.dataset, test.metric) for side in (test.a, test.b))
                yield f"{test.a} - {test.b} on {test.dataset}", test.estimate, first - second, ROWS
    resamples = int(run.provenance.config.get("resamples", 2000))
    for test in [*run.tests, *_tests(run.findings)]:
        sides = [evidence.chosen(side, test.dataset) for side in (test.a, test.b) if side]
        metric, where = test.metric if test.metric in MEASURES else None, members(test.dataset)
        row_of, kind = where if len(where) > 1 else test.dataset, test.kind.partition(", p adjusted")[0]
        if kind in (KIND, KIND + AND_SEEDS, OVER_ITEMS) and all(book.has(side, row_of) for side in sides):
            found = book.compared(sides, row_of, metric, resamples, resample_seeds=kind.endswith(AND_SEEDS))
            for end in ("estimate", "low", "high", *(("p",) if test.p and test.kind == kind else ())):
                yield f"{test.a} - {test.b} on {test.dataset}", getattr(test, end), getattr(found, end), STORED


def _tests(found: Any) -> list[Test]:
    """Return the tests among findings."""
    if isinstance(found, dict) and {"kind", "estimate"} <= found.keys():
        return [Test.model_validate(found)]
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [test for part in parts for test in _tests(part)]
