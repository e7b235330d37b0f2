"""The numbers behind each claim of Gan et al. 2017, gathered from an experiment's results and handed to its rule.

On the mini-world, whose data sets are not the paper's, claims that name a printed value or a data set are "not run".
Claims whose source is "not of the paper" are what this book expects of a useful encoder beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from sentbook.data.tasks import TASKS
from sentbook.evaluation.predictions import KIND, Predictions
from sentbook.evaluation.protocols import Measure
from sentbook.evaluation.statistics import Estimate, seed_interval
from sentbook.records import Claim, Finding, Metric, Test
from sentbook.runs.printed import value as printed
from sentbook.runs.verdicts import (
    BOUND,
    OVER_ITEMS,
    OVER_SEEDS,
    PRINTED,
    Judgement,
    above,
    all_of,
    beats,
    difference,
    judge,
    not_run,
    scores,
    wins,
)

MINIWORLD = "needs the paper's data sets; this run is on the mini-world"
FIXED = "+emb."
LEARNED = ("autoencoder", "future predictor", "hierarchical model", "composite model", "combine")
PRINTED_FIXED = tuple(f"{name}{FIXED}" for name in LEARNED[2:])
MODELS = (*LEARNED, *PRINTED_FIXED)
# The paper's four models and their concatenation; the first two with fixed words are ours.
ENCODERS = (*LEARNED, *(f"{name}{FIXED}" for name in LEARNED))
RANDOM = "random CNN"
BEST = f"combine{FIXED}"
OTHERS = ("SDAE", "SDAE+emb.", "FastSent", "uni-skip", "bi-skip", "combine-skip")
PARAMETERS, WORDS = 2_882_400, 931_331
CLASSIFICATION = TASKS[:5]
PAPER_CELLS = (*((name, Measure.ACCURACY) for name in TASKS), ("MSRP", Measure.F1))
RANKS = ("annotation_MedR", "search_MedR")
RECALLS = ("annotation_R@1", "search_R@1")
COCO = "COCO-1k"
SICK = "SICK2014-test"
RELATEDNESS = (Measure.PEARSON, Measure.SPEARMAN, Measure.MSE)
_SHARE = re.compile(r"(?P<task>.+)-(?P<percent>\d+(?:\.\d+)?)%-labels")
OVER_RUNS = "t over runs"
Column = tuple[str, Measure]


# -- many parts --------------------------------------------------------------------------------------------------------


def _counted(parts: Sequence[tuple[Judgement, float]], what: str) -> Judgement:
    """The verdict of all parts; the evidence counts them and shows the one of the smallest margin."""
    verdicts = [judgement[0] for judgement, _ in parts]
    least, _ = min(parts, key=lambda part: part[1])
    undecided = verdicts.count("inconclusive")
    words = f"{what} in {verdicts.count('reproduced')} of {len(parts)} cells"
    words += f", undecided in {undecided}" if undecided else ""
    return all_of([judgement for judgement, _ in parts]).said(f"{words}; least: {least[1]}")


def _reached(value: Estimate, bound: float, name: str, measure: str, how: str = OVER_ITEMS) -> tuple[Judgement, float]:
    """`scores`, and by which part of the printed value ours is better."""
    lower = measure == Measure.MSE or measure in RANKS
    scale, places = (1.0, 4 if measure == Measure.MSE else 1) if lower else (100.0, 1)
    gap = (value.estimate - bound) / bound
    judgement = scores(
        value, bound, name, scale=scale, lower_is_better=lower, places=places, unit=str(measure), how=how
    )
    return judgement, -gap if lower else gap


# -- pre-training and sentences ----------------------------------------------------------------------------------------


def pretraining(parameters: int, words: int | None = None) -> list[Claim]:
    """Sizes.

    Args:
        parameters: of the encoder in its published size (3 x 800 filters of 300 dimensions), word vectors left out.
        words: with a pre-trained vector, hence that can be encoded; None: not counted.
    """
    exact = Judgement(
        "reproduced" if parameters == PARAMETERS else "not reproduced",
        f"{parameters:,} parameters, {parameters / 1e6:.1f} million; skip-thoughts were not built here",
        ours=Finding(what="parameters", unit="parameters", value=parameters),
        printed=Finding(what="exactly", unit="parameters", value=PARAMETERS, how=BOUND),
    )
    encodable = not_run("the words with a pre-trained vector were not counted here")
    if words is not None:
        # A count has no sampling error, and needs no interval.
        encodable = Judgement(
            "reproduced" if words >= WORDS else "not reproduced",
            f"{words:,} words with a vector, printed {WORDS:,}",
            ours=Finding(what="words with a vector", unit="words", value=words),
            printed=Finding(what="to reach", unit="words", value=WORDS, how=PRINTED),
        )
    return [judge("cnnlstm-01", exact), judge("cnnlstm-02", encodable)]


def table1(tests: Sequence[Test]) -> list[Claim]:
    """Vector arithmetic.

    Args:
        tests: the model's rate of success on analogies minus that of a mark, one a mark; a share as ``accuracy``.
    """
    found = all_of([beats(test) for test in tests]) if tests else not_run("no rate of success was measured here")
    return [judge("cnnlstm-03", found)]


def table2(tests: Sequence[Test]) -> list[Claim]:
    """Nearest sentences.

    Args:
        tests: how alike query and retrieved sentence are with the model, minus a mark, one a measure and mark.
    """
    found = all_of([beats(test) for test in tests]) if tests else not_run("the table shows sentences and no measure")
    return [judge("cnnlstm-04", found)]


# -- table 3 -----------------------------------------------------------------------------------------------------------


class _Table3:
    """A book of labels, compared column by column."""

    def __init__(self, book: Predictions, resamples: int) -> None:
        self.book, self.resamples = book, resamples
        self.singles = [name for name in book.names if len(book.measures(name)) == 1]
        self.encoders = [name for name in ENCODERS if name in book.methods]

    def where(
        self, methods: Sequence[str], make: Callable[[], Judgement], datasets: Sequence[str] | None = None
    ) -> Judgement:
        """What ``make`` finds, or "not run" where a method was not judged on one of the data sets (None: any)."""
        names = self.book.names if datasets is None else datasets
        if datasets is not None and not set(TASKS) & set(self.book.names):
            return not_run(MINIWORLD)
        missing = [f"{m} on {d}" for m in methods for d in names if not self.book.has(m, d)]
        if not names or not methods or missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            return not_run(f"needs {missing[0]}{more}" if missing else "no encoder was judged here")
        return make()

    def interval(self, method: str, column: Column) -> Estimate:
        return self.book.interval(method, *column, resamples=self.resamples)

    def test(self, a: str, b: str, column: Column) -> Test:
        """A - B in a column, whose name says F1 where it is that."""
        found = self.book.difference(a, b, *column, resamples=self.resamples)
        name = f"{column[0]} (F1)" if column[1] is Measure.F1 else column[0]
        return found.model_copy(update={"dataset": name})

    def mean(self, a: str, b: str) -> Judgement:
        """A - B, the mean over the tasks of single sentences."""

        def make() -> Judgement:
            found = beats(self.book.mean_difference(a, b, self.singles, resamples=self.resamples))
            return found.against(self._printed_mean(a, b))

        return self.where([a, b], make)

    def _printed_mean(self, a: str, b: str) -> Finding | None:
        """The same of the paper's table; None where these tasks are not its own."""
        if set(self.singles) != set(CLASSIFICATION):
            return None
        first, second = (
            float(np.mean([printed("cnn_lstm", "table3", method, name, "accuracy") for name in CLASSIFICATION]))
            for method in (a, b)
        )
        return difference(first, second, "accuracy")

    @property
    def _of_paper(self) -> bool:
        return set(TASKS) <= set(self.book.names)

    def columns_won(self, a: str, b: str, but: int = 0) -> Judgement:
        """A above B in all columns but so many."""

        def make() -> Judgement:
            tests = [self.test(a, b, column) for column in self.book.cells]
            return wins(tests, len(tests) - but, rows="columns", stated=self._of_paper)

        return self.where([a, b], make)

    def leads(self, a: str, others: Sequence[str]) -> Judgement:
        """A above the best of the others in every column."""

        def make() -> Judgement:
            tests = []
            for column in self.book.cells:
                other = max(others, key=lambda method: self.book.mean(method, *column))
                tests.append(self.test(a, other, column).model_copy(update={"b": "the best other"}))
            return wins(tests, len(tests), rows="columns", stated=self._of_paper)

        return self.where([a, *others], make)

    def fixed_words(self) -> Judgement:
        """Fixed against learned words, in as large a part of the cells as in the paper's table."""
        pairs = [(name, name.removesuffix(FIXED)) for name in PRINTED_FIXED]

        def make() -> Judgement:
            tests = [self.test(a, b, column) for a, b in pairs for column in self.book.cells]
            named = [test.model_copy(update={"a": "fixed words", "b": "learned words"}) for test in tests]
            return wins(named, math.ceil(18 / 21 * len(tests)), rows="cells", stated=self._of_paper)

        return self.where([name for pair in pairs for name in pair], make)

    def as_printed(self) -> Judgement:
        def make() -> Judgement:
            parts = [
                _reached(
                    self.interval(method, (name, measure)),
                    printed("cnn_lstm", "table3", method, name, str(measure)),
                    f"{method} on {name}" + (" (F1)" if measure is Measure.F1 else ""),
                    measure,
                )
                for method in MODELS
                for name, measure in PAPER_CELLS
            ]
            return _counted(parts, "printed value within the interval or exceeded")

        return self.where(MODELS, make, TASKS)

    def over_printed(self, method: str, other: str, columns: Sequence[Column]) -> Judgement:
        """All of a method's intervals above what another is printed with."""

        def make() -> Judgement:
            found = []
            for name, measure in columns:
                bound = printed("cnn_lstm", "table3", other, name, str(measure))
                value = self.interval(method, (name, measure))
                found.append(above(value, bound, f"{method} against {other}, {name} {measure}", unit=str(measure)))
            return all_of(found)

        return self.where([method], make, list(dict.fromkeys(name for name, _ in columns)))

    def as_good_as(self, method: str, others: Sequence[str]) -> Judgement:
        """A method against the best printed value of the others in each column."""

        def make() -> Judgement:
            parts = []
            for name, measure in PAPER_CELLS:
                values = {other: printed("cnn_lstm", "table3", other, name, str(measure)) for other in others}
                best = max(values, key=lambda other: values[other])
                words = f"{method} against {best} on {name}" + (" (F1)" if measure is Measure.F1 else "")
                parts.append(_reached(self.interval(method, (name, measure)), values[best], words, measure))
            return _counted(parts, "printed value within the interval or exceeded")

        return self.where([method], make, TASKS)

    def over(self, bounds: Mapping[str, float], what: str, datasets: Sequence[str] | None = None) -> Judgement:
        """Every encoder's accuracy above a bound of the data set."""

        def make() -> Judgement:
            parts = []
            for method in self.encoders:
                for name, bound in bounds.items():
                    value = self.interval(method, (name, Measure.ACCURACY))
                    found = above(value, bound, f"{method} on {name}", unit="accuracy", stated=False)
                    parts.append((found, value.low - bound))
            return _counted(parts, f"interval above {what}")

        return self.where(self.encoders, make, datasets)

    def over_random(self) -> Judgement:
        """Every encoder against the same one with its random start."""
        random = {name: RANDOM + (FIXED if name.endswith(FIXED) else "") for name in self.encoders}

        def make() -> Judgement:
            parts = []
            for method in self.encoders:
                for name in self.book.names:
                    test = self.test(method, random[method], (name, Measure.ACCURACY))
                    parts.append((beats(test), test.low))
            return _counted(parts, "interval above the random start")

        return self.where([*self.encoders, *dict.fromkeys(random.values())], make)


