"""The rows of Zhang et al.'s tables: pre-trained encoders, and their transfers to each data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from sentbook import records as results
from sentbook.data import suites, vectors
from sentbook.data.vectors import Vectors
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import Aggregation, Protocol, Score, measure_on
from sentbook.evaluation.statistics import Estimate, corrected, seed_interval
from sentbook.models import encode
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.papers.dnt.settings import Settings
from sentbook.study import Study
from sentbook.training.loop import fit
from sentbook.training.problems.transfer import SETTINGS, Setting
from sentbook.training.recipes import Recipe, Trained, load, prepare_stage
from sentbook.training.search import Found, Transfer, Wanted
from sentbook.training.settings import Grid, HeadTraining, Stage

Row = Literal["FT MSE", "FT KL", "NT MSE row1", "NT MSE row2", "NT KL row1", "NT KL row2", "DNT row1", "DNT row2"]
ROWS: tuple[Row, ...] = get_args(Row)
_NAMED = {setting.name: setting for setting in SETTINGS}
# What a row freezes and updates is said by table 3 alone.
SETTING_OF: dict[Row, Setting] = {
    "FT MSE": _NAMED["Feature transfer"],
    "FT KL": _NAMED["Feature transfer"],
    "NT MSE row1": _NAMED["Network transfer"],
    "NT MSE row2": _NAMED["Network transfer, wem frozen"],
    "NT KL row1": _NAMED["Network transfer"],
    "NT KL row2": _NAMED["Network transfer, wem frozen"],
    "DNT row1": _NAMED["Direct network transfer"],
    "DNT row2": _NAMED["Direct network transfer, wem frozen"],
}
# Rows with every seed; the others have those of ablations.
EVERY_SEED: tuple[Row, ...] = ("FT KL", "DNT row1", "DNT row2")
TARGETS: tuple[Literal["[0, 1]", "[-1, 1]"], ...] = ("[0, 1]", "[-1, 1]")
# Names of today's encoders in tables.
SHORT: dict[str, str] = {"all-minilm-l6-v2": "MiniLM", "universal-sentence-encoder": "USE"}
Starts = Mapping[str, Sequence[Recipe]]


def encoders(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """The pre-trained encoders of table 4, one recipe a seed, by the encoder's name."""
    made: dict[str, tuple[Encoder, Stage]] = {
        "InferSent": (settings.infersent, settings.inference),
        "BiLSTM-Avg": (settings.bilstm_average, settings.paraphrase),
        "GRAN": (settings.gran, settings.simple),
    }
    return {name: study.recipes(f"{name} [UE]", encoder, stage) for name, (encoder, stage) in made.items()}


