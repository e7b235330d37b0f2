"""Sentences per second of encoder-decoder training, and its share of matrix products, against a plain reference.

    python benchmarks/encoder_decoder.py [--kind autoencoder] [--small] [--sentences 512] [--rounds 2] [--apart]
        [--device auto] [--json FILE]

The CNN-LSTM models at the size of Gan et al. 2017: 3 x 800 filters, LSTMs of 600, 22,154 words of 300 numbers, batches
of 64 sentences; ``--small`` has 3 x 200 filters, LSTMs of 300 and 10,000 words. Sentences are random words, of lengths
like those of the novels: 15 words on average, at most 38. The reference is what one would write first with torch:
`nn.Conv1d` and tanh over every cell of a padded batch in random order, then a masked maximum; `nn.LSTM` with the
sentence vector beside the word at every step; `nn.Linear` to the whole vocabulary, all logits at once, and
`cross_entropy` that ignores padding. Both sides have the same weights, the same Adam and the same clipping, and their
losses of a batch are compared before anything is timed. ``--apart`` also times the reference in batches of similar
length and ours in random order.

On the CPU: one thread, float32 and ours in bf16 as well; seconds are the processor's, so that other work on the machine
counts little, and rounds alternate. On CUDA: bf16, seconds of the clock after a warm-up, for batches of 64 and of
``--batch``. The share of matrix products is of the time of torch's own operations, by its profiler; a fused convolution
or LSTM counts as one.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from sentbook.data.novels import PARAGRAPH
from sentbook.data.text import TokenIds, Vocabulary, bucketed_batches, shuffled_batches
from sentbook.models import CNN
from sentbook.models.decoders import DecoderOptions, HierarchicalDecoder, LSTMDecoder
from sentbook.models.decoders.lstm import END
from sentbook.models.encoder_decoder import EncoderDecoder, Kind
from sentbook.models.losses.reconstruction import IGNORED
from sentbook.training import optim
from sentbook.training.loop import device_of, fit
from sentbook.training.problems.generation import GenerationProblem, OrderedSentences, word_table
from sentbook.training.settings import GenerationTraining

KINDS: tuple[Kind, ...] = get_args(Kind)
GOAL, EPOCH, GPU_MINUTES = 2.0, 70_000_000, 30
# Of the novels' sentences of at most 38 words: the logarithm of the length is about normal.
MEDIAN, DEVIATION, LONGEST = 15, 0.85, 38
# Operations that multiply matrices, or are made of little else, by how their names begin.
PRODUCTS = (
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::baddbmm",
    "aten::addbmm",
    "aten::mv",
    "aten::addmv",
    "aten::mkldnn_convolution",
    "aten::mkldnn_rnn_layer",
    "aten::_slow_conv2d",
    "aten::cudnn_convolution",
    "aten::_cudnn_rnn",
)


class Size(NamedTuple):
    """Of a model."""

    words: int = 22_154
    dimension: int = 300
    filters: int = 800
    hidden: int = 600


PAPER, SMALL = Size(), Size(words=10_000, filters=200, hidden=300)


def drawn(sentences: int, words: int, seed: int = 0) -> OrderedSentences:
    """A text of random words, all sentences of one book."""
    rng = np.random.default_rng(seed)
    lengths = np.zeros(0, dtype=np.int64)
    while len(lengths) < sentences:
        more = np.exp(rng.normal(np.log(MEDIAN), DEVIATION, sentences)).round().astype(np.int64)
        lengths = np.concatenate([lengths, more[(more >= 1) & (more <= LONGEST)]])
    offsets = np.concatenate([[0], lengths[:sentences].cumsum()])
    rows = np.arange(sentences)
    paragraphs = rows[: 1 - PARAGRAPH : PARAGRAPH]
    return OrderedSentences(TokenIds(rng.integers(2, words + 2, offsets[-1]), offsets), rows, rows[:-1], paragraphs)


# -- the reference -----------------------------------------------------------------------------------------------------


class PlainDecoder(nn.Module):
    """An LSTM over padded words, the sentence's vector beside each, and all logits."""

    def __init__(self, decoder: LSTMDecoder) -> None:
        super().__init__()
        assert decoder.opening is not None
        self.opening, self.lstm = nn.Parameter(decoder.opening.detach().clone()), copy.deepcopy(decoder.lstm)
        self.output = nn.Linear(decoder.hidden, len(decoder.output_bias))
        self.output.load_state_dict({"weight": decoder.output_weight, "bias": decoder.output_bias})

    def forward(self, words: Tensor, ids: Tensor, codes: Tensor) -> Tensor:
        """The mean loss of (B, T) ids, whose vectors are (B, T, D), from (B, F) codes."""
        opening = self.opening.expand(len(ids), 1, -1)
        inputs = torch.cat([opening, words], dim=1)
        inputs = torch.cat([inputs, codes.unsqueeze(1).expand(-1, inputs.shape[1], -1)], dim=2)
        logits = self.output(self.lstm(inputs)[0])
        inside = functional.pad(ids != 0, (1, 0), value=True)  # the end is predicted from the last word
        target = functional.pad(ids, (0, 1), value=END).masked_fill(~inside, IGNORED)
        return functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=IGNORED)


