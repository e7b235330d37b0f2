"""Rules that only the claims of Gan et al. 2017 need, and what they compute from the rows of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from sentbook.data.tasks import TASKS
from sentbook.evaluation.predictions import INTERVALS, KIND
from sentbook.evaluation.statistics import Estimate, seed_interval, two_levels
from sentbook.records import Finding, Run, Test
from sentbook.runs.evidence import Evidence, Missing, Rows
from sentbook.runs.verdicts import Judgement, Rule, above, bound

PRETRAINED, RANDOM = "pretrained-composite", "random-init"
CLASSIFICATION = TASKS[:5]
TENTH = "TREC-10%-labels"
_SHARE = re.compile(r"(?P<task>.+)-(?P<percent>\d+(?:\.\d+)?)%-labels")
OVER_STARTS = "t over runs, of each pre-training their mean"
Gains = dict[int | None, float]


def share_of(dataset: str) -> tuple[str, float]:
    """A data set's task and the percentage of its labels.

    Example:
        >>> share_of("TREC-10%-labels"), share_of("TREC")
        (('TREC', 10.0), ('TREC', 100.0))
    """
    match = _SHARE.fullmatch(dataset)
    return (match["task"], float(match["percent"])) if match else (dataset, 100.0)


def number(
    evidence: Evidence,
    finding: str,
    *,
    of: str,
    says: str,
    unit: str = "parameters",
    exactly: int | None = None,
    at_least: int | None = None,
) -> Judgement:
    """Reproduced when a count is exactly, or at least, the paper's, as the claim has it, else not reproduced."""
    found = evidence.finding(finding)
    if found is None:
        raise Missing(f"the {of} were not counted here")
    goal = exactly if exactly is not None else at_least
    assert goal is not None, "a claim about a number says exactly or at_least"
    holds = found == goal if exactly is not None else found >= goal
    return Judgement(
        "reproduced" if holds else "not reproduced",
        says.format(found, found / 1e6),
        ours=Finding(what=of, unit=unit, value=found),
        printed=bound("exactly" if exactly is not None else "to reach", unit, goal, exactly is None),
    )


def shrinking(evidence: Evidence, _finding: str) -> Judgement:
    """Reproduced when the interval over runs of the gain with the smallest share of the labels, less that with the
    largest, lies above 0, not reproduced when it lies below, else inconclusive."""
    runs = _accuracies(evidence)
    dataset = next((name for method, name, share in runs if method == PRETRAINED and share < 100), "")
    shares = sorted(share for method, name, share in runs if (method, name) == (PRETRAINED, dataset))
    by_share = {share: _gains(runs, dataset, share) for share in shares}
    shared = set.intersection(*map(set, by_share.values())) if len(by_share) > 1 else set()
    if not shared:
        raise Missing("needs several shares of the labels, with runs of the same seeds and both starts")
    least, most = shares[0], shares[-1]
    falls = {seed: by_share[least][seed] - by_share[most][seed] for seed in by_share[least] if seed in shared}
    fall = _over_starts(evidence, falls)
    found = above(
        fall,
        0,
        f"gain on {dataset} with {least:g} % − with {most:g} % of the labels",
        unit="accuracy",
        how=OVER_STARTS,
        stated=False,
    )
    means = {share: float(np.mean(list(gains.values()))) for share, gains in by_share.items()}
    return found.said(f"{found.evidence}; gains " + ", ".join(f"{s:g} %: {100 * v:+.1f}" for s, v in means.items()))


