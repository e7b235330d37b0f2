"""The benchmarks run small: both sides compute the same, and every side has a positive speed."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
FILE = FOLDER / "speed.py"


def numbers(report: Any) -> list[float]:
    return [number for part in report.values() for number in numbers(part)] if isinstance(report, dict) else [report]


def test_every_side_of_every_benchmark_has_a_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, threads = tmp_path / "report.json", torch.get_num_threads()
    monkeypatch.setattr(sys, "argv", [FILE.name, "--small", "--rounds", "1", "--json", str(file)])
    with torch.random.fork_rng():
        runpy.run_path(str(FILE), run_name="__main__")
    torch.set_num_threads(threads)
    report = json.loads(file.read_text(encoding="utf-8"))
    assert list(report) == ["lazy", "recurrent", "generation", "layer", "logistic"]
    found = numbers(report)
    assert len(found) >= 30 and min(found) > 0 and all(map(np.isfinite, found))


def test_every_objective_is_timed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["training.py", "--small", "--seconds", "0", "--device", "cpu"])
    monkeypatch.syspath_prepend(str(FOLDER))
    runpy.run_path(str(FOLDER / "training.py"), run_name="__main__")
    _, *lines = capsys.readouterr().out.splitlines()
    speeds = [float(line.split(" steps")[1].split()[0].replace(",", "")) for line in lines]
    assert len(speeds) == 11 and min(speeds) > 0
