"""The rows of Zhang et al.'s tables: pre-trained encoders, and their transfers to each data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sentbook import records as results
from sentbook.data import suites, vectors
from sentbook.data.vectors import Vectors
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import Aggregation, Protocol, Score, measure_on
from sentbook.evaluation.statistics import corrected
from sentbook.models.average import AverageEncoder
from sentbook.models.build import Encoder
from sentbook.papers.dnt.settings import Settings
from sentbook.papers.dnt.winners import encoder_of, named, row_label, test_names
from sentbook.study import Study
from sentbook.training.devices import device_of
from sentbook.training.loop import fit
from sentbook.training.problems.transfer import SETTINGS
from sentbook.training.recipes import Recipe, Trained, prepare_stage
from sentbook.training.search import Found, Transfer, Wanted
from sentbook.training.settings import DirectTransfer, Grid, Stage

# A row of table 4, one of each for every encoder: the setting, its loss, and what becomes of the word vectors.
Row = Literal[
    "FT MSE",
    "FT KL",
    "NT MSE, words updated",
    "NT MSE, words frozen",
    "NT KL, words updated",
    "NT KL, words frozen",
    "DNT, words updated",
    "DNT, words frozen",
]
ROWS: tuple[Row, ...] = get_args(Row)
# The settings that train, each with a row at which its search begins and what else is tried of it.
WORDS = {"embedding_update": ("lazy", "frozen")}
SEARCHED: dict[str, tuple[Row, Mapping[str, Sequence[str]]]] = {
    "FT": ("FT KL", {}),
    "NT": ("NT KL, words updated", WORDS),
    "DNT": ("DNT, words updated", WORDS),
}
# Names of today's encoders in tables.
SHORT: dict[str, str] = {"all-minilm-l6-v2": "MiniLM", "universal-sentence-encoder": "USE"}
Starts = Mapping[str, Sequence[Recipe]]


def pretrained(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """The encoders that several notebooks start from, one recipe a seed, by the encoder's name."""
    others = settings.paraphrase_vectors
    made: dict[str, tuple[Encoder, Stage, Vectors | None]] = {
        "InferSent": (settings.infersent, settings.inference, None),
        "BiLSTM-Avg": (settings.bilstm_average, settings.paraphrase, others),
        "GRAN": (settings.gran, settings.simple, others),
        "PP": (settings.pp, settings.paraphrase, others),
        "CSE": (settings.cse, settings.paraphrase, others),
        "WSV": (settings.wsv, settings.paraphrase, others),
    }
    return {
        name: study.recipes(f"{name} [UE]", encoder, stage, vectors=own) for name, (encoder, stage, own) in made.items()
    }


