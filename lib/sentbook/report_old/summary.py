"""From rows of a run to what a table prints: centre and interval over seeds, the paper's values, the tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from sentbook.evaluation.predictions import INTERVALS
from sentbook.evaluation.statistics import holm, seed_interval
from sentbook.io import ConfigError, DataError
from sentbook.records import Run, Test
from sentbook.runs import printed as printed_numbers

_Found = tuple[Test, float, float, float]


@dataclass(frozen=True)
class Summary:
    """One cell over its seeds. ``low`` and ``high`` are None with a single seed."""

    value: float
    low: float | None
    high: float | None
    seeds: int
    n: int
    values: tuple[float, ...]


def mean_and_interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Return the mean of (k,) values, one a seed, and its 95 % t-interval, ``m +- t(.975, k-1) s / sqrt(k)``."""
    if len(values) == 0:
        raise ConfigError("There is no value to summarise; run the experiment first.")
    found = seed_interval(values)
    return (found.estimate, None, None) if len(values) < 2 else (found.estimate, found.low, found.high)


def over_examples(run: Run) -> dict[tuple[str, str, str, str], tuple[float, float]]:
    """The recorded intervals over examples by method, data set, metric, and the protocol that they are of.

    A run has one for each method, data set and metric: of the protocol that it names first.
    """
    found = {}
    for row in reversed(run.metrics):
        ends = run.extra.get(INTERVALS, {}).get(row.metric, {}).get(row.dataset, {}).get(row.method)
        if ends is not None:
            found[row.method, row.dataset, row.metric] = row.protocol, (float(ends[0]), float(ends[1]))
    return {(*place, protocol): ends for place, (protocol, ends) in found.items()}


def interval_words(seeds: Iterable[int]) -> str:
    """What the brackets hold, as a caption says it."""
    words = mean_of_seeds([*seeds] or [1])
    return f"{words}: no interval over seeds" if words == "one seed" else f"{words} [95 % t-interval]"


def over_seeds(run: Run, metric: str, *, protocol: object = None) -> tuple[dict[tuple[str, str], Summary], list[str]]:
    """Every (method, dataset) of ``metric`` over its seeds, and the protocols met, in the run's order.

    Args:
        protocol: one protocol, a sequence of them, or words that are a part of one, such as ``after 10 epochs``, where
            the run holds several for the same cell.

    Raises:
        ConfigError: a cell has values under two protocols and ``protocol`` does not choose, or it is words of none.
    """
    wanted = _wanted(run, protocol)
    cells: dict[tuple[str, str], dict[str, dict[int | None, float]]] = {}
    sizes: dict[tuple[str, str], int] = {}
    protocols: dict[str, None] = {}
    for row in run.metrics:
        if row.metric != metric or (wanted is not None and row.protocol not in wanted):
            continue
        key = (row.method, row.dataset)
        protocols[row.protocol] = None
        seeds = cells.setdefault(key, {}).setdefault(row.protocol, {})
        if row.seed in seeds:
            raise DataError(f"{run.paper}/{run.experiment} holds {key} of seed {row.seed} twice; make the run again.")
        seeds[row.seed] = row.value
        sizes[key] = row.n
    summaries = {}
    for key, by_protocol in cells.items():
        if len(by_protocol) > 1:
            raise ConfigError(f"{key} was scored under {sorted(by_protocol)}; choose one with protocol=.")
        values = tuple(next(iter(by_protocol.values())).values())
        middle, low, high = mean_and_interval(values)
        summaries[key] = Summary(middle, low, high, len(values), sizes[key], values)
    return summaries, list(protocols)


def _wanted(run: Run, protocol: object) -> set[str] | None:
    """The protocols that ``protocol`` names, in full or else by a part; None: all."""
    if protocol is None:
        return None
    if isinstance(protocol, (list, tuple, set, frozenset)):
        return {str(one) for one in protocol}
    held = ordered(row.protocol for row in run.metrics)
    if not isinstance(protocol, str) or protocol in held:
        return {str(protocol)}
    found = {one for one in held if protocol in one}
    if held and not found:
        raise ConfigError(f"{run.paper}/{run.experiment} holds no protocol {protocol!r}; it holds {held}.")
    return found


def mean_of_seeds(seeds: Iterable[int]) -> str:
    """Say of how many seeds the numbers are means.

    Example:
        >>> mean_of_seeds([1]), mean_of_seeds([3, 5])
        ('one seed', 'mean of 3–5 seeds')
    """
    counts = sorted(set(seeds))
    several = str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
    return "one seed" if counts[-1] == 1 else f"mean of {several} seeds"


# The paper's printed numbers of one table, on their own scale: columns paper, table, method, dataset, metric, value.
reported = printed_numbers.table


