"""From the rows of a run to what tables and figures show: values over seeds, tests, names of rows, changed settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from sentbook.config import load
from sentbook.io import ConfigError
from sentbook.records import Run, Test
from sentbook.report.numbers import MINUS

Key = tuple[str, str, str]  # method, data set, metric


@dataclass(frozen=True)
class Values:
    """The numbers of a run, a value per seed, or those that a paper prints.

    Attributes:
        run: None for a paper.
        cells: method, data set and metric -> protocol -> values.
    """

    run: Run | None
    cells: Mapping[Key, Mapping[str, Sequence[float]]]

    @classmethod
    def measured(cls, run: Run | None, protocol: str | None) -> Values:
        """Gather the numbers of a run whose protocol holds the words ``protocol``."""
        found: dict[Key, dict[str, list[float]]] = {}
        for row in run.metrics if run else ():
            if (protocol or "") in row.protocol:
                by_protocol = found.setdefault((row.method, row.dataset, row.metric), {})
                by_protocol.setdefault(row.protocol, []).append(row.value)
        return cls(run, found)

    @classmethod
    def printed(cls, frame: pd.DataFrame) -> Values:
        """Gather the numbers of a printed table; none of a table of words."""
        numeric = len(frame) > 0 and pd.api.types.is_numeric_dtype(frame["value"])
        rows = frame[["method", "dataset", "metric", "value"]].itertuples(index=False) if numeric else ()
        return cls(None, {(method, dataset, metric): {"": [value]} for method, dataset, metric, value in rows})

    def at(self, method: str, dataset: str, metric: str) -> Sequence[float]:
        """Return the values over seeds, none where there are none.

        Raises:
            ConfigError: the cell was scored under several protocols and none was chosen.
        """
        found = self.cells.get((method, dataset, metric), {})
        if len(found) > 1:
            raise ConfigError(f"{method} on {dataset} has protocols {sorted(found)}; choose by report.page(protocol=).")
        return next(iter(found.values()), [])

    def mean(self, method: str, dataset: str, metric: str) -> float | None:
        """Return the mean over seeds, None where there is no value."""
        values = self.at(method, dataset, metric)
        return sum(values) / len(values) if values else None

    @property
    def methods(self) -> list[str]:
        """The methods in the run's order."""
        return ordered(method for method, _, _ in self.cells)

    def datasets(self, methods: Sequence[str]) -> list[str]:
        """Return the data sets on which one of ``methods`` was scored."""
        return by_year(dataset for method, dataset, _ in self.cells if method in methods)

    def metric_on(self, dataset: str, metric: str | Mapping[str, str] | None) -> str:
        """Return the metric asked for, else Pearson's r where the run has it, else the data set's first."""
        asked = metric if isinstance(metric, str) else (metric or {}).get(dataset)
        found = ordered(name for _, on, name in self.cells if on == dataset)
        return asked or ("pearson" if "pearson" in found or not found else found[0])

    def test(self, a: str, b: str, dataset: str, metric: str) -> Test | None:
        """Return the test of ``a`` against ``b`` as a - b, whichever way round the run has it, one with an interval."""
        for row in self.run.tests if self.run else ():
            if (row.dataset, row.metric) == (dataset, metric) and {row.a, row.b} == {a, b} and row.low < row.high:
                turned = {"a": a, "b": b, "estimate": -row.estimate, "low": -row.high, "high": -row.low}
                return row if row.a == a else row.model_copy(update=turned)
        return None


# -- names -------------------------------------------------------------------------------------------------------------

TOTAL = "total_avg"


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in the order met."""
    return list(dict.fromkeys(values))


def by_year(datasets: Iterable[str]) -> list[str]:
    """Return the distinct data sets, each year's average after its sets and the total last."""
    names = ordered(datasets)
    groups = [*ordered(label_of(name)[0] for name in names if name != TOTAL), ""]
    return sorted(names, key=lambda name: (name == TOTAL, groups.index(label_of(name)[0]), is_average(name)))


def is_average(dataset: str) -> bool:
    """Tell whether a row is a mean over data sets."""
    return dataset.endswith("/avg") or dataset == TOTAL


def label_of(dataset: str) -> tuple[str, str]:
    """Return the heading a row stands under and its name there.

    Example:
        >>> label_of("STS2012/avg"), label_of("total_avg"), label_of("SICK2014-test")
        (('STS 2012', 'Average'), ('', 'Total average'), ('', 'SICK 2014 test'))
    """
    if dataset == TOTAL:
        return "", "Total average"
    group, _, rest = dataset.replace("miniworld", "Mini-world").rpartition("/")
    spaced = re.sub(r"^(STS|SICK)(\d{4})-?", r"\1 \2 ", group or rest).strip()
    return (spaced, "Average" if rest == "avg" else rest) if group else ("", spaced)


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
        alone = not group or len(inside) == 1
        lines += [] if alone else [(None, group)]
        lines += [(name, full_name(name) if alone else label_of(name)[1]) for name in inside]
    return lines


# -- what a caption says of a run --------------------------------------------------------------------------------------


def changes(run: Run) -> list[str]:
    """Name the settings in which a run differs from its profile, ``cse.activation = tanh``; its profile first."""
    profile = str(run.provenance.config.get("profile", run.profile))
    usual = load(run.paper, {"profile": profile}).model_dump(mode="json")
    here, there = (pd.json_normalize(config).iloc[0].to_dict() for config in (run.provenance.config, usual))
    changed = {name: value for name, value in here.items() if str(there.get(name)) != str(value)}
    return [f"profile {profile}", *(f"{n} = {value}" for n, value in changed.items() if n not in ("device", "jobs"))]


def readable(text: str) -> str:
    """Write the names that records hold as a reader knows them.

    Example:
        >>> readable("CSE above PP on STS2012/avg and total_avg, gap -7.5")
        'CSE above PP on STS 2012 average and the total average, gap −7.5'
    """
    text = re.sub(r"\b(STS|SICK)(\d{4})[/-]", r"\1 \2 ", text.replace(TOTAL, "the total average"))
    return re.sub(r"(?<![^\s\[(])-(?=[.\d\s])", MINUS, text.replace(" avg", " average"))