class PlainModel(nn.Module):
    """The reference, with the weights of ``model``: every cell of a padded batch is computed."""

    def __init__(self, model: EncoderDecoder) -> None:
        super().__init__()
        encoder = model.encoder
        assert isinstance(encoder, CNN)
        self.kind, self.shortest = model.kind, encoder.minimum_length
        self.embedding = nn.Embedding.from_pretrained(encoder.embedding.weight.detach().clone(), False, padding_idx=0)
        depth = encoder.embedding.dimension
        self.convolutions = nn.ModuleList()
        for width, weight, bias in zip(encoder.widths, encoder.weights, encoder.biases, strict=True):
            convolution = nn.Conv1d(depth, encoder.filters, width)
            kernel = weight.detach().view(width, depth, encoder.filters).permute(2, 1, 0)
            convolution.load_state_dict({"weight": kernel, "bias": bias})
            self.convolutions.append(convolution)
        self.decoders, self.paragraph, self.opening = nn.ModuleDict(), None, None
        for name, decoder in model.decoders.items():
            if isinstance(decoder, HierarchicalDecoder):
                self.paragraph = copy.deepcopy(decoder.paragraph)
                self.opening = nn.Parameter(decoder.opening.detach().clone())
                decoder = decoder.sentence
            assert isinstance(decoder, LSTMDecoder)
            self.decoders[name] = PlainDecoder(decoder)

    def encode(self, words: Tensor, ids: Tensor) -> Tensor:
        """(B, T, D) vectors of (B, T) ids to (B, F)."""
        lengths, found = (ids != 0).sum(dim=1), []
        for convolution in self.convolutions:
            values = torch.tanh(convolution(words.transpose(1, 2)))
            width = cast(nn.Conv1d, convolution).kernel_size[0]
            outside = torch.arange(values.shape[2], device=ids.device) >= (lengths - width + 1).clamp(min=1)[:, None]
            found.append(values.masked_fill(outside.unsqueeze(1), -torch.inf).amax(dim=2))
        return torch.cat(found, dim=1)

    def forward(self, ids: Tensor, following: Tensor | None) -> Tensor:
        """The loss of (B, T) sentences, and of the sentences that follow them where a model predicts those."""
        words = self.embedding(ids)
        codes = self.encode(words, ids)
        if self.paragraph is not None and self.opening is not None:
            earlier = codes.view(-1, PARAGRAPH, codes.shape[1])[:, :-1]
            opening = self.opening.to(codes.dtype).expand(len(earlier), 1, -1)
            states = self.paragraph(torch.cat([opening, earlier], dim=1))[0].flatten(0, 1)
            return cast(Tensor, self.decoders["next"](words, ids, states))
        losses = []
        if "same" in self.decoders:
            losses.append(self.decoders["same"](words, ids, codes))
        if following is not None:
            losses.append(self.decoders["next"](self.embedding(following), following, codes))
        return torch.stack(losses).sum()

    def loss(self, tokens: TokenIds, rows: NDArray[np.int64]) -> Tensor:
        """Of the examples that begin at sentences ``rows``."""
        if self.kind == "hierarchical":
            rows = (rows[:, None] + np.arange(PARAGRAPH)).ravel()
        return cast(
            Tensor,
            self(
                self._padded(tokens, rows),
                self._padded(tokens, rows + 1) if self.kind in ("future predictor", "composite") else None,
            ),
        )

    def _padded(self, tokens: TokenIds, rows: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(tokens.padded(rows, self.shortest)[0]).to(self.embedding.weight.device)


# -- an epoch of each --------------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """What both sides train.

    Attributes:
        first: the sentence that each example begins at.
        examples: of a batch, sentences or paragraphs.
    """

    problem: GenerationProblem
    text: OrderedSentences
    first: NDArray[np.int64]
    examples: int
    device: torch.device

    @property
    def settings(self) -> GenerationTraining:
        return GenerationTraining(
            epochs=1,
            batch_size=self.examples,
            checks_per_epoch=1,
            keep="last",
            model=self.problem.model.kind,
            precision="bf16" if self.device.type == "cuda" else "float32",
        )

    @property
    def sentences(self) -> int:
        """That are read in an epoch."""
        return len(self.first) * (PARAGRAPH if self.problem.model.kind == "hierarchical" else 1)


class Epoch(NamedTuple):
    """Of one training: seconds, and the mean of its batches' losses."""

    seconds: float
    loss: float


def work(kind: Kind, size: Size, sentences: int, batch: int, device: torch.device, seed: int = 0) -> Work:
    """Whole batches of ``batch`` sentences."""
    sentences = max(batch, sentences - sentences % batch)
    paired = kind in ("future predictor", "composite")
    text = drawn(sentences + paired, size.words, seed)  # the last sentence of all has none behind it
    vocabulary = Vocabulary([str(number) for number in range(size.words)])
    torch.manual_seed(seed)
    encoder = CNN(word_table(vocabulary, size.dimension, seed=seed), filters=size.filters)
    model = EncoderDecoder(encoder, kind, DecoderOptions(hidden=size.hidden), seed=seed).to(device)
    held_out = drawn(PARAGRAPH, size.words, seed + 1)  # of no account, but no training is without
    each = PARAGRAPH if kind == "hierarchical" else 1
    first = np.arange(0, sentences, each)
    return Work(GenerationProblem(model, text, held_out), text, first, batch // each, device)


def train_ours(work: Work, **changes: object) -> Epoch:
    """sentbook's loop, on a copy, with other settings where ``changes`` say so."""
    settings = work.settings.changed(**changes)
    history = fit(copy.deepcopy(work.problem), settings, seed=0, device=work.device.type, report=lambda line: None)
    [loss] = [point["value"] for point in history.curve if (point["split"], point["metric"]) == ("train", "loss")]
    return Epoch(history.seconds if work.device.type == "cuda" else history.processor_seconds, loss)


def train_plain(work: Work, bucket: bool = False) -> Epoch:
    """The reference's, over the batches that sentbook's loop would take."""
    model, settings, losses = PlainModel(work.problem.model).to(work.device), work.settings, []
    parameters = [value for value in model.parameters() if value.requires_grad]
    optimiser = torch.optim.Adam(parameters, lr=settings.learning_rate)
    clock = _clock(work.device)
    started = clock()
    rng = np.random.default_rng([0, 0])
    batches = (
        bucketed_batches(work.problem.lengths, settings.batch_size, rng)
        if bucket
        else shuffled_batches(len(work.first), settings.batch_size, rng)
    )
    for rows in batches:
        with torch.autocast(work.device.type, torch.bfloat16, enabled=settings.precision == "bf16"):
            loss = model.loss(work.text.tokens, work.first[rows])
        optimiser.zero_grad()
        loss.backward()
        if settings.clip is not None:
            nn.utils.clip_grad_norm_(parameters, settings.clip)
        optimiser.step()
        losses.append(loss.detach())
    mean = float(torch.stack(losses).mean())
    return Epoch(clock() - started, mean)


def _clock(device: torch.device) -> Callable[[], float]:
    return time.perf_counter if device.type == "cuda" else time.process_time


def check_same(work: Work, tolerance: float = 1e-4) -> None:
    """Both sides' loss of one batch, and after a step of Adam, in float32.

    Raises:
        AssertionError: they differ.
    """
    rows = np.random.default_rng(0).permutation(len(work.first))[: work.examples]
    ours, rng = copy.deepcopy(work.problem), np.random.default_rng(0)
    plain = PlainModel(ours.model).to(work.device)
    sides: list[tuple[nn.Module, Callable[[], Tensor]]] = [
        (ours.model, lambda: ours.loss(rows, rng)),
        (plain, lambda: plain.loss(work.text.tokens, work.first[rows])),
    ]
    found = []
    for model, loss in sides:
        optimiser = optim.dense("adam", [([value for value in model.parameters() if value.requires_grad], 1e-3)])
        before = loss()
        before.backward()
        optimiser.step()
        with torch.no_grad():
            found.append([before.item(), loss().item()])
    np.testing.assert_allclose(found[0], found[1], rtol=tolerance)


# -- the report --------------------------------------------------------------------------------------------------------

# Sides by what the JSON calls them, the reference first.
SIDES: dict[str, Callable[[Work], Epoch]] = {"reference": train_plain, "ours": train_ours}
APART: dict[str, Callable[[Work], Epoch]] = {
    "reference by length": lambda work: train_plain(work, bucket=True),
    "ours shuffled": lambda work: train_ours(work, bucket=False),
}
# On a CPU; on CUDA all sides are in bf16.
NARROW: dict[str, Callable[[Work], Epoch]] = {"ours in bf16": lambda work: train_ours(work, precision="bf16")}


def product_share(side: str, work: Work) -> float:
    """The share of matrix products in the time of all operations of a side's epoch, in [0, 1]."""
    cuda = work.device.type == "cuda"
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]) as found:
        (SIDES | APART | NARROW)[side](work)
    rows = found.key_averages()
    if cuda:  # the operations alone: a kernel's time is told once more in the kernel's own row
        times = {row.key: row.self_device_time_total for row in rows if row.key.startswith("aten::")}
    else:
        times = {row.key: row.self_cpu_time_total for row in rows}
    return float(sum(taken for key, taken in times.items() if key.startswith(PRODUCTS)) / sum(times.values()))


