"""What every encoder and setting says of every pair and sentence, and the columns that this makes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sentbook import records as results
from sentbook.config import digest
from sentbook.data import label_pairs, readers, splits, suites
from sentbook.data.label_pairs import divided, training
from sentbook.data.tasks import task
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import classification, decisions
from sentbook.evaluation.class_means import nearest_mean
from sentbook.evaluation.columns import Column, by_text, column, mean_of
from sentbook.evaluation.features import OUTCOME_VERSION, Features, classify, regressed
from sentbook.evaluation.predictions import Draw, Predictions, crc, sts_predictions, task_predictions
from sentbook.evaluation.protocols import Aggregation, Measure, Protocol, Score
from sentbook.evaluation.sts import year_of
from sentbook.papers.cross.experiments import TASK_OF_PAIRS, Encoder, settings_of, sources_of
from sentbook.papers.cross.settings import Settings
from sentbook.papers.dnt.winners import encoder_of, named, setting_of
from sentbook.system.errors import NumericalError
from sentbook.training.cosine import cosine
from sentbook.training.loop import fit
from sentbook.training.problems.transfer import HeadProblem
from sentbook.training.recipes import Recipe, load, prepare_stage
from sentbook.training.search import Found
from sentbook.training.store import Arrays, outcomes

SIMILARITY, CLASSIFICATION = "similarity mean", "classification mean"
# Of the scale: how far a head that is trained again may be from the first one.
SAME_HEAD = 0.02


# -- pairs with a score ------------------------------------------------------------------------------------------------


def further(dataset: str) -> list[ScoredPairs]:
    """Sets without training pairs, which those of ``dataset`` stand in for.

    All sets of STS 2012 to 2016 are evaluated by what was trained on the pairs of 2012, as the entrants to the shared
    tasks had to; the mini-world's domains by what was trained on its relatedness pairs.
    """
    if dataset == "sts12":
        return [pairs for year in range(2012, 2017) for pairs in readers.sts(year)]
    if dataset == "miniworld":
        domains = suites.test_sets("miniworld")
        return [dataclasses.replace(pairs, name=pairs.name.replace("miniworld/", "domains/")) for pairs in domains]
    return []


def scored_sets(settings: Settings) -> list[ScoredPairs]:
    """The test pairs of every scored data set, then the sets without training pairs."""
    scored = [name for name in settings.datasets if name not in TASK_OF_PAIRS]
    own = [dataclasses.replace(suites.pairs(name, "test"), name=suites.test_name(name)) for name in scored]
    return own + [pairs for name in scored for pairs in further(name)]


def score(settings: Settings, rows: Sequence[Encoder], found: Sequence[Found]) -> Predictions:
    """The scores of every encoder and setting on every pair: cosines, and what the heads of feature transfer say."""
    sets = scored_sets(settings)
    book = sts_predictions(sets, draw=by_text(sets))
    every = [book.pairs(name) for name in book.names]
    plain = [(named(one.name, "UE"), features) for one in rows for features in one.plain]
    for (method, features), by_set in zip(plain, _cosines(settings, [row for _, row in plain], every), strict=True):
        for name, values in by_set.items():
            book.add(method, features.seed, name, values)
    scored = [row for row in found if row.dataset not in (*TASK_OF_PAIRS, *label_pairs.TASK_OF)]
    for row in scored:
        for item in row.trained:
            book.add(row.method, item.seed, suites.test_name(row.dataset), item.scores("test"))
    plain_of = {(one.name, row.seed): row for one in rows for row in one.plain}
    for row in scored:
        sets = further(row.dataset)
        for item in row.trained if sets else ():
            if setting_of(row.method) == "FT":
                start = plain_of[encoder_of(row.method), item.seed]
                by_set = _head_scores(settings, item.recipe, start, sets)
            else:
                (by_set,) = _cosines(settings, [Features(row.method, item.seed, (item.recipe,))], sets)
            for name, values in by_set.items():
                book.add(row.method, item.seed, name, values)
    return book


def _outcome_key(what: str, **parts: Any) -> str:
    return digest({"version": OUTCOME_VERSION, "what": what, **parts})


def _cosines(
    settings: Settings, rows: Sequence[Features], sets: Sequence[ScoredPairs]
) -> list[dict[str, NDArray[np.float64]]]:
    """For each kind of features (N,) cosines of every set, by its name; what was found before is not made again."""
    names = [pairs.name for pairs in sets]
    keys = [_outcome_key("cosines", features=row.key(), sets=names) for row in rows]
    arguments = [(row, list(sets), settings.device) for row in rows]
    made = outcomes(_make_cosines, arguments, keys, settings.jobs)
    return [{name: found[str(place)] for place, name in enumerate(names)} for found in made]


def _make_cosines(row: Features, sets: Sequence[ScoredPairs], device: str) -> Arrays:
    first, second = _both_sides(row, sets, device)
    return {str(place): cosine(one, other) for place, (one, other) in enumerate(zip(first, second, strict=True))}


def _both_sides(
    row: Features, sets: Sequence[ScoredPairs], device: str
) -> tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]]:
    """For each set (N, F) vectors of the first and of the second sentences; each distinct one is encoded once."""
    vectors = row.vectors([text for pairs in sets for text in (*pairs.first, *pairs.second)], device)
    ends = np.cumsum([len(pairs) for pairs in sets for _ in range(2)])[:-1]
    parts = np.split(vectors, ends)
    return parts[::2], parts[1::2]


def _head_scores(
    settings: Settings, recipe: Recipe, start: Features, sets: Sequence[ScoredPairs]
) -> dict[str, NDArray[np.float64]]:
    """(N,) expected scores of each set by the head of a feature transfer, by the set's name."""
    names = [pairs.name for pairs in sets]
    key = _outcome_key("head", recipe=recipe.key(), features=start.key(), sets=names)
    (found,) = outcomes(_make_head_scores, [(recipe, start, list(sets), settings.device)], [key], 1)
    return {name: found[str(place)] for place, name in enumerate(names)}


