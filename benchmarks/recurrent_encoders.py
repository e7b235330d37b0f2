"""Sentences per second of the recurrent encoders, training and encoding, against plain padded batches in the same run.

    python benchmarks/recurrent_encoders.py [--pairs 3200] [--rounds 3] [--hidden 100] [--data auto] [--json FILE]

InferSent (BiLSTM, maximum), BiLSTM-Avg (mean) and GRAN; D = 300, h = 100 of each direction. The reference is what one
would write first with torch: `nn.LSTM` over every cell of a batch that is padded to its longest sentence, then a masked
pool. Its backward direction is a second `nn.LSTM` over sentences turned round within their own length, so that it gives
the vectors that packing gives; without turning it would begin in the padding. Both sides have the same weights, and
the vectors of all sentences are compared before anything is timed.

Training: steps of Adam that move the cosine of a pair towards a random score, words frozen, token ids at hand; pairs
in random order or in batches of similar length. Encoding: from text to vectors; the reference takes 64 sentences at a
time in file order. Sentences are the training pairs of the eight transfer data sets one after the other, where
SENTBOOK_DATA names them, else of drawn lengths like theirs. One thread; seconds are the processor's, so that other work
on the machine counts little, and rounds alternate.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from sentbook.data import sources, suites
from sentbook.data.text import Vocabulary, bucketed_batches, shuffled_batches, tokenise_ptb
from sentbook.data.types import ScoredPairs
from sentbook.models import GRAN, BiLSTM, SentenceEncoder, build, encode_ids
from sentbook.models.bilstm import BiLSTMEncoder
from sentbook.models.build import Encoder
from sentbook.models.gran import GRANEncoder
from sentbook.training.loop import fit
from sentbook.training.problems.similarity import SimilarityProblem
from sentbook.training.settings import DirectTransfer

DATASETS = ("stsb", "sick", "sts12", "sim", "rel", "ma", "pac", "sag")
WORDS, ENCODED_AT_ONCE, GOAL = 15_000, 64, 2.0
# Of the pooled training sentences of DATASETS: exp of the mean, and the deviation, of log n; its correlation in a pair.
MEDIAN, DEVIATION, CORRELATION, LONGEST = 9.2, 0.63, 0.72, 200


class Work(NamedTuple):
    """Tokenised pairs with random scores, and random vectors of their words."""

    pairs: ScoredPairs
    vocabulary: Vocabulary
    weight: Tensor

    @property
    def sentences(self) -> list[str]:
        """First members in file order, then second ones."""
        return [*self.pairs.first, *self.pairs.second]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) words of the longer member of each pair."""
        return np.array([max(map(_length, pair)) for pair in zip(self.pairs.first, self.pairs.second, strict=True)])


def _length(sentence: str) -> int:
    return sentence.count(" ") + 1


def pooled() -> tuple[list[str], list[str]]:
    """The training pairs of the eight transfer data sets, tokenised, one set after the other."""
    parts = [suites.pairs(dataset, "train") for dataset in DATASETS]
    first = [" ".join(tokenise_ptb(text)) for part in parts for text in part.first]
    return first, [" ".join(tokenise_ptb(text)) for part in parts for text in part.second]