def measure(work: Work, few: Work, rounds: int, apart: bool = False) -> dict[str, dict[str, float]]:
    """Of each side: sentences per second (the median of rounds), share of products (of ``few``), on CUDA peak MiB."""
    check_same(work)
    cuda = work.device.type == "cuda"
    sides = SIDES | (APART if apart else {}) | ({} if cuda else NARROW)
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    memory: dict[str, float] = {}
    for number in range(-1 if cuda else 0, rounds):  # CUDA has a round to warm up
        losses = {}
        for side, train in sides.items():
            if cuda:
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
                held = torch.cuda.memory_allocated()  # the models that the sides copy
            taken, losses[side] = train(work)
            if cuda:
                memory[side] = (torch.cuda.max_memory_allocated() - held) / 2**20
            if number >= 0:
                seconds[side].append(taken)
        if apart:  # the same batches, hence the same losses: both sides do the same steps
            for plain, ours in (("reference", "ours shuffled"), ("reference by length", "ours")):
                np.testing.assert_allclose(losses[ours], losses[plain], rtol=1e-2 if cuda else 1e-3)
    report: dict[str, dict[str, float]] = {}
    for side in sides:
        rate = work.sentences / statistics.median(seconds[side])
        report[side] = {"sentences_per_second": rate, "product_share": product_share(side, few)}
        if cuda:
            report[side]["peak_mebibytes"] = memory[side]
    return report


