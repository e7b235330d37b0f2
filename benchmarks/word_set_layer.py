"""The exact first layer of WSV-SCNN-SV against `conv2d` on the materialised map: time, memory, and a whole training.

    python benchmarks/word_set_layer.py [--rounds 5] [--lengths 12 20 32] [--device auto] [--training] [--json FILE]

Forward and backward of the map, a 3x3 convolution, and the 3 largest cells of each filter; D = 300, F = 600, batch 20,
words that do not repeat. Rounds alternate, so that a drifting machine slows both sides. With ``--training``, also ten
epochs on SICK's 4,500 training pairs with 300-d vectors, which the paper's quad-core i7 did in 4,731 s.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from sentbook import config
from sentbook.data.vectors import Vectors
from sentbook.papers.wsv import layer_cost
from sentbook.papers.wsv.settings import LayerMeasurement
from sentbook.training.loop import device_of, fit
from sentbook.training.recipes import Recipe, prepare_stage

GOALS = {12: 2.5, 20: 4.0, 32: 8.0}


def training_seconds(device: str) -> float:
    """Ten epochs of table 2's first row, steps alone."""
    settings = config.load("wsv", {"profile": "small"})
    recipe = Recipe(
        method="WSV-SCNN-SV d=300 L=1",
        seed=1,
        vectors=Vectors(name="glove-840b-300d-sick"),
        encoder=settings.wsv.model_copy(update={"filters": 600}),
        stages=(settings.sick,),
    )
    problem = prepare_stage(recipe)
    return fit(problem, settings.sick, seed=1, device=device, report=lambda line: None).seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lengths", type=int, nargs="+", default=list(GOALS))
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device = device_of(options.device)
    settings = LayerMeasurement(lengths=tuple(options.lengths), rounds=options.rounds)
    print(
        f"D = {settings.dimension}, F = {settings.filters}, batch {settings.batch_size}, {device}, "
        f"{torch.get_num_threads()} threads"
    )
    started = time.perf_counter()
    rows = layer_cost.measure(settings, device)
    report: dict[str, float] = {}
    for metric in layer_cost.speedups(rows):
        length = int(metric.dataset.removeprefix("n="))
        held = {
            (row.method, row.metric): row.value
            for row in rows
            if row.step == length  # the last round's
        }
        memory = [held.get((method, "peak_mebibytes"), float("nan")) for method in (layer_cost.BASE, layer_cost.EXACT)]
        goal = f"  (goal {GOALS[length]}x)" if length in GOALS else ""
        print(f"n = {length:3}  {metric.value:5.1f}x  peak {memory[0]:6.0f} -> {memory[1]:5.0f} MiB{goal}")
        report[metric.dataset] = metric.value
    print(f"measured in {time.perf_counter() - started:.0f} s")
    if options.training:
        report["training_seconds"] = training_seconds(options.device)
        print(f"ten epochs of SICK, D = 300: {report['training_seconds']:.0f} s (the paper: 4,731 s)")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