def table3(book: Predictions, resamples: int, majority: Mapping[str, float]) -> list[Claim]:
    """Classification and paraphrases.

    Args:
        book: methods spelt as in the table, and ``random CNN``, ``random CNN+emb.``.
        majority: share of the majority class by data set.
    """
    table = _Table3(book, resamples)
    five = [(name, Measure.ACCURACY) for name in CLASSIFICATION]
    bounds = {name: majority[name] for name in book.names if name in majority}
    shares = not_run("the majority class of a data set was not counted here")
    found: dict[str, Judgement] = {
        "cnnlstm-05": table.over_printed(BEST, "combine-skip", five),
        "cnnlstm-06": table.mean("autoencoder", "future predictor"),
        "cnnlstm-07": table.columns_won("autoencoder", "future predictor"),
        "cnnlstm-08": table.mean("hierarchical model", "future predictor"),
        "cnnlstm-09": table.columns_won("hierarchical model", "future predictor", 1),
        "cnnlstm-10": not_run("no model here differs from another in the number of sentences it predicts alone"),
        "cnnlstm-11": table.mean("composite model", "autoencoder"),
        "cnnlstm-12": table.leads("combine", LEARNED[:-1]),
        "cnnlstm-13": table.leads(BEST, [name for name in MODELS if name != BEST]),
        "cnnlstm-14": not_run("no model here has as many dimensions as the combined one without combining"),
        "cnnlstm-15": table.fixed_words(),
        "cnnlstm-16": table.as_printed(),
        "cnnlstm-17": table.over_printed(BEST, "SDAE", PAPER_CELLS[-2:]),
        "cnnlstm-18": table.as_good_as(BEST, OTHERS),
        "cnnlstm-19": table.over(bounds, "the majority class") if len(bounds) == len(book.names) else shares,
        "cnnlstm-20": table.over_random(),
        "cnnlstm-21": table.over({"MSRP": 0.70}, "70", ["MSRP"]),
        "cnnlstm-22": table.over({"SUBJ": 0.85}, "85", ["SUBJ"]),
    }
    return [judge(name, judgement) for name, judgement in found.items()]


