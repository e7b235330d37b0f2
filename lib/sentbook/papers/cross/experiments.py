"""The encoders of the four papers and two of today, their transfers to every data set, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from sentbook import config
from sentbook.data import label_pairs, modern
from sentbook.data.overlap import key
from sentbook.data.suites import Dataset
from sentbook.evaluation.features import Features
from sentbook.io import ConfigError
from sentbook.models import encode
from sentbook.papers.cnn_lstm import experiments as cnn_lstm
from sentbook.papers.cnn_lstm.settings import Settings as CNNLSTMSettings
from sentbook.papers.cross.settings import Settings as CrossSettings
from sentbook.papers.dnt import experiments as dnt
from sentbook.papers.dnt.settings import Settings as DNTSettings
from sentbook.papers.dnt.winners import named
from sentbook.study import Study
from sentbook.training.recipes import Recipe, load
from sentbook.training.search import Wanted

# The row of a setting, the same for every encoder, so that no row is chosen by a result.
ROWS: dict[str, dnt.Row] = {"FT": "FT KL", "DNT": "DNT, words updated"}
ORDER = ("PP", "CSE", "WSV", "BiLSTM-Avg", "GRAN", "InferSent", "CNN-LSTM")
# Data sets of pairs with a label -> their task.
TASK_OF_PAIRS: dict[str, str] = {"msrp": "MSRP", "miniworld-paraphrase": "miniworld/paraphrase"}


@dataclass(frozen=True)
class Encoder:
    """One encoder before any transfer.

    Attributes:
        starts: what a transfer begins with, one a seed.
        plain: any sentence to its vector, one a seed.
        trainable: whether its weights are trained here.
    """

    name: str
    starts: Sequence[Recipe]
    plain: Sequence[Features]
    trainable: bool = True

    def loaded(self) -> tuple[Callable[[Sequence[str]], object], int, int]:
        """The first seed's map from sentences to vectors, and how many parameters it has above the words and of them.

        Raises:
            CheckpointError: it was not trained.
        """
        (part,) = self.plain[0].parts
        if isinstance(part, str):
            return partial(modern.sentence_vectors, part), *modern.parameters(part)
        trained = load(part)
        encoder, vocabulary = trained.encoder(), trained.vocabulary
        made = partial(encode, encoder, vocabulary, tokenisation=part.tokenisation)
        return made, encoder.parameter_count(), encoder.embedding.weight.numel()


def settings_of(settings: CrossSettings) -> tuple[DNTSettings, CNNLSTMSettings]:
    """The configurations of ``dnt`` and ``cnn_lstm`` in the same profile, with the seeds and the device of this one."""
    given = {name: getattr(settings, name) for name in ("profile", "seeds", "ablation_seeds", "device", "jobs")}
    return config.load("dnt", given), config.load("cnn_lstm", given)


def encoders(study: Study, settings: CrossSettings) -> list[Encoder]:
    """The encoders in the matrix's order; of today's those whose package is installed.

    Raises:
        ConfigError: no such CNN-LSTM model.
    """
    transfer, decoding = settings_of(settings)
    # A study makes recipes of its own configuration; these need the words and tokens of the papers'.
    of_dnt, of_cnn = (Study(f"{study.paper}/{study.experiment}", one) for one in (transfer, decoding))
    models = cnn_lstm.recipes(of_cnn, decoding)
    if settings.cnn_lstm not in models:
        raise ConfigError(f"There is no CNN-LSTM model '{settings.cnn_lstm}'; choose one of {', '.join(models)}.")
    made = {**dnt.pretrained(of_dnt, transfer), "CNN-LSTM": models[settings.cnn_lstm]}
    found = []
    for name in ORDER:
        starts = [recipe.model_copy(update={"method": named(name, "UE")}) for recipe in made[name]]
        found.append(Encoder(name, starts, [Features(recipe.method, recipe.seed, (recipe,)) for recipe in starts]))
    fixed = dnt.modern_encoders(of_dnt, transfer.model_copy(update={"modern": settings.modern}))
    for name in settings.modern:
        if (short := dnt.SHORT[name]) in fixed:
            plain = [Features(named(short, "UE"), settings.seeds[0], (name,))]
            found.append(Encoder(short, fixed[short][:1], plain, trainable=False))
    return found


def transfers(settings: CrossSettings, rows: Sequence[Encoder]) -> list[Wanted]:
    """Feature transfer and direct network transfer to scored pairs, and the latter to labelled ones.

    Pairs of a task's sentences are drawn by seed (`sentbook.data.label_pairs`); all of them choose the rate.
    """
    base, _ = settings_of(settings)
    share = settings.label_pairs / label_pairs.SIZES["train"]

    def wanted(one: Encoder, setting: str, dataset: Dataset) -> Wanted:
        stage, grid = dnt.stage_of(base, ROWS[setting], dataset)
        also = {"bucket": (True, False)} if setting == "DNT" else {}  # as many points as feature transfer has
        if dataset in label_pairs.TASK_OF:  # a few hundred may choose a rate that fails on all of them
            stage = stage.model_copy(update={"share": share})
            grid, also = grid.model_copy(update={"pairs": None, "batch_sizes": grid.batch_sizes[:1]}), {}
        return Wanted(named(one.name, setting), one.starts, stage, grid, also)

    made = []
    for one in rows:
        made += [wanted(one, "FT", name) for name in scored(settings)]
        if one.trainable:
            made += [wanted(one, "DNT", name) for name in (*settings.datasets, *sources_of(settings))]
    return made


def scored(settings: CrossSettings) -> list[Dataset]:
    """The data sets whose pairs have a score, and no label."""
    return [name for name in settings.datasets if name not in TASK_OF_PAIRS]


def sources_of(settings: CrossSettings) -> list[Dataset]:
    """The data sets of label pairs of the configuration's tasks."""
    by_task = {task: dataset for dataset, task in label_pairs.TASK_OF.items()}
    return [by_task[task] for task in settings.classification]  # type: ignore[misc]


def missing(settings: CrossSettings, rows: Sequence[Encoder]) -> dict[str, str]:
    """Method -> why the matrix has no numbers of it; every setting of an encoder whose package is not installed."""
    found = {named(one.name, "DNT"): "its weights are not trained here" for one in rows if not one.trainable}
    present = {one.name for one in rows}
    for short in (dnt.SHORT[name] for name in settings.modern):
        if short not in present:
            found |= dict.fromkeys(
                (named(short, "UE"), named(short, "FT")), "not installed: pip install 'sentbook[modern]'"
            )
    return found


def met(recipes: Iterable[Recipe]) -> frozenset[str]:
    """Keys (`sentbook.data.overlap.key`) of every sentence that one of these trainings may have drawn."""
    keys: set[str] = set()
    for recipe in recipes:
        for stage in recipe.stages:
            keys |= {key(text) for text in stage.sentences(recipe.seed, recipe.suite)}
    return frozenset(keys)
