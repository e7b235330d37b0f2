"""Compare the recorded numbers of two checkouts: ``python tools/compare_numbers.py OLD NEW [--profile small]``.

Prints each metric, test, interval, curve point, search or cost that is in one checkout only or differs by more than
rounding, and each verdict that changed; exits with 1 if there is any. It becomes ``sentbook compare``.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEYS = {
    "metrics": ("method", "dataset", "metric", "protocol", "seed"),
    "tests": ("kind", "a", "b", "dataset", "metric"),
    "curves": ("method", "seed", "step", "split", "metric"),
    "searches": ("method", "dataset", "seed"),
}


def numbers(run: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every leaf of the parts of a run that hold results, by a name that does not depend on order."""
    for part, keys in KEYS.items():
        seen: dict[str, int] = {}
        for row in run.get(part, []):
            name = f"{part} " + " | ".join(str(row.get(key)) for key in keys)
            seen[name] = seen.get(name, 0) + 1
            yield from leaves(f"{name} #{seen[name]}", {key: value for key, value in row.items() if key not in keys})
    yield from leaves("intervals", run.get("extra", {}).get("intervals over examples", {}))


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the scalars inside ``value``."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(f"{name}.{key}", part)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from leaves(f"{name}.{index}", part)
    else:
        yield name, value


def same(first: Any, second: Any) -> bool:
    """Tell whether two leaves are equal up to the rounding of a double."""
    if isinstance(first, float) and isinstance(second, int | float):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)
    return bool(first == second)


def main() -> int:
    """Compare the two checkouts and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--profile", default="small")
    parser.add_argument("--old-folder", default="results", help="where the old checkout keeps its runs")
    parser.add_argument("--new-folder", default="results", help="where the new checkout keeps its runs")
    given = parser.parse_args()
    differences = compared = 0
    folders = [given.old / given.old_folder / given.profile, given.new / given.new_folder / given.profile]
    names = sorted({str(file.relative_to(folder)) for folder in folders for file in folder.glob("*/*.json")})
    for name in names:
        files = [folder / name for folder in folders]
        if missing := [file for file in files if not file.is_file()]:
            print(f"{name}: only in one checkout (missing {missing[0]})")
            differences += 1
            continue
        old, new = (dict(numbers(json.loads(file.read_text(encoding="utf-8")))) for file in files)
        compared += len(old)
        for key in sorted(old.keys() | new.keys()):
            if key not in old or key not in new or not same(old[key], new[key]):
                print(f"{name}: {key}: {old.get(key, '(absent)')} -> {new.get(key, '(absent)')}")
                differences += 1
    print(f"{compared} numbers in {len(names)} runs compared, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
