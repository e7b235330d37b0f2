"""The plain reference of the recurrent encoders' benchmark computes what they compute; its report has every side."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

HERE = Path(__file__).resolve().parents[1]
NAMES = ("InferSent", "BiLSTM-Avg", "GRAN")


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recurrent_encoders", HERE / "benchmarks" / "recurrent_encoders.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", NAMES)
def test_both_sides_give_the_same_vectors_and_gradients(benchmark: ModuleType, name: str) -> None:
    work = benchmark.work(*benchmark.drawn(40), pairs=40, dimension=7)
    encoder = benchmark.encoders(5, work.weight)[name]
    benchmark.check_same(name, encoder, work)
    plain = benchmark.PlainEncoder(encoder)
    tokens = work.vocabulary.encode(work.sentences, "whitespace")
    ids, lengths = (torch.from_numpy(part) for part in tokens.padded(np.arange(len(tokens))))
    for vectors in (plain(ids), encoder(ids, lengths)):
        vectors.square().sum().backward()
    found = [value.grad for value in plain.parameters() if value.requires_grad]
    expected = [value.grad for value in encoder.composition()]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_work_keeps_file_order(benchmark: ModuleType) -> None:
    first, second = benchmark.drawn(50)
    work = benchmark.work(first, second, pairs=20, dimension=3)
    at = [first.index(sentence) for sentence in work.pairs.first]
    assert len(at) == 20 and at == sorted(at)
    assert work.pairs.second == [second[row] for row in at]


def test_batches_by_length_have_fewer_cells(benchmark: ModuleType) -> None:
    work = benchmark.work(*benchmark.drawn(640), pairs=640, dimension=3)
    shuffled, by_length = (benchmark.cells_a_word(work, 16, bucket) for bucket in (False, True))
    assert 1 < by_length < 2 < shuffled


def test_the_report_has_every_side(
    benchmark: ModuleType,
    threads: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small = "--pairs 100 --rounds 1 --dimension 8 --hidden 4 --batch 32 --data drawn"
    monkeypatch.setattr(sys, "argv", ["recurrent_encoders.py", *small.split(), "--json", str(tmp_path / "rates.json")])
    benchmark.main()
    report = json.loads((tmp_path / "rates.json").read_text(encoding="utf-8"))
    assert tuple(report) == NAMES
    for rates in report.values():
        assert list(rates["training"]) == list(benchmark.TRAINING)
        assert list(rates["encoding"]) == list(benchmark.ENCODING)
        assert all(value > 0 for side in rates.values() for value in side.values())
    printed = capsys.readouterr().out
    assert printed.startswith("192 sentences (192 distinct) of drawn lengths")
    assert printed.count("goal 2x") == 3
