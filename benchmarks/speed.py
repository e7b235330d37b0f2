"""Speed of the package against plain implementations, both sides in the same run.

    python benchmarks/speed.py [lazy] [recurrent] [generation] [layer] [logistic] [--small] [--rounds 2] [--json FILE]

lazy        An epoch of PP and CSE from raw sentences: lazy updates of word vectors and collapsed sums, against
            `nn.Embedding`, `conv1d` over padded batches in random order, and `torch.optim.Adam` over everything.
recurrent   An epoch of direct transfer, and vectors from text, by InferSent, BiLSTM-Avg, GRAN, against `nn.LSTM` over
            every cell of a padded batch. Its backward direction reads sentences turned round within their own length.
generation  An epoch of the CNN-LSTM autoencoder, against `conv1d`, `nn.LSTM` and all logits of a padded batch.
layer       Forward and backward of WSV's exact additive layer, against the convolution of the word-pair map.
logistic    Nested cross-validation of logistic regressions, all folds at once, against scikit-learn on the same folds.

Text and features are drawn at random, in the sizes of the papers' data. Of recurrent, generation and layer both sides
have the same weights, and losses, vectors or cells are compared first. One thread; seconds are the processor's, so that
other work on the machine counts little, and rounds alternate. ``--small`` is for the tests.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from sentbook.data.text import TokenIds, Vocabulary, shuffled_batches, tokenise_ptb
from sentbook.data.types import ParaphrasePairs, ScoredPairs
from sentbook.evaluation.classification import SKIP_THOUGHTS_NESTED, assign_folds, evaluate, fold_order
from sentbook.models import CNN, GRAN, BiLSTM, SentenceEncoder, additive, build, encode_ids
from sentbook.models.additive import k_max_of_map
from sentbook.models.average import AverageEncoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.cse import CSEEncoder
from sentbook.models.decoders import END, EncoderDecoder, LSTMDecoder
from sentbook.models.losses import IGNORED
from sentbook.models.recurrent import BiLSTMEncoder, GRANEncoder
from sentbook.training.objectives import DirectTransfer, GenerationTraining, MarginTraining, Start, Text
from sentbook.training.objectives.generation import word_table
from sentbook.training.train import train

ONE_EPOCH = {"epochs": 1, "checks_per_epoch": 1, "keep": "last"}
Sides = Mapping[str, Callable[[], object]]
Report = dict[str, dict[str, float]]


def compare(title: str, count: float, sides: Sides, rounds: int, **counts: float) -> dict[str, float]:
    """Time the sides in turn; print and return what each does in a second, and the ratio of the last to the first.

    Args:
        count: what a side does in one call; ``counts`` has other numbers by side.
    """
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            started = time.process_time()
            side()
            seconds[name].append(time.process_time() - started)
    rates = {name: counts.get(name, count) / statistics.median(taken) for name, taken in seconds.items()}
    first, *_, last = rates.values()
    print(f"{title:40}" + "".join(f"  {name} {rate:,.1f}/s" for name, rate in rates.items()) + f"  {last / first:.1f}x")
    return {**rates, "ratio": last / first}


def drawn_lengths(count: int, median: float, deviation: float, longest: int, seed: int = 0) -> NDArray[np.int64]:
    """Lengths whose logarithm is about normal."""
    logs = np.random.default_rng(seed).normal(np.log(median), deviation, count)
    return np.exp(logs).round().astype(np.int64).clip(1, longest)


def drawn_words(count: int) -> list[str]:
    """Words of letters alone, which a tokeniser keeps whole."""
    return ["x" + "".join(letters) for letters in itertools.islice(itertools.product(ascii_lowercase, repeat=4), count)]


def drawn_text(words: list[str], lengths: NDArray[np.int64], seed: int = 0) -> list[str]:
    """Sentences of words whose frequencies fall as 1/rank."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(1 / np.arange(1, len(words) + 1))
    return [" ".join(words[at] for at in np.searchsorted(ends / ends[-1], rng.random(length))) for length in lengths]


