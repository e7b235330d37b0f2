"""What every encoder and setting says of every pair and sentence, and the columns that this makes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sentbook.config import digest
from sentbook.data import label_pairs, readers, splits, suites
from sentbook.data.label_pairs import divided, training
from sentbook.data.tasks import task
from sentbook.data.types import ScoredPairs
from sentbook.evaluation import classification, decisions
from sentbook.evaluation.class_means import nearest_mean
from sentbook.evaluation.features import OUTCOME_VERSION, Features, classify, regressed
from sentbook.evaluation.predictions import Draw, Predictions, crc, sts_predictions, task_predictions
from sentbook.evaluation.protocols import Aggregation, Measure, Protocol, Score
from sentbook.evaluation.sts import year_of
from sentbook.io import NumericalError
from sentbook.papers.cross.experiments import TASK_OF_PAIRS, Encoder, scored, settings_of, sources_of
from sentbook.papers.cross.settings import Settings
from sentbook.papers.dnt.winners import encoder_of, setting_of
from sentbook.records import Metric
from sentbook.training.cosine import cosine
from sentbook.training.loop import fit
from sentbook.training.problems.transfer import HeadProblem
from sentbook.training.recipes import Recipe, load, prepare_stage
from sentbook.training.search import Found
from sentbook.training.store import Arrays, outcomes

Scores = dict[str, NDArray[np.float64]]
SCORE_OF = {"UE": Score.COSINE, "FT": Score.TRAINED_HEAD, "DNT": Score.TRAINED_COSINE}
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


def by_text(sets: Iterable[ScoredPairs]) -> Draw:
    """Draw pairs by their sentences: the same items wherever these are the same, whatever was asked of them."""
    texts = {pairs.name: "\n".join([*pairs.first, *pairs.second]) for pairs in sets}
    return Draw(lambda name: crc(texts[name]))


def score(settings: Settings, rows: Sequence[Encoder], found: Sequence[Found]) -> Predictions:
    """The scores of every encoder and setting on the test pairs of every scored data set, then on the `further` sets:
    cosines, and what the heads of feature transfer say."""
    names = scored(settings)
    sets = [dataclasses.replace(suites.pairs(name, "test"), name=suites.test_name(name)) for name in names]
    sets += [pairs for name in names for pairs in further(name)]
    book = sts_predictions(sets, draw=by_text(sets))
    plain = [features for one in rows for features in one.plain]
    for features, by_set in zip(plain, _cosines(settings, plain, sets), strict=True):
        for name, values in by_set.items():
            book.add(features.method, features.seed, name, values)
    plain_of = {(encoder_of(features.method), features.seed): features for features in plain}
    for row in (row for row in found if row.dataset in names):
        others = further(row.dataset)
        for item in row.trained:
            by_set = {suites.test_name(row.dataset): item.scores("test")}
            if others and setting_of(row.method) == "FT":
                start = plain_of[encoder_of(row.method), item.seed]
                by_set |= _head_scores(settings, item.recipe, start, others)
            elif others:
                by_set |= _cosines(settings, [Features(row.method, item.seed, (item.recipe,))], others)[0]
            for name, values in by_set.items():
                book.add(row.method, item.seed, name, values)
    return book


def _key(what: str, **parts: Any) -> str:
    return digest({"version": OUTCOME_VERSION, "what": what, **parts})


def _cosines(settings: Settings, rows: Sequence[Features], sets: Sequence[ScoredPairs]) -> list[Scores]:
    """For each kind of features (N,) cosines of every set, by its name; what was found before is not made again."""
    names = [pairs.name for pairs in sets]
    keys = [_key("cosines", features=row.key(), sets=names) for row in rows]
    made = outcomes(_make_cosines, [(row, list(sets), settings.device) for row in rows], keys, settings.jobs)
    return [{name: found[str(place)] for place, name in enumerate(names)} for found in made]


def _make_cosines(row: Features, sets: Sequence[ScoredPairs], device: str) -> Arrays:
    return {str(place): cosine(*both) for place, both in enumerate(_both_sides(row, sets, device))}


def _both_sides(
    row: Features, sets: Sequence[ScoredPairs], device: str
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """For each set (N, F) vectors of the first and of the second sentences; each distinct one is encoded once."""
    vectors = row.vectors([text for pairs in sets for text in (*pairs.first, *pairs.second)], device)
    parts = np.split(vectors, np.cumsum([len(pairs) for pairs in sets for _ in range(2)])[:-1])
    return list(zip(parts[::2], parts[1::2], strict=True))


def _head_scores(settings: Settings, recipe: Recipe, start: Features, sets: Sequence[ScoredPairs]) -> Scores:
    """(N,) expected scores of each set by the head of a feature transfer, by the set's name."""
    names = [pairs.name for pairs in sets]
    key = _key("head", recipe=recipe.key(), features=start.key(), sets=names)
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
    head, where, made = problem.head, next(problem.head.parameters()).device, {}
    for place, both in enumerate(_both_sides(start, sets, device)):
        with torch.inference_mode():
            output = head(*(torch.from_numpy(side).to(where) for side in both))
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

    def add(self, setting: str, row: Features, predicted: NDArray[Any]) -> None:
        """Take the labels of one encoder and seed in a setting."""
        method = row.method.replace("[UE]", f"[{setting}]")
        self.book.add_labels(method, row.seed, self.name, predicted, self.gold)

    def regress(self, settings: Settings, plain: Sequence[Features]) -> None:
        """Add FT by Gan et al.'s protocol on an official test set, which other notebooks may have made already."""
        made = classify(plain, [self.name], device=settings.device, jobs=settings.jobs)
        for row, (_, _, classified) in zip(plain, made, strict=True):
            self.add("FT", row, classified.predicted)
            self.protocols["FT"] = str(classified.protocol)