def printed(frame: pd.DataFrame | None, metric: str) -> dict[tuple[str, str], float]:
    """The paper's values of ``metric`` by (method, dataset)."""
    if frame is None or frame.empty:
        return {}
    rows = frame[frame["metric"] == metric]
    return {(str(m), str(d)): float(v) for m, d, v in zip(rows["method"], rows["dataset"], rows["value"], strict=True)}


def where_printed(frame: pd.DataFrame | None) -> str:
    """Where a paper's numbers stand, as a tooltip says it.

    Example:
        >>> where_printed(reported("cse", "table1"))
        'table 1 of the CSE paper'
    """
    if frame is None or frame.empty or not {"paper", "table"} <= set(frame.columns):
        return "the paper"
    places = ordered(re.sub(r"^(table|fig(?:ure)?)(?=\d)", r"\1 ", str(name)) for name in frame["table"])
    return f"{', '.join(places)} of the {frame['paper'].iloc[0]} paper"


def test_of(tests: Iterable[Test], a: str, b: str, dataset: str, metric: str) -> _Found | None:
    """The test of ``a`` against ``b`` with estimate and interval of a - b, whichever way round it was recorded.

    Where several kinds were recorded, one with an interval is preferred: a p-value alone (Williams, Steiger) is stored
    with an interval of no width.
    """
    found = [one for one in tests if (one.dataset, one.metric) == (dataset, metric) and {one.a, one.b} == {a, b}]
    if not found:
        return None
    test = next((one for one in found if one.high > one.low), found[0])
    if (test.a, test.b) == (a, b):
        return test, test.estimate, test.low, test.high
    return test, -test.estimate, -test.high, -test.low


test_of.__test__ = False  # type: ignore[attr-defined]  # not a pytest function


def significant(test: Test) -> bool:
    """By Holm's p where it was computed, else by p, else by the interval."""
    p = test.p_holm if test.p_holm is not None else test.p
    return p < 0.05 if p is not None else (test.low > 0 or test.high < 0)


def corrected(found: Mapping[str, _Found]) -> dict[str, _Found]:
    """Give the tests of several rows, as of `test_of`, Holm's p over these rows where the run recorded p alone."""
    tests = [test for test, *_ in found.values()]
    if any(test.p is None or test.p_holm is not None for test in tests):
        return dict(found)
    over_rows = zip(found, holm([test.p or 0.0 for test in tests]), strict=True)
    return {row: (found[row][0].model_copy(update={"p_holm": p}), *found[row][1:]) for row, p in over_rows}


def ordered(values: Iterable[Any]) -> list[Any]:
    """The distinct values in the order met."""
    return list(dict.fromkeys(values))


def is_average(dataset: str) -> bool:
    return dataset.endswith("/avg") or dataset == "total_avg"


def group_and_label(dataset: str) -> tuple[str, str]:
    """The heading a row stands under and its short name: ``STS2012/MSRpar`` -> (``STS 2012``, ``MSRpar``).

    Example:
        >>> group_and_label("STS2012/avg"), group_and_label("total_avg"), group_and_label("SICK2014-test")
        (('STS 2012', 'Average'), ('', 'Total average'), ('', 'SICK 2014 test'))
    """

    def spaced(text: str) -> str:
        if text == "miniworld":
            return "Mini-world"
        for prefix in ("STS", "SICK"):
            rest = text.removeprefix(prefix)
            if rest != text and rest[:1].isdigit():
                return f"{prefix} {rest}".replace("-", " ")
        return text

    if dataset == "total_avg":
        return "", "Total average"
    group, slash, rest = dataset.partition("/")
    if not slash:
        return "", spaced(dataset)
    return spaced(group), "Average" if rest == "avg" else rest


def headings(
    rows: Sequence[str], naming: Callable[[str], tuple[str, str]] = group_and_label
) -> list[tuple[str | None, str]]:
    """The rows with headings between them: (row, label), or (None, heading).

    A group of one row needs no heading: its name joins the label.

    Example:
        >>> headings(["STS2012/avg", "STS2013/FNWN", "STS2013/avg"])
        [('STS2012/avg', 'STS 2012 average'), (None, 'STS 2013'), ('STS2013/FNWN', 'FNWN'), ('STS2013/avg', 'Average')]
    """
    named = [(row, *naming(row)) for row in rows]
    lines: list[tuple[str | None, str]] = []
    for group, members in groupby(named, key=lambda item: item[1]):
        inside = list(members)
        if group and len(inside) > 1:
            lines.append((None, group))
            lines += [(row, label) for row, _, label in inside]
        else:
            lines += [(row, full_name(group, label)) for row, _, label in inside]
    return lines


def full_name(group: str, label: str) -> str:
    """A row's name where it stands without its heading."""
    if not group:
        return label
    return f"{group} {label.lower() if label == 'Average' else label}"