def drawn_weight(words: int, dimension: int) -> Tensor:
    weight = torch.randn(words + 2, dimension, generator=torch.Generator().manual_seed(0))
    weight[0] = 0
    return weight


def step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


# -- lazy updates of word vectors --------------------------------------------------------------------------------------


class PlainSums(nn.Module):
    """Embedding, then a mean, or three convolutions summed over the windows of a padded batch."""

    def __init__(self, weight: Tensor, convolved: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(weight.clone(), freeze=False, padding_idx=0)
        widths = (1, 2, 3) if convolved else ()
        self.convolutions = nn.ModuleList(nn.Conv1d(weight.shape[1], 100, width) for width in widths)

    def forward(self, ids: Tensor) -> Tensor:
        inside = (ids != 0).unsqueeze(2)
        vectors = self.embedding(ids) * inside
        if not len(self.convolutions):
            return vectors.sum(1) / inside.sum(1)
        return torch.cat([convolution(vectors.transpose(1, 2)).sum(2) for convolution in self.convolutions], dim=1)


def lazy(small: bool, rounds: int) -> Report:
    pairs, words, size, margin = 300 if small else 6_000, drawn_words(60 if small else 40_000), 100, 0.4
    lengths = np.random.default_rng(0).integers(5, 26, pairs)
    texts = [drawn_text(words, lengths, seed) for seed in (0, 1)]
    vocabulary, weight = Vocabulary(words), drawn_weight(len(words), 300)
    settings = MarginTraining(**ONE_EPOCH, margin=margin, candidates="both sides", pull_back_words=0)
    few = [text[:2] for text in texts]
    check = [ScoredPairs("none", *few, np.array([0.0, 1.0]), (0, 1))]

    def plain(convolved: bool) -> None:
        model = PlainSums(weight, convolved)
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
        sides = [[torch.tensor([vocabulary.id(word) for word in tokenise_ptb(one)]) for one in text] for text in texts]
        for rows in torch.randperm(pairs).split(size):
            vectors = [model(pad_sequence([side[row] for row in rows.tolist()], batch_first=True)) for side in sides]
            unit = functional.normalize(torch.cat(vectors), dim=1)
            cosines, forbidden = unit @ unit.T, torch.eye(len(rows), dtype=torch.bool).repeat(2, 2)
            negative = cosines.masked_fill(forbidden, -2).max(dim=1).values
            positive = cosines.diagonal(len(rows)).repeat(2)
            step(optimiser, functional.relu(margin - positive + negative).sum() / len(rows))

    def ours(options: CSEEncoder | AverageEncoder) -> None:
        pairs = ParaphrasePairs("drawn", *texts)
        problem = settings.bind(Start(build(options, weight, seed=0), vocabulary), (pairs, check))
        train(problem, seed=0, device="cpu", report=lambda line: None)

    report: Report = {}
    for name, options in (("PP", AverageEncoder()), ("CSE", CSEEncoder())):
        sides = {"dense": partial(plain, name == "CSE"), "lazy": partial(ours, options)}
        report[name] = compare(f"{name}: training pairs", pairs, sides, rounds)
    return report


# -- recurrent encoders ------------------------------------------------------------------------------------------------


class PlainRecurrent(nn.Module):
    """Every cell of a padded batch is computed, then masked; with the weights of ``encoder``."""

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
        self.gate = copy.deepcopy(encoder.gate) if isinstance(encoder, GRAN) else None
        self.largest = isinstance(encoder, BiLSTM) and encoder.options.pool == "max"

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


def recurrent(small: bool, rounds: int) -> Report:
    pairs, dimension, hidden, size = (96, 8, 4, 32) if small else (3_200, 300, 100, 64)
    words = drawn_words(15_000)
    # As the training pairs of DNT's eight data sets: 9.2 words in the middle, and as long in a pair for the most part.
    texts = [drawn_text(words, drawn_lengths(pairs, 9.2, 0.63, 200), seed) for seed in (0, 1)]
    vocabulary, weight = Vocabulary(words), drawn_weight(len(words), dimension)
    data = ScoredPairs("pairs", *texts, np.random.default_rng(0).random(pairs), (0, 1))
    settings = DirectTransfer(**ONE_EPOCH, batch_size=size, embedding_update="frozen")
    ids = [[torch.tensor([vocabulary.id(word) for word in one.split()]) for one in text] for text in texts]

    def train_plain(encoder: SentenceEncoder) -> None:
        model, gold = PlainRecurrent(encoder), torch.from_numpy(data.gold).float()
        optimiser = torch.optim.Adam([value for value in model.parameters() if value.requires_grad], lr=1e-3)
        for rows in shuffled_batches(pairs, size, np.random.default_rng([0, 0])):
            both = model(pad_sequence([side[row] for side in ids for row in rows], batch_first=True)).chunk(2)
            step(optimiser, functional.mse_loss(functional.cosine_similarity(*both), gold[rows]))

    def train_ours(encoder: SentenceEncoder) -> None:
        splits = {"train": data, "trial": data.take(np.array([0, 1]))}
        problem = settings.bind(Start(copy.deepcopy(encoder), vocabulary, tokenisation="whitespace"), splits)
        train(problem, seed=0, device="cpu", report=lambda line: None)

    @torch.inference_mode()
    def encode_plain(encoder: SentenceEncoder) -> NDArray[np.float32]:
        model = PlainRecurrent(encoder)
        flat = [torch.tensor([vocabulary.id(word) for word in one.split()]) for text in texts for one in text]
        parts = [pad_sequence(flat[at : at + 64], batch_first=True) for at in range(0, len(flat), 64)]
        return torch.cat([model(part) for part in parts]).numpy()

    def encode(encoder: SentenceEncoder) -> NDArray[np.float32]:
        return encode_ids(encoder, vocabulary.encode([*texts[0], *texts[1]], "whitespace"))

    report: Report = {}
    pooled = {"InferSent": BiLSTMEncoder(hidden=hidden), "BiLSTM-Avg": BiLSTMEncoder(hidden=hidden, pool="mean")}
    for name, one in {**pooled, "GRAN": GRANEncoder(hidden=hidden)}.items():
        encoder = build(one, weight, seed=0)
        np.testing.assert_allclose(encode(encoder), encode_plain(encoder), atol=1e-5, err_msg=name)
        for what, plain, own in (("training", train_plain, train_ours), ("encoding", encode_plain, encode)):
            sides = {"padded": partial(plain, encoder), "ours": partial(own, encoder)}
            report[f"{name} {what}"] = compare(f"{name}: {what}, sentences", 2 * pairs, sides, rounds)
    return report


# -- generation --------------------------------------------------------------------------------------------------------


class PlainAutoencoder(nn.Module):
    """Every cell of a padded batch, and all logits; with the weights of ``model``."""

    def __init__(self, model: EncoderDecoder) -> None:
        super().__init__()
        encoder, decoder = model.encoder, model.decoders["same"]
        assert isinstance(encoder, CNN) and isinstance(decoder, LSTMDecoder) and decoder.opening is not None
        self.shortest, depth = encoder.minimum_length, encoder.embedding.dimension
        self.embedding = nn.Embedding.from_pretrained(encoder.embedding.weight.detach().clone(), False, padding_idx=0)
        self.convolutions = nn.ModuleList()
        for width, weight, bias in zip(encoder.options.widths, encoder.weights, encoder.biases, strict=True):
            convolution = nn.Conv1d(depth, encoder.options.filters, width)
            kernel = weight.detach().view(width, depth, encoder.options.filters).permute(2, 1, 0)
            convolution.load_state_dict({"weight": kernel, "bias": bias})
            self.convolutions.append(convolution)
        self.opening, self.lstm = nn.Parameter(decoder.opening.detach().clone()), copy.deepcopy(decoder.lstm)
        self.output = nn.Linear(decoder.hidden, len(decoder.output_bias))
        self.output.load_state_dict({"weight": decoder.output_weight, "bias": decoder.output_bias})

    def encode(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D) words to (B, F)."""
        found = []
        for convolution in map(cast, [nn.Conv1d] * len(self.convolutions), self.convolutions):
            values = torch.tanh(convolution(words.transpose(1, 2)))
            outside = torch.arange(values.shape[2]) >= (lengths - convolution.kernel_size[0] + 1).clamp(min=1)[:, None]
            found.append(values.masked_fill(outside.unsqueeze(1), -torch.inf).amax(dim=2))
        return torch.cat(found, dim=1)

    def loss(self, tokens: TokenIds, rows: NDArray[np.int64]) -> Tensor:
        """The mean loss of the words of sentences ``rows``, and of their ends."""
        ids = torch.from_numpy(tokens.padded(rows, self.shortest)[0])
        words = self.embedding(ids)
        code = self.encode(words, (ids != 0).sum(dim=1))
        inputs = torch.cat([self.opening.expand(len(ids), 1, -1), words], dim=1)
        inputs = torch.cat([inputs, code.unsqueeze(1).expand(-1, inputs.shape[1], -1)], dim=2)
        inside = functional.pad(ids != 0, (1, 0), value=True)  # the end is predicted from the last word
        target = functional.pad(ids, (0, 1), value=END).masked_fill(~inside, IGNORED)
        logits = self.output(self.lstm(inputs)[0])
        return functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=IGNORED)


def autoencoder(filters: int, hidden: int, words: int, dimension: int = 300, count: int = 512) -> GenerationTraining:
    """An untrained CNN-LSTM autoencoder and drawn sentences as long as those of the novels."""
    lengths, rows = drawn_lengths(count, 15, 0.85, 38), np.arange(count)
    tokens = TokenIds(np.random.default_rng(0).integers(2, words + 2, lengths.sum()), np.append(0, lengths.cumsum()))
    text = Text(tokens, rows)
    torch.manual_seed(0)
    vocabulary = Vocabulary([str(number) for number in range(words)])
    start = Start(CNN(word_table(vocabulary, dimension, seed=0), CNNEncoder(filters=filters)), vocabulary)
    settings = GenerationTraining(**ONE_EPOCH, hidden=hidden)
    return settings.bind(start, (text, Text(tokens, rows[:9])))


def generation(small: bool, rounds: int) -> Report:
    size = 64

    def plain(problem: GenerationTraining) -> None:
        model, tokens = PlainAutoencoder(problem._decoding), problem._texts[0].tokens
        parameters = [value for value in model.parameters() if value.requires_grad]
        optimiser = torch.optim.Adam(parameters, lr=problem.learning_rate)
        for rows in shuffled_batches(len(tokens.lengths), size, np.random.default_rng([0, 0])):
            optimiser.zero_grad()
            model.loss(tokens, rows).backward()
            nn.utils.clip_grad_norm_(parameters, problem.clip or torch.inf)
            optimiser.step()

    def ours(problem: GenerationTraining) -> None:
        train(copy.deepcopy(problem), seed=0, device="cpu", report=lambda line: None)

    report: Report = {}
    for sizes in [(4, 5, 40, 6, 128)] if small else [(200, 300, 10_000), (800, 600, 22_154)]:
        problem = autoencoder(*sizes)
        tokens, rows = problem._texts[0].tokens, np.arange(size)
        losses = [
            problem.compute_loss(problem.batch(rows)),
            PlainAutoencoder(problem._decoding).loss(tokens, rows),
        ]
        np.testing.assert_allclose(*(loss.item() for loss in losses), rtol=1e-4)
        sides = {"padded": partial(plain, problem), "ours": partial(ours, problem)}
        name = f"autoencoder, 3 x {sizes[0]} filters"
        report[name] = compare(f"{name}: sentences", len(tokens.lengths), sides, rounds)
    return report


# -- WSV's layer -------------------------------------------------------------------------------------------------------


def layer(small: bool, rounds: int) -> Report:
    dimension, filters, batch, k = (4, 5, 3, 3) if small else (300, 600, 20, 3)

    def exact(words: Tensor, kernel: Tensor, weights: Tensor, places: Tensor) -> Tensor:
        terms = additive.row_and_column_terms(additive.projections(words, kernel), weights, places)
        return additive.k_max(terms, torch.full((len(places),), places.shape[1]), k)

    def by_map(words: Tensor, kernel: Tensor, weights: Tensor, places: Tensor) -> Tensor:
        return k_max_of_map(words[places], kernel, weights, k)

    report: Report = {}
    for length in (5, 8) if small else (12, 20, 32):
        generator = torch.Generator().manual_seed(length)
        words = torch.randn(batch * length + 1, dimension, generator=generator)
        words[0] = 0  # padding
        kernel = 0.02 * torch.randn(3, 3, dimension, filters, generator=generator)
        leaves = [leaf.requires_grad_() for leaf in (words, kernel, torch.tensor([0.45, 0.55]))]
        places = torch.arange(1, len(words)).view(batch, length)
        torch.testing.assert_close(exact(*leaves, places), by_map(*leaves, places), rtol=1e-3, atol=1e-4)

        def run(way: Callable[..., Tensor], inputs: list[Tensor], places: Tensor) -> None:
            functional.relu(way(*inputs, places)).mean(dim=0).sum().backward()

        sides = {name: partial(run, way, leaves, places) for name, way in (("map", by_map), ("exact", exact))}
        report[f"n = {length}"] = compare(f"WSV's layer, n = {length}: batches", 1, sides, rounds)
    return report


# -- logistic regressions ----------------------------------------------------------------------------------------------


def drawn_features(rows: int, features: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The tanh of mixtures of 200 hidden numbers, and labels that follow these, with exceptions."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(rows, 200)) / np.sqrt(1 + np.arange(200) / 10)
    labels = np.where(rng.random(rows) < 0.3, rng.random(rows) < 0.5, hidden @ rng.normal(size=200) > 0)
    mixed = hidden @ rng.normal(size=(200, features)) / np.sqrt(200) + 0.3 * rng.normal(size=(rows, features))
    return np.tanh(0.5 + mixed).astype(np.float32), labels.astype(np.int64)


def logistic(small: bool, rounds: int) -> Report:
    """The protocol of skip-thoughts; scikit-learn does the first outer fold, ours all."""
    protocol = replace(SKIP_THOUGHTS_NESTED, folds=3 if small else SKIP_THOUGHTS_NESTED.folds)
    table, labels = drawn_features(*((100, 10) if small else (3_771, 2_400)))  # as many as in CR
    order = fold_order(protocol.order, labels, protocol.seed)
    outside = assign_folds(labels, order, protocol.folds, protocol.stratified, protocol.seed)
    accuracy: dict[str, float] = {}

    def right(c: float, training: NDArray[np.bool_], held: NDArray[np.bool_]) -> float:
        model = LogisticRegression(C=c, max_iter=10_000).fit(table[training], labels[training])
        return float((model.predict(table[held]) == labels[held]).mean())

    def plain() -> None:
        inside = assign_folds(labels, order[outside[order] != 0], protocol.folds, protocol.stratified, protocol.seed)
        splits = [((inside >= 0) & (inside != part), inside == part) for part in range(protocol.folds)]
        means = [np.mean([right(c, *split) for split in splits]) for c in protocol.grid]
        chosen = protocol.grid[int(np.argmax(np.round(means, protocol.digits)))]
        accuracy["scikit-learn"] = right(chosen, outside != 0, outside == 0)

    def ours() -> None:
        found = evaluate(table, labels, protocol, precision="float32", tolerance=1e-9)
        accuracy["ours"] = float((found.predicted == found.gold)[found.fold == 0].mean())

    fits = len(protocol.grid) * protocol.folds + 1
    sides = {"scikit-learn": plain, "ours": ours}
    report = compare("logistic regressions", fits, sides, 1, ours=protocol.folds * fits)
    print(f"{'':40}  accuracy of the first outer fold: {accuracy}")
    return {"logistic": report}


BENCHMARKS = {"lazy": lazy, "recurrent": recurrent, "generation": generation, "layer": layer, "logistic": logistic}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    report = {name: BENCHMARKS[name](options.small, options.rounds) for name in options.names or BENCHMARKS}
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
