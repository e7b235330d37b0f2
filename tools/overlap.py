"""Measure the overlap of every training corpus with every test set, on the real data.

    python tools/overlap.py

Writes the run ``build/runs/small/data/overlap.json``; ``results/small/data/overlap.json`` is the recorded one.
"""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Sequence
from typing import Any

from sentbook import io, records
from sentbook.config import digest
from sentbook.data import corpora, readers, sources
from sentbook.data.suites import key, test_keys
from sentbook.data.types import ParaphrasePairs, ScoredPairs
from sentbook.training.devices import peak_memory_bytes

REAL = tuple(name for name in corpora.CORPORA if not name.startswith("miniworld"))


def shared(corpora: Sequence[ParaphrasePairs], tests: Sequence[ScoredPairs]) -> list[dict[str, Any]]:
    """Return one row for each corpus and test set that share a sentence.

    Returns:
        Rows with ``corpus``, ``test``, ``sentences`` (distinct shared ones), ``share`` (of the test set's distinct
        sentences) and ``pairs`` (training pairs that hold one).
    """
    sets = {pairs.name: test_keys([pairs]) for pairs in tests}
    anywhere = frozenset().union(*sets.values())
    rows: list[dict[str, Any]] = []
    for corpus in corpora:
        keys = ((key(one), key(other)) for one, other in zip(corpus.first, corpus.second, strict=True))
        # Few, so that the sets cost nothing.
        touching = [pair for pair in keys if pair[0] in anywhere or pair[1] in anywhere]
        sentences = frozenset(side for pair in touching for side in pair)
        for name, wanted in sets.items():
            if common := wanted & sentences:
                pairs = sum(one in common or other in common for one, other in touching)
                row = {"sentences": len(common), "share": len(common) / len(wanted), "pairs": pairs}
                rows.append({"corpus": corpus.name, "test": name, **row})
    return rows


def measured() -> records.Run:
    """Measure the overlap as a run."""
    started, clock = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), time.monotonic()
    tests = [*readers.sts_all(), readers.scored("sick", "test")]
    rows = shared([corpora.read(name) for name in REAL], tests)
    config = {"corpora": list(REAL), "tests": [pairs.name for pairs in tests], "captions_seed": 0}
    provenance = records.Provenance(
        git_commit=io.git_commit(),
        config=config,
        config_hash=digest(config),
        data=dict(sorted(sources.used().items())),
        packages=io.packages(),
        python=platform.python_version(),
        device="cpu",
        started=started,
        wall_seconds=round(time.monotonic() - clock, 1),
        peak_memory_bytes=peak_memory_bytes(),
        seeds=[0],
    )
    return records.Run(
        paper="data", experiment="overlap", profile="small", provenance=provenance, extra={"overlap": rows}
    )


if __name__ == "__main__":
    print(records.write(measured()))