def _make_head_scores(recipe: Recipe, start: Features, sets: Sequence[ScoredPairs], device: str) -> Arrays:
    """An artifact keeps no head, so it is trained again, which on frozen vectors takes seconds.

    Raises:
        NumericalError: on the test pairs it says something else than the transfer's own head did.
    """
    problem = prepare_stage(recipe, device)
    assert isinstance(problem, HeadProblem)
    fit(problem, recipe.stages[-1], seed=recipe.seed, device=device, report=lambda line: None)
    off = float(np.abs(problem.scores("test") - load(recipe).scores("test")).max())
    if off > SAME_HEAD:  # another processor rounds differently, but not as much
        raise NumericalError(
            f"{recipe.method}: the head trained again is off by {off:.2g} of the scale; delete the folder "
            f"{recipe.key()} of the artifacts and run again."
        )
    head = problem.head
    where, made = next(head.parameters()).device, {}
    for place, (one, other) in enumerate(zip(*_both_sides(start, sets, device), strict=True)):
        with torch.inference_mode():
            output = head(torch.from_numpy(one).to(where), torch.from_numpy(other).to(where))
            made[str(place)] = head.expectation(output).double().cpu().numpy()
    return made


# -- labels ------------------------------------------------------------------------------------------------------------


class Labels:
    """Labels of every encoder and setting on one data set.

    Attributes:
        book: accuracy, with F1 beside it for pairs.
        protocols: setting -> how its labels come about.
    """

    def __init__(self, name: str, gold: NDArray[Any]) -> None:
        self.name, self.gold = name, gold
        self.book = task_predictions(tuple(TASK_OF_PAIRS.values()), draw=Draw(crc))
        self.protocols: dict[str, str] = {}

    def add(self, encoder: str, setting: str, seed: int, predicted: NDArray[Any]) -> None:
        self.book.add_labels(named(encoder, setting), seed, self.name, predicted, self.gold)


