"""The encoders and transfers of Zhang et al. 2018: rows of table 4, what is searched for them, scores, costs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from sentbook.data import suites, vectors
from sentbook.data.vectors import Vectors
from sentbook.evaluation.predictions import Predictions
from sentbook.evaluation.protocols import Aggregation, Protocol, Score, measure_on
from sentbook.models.average import AverageEncoder
from sentbook.papers.dnt.settings import Settings
from sentbook.papers.dnt.winners import setting_name
from sentbook.records import Cost, CurvePoint, Metric, Search
from sentbook.study import Study
from sentbook.training.devices import device_of
from sentbook.training.objectives import DirectTransfer, Grid, HeadTraining
from sentbook.training.recipes import Recipe, recipes
from sentbook.training.runs import Trained, cost_of, prepare_stage
from sentbook.training.search import Descent, Found, over_grid
from sentbook.training.train import silent, train

Starts = Mapping[str, Sequence[Recipe]]
Transfer = DirectTransfer | HeadTraining
NAMES = ("InferSent", "BiLSTM-Avg", "GRAN", "PP", "CSE", "WSV")
# Points close to the best are tried with so many seeds; the rows of a setting are compared with all.
DECIDING = 2
# Names of today's encoders in tables.
SHORT = {"all-minilm-l6-v2": "MiniLM", "universal-sentence-encoder": "USE"}


# -- encoders ----------------------------------------------------------------------------------------------------------


def encoders(s: Settings, names: Iterable[str] | None = None) -> dict[str, list[Recipe]]:
    """Return the pre-trained encoders by name, one recipe a seed; of ``names`` None, those that table 4 compares."""
    made = {
        "InferSent": (s.infersent, s.inference, None),
        "BiLSTM-Avg": (s.bilstm_average, s.paraphrase, s.paraphrase_vectors),
        "GRAN": (s.gran, s.simple, s.paraphrase_vectors),
        "PP": (s.pp, s.paraphrase, s.paraphrase_vectors),
        "CSE": (s.cse, s.paraphrase, s.paraphrase_vectors),
        "WSV": (s.wsv, s.paraphrase, s.paraphrase_vectors),
    }
    found = {}
    for name in s.compared_encoders if names is None else names:
        encoder, stage, own = made[name]
        found[name] = recipes(s, f"{name} [UE]", encoder, stage, vectors=own)
    return found


def modern_encoders(s: Settings) -> dict[str, list[Recipe]]:
    """Return today's encoders whose package is installed: none of them is trained, a sentence is one word."""
    return {
        SHORT[name]: recipes(
            s, f"{SHORT[name]} [UE]", AverageEncoder(), vectors=Vectors(name=name), tokenisation="sentence"
        )
        for name in s.modern
        if vectors.available(name)
    }


# -- rows --------------------------------------------------------------------------------------------------------------


def rows(s: Settings) -> list[Transfer]:
    """Return the transfers that table 4 has a row of, in its order."""
    words = ("lazy", "frozen")
    return [
        *[s.head.changed(frozen=True, loss=loss, embedding_update="frozen") for loss in ("mse", "kl")],
        *[s.head.changed(loss=loss, embedding_update=one) for loss, one in product(("mse", "kl"), words)],
        *[s.direct.changed(embedding_update=one) for one in words],
    ]


def method_of(encoder: str, transfer: Transfer) -> str:
    """Name the row of a transfer: ``row1`` of the paper's table 4 updates the word vectors, ``row2`` freezes them.

    The paper's InferSent has frozen words alone, and no number.

    Example:
        >>> method_of("GRAN", DirectTransfer()), method_of("InferSent", DirectTransfer(embedding_update="frozen"))
        ('GRAN [DNT] row1', 'InferSent [DNT]')
    """
    number = "row1" if transfer.embedding_update == "lazy" else "" if encoder == "InferSent" else "row2"
    if isinstance(transfer, DirectTransfer):
        parts = [f"{encoder} [DNT]", number]
    elif transfer.frozen:
        parts = [f"{encoder} [FT]", transfer.loss.upper()]
    else:
        parts = [f"{encoder} [NT]", transfer.loss.upper(), number]
    return " ".join(filter(None, parts))


