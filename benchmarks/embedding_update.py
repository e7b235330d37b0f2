"""Training pairs per second: lazy updates and collapsed sums against a plain dense reference, in the same run.

    python benchmarks/embedding_update.py [--pairs 6000] [--rounds 3] [--json FILE]

Both sides do the whole work of an epoch from raw sentences: tokenise, look up, batch, encode, search negatives with one
matrix product, loss, backward, Adam. The reference is what one would write first with torch: `nn.Embedding`,
`conv1d` over padded batches in random order, `torch.optim.Adam` over everything. V = 40,000 words drawn by Zipf's law,
D = 300, batch 100, lengths 5 to 25. Rounds alternate, so that a drifting machine slows both sides.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from sentbook.data.text import Vocabulary, tokenise_ptb
from sentbook.data.types import ScoredPairs
from sentbook.models import build
from sentbook.models.average import AverageEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.training.loop import fit, peak_memory_bytes
from sentbook.training.problems.paraphrase import ParaphraseProblem
from sentbook.training.settings import MarginTraining

WORDS, DIMENSION, BATCH = 40_000, 300, 100


def sentences(pairs: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Pairs of sentences over words w0, w1, ... whose frequencies fall as 1/rank."""
    rng = np.random.default_rng(seed)
    probability = 1 / np.arange(1, WORDS + 1)
    cumulative = np.cumsum(probability / probability.sum())

    def sentence() -> str:
        ranks = np.searchsorted(cumulative, rng.random(rng.integers(5, 26)))
        return " ".join(_name(int(rank)) for rank in ranks)

    return [sentence() for _ in range(pairs)], [sentence() for _ in range(pairs)]


def _name(rank: int) -> str:
    """A word of letters alone, as the tokeniser keeps it whole."""
    letters = ""
    while True:
        letters = chr(97 + rank % 26) + letters
        rank = rank // 26 - 1
        if rank < 0:
            return "w" + letters


class PlainEncoder(nn.Module):
    """The reference: embedding, then mean, or three convolutions summed over the windows of a padded batch."""

    def __init__(self, weight: torch.Tensor, kind: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(weight.clone(), freeze=False, padding_idx=0)
        self.convolutions = nn.ModuleList(
            [nn.Conv1d(DIMENSION, 100, width) for width in (1, 2, 3)] if kind == "cse" else []
        )

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        vectors = self.embedding(ids)
        inside = (ids != 0).unsqueeze(2)
        if not len(self.convolutions):
            return (vectors * inside).sum(1) / inside.sum(1)
        vectors = (vectors * inside).transpose(1, 2)
        return torch.cat([convolution(vectors).sum(2) for convolution in self.convolutions], dim=1)


def reference(kind: str, weight: torch.Tensor, vocabulary: Vocabulary, first: list[str], second: list[str]) -> float:
    """Seconds of an epoch of the plain implementation."""
    torch.manual_seed(0)
    model = PlainEncoder(weight, kind)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    started = time.perf_counter()
    sides = [
        [torch.tensor([vocabulary.id(word) for word in tokenise_ptb(text)]) for text in side]
        for side in (first, second)
    ]
    for rows in torch.randperm(len(first)).split(BATCH):
        vectors = [
            model(nn.utils.rnn.pad_sequence([side[row] for row in rows.tolist()], batch_first=True)) for side in sides
        ]
        unit = functional.normalize(torch.cat(vectors), dim=1)
        cosines = unit @ unit.T
        size = len(rows)
        forbidden = torch.eye(size, dtype=torch.bool).repeat(2, 2)
        negative = cosines.masked_fill(forbidden, -2).max(dim=1).values
        positive = cosines.diagonal(size).repeat(2)
        loss = functional.relu(0.4 - positive + negative).sum() / size
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return time.perf_counter() - started


def ours(kind: str, weight: torch.Tensor, vocabulary: Vocabulary, first: list[str], second: list[str]) -> float:
    """Seconds of an epoch of sentbook's loop with lazy updates."""
    settings = MarginTraining(
        epochs=1,
        batch_size=BATCH,
        margin=0.4,
        candidates="both sides",
        checks_per_epoch=1,
        keep="last",
        pull_back_words=0,
    )
    encoder = build(CSEEncoder() if kind == "cse" else AverageEncoder(), weight, seed=0)
    check = [ScoredPairs("none", first[:2], second[:2], np.array([0.0, 1.0]), (0, 1))]
    started = time.perf_counter()
    tokens = vocabulary.encode([*first, *second])
    small = {"none": (vocabulary.encode(first[:2]), vocabulary.encode(second[:2]))}
    fit(
        ParaphraseProblem(encoder, tokens, settings, check, small),
        settings,
        seed=0,
        device="cpu",
        report=lambda line: None,
    )
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    first, second = sentences(options.pairs)
    vocabulary = Vocabulary([_name(rank) for rank in range(WORDS)])
    weight = torch.randn(len(vocabulary), DIMENSION, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    print(f"{options.pairs} pairs, V = {WORDS:,}, D = {DIMENSION}, batch {BATCH}, {torch.get_num_threads()} threads")
    report: dict[str, dict[str, float]] = {}
    for kind, goal in (("pp", 10), ("cse", 5)):
        times: dict[Callable[..., float], list[float]] = {reference: [], ours: []}
        for _ in range(options.rounds):
            for side, taken in times.items():
                taken.append(side(kind, weight, vocabulary, first, second))
        dense, lazy = (options.pairs / statistics.median(times[side]) for side in (reference, ours))
        report[kind] = {"dense": dense, "lazy": lazy, "ratio": lazy / dense}
        print(
            f"{kind.upper():4} dense {dense:8,.0f} pairs/s   lazy {lazy:8,.0f} pairs/s   "
            f"ratio {lazy / dense:5.1f}x  (goal {goal}x)"
        )
    print(f"peak memory {peak_memory_bytes() / 2**20:,.0f} MiB")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