def encoders(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """Those of table 4 that a run compares."""
    made = pretrained(study, settings)
    return {name: made[name] for name in settings.compared_encoders}


def other_encoders(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """Encoders without an LSTM, pre-trained as BiLSTM-Avg is."""
    made = pretrained(study, settings)
    return {name: made[name] for name in ("PP", "CSE", "WSV")}


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
    """Name a row as runs do: ``row1`` of the paper's table 4 updates the word vectors, ``row2`` freezes them.

    The paper's InferSent has frozen words alone, and no number.

    Example:
        >>> method_of("GRAN", "NT KL, words updated"), method_of("InferSent", "DNT, words frozen")
        ('GRAN [NT] KL row1', 'InferSent [DNT]')
    """
    setting, _, loss = row.partition(",")[0].partition(" ")
    number = "row1" if row.endswith("updated") else "row2" if row.endswith("frozen") and encoder != "InferSent" else ""
    return " ".join(filter(None, (encoder, f"[{setting}]", loss, number)))


def row_of(stage: Transfer) -> Row:
    """Name the row of table 4 that a transfer is.

    Example:
        >>> from sentbook.training.settings import HeadTraining
        >>> row_of(HeadTraining(loss="kl", embedding_update="frozen"))
        'NT KL, words frozen'
    """
    words = "updated" if stage.embedding_update == "lazy" else "frozen"
    if isinstance(stage, DirectTransfer):
        return "DNT, words updated" if words == "updated" else "DNT, words frozen"
    loss = stage.loss.upper()
    found = f"FT {loss}" if stage.frozen else f"NT {loss}, words {words}"
    return next(row for row in ROWS if row == found)


def stage_of(settings: Settings, row: Row, dataset: suites.Dataset) -> tuple[Transfer, Grid]:
    """The stage of a row on ``dataset``, as its setting in table 3 has it, and the grid it is chosen from."""
    names = {"FT": "Feature transfer", "NT": "Network transfer", "DNT": "Direct network transfer"}
    name = names[row.partition(",")[0].partition(" ")[0]] + ", wem frozen" * row.endswith("words frozen")
    setting = next(setting for setting in SETTINGS if setting.name == name)
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
) -> list[Wanted]:
    """The transfers of all ``starts`` by all ``rows`` to all ``datasets`` (None: the configuration's)."""
    return [
        Wanted(method_of(encoder, row), recipes, *stage_of(settings, row, dataset))
        for encoder, recipes in starts.items()
        for dataset in (settings.datasets if datasets is None else datasets)
        for row in rows
    ]


def wanted_settings(
    settings: Settings,
    starts: Starts,
    kinds: Sequence[str] = tuple(SEARCHED),
    datasets: Sequence[suites.Dataset] | None = None,
) -> list[Wanted]:
    """The transfers of all ``starts`` by a setting to all ``datasets``; its row is a part of the search.

    Every setting has as many points: a classifier sees vectors as they are or of size one, an encoder that is trained
    has its words updated or frozen, and where both are so, batches are of one size alone. An average has no parameters
    but its words, which are updated; its batches are of one length or random.
    """

    def name(encoder: str) -> Callable[[Transfer], str]:
        return lambda stage: method_of(encoder, row_of(stage))

    return [
        Wanted(
            named(encoder, kind),
            recipes,
            *stage_of(settings, row, dataset),
            also={"bucket": (True, False)} if also and isinstance(recipes[0].encoder, AverageEncoder) else also,
            name=name(encoder),
        )
        for encoder, recipes in starts.items()
        for dataset in (settings.datasets if datasets is None else datasets)
        for kind, (row, also) in SEARCHED.items()
        if kind in kinds
    ]


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
        parts = suites.parts(dataset)
        cut = np.split(test, np.cumsum([len(part) for part in parts])[:-1])
        found |= {part.name: values for part, values in zip(parts, cut, strict=True)}
    return found


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


def curves(found: Iterable[Found]) -> list[results.CurvePoint]:
    """The development values of the first seed's trainings; the data set is told with the method."""
    return [
        point.model_copy(update={"method": f"{row.method}, {suites.test_name(row.dataset)}"})
        for row in found
        for point in row.trained[0].curve()
        if point.split == "validation"
    ]


def curves_of(points: Iterable[results.CurvePoint], encoder: str, dataset: str) -> list[results.CurvePoint]:
    """The curves of one encoder on one data set, of `curves` or of a recorded run, under the labels of their rows."""
    found = []
    for point in points:
        row, _, name = point.method.rpartition(", ")
        if name == dataset and encoder_of(row) == encoder:
            found.append(point.model_copy(update={"method": row_label(row)}))
    return found


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


def timed(settings: Settings, starts: Starts, *, share: float = 0.2) -> list[results.Cost]:
    """Examples a second of the processor, on CUDA of the clock: an epoch on a share of one data set's training pairs.

    The trainings of a table run beside other work, and their seconds are no comparison of rows: here rows take turns
    in one process, a round a seed, and the seconds of training steps are counted.

    Args:
        starts: pre-trained encoders; of each the first is timed.
    """
    dataset: suites.Dataset = "sick" if "sick" in settings.datasets else settings.datasets[0]
    found = []
    for number in settings.seeds:
        for encoder, recipes in starts.items():
            for row in ROWS[2:]:
                stage, grid = stage_of(settings, row, dataset)
                size = min(grid.batch_sizes)
                stage = stage.model_copy(update={"share": share, "epochs": 1, "batch_size": size, "keep": "last"})
                recipe = recipes[0].model_copy(update={"stages": (*recipes[0].stages, stage)})
                problem = prepare_stage(recipe, settings.device)
                history = fit(problem, stage, seed=recipe.seed, device=settings.device, report=lambda line: None)
                on_cpu = device_of(settings.device).type == "cpu"
                seconds = history.processor_seconds if on_cpu else history.seconds
                found.append(
                    results.Cost(
                        method=method_of(encoder, row),
                        seed=number,
                        seconds=seconds,
                        peak_memory_bytes=history.peak_memory_bytes,
                        parameters=problem.encoder.parameter_count(),
                        examples_per_second=history.examples / seconds,
                    )
                )
    return found


def speeds(timed: Iterable[results.Cost]) -> dict[str, float]:
    """Examples a second by method, the mean over its timed trainings."""
    by_method: dict[str, list[float]] = {}
    for row in timed:
        by_method.setdefault(row.method, []).append(row.examples_per_second)
    return {method: float(np.mean(values)) for method, values in by_method.items()}


# -- comparisons -------------------------------------------------------------------------------------------------------


def contrasts(book: Predictions, pairs: Sequence[tuple[str, str]], resamples: int) -> list[results.Test]:
    """A - B of each pair of methods on every test set that both were scored on, over pairs and seeds.

    Holm's correction is over the test sets of each pair.
    """
    families = (
        [
            book.difference(a, b, name, resamples=resamples)
            for name in test_names(book)
            if book.has(a, name) and book.has(b, name)
        ]
        for a, b in pairs
    )
    return [test for family in families for test in corrected(family)]


def searches(found: Iterable[Found]) -> list[results.Search]:
    """How each row's settings were chosen, by the test set's name in tables."""
    return [row.search.model_copy(update={"dataset": suites.test_name(row.dataset)}) for row in found]
