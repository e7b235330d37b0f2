"""The benchmark of nested cross-validation: its tasks, what it compares, its report."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sentbook.evaluation.classification import SKIP_THOUGHTS_NESTED, nested

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("nested_logistic", HERE / "benchmarks" / "nested_logistic.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tasks_have_the_sizes_and_shares_of_the_data_sets(benchmark: ModuleType) -> None:
    sizes = {}
    for task in benchmark.TASKS:
        table, labels = benchmark.drawn(task, features=3)
        assert table.shape == (len(labels), 3) and table.dtype == np.float32
        sizes[task] = (len(labels), labels.mean())
    assert {task: size for task, (size, _) in sizes.items()} == {"MR": 10662, "CR": 3771, "SUBJ": 10000, "MPQA": 10603}
    assert sizes["MPQA"][1] == pytest.approx(3311 / 10603, abs=0.02)
    assert sizes["CR"][1] == pytest.approx(2405 / 3771, abs=0.02)


def test_both_sides_agree(benchmark: ModuleType) -> None:
    protocol = dataclasses.replace(SKIP_THOUGHTS_NESTED, folds=3, grid=(1.0, 16.0))
    table, labels = benchmark.drawn("SUBJ", features=200, share=0.1)
    found, plain = nested(table, labels, protocol), benchmark.reference(table, labels, protocol, outer=3, exact=True)
    compared = benchmark.compare(found, plain)
    assert compared["inner_difference"] <= 0.001 and compared["outer_difference"] <= 0.001
    assert compared["same_c"] == 1 and found.value() > 0.6


def test_the_report_has_every_task(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "--tasks CR MPQA --features 10 --share 0.02 --folds 3 --json"
    monkeypatch.setattr(sys, "argv", ["nested_logistic.py", *small.split(), str(tmp_path / "seconds.json")])
    benchmark.main()
    report = json.loads((tmp_path / "seconds.json").read_text(encoding="utf-8"))
    assert list(report) == ["CR", "MPQA"]
    assert all(row["ratio"] > 0 and 0.5 < row["accuracy"] < 1 for row in report.values())
    printed = capsys.readouterr().out
    assert (
        printed.startswith("skip-thoughts, logistic regression, nested 3-fold") and printed.count("scikit-learn") == 2
    )
