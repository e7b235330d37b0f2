"""How far two encoders' scores are from the gold scores, in the four groups of overlap and meaning of Jiao et al. 2018.

Source: Jiao et al. 2018, section 5.3, table 6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.statistics import mean_bootstrap
from sentbook.io import ConfigError
from sentbook.records import Test

Array = NDArray[np.float64]
MapName = Literal["paper", "affine", "isotonic", "identity"]
FAR = 1.5
WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


# -- overlap and groups ----------------------------------------------------------------------------------------------


def words(sentence: str) -> frozenset[str]:
    """The lower-cased words of a sentence."""
    return frozenset(word.lower() for word in WORD.findall(sentence))


def jaccard(first: Sequence[str], second: Sequence[str]) -> Array:
    """Word overlap of each pair.

    Equation:
        ``|A & B| / |A | B|`` of the two sets of lower-cased words; 0 where both are empty.

    Returns:
        (N,) in [0, 1].
    """
    sets = [(words(a), words(b)) for a, b in zip(first, second, strict=True)]
    return np.array([len(a & b) / len(a | b) if a | b else 0.0 for a, b in sets])


@dataclass(frozen=True)
class Thresholds:
    """What counts as high and low word overlap (Jaccard), and as close and far meaning (gold, on 0-5)."""

    high: float = 0.5
    low: float = 0.25
    close: float = 4.0
    far: float = 1.5

    def members(self, overlap: ArrayLike, gold: ArrayLike) -> dict[str, NDArray[np.bool_]]:
        """The paper's four groups, in its order: name -> (N,) mask.

        Source: Jiao et al. (2018), section 5.3 and table 6 (the thresholds are ours; the paper gives none).
        """
        share, target = np.asarray(overlap, dtype=float), np.asarray(gold, dtype=float)
        high, low = share >= self.high, share <= self.low
        close, far = target >= self.close, target <= self.far
        return {
            "low overlap, close": low & close,
            "high overlap, close": high & close,
            "high overlap, far": high & far,
            "low overlap, far": low & far,
        }


# -- from cosine to the gold scale -----------------------------------------------------------------------------------


def paper_map(cosine: ArrayLike) -> Array:
    """The paper's map to [0, 5]: ``2.5 (cos + 1)``. A cosine of 0 thus counts as half similar."""
    return 2.5 * (np.asarray(cosine, dtype=np.float64) + 1.0)


def affine_map(cosine: ArrayLike, gold: ArrayLike) -> Callable[[ArrayLike], Array]:
    """The line ``a cos + b`` with the least squared error on these pairs, cut to the range of their gold scores.

    Args:
        cosine, gold: (N,).
    """
    x, y = np.asarray(cosine, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    low, high = float(y.min()), float(y.max())
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / spread) if spread > 0 else 0.0
    offset = float(y.mean() - slope * x.mean())
    return lambda new: np.clip(slope * np.asarray(new, dtype=np.float64) + offset, low, high)


def isotonic_map(cosine: ArrayLike, gold: ArrayLike) -> Callable[[ArrayLike], Array]:
    """The monotone step curve with the least squared error on these pairs; beyond them it stays constant."""
    from sklearn.isotonic import IsotonicRegression  # a second to load

    curve = IsotonicRegression(out_of_bounds="clip", increasing=True)
    curve.fit(np.asarray(cosine, dtype=np.float64), np.asarray(gold, dtype=np.float64))
    return lambda new: np.asarray(curve.predict(np.asarray(new, dtype=np.float64)), dtype=np.float64)