# -- table 4 -----------------------------------------------------------------------------------------------------------


def table4(
    ranked: Mapping[str, Sequence[Mapping[str, float]]],
    tests: Sequence[Test],
    corpus: str,
    intervals: Mapping[tuple[str, str], Estimate] | None = None,
) -> list[Claim]:
    """Images and sentences.

    Args:
        ranked: method -> for each seed what `sentbook.evaluation.ranking.measures` found.
        tests: differences in ``annotation_R@1`` and ``search_R@1``: combine+emb. minus each other model with fixed
            words, and models with fixed minus learned words.
        corpus: ``coco``; else what stands in for it, which decides nothing about COCO.
        intervals: (method, measure) -> value with its interval over images; else it is the one over seeds.
    """
    names = [f"cnnlstm-{number}" for number in range(23, 28)]
    models = [name for name in PRINTED_FIXED if ranked.get(name)]
    if corpus != "coco":
        shown = "; ".join(f"{name} {_ranks(ranked[name])}" for name in models) or "nothing was ranked"
        return [judge(name, not_run(f"needs COCO; on {corpus}: {shown}")) for name in names]

    def value(method: str, measure: str) -> Estimate:
        found = (intervals or {}).get((method, measure))
        return seed_interval([values[measure] for values in ranked[method]]) if found is None else found

    def how(method: str, measure: str) -> str:
        return OVER_ITEMS if (method, measure) in (intervals or {}) else OVER_SEEDS

    def cell(method: str, measure: str) -> tuple[Judgement, float]:
        bound = printed("cnn_lstm", "table4", method, COCO, measure)
        return _reached(value(method, measure), bound, f"{method}, {measure}", measure, how(method, measure))

    def between(pairs: Sequence[tuple[str, str]]) -> list[Judgement]:
        wanted = {(a, b, measure) for a, b in pairs for measure in RECALLS}
        return [beats(test) for test in tests if (test.a, test.b, test.metric) in wanted]

    absent = not_run(f"needs {BEST}")
    rivals = between([(BEST, other) for other in PRINTED_FIXED if other != BEST])
    words = between([(f"{name}{FIXED}", name) for name in LEARNED])
    skip = [
        above(
            value(BEST, measure),
            printed("cnn_lstm", "table4", "combine-skip", COCO, measure),
            f"{BEST}, {measure}",
            unit=measure,
            how=how(BEST, measure),
        )
        for measure in RECALLS
        if BEST in models
    ]
    parts = [cell(method, measure) for method in models for measure in (*RECALLS, *RANKS)]
    whole = len(models) == len(PRINTED_FIXED)
    found = [
        all_of([cell(BEST, measure)[0] for measure in RANKS]) if BEST in models else absent,
        all_of(skip) if skip else absent,
        all_of(words) if words else not_run("needs a model with fixed and with learned words"),
        all_of(rivals) if len(rivals) == 4 else not_run("needs the three models with fixed words"),
        _counted(parts, "printed value within the interval or exceeded")
        if whole
        else not_run("needs the three models with fixed words"),
    ]
    return [judge(name, judgement) for name, judgement in zip(names, found, strict=True)]


