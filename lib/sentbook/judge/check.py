"""Compute the numbers and verdicts of the committed records again, from the records alone.

``results/<profile>/verdicts.json`` holds each claim's verdict, so that git shows where a new record or rule changes
one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sentbook.evaluation.predictions import AND_SEEDS, KIND, Predictions
from sentbook.evaluation.protocols import Aggregation
from sentbook.io import root, write_atomically
from sentbook.judge import gather
from sentbook.judge.evidence import Evidence, Missing
from sentbook.records import Run, Scores, read, read_scores

# Numbers are computed from the scores as they are stored. Folds of different sizes weigh alike in a value, and not in a
# difference.
STORED, ROWS = 1e-6, 1e-4


def check(profile: str = "small", page: str = "") -> list[str]:
    """Say what in the committed records of a profile, or of one page, does not follow from them.

    Raises:
        DataError: a file is no run of this schema.
    """
    found, folder = [], root() / "results" / profile
    for name in [page] if page else sorted(f"{path.parent.name}/{path.stem}" for path in folder.glob("*/*.json")):
        if run := read(name, profile):
            found += [f"{profile}/{name}: {words}" for words in _numbers(run, read_scores(name, profile))]
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


def _numbers(run: Run, scores: Scores | None) -> Iterator[str]:
    """Compare values and differences with those of the scores per item, and differences with those of the values."""
    book, evidence = Predictions.restored(scores) if scores else Predictions(), Evidence(run)
    for row in run.metrics:
        if row.seed in book.seeds(row.method, row.dataset):
            how = next((one for one in Aggregation if str(one) in row.protocol), Aggregation.MEAN)
            value = book.values(row.method, row.dataset, row.metric, how)[row.seed]
            if abs(value - row.value) > STORED:
                words = f"{row.metric} of {row.method} on {row.dataset}, seed {row.seed}"
                yield f"{words} is {row.value:.4f}, by its scores {value:.4f}"
    for test in (one for one in run.tests if one.kind.startswith(KIND)):
        place, pairs = (test.dataset, test.metric), []
        with suppress(Missing):
            gap = evidence.mean(test.a, *place) - evidence.mean(test.b, *place)
            pairs.append((test.estimate, gap, ROWS))
        if book.has(test.a, test.dataset) and book.has(test.b, test.dataset):
            seeds = test.kind.endswith(AND_SEEDS)
            again = book.difference(test.a, test.b, *place, evidence.resamples, resample_seeds=seeds)
            pairs += [(getattr(test, end), getattr(again, end), STORED) for end in ("estimate", "low", "high")]
        if any(abs(recorded - computed) > least for recorded, computed, least in pairs):
            words = f"{test.a} - {test.b} on {test.dataset}"
            yield f"{words} is {test.estimate:.4f}, by its rows or scores {pairs[0][1]:.4f}"
