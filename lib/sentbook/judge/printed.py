"""The papers' printed numbers, as they stand in their tables and texts."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from importlib.resources import files

import pandas as pd

from sentbook.io import ConfigError

IN_PERCENT = ("accuracy", "f1")
# Shares of the first K found, which a table of ranking prints in percent: ``annotation_R@1``.
_RECALL = r"(?:.*_)?R@\d+"
_POINTS = "_points"


@cache
def _table(paper: str, name: str) -> pd.DataFrame:
    source = files("sentbook.papers") / paper / "printed" / f"{name}.csv"
    if not source.is_file():
        raise ConfigError(f"There are no printed numbers {name} of {paper}; look into lib/sentbook/papers.")
    with source.open(encoding="utf-8") as stream:
        frame = pd.read_csv(stream)
    if "note" in frame:
        frame["note"] = frame["note"].fillna("")
    values = pd.to_numeric(frame["value"], errors="coerce")
    if values.isna().any():  # a table of settings, in words
        return frame
    metric = frame["metric"]
    hundred = metric.str.endswith(("_x100", _POINTS)) | metric.str.contains("_x100_", regex=False)
    for rows in (*(metric == unit for unit in IN_PERCENT), metric.str.fullmatch(_RECALL)):
        hundred |= rows & bool((values[rows] > 1).any())
    frame["value"] = values.astype(float).where(~hundred, values / 100)
    frame["metric"] = metric.str.replace("_x100", "", regex=False).str.removesuffix(_POINTS)
    return frame


@cache
def _cells(paper: str, name: str) -> dict[tuple[str, str, str], list[float]]:
    frame, found = _table(paper, name), defaultdict(list)
    for column in {"method", "setting"} & {*frame}:
        for *cell, printed in frame[[column, "dataset", "metric", "value"]].itertuples(index=False):
            found[tuple(cell)].append(printed)
    return found


def table(paper: str, name: str) -> pd.DataFrame:
    """Return a printed table: columns paper, table, method, dataset, metric, value; of a figure also note, its source.

    The CSV's ``_x100`` and ``_points`` are units: values are converted to [-1, 1] here, once, and lose them, as are
    accuracies, F1 and recalls (``annotation_R@1``) printed in percent; ranks stay. The values of a table of settings
    (``dnt``'s tables 2 and 3) are words and stay so. DNT's tables 4 and 5 name the setting of each row too.

    Args:
        paper: ``cse``, ``cnn_lstm``, ``wsv`` or ``dnt``.
        name: ``table1``, ..., or ``text_numbers``.

    Raises:
        ConfigError: no such table.
    """
    return _table(paper, name).copy()


def value(paper: str, name: str, method: str, dataset: str, metric: str = "pearson") -> float:
    """Return one printed number, of a setting that is printed in several rows the best.

    Raises:
        ConfigError: no such table or cell.

    Example:
        >>> value("cse", "table1", "CSE", "STS2013/FNWN"), value("dnt", "table4", "GRAN [DNT]", "SAG")
        (0.298, 0.807)
    """
    found = _cells(paper, name).get((method, dataset, metric), [])
    if not found or (len(found) > 1 and "setting" not in _table(paper, name)):
        raise ConfigError(f"{paper}/{name} prints no {metric} of {method} on {dataset}.")
    return float(max(found))
