"""From the rows of a run to what tables and figures show: values over seeds, tests, names of rows, changed settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import pandas as pd

from sentbook.config import load
from sentbook.io import ConfigError
from sentbook.records import Run, Test
from sentbook.report.numbers import MINUS

Key = tuple[str, str, str]  # method, data set, metric


class Values:
    """Every number of a run: a value per seed for each method, data set and metric."""

    def __init__(self, run: Run | None, protocol: str | None = None) -> None:
        self.run, self.protocol = run, protocol

    @cached_property
    def cells(self) -> dict[Key, dict[str, list[float]]]:
        """The values per seed by key and protocol, in the run's order; of protocols that hold the words asked for."""
        found: dict[Key, dict[str, list[float]]] = {}
        for row in self.run.metrics if self.run else ():
            if self.protocol is None or self.protocol in row.protocol:
                by_protocol = found.setdefault((row.method, row.dataset, row.metric), {})
                by_protocol.setdefault(row.protocol, []).append(row.value)
        return found

    def at(self, method: str, dataset: str, metric: str) -> list[float]:
        """Return the values over seeds, an empty list where there are none.

        Raises:
            ConfigError: the cell was scored under several protocols and none was chosen.
        """
        by_protocol = self.cells.get((method, dataset, metric), {})
        if len(by_protocol) > 1:
            raise ConfigError(
                f"{method} on {dataset} was scored under {sorted(by_protocol)}; choose one with protocol=."
            )
        return next(iter(by_protocol.values()), [])

    def mean(self, method: str, dataset: str, metric: str) -> float | None:
        """Return the mean over seeds, None where there is no value."""
        values = self.at(method, dataset, metric)
        return sum(values) / len(values) if values else None

    @property
    def methods(self) -> list[str]:
        """The methods in the run's order."""
        return ordered(method for method, _, _ in self.cells)

    def datasets(self, methods: Iterable[str]) -> list[str]:
        """The data sets on which one of ``methods`` was scored, each year's average after its sets."""
        chosen = set(methods)
        names = ordered(dataset for method, dataset, _ in self.cells if method in chosen)
        groups = ordered(label_of(name)[0] for name in names)
        return sorted(names, key=lambda name: (name == TOTAL, groups.index(label_of(name)[0])))

    def metric_on(self, dataset: str, metric: str | Mapping[str, str] | None) -> str:
        """Return the metric asked for, else Pearson's r where the run has it, else the data set's first."""
        if isinstance(metric, str):
            return metric
        if metric is not None and dataset in metric:
            return metric[dataset]
        found = ordered(name for _, on, name in self.cells if on == dataset)
        return "pearson" if "pearson" in found or not found else found[0]

    def test(self, a: str, b: str, dataset: str, metric: str) -> Test | None:
        """Return the test of ``a`` against ``b`` as a - b, whichever way round the run has it, one with an interval."""
        for row in self.run.tests if self.run else ():
            if (row.dataset, row.metric) == (dataset, metric) and {row.a, row.b} == {a, b} and row.low < row.high:
                turned = {"a": a, "b": b, "estimate": -row.estimate, "low": -row.high, "high": -row.low}
                return row if row.a == a else row.model_copy(update=turned)
        return None


class Printed:
    """The paper's numbers by method, data set and metric."""

    def __init__(self, frame: pd.DataFrame) -> None:
        columns = [frame[name] for name in ("method", "dataset", "metric", "value")] if len(frame) else []
        numeric = len(frame) > 0 and pd.api.types.is_numeric_dtype(frame["value"])
        rows = zip(*columns, strict=True) if numeric else ()
        self.cells: dict[Key, float] = {(str(m), str(d), str(k)): float(v) for m, d, k, v in rows}
        self.methods = ordered(method for method, _, _ in self.cells)

    def mean(self, method: str, dataset: str, metric: str) -> float | None:
        """Return the printed value, None where the paper prints none."""
        return self.cells.get((method, dataset, metric))


# -- names -------------------------------------------------------------------------------------------------------------

TOTAL = "total_avg"


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in the order met."""
    return list(dict.fromkeys(values))


def is_average(dataset: str) -> bool:
    """Tell whether a row is a mean over data sets."""
    return dataset.endswith("/avg") or dataset == TOTAL


def label_of(dataset: str) -> tuple[str, str]:
    """Return the heading a row stands under and its name there.

    Example:
        >>> label_of("STS2012/avg"), label_of("total_avg"), label_of("SICK2014-test")
        (('STS 2012', 'Average'), ('', 'Total average'), ('', 'SICK 2014 test'))
    """
    group, _, rest = dataset.rpartition("/")
    if dataset == TOTAL:
        return "", "Total average"
    if not group:
        return "", _spaced(rest)
    return _spaced(group), "Average" if rest == "avg" else rest


def _spaced(name: str) -> str:
    if name == "miniworld":
        return "Mini-world"
    for prefix in ("STS", "SICK"):
        if name.startswith(prefix) and name[len(prefix) :][:1].isdigit():
            return f"{prefix} {name[len(prefix) :]}".replace("-", " ")
    return name


def full_name(dataset: str) -> str:
    """Name a data set where it stands alone: ``STS 2012 average``."""
    group, label = label_of(dataset)
    return f"{group} {label.lower() if label == 'Average' else label}".strip()


def headings(datasets: Sequence[str]) -> list[tuple[str | None, str]]:
    """Return the rows with headings between them: (data set, label), or (None, heading); one row needs no heading.

    Example:
        >>> headings(["STS2012/avg", "STS2013/FNWN", "STS2013/avg"])
        [('STS2012/avg', 'STS 2012 average'), (None, 'STS 2013'), ('STS2013/FNWN', 'FNWN'), ('STS2013/avg', 'Average')]
    """
    lines: list[tuple[str | None, str]] = []
    for group, members in groupby(datasets, key=lambda name: label_of(name)[0]):
        inside = list(members)
        if group and len(inside) > 1:
            lines += [(None, group), *((name, label_of(name)[1]) for name in inside)]
        else:
            lines += [(name, full_name(name)) for name in inside]
    return lines


# -- what a caption says of a run --------------------------------------------------------------------------------------


def changes(run: Run) -> list[str]:
    """Name the settings in which a run differs from its profile, ``cse.activation = tanh``; its profile first."""
    config = run.provenance.config
    profile = str(config.get("profile", run.profile))
    usual = _flat(load(run.paper, {"profile": profile}).model_dump(mode="json"))
    machine = ("device", "jobs", "profile")
    changed = {name: value for name, value in _flat(config).items() if usual.get(name) != value and name not in machine}
    return [f"profile {profile}", *(f"{name} = {value}" for name, value in changed.items())]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found


def readable(text: str) -> str:
    """Write the names that records hold as a reader knows them.

    Example:
        >>> readable("CSE above PP on STS2012/avg and total_avg, gap -7.5")
        'CSE above PP on STS 2012 average and the total average, gap −7.5'
    """
    text = re.sub(r"\b(STS|SICK)(\d{4})/avg\b", r"\1 \2 average", text).replace(TOTAL, "the total average")
    return re.sub(r"(?<=[\s\[(])-(?=\d)", MINUS, text)
