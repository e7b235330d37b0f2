"""Read a reader's own scores of a year of STS, and tell them under every measure and aggregation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import AGGREGATIONS, CORRELATIONS, Aggregation
from sentbook.io import ConfigError, DataError


def read(path: Path, sets: Sequence[ScoredPairs]) -> dict[str, NDArray[np.float64]]:
    """Read the (N,) scores of each of ``sets``, by its name.

    Raises:
        ConfigError: the file cannot be read, or has other columns.
        DataError: a score is no number, a set is unknown, or there are more or fewer scores than scored pairs.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Without index_col pandas takes the first cells of rows that are longer than the head for their names.
            frame = pd.read_csv(path, dtype=str, keep_default_na=False, skip_blank_lines=True, index_col=False)
        if list(frame.columns) not in (["set", "score"], ["score"]):
            frame = pd.read_csv(path, dtype=str, keep_default_na=False, header=None)
            if frame.shape[1] != 1:
                raise ConfigError(
                    f"{path} has other columns than 'set,score'; name these two, or give one score a line."
                )
            frame.columns = pd.Index(["score"])
    except pd.errors.ParserWarning:
        raise ConfigError(
            f"{path} has rows with more cells than its head; write numbers with a decimal point, not a comma."
        ) from None
    except (OSError, UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise ConfigError(f"{path} cannot be read as CSV ({type(error).__name__}); check the file.") from None
    values = pd.to_numeric(frame["score"], errors="coerce").to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(f"Score {row + 1} of {path} is {str(frame['score'].iloc[row])[:40]!r}, which is no number.")
    if "set" not in frame:
        expected = sum(map(len, sets))
        if len(values) != expected:
            raise DataError(f"{path} has {len(values)} scores for {expected} scored pairs: {_sizes(sets)}.")
        parts = np.split(values, np.cumsum([len(pairs) for pairs in sets])[:-1])
        return {pairs.name: part for pairs, part in zip(sets, parts, strict=True)}
    names = {alias: pairs.name for pairs in sets for alias in (pairs.domain, pairs.name, pairs.name.split("/", 1)[-1])}
    unknown = [name for name in frame["set"].unique() if name not in names]
    if unknown:
        raise DataError(f"{path} names the set {str(unknown[0])[:40]!r}; the year's sets are {_sizes(sets)}.")
    named = frame["set"].map(names).to_numpy()
    found = {pairs.name: values[named == pairs.name] for pairs in sets}
    for pairs in sets:
        if len(found[pairs.name]) != len(pairs):
            raise DataError(f"{path} has {len(found[pairs.name])} scores of {pairs.name}; the sets are {_sizes(sets)}.")
    return found


def table(scores: Mapping[str, NDArray[np.float64]], sets: Sequence[ScoredPairs]) -> list[str]:
    """Write lines of text: each set by both measures, then the year by both measures and the three aggregations."""

    book = Predictions(sets, means={"year": [pairs.name for pairs in sets]})
    for name, values in scores.items():
        book.add("own", None, name, values)

    def both(name: str, row: str, how: Aggregation) -> str:
        found = [100 * book.value("own", None, row, measure, how) for measure in CORRELATIONS]
        size = sum(len(book.gold(member)) for member in book.members(row))
        return f"{name:<30}{size:>7}" + "".join(f"{value:>10.1f}" for value in found)

    lines = [f"{'x 100':<30}{'pairs':>7}" + "".join(f"{measure:>10}" for measure in CORRELATIONS)]
    lines += [both(pairs.name, pairs.name, Aggregation.PER_SET) for pairs in sets]
    return [*lines, "", *(both(str(how), "year", how) for how in AGGREGATIONS)]


def _sizes(sets: Sequence[ScoredPairs]) -> str:
    return ", ".join(f"{pairs.domain} {len(pairs)}" for pairs in sets)
