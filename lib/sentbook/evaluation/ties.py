"""Which methods a test cannot tell apart: p-values of all pairs at once, and letters in place of ranks."""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.05
LETTERS = string.ascii_lowercase + string.ascii_uppercase


def all_pairs(points: ArrayLike, sampled: ArrayLike) -> NDArray[np.float64]:
    r"""(M, M) p-values of "these two are equal", adjusted for all pairs of M methods together.

    With $d_{ij}$ the difference of two methods, $d^*_{ij}$ its value in a resample and $s_{ij}$ the deviation of these,

    $$t_{ij} = |d_{ij}| / s_{ij}, \qquad
      p_{ij} = \frac{1 + \#\{\max_{kl} |d^*_{kl} - d_{kl}| / s_{kl} \ge t_{ij}\}}{R + 1},$$

    so that with probability .95 no pair of equal methods is called different. The best method may be chosen by these
    very numbers, since its comparisons are among those corrected for. Holm's correction of as many bootstrap p-values
    would need tens of thousands of resamples: the least p is 2 / (R + 1), and 25 methods have 300 pairs.

    Args:
        points: (M,) values as measured.
        sampled: (M, R) values over resamples, the same resamples for every method.

    Source: Westfall and Young 1993, section 2.3 (single-step maximum of t); Efron and Tibshirani 1993, chapter 16.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> noise = np.random.default_rng(0).normal(size=(3, 999))
        >>> (all_pairs([0, 1, 9], np.array([[0], [1], [9]]) + noise) < LEVEL).astype(int).tolist()
        [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    """
    values, table = np.asarray(points, dtype=np.float64), np.asarray(sampled, dtype=np.float64)
    if values.ndim != 1 or table.ndim != 2 or len(table) != len(values):
        raise ValueError(f"Values {values.shape} and resampled values {table.shape} do not fit.")
    result = np.ones((len(values), len(values)))
    if len(values) < 2:
        return result
    one, other = np.triu_indices(len(values), 1)
    difference, drawn = values[one] - values[other], table[one] - table[other]
    spread = drawn.std(axis=1)
    # Two methods that never differ have no spread; two that always differ by the same amount are told apart.
    scale = np.where(spread > 1e-12, spread, np.inf)
    t = np.where((spread <= 1e-12) & (np.abs(difference) > 1e-12), np.inf, np.abs(difference) / scale)
    largest = np.sort((np.abs(drawn - difference[:, None]) / scale[:, None]).max(axis=0))
    beyond = len(largest) - np.searchsorted(largest, t, side="left")
    result[one, other] = result[other, one] = (1 + beyond) / (len(largest) + 1)
    return result


def letters(points: Sequence[float], different: ArrayLike) -> list[str]:
    """Letters for M methods: two share one exactly where they are not different; ``a`` is among those of the best.

    Args:
        points: (M,) values, higher being better; they order the letters and decide nothing else.
        different: (M, M) booleans, symmetric.

    Source: Piepho 2004, "An algorithm for a letter-based representation of all-pairwise comparisons": insert, absorb,
    sweep.

    Raises:
        ValueError: the shapes do not fit, the table is not symmetric, a method differs from itself, or there are more
            groups than letters.

    Example:
        >>> apart = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
        >>> letters([0.9, 0.8, 0.7], apart)
        ['a', 'ab', 'b']
    """
    table, size = np.asarray(different, dtype=bool), len(points)
    if table.shape != (size, size) or (table != table.T).any() or table.diagonal().any():
        raise ValueError(f"{size} methods need a symmetric table of that size with nothing on its diagonal.")
    order = sorted(range(size), key=lambda method: -points[method])
    groups: list[frozenset[int]] = [frozenset(range(size))] if size else []
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            if table[one, other]:
                split = [group - {gone} for group in groups if {one, other} <= group for gone in (one, other)]
                kept = [group for group in groups if not {one, other} <= group]
                groups = _absorbed(kept + split)
    groups = _swept(groups)
    rank = {method: place for place, method in enumerate(order)}
    groups.sort(key=lambda group: sorted(rank[method] for method in group))
    if len(groups) > len(LETTERS):
        raise ValueError(f"{len(groups)} groups are more than there are letters.")
    return ["".join(letter for letter, group in zip(LETTERS, groups, strict=False) if m in group) for m in range(size)]


def _absorbed(groups: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Without the groups that another one holds."""
    distinct = list(dict.fromkeys(groups))
    return [group for group in distinct if not any(group < other for other in distinct)]


def _swept(groups: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Without letters that nobody needs: a method leaves a group whose every member shares another one with it."""
    kept = list(groups)
    for place in sorted(range(len(kept)), key=lambda place: len(kept[place])):
        for method in sorted(kept[place]):
            others = [group for at, group in enumerate(kept) if at != place and method in group]
            if others and all(any(member in group for group in others) for member in kept[place] - {method}):
                kept[place] -= {method}
    return _absorbed([group for group in kept if group])
