"""The benchmark of streaming compares sides that give the same vectors, and its report has both."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("encode_stream", HERE / "benchmarks" / "encode_stream.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_drawn_word_is_known(benchmark: ModuleType) -> None:
    model = benchmark.model(benchmark.ENCODERS["PP"], words=50, dimension=3)
    tokens = model.vocabulary.encode(benchmark.drawn(30, 50))
    assert tokens.flat.min() >= 2 and tokens.lengths.max() <= 30


def test_the_report_has_both_sides(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "--lines 30 --words 50 --dimension 4 --rounds 1"
    monkeypatch.setattr(sys, "argv", ["encode_stream.py", *small.split(), "--json", str(tmp_path / "rates.json")])
    benchmark.main()
    report = json.loads((tmp_path / "rates.json").read_text(encoding="utf-8"))
    assert tuple(report) == tuple(benchmark.ENCODERS)
    assert all(rates["stream"] > 0 and rates["loop"] > 0 for rates in report.values())
    assert capsys.readouterr().out.startswith("30 lines, D = 4, CPU")
