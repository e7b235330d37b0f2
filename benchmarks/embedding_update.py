"""Training pairs per second: lazy updates and collapsed sums against dense references, in the same run.

    python benchmarks/embedding_update.py [--pairs 6000] [--words 40000] [--past 0] [--rounds 3] [--json FILE]

All sides do the whole work of an epoch from raw sentences: tokenise, look up, batch, encode, search negatives, loss,
backward, Adam. The reference ``dense`` is what one would write first with torch: `nn.Embedding`, `conv1d` over padded
batches in random order, one matrix product for the negatives, `torch.optim.Adam` over everything. The reference
``published`` works as the trainer that Wieting et al. released in 2019 (for averages alone, text comes tokenised):
batches of 128, negatives sentence by sentence from a mega-batch that grows by a batch every 150, four encodings a step,
the gradients' norm cut at 5. Words are drawn by Zipf's law, D = 300, our batch 100 (beside it 128), lengths 5 to 25.
Rounds alternate, so that a drifting machine slows all sides; set OMP_NUM_THREADS=1 for one processor.

Training on the 524,236 phrases of profile small is ``--pairs 20000 --words 98000 --past 2048``: the words of their PPDB
part, and the batches of 128 that the published trainer has behind it in the middle of an epoch.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from functools import partial
from itertools import chain
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

DIMENSION, BATCH, THEIR_BATCH, MARGIN = 300, 100, 128, 0.4


def sentences(pairs: int, words: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Pairs of sentences over ``words`` words whose frequencies fall as 1/rank."""
    rng = np.random.default_rng(seed)
    probability = 1 / np.arange(1, words + 1)
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
        loss = functional.relu(MARGIN - positive + negative).sum() / size
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return time.perf_counter() - started


Batch = tuple[torch.Tensor, torch.Tensor]  # (B, T) ids padded with 0, (B,) lengths


def published(
    kind: str, weight: torch.Tensor, vocabulary: Vocabulary, first: list[str], second: list[str], past: int = 0
) -> float:
    """Seconds of an epoch as the trainer released by Wieting et al. 2019 goes through it, ``past`` batches behind."""
    torch.manual_seed(0)
    embedding = nn.Embedding.from_pretrained(weight.clone(), freeze=False)
    optimiser = torch.optim.Adam(embedding.parameters(), lr=1e-3)
    cosine, ranking = nn.CosineSimilarity(), nn.MarginRankingLoss(margin=MARGIN)

    def padded(rows: list[torch.Tensor]) -> Batch:
        return nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([len(row) for row in rows])

    def encode(batch: Batch) -> torch.Tensor:
        ids, lengths = batch
        inside = (torch.arange(ids.shape[1]) < lengths.unsqueeze(1)).float()
        return (embedding(ids) * inside.unsqueeze(2)).sum(1) / lengths.unsqueeze(1)

    def negatives(vectors: torch.Tensor, others: torch.Tensor, texts: list[torch.Tensor]) -> list[torch.Tensor]:
        found = []
        for at, vector in enumerate(vectors):
            similar = cosine(vector.expand_as(others), others)
            similar[at] = -1  # its own pair
            found.append(texts[int(similar.argmax())])
        return found

    started = time.perf_counter()
    batches = torch.randperm(len(first)).split(THEIR_BATCH)
    done = 0
    while done < len(batches):
        mega = batches[done : done + min(1 + (past + done) // 150, 60)]
        sides = [
            [[torch.tensor([vocabulary.id(word) for word in side[row].split()]) for row in rows] for rows in mega]
            for side in (first, second)
        ]
        with torch.no_grad():
            vectors = [torch.cat([encode(padded(texts)) for texts in side]) for side in sides]
            flat = [list(chain.from_iterable(side)) for side in sides]
            chosen = [negatives(vectors[0], vectors[1], flat[1]), negatives(vectors[1], vectors[0], flat[0])]
        for ours, theirs in zip(*sides, strict=True):
            hard = [padded([side.pop(0) for _ in ours]) for side in chosen]
            one, other, *far = (encode(batch) for batch in (padded(ours), padded(theirs), *hard))
            near, ones = cosine(one, other), torch.ones(len(ours))
            loss = ranking(near, cosine(one, far[0]), ones) + ranking(near, cosine(other, far[1]), ones)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(embedding.parameters(), 5.0)
            optimiser.step()
        done += len(mega)
    return time.perf_counter() - started


def ours(
    kind: str, weight: torch.Tensor, vocabulary: Vocabulary, first: list[str], second: list[str], batch: int = BATCH
) -> float:
    """Seconds of an epoch of sentbook's loop with lazy updates."""
    settings = MarginTraining(
        epochs=1,
        batch_size=batch,
        margin=MARGIN,
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
    parser.add_argument("--words", type=int, default=40_000)
    parser.add_argument("--past", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    first, second = sentences(options.pairs, options.words)
    vocabulary = Vocabulary([_name(rank) for rank in range(options.words)])
    weight = torch.randn(len(vocabulary), DIMENSION, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    print(f"{options.pairs} pairs, V = {options.words:,}, D = {DIMENSION}, {torch.get_num_threads()} threads")
    report: dict[str, dict[str, float]] = {}
    comparisons = (
        ("pp", "dense", reference, ours, 10),
        ("cse", "dense", reference, ours, 5),
        ("pp", "published", partial(published, past=options.past), partial(ours, batch=THEIR_BATCH), 50),
    )
    for kind, name, *sides, goal in comparisons:
        times: list[list[float]] = [[], []]
        for _ in range(options.rounds):
            for side, taken in zip(sides, times, strict=True):
                taken.append(side(kind, weight, vocabulary, first, second))
        slow, lazy = (options.pairs / statistics.median(taken) for taken in times)
        report[f"{kind} {name}"] = {name: slow, "lazy": lazy, "ratio": lazy / slow}
        print(
            f"{kind.upper():4} {name:9} {slow:8,.0f} pairs/s   lazy {lazy:8,.0f} pairs/s   "
            f"ratio {lazy / slow:5.1f}x  (goal {goal}x)"
        )
    print(f"peak memory {peak_memory_bytes() / 2**20:,.0f} MiB")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
