"""The overlap of every training corpus with every test set, measured like any other run."""

from __future__ import annotations

import datetime
import platform
import resource
import time

from sentbook import io
from sentbook import records as results
from sentbook.config import digest
from sentbook.data import corpora, overlap, readers, sources

REAL = tuple(name for name in corpora.CORPORA if not name.startswith("miniworld"))


def measured() -> results.Run:
    """Measure the overlap on the real data, as a run for `sentbook.records.write`.

    Raises:
        DataError: a file is missing; the sentence names it.
    """
    started, clock = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), time.monotonic()
    tests = [*readers.sts_all(), readers.sick("test")]
    rows = overlap.report([corpora.read(name) for name in REAL], tests)
    config = {"corpora": list(REAL), "tests": [pairs.name for pairs in tests], "captions_seed": 0}
    return results.Run(
        paper="data",
        experiment="overlap",
        profile="small",
        provenance=results.Provenance(
            git_commit=io.git_commit(),
            config=config,
            config_hash=digest(config),
            data=dict(sorted(sources.used().items())),
            packages=io.packages(),
            python=platform.python_version(),
            device="cpu",
            started=started,
            wall_seconds=round(time.monotonic() - clock, 1),
            peak_memory_bytes=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            seeds=[0],
        ),
        extra={"overlap": rows},
    )