def label(settings: Settings, rows: Sequence[Encoder], found: Sequence[Found]) -> list[Labels]:
    """The labels of every encoder and setting on paraphrases, then on the tasks of single sentences."""
    plain = [features for one in rows for features in one.plain]
    pairs = [name for name in settings.datasets if name in TASK_OF_PAIRS]
    made = [(_paraphrases, name) for name in pairs] + [(_sentences, name) for name in sources_of(settings)]
    return [make(settings, name, plain, [row for row in found if row.dataset == name]) for make, name in made]


def _paraphrases(settings: Settings, dataset: str, plain: Sequence[Features], found: Sequence[Found]) -> Labels:
    """UE: a threshold on the cosine, the best on the training pairs. FT: logistic regression on features of the pair.
    DNT: a threshold on the trained cosine, the best on the trial pairs, which it was not trained on."""
    parts = {split: suites.pairs(dataset, split) for split in splits.SPLITS}
    known = splits.pool("train", [parts["train"], parts["trial"]])
    test = dataclasses.replace(parts["test"], name="test")
    labels = Labels(TASK_OF_PAIRS[dataset], test.gold)
    for row, by_set in zip(plain, _cosines(settings, plain, [known, test]), strict=True):
        bound = decisions.threshold(by_set["train"], known.gold)
        labels.add("UE", row, decisions.decide(by_set["test"], bound))
    labels.regress(settings, plain)
    for chosen in found:
        for item in chosen.trained:
            bound = decisions.threshold(item.scores("trial"), parts["trial"].gold)
            predicted = decisions.decide(item.scores("test"), bound)
            labels.add("DNT", Features(chosen.method, item.seed, (item.recipe,)), predicted)
    how = "threshold of the best accuracy on"
    labels.protocols |= {"UE": f"cosine, {how} training pairs", "DNT": f"trained cosine, {how} trial pairs"}
    return labels


def _sentences(settings: Settings, dataset: str, plain: Sequence[Features], found: Sequence[Found]) -> Labels:
    """UE and DNT: the nearest class mean by the cosine, before and after training on pairs of labelled sentences.
    FT: logistic regression. All on the same test sentences."""
    name = label_pairs.TASK_OF[dataset]
    official = task(name).test is not None
    labels = Labels(name, divided(name)["test"].labels)
    trained = [Features(row.method, item.seed, (item.recipe,)) for row in found for item in row.trained]
    made = [(row, not official) for row in plain] + [(row, False) for row in trained]
    keys = [_key("sentences", features=row.key(), task=name, regress=regress) for row, regress in made]
    arguments = [(row, name, regress, settings.device) for row, regress in made]
    for (row, _), outcome in zip(made, outcomes(_make_sentences, arguments, keys, settings.jobs), strict=True):
        labels.add(setting_of(row.method), row, outcome["nearest"])
        if "regressed" in outcome:
            labels.add("FT", row, outcome["regressed"])
    where = "official test" if official else "a fifth held out"
    labels.protocols = {
        "UE": f"cosine, nearest class mean, {where}",
        "FT": f"{classification.SKIP_THOUGHTS_TREC}, {where}",
        "DNT": f"trained cosine, nearest class mean, {where}",
    }
    if official:
        labels.regress(settings, plain)
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


def rows_of(settings: Settings, book: Predictions) -> dict[str, Measure]:
    """The rows of the book that are columns of the matrix, with their measures: means over the sets without training
    pairs, then the data sets with them. STS 2012's pooled test pairs are a part of its year's and no column."""
    years = {year_of(pairs.name) for name in scored(settings) for pairs in further(name)}
    means = {row: Measure.PEARSON for row in book.averages if year_of(row) in years}
    own = [name for name in scored(settings) if name != "sts12"]
    return means | {suites.test_name(name): Measure(suites.measure_of(name)) for name in own}


def metric_rows(settings: Settings, book: Predictions, labels: Sequence[Labels]) -> list[Metric]:
    """The ledger's rows. A year of STS is told as the mean of its sets and pooled, and STS12 as dnt/table4 has it."""
    tokens, shown = settings_of(settings)[0].tokenisation, rows_of(settings, book)
    years = [row for row in shown if row.endswith("/avg")]
    pooled = {name: Measure.PEARSON for name in book.names if name == "STS12"}
    rows: list[Metric] = []
    for method in book.methods:
        kind = SCORE_OF[setting_of(method)]
        for row, measure in (shown | pooled).items():
            ways = (Aggregation.MEAN, Aggregation.POOLED) if len(book.members(row)) > 1 else (Aggregation.PER_SET,)
            for way in (Aggregation.POOLED,) if row in pooled else ways:
                rows += book.metric_rows(Protocol(kind, measure, way, tokens), [row], [method])
        sets = [name for row in years for name in book.members(row)]
        rows += book.metric_rows(Protocol(kind, Measure.PEARSON, Aggregation.PER_SET, tokens), sets, [method])
    for one in labels:
        for method in one.book.methods:
            rows += one.book.metric_rows(one.protocols[setting_of(method)], methods=[method])
    return rows
