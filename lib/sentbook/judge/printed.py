"""The papers' printed numbers, as they stand in their tables and texts."""

from functools import cache
from importlib.resources import files

import pandas as pd

from sentbook.io import ConfigError


@cache
def table(paper: str, name: str) -> pd.DataFrame:
    """Return a printed table: columns paper, table, method, dataset, metric, value; of a figure also note, its source.

    The CSV holds what is printed. ``_x100`` is a unit: such values are converted to [-1, 1] here, once, and lose it.
    The values of a table of settings (``dnt``'s tables 2 and 3) are words. DNT's tables 4 and 5 name the setting of
    each row too.

    Args:
        paper: ``cse``, ``cnn_lstm``, ``wsv`` or ``dnt``.
        name: ``table1``, ..., or ``text_numbers``.

    Raises:
        ConfigError: no such table.
    """
    source = files("sentbook.papers") / paper / "printed" / f"{name}.csv"
    if not source.is_file():
        raise ConfigError(f"There are no printed numbers {name} of {paper}; look into lib/sentbook/papers.")
    frame = pd.read_csv(str(source))
    hundred = frame["metric"].str.endswith("_x100")
    if hundred.any():
        frame["value"] = frame["value"].where(~hundred, frame["value"] / 100)
        frame["metric"] = frame["metric"].str.removesuffix("_x100")
    return frame


@cache
def value(paper: str, name: str, method: str, dataset: str, metric: str = "pearson") -> float:
    """Return one printed number, of a setting that is printed in several rows the best.

    Raises:
        ConfigError: no such table or cell.

    Example:
        >>> value("cse", "table1", "CSE", "STS2013/FNWN"), value("dnt", "table4", "GRAN [DNT]", "SAG")
        (0.298, 0.807)
    """
    frame = table(paper, name)
    of_method = (frame.filter(["method", "setting"]) == method).any(axis=1)
    found = frame.loc[of_method & (frame["dataset"] == dataset) & (frame["metric"] == metric), "value"]
    if found.empty or (len(found) > 1 and "setting" not in frame):
        raise ConfigError(f"{paper}/{name} prints no {metric} of {method} on {dataset}.")
    return float(found.max())
