"""Rules that only the claims of Yao et al. 2018 need, and what they compute from the rows of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sentbook.evaluation.statistics import Estimate, seed_interval
from sentbook.records import Test
from sentbook.runs.evidence import Evidence, Missing
from sentbook.runs.verdicts import Judgement, Rule, bound, count

AT_HALF = "MSRP, threshold .5"
LARGE, SMALLER = "WSV-SCNN-SV d=300 L=1", "WSV-SCNN-SV d=200 L=1"


def no_other_files(evidence: Evidence, finding: str) -> Judgement:
    """Reproduced when the files that a training opened are word vectors and the task's own pairs alone, else not
    reproduced."""
    opened = evidence.finding(finding)
    others = [file for file in opened if not file.startswith(("vectors/", "eval/sick2014/"))]
    return Judgement(
        "not reproduced" if others else "reproduced",
        f"a training opened {len(opened)} files: " + (", ".join(others) or "word vectors and SICK alone"),
        ours=count("other resources", len(others), len(opened), "files"),
        printed=bound("other resources", "files", 0, True),
    )


def parameters_as_printed(evidence: Evidence, methods: Sequence[str]) -> Judgement:
    """Reproduced when every method has as many trained parameters as the paper prints, else not reproduced."""
    counts = {row.method: row.parameters for row in evidence.cost}
    absent = [name for name in methods if name not in counts]
    if absent:
        raise Missing(f"needs a training of {absent[0]}")
    theirs = [evidence.printed(name, "-", "trainable_params") for name in methods]
    equal = sum(counts[name] == number for name, number in zip(methods, theirs, strict=True))
    return Judgement(
        "reproduced" if equal == len(methods) else "not reproduced",
        "counted: " + ", ".join(f"{counts[name]:,}" for name in methods),
        ours=count("counts as printed", equal, len(methods), "rows"),
        printed=bound("all", "rows", len(methods), True, len(methods)),
    )


def _seconds(evidence: Evidence, method: str) -> np.ndarray:
    clock = [row.seconds for row in evidence.cost if row.method == method]
    found = evidence.extra.get("processor seconds", {}).get(method, clock)
    if not found:
        raise Missing(f"needs the time of {method}")
    return np.array(found)


def seconds(evidence: Evidence) -> Estimate:
    """Give the time of ten epochs with 300 dimensions over trainings: the processor's, of older runs the clock's."""
    return seed_interval(_seconds(evidence, LARGE))


def share(evidence: Evidence) -> Estimate:
    """Give the time with 200 dimensions as a share of that with 300, seed by seed."""
    pairs = zip(_seconds(evidence, SMALLER), _seconds(evidence, LARGE), strict=False)
    return seed_interval([smaller / larger for smaller, larger in pairs])


def halfway(evidence: Evidence) -> dict[str, Estimate]:
    """Give r on the test pairs after half of the epochs as a share of r after all, by loss, over seeds."""
    lines: dict[str, dict[int, list[float]]] = {}
    for point in sorted(evidence.curves, key=lambda point: point.step):
        if (point.split, point.metric) == ("test", "pearson"):
            lines.setdefault(point.method, {}).setdefault(point.seed, []).append(point.value)
    return {
        method: seed_interval([line[len(line) // 2 - 1] / line[-1] for line in by_seed.values()])
        for method, by_seed in lines.items()
    }


def at_one_half(evidence: Evidence) -> dict[str, Test]:
    """Give what pre-training gains on MSRP at the threshold one half, by measure."""
    name = "WSV-SCNN-SV"
    return {test.metric: test for test in evidence.tests if (test.b, test.dataset) == (name, AT_HALF)}


RULES = {
    "no_other_files": Rule(no_other_files, "no other file", 0.0),
    "parameters_as_printed": Rule(parameters_as_printed, "counts as printed", 0.0),
}
FINDINGS = {
    "seconds of ten epochs": seconds,
    "seconds of 200 as a share of 300": share,
    "halfway": halfway,
    "pre-training at one half": at_one_half,
}
