"""The plain reference of the encoder-decoders' benchmark computes what they compute; its report has every side."""

from __future__ import annotations

import copy
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
CPU = torch.device("cpu")
KINDS = ("autoencoder", "future predictor", "composite", "hierarchical")
kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("encoder_decoder", HERE / "benchmarks" / "encoder_decoder.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def caller() -> Iterator[None]:
    """Threads and random numbers as they were."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng():
        yield
    torch.set_num_threads(threads)


def spread(work: object) -> None:
    """Weights far from their small initial values, so that every part has a say in the loss."""
    model = work.problem.model  # type: ignore[attr-defined]
    torch.manual_seed(1)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.requires_grad:
                value.uniform_(-0.8, 0.8)
            if name == "encoder.embedding.weight":
                value[0] = 0


@kinds
def test_both_sides_have_the_same_loss_and_gradients(benchmark: ModuleType, kind: str) -> None:
    work = benchmark.work(kind, benchmark.Size(30, 6, 4, 5), 48, 24, CPU)
    spread(work)
    model, plain = work.problem.model, benchmark.PlainModel(work.problem.model)
    rows = np.array([2, 0, 1]) if kind == "hierarchical" else np.array([7, 30, 4, 11, 0, 47])
    ours, other = work.problem.loss(rows, np.random.default_rng(0)), plain.loss(work.text.tokens, work.first[rows])
    assert other.item() == pytest.approx(ours.item(), rel=1e-4)
    ours.backward()
    other.backward()
    pairs = [(plain.embedding.weight, model.encoder.embedding.weight)]
    for convolution, weight, bias in zip(plain.convolutions, model.encoder.weights, model.encoder.biases, strict=True):
        kernel = convolution.weight.grad.permute(2, 1, 0).reshape(weight.shape)
        torch.testing.assert_close(kernel, weight.grad, atol=1e-4, rtol=1e-3)
        pairs.append((convolution.bias, bias))
    for name, decoder in model.decoders.items():
        part, sentence = plain.decoders[name], decoder.sentence if kind == "hierarchical" else decoder
        pairs += [
            (part.opening, sentence.opening),
            (part.output.weight, sentence.output_weight),
            (part.output.bias, sentence.output_bias),
            *zip(part.lstm.parameters(), sentence.lstm.parameters(), strict=True),
        ]
        if kind == "hierarchical":
            pairs += [
                (plain.opening, decoder.opening),
                *zip(plain.paragraph.parameters(), decoder.paragraph.parameters(), strict=True),
            ]
    # Padding's vector is never moved in the reference, and in training not in ours.
    model.encoder.embedding.weight.grad[0] = 0
    for found, expected in pairs:
        if expected.requires_grad:
            torch.testing.assert_close(found.grad, expected.grad, atol=1e-4, rtol=1e-3)
    trained = sum(value.numel() for value in plain.parameters() if value.requires_grad)
    assert trained == sum(value.numel() for value in model.parameters() if value.requires_grad)


@kinds
def test_a_difference_is_found(benchmark: ModuleType, kind: str) -> None:
    work = benchmark.work(kind, benchmark.Size(30, 6, 4, 5), 48, 24, CPU)
    spread(work)
    before = copy.deepcopy(work.problem.model.state_dict())
    benchmark.check_same(work)
    for name, value in work.problem.model.state_dict().items():
        torch.testing.assert_close(value, before[name])  # it trains copies
    with pytest.raises(AssertionError):
        benchmark.check_same(work._replace(text=benchmark.drawn(len(work.text.tokens), 30, seed=9)))


@kinds
def test_both_sides_train_alike_over_the_same_batches(benchmark: ModuleType, kind: str) -> None:
    work = benchmark.work(kind, benchmark.Size(30, 6, 4, 5), 96, 32, CPU)
    spread(work)
    for bucket in (False, True):
        ours, plain = (train(work, bucket=bucket) for train in (benchmark.train_ours, benchmark.train_plain))
        assert ours.loss == pytest.approx(plain.loss, rel=1e-3)
        assert ours.seconds > 0 and plain.seconds > 0
    assert work.sentences == 96


def test_lengths_are_like_those_of_the_novels(benchmark: ModuleType) -> None:
    lengths = benchmark.drawn(20_000, 100).tokens.lengths
    assert len(lengths) == 20_000 and lengths.min() == 1 and lengths.max() == 38
    assert lengths.mean() == pytest.approx(15, abs=0.3) and lengths.std() == pytest.approx(9, abs=0.5)


def test_the_paper_s_size(benchmark: ModuleType) -> None:
    work = benchmark.work("autoencoder", benchmark.PAPER._replace(words=10, hidden=2), 64, 64, CPU)
    assert benchmark.PAPER == (22_154, 300, 800, 600) and benchmark.SMALL == (10_000, 300, 200, 300)
    assert work.problem.encoder.parameter_count() == 2_882_400 and work.examples == 64
    assert benchmark.work("hierarchical", benchmark.Size(10, 4, 2, 2), 128, 64, CPU).examples == 8


def test_products_are_most_of_a_large_product(benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    table = torch.ones(600, 600)
    work = benchmark.work("autoencoder", benchmark.Size(30, 6, 4, 5), 64, 64, CPU)
    for train, low, high in ((lambda work: table @ table, 0.9, 1), (lambda work: table.cumsum(0), 0, 0.01)):
        monkeypatch.setitem(benchmark.SIDES, "ours", train)
        assert low <= benchmark.product_share("ours", work) <= high


@pytest.mark.parametrize(("kind", "apart"), [("autoencoder", True), ("hierarchical", False)])
def test_the_report_has_every_side(
    benchmark: ModuleType,
    kind: str,
    apart: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small = "--device cpu --small --words 40 --dimension 6 --filters 4 --hidden 5 --sentences 130 --rounds 1 --json"
    arguments = ["encoder_decoder.py", "--kind", kind, *small.split(), str(tmp_path / "rates.json")]
    monkeypatch.setattr(sys, "argv", [*arguments, *(["--apart"] if apart else [])])
    benchmark.main()
    [(batch, report)] = json.loads((tmp_path / "rates.json").read_text(encoding="utf-8")).items()
    assert batch == "64" and list(report) == [*benchmark.SIDES, *(benchmark.APART if apart else ())]
    for side in report.values():
        assert side["sentences_per_second"] > 0 and 0 < side["product_share"] < 1
    printed = capsys.readouterr().out
    assert printed.startswith(
        f"{kind}: 3 x 4 filters, LSTM 5, 40 words of 6, one thread, float32\n128 sentences a round"
    )
    ratio = report["ours"]["sentences_per_second"] / report["reference"]["sentences_per_second"]
    assert f"ratio {ratio:.1f}x (goal on a CPU 2x)" in printed and printed.count("hours") == len(report)