def by_turn(values: Mapping[int | None, float], starts: int) -> list[float]:
    """The means over the runs of each of several pre-trainings, which runs begin with in turn; of one: its runs.

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


def _over_starts(evidence: Evidence, values: Mapping[int | None, float]) -> Estimate:
    """The mean of runs with its t-interval over the pre-trainings that they begin with, or over runs of one."""
    seeds = evidence.run.provenance.config.get("seeds", [1]) if evidence.run else [1]
    return seed_interval(by_turn(values, len(seeds)))


# -- fine-tuning from two starts ---------------------------------------------------------------------------------------


def _accuracies(evidence: Evidence) -> Mapping[tuple[str, str, float], Gains]:
    """(method, data set, percent of the labels) -> seed -> accuracy; ``TREC-10%-labels`` names a share."""
    found: dict[tuple[str, str, float], Gains] = {}
    for row in evidence.metrics:
        if row.metric == "accuracy":
            found.setdefault((row.method, *share_of(row.dataset)), {})[row.seed] = row.value
    return found


def _gains(runs: Mapping[tuple[str, str, float], Gains], dataset: str, share: float = 100.0) -> Gains:
    """Pre-trained minus random, in runs of the same seed."""
    first, second = runs.get((PRETRAINED, dataset, share), {}), runs.get((RANDOM, dataset, share), {})
    return {seed: value - second[seed] for seed, value in first.items() if seed in second}


def gains(evidence: Evidence) -> list[Test]:
    """Give pre-trained minus random on each whole data set, over test sentences where that was tested."""
    whole = [test for test in evidence.tests if share_of(test.dataset)[1] == 100 and not test.dataset.endswith("avg")]
    return [test for test in whole if test.kind == KIND] or whole


def mean_gain(evidence: Evidence) -> dict[str, Estimate]:
    """Give the mean over data sets of the gain with all labels, over runs."""
    datasets = [test.dataset for test in gains(evidence)]
    by_set = [_gains(_accuracies(evidence), dataset) for dataset in datasets]
    shared = [seed for seed in by_set[0] if all(seed in one for one in by_set)] if by_set else []
    if not shared:
        raise Missing("needs runs of the same seeds with both starts on every data set")
    means = {seed: float(np.mean([one[seed] for one in by_set])) for seed in shared}
    found = _on_new_sentences(evidence, _over_starts(evidence, means), "total_avg")
    return {f"{PRETRAINED} − {RANDOM}, mean of {len(datasets)} sets": found}


def mean_gain_of_paper(evidence: Evidence) -> dict[str, Estimate]:
    """Give `mean_gain` where the data sets are the paper's five."""
    if {test.dataset for test in gains(evidence)} != set(CLASSIFICATION):
        raise Missing("needs the paper's five data sets")
    return mean_gain(evidence)


def _with_few_labels(evidence: Evidence, method: str) -> dict[str, Estimate]:
    values = _accuracies(evidence).get((method, "TREC", 10.0))
    if not values:
        raise Missing("needs TREC with 10 % of its labels")
    found, (sentences, *_) = (
        _over_starts(evidence, values),
        [row.n for row in evidence.metrics if row.dataset == TENTH],
    )
    # The labels of a mean of runs vary at most as those of one run do.
    half = 1.96 * (found.estimate * (1 - found.estimate) / sentences) ** 0.5
    return {f"{method} on TREC, 10 %": two_levels(found, half)}


def gain_with_few_labels(evidence: Evidence) -> dict[str, Estimate]:
    """Give pre-trained minus random on TREC with a tenth of its labels, over runs."""
    found = _gains(_accuracies(evidence), "TREC", 10.0)
    if not found:
        return {}
    return {f"{PRETRAINED} − {RANDOM} on TREC, 10 %": _on_new_sentences(evidence, _over_starts(evidence, found), TENTH)}


def _on_new_sentences(evidence: Evidence, runs: Estimate, dataset: str) -> Estimate:
    """Widen an interval over runs by that over test sentences, where this was tested."""
    for test in evidence.tests:
        if (test.kind, test.dataset) == (KIND, dataset):
            return two_levels(runs, (test.high - test.low) / 2)
    return runs


def recorded_book(run: Run) -> Rows | None:
    """Leave the perplexities of novels, which are no task, out of what a page on pre-training is judged by again."""
    rows = [row for row in run.metrics if not row.metric.startswith("perplexity")]
    return Rows(rows, run.tests, run.extra.get(INTERVALS, {})) if len(rows) < len(run.metrics) else None


def _of_cnn(evidence: Evidence) -> list[Test]:
    """The tests of the paper's encoders; an LSTM in their place is beside the claims."""
    return [test for test in evidence.tests if not test.a.startswith("LSTM")]


RULES = {"number": Rule(number, "a count", 0.0), "shrinking": Rule(shrinking, "a gain that shrinks")}
FINDINGS = {
    "written right": lambda evidence: [t for t in _of_cnn(evidence) if t.metric == "accuracy" and "beam" in t.dataset],
    "likeness": lambda evidence: [t for t in evidence.tests if t.b in ("nearest, random CNN", "random sentence")],
    "gains": gains,
    "mean gain": mean_gain,
    "mean gain of the paper's sets": mean_gain_of_paper,
    "few labels from a random start": lambda evidence: _with_few_labels(evidence, RANDOM),
    "few labels pre-trained": lambda evidence: _with_few_labels(evidence, PRETRAINED),
    "gain with few labels": gain_with_few_labels,
    "speed of the CNN over an LSTM": lambda evidence: seed_interval(evidence.finding("timed")),
}