def other_encoders(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """Encoders without an LSTM, pre-trained as BiLSTM-Avg is, with the seeds of ablations."""
    made: dict[str, Encoder] = {"PP": settings.pp, "CSE": settings.cse, "WSV": settings.wsv}
    return {
        name: study.recipes(f"{name} [UE]", encoder, settings.paraphrase, seeds=settings.ablation_seeds)
        for name, encoder in made.items()
    }


def pretrained(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """The encoders that several notebooks start from."""
    return {**encoders(study, settings), **other_encoders(study, settings)}


def modern_encoders(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """Encoders of today whose package is installed: nothing of them is trained, a sentence is one word."""
    return {
        SHORT[name]: study.recipes(
            f"{SHORT[name]} [UE]", AverageEncoder(), vectors=Vectors(name=name), tokenisation="sentence"
        )
        for name in settings.modern
        if vectors.available(name)
    }


def method_of(encoder: str, row: Row) -> str:
    """A row's name as in the paper's table 4, where InferSent's only row of NT and DNT has frozen words.

    Example:
        >>> method_of("GRAN", "NT KL row1"), method_of("InferSent", "DNT row2")
        ('GRAN [NT] KL row1', 'InferSent [DNT]')
    """
    setting, _, rest = row.partition(" ")
    if encoder == "InferSent":
        rest = rest.removesuffix("row2").strip()
    return f"{encoder} [{setting}] {rest}".strip()


def is_printed(method: str) -> bool:
    """Whether the paper has the row: InferSent's with updated words are an addition.

    Example:
        >>> is_printed("InferSent [DNT]"), is_printed("InferSent [DNT] row1"), is_printed("GRAN [DNT] row1")
        (True, False, True)
    """
    return not (method.startswith("InferSent") and method.endswith("row1"))


def as_printed(book: Predictions) -> Predictions:
    """The rows that the paper has."""
    return book.only(list(filter(is_printed, book.methods)))


def stage_of(settings: Settings, row: Row, dataset: suites.Dataset) -> tuple[Transfer, Grid]:
    """The stage of a row on ``dataset``, as its setting in table 3 has it, and the grid it is chosen from."""
    setting = SETTING_OF[row]
    changes: dict[str, Any] = {
        "dataset": dataset,
        "embedding_update": "lazy" if setting.words == "updated" else "frozen",
    }
    if setting.classifier == "absent":
        return settings.direct.model_copy(update=changes), settings.direct_grid
    frozen = setting.encoder == "frozen"
    changes |= {"loss": "mse" if "MSE" in row else "kl", "frozen": frozen}
    return settings.head.model_copy(update=changes), settings.feature_grid if frozen else settings.network_grid


def wanted(
    settings: Settings,
    starts: Starts,
    rows: Sequence[Row] = ROWS,
    datasets: Sequence[suites.Dataset] | None = None,
    *,
    every_seed: Sequence[Row] = EVERY_SEED,
) -> list[Wanted]:
    """The transfers of all ``starts`` by all ``rows`` to all ``datasets`` (None: the configuration's)."""
    return [
        Wanted(
            method_of(encoder, row),
            recipes if row in every_seed else recipes[: len(settings.ablation_seeds)],
            *stage_of(settings, row, dataset),
        )
        for encoder, recipes in starts.items()
        for dataset in (settings.datasets if datasets is None else datasets)
        for row in rows
    ]


def by_target(settings: Settings, starts: Starts) -> list[Wanted]:
    """The rows of table 5: direct network transfer towards both ranges of the gold score."""
    names = {"[0, 1]": "norm0to1", "[-1, 1]": "norm-1to1"}
    made = []
    for row in wanted(settings, starts, ("DNT row1", "DNT row2")):
        if not is_printed(row.method):
            continue
        for target in TARGETS:
            stage = row.stage.model_copy(update={"target": target})
            made.append(Wanted(f"{row.method} {names[target]}", row.starts, stage, row.grid))
    return made


def by_share(settings: Settings, starts: Starts) -> list[Wanted]:
    """Feature, network and direct network transfer from shares of the training pairs, every seed, words updated."""
    rows: tuple[Row, ...] = ("FT KL", "NT KL row1", "DNT row1")
    return [
        Wanted(
            share_name(row.method, share),
            row.starts,
            row.stage.model_copy(update={"share": share}),
            row.grid,
        )
        for share in settings.shares
        for row in wanted(settings, starts, rows, settings.shared_datasets, every_seed=rows)
    ]


def share_name(method: str, share: float) -> str:
    """
    Example:
        >>> share_name("GRAN [FT] KL", 0.25)
        'GRAN [FT] KL 25 %'
    """
    return f"{method} {round(100 * share)} %"


def by_hidden(settings: Settings, starts: Starts) -> list[Wanted]:
    """Feature transfer by KL with other hidden layers than the configuration's: none, as SentEval, and 300 units."""
    return [
        Wanted(
            f"{row.method}, {words}",
            row.starts[: len(settings.ablation_seeds)],
            row.stage.model_copy(update={"hidden": hidden}),
            row.grid,
        )
        for row in wanted(settings, starts, ["FT KL"])
        for words, hidden in (("no hidden layer", None), ("300 hidden", 300))
    ]


def answer_sets(settings: Settings) -> tuple[suites.Dataset, ...]:
    """The graded answers of the configuration; the real ones also divided at random."""
    return ("sag", "sag-random") if "sag" in settings.datasets else ("miniworld-answers",)


# -- scores ------------------------------------------------------------------------------------------------------------


def score(
    study: Study,
    settings: Settings,
    universal: Iterable[Trained],
    found: Iterable[Found],
    datasets: Sequence[suites.Dataset] | None = None,
) -> Predictions:
    """The scores of unsupervised evaluation, the cosine, and of every transfer, on the data sets' own scales.

    The development pairs of STS-B and the parts of STS12 are sets beside the test pairs.
    """
    sets = suites.transfer_sets(settings.datasets if datasets is None else datasets)
    book = study.score(universal, sets=sets)
    for row in found:
        low, high = suites.pairs(row.dataset, "test").scale
        for item in row.trained:
            for name, values in _by_set(row.dataset, item).items():
                book.add(row.method, item.seed, name, low + (high - low) * values)
    return book


def _by_set(dataset: str, item: Trained) -> dict[str, NDArray[np.float64]]:
    test = item.scores("test")
    found = {suites.test_name(dataset): test}
    if dataset == "stsb":
        found[suites.STSB_DEV] = item.scores("trial")
    if dataset == "sts12":
        start = 0
        for part in suites.parts(dataset):
            found[part.name] = test[start : start + len(part)]
            start += len(part)
    return found


def development(found: Iterable[Found]) -> dict[tuple[str, str], float]:
    """The development value of each row on each test set, by which rows are chosen."""
    return {(row.method, suites.test_name(row.dataset)): row.development() for row in found}


def metric_rows(study: Study, book: Predictions) -> list[results.Metric]:
    """The ledger's rows: each set by what its authors ask for, each method by where its scores come from.

    STS12 is pooled, as the paper's numbers are likely to be, and ``STS12/avg`` is the mean of the sets behind it.
    """
    tokens = study.settings.tokenisation
    rows: list[results.Metric] = []
    for method in book.methods:
        kind = Score.COSINE if "[UE]" in method else Score.TRAINED_COSINE if "[DNT]" in method else Score.TRAINED_HEAD
        for name in [*book.names, *(name for name in book.averages if name == "STS12/avg")]:
            how = {"STS12": Aggregation.POOLED, "STS12/avg": Aggregation.MEAN}.get(name, Aggregation.PER_SET)
            protocol = Protocol(kind, measure_on(name), how, tokens)
            rows += book.metric_rows(protocol, [name], [method])
    return rows


def curves(
    found: Iterable[Found], rows: Sequence[str] = ("[FT] KL", "[NT] KL row1", "[DNT] row1")
) -> list[results.CurvePoint]:
    """The development values of the first seed's trainings; the data set is told with the method."""
    return [
        point.model_copy(update={"method": f"{row.method}, {suites.test_name(row.dataset)}"})
        for row in found
        if row.method.split(" ", 1)[1] in rows
        for point in row.trained[0].curve()
        if point.split == "validation"
    ]


def costs(universal: Iterable[Trained], found: Iterable[Found]) -> list[results.Cost]:
    """Of each row the seconds of one seed on all data sets, those of its grid's other points left out."""
    single = [item.cost() for item in universal]
    by_row: dict[tuple[str, int], list[results.Cost]] = {}
    for row in found:
        for item in row.trained:
            by_row.setdefault((row.method, item.seed), []).append(item.cost())
    return single + [
        results.Cost(
            method=method,
            seed=seed,
            seconds=sum(part.seconds for part in parts),
            peak_memory_bytes=max(part.peak_memory_bytes for part in parts),
            parameters=parts[0].parameters,
            examples_per_second=sum(part.examples_per_second * part.seconds for part in parts)
            / max(sum(part.seconds for part in parts), 1e-9),
        )
        for (method, seed), parts in by_row.items()
    ]


def chosen(found: Iterable[Found]) -> list[dict[str, Any]]:
    """What the development pairs chose, and what they chose it from."""
    return [
        {
            "method": row.method,
            "dataset": suites.test_name(row.dataset),
            "learning_rate": row.stage.learning_rate,
            "batch_size": row.stage.batch_size,
            "development": row.development(),
            "tried": row.tried,
        }
        for row in found
    ]


# -- time --------------------------------------------------------------------------------------------------------------

TIMED: tuple[Row, ...] = ("NT MSE row1", "NT MSE row2", "NT KL row1", "NT KL row2", "DNT row1", "DNT row2")


def timed(settings: Settings, starts: Starts, *, share: float = 0.2) -> list[results.Cost]:
    """Examples a second of processor time, of an epoch on a share of one data set's training pairs.

    The trainings of a table run beside other work, and their seconds are no comparison of rows: here rows take turns
    in one process, a round a seed, and the processor's seconds of training steps are counted.

    Args:
        starts: pre-trained encoders; of each the first is timed.
    """
    dataset: suites.Dataset = "sick" if "sick" in settings.datasets else settings.datasets[0]
    found = []
    for number in settings.seeds:
        for encoder, recipes in starts.items():
            for row in TIMED:
                stage, grid = stage_of(settings, row, dataset)
                size = min(grid.batch_sizes)
                stage = stage.model_copy(update={"share": share, "epochs": 1, "batch_size": size, "keep": "last"})
                recipe = recipes[0].model_copy(update={"stages": (*recipes[0].stages, stage)})
                problem = prepare_stage(recipe)
                history = fit(problem, stage, seed=recipe.seed, device="cpu", report=lambda line: None)
                found.append(
                    results.Cost(
                        method=method_of(encoder, row),
                        seed=number,
                        seconds=history.processor_seconds,
                        peak_memory_bytes=history.peak_memory_bytes,
                        parameters=problem.encoder.parameter_count(),
                        examples_per_second=history.examples / history.processor_seconds,
                    )
                )
    return found


# -- comparisons -------------------------------------------------------------------------------------------------------

Pairs = Sequence[tuple[str, str]]


def contrasts(book: Predictions, pairs: Pairs, resamples: int) -> list[results.Test]:
    """A - B of each pair of methods on every test set, Holm's correction over the test sets of each pair."""
    names = [name for name in book.names if name in suites.TEST_NAMES.values()]
    tests: list[results.Test] = []
    for a, b in pairs:
        family = [book.difference(a, b, name, resamples=resamples) for name in names]
        tests += corrected(family)
    return tests


def _partners(methods: Iterable[str], ours: str, theirs: str) -> list[tuple[str, str]]:
    """Methods that hold ``ours`` beside those that hold ``theirs`` in its place."""
    known = dict.fromkeys(methods)
    return [(name, other) for name in known if ours in name and (other := name.replace(ours, theirs)) in known]


def target_pairs(methods: Sequence[str]) -> Pairs:
    """Targets in [0, 1] against targets in [-1, 1]."""
    return _partners(methods, "norm0to1", "norm-1to1")


def hidden_pairs(methods: Sequence[str]) -> Pairs:
    """Other hidden layers against the configuration's."""
    return _partners(methods, ", no hidden layer", "") + _partners(methods, ", 300 hidden", "")


def share_pairs(settings: Settings, methods: Sequence[str]) -> Pairs:
    """Direct network transfer against the others with the same share of the training pairs, and against none."""
    rows = [
        pair
        for share in settings.shares
        for other in ("[FT] KL", "[NT] KL row1")
        for pair in _partners(methods, share_name("[DNT] row1", share), share_name(other, share))
    ]
    shares = [(share_name("BiLSTM-Avg [DNT] row1", share), "BiLSTM-Avg [UE]") for share in settings.shares]
    return rows + [(a, b) for a, b in shares if a in methods and b in methods]


def direct_pairs(methods: Sequence[str]) -> Pairs:
    """Direct network transfer against the same encoder's other settings."""
    return [pair for other in ("[UE]", "[FT] KL") for pair in _partners(methods, "[DNT] row1", other)]


# -- table 5 -----------------------------------------------------------------------------------------------------------


def nonnegative(universal: Iterable[Trained], settings: Settings) -> dict[str, Estimate]:
    """Encoder -> the share of the numbers in its vectors of test sentences that are 0 or more, over its seeds."""
    sets = [suites.pairs(dataset, "test") for dataset in settings.datasets]
    sentences = list(dict.fromkeys(text for pairs in sets for side in (pairs.first, pairs.second) for text in side))
    shares: dict[str, list[float]] = {}
    for item in universal:
        found = encode(item.encoder(), item.vocabulary, sentences, item.recipe.tokenisation)
        shares.setdefault(item.method.removesuffix(" [UE]"), []).append(float((found >= 0).mean()))
    return {encoder: seed_interval(values) for encoder, values in shares.items()}


def shares_frame(shares: Mapping[str, Estimate]) -> pd.DataFrame:
    """`nonnegative` as a table."""
    return pd.DataFrame(
        [
            (name, *(round(100 * value, 1) for value in (share.estimate, share.low, share.high)))
            for name, share in shares.items()
        ],
        columns=["encoder", "share, %", "95 % from", "to"],
    )


# -- table 3 -----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def moved(start: Recipe, found: Iterable[Found]) -> pd.DataFrame:
    """How far each transfer moved the words and the encoder above them: $||\\theta - \\theta_0||$ of each part.

    The classifier is not kept; ``cla`` says whether there was one.
    """
    before = load(start).encoder()
    rows = []
    for row in found:
        after = row.trained[0].encoder()
        composition = [
            (new - old).square().sum() for new, old in zip(after.composition(), before.composition(), strict=True)
        ]
        rows.append(
            {
                "method": row.method,
                "wem": float((after.embedding.weight - before.embedding.weight).norm()),
                "enc": float(torch.stack(composition).sum().sqrt()),
                "cla": "trained" if isinstance(row.stage, HeadTraining) else "none",
            }
        )
    return pd.DataFrame(rows)


def distances(moved: pd.DataFrame, dataset: str) -> list[results.Metric]:
    """The rows of `moved` for the ledger."""
    return [
        results.Metric(
            method=str(row["method"]),
            dataset=dataset,
            metric="distance",
            protocol=f"Euclidean distance of {part} before and after",
            seed=None,
            value=float(row[part]),
            n=1,
        )
        for row in moved.to_dict("records")
        for part in ("wem", "enc")
    ]