def print_rates(report: dict[str, dict[str, float]], batch: int) -> None:
    """Rates and shares of each side, their ratio, and how long the corpus of the paper would take."""
    for side, values in report.items():
        rate = values["sentences_per_second"]
        memory = f"   peak {values['peak_mebibytes']:,.0f} MiB" if "peak_mebibytes" in values else ""
        hours = EPOCH / rate / 3600
        epoch = f"{60 * hours:,.0f} minutes" if memory else f"{hours:,.0f} hours"
        print(
            f"batch {batch:5}  {side:19} {rate:9,.1f} sentences/s   products {values['product_share']:4.0%}{memory}   "
            f"70 million sentences: {epoch}"
        )
    rates = {side: values["sentences_per_second"] for side, values in report.items()}
    print(f"batch {batch:5}  ratio {rates['ours'] / rates['reference']:.1f}x (goal on a CPU {GOAL:g}x)")
    if "ours in bf16" in rates:
        print(f"batch {batch:5}  bf16 to float32 {rates['ours in bf16'] / rates['ours']:.1f}x (goal {GOAL:g}x)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", default="autoencoder", choices=KINDS)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--sentences", type=int, help="rounded down to whole batches; default 512, on CUDA 100 batches")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--apart", action="store_true", help="also each side in the other's order of batches")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--batch", type=int, default=1024, help="sentences of a throughput batch, on CUDA")
    for name in Size._fields:
        parser.add_argument(f"--{name}", type=int, help="in place of the size's own")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device = device_of(options.device)
    cuda = device.type == "cuda"
    if not cuda:
        torch.set_num_threads(1)
    given = {name: getattr(options, name) for name in Size._fields if getattr(options, name) is not None}
    size = (SMALL if options.small else PAPER)._replace(**given)
    print(
        f"{options.kind}: 3 x {size.filters} filters, LSTM {size.hidden}, {size.words:,} words of {size.dimension}, "
        f"{torch.cuda.get_device_name() + ', bf16' if cuda else 'one thread, float32'}"
    )
    report: dict[str, dict[str, dict[str, float]]] = {}
    for batch in (64, options.batch) if cuda else (64,):
        sentences = options.sentences or (100 * batch if cuda else 512)
        made, few = (work(options.kind, size, count, batch, device) for count in (sentences, min(sentences, 4 * batch)))
        lengths = made.text.tokens.lengths
        print(f"{made.sentences:,} sentences a round: mean {lengths.mean():.1f} words, longest {lengths.max()}")
        report[str(batch)] = measure(made, few, options.rounds, options.apart)
        print_rates(report[str(batch)], batch)
    if cuda:
        print(f"aim for 70 million sentences on an H200: under {GPU_MINUTES} minutes")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
