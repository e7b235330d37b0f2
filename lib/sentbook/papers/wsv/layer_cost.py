"""Time and memory of WSV's exact first layer beside the convolution of the materialised map, in the same run."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from sentbook.models.additive import k_max, projections, row_and_column_terms
from sentbook.models.word_map import k_max_of_map
from sentbook.papers.wsv.settings import LayerMeasurement
from sentbook.records import CurvePoint, Metric

BASE, EXACT = "conv2d on the map", "exact layer"
K = 3


class _Inputs:
    """Sentences of distinct random words, so that the exact layer gains nothing by words that repeat."""

    def __init__(self, settings: LayerMeasurement, length: int, device: torch.device) -> None:
        generator = torch.Generator().manual_seed(length)
        size = settings.batch_size * length
        words = torch.randn(size + 1, settings.dimension, generator=generator)
        words[0] = 0
        kernel = 0.02 * torch.randn(3, 3, settings.dimension, settings.filters, generator=generator)
        self.leaves = [leaf.to(device).requires_grad_() for leaf in (words, kernel, torch.tensor([0.4502, 0.5498]))]
        self.places = torch.arange(1, size + 1, device=device).view(settings.batch_size, length)
        self.lengths = torch.full((settings.batch_size,), length, device=device)

    def exact(self) -> Tensor:
        words, kernel, weights = self.leaves
        return k_max(row_and_column_terms(projections(words, kernel), weights, self.places), self.lengths, K)

    def base(self) -> Tensor:
        words, kernel, weights = self.leaves
        return k_max_of_map(words[self.places], kernel, weights, K)


def _step(layer: Callable[[], Tensor], device: torch.device) -> float:
    """Milliseconds of one forward and backward."""
    _wait(device)
    started = time.perf_counter()
    functional.relu(layer()).mean(dim=0).sum().backward()
    _wait(device)
    return 1000 * (time.perf_counter() - started)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _status(field: str) -> float:
    """A value of Linux's account of this process, in MiB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise OSError(f"no {field}")


def _peak(layer: Callable[[], Tensor], device: torch.device) -> float | None:
    """MiB that one forward and backward needs above what there was; None where the system does not tell."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        allocated = torch.cuda.memory_allocated(device)
        _step(layer, device)
        return (torch.cuda.max_memory_allocated(device) - allocated) / 2**20
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # what is free but kept would hide what is needed
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the high-water mark starts here
        before = _status("VmRSS:")
        _step(layer, device)
        return _status("VmHWM:") - before
    except OSError:
        return None


def measure(settings: LayerMeasurement, device: torch.device) -> list[CurvePoint]:
    """Milliseconds of each round and peak memory, by sentence length: rows for a run's curves.

    Rounds alternate between the two, so that a drifting machine slows both; a first round of each is not counted.
    """
    split = f"d={settings.dimension}, F={settings.filters}, batch {settings.batch_size}"
    rows: list[CurvePoint] = []

    def note(method: str, metric: str, length: int, value: float, round_: int) -> None:
        rows.append(CurvePoint(method=method, seed=round_, step=length, split=split, metric=metric, value=value))

    for length in settings.lengths:
        inputs = _Inputs(settings, length, device)
        sides = {BASE: inputs.base, EXACT: inputs.exact}
        for method, layer in sides.items():
            _step(layer, device)
            if (peak := _peak(layer, device)) is not None:
                note(method, "peak_mebibytes", length, peak, 0)
        for round_ in range(1, settings.rounds + 1):
            for method, layer in sides.items():
                note(method, "milliseconds", length, _step(layer, device), round_)
    return rows


def speedups(rows: Iterable[CurvePoint]) -> list[Metric]:
    """How many times as fast the exact layer is, by sentence length: ratios of medians over rounds."""
    taken: dict[int, dict[str, list[float]]] = {}
    split = ""
    for row in rows:
        if row.metric == "milliseconds":
            taken.setdefault(row.step, {}).setdefault(row.method, []).append(row.value)
            split = row.split
    return [
        Metric(
            method=EXACT,
            dataset=f"n={length}",
            metric="speedup",
            protocol=f"forward and backward against conv2d on the map, {split}",
            seed=None,
            value=statistics.median(sides[BASE]) / statistics.median(sides[EXACT]),
            n=len(sides[EXACT]),
        )
        for length, sides in taken.items()
    ]
