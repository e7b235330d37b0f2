"""What the record of figure 3 of Gan et al. 2017 says of pre-training against a random start, for its claims."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sentbook.data.tasks import TASKS
from sentbook.evaluation.predictions import KIND
from sentbook.evaluation.statistics import Estimate, seed_interval, two_levels
from sentbook.records import Metric, Test

PRETRAINED, RANDOM = "pretrained-composite", "random-init"
FEW = "TREC-10%-labels"
_SHARE = re.compile(r"(?P<task>.+)-(?P<percent>\d+(?:\.\d+)?)%-labels")
Runs = Mapping[int | None, float]


def share_of(dataset: str) -> tuple[str, float]:
    """Return a data set's task and the percentage of its labels.

    Example:
        >>> share_of("TREC-10%-labels"), share_of("TREC")
        (('TREC', 10.0), ('TREC', 100.0))
    """
    match = _SHARE.fullmatch(dataset)
    return (match["task"], float(match["percent"])) if match else (dataset, 100.0)


def by_turn(values: Runs, starts: int) -> list[float]:
    """Return the means over the runs of each of several pre-trainings, which runs begin with in turn; of one: its runs.

    Example:
        >>> by_turn({1: 0.1, 2: 0.4, 3: 0.3}, 2), by_turn({1: 0.1, 2: 0.4}, 1)
        ([0.2, 0.4], [0.1, 0.4])
    """
    if starts == 1:
        return list(values.values())
    groups: dict[int, list[float]] = {}
    for run, value in values.items():
        groups.setdefault(((run or 1) - 1) % starts, []).append(value)
    return [float(np.mean(group)) for _, group in sorted(groups.items())]


def fine_tuning(metrics: Iterable[Metric], tests: Sequence[Test], starts: int) -> dict[str, Any]:
    """Return the findings of figure 3: gains of pre-training over runs, on whole sets and with fewer labels.

    Args:
        metrics: accuracies of single runs; the run is their seed.
        tests: pre-trained minus random.
        starts: how many pre-trainings the runs begin with, in turn.
    """
    rows = [row for row in metrics if row.metric == "accuracy"]
    of: dict[tuple[str, str], dict[int | None, float]] = {}
    for row in rows:
        of.setdefault((row.method, row.dataset), {})[row.seed] = row.value

    def gain(dataset: str) -> Runs:
        first, second = of.get((PRETRAINED, dataset), {}), of.get((RANDOM, dataset), {})
        return {run: value - second[run] for run, value in first.items() if run in second}

    def over(values: Runs) -> Estimate:
        return seed_interval(by_turn(values, starts))

    def widened(values: Runs, dataset: str) -> Estimate:
        """Add the spread over test sentences, where it was tested."""
        half = [(test.high - test.low) / 2 for test in tests if (test.kind, test.dataset) == (KIND, dataset)]
        return two_levels(over(values), half[0]) if half else over(values)

    whole = [test for test in tests if share_of(test.dataset)[1] == 100 and not test.dataset.endswith("avg")]
    gains = [test for test in whole if test.kind == KIND] or whole
    found: dict[str, Any] = {"gains": gains}
    by_set = [gain(test.dataset) for test in gains]
    if shared := [run for run in by_set[0] if all(run in one for one in by_set)] if by_set else []:
        mean = widened({run: float(np.mean([one[run] for one in by_set])) for run in shared}, "total_avg")
        found["mean gain"] = mean
        if {test.dataset for test in gains} == {*TASKS[:5]}:
            found["mean gain of the paper's sets"] = mean
    for name, method in (("few labels from a random start", RANDOM), ("few labels pre-trained", PRETRAINED)):
        if (method, FEW) in of:
            value, sentences = over(of[method, FEW]), next(row.n for row in rows if row.dataset == FEW)
            # The labels of a mean of runs vary at most as those of one run do.
            half = 1.96 * (value.estimate * (1 - value.estimate) / sentences) ** 0.5
            found[name] = two_levels(value, half)
    if gain(FEW):
        found["gain with few labels"] = widened(gain(FEW), FEW)
    shares = sorted((share_of(name)[1], name) for method, name in of if method == PRETRAINED and "%-labels" in name)
    if shares:
        first, last = gain(shares[0][1]), gain(share_of(shares[0][1])[0])
        if falls := {run: value - last[run] for run, value in first.items() if run in last}:
            found["gain with the fewest labels less that with all"] = over(falls)
    return found
