"""What the matrix's encoders cost, and which test sentences their pre-training has met."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from sentbook.data import corpora, inference, modern, overlap, suites
from sentbook.data.label_pairs import divided
from sentbook.data.types import LabelledPairs, ParaphrasePairs, ScoredPairs
from sentbook.evaluation.predictions import Predictions
from sentbook.models import encode
from sentbook.papers.cross.experiments import TASK_OF_PAIRS, Encoder, settings_of
from sentbook.papers.cross.scores import rows_of
from sentbook.papers.cross.settings import Settings
from sentbook.training.recipes import load
from sentbook.training.settings import MarginTraining


@torch.no_grad()
def speeds(settings: Settings, rows: Sequence[Encoder], sentences: Sequence[str]) -> list[dict[str, Any]]:
    """Of each encoder its size, and sentences a second of processor time from text to vector, on one thread.

    Encoders take turns, ``settings.rounds`` rounds; the median is told, and its ratio to the first encoder's.
    """
    distinct = list(dict.fromkeys(sentences))
    asked = distinct[:: max(1, len(distinct) // settings.timed)][: settings.timed]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        runs, sizes = zip(*map(_runnable, rows), strict=True)
        for run in runs:
            run(asked[:32])  # loads what is loaded late
        taken: list[list[float]] = [[] for _ in rows]
        for _ in range(settings.rounds):
            for run, seconds in zip(runs, taken, strict=True):
                clock = time.process_time()
                run(asked)
                seconds.append(time.process_time() - clock)
    finally:
        torch.set_num_threads(threads)
    rates = [[len(asked) / second for second in seconds] for seconds in taken]
    middle = [statistics.median(rate) for rate in rates]
    return [
        {
            "encoder": one.name,
            "parameters": size[0],
            "word parameters": size[1],
            "sentences per second": rate,
            "rounds": by_round,
            "ratio": rate / middle[0],
            "sentences": len(asked),
        }
        for one, size, rate, by_round in zip(rows, sizes, middle, rates, strict=True)
    ]


def _runnable(one: Encoder) -> tuple[Callable[[list[str]], object], tuple[int, int]]:
    """A function from sentences to vectors, and the numbers of parameters above the words and of the words."""
    (part,) = one.plain[0].parts
    if isinstance(part, str):
        return partial(modern.sentence_vectors, part), modern.parameters(part)
    trained = load(part)
    encoder, vocabulary = trained.encoder(), trained.vocabulary

    def run(sentences: list[str]) -> object:
        return encode(encoder, vocabulary, sentences, part.tokenisation)

    return run, (encoder.parameter_count(), encoder.embedding.weight.numel())


def met(settings: Settings, book: Predictions) -> dict[str, dict[str, float]]:
    """Pre-training -> column -> the share of its distinct test sentences that the pre-training holds.

    Sentences of the data sets of dnt/table4 were taken out; those of the other columns were not. The novels
    that CNN-LSTM read are not counted.
    """
    base, _ = settings_of(settings)
    tests = {row: [book.pairs(name) for name in book.members(row)] for row, _ in rows_of(settings, book)}
    texts = {row: [text for one in sets for text in (*one.first, *one.second)] for row, sets in tests.items()}
    for name in settings.datasets:
        if name in TASK_OF_PAIRS:
            test = suites.pairs(name, "test")
            texts[TASK_OF_PAIRS[name]] = [*test.first, *test.second]
    texts |= {name: divided(name)["test"].first for name in settings.classification}
    sets = [ScoredPairs(name, some, some, np.zeros(len(some)), (0, 1)) for name, some in texts.items()]
    kept = suites.excluded(base.suite)
    trained: dict[str, ParaphrasePairs | LabelledPairs] = {
        "paraphrases": _paraphrases_of(base.paraphrase, settings.seeds[0], kept),
        "paraphrases of GRAN": _paraphrases_of(base.simple, settings.seeds[0], kept),
        "inference": inference.pool(base.inference.corpus, exclude=kept)[0],
    }
    found: dict[str, dict[str, float]] = {}
    for stage, pairs in trained.items():
        corpus = ParaphrasePairs(stage, pairs.first, pairs.second, [""] * len(pairs))
        shares = {row["test"]: float(row["share"]) for row in overlap.report([corpus], sets)}
        found[stage] = {name: shares.get(name, 0.0) for name in texts}
    return found


def _paraphrases_of(stage: MarginTraining, seed: int, exclude: frozenset[str]) -> ParaphrasePairs:
    return corpora.load(stage.corpora, seed=seed, limit=stage.limit, exclude=exclude)