def drawn(pairs: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Pairs of sentences of random words; the logarithm of their lengths is normal, and correlated within a pair."""
    rng = np.random.default_rng(seed)
    covariance = DEVIATION**2 * np.array([[1, CORRELATION], [CORRELATION, 1]])
    logs = rng.multivariate_normal([np.log(MEDIAN)] * 2, covariance, size=pairs)
    lengths = np.exp(logs).round().astype(int).clip(1, LONGEST)
    sides = [[" ".join(map(str, rng.integers(WORDS, size=length))) for length in side] for side in lengths.T]
    return sides[0], sides[1]


def work(first: list[str], second: list[str], pairs: int, dimension: int, seed: int = 0) -> Work:
    """``pairs`` of the given ones, drawn by the seed and kept in file order."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(first))[:pairs]).tolist()
    first, second = [first[row] for row in rows], [second[row] for row in rows]
    vocabulary = Vocabulary(sorted({word for sentence in [*first, *second] for word in sentence.split()}))
    weight = torch.randn(len(vocabulary), dimension, generator=torch.Generator().manual_seed(seed))
    weight[0] = 0
    return Work(ScoredPairs("pairs", first, second, rng.random(len(first)), (0, 1)), vocabulary, weight)


def encoders(hidden: int, weight: Tensor) -> dict[str, SentenceEncoder]:
    """The three encoders by name."""
    configs: dict[str, Encoder] = {
        "InferSent": BiLSTMEncoder(hidden=hidden, pool="max"),
        "BiLSTM-Avg": BiLSTMEncoder(hidden=hidden, pool="mean"),
        "GRAN": GRANEncoder(hidden=hidden),
    }
    return {name: build(config, weight, seed=0) for name, config in configs.items()}


class PlainEncoder(nn.Module):
    """The reference, with the weights of ``encoder``: every cell of a padded batch is computed, then masked."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        super().__init__()
        assert isinstance(encoder, BiLSTM | GRAN)
        self.embedding = nn.Embedding.from_pretrained(encoder.embedding.weight.detach().clone(), padding_idx=0)
        values = encoder.lstm.state_dict()
        self.directions = nn.ModuleList()
        for ending in ("", "_reverse") if encoder.lstm.bidirectional else ("",):
            lstm = nn.LSTM(encoder.lstm.input_size, encoder.lstm.hidden_size, batch_first=True)
            lstm.load_state_dict({name: values[name + ending] for name in lstm.state_dict()})
            self.directions.append(lstm)
        self.gate: nn.Linear | None = None
        if isinstance(encoder, GRAN):
            self.gate = nn.Linear(encoder.gate.in_features, encoder.gate.out_features)
            self.gate.load_state_dict(encoder.gate.state_dict())
        self.largest = isinstance(encoder, BiLSTM) and encoder.pool == "max"

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) ids to (B, F) vectors."""
        words, inside = self.embedding(ids), (ids != 0).unsqueeze(2)
        lengths = inside.sum(dim=1)
        found = self.directions[0](words)[0]
        if len(self.directions) == 2:
            steps = torch.arange(ids.shape[1])
            turned = torch.where(steps < lengths, lengths - 1 - steps, steps).unsqueeze(2)
            backward = self.directions[1](words.gather(1, turned.expand_as(words)))[0]
            found = torch.cat([found, backward.gather(1, turned.expand_as(backward))], dim=2)
        if self.gate is not None:
            found = words * torch.sigmoid(self.gate(torch.cat([words, found], dim=2)))
        if self.largest:
            return found.masked_fill(~inside, -torch.inf).amax(dim=1)
        return (found * inside).sum(dim=1) / lengths


def _ids(vocabulary: Vocabulary, sentences: list[str]) -> list[Tensor]:
    return [torch.tensor([vocabulary.id(word) for word in sentence.split()]) for sentence in sentences]


def batches(lengths: NDArray[np.int64], size: int, bucket: bool) -> list[NDArray[np.int64]]:
    """The batches of pairs of the first epoch of `sentbook.training.loop.fit` with seed 0."""
    rng = np.random.default_rng([0, 0])
    return bucketed_batches(lengths, size, rng) if bucket else shuffled_batches(len(lengths), size, rng)


def cells_a_word(work: Work, size: int, bucket: bool) -> float:
    """Cells of an epoch's padded batches for each word in them."""
    lengths = work.lengths
    cells = sum(2 * len(rows) * int(lengths[rows].max()) for rows in batches(lengths, size, bucket))
    return cells / sum(map(_length, work.sentences))


def train_plain(encoder: SentenceEncoder, work: Work, size: int, bucket: bool) -> tuple[float, float]:
    """Seconds and mean loss of an epoch of the reference, on a copy."""
    model = PlainEncoder(encoder)
    optimiser = torch.optim.Adam([value for value in model.parameters() if value.requires_grad], lr=1e-3)
    sides = [_ids(work.vocabulary, side) for side in (work.pairs.first, work.pairs.second)]
    gold = torch.from_numpy(work.pairs.gold).float()
    lengths, losses = work.lengths, []
    started = time.process_time()
    for rows in batches(lengths, size, bucket):
        padded = pad_sequence([side[row] for side in sides for row in rows], batch_first=True)
        first, second = model(padded).chunk(2)
        loss = functional.mse_loss(functional.cosine_similarity(first, second), gold[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return time.process_time() - started, statistics.fmean(losses)


def train_ours(encoder: SentenceEncoder, work: Work, size: int, bucket: bool) -> tuple[float, float]:
    """Seconds and mean loss of an epoch of sentbook's loop, on a copy."""
    settings = DirectTransfer(epochs=1, batch_size=size, embedding_update="frozen", bucket=bucket, keep="last")
    check = ScoredPairs("check", work.pairs.first[:2], work.pairs.second[:2], np.array([0.0, 1.0]), (0, 1))
    splits = {"train": work.pairs, "trial": check}
    problem = SimilarityProblem(copy.deepcopy(encoder), work.vocabulary, settings, splits, "whitespace")
    started = time.process_time()
    history = fit(problem, settings, seed=0, device="cpu", report=lambda line: None)
    seconds = time.process_time() - started
    [loss] = [point["value"] for point in history.curve if point["metric"] == "loss"]
    return seconds, loss


@torch.inference_mode()
def encode_plain(encoder: SentenceEncoder, work: Work, by_length: bool) -> NDArray[np.float32]:
    """(N, F) vectors of the reference, of sentences in file order or sorted by length."""
    model = PlainEncoder(encoder)
    ids = _ids(work.vocabulary, work.sentences)
    order = np.argsort([len(sentence) for sentence in ids], kind="stable") if by_length else np.arange(len(ids))
    vectors = np.empty((len(ids), encoder.dimension), dtype=np.float32)
    for start in range(0, len(ids), ENCODED_AT_ONCE):
        rows = order[start : start + ENCODED_AT_ONCE]
        vectors[rows] = model(pad_sequence([ids[row] for row in rows], batch_first=True)).numpy()
    return vectors


def encode_ours(encoder: SentenceEncoder, work: Work, distinct: bool = True) -> NDArray[np.float32]:
    """(N, F) vectors of `encode_ids`, each distinct sentence once unless it is not wanted."""
    sentences = work.sentences
    if not distinct:
        return encode_ids(encoder, work.vocabulary.encode(sentences, "whitespace"))
    place = {sentence: row for row, sentence in enumerate(dict.fromkeys(sentences))}
    vectors = encode_ids(encoder, work.vocabulary.encode(list(place), "whitespace"))
    return vectors[[place[sentence] for sentence in sentences]]


# Sides by what the JSON calls them, the reference first.
TRAINING: dict[str, Callable[[SentenceEncoder, Work, int], tuple[float, float]]] = {
    "padded shuffled": lambda encoder, work, size: train_plain(encoder, work, size, bucket=False),
    "padded by length": lambda encoder, work, size: train_plain(encoder, work, size, bucket=True),
    "ours shuffled": lambda encoder, work, size: train_ours(encoder, work, size, bucket=False),
    "ours": lambda encoder, work, size: train_ours(encoder, work, size, bucket=True),
}
ENCODING: dict[str, Callable[[SentenceEncoder, Work], NDArray[np.float32]]] = {
    "padded in file order": lambda encoder, work: encode_plain(encoder, work, by_length=False),
    "padded by length": lambda encoder, work: encode_plain(encoder, work, by_length=True),
    "ours, all": lambda encoder, work: encode_ours(encoder, work, distinct=False),
    "ours": encode_ours,
}


def check_same(name: str, encoder: SentenceEncoder, work: Work) -> None:
    """Raises AssertionError where two sides give a sentence different vectors."""
    expected, *others = (encode(encoder, work) for encode in ENCODING.values())
    for vectors in others:
        np.testing.assert_allclose(vectors, expected, atol=1e-5, err_msg=name)


def measure(hidden: int, work: Work, size: int, rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """Sentences per second by encoder, by ``training`` or ``encoding``, and by side: medians over rounds."""
    report: dict[str, dict[str, dict[str, float]]] = {}
    for name, encoder in encoders(hidden, work.weight).items():
        check_same(name, encoder, work)
        steps: dict[str, list[float]] = {side: [] for side in TRAINING}
        whole: dict[str, list[float]] = {side: [] for side in ENCODING}
        for _ in range(rounds):
            losses: dict[str, float] = {}
            for side, train in TRAINING.items():
                seconds, losses[side] = train(encoder, work, size)
                steps[side].append(seconds)
            # The same batches, hence the same losses: both sides do the same steps.
            for plain, ours in (("padded shuffled", "ours shuffled"), ("padded by length", "ours")):
                np.testing.assert_allclose(losses[ours], losses[plain], rtol=1e-3, err_msg=name)
            for side, encode in ENCODING.items():
                started = time.process_time()
                encode(encoder, work)
                whole[side].append(time.process_time() - started)
        report[name] = {
            part: {side: len(work.sentences) / statistics.median(seconds) for side, seconds in sides.items()}
            for part, sides in (("training", steps), ("encoding", whole))
        }
        print_rates(name, report[name])
    return report


def print_rates(name: str, rates: dict[str, dict[str, float]]) -> None:
    """Rates of each side and their ratios."""
    training, encoding = rates["training"], rates["encoding"]
    plain, ours = training["padded shuffled"], training["ours"]
    print(f"{name:11} training  reference {plain:8,.0f} /s   ours {ours:8,.0f} /s   ratio {ours / plain:5.1f}x")
    padded, shuffled = training["padded by length"], training["ours shuffled"]
    print(
        f"{'':11}   by length against shuffled: padded {padded / plain:.1f}x to {padded:,.0f} /s (goal {GOAL:g}x), "
        f"packed {ours / shuffled:.1f}x from {shuffled:,.0f} /s"
    )
    plain, ours, every = (encoding[side] for side in ("padded in file order", "ours", "ours, all"))
    print(f"{'':11} encoding  reference {plain:8,.0f} /s   ours {ours:8,.0f} /s   ratio {ours / plain:5.1f}x")
    print(
        f"{'':11}   sorted by length against file order: padded {encoding['padded by length'] / plain:.1f}x; "
        f"each distinct sentence once: {ours / every:.1f}x"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3_200, help="rounded down to whole batches")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dimension", type=int, default=300)
    parser.add_argument("--hidden", type=int, default=100)
    parser.add_argument("--batch", type=int, default=64, help="pairs of a training step")
    parser.add_argument("--data", default="auto", choices=["auto", "pooled", "drawn"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    real = options.data == "pooled" or (options.data == "auto" and sources.mirror() is not None)
    first, second = pooled() if real else drawn(options.pairs)
    pairs = min(options.pairs, len(first))
    given = work(first, second, max(options.batch, pairs - pairs % options.batch), options.dimension)
    sentences = given.sentences
    lengths = np.array([_length(sentence) for sentence in sentences])
    print(
        f"{len(sentences):,} sentences ({len(set(sentences)):,} distinct) "
        + ("of the eight transfer data sets" if real else f"of drawn lengths, log n normal ({MEDIAN}, {DEVIATION})")
        + f": mean {lengths.mean():.1f} words, 99 % up to {np.percentile(lengths, 99):.0f}, longest {lengths.max()}"
    )
    print(f"D = {options.dimension}, h = {options.hidden}, batches of {options.batch} pairs, one thread")
    cells = {bucket: cells_a_word(given, options.batch, bucket) for bucket in (False, True)}
    print(
        f"cells a word in a training's padded batches: {cells[False]:.1f} shuffled, {cells[True]:.1f} by length, "
        f"{cells[False] / cells[True]:.1f}x fewer\n"
        "ours packs sentences, so that its LSTM never meets padding and batches by length give it less: fewer time\n"
        "steps for the same words, and fewer cells below and above the LSTM"
    )
    report = measure(options.hidden, given, options.batch, options.rounds)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