def _ranks(values: Sequence[Mapping[str, float]]) -> str:
    mean = {measure: float(np.mean([one[measure] for one in values])) for measure in (*RECALLS, *RANKS)}
    return (
        f"R@1 {100 * mean['annotation_R@1']:.1f} and {100 * mean['search_R@1']:.1f}, "
        f"median rank {mean['annotation_MedR']:.1f} and {mean['search_MedR']:.1f}"
    )


# -- table 5 -----------------------------------------------------------------------------------------------------------


def table5(book: Predictions, resamples: int) -> list[Claim]:
    """Relatedness.

    Args:
        book: of one data set, SICK's test pairs or what stands in for them, scores on the gold scale.
    """
    row = book.names[0]

    def where(methods: Sequence[str], make: Callable[[], Judgement], *, paper: bool = False) -> Judgement:
        if paper and row != SICK:
            return not_run(MINIWORLD)
        missing = [name for name in methods if name not in book.methods]
        return not_run(f"needs {' and '.join(missing)}") if missing else make()

    def test(a: str, b: str, measure: Measure = Measure.PEARSON) -> Test:
        return book.difference(a, b, row, str(measure), resamples)

    def interval(method: str, measure: Measure) -> Estimate:
        return book.interval(method, row, str(measure), resamples)

    def best(a: str, others: Sequence[str]) -> list[Judgement]:
        found = []
        for measure in RELATEDNESS:
            lower = measure is Measure.MSE
            means = {name: float(np.mean(book.values(name, row, measure))) for name in others}
            other = min(means, key=lambda name: means[name] if lower else -means[name])
            judgement = beats(test(a, other, measure), lower_is_better=lower)
            found.append(judgement.said(f"{measure}: {judgement[1]}"))
        return found

    def skip() -> Judgement:
        return all_of(
            [
                above(
                    interval(BEST, measure),
                    printed("cnn_lstm", "table5", "combine-skip", SICK, str(measure)),
                    f"{BEST}, {measure}",
                    scale=1,
                    lower_is_better=measure is Measure.MSE,
                    unit=str(measure),
                )
                for measure in RELATEDNESS
            ]
        )

    def printed_cells() -> Judgement:
        parts = [
            _reached(
                interval(method, measure),
                printed("cnn_lstm", "table5", method, SICK, str(measure)),
                f"{method}, {measure}",
                measure,
            )
            for method in MODELS
            for measure in RELATEDNESS
        ]
        return _counted(parts, "printed value within the interval or exceeded")

    def fixed_words() -> Judgement:
        tests = [test(name, name.removesuffix(FIXED)) for name in PRINTED_FIXED]
        named = [one.model_copy(update={"a": "fixed words", "b": "learned words"}) for one in tests]
        return wins(named, len(tests), rows="models")

    order = ("composite model", "hierarchical model", "autoencoder", "future predictor")
    rivals = [name for name in MODELS if name != BEST]
    found = {
        "cnnlstm-28": where([BEST], skip, paper=True),
        "cnnlstm-29": where(order, lambda: all_of([beats(test(a, b)) for a, b in pairwise(order)])),
        "cnnlstm-30": where(MODELS, lambda: all_of([*best("combine", LEARNED[:-1]), *best(BEST, rivals)])),
        "cnnlstm-31": where([*LEARNED[2:], *PRINTED_FIXED], fixed_words),
        "cnnlstm-32": where(MODELS, printed_cells, paper=True),
    }
    return [judge(name, judgement) for name, judgement in found.items()]


