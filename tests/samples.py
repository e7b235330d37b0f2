"""A small run and its page, made up for tests."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sentbook.config import load
from sentbook.records import CurvePoint, Metric, Provenance, Run, Test
from sentbook.report.page import Page

SETS = ["STS2012/MSRpar", "STS2012/OnWN", "SICK2014", "STS2012/avg", "total_avg"]
# Method -> data set -> a value per seed.
VALUES = {
    "PP": dict(zip(SETS, ([0.40, 0.42], [0.70, 0.72], [0.71, 0.71], [0.55, 0.57], [0.60, 0.62]), strict=True)),
    "CSE": dict(zip(SETS, ([0.30, 0.34], [0.70, 0.72], [0.75, 0.77], [0.50, 0.53], [0.61, 0.63]), strict=True)),
}
PAPER = {"PP": [0.426, 0.706, 0.716, 0.587, 0.677], "CSE": [0.516, 0.699, 0.719, 0.633, 0.685]}


Values = dict[str, dict[str, list[float]]]


def run(values: Values | None = None, *, profile: str = "small", n: int = 750, **rows: Any) -> Run:
    """Make a run of ``values``; ``rows`` replace others of its fields."""
    metrics = [
        Metric(method=m, dataset=d, metric="pearson", protocol="cosine", seed=seed, value=value, n=n)
        for m, of_method in (VALUES if values is None else values).items()
        for d, seeds in of_method.items()
        for seed, value in enumerate(seeds)
    ]
    made = Provenance(
        git_commit="abc", config=load("cse", {"profile": profile}).model_dump(mode="json"), config_hash="0",
        python="3.11", device="cpu", started="2026-01-01T00:00:00+00:00", wall_seconds=1.0, peak_memory_bytes=1,
        seeds=[0, 1],
    )  # fmt: skip
    return Run(paper="cse", experiment="table1", profile=profile, provenance=made, **({"metrics": metrics} | rows))


def test_rows() -> list[Test]:
    """CSE - PP with an interval on three rows, one of them the other way round, and a p-value alone."""
    told = {"kind": "paired bootstrap", "metric": "pearson"}
    return [
        Test(a="CSE", b="PP", dataset=SETS[0], estimate=-0.09, low=-0.12, high=-0.06, p=0.0001, **told),
        Test(a="PP", b="CSE", dataset=SETS[2], estimate=-0.05, low=-0.08, high=-0.02, p=0.01, p_holm=0.02, **told),
        Test(a="CSE", b="PP", dataset=SETS[4], estimate=0.01, low=-0.02, high=0.04, p=0.4, **told),
        Test(a="CSE", b="PP", dataset=SETS[1], estimate=0.0, low=0.0, high=0.0, p=0.9, **(told | {"kind": "williams"})),
    ]


def curve() -> list[CurvePoint]:
    told = {"split": "validation", "metric": "pearson"}
    return [
        CurvePoint(method=m, seed=seed, step=step, value=0.5 + step / 1e5 + seed / 100, **told)
        for m in VALUES for seed in (0, 1) for step in (1000, 2000)
    ]  # fmt: skip


def page(recorded: Run | None, **told: Any) -> Page:
    rows = [(m, d, "pearson", value) for m in PAPER for d, value in zip(SETS, PAPER[m], strict=True)]
    printed = pd.DataFrame(rows, columns=["method", "dataset", "metric", "value"])
    return Page("cse/table1", recorded, printed, **told)