def grid_for(s: Settings, transfer: Transfer) -> Grid:
    """Return what a transfer is chosen from on the development pairs."""
    if isinstance(transfer, DirectTransfer):
        return s.direct_grid
    return s.feature_grid if transfer.frozen else s.network_grid


def wanted_rows(
    s: Settings, starts: Starts, transfers: Iterable[Transfer], datasets: Sequence[suites.Dataset] | None = None
) -> list[Descent]:
    """Return the searches of rows: every transfer of every encoder to every data set (None: the profile's).

    The rows of a setting have equally many points together, for every encoder: feature transfer chooses the batch and
    whether vectors are divided by their size, network transfer the latter, direct network transfer the batch, the two
    for words updated and frozen. InferSent's words stay frozen, as the paper's have to: it chooses among smaller
    batches too. An average has no parameters but its words, which are updated, in batches of one length or random ones.
    """
    found = []
    for (name, start), dataset, transfer in product(starts.items(), datasets or s.datasets, list(transfers)):
        average, fixed = isinstance(start[0].encoder, AverageEncoder), name.startswith("InferSent")
        grid, stage = grid_for(s, transfer), transfer.changed(dataset=dataset)
        also: dict[str, Sequence[object]] = {}
        if not (isinstance(transfer, HeadTraining) and transfer.frozen):
            if transfer.embedding_update == ("lazy" if fixed else "frozen" if average else ""):
                continue
            also = {"bucket": (True, False)} if average else {}
            smaller = [size // 2 ** len(grid.batch_sizes) for size in grid.batch_sizes if fixed]
            grid = grid.changed(batch_sizes=(*smaller, *grid.batch_sizes))
        found.append(replace(over_grid(method_of(name, transfer), start, stage, grid, also), deciding=DECIDING))
    return found


def chosen(found: Iterable[Found]) -> list[Found]:
    """Return of each setting's rows on a data set the one that is best on its development pairs, mean over seeds.

    Rows of squared error take no part: so each setting has as many points to choose from.
    """
    groups: dict[tuple[str, str], list[Found]] = {}
    for row in found:
        if " MSE" not in row.method:
            groups.setdefault((setting_name(row.method), row.dataset), []).append(row)
    return [max(rows, key=_development) for rows in groups.values()]


def _development(row: Found) -> float:
    return float(np.mean([item.metadata["history"]["best"] for item in row.trained]))


# -- what is recorded --------------------------------------------------------------------------------------------------


def score(
    study: Study, universal: Iterable[Trained], found: Iterable[Found], datasets: Sequence[suites.Dataset] | None = None
) -> Predictions:
    """Return the scores of unsupervised evaluation, the cosine, and of every transfer, on the data sets' own scales.

    The development pairs of STS-B and the parts of STS12 are sets beside the test pairs.
    """
    scores = study.score(universal, sets=suites.transfer_sets(datasets or study.settings.datasets))
    for row in found:
        low, high = suites.pairs(row.dataset, "test").scale
        for item in row.trained:
            test = item.scores("test")
            by_set = {suites.test_name(row.dataset): test}
            if row.dataset == "stsb":
                by_set[suites.STSB_DEV] = item.scores("trial")
            if row.dataset == "sts12":
                parts = suites.parts(row.dataset)
                cut = np.split(test, np.cumsum([len(part) for part in parts])[:-1])
                by_set |= {part.name: values for part, values in zip(parts, cut, strict=True)}
            for name, values in by_set.items():
                scores.add(row.method, item.seed, name, low + (high - low) * values)
    return scores


def metric_rows(s: Settings, scores: Predictions) -> list[Metric]:
    """Return each set by what its authors ask for, each method by where its scores come from.

    STS12 is pooled, as the paper's numbers are likely to be, and ``STS12/avg`` is the mean of the sets behind it.
    """
    found: list[Metric] = []
    for method in scores.methods:
        kind = Score.COSINE if "[UE]" in method else Score.TRAINED_COSINE if "[DNT]" in method else Score.TRAINED_HEAD
        for name in [*scores.names, *(name for name in scores.means if name == "STS12/avg")]:
            how = {"STS12": Aggregation.POOLED, "STS12/avg": Aggregation.MEAN}.get(name, Aggregation.PER_SET)
            found += scores.metric_rows(Protocol(kind, measure_on(name), how, s.tokenisation), [name], [method])
    return found


def chosen_rows(found: Iterable[Found]) -> dict[str, dict[str, str]]:
    """Name by data set the row of each setting, ``GRAN [NT]``, that is `chosen`."""
    names: dict[str, dict[str, str]] = {}
    for row in chosen(found):
        names.setdefault(suites.test_name(row.dataset), {})[setting_name(row.method)] = row.method
    return names


def searches(found: Sequence[Found]) -> list[Search]:
    """Return how each row's settings were chosen, by the test set's name in tables, and how each setting's row was."""
    rows = [(row, row.search.model_copy(update={"dataset": suites.test_name(row.dataset)})) for row in found]
    settings = []
    for best in chosen(found):
        name = setting_name(best.method)
        own = [search for row, search in rows if (setting_name(row.method), row.dataset) == (name, best.dataset)]
        own = [search for search in own if " MSE" not in search.method]
        [search] = (search for row, search in rows if row is best)
        total = sum(one.trainings for one in own)
        settings.append(search.model_copy(update={"method": name, "trainings": total, "tried": []}))
    return [*(search for _, search in rows), *(one for one in settings if one.method not in {r.method for r in found})]


def curves(found: Iterable[Found]) -> list[CurvePoint]:
    """Return the development values of the first seed; the data set is named with the method."""
    return [
        point.model_copy(update={"method": f"{row.method}, {suites.test_name(row.dataset)}"})
        for row in found
        for point in row.trained[0].curve()
        if point.split == "validation"
    ]


def timed(s: Settings, starts: Starts, *, share: float = 0.2) -> list[Cost]:
    """Time an epoch of every row that trains an encoder, on a share of one data set's pairs, once for each seed.

    Rows take turns in one process: the trainings of a table run beside other work, so that their seconds do not compare
    rows. On a CPU the processor's seconds count, which other work moves little; a CUDA device works while the processor
    waits, so there the clock's.
    """
    dataset: suites.Dataset = "sick" if "sick" in s.datasets else s.datasets[0]
    turns = []
    for name, start in starts.items():
        for transfer in rows(s)[2:]:
            size = min(grid_for(s, transfer).batch_sizes)
            stage = transfer.changed(dataset=dataset, share=share, epochs=1, batch_size=size, keep="last")
            turns.append(start[0].then(stage).changed(method=method_of(name, transfer)))
    found = []
    for turn, recipe in product(s.seeds, turns):
        objective = prepare_stage(recipe, s.device)
        history = vars(train(objective, seed=recipe.seed, device=s.device, report=silent))
        if device_of(s.device).type == "cpu":
            history["seconds"] = history["processor_seconds"]
        about = {"history": history, "parameters": objective.encoder.parameter_count()}
        found.append(cost_of(recipe.method, turn, about))
    return found


def speeds(timed: Iterable[Cost]) -> dict[str, float]:
    """Return examples a second by method, the mean over its timed epochs."""
    by_method: dict[str, list[float]] = {}
    for row in timed:
        by_method.setdefault(row.method, []).append(row.examples_per_second)
    return {method: float(np.mean(values)) for method, values in by_method.items()}