# -- figure 3 ----------------------------------------------------------------------------------------------------------


def figure3(tests: Sequence[Test], metrics: Sequence[Metric]) -> list[Claim]:
    """Fine-tuning from pre-trained parameters and from a random start.

    Args:
        tests: pre-trained minus random, as of `sentbook.papers.cnn_lstm.fine_tuning.gains`; A and B name the two methods.
        metrics: accuracies of both, a seed a run, as of `sentbook.papers.cnn_lstm.fine_tuning.metrics`; a share of the labels stands
            in the data set's name: ``TREC-10%-labels``. Runs of the same seed are compared.
    """
    names = [f"cnnlstm-{number}" for number in range(33, 37)]
    whole = [test for test in tests if not (_SHARE.fullmatch(test.dataset) or test.dataset.endswith("avg"))]
    # Over test sentences, where the same difference was tested over runs too.
    whole = [test for test in whole if test.kind == KIND] or whole
    if not whole:
        return [judge(name, not_run("nothing was fine-tuned here")) for name in names]
    a, b = whole[0].a, whole[0].b
    runs = _by_share(metrics)
    datasets = [test.dataset for test in whole]
    gains = _mean_gains(runs, a, b, datasets)
    substantial = average = not_run("needs runs of the same seeds with both starts on every data set")
    if gains:
        mean, words = seed_interval(gains), f"{a} − {b}, mean of {len(datasets)} sets"
        substantial = all_of([_gain(mean, words), wins(whole, len(whole), stated=False)])
        average = not_run("needs the paper's five data sets")
        if set(datasets) == set(CLASSIFICATION):
            row = ("pretrained-minus-random", "MR;CR;SUBJ;MPQA;TREC mean", "accuracy_gain")
            theirs = printed("cnn_lstm", "fig3_text_numbers", *row)
            average = scores(mean, theirs, words, unit="accuracy", how=OVER_RUNS)
    if not set(datasets) & set(TASKS):
        average = not_run(MINIWORLD)
    found = [substantial, average, _with_few_labels(runs, a, b), _shrinking(runs, a, b)]
    return [judge(name, judgement) for name, judgement in zip(names, found, strict=True)]


