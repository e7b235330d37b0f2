"""Memory of a training over 70 million sentences: examples, their lengths, the order of an epoch, and a step.

    python benchmarks/books_memory.py [--sentences 70000000] [--kind composite]

Token ids and the sentences' bounds are memory-mapped; the files here are as large as those of real text, and hold one
word over and over. Aim: at most 4 GB, what torch itself takes included.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch

from sentbook.data.novels import Books, Limits
from sentbook.data.text import TokenIds, Vocabulary, bucketed_batches
from sentbook.models import CNN
from sentbook.models.encoder_decoder import EncoderDecoder
from sentbook.training.devices import peak_memory_bytes
from sentbook.training.problems.generation import GenerationProblem, OrderedSentences

WORDS, BOOKS, LENGTHS = 22_154, 7_000, (8, 20)


def written(folder: Path, sentences: int) -> Books:
    """Books of ``sentences`` sentences in all, of 8 to 20 words."""
    offsets = np.lib.format.open_memmap(folder / "offsets.npy", mode="w+", dtype=np.int64, shape=(sentences + 1,))
    rng, offsets[0] = np.random.default_rng(0), 0
    for at in range(0, sentences, 1 << 20):
        lengths = rng.integers(*LENGTHS, min(1 << 20, sentences - at))
        offsets[at + 1 : at + 1 + len(lengths)] = offsets[at] + np.cumsum(lengths)
    flat = np.lib.format.open_memmap(folder / "flat.npy", mode="w+", dtype=np.uint16, shape=(int(offsets[-1]),))
    del offsets, flat
    tokens = TokenIds(np.load(folder / "flat.npy", mmap_mode="r"), np.load(folder / "offsets.npy", mmap_mode="r"))
    bounds = np.linspace(0, sentences, BOOKS + 1).astype(np.int64)
    held = np.arange(BOOKS) % 5_000 == 4_999
    vocabulary = Vocabulary([f"w{number}" for number in range(WORDS)])
    return Books("generated", tokens, bounds, tuple(map(str, range(BOOKS))), held, vocabulary, "ptb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=70_000_000)
    parser.add_argument("--kind", default="composite", choices=("autoencoder", "future predictor", "composite"))
    arguments = parser.parse_args()
    limits = Limits(longest=38)
    with tempfile.TemporaryDirectory() as folder:
        books = written(Path(folder), arguments.sentences)
        before = peak_memory_bytes()
        texts = [OrderedSentences.of(books, part, limits, kind=arguments.kind) for part in ("train", "held out")]
        encoder = CNN(torch.zeros(WORDS + 2, 300), filters=200)
        problem = GenerationProblem(EncoderDecoder(encoder, arguments.kind, 300, seed=0), *texts)
        batches = bucketed_batches(problem.lengths, 64, np.random.default_rng(0))
        problem.loss(batches[0], np.random.default_rng(0)).backward()
    print(f"{arguments.sentences:,} sentences, {len(batches):,} batches of an epoch, {arguments.kind}")
    print(f"peak {peak_memory_bytes() / 1e9:.2f} GB, before the examples {before / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
