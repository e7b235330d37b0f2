"""The rows of Gan et al.'s tables: encoders trained by four kinds of decoders, and what they are measured beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentbook import records as results
from sentbook.config import digest
from sentbook.data import modern, suites
from sentbook.data.images import digest as images_digest
from sentbook.data.images import divided
from sentbook.data.tasks import task
from sentbook.evaluation import classification
from sentbook.evaluation.features import OUTCOME_VERSION, Family, Features, classify, combined
from sentbook.evaluation.predictions import INTERVALS, Predictions, sts_predictions, task_predictions
from sentbook.models.average import AverageEncoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.encoder_decoder import Kind
from sentbook.papers.cnn_lstm.ranking import DATASETS, Ranked, captioned, interval, protocol_of, rank_images
from sentbook.papers.cnn_lstm.relatedness_head import SKIP_THOUGHTS_RELATEDNESS, PairVectors, relatedness
from sentbook.papers.cnn_lstm.settings import Settings
from sentbook.study import Study
from sentbook.training.recipes import Recipe
from sentbook.training.store import Arrays, outcomes

# The names of the four models in the paper's tables.
MODELS: dict[str, Kind] = {
    "autoencoder": "autoencoder",
    "future predictor": "future predictor",
    "hierarchical model": "hierarchical",
    "composite model": "composite",
}
FIXED = "+emb."
COMBINE = ("hierarchical model", "composite model")
# Pairs of rows that several tables compare: fixed and learned words, and each row with its random start.
WORDS = [(f"{name}{FIXED}", name) for name in (*MODELS, "combine")]
STARTS = [(f"{name}{suffix}", f"random CNN{suffix}") for suffix in ("", FIXED) for name in (*MODELS, "combine")]
# Filters of a CNN that is not trained: uniform as Glorot and Bengio 2010 have it for four words of 300 dimensions and
# 200 filters. Random words are as large as N(0, 1), 25 times the pre-trained ones, and their filters so much smaller.
RANDOM_BOUND, RANDOM_WORDS = 0.07, 25
MAJORITY = "the training examples' most frequent class for every example"


def recipes(study: Study, settings: Settings, words: Iterable[str] = ("", FIXED)) -> dict[str, list[Recipe]]:
    """The trained models, one recipe a seed, by their names: learned words (``""``), fixed ones (``+emb.``)."""
    made = {}
    for suffix in words:
        for name, kind in MODELS.items():
            stage = settings.hierarchical if kind == "hierarchical" else settings.pretraining
            update = "frozen" if suffix == FIXED else "dense"
            stage = stage.model_copy(update={"model": kind, "embedding_update": update})
            made[name + suffix] = study.recipes(name + suffix, settings.encoder, stage)
    return made


def pretrained(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """The encoders that several notebooks start from."""
    return recipes(study, settings)


def features(made: Mapping[str, Sequence[Recipe]]) -> list[Features]:
    """The rows of tables 3 to 5 in the paper's order: each model, and both of ``COMBINE`` beside each other."""
    rows: list[Features] = []
    for suffix in ("", FIXED):
        block = {name: of(made[name + suffix]) for name in MODELS if name + suffix in made}
        rows += [row for group in block.values() for row in group]
        if all(name in block for name in COMBINE):
            pairs = zip(*(block[name] for name in COMBINE), strict=True)
            rows += [combined("combine" + suffix, first, second) for first, second in pairs]
    return rows


def of(group: Iterable[Recipe]) -> list[Features]:
    """Each recipe's vectors under its method's name."""
    return [Features(recipe.method, recipe.seed, (recipe,)) for recipe in group]


def random_start(settings: Settings, *, fixed: bool) -> CNNEncoder:
    """The encoder as it is before training, with filters of a common size in place of the paper's [-.01, .01]."""
    bound = RANDOM_BOUND if fixed else RANDOM_BOUND / RANDOM_WORDS
    return settings.encoder.model_copy(update={"bound": bound})


def marks(study: Study, settings: Settings) -> list[Features]:
    """What any training must beat, and what later encoders reach: nothing of these is trained here."""
    plain = [
        *study.recipes("random CNN", random_start(settings, fixed=False), random_words=True),
        *study.recipes("random CNN+emb.", random_start(settings, fixed=True)),
        *study.recipes("average of words", AverageEncoder(), seeds=settings.seeds[:1]),
    ]
    return of(plain) + [Features(name, 1, (name,)) for name in settings.modern if modern.available(name)]