Runs = Mapping[tuple[str, str, float], Mapping[int | None, float]]


def _by_share(metrics: Sequence[Metric]) -> Runs:
    """(method, data set, percent of the labels) -> seed -> accuracy."""
    found: dict[tuple[str, str, float], dict[int | None, float]] = {}
    for row in metrics:
        if row.metric != Measure.ACCURACY:
            continue
        part = _SHARE.fullmatch(row.dataset)
        place = (part["task"], float(part["percent"])) if part else (row.dataset, 100.0)
        found.setdefault((row.method, *place), {})[row.seed] = row.value
    return found


def _gains(runs: Runs, a: str, b: str, dataset: str, share: float) -> dict[int | None, float]:
    first, second = runs.get((a, dataset, share), {}), runs.get((b, dataset, share), {})
    return {seed: value - second[seed] for seed, value in first.items() if seed in second}


def _mean_gains(runs: Runs, a: str, b: str, datasets: Sequence[str]) -> list[float]:
    """With all labels, for every seed that all data sets have, the mean gain over them."""
    by_set = [_gains(runs, a, b, dataset, 100.0) for dataset in datasets]
    shared = [seed for seed in by_set[0] if all(seed in gains for gains in by_set)]
    return [float(np.mean([gains[seed] for gains in by_set])) for seed in shared]


def _with_few_labels(runs: Runs, a: str, b: str) -> Judgement:
    """TREC with a tenth of its labels."""
    gains = list(_gains(runs, a, b, "TREC", 10.0).values())
    if not gains:
        on_paper = any(name in TASKS for _, name, _ in runs)
        return not_run("needs TREC with 10 % of its labels" if on_paper else MINIWORLD)
    parts = []
    for method, label in ((b, "random-init"), (a, "pretrained-composite")):
        bound = printed("cnn_lstm", "fig3_text_numbers", label, "TREC-10%-labels", "accuracy")
        value = seed_interval(list(runs[method, "TREC", 10.0].values()))
        parts.append(scores(value, bound, f"{method} on TREC, 10 %", unit="accuracy", how=OVER_RUNS))
    return all_of([*parts, _gain(seed_interval(gains), f"{a} − {b} on TREC, 10 %")])


def _shrinking(runs: Runs, a: str, b: str) -> Judgement:
    """The gain with the smallest share minus that with the largest, in runs of the same seed."""
    datasets = [name for method, name, share in runs if method == a and share < 100]
    if not datasets:
        return not_run("needs several shares of the labels")
    dataset = datasets[0]
    shares = sorted(share for method, name, share in runs if (method, name) == (a, dataset))
    by_share = {share: _gains(runs, a, b, dataset, share) for share in shares}
    least, most = min(by_share), max(by_share)
    shared = [seed for seed in by_share[least] if seed in by_share[most]]
    if least == most or not shared:
        return not_run("needs several shares of the labels, with runs of the same seeds and both starts")
    fall = seed_interval([by_share[least][seed] - by_share[most][seed] for seed in shared])
    shrinks = _gain(fall, f"gain on {dataset} with {least:g} % − with {most:g} % of the labels")
    means = {share: float(np.mean(list(gains.values()))) for share, gains in by_share.items() if gains}
    listed = ", ".join(f"{share:g} %: {100 * v:+.1f}" for share, v in means.items())
    return shrinks.said(f"{shrinks[1]}; gains {listed}")


def _gain(value: Estimate, what: str) -> Judgement:
    """A gain in accuracy over runs: above nothing?"""
    return above(value, 0, what, unit="accuracy", how=OVER_RUNS, stated=False)
