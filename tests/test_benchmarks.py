"""Benchmarks run small: both sides compute the same, and the report has a positive speed for every side."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SMALL = {
    "embedding_update": "--pairs 300 --words 60 --rounds 1",
    "encoder_decoder": "--device cpu --small --words 40 --dimension 6 --filters 4 --hidden 5 --sentences 130",
    "nested_logistic": "--tasks CR MPQA --features 10 --share 0.02 --folds 3",
    "recurrent_encoders": "--pairs 100 --rounds 1 --dimension 8 --hidden 4 --batch 32 --data drawn",
}


@pytest.fixture(autouse=True)
def caller() -> Iterator[None]:
    """Threads and random numbers as they were."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng():
        yield
    torch.set_num_threads(threads)


def numbers(report: Any) -> list[float]:
    if isinstance(report, dict):
        return [number for value in report.values() for number in numbers(value)]
    return [report] if isinstance(report, int | float) else []


@pytest.mark.parametrize("name", SMALL)
def test_the_report_has_every_side(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.json"
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *SMALL[name].split(), "--json", str(file)])
    runpy.run_path(str(BENCHMARKS / f"{name}.py"), run_name="__main__")
    found = numbers(json.loads(file.read_text(encoding="utf-8")))
    assert len(found) >= 4 and min(found) >= 0 and all(map(np.isfinite, found))


@pytest.mark.parametrize("kind", ["autoencoder", "future predictor", "composite", "hierarchical"])
def test_both_encoder_decoders_have_the_same_loss(kind: str) -> None:
    benchmark = runpy.run_path(str(BENCHMARKS / "encoder_decoder.py"))
    work = benchmark["work"](kind, benchmark["Size"](30, 6, 4, 5), 48, 24, torch.device("cpu"))
    torch.manual_seed(1)
    with torch.no_grad():  # far from the small weights of a start, so that every part has a say
        for name, value in work.problem.model.named_parameters():
            if value.requires_grad:
                value.uniform_(-0.8, 0.8)
            if name == "encoder.embedding.weight":
                value[0] = 0
    plain = benchmark["PlainModel"](work.problem.model)
    rows = np.array([2, 0, 1]) if kind == "hierarchical" else np.array([7, 30, 4, 11, 0, 47])
    ours, other = work.problem.loss(rows, np.random.default_rng(0)), plain.loss(work.text.tokens, work.first[rows])
    assert other.item() == pytest.approx(ours.item(), rel=1e-4)
