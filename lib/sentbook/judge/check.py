"""Compute the numbers and verdicts of the committed records again, from the records alone.

``results/<profile>/verdicts.json`` holds each claim's verdict, so that git shows where a new record or rule changes
one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sentbook.evaluation.predictions import KIND, Predictions
from sentbook.evaluation.protocols import Aggregation
from sentbook.io import root, write_atomically
from sentbook.judge import gather
from sentbook.judge.evidence import Evidence, Missing
from sentbook.records import Run, Scores, read, read_scores

# Scores per item are stored with 16 bits; folds of different sizes weigh alike in a value, and not in a difference.
STORED, ROWS = 0.005, 1e-4


def check(profile: str = "small", page: str = "") -> list[str]:
    """Say what in the committed records of a profile, or of one page, does not follow from them.

    Raises:
        DataError: a file is no run of this schema.
    """
    folder = root() / "results" / profile
    names = [page] if page else sorted(f"{path.parent.name}/{path.stem}" for path in folder.glob("*/*.json"))
    found = [words for name in names for words in _numbers(name, profile)]
    held = json.loads(_path(profile).read_text(encoding="utf-8")) if _path(profile).exists() else {}
    for entry in gather(profile):
        if page in ("", f"{entry.paper}/{entry.experiment}") and held.get(entry.id) != entry.verdict:
            found.append(f"{entry.id}: {held.get(entry.id, 'no verdict')} is recorded, the record says {entry.verdict}")
    return found


def write(profile: str = "small") -> Path:
    """Write the verdicts of a profile, after a new record or a rule has changed them.

    Raises:
        StorageError: no space or a read-only folder; what was there before is intact.
    """
    verdicts = {entry.id: entry.verdict for entry in gather(profile)}
    write_atomically(_path(profile), json.dumps(verdicts, indent=1) + "\n")
    return _path(profile)


def _path(profile: str) -> Path:
    return root() / "results" / profile / "verdicts.json"


def _numbers(name: str, profile: str) -> Iterator[str]:
    run = read(name, profile)
    if run is None:
        return
    scores = read_scores(name, profile)
    said = [*_metrics(run, scores), *_tests(run, scores)] if scores else _differences(run)
    yield from (f"{profile}/{name}: {words}" for words in said)


def _metrics(run: Run, scores: Scores) -> Iterator[str]:
    """Compute each value from the scores per item."""
    book = Predictions.restored(scores)
    for row in run.metrics:
        if book.has(row.method, row.dataset) and row.seed in book.seeds(row.method, row.dataset):
            how = next((one for one in Aggregation if str(one) in row.protocol), Aggregation.MEAN)
            value = book.value(row.method, row.seed, row.dataset, row.metric, how)
            if abs(value - row.value) > STORED:
                words = f"{row.metric} of {row.method} on {row.dataset}, seed {row.seed}"
                yield f"{words} is {row.value:.4f}, by its scores {value:.4f}"


def _tests(run: Run, scores: Scores) -> Iterator[str]:
    """Compute each difference and its interval from the scores per item."""
    book, resamples = Predictions.restored(scores), run.provenance.config.get("resamples", 2000)
    for test in run.tests:
        if test.kind.startswith(KIND) and all(book.has(one, test.dataset) for one in (test.a, test.b)):
            seeds = "seeds" in test.kind
            again = book.difference(test.a, test.b, test.dataset, test.metric, resamples, resample_seeds=seeds)
            ends = [(getattr(test, end), getattr(again, end)) for end in ("estimate", "low", "high")]
            if any(abs(recorded - computed) > STORED for recorded, computed in ends):
                yield f"{test.a} - {test.b} on {test.dataset} is not that of their scores"


def _differences(run: Run) -> Iterator[str]:
    """Compare each difference with those of the means over seeds."""
    evidence = Evidence(run)
    for test in (one for one in run.tests if one.kind.startswith(KIND)):  # others have a mean of their own
        try:
            means = [evidence.mean(name, test.dataset, test.metric) for name in (test.a, test.b)]
        except Missing:
            continue
        if abs(test.estimate - (means[0] - means[1])) > ROWS:
            yield f"{test.a} - {test.b} on {test.dataset} is {test.estimate:.4f}, by its rows {means[0] - means[1]:.4f}"
