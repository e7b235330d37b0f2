"""What the records of Zhang et al. 2018 say of rows that differ in one thing, for its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy import stats

from sentbook.evaluation.statistics import Estimate
from sentbook.papers.dnt.winners import encoder_of
from sentbook.records import Test


def share(tests: Iterable[Test], holds: Callable[[Test], bool]) -> Estimate:
    """Return the share of cells in which something holds.

    Its interval is the wider of the exact one and that of t over the groups of one encoder on one data set. Groups
    share encoders and test pairs, so that it may still be too narrow.
    """
    groups: dict[tuple[str, str], list[bool]] = {}
    for test in tests:
        groups.setdefault((encoder_of(test.a), test.dataset), []).append(holds(test))
    every = [one for group in groups.values() for one in group]
    exact = stats.binomtest(sum(every), len(every)).proportion_ci(method="exact")
    shares = [float(np.mean(group)) for group in groups.values()]
    over = stats.ttest_1samp(shares, 0.5).confidence_interval() if len(set(shares)) > 1 else exact
    return Estimate(float(np.mean(every)), max(0.0, min(exact.low, over.low)), min(1.0, max(exact.high, over.high)))


def first_above_second(tests: Sequence[Test]) -> Estimate:
    """Return the share of cells in which A is above B, of those in which they differ."""
    return share([test for test in tests if test.estimate != 0], lambda test: test.estimate > 0)
