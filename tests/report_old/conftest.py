"""Synthetic runs: the paper's values with noise, five seeds, a test a row."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sentbook.records import Claim, Cost, CurvePoint, Metric, Provenance, Run, Test
from sentbook.report_old import pages, run_pages, summary
from sentbook.runs import contents, lineage
from sentbook.runs import ledger as store

HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)>"


def _provenance() -> Provenance:
    return Provenance(
        git_commit="0123456789abcdef0123456789abcdef01234567",
        config={"profile": "small", "epochs": 1, "note": HOSTILE},
        config_hash="9f8e7d6c5b4a",
        data={"eval/sick2014/SICK_test_annotated.txt": "a" * 64, "vectors/glove6b_50d.npy": "b" * 64},
        substitutions=["captions for PPDB XL", HOSTILE],
        packages={"torch": "2.13.0", "numpy": "2.4.6"},
        python="3.11.7",
        device="cpu",
        started="2026-11-21T06:12:00+00:00",
        wall_seconds=1834.0,
        peak_memory_bytes=1_430_000_000,
        seeds=[1, 2, 3, 4, 5],
    )


@pytest.fixture
def run() -> Run:
    """PP and CSE on all rows of table 1."""
    random = np.random.default_rng(0)
    paper = summary.printed(summary.reported("cse", "table1"), "pearson")
    metrics = [
        Metric(
            method=method, dataset=dataset, metric="pearson",
            protocol="cosine, mean of sets" if summary.is_average(dataset) else "cosine, per set",
            seed=seed, value=value + 0.002 * (seed - 3), n=750,
        )
        for (method, dataset), value in paper.items()
        for seed in range(1, 6)
    ]  # fmt: skip
    tests = [
        Test(
            kind="paired bootstrap", a="CSE", b="PP", dataset=dataset, metric="pearson",
            estimate=paper["CSE", dataset] - paper["PP", dataset],
            low=paper["CSE", dataset] - paper["PP", dataset] - 0.02,
            high=paper["CSE", dataset] - paper["PP", dataset] + 0.02, p=0.0004 if index % 2 else 0.3,
            p_holm=0.004 if index % 2 else 1.0,
        )
        for index, dataset in enumerate(dict.fromkeys(dataset for _, dataset in paper))
    ]  # fmt: skip
    curves = [
        CurvePoint(
            method=method, seed=seed, step=1000 * step, split="validation", metric="pearson",
            value=0.7 - 0.2 / step + float(random.normal(0, 0.003)),
        )
        for method in ("PP", "CSE") for seed in (1, 2, 3) for step in range(1, 9)
    ]  # fmt: skip
    cost = [
        Cost(
            method=method, seed=seed, seconds=60.0 * seed, peak_memory_bytes=900_000_000, parameters=parameters,
            examples_per_second=14600.0,
        )
        for method, parameters in (("PP", 0), ("CSE", 180_300)) for seed in (1, 2, 3)
    ]  # fmt: skip
    claims = [
        Claim(
            id=f"claim-{verdict}", text=f"CSE wins. {HOSTILE}", source="section 4.1", rule="A beats B",
            verdict=verdict, evidence=f"+1.0 [0.5, 1.5] {HOSTILE}",
        )
        for verdict in ("reproduced", "not reproduced", "inconclusive", "not run")
    ]  # fmt: skip
    return Run(
        paper="cse", experiment="table1", profile="small", provenance=_provenance(), metrics=metrics, tests=tests,
        claims=claims, curves=curves, cost=cost,
    )  # fmt: skip


@pytest.fixture
def demo_run(run: Run) -> Run:
    """The same code on data sets the paper never saw."""
    metrics = [
        Metric(
            method=method, dataset=f"miniworld/{domain}", metric="pearson", protocol="cosine, per set", seed=seed,
            value=value + 0.01 * seed, n=500,
        )
        for domain, value in (("scenes", 0.6), ("news", 0.5)) for method in ("PP", "CSE") for seed in (1, 2, 3)
    ]  # fmt: skip
    return run.model_copy(update={"metrics": metrics, "tests": [], "profile": "demo"})


@pytest.fixture
def well_formed() -> Callable[[str], ET.Element]:
    """Parse a fragment as XML: every element closed, every attribute quoted, no identifier twice."""

    def check(html: str) -> ET.Element:
        root = ET.fromstring(f"<div>{html}</div>")
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert not tags & {"script", "img", "iframe", "object"}
        assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
        # A blank line would end an HTML block of Markdown.
        assert "\n\n" not in html
        return root

    return check


TOC = """format: jb-book
root: book/index
chapters:
  - file: book/_executed/cse/table1
  - file: book/runs
    sections:
      - file: book/_runs/cse/table1
      - file: book/_runs/wsv/table2
      - file: book/_runs/data/overlap
"""


@pytest.fixture
def kept(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of its own with table 1, recorded and listed; nothing is stale."""
    (tmp_path / "_toc.yml").write_text(TOC)
    (tmp_path / "_config.yml").write_text("repository: {url: 'https://code.example/x'}\n")
    for module in (store, pages, contents, run_pages):
        monkeypatch.setattr(module, "root", lambda: tmp_path)
    monkeypatch.setattr(lineage, "changed", lambda run: [])
    store.write(run)
    return tmp_path


@pytest.fixture
def ledger(run: Run, kept: Path) -> Path:
    """The checkout with table 1 in two profiles and table 2, which is not listed, in one."""
    for experiment in ("table1", "table2"):
        store.write(run.model_copy(update={"profile": "demo", "experiment": experiment}))
    return kept