# -- tables 3 to 5 -----------------------------------------------------------------------------------------------------


def task_book(settings: Settings, rows: Sequence[Features], family: Family = "skip-thoughts") -> Predictions:
    """Every task's labels from every row's vectors."""
    book = task_predictions()
    found = classify(rows, settings.classification, family=family, device=settings.device, jobs=settings.jobs)
    for one, name, classified in found:
        book.add_classified(one.method, one.seed, name, classified)
    return book


def majority_rows(settings: Settings) -> list[results.Metric]:
    """The accuracy of the most frequent class."""
    return [
        results.Metric(
            method="majority class",
            dataset=name,
            metric="accuracy",
            protocol=MAJORITY,
            seed=None,
            value=task(name).majority,
            n=len(task(name).judged),
        )
        for name in settings.classification
    ]


def _outcomes(
    function: Callable[..., Arrays], rows: Sequence[Features], settings: Settings, **identity: object
) -> Iterable[tuple[Features, Arrays]]:
    """What ``function`` gives for each row, found by all that decides it or made now, side by side."""
    keys = [digest({"version": OUTCOME_VERSION, "features": row.key(), **identity, "seed": row.seed}) for row in rows]
    return zip(rows, outcomes(function, [(row, settings) for row in rows], keys, settings.jobs), strict=True)


def related(settings: Settings, rows: Sequence[Features]) -> Predictions:
    """Scores of relatedness from a softmax on every row's vectors."""
    test = suites.relatedness(settings.relatedness, "test")
    name = "SICK2014-test" if settings.relatedness == "sick" else test.name
    book = sts_predictions([replace(test, name=name)])
    given = {"dataset": settings.relatedness, "protocol": str(SKIP_THOUGHTS_RELATEDNESS)}
    for row, found in _outcomes(_relate, rows, settings, **given):
        book.add(row.method, row.seed, name, found["test"])
    return book


def _relate(row: Features, settings: Settings) -> Arrays:
    def vectors(split: str) -> PairVectors:
        pairs = suites.relatedness(settings.relatedness, split)
        first, second = np.split(row.vectors([*pairs.first, *pairs.second], settings.device), 2)
        return PairVectors(first, second, pairs.gold)

    return {"test": relatedness(vectors("train"), vectors("trial"), vectors("test"), seed=row.seed).test}


def ranked(settings: Settings, rows: Sequence[Features]) -> dict[str, dict[int, Ranked]]:
    """What every row's vectors reach in ranking images and sentences for each other, by method and seed."""
    training = settings.ranking
    protocol = protocol_of(training, len(captioned(training, "test")))
    given = {
        "images": images_digest(divided(training.corpus, training.path)),
        "training": training.model_dump(mode="json", exclude={"path"}),
    }
    found: dict[str, dict[int, Ranked]] = {}
    for row, arrays in _outcomes(_rank, rows, settings, **given):
        made = Ranked(
            DATASETS[training.corpus], protocol, arrays["annotation"], arrays["search"], int(arrays["parameters"])
        )
        found.setdefault(row.method, {})[row.seed] = made
    return found


def _rank(row: Features, settings: Settings) -> Arrays:
    def vectors(sentences: list[str]) -> NDArray[np.float32]:
        return row.vectors(sentences, settings.device)

    found = rank_images(vectors, settings.ranking, seed=row.seed, device=settings.device, report=lambda line: None)
    return {"annotation": found.annotation, "search": found.search, "parameters": np.array(found.parameters)}


def ranking_intervals(found: Mapping[str, Sequence[Ranked]], resamples: int) -> dict[str, Any]:
    """Intervals over images for a run's ``extra``, as `sentbook.evaluation.predictions.Predictions.intervals`."""
    by_measure: dict[str, dict[str, dict[str, list[float]]]] = {}
    for measure in ("annotation_R@1", "search_R@1", "annotation_MedR", "search_MedR"):
        for method, runs in found.items():
            value = interval(runs, measure, resamples)
            by_measure.setdefault(measure, {}).setdefault(runs[0].dataset, {})[method] = [value.low, value.high]
    return {INTERVALS: by_measure}


SKIP_THOUGHTS = tuple(
    map(
        str,
        (
            classification.SKIP_THOUGHTS_NESTED,
            classification.SKIP_THOUGHTS_TREC,
            classification.SKIP_THOUGHTS_MSRP,
            MAJORITY,
        ),
    )
)
SENTEVAL = tuple(map(str, (classification.SENTEVAL_NESTED, classification.SENTEVAL_ONE_TEST)))
