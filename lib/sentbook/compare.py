"""Compare two folders of runs, number by number.

A run of the same seeds on the same platform gives the same numbers. Elsewhere sums are taken in another order, and a
training amplifies the rounding: over the recorded cells with three seeds or more, the median standard deviation over
seeds is .007 for Pearson's r and .006 for accuracies. So a number may be off by .005, or by 1 % where that is more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# The columns that name a row of each part of a run; the others hold its numbers.
KEYS = {
    "metrics": ("method", "dataset", "metric", "protocol", "seed"),
    "tests": ("kind", "a", "b", "dataset", "metric"),
    "claims": ("id",),
    "curves": ("method", "seed", "step", "split", "metric"),
    "searches": ("method", "dataset", "seed"),
}
TIMED = {"speedup", "seconds"}  # metrics of the machine
# Relative and absolute.
LOOSE, EXACT = (0.01, 0.005), (1e-9, 1e-12)


def differences(recorded: Path, own: Path, names: Sequence[str] = (), *, exact: bool = False) -> tuple[list[str], int]:
    """Return a line for each number that differs, and how many were compared.

    Args:
        recorded, own: folders that hold ``<paper>/<page>.json``.
        names: ``<paper>/<page>``; all runs that ``own`` holds when there are none, with ``exact`` those of either.
        exact: compare curves and searches too, up to the rounding of a double.
    """
    files = [*own.glob("*/*.json"), *(recorded.glob("*/*.json") if exact else ())]
    lines, compared = [], 0
    for name in names or sorted({f"{file.parent.name}/{file.stem}" for file in files}):
        try:
            first, second = (dict(_numbers(folder / f"{name}.json", exact)) for folder in (recorded, own))
        except FileNotFoundError as error:
            lines.append(f"{name}: there is no {error.filename}")
            continue
        for key in sorted(first.keys() | second.keys()):
            old, new = first.get(key, "(absent)"), second.get(key, "(absent)")
            compared += 1
            if not _same(old, new, EXACT if exact else LOOSE):
                lines.append(f"{name}: {key}: {old} -> {new}")
    return lines, compared


def _numbers(path: Path, exact: bool) -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a run by names that do not depend on their order."""
    run = json.loads(path.read_text(encoding="utf-8"))
    for part, keys in KEYS.items() if exact else list(KEYS.items())[:3]:
        seen: dict[str, int] = {}
        for row in run.get(part, []):
            if row.get("metric") in TIMED and not exact:
                continue
            name = f"{part} " + " | ".join(str(row.get(key)) for key in keys)
            seen[name] = seen.get(name, 0) + 1
            numbers = {key: value for key, value in row.items() if key not in keys}
            if not exact:  # p-values of near nothing differ by orders of magnitude; a claim is its verdict
                kept = {"verdict"} if part == "claims" else {"value", "n", "estimate", "low", "high"}
                numbers = {key: value for key, value in numbers.items() if key in kept}
            yield from _leaves(f"{name} #{seen[name]}", numbers)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the scalars inside ``value``."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(f"{name}.{key}", part)
    else:
        yield name, value


def _same(first: Any, second: Any, tolerance: tuple[float, float]) -> bool:
    if isinstance(first, float) and isinstance(second, int | float):
        return bool(np.isclose(second, first, *tolerance))
    return bool(first == second)
