"""Lines to vectors as `sentbook encode` streams them, against a loop of one sentence at a time.

    python benchmarks/encode_stream.py [--lines 5000] [--words 20000] [--dimension 300] [--rounds 3] [--json FILE]

Encoders with drawn weights, lines of 2 to 30 drawn words, no file read or written. Rounds alternate, so that a drifting
machine slows both sides; the median is told.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import time
from pathlib import Path

import numpy as np
import torch

from sentbook.data.text import Vocabulary
from sentbook.exchange.portable import Description, Portable
from sentbook.exchange.stream import encode_lines
from sentbook.models import build
from sentbook.models.average import AverageEncoder
from sentbook.models.bilstm import BiLSTMEncoder
from sentbook.models.build import Encoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.gran import GRANEncoder
from sentbook.models.wsv import WSVEncoder

ENCODERS: dict[str, Encoder] = {
    "PP": AverageEncoder(),
    "CSE": CSEEncoder(),
    "GRAN": GRANEncoder(),
    "InferSent 2 x 512": BiLSTMEncoder(hidden=512),
    "CNN 3 x 200": CNNEncoder(filters=200),
    "WSV": WSVEncoder(filters=200),
}


def model(encoder: Encoder, words: int, dimension: int) -> Portable:
    weight = torch.randn(words + 2, dimension, generator=torch.Generator().manual_seed(1))
    made = build(encoder, weight, seed=1).eval()
    description = Description(
        encoder=encoder, tokenisation="ptb", dimension=made.dimension, word_dimension=dimension, words=words
    )
    return Portable(made, Vocabulary([name(row) for row in range(words)]), description)


def name(row: int) -> str:
    """A word of letters alone for a number."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(row))


def drawn(count: int, words: int) -> list[str]:
    rng = np.random.default_rng(1)
    return [" ".join(name(row) for row in rng.integers(0, words, rng.integers(2, 31))) for _ in range(count)]


def measure(portable: Portable, sentences: list[str], rounds: int) -> tuple[float, float]:
    """Sentences a second of the stream and of the loop, whose vectors must be the same."""
    lines = [f"{sentence}\n".encode() for sentence in sentences]
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        started = time.perf_counter()
        target = io.BytesIO()
        encode_lines(portable, lines, target)
        seconds[0].append(time.perf_counter() - started)
        started = time.perf_counter()
        alone = np.concatenate([portable.encode([sentence]) for sentence in sentences])
        seconds[1].append(time.perf_counter() - started)
        streamed = np.load(io.BytesIO(target.getvalue()), allow_pickle=False)
        np.testing.assert_allclose(streamed, alone, atol=1e-4)
    stream, loop = (len(sentences) / statistics.median(side) for side in seconds)
    return stream, loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sentences = drawn(options.lines, options.words)
    print(f"{options.lines} lines, D = {options.dimension}, CPU, {torch.get_num_threads()} threads")
    report = {}
    for title, encoder in ENCODERS.items():
        stream, loop = measure(model(encoder, options.words, options.dimension), sentences, options.rounds)
        print(f"{title:18}  stream {stream:8,.0f}/s  loop {loop:7,.0f}/s  {stream / loop:5.1f}x")
        report[title] = {"stream": stream, "loop": loop}
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