def label(settings: Settings, rows: Sequence[Encoder], found: Sequence[Found]) -> list[Labels]:
    """The labels of every encoder and setting on paraphrases, then on the tasks of single sentences."""
    pairs = [name for name in settings.datasets if name in TASK_OF_PAIRS]
    return [
        *(_paraphrases(settings, name, rows, found) for name in pairs),
        *(_sentences(settings, name, rows, found) for name in sources_of(settings)),
    ]


def _paraphrases(settings: Settings, dataset: str, rows: Sequence[Encoder], found: Sequence[Found]) -> Labels:
    """UE: a threshold on the cosine, the best on the training pairs. FT: logistic regression on features of the pair.
    DNT: a threshold on the trained cosine, the best on the trial pairs, which it was not trained on."""
    parts = {split: suites.pairs(dataset, split) for split in splits.SPLITS}
    known = splits.pool("train", [parts["train"], parts["trial"]])
    test = dataclasses.replace(parts["test"], name="test")
    labels = Labels(TASK_OF_PAIRS[dataset], test.gold)
    plain = [(one, features) for one in rows for features in one.plain]
    for (one, features), by_set in zip(
        plain, _cosines(settings, [row for _, row in plain], [known, test]), strict=True
    ):
        bound = decisions.threshold(by_set["train"], known.gold)
        labels.add(one.name, "UE", features.seed, decisions.decide(by_set["test"], bound))
    _regressions(settings, labels, plain)
    for row in found:
        if row.dataset == dataset:
            for item in row.trained:
                bound = decisions.threshold(item.scores("trial"), parts["trial"].gold)
                predicted = decisions.decide(item.scores("test"), bound)
                labels.add(encoder_of(row.method), "DNT", item.seed, predicted)
    how = "threshold of the best accuracy on"
    labels.protocols |= {"UE": f"cosine, {how} training pairs", "DNT": f"trained cosine, {how} trial pairs"}
    return labels


def _regressions(settings: Settings, labels: Labels, plain: Sequence[tuple[Encoder, Features]]) -> None:
    """Add the labels of Gan et al.'s protocol on an official test set, which other notebooks may have made already."""
    made = classify([row for _, row in plain], [labels.name], device=settings.device, jobs=settings.jobs)
    for (one, features), (_, _, classified) in zip(plain, made, strict=True):
        labels.add(one.name, "FT", features.seed, classified.predicted)
        labels.protocols["FT"] = str(classified.protocol)


def _sentences(settings: Settings, dataset: str, rows: Sequence[Encoder], found: Sequence[Found]) -> Labels:
    """UE and DNT: the nearest class mean by the cosine, before and after training on pairs of labelled sentences.
    FT: logistic regression. All on the same test sentences."""
    name = label_pairs.TASK_OF[dataset]
    official = task(name).test is not None
    labels = Labels(name, divided(name)["test"].labels)
    plain = [(one, "UE", row) for one in rows for row in one.plain]
    trained = [
        (one, "DNT", Features(row.method, item.seed, (item.recipe,)))
        for one in rows
        for row in found
        if row.dataset == dataset and encoder_of(row.method) == one.name
        for item in row.trained
    ]
    made = [(one, setting, row, setting == "UE" and not official) for one, setting, row in plain + trained]
    keys = [_outcome_key("sentences", features=row.key(), task=name, regress=regress) for *_, row, regress in made]
    arguments = [(row, name, regress, settings.device) for *_, row, regress in made]
    made_of = outcomes(_make_sentences, arguments, keys, settings.jobs)
    for (one, setting, row, _), outcome in zip(made, made_of, strict=True):
        labels.add(one.name, setting, row.seed, outcome["nearest"])
        if "regressed" in outcome:
            labels.add(one.name, "FT", row.seed, outcome["regressed"])
    where = "official test" if official else "a fifth held out"
    labels.protocols = {
        "UE": f"cosine, nearest class mean, {where}",
        "FT": f"{classification.SKIP_THOUGHTS_TREC}, {where}",
        "DNT": f"trained cosine, nearest class mean, {where}",
    }
    if official:
        _regressions(settings, labels, [(one, row) for one, _, row in plain])
    return labels


