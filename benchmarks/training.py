"""Train by every objective at its paper's size, on the device that there is, against a plain loop of the same model.

    python benchmarks/training.py [--seconds 5] [--device auto] [--small]

Of each row: examples a second of `sentbook.training.train`; the ratio to a loop that computes the same losses, batch
after batch, while torch's optimiser moves all parameters, every word vector among them where any is trained; the share
of the time in which steps waited for their batches; and the largest memory so far. Text is drawn at random. Both sides
take 200 steps, or fewer where these would take longer than so many seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

import numpy as np
import torch
from speed import ONE_EPOCH, drawn_lengths, drawn_text, drawn_weight, drawn_words

from sentbook.data.text import Vocabulary
from sentbook.data.types import LabelledPairs, ParaphrasePairs, ScoredPairs
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder, build
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.decoders import Kind
from sentbook.models.recurrent import BiLSTMEncoder
from sentbook.models.wsv import WSVEncoder
from sentbook.training import objectives, train
from sentbook.training.devices import described, device_of, peak_memory_bytes
from sentbook.training.objectives import Objective


def makers(small: bool) -> dict[str, Callable[[int], Objective]]:
    """Return what binds each objective to so many batches and an untrained encoder."""
    words, width = drawn_words(60 if small else 22_154), {"hidden": 4} if small else {}
    vocabulary, weight = Vocabulary(words), drawn_weight(len(words), 12 if small else 300)

    def sentences(count: int, seed: int = 0) -> list[str]:
        return drawn_text(words, drawn_lengths(count, 9.2, 0.63, 40, seed), seed)

    def data(stage: Objective, count: int) -> Any:
        if isinstance(stage, objectives.GenerationTraining):
            own = 8 if stage.model == "hierarchical" else 1
            tokens = vocabulary.encode(sentences(count * own + 1))
            return objectives.Text(tokens, np.arange(count) * own), objectives.Text(tokens, np.arange(1))
        values, sides = np.random.default_rng(0).random(count), (sentences(count), sentences(count, 1))
        scored = ScoredPairs("drawn", *sides, 1 + 4 * values, (1, 5))
        few = scored.take(np.arange(2))
        if isinstance(stage, objectives.MarginTraining):
            return ParaphrasePairs("drawn", *sides), [few]
        labelled = LabelledPairs("drawn", *sides, (3 * values).astype(np.int64), ("a", "b", "c"))
        if isinstance(stage, objectives.EntailmentTraining):
            return labelled, labelled.take(np.arange(2))
        return {"train": scored, "trial": few, "test": few}

    def bound(stage: Objective, options: Encoder, count: int) -> Objective:
        start = objectives.Start(build(options, weight, seed=0), vocabulary)
        return stage.changed(**ONE_EPOCH).bind(start, data(stage, count * stage.batch_size))

    infersent, cnn = BiLSTMEncoder(**width), CNNEncoder(filters=4) if small else CNNEncoder()
    rows: dict[str, tuple[Objective, Encoder]] = {
        "PP, margin": (objectives.MarginTraining(), AverageEncoder()),
        "CSE, margin": (objectives.MarginTraining(), CSEEncoder()),
        "WSV, similarity": (objectives.SimilarityTraining(), WSVEncoder(filters=4) if small else WSVEncoder()),
        "CSE, relatedness": (objectives.RelatednessTraining(**width), CSEEncoder()),
        "CSE, a head alone": (objectives.HeadTraining(**width, frozen=True, embedding_update="frozen"), CSEEncoder()),
        "InferSent, direct transfer": (objectives.DirectTransfer(), infersent),
        "InferSent, entailment": (objectives.EntailmentTraining(**width), infersent),
    }
    for kind in get_args(Kind):  # 64 sentences, or 8 paragraphs of 8
        size = 8 if kind == "hierarchical" else 64
        rows[f"CNN-LSTM, {kind}"] = objectives.GenerationTraining(model=kind, batch_size=size, **width), cnn
    return {name: partial(bound, *row) for name, row in rows.items()}


def plain(objective: Objective, device: torch.device) -> float:
    """Train by a loop as one writes it first; return seconds."""
    modules = torch.nn.ModuleList(filter(None, (objective.encoder, objective.head))).to(device).train()
    objective.encoder.embedding.weight.requires_grad_(objective.embedding_update != "frozen")
    trained = [parameter for parameter in modules.parameters() if parameter.requires_grad]
    optimiser = (torch.optim.SGD if objective.optimiser == "sgd" else torch.optim.Adam)(trained, lr=1e-3)
    rng, began = np.random.default_rng(0), time.monotonic()
    for _, batches in train.segments(objective, 0):
        for rows in batches:
            optimiser.zero_grad()
            loss = objective.compute_loss(objective.to_device(objective.batch(rows, rng)))
            loss.backward()
            optimiser.step()
    loss.item()  # waits for a GPU
    return time.monotonic() - began


def waited(batches: Iterator[Any], seconds: list[float]) -> Iterator[Any]:
    """Yield batches, and note how long each was waited for."""
    began = time.monotonic()
    for batch in batches:
        seconds.append(time.monotonic() - began)
        yield batch
        began = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    device, prepared = device_of(options.device), train.prepared
    print(f"on {described(device)}, {torch.get_num_threads()} threads")
    for name, maker in makers(options.small).items():
        two = plain(maker(2), device)
        objective = maker(max(2, min(200, int(2 * options.seconds / two))))
        seconds, waits = plain(objective, device), list[float]()
        train.prepared = lambda *given, waits=waits: waited(prepared(*given), waits)
        found = train.train(objective, seed=0, device=options.device, report=train.silent)
        print(
            f"{name:30}{len(waits):4} steps  {found.examples / found.seconds:10,.1f} examples/s  "
            f"{seconds / found.seconds:5.1f}x  waiting {sum(waits) / found.seconds:5.1%}  "
            f"{peak_memory_bytes() / 2**30:5.1f} GiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
