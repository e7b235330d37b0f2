"""One notebook, run and noted, by hand or by the batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sentbook.runs.batch import planning, stamps
from sentbook.runs.execution import execute, say, stoppable

CUSTOM = "custom"


def run(source: Path, profile: str, parameters: Mapping[str, Any]) -> str:
    """Run one notebook; the folder of build/executed that its output is in.

    That is the profile, and the batch then takes the notebook for run; or ``custom``, where parameters were changed.

    Args:
        parameters: all that differ from the notebook's defaults.

    Raises:
        NotebookError: see `execute`.
    """
    name = f"{source.parent.name}/{source.stem}"
    kind = profile if set(parameters) <= {"profile"} else CUSTOM
    say(f"{name} ({kind})")
    if kind == CUSTOM:
        with stoppable():
            seconds = execute(source, kind, parameters, show=True)
    else:
        job = stamps.Job(profile, "notebooks", name)
        with stamps.recorded(job, planning.sources_at_start(job)) as facts:
            seconds = execute(source, kind, parameters, show=True)
            facts["data"] = planning.opened(job)
    say(f"done in {seconds:.0f} s")
    return kind