def _make_sentences(row: Features, name: str, regress: bool, device: str) -> Arrays:
    train, test = training(name), divided(name)["test"]
    vectors = row.vectors([*train.first, *test.first], device)
    known, asked = vectors[: len(train)], vectors[len(train) :]
    made = {"nearest": nearest_mean(known, train.labels, asked)}
    if regress:
        made["regressed"] = regressed(known, train.labels, asked, test.labels, device).predicted
    return made


# -- the matrix --------------------------------------------------------------------------------------------------------


def rows_of(settings: Settings, book: Predictions) -> list[tuple[str, Measure]]:
    """The rows of the book that are columns of the matrix, with their measures: means over the sets without training
    pairs, then the data sets with them. STS 2012's pooled test pairs are a part of its year's and no column."""
    scored = [name for name in settings.datasets if name not in TASK_OF_PAIRS]
    years = {year_of(pairs.name) for name in scored for pairs in further(name)}
    means = [row for row in book.averages if year_of(row) in years]
    own = [(suites.test_name(name), Measure(suites.measure_of(name))) for name in scored if name != "sts12"]
    return [*((row, Measure.PEARSON) for row in means), *own]


def columns(settings: Settings, book: Predictions, labels: Sequence[Labels]) -> list[Column]:
    """Every column of the matrix: similarity and its mean, then labels (accuracy, F1 beside that of pairs) and theirs.

    A method is in a mean where it is in all of its columns. Means are of plain averages over columns.
    """
    scored = [column(book, row, measure, settings.resamples) for row, measure in rows_of(settings, book)]
    judged = [column(one.book, *cell, settings.resamples) for one in labels for cell in one.book.cells]
    accuracies = [one for one in judged if one.measure == str(Measure.ACCURACY)]
    return [
        *scored,
        mean_of(SIMILARITY, "correlation", scored),
        *judged,
        mean_of(CLASSIFICATION, str(Measure.ACCURACY), accuracies),
    ]


def metric_rows(
    settings: Settings, book: Predictions, labels: Sequence[Labels], made: Iterable[Column]
) -> list[results.Metric]:
    """The ledger's rows. A year of STS is told as the mean of its sets and pooled, and STS12 as dnt/table4 has it."""
    base, _ = settings_of(settings)
    kinds = {"UE": Score.COSINE, "FT": Score.TRAINED_HEAD, "DNT": Score.TRAINED_COSINE}
    rows: list[results.Metric] = []
    for method in book.methods:
        kind = kinds[setting_of(method)]
        for row, measure in [*rows_of(settings, book), *((n, Measure.PEARSON) for n in book.names if n == "STS12")]:
            several = len(book.members(row)) > 1
            ways = (Aggregation.MEAN, Aggregation.POOLED) if several else (Aggregation.PER_SET,)
            ways = (Aggregation.POOLED,) if row == "STS12" else ways
            for way in ways:
                rows += book.metric_rows(Protocol(kind, measure, way, base.tokenisation), [row], [method])
        sets = [name for row, _ in rows_of(settings, book) if row.endswith("/avg") for name in book.members(row)]
        rows += book.metric_rows(
            Protocol(kind, Measure.PEARSON, Aggregation.PER_SET, base.tokenisation), sets, [method]
        )
    for one in labels:
        for method in one.book.methods:
            rows += one.book.metric_rows(one.protocols[setting_of(method)], methods=[method])
    for mean in made:
        if mean.name in (SIMILARITY, CLASSIFICATION):
            rows += [
                results.Metric(
                    method=method, dataset=mean.name, metric=mean.measure, protocol="mean of the matrix's columns",
                    seed=None, value=value, n=mean.n,
                )
                for method, value in mean.values.items()
            ]  # fmt: skip
    return rows