def mapped(cosine: ArrayLike, gold: ArrayLike, how: MapName, *, folds: int = 10, seed: int = 0) -> Array:
    """Cosines on the gold scale. A fitted map is fitted on other pairs: each fold's scores come from the other folds.

    Args:
        cosine, gold: (N,).

    Raises:
        ConfigError: ``how`` is no map, or there are fewer pairs than folds.
    """
    x, y = np.asarray(cosine, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    if how == "paper":
        return paper_map(x)
    if how == "identity":
        return x
    if how not in get_args(MapName):
        raise ConfigError(f"The map {how!r} is unknown; choose one of {list(get_args(MapName))}.")
    if not 2 <= folds <= len(x):
        raise ConfigError(f"{len(x)} pairs cannot be split into {folds} folds; give more pairs or fewer folds.")
    fit = affine_map if how == "affine" else isotonic_map
    fold = np.random.default_rng(seed).permutation(np.arange(len(x)) % folds)
    scores = np.empty_like(x)
    for number in range(folds):
        inside = fold == number
        scores[inside] = fit(x[~inside], y[~inside])(x[inside])
    return scores


def errors(cosine: ArrayLike, gold: ArrayLike, how: MapName, *, folds: int = 10, seed: int = 0) -> Array:
    """Absolute errors on the gold scale, one row a seed.

    Args:
        cosine: (N,) or (S, N), one row for each training seed.
        gold: (N,).

    Returns:
        (S, N).
    """
    rows = np.atleast_2d(np.asarray(cosine, dtype=np.float64))
    target = np.asarray(gold, dtype=np.float64)
    if rows.shape[1] != len(target):
        raise ConfigError(f"The cosines have shape {rows.shape}, the gold {target.shape}; they must agree.")
    return np.stack([np.abs(mapped(row, target, how, folds=folds, seed=seed) - target) for row in rows])


# -- the analysis ----------------------------------------------------------------------------------------------------


def groups(
    first: Sequence[str],
    second: Sequence[str],
    gold: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    a: str,
    b: str,
    maps: Sequence[MapName] = ("paper", "isotonic"),
    thresholds: Thresholds | None = None,
    folds: int = 10,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Mean absolute error of each method in each of the four groups, and how often A is the closer one.

    Intervals are 95 % percentile intervals of a paired bootstrap over pairs; seeds are averaged within a pair.

    Args:
        first, second: N sentences each.
        gold: (N,) on 0-5.
        scores: method -> cosines (N,) or (S, N).
        a, b: the two methods compared; ``difference`` is the error of A minus that of B, so below 0 A is better.

    Returns:
        One row a group and map: group, map, n, ``<method>`` with low and high for each, difference with low and high,
        closer (the share of pairs on which A errs less; ties count half) with low and high.

    Raises:
        ConfigError: ``a`` or ``b`` has no scores, or shapes disagree.
    """
    both(scores, a, b)
    target = np.asarray(gold, dtype=np.float64)
    members = (thresholds or Thresholds()).members(jaccard(first, second), target)
    members["all pairs"] = np.ones(len(target), dtype=bool)
    rows: list[dict[str, object]] = []
    for how in maps:
        found = {name: errors(values, target, how, folds=folds, seed=seed) for name, values in scores.items()}
        per_pair = {name: values.mean(axis=0) for name, values in found.items()}
        closer = _closer(found[a], found[b])
        for group, mask in members.items():
            row: dict[str, object] = {"group": group, "map": how, "n": int(mask.sum())}
            columns = {name: values[mask] for name, values in per_pair.items()}
            columns["difference"] = columns[a] - columns[b]
            columns["closer"] = closer[mask]
            for name, (middle, low, high) in _bootstrap(columns, resamples, seed).items():
                row |= {name: middle, f"{name} low": low, f"{name} high": high}
            rows.append(row)
    return pd.DataFrame(rows)


def both(scores: Mapping[str, ArrayLike], a: str, b: str) -> None:
    missing = [name for name in (a, b) if name not in scores]
    if missing:
        raise ConfigError(f"There are no scores of {missing}; scores are given for {list(scores)}.")


def _closer(first: Array, second: Array) -> Array:
    """The share of seeds in which the first errs less, pair by pair; ties count half.

    Seeds are paired where both methods have as many; else their mean errors are compared.
    """
    if len(first) != len(second):
        first, second = first.mean(axis=0, keepdims=True), second.mean(axis=0, keepdims=True)
    return ((first < second) + 0.5 * (first == second)).mean(axis=0)


def _bootstrap(columns: Mapping[str, Array], resamples: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Mean and 95 % percentile interval of each column, all over the same resampled pairs."""
    n = len(next(iter(columns.values())))
    if n == 0:
        return dict.fromkeys(columns, (np.nan, np.nan, np.nan))
    matrix = np.stack(list(columns.values()), axis=1)
    random = np.random.default_rng(seed)
    means = np.empty((resamples, matrix.shape[1]))
    for number in range(resamples):
        # How often each pair is drawn, times its values: one product in place of an (n, columns) copy.
        means[number] = np.bincount(random.integers(0, n, n), minlength=n) @ matrix / n
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return {name: (float(matrix[:, i].mean()), float(low[i]), float(high[i])) for i, name in enumerate(columns)}


# -- every pair of a book, and rows of the ledger ----------------------------------------------------------------------


@dataclass(frozen=True)
class AllPairs:
    """N pairs of all STS sets, gold on 0-5, with the cosines (S, N) of each method."""

    first: list[str]
    second: list[str]
    gold: Array
    scores: dict[str, Array]

    def overestimation(self, resamples: int) -> list[Test]:
        """By the paper's map 2.5 (cos + 1): the mean of score minus gold on pairs of gold at most 1.5."""
        far = self.gold <= FAR
        dataset = f"{int(far.sum())} pairs of gold at most {FAR}"
        excess = {m: (paper_map(cosines) - self.gold).mean(axis=0)[far] for m, cosines in self.scores.items()}
        return [
            Test.of(
                mean_bootstrap(values, resamples, [0]), kind="bootstrap", a=m, b="gold", dataset=dataset, metric="score"
            )
            for m, values in excess.items()
        ]


def all_pairs(book: Predictions) -> AllPairs:
    """The pairs of the book's sets on a 0-5 scale (all but SICK)."""
    names = [name for name in book.names if book.pairs(name).scale == (0, 5)]
    return AllPairs(
        first=[text for name in names for text in book.pairs(name).first],
        second=[text for name in names for text in book.pairs(name).second],
        gold=np.concatenate([book.gold(name) for name in names]),
        scores={method: np.hstack([book.stacked(method, name) for name in names]) for method in book.methods},
    )
