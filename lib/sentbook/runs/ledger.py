"""The ledger: recorded runs on disk, ``results/<profile>/<paper>/<experiment>.json``.

It holds numbers, settings and provenance, never a sentence of a data set; `sentbook.records` has the types of its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from sentbook.records import Record, Run
from sentbook.system.errors import DataError
from sentbook.system.files import write_atomically
from sentbook.system.paths import root


def path_of(paper: str, experiment: str, profile: str) -> Path:
    """Where a run is recorded; ``profile`` may be ``custom/<hash>``."""
    return root() / "results" / profile / paper / f"{experiment}.json"


def dumped(record: Record) -> str:
    """JSON with keys in a fixed order and one row of numbers a line, so that a change reads well in git."""
    text = record.model_dump_json(indent=1)
    text = re.sub(r"\{\n\s+([^{}\[\]]*?)\n\s+\}", lambda m: "{" + re.sub(r"\n\s+", " ", m.group(1)) + "}", text)
    return text + "\n"


def write(run: Run) -> Path:
    """Record ``run``."""
    path = path_of(run.paper, run.experiment, run.profile)
    write_atomically(path, dumped(run))
    return path


def read(paper: str, experiment: str, profile: str) -> Run | None:
    """The recorded run, or None where none was recorded.

    Raises:
        DataError: the file is not a run of this schema.
    """
    path = path_of(paper, experiment, profile)
    if not path.exists():
        return None
    try:
        return Run.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{path} is not a recorded run of schema 1 ({place}: {first['msg']}); "
            f"make it again with `make run NOTEBOOK={paper}/{experiment} PROFILE={profile}`."
        ) from error


def first(paper: str, experiment: str, profiles: Iterable[str]) -> Run | None:
    """The run of the first of ``profiles`` in which the experiment is recorded, or None."""
    return next(filter(None, (read(paper, experiment, profile) for profile in profiles)), None)
