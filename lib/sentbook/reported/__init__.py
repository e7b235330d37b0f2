"""The papers' printed numbers, as they stand in their tables, and the claims of their texts."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

import pandas as pd

from sentbook.errors import ConfigError


@cache
def table(paper: str, name: str) -> pd.DataFrame:
    """``name`` of ``paper`` (``cse``, ``cnn_lstm``, ``wsv``, ``dnt``): columns paper, table, method, dataset, metric, value.

    The CSV's ``_x100`` is a unit: values are converted to [-1, 1] or [0, 1] here, once.

    Raises:
        ConfigError: no such table.
    """
    source = files("sentbook.reported") / f"{paper.replace('_', '')}_{name}.csv"
    if not source.is_file():
        raise ConfigError(f"There are no printed numbers for {paper}/{name}.")
    with as_file(source) as path:
        frame = pd.read_csv(path)
    hundred = frame["metric"].str.endswith("_x100")
    frame["value"] = frame["value"].where(~hundred, frame["value"] / 100)
    frame["metric"] = frame["metric"].str.removesuffix("_x100")
    return frame


def value(paper: str, name: str, method: str, dataset: str, metric: str = "pearson") -> float:
    """One printed number.

    Raises:
        ConfigError: no such cell.
    """
    frame = table(paper, name)
    cell = frame[(frame["method"] == method) & (frame["dataset"] == dataset) & (frame["metric"] == metric)]
    if len(cell) != 1:
        raise ConfigError(f"{paper}/{name} prints no {metric} of {method} on {dataset}.")
    return float(cell["value"].iloc[0])
