"""Compare two folders of runs, number by number.

A run of the same seeds on the same platform gives the same numbers. Elsewhere sums are taken in another order, and a
training amplifies the rounding: over the recorded cells with three seeds or more, the median standard deviation over
seeds is .007 for Pearson's r and .006 for accuracies. So a number may be off by .005 and 1 % of it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sentbook.io import ConfigError
from sentbook.judge import judge
from sentbook.records import load

# Relative and absolute; of p-values near nothing the order of magnitude is noise, and speed is the machine's.
LOOSE, EXACT = (0.01, 0.005), (1e-9, 1e-12)
NOISE = {"p", "p_holm", "speedup", "seconds"}


def differences(recorded: Path, own: Path, names: Sequence[str], exact: bool = False) -> tuple[list[str], int]:
    """Return a line for each number or verdict that differs, and how many were compared, of runs that both have.

    Args:
        recorded, own: folders that hold ``<paper>/<page>.json``.
        names: ``<paper>/<page>``; all runs that ``own`` holds when there are none.
        exact: up to the rounding of a double, curves and searches too.
    """
    lines, compared = [], 0
    for name in names or sorted(f"{file.parent.name}/{file.stem}" for file in own.glob("*/*.json")):
        first, second = (dict(_numbers(folder / f"{name}.json", exact)) for folder in (recorded, own))
        if names and not (first and second):
            raise ConfigError(f"{own if first else recorded} has no run of {name}; run it, or correct the name.")
        for key in first | second if first and second else ():
            old, new = first.get(key, "absent"), second.get(key, "absent")
            compared += 1
            floats = isinstance(old, float) and isinstance(new, float)
            if not (np.isclose(new, old, *(EXACT if exact else LOOSE)) if floats else old == new):
                lines.append(f"{name} {key}: {old} -> {new}")
    return lines, compared


def _numbers(path: Path, exact: bool) -> Iterator[tuple[str, Any]]:
    """Yield the numbers and verdicts of a run by their places; nothing where there is no run."""
    if run := load(path):
        parts = {"metrics", "tests", "findings"} | ({"curves", "searches"} if exact else set())
        yield from _leaves("", run.model_dump(mode="json", include=parts), set() if exact else NOISE)
        for claim in judge(run.name, run):
            yield claim.id, claim.verdict


def _leaves(name: str, value: Any, skipped: set[str]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key in sorted(value.keys() - skipped) if value.get("metric") not in skipped else ():
            yield from _leaves(f"{name} {key}".strip(), value[key], skipped)
    elif isinstance(value, list):
        met = Counter[str]()
        for index, part in enumerate(value):  # a row is known by its words, wherever it stands
            held = part.items() if isinstance(part, dict) else ()
            row = " ".join(str(one) for key, one in held if isinstance(one, str) or key in ("seed", "step"))
            met[row] += 1
            yield from _leaves(f"{name} {row} {met[row]}" if row else f"{name}.{index}", part, skipped)
    else:
        yield name, value
