"""The rows of Gan et al.'s tables: encoders trained by four kinds of decoders, and what they are measured beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sentbook.config import digest
from sentbook.data import modern
from sentbook.data.novels import Limits
from sentbook.evaluation import classification
from sentbook.evaluation.features import OUTCOME_VERSION, Features, combined
from sentbook.models.average import AverageEncoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.encoder_decoder import Kind
from sentbook.models.lstm import LSTMEncoder
from sentbook.papers.cnn_lstm.settings import Settings
from sentbook.records import Metric, Search
from sentbook.runs import ledger
from sentbook.study import Study
from sentbook.training import pretraining
from sentbook.training.recipes import Recipe, Trained
from sentbook.training.search import searches_of
from sentbook.training.settings import GenerationTraining
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
STARTS = [
    (f"{name}{suffix}", f"random {'wide ' if name == 'combine' else ''}CNN{suffix}")
    for suffix in ("", FIXED)
    for name in (*MODELS, "combine")
]
WIDE = f"wide composite model{FIXED}"
# Filters of a CNN that is not trained: uniform as Glorot and Bengio 2010 have it for four words of 300 dimensions and
# 200 filters. Random words are as large as N(0, 1), 25 times the pre-trained ones, and their filters so much smaller.
RANDOM_BOUND, RANDOM_WORDS = 0.07, 25
# Between a model's name and the number of the check at which its training is read.
CHECK = ", check "
# The protocols of table 3's numbers.
MAJORITY = "the training examples' most frequent class for every example"
SKIP_THOUGHTS = (
    str(classification.SKIP_THOUGHTS_NESTED),
    str(classification.SKIP_THOUGHTS_TREC),
    str(classification.SKIP_THOUGHTS_MSRP),
    MAJORITY,
)


def suffixes(settings: Settings) -> list[str]:
    """The endings of the rows that are trained: ``""`` of learned words, ``+emb.`` of fixed ones."""
    return [{"learned": "", "fixed": FIXED}[kind] for kind in settings.word_kinds]


def recipes(study: Study, settings: Settings, words: Iterable[str] | None = None) -> dict[str, list[Recipe]]:
    """The trained models, one recipe a seed, by their names; what is used of the books is printed.

    Args:
        words: endings of the names, see `suffixes`; None: those of the settings.
    """
    pretraining.tell(settings.pretraining, settings.tokenisation, settings.device)
    return pretrained(study, settings, words)


def pretrained(study: Study, settings: Settings, words: Iterable[str] | None = None) -> dict[str, list[Recipe]]:
    """The encoders that several notebooks start from: `recipes`, without a look at the books."""
    return {
        name + suffix: study.recipes(name + suffix, settings.encoder, stage_of(settings, name + suffix))
        for suffix in (suffixes(settings) if words is None else words)
        for name in MODELS
    }


def stage_of(settings: Settings, row: str, name: str = "", **changes: Any) -> GenerationTraining:
    """How a row of the tables is trained: by its kind, its words, and the learning rate chosen for it.

    Args:
        name: of a row that differs from ``row`` by ``changes``, and may have a rate of its own.
    """
    kind = MODELS[row.removesuffix(FIXED)]
    stage = settings.hierarchical if kind == "hierarchical" else settings.pretraining
    update = "frozen" if row.endswith(FIXED) else "dense"
    rate = settings.rates.get(name or row, settings.rates.get(row, stage.learning_rate))
    return stage.changed(model=kind, embedding_update=update, learning_rate=rate, **changes)


def variants(study: Study, settings: Settings) -> dict[str, list[Recipe]]:
    """Trainings that move one suspected cause each: sentences of a paragraph, numbers of a vector, amount of text.

    Of shorter paragraphs a batch holds more, so that its sentences stay as many.
    """
    made: dict[str, list[Recipe]] = {}
    if not settings.controls:
        return made
    seeds = settings.ablation_seeds
    for size in settings.paragraphs:
        name, base = f"hierarchical model ({size})", settings.hierarchical
        changes = {"paragraph": size, "batch_size": max(2, base.batch_size * base.paragraph // size)}
        stage = stage_of(settings, COMBINE[0], name, **changes)
        made[name] = study.recipes(name, settings.encoder, stage, seeds=seeds)
    stage = stage_of(settings, COMBINE[1] + FIXED, WIDE)
    made[WIDE] = study.recipes(WIDE, wide(settings.encoder), stage, seeds=seeds)
    for row in settings.all_sentences:
        name = f"{row}, all sentences"
        stage = stage_of(settings, row, name, limit=None)
        made[name] = study.recipes(name, settings.encoder, stage, seeds=seeds)
    return made


def lstms(study: Study, settings: Settings, words: Iterable[str] | None = None) -> dict[str, list[Recipe]]:
    """An LSTM of as many numbers as the CNN, trained as the autoencoder is: what the paper sets its CNN against.

    Args:
        words: see `recipes`; None: those of the settings, and none of them without controls.
    """
    if words is None:
        words = suffixes(settings) if settings.controls else []
    return {
        f"LSTM autoencoder{suffix}": study.recipes(
            f"LSTM autoencoder{suffix}",
            as_wide(settings.encoder),
            stage_of(settings, f"autoencoder{suffix}"),
            seeds=settings.ablation_seeds,
        )
        for suffix in words
    }


def as_wide(encoder: CNNEncoder) -> LSTMEncoder:
    """An LSTM whose state has as many numbers as the CNN's vector."""
    return LSTMEncoder(hidden=encoder.filters * len(encoder.widths))


def wide(encoder: CNNEncoder) -> CNNEncoder:
    """Twice the filters: as many numbers as *combine* has."""
    return encoder.changed(filters=2 * encoder.filters)


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


def searches(study: Study, trained: Sequence[Trained]) -> list[Search]:
    """How settings were chosen, as the recorded page on tuning says; *combine* has those of its halves.

    A model is still rising where tasks read its vectors better and better, as the recorded page on pre-training says:
    the log-likelihood of held-out words, which is what trainings are followed by, rises as long as there is text.
    """
    tuning, along = (ledger.read(study.paper, name, study.settings.profile) for name in ("tuning", "pretraining"))
    gains = task_gains(along.metrics if along else [])
    found = [
        row.model_copy(update={"last_quarter_gain": gains.get(row.method)})
        for row in searches_of(trained, tuning.searches if tuning else [])
    ]
    of_row = {row.method: row for row in found if row.grid}
    for suffix in ("", FIXED):
        halves = [of_row[name + suffix] for name in COMBINE if name + suffix in of_row]
        if len(halves) == len(COMBINE):
            told = {
                "chosen": {f"{setting}, {row.method}": row.chosen[setting] for row in halves for setting in row.chosen},
                "at_edge": [f"{setting}, {row.method}" for row in halves for setting in row.at_edge],
                "last_quarter_gain": max((row.last_quarter_gain or 0.0 for row in halves), default=None),
                "tried": [],
                "of": "",
            }
            names = (f"combine{suffix}", f"projected combine{suffix}")
            found += [halves[0].model_copy(update={"method": name, **told}) for name in names]
    return found


def task_gains(metrics: Sequence[Metric]) -> dict[str, float]:
    """What the best mean accuracy over tasks gained in the last quarter of each model's training, mean over seeds.

    Args:
        metrics: among others rows ``"<model>, check <k>"``, the checks of a training in equal steps.
    """
    frame = pd.DataFrame([row.model_dump() for row in metrics if CHECK in row.method])
    if frame.empty:
        return {}
    frame[["model", "check"]] = frame["method"].str.rsplit(CHECK, n=1, expand=True)
    values = frame.astype({"check": int}).pivot_table("value", ["model", "seed"], "check")
    early = values[[check for check in values.columns if int(check) <= 0.75 * values.shape[1]]]
    gains = (values.T.max() - early.T.max()).clip(lower=0.0)
    return {str(model): float(gain) for model, gain in gains.groupby("model").mean().items()}


@dataclass(frozen=True)
class Projected(Features):
    """Features in ``numbers`` dimensions, those in which the vectors of held-out sentences are largest.

    The first right singular vectors of (N, F) vectors, which are not centred; no task takes part.
    """

    numbers: int = 1

    def key(self) -> str:
        return digest({"of": super().key(), "numbers": self.numbers})

    def vectors(self, sentences: Sequence[str], device: str = "cpu") -> NDArray[np.float32]:
        whole = Features(self.method, self.seed, self.parts)
        return whole.vectors(sentences, device) @ _directions(whole, device)[:, : self.numbers]


@lru_cache(maxsize=2)
def _directions(whole: Features, device: str, sentences: int = 5_000) -> NDArray[np.float32]:
    """(F, F) directions of the vectors of held-out sentences, the largest first."""
    recipe = whole.parts[0]
    assert isinstance(recipe, Recipe) and recipe.generation is not None
    books = pretraining.books(recipe.generation, recipe.tokenisation)
    rows = books.rows("held out", Limits(longest=recipe.generation.longest))
    some = rows[np.linspace(0, len(rows) - 1, min(sentences, len(rows))).astype(int)]
    z = whole.vectors([books.text(row) for row in some], device)
    return np.ascontiguousarray(np.linalg.eigh(z.T @ z)[1][:, ::-1])


def projected(rows: Sequence[Features]) -> list[Features]:
    """Both words' *combine* in as many dimensions as one of its halves has."""
    halves = {row.method: row.parts[0].encoder for row in rows if isinstance(row.parts[0], Recipe)}
    return [
        Projected(f"projected {row.method}", row.seed, row.parts, encoder.filters * len(encoder.widths))
        for row in rows
        if row.method.startswith("combine") and isinstance(encoder := halves[row.method], CNNEncoder)
    ]


def random_start(settings: Settings, *, fixed: bool, twice: bool = False) -> CNNEncoder:
    """The encoder as it is before training, with filters of a common size in place of the paper's [-.01, .01]."""
    encoder = wide(settings.encoder) if twice else settings.encoder
    return encoder.changed(bound=RANDOM_BOUND if fixed else RANDOM_BOUND / RANDOM_WORDS)


def marks(study: Study, settings: Settings) -> list[Features]:
    """What any training must beat, and what later encoders reach: nothing of these is trained here.

    Beside every width of trained encoders stands a random one, over random words and over fixed ones.
    """
    plain = []
    for twice in (False, True):
        name = f"random {'wide ' if twice else ''}CNN"
        start = random_start(settings, fixed=False, twice=twice)
        plain += study.recipes(name, start, random_words=True)
        plain += study.recipes(name + FIXED, random_start(settings, fixed=True, twice=twice))
    plain += study.recipes("random LSTM", as_wide(settings.encoder), seeds=settings.ablation_seeds, random_words=True)
    plain += study.recipes(f"random LSTM{FIXED}", as_wide(settings.encoder), seeds=settings.ablation_seeds)
    plain += study.recipes("average of words", AverageEncoder(), seeds=settings.seeds[:1])
    return of(plain) + [Features(name, 1, (name,)) for name in settings.modern if modern.available(name)]


def outcomes_of(
    function: Callable[..., Arrays], rows: Sequence[Features], settings: Settings, **identity: object
) -> Iterable[tuple[Features, Arrays]]:
    """What ``function`` gives for each row and the settings, found by all that decides it or made now, side by side.

    Args:
        identity: what decides it beside the row's vectors and its seed.
    """
    keys = [digest({"version": OUTCOME_VERSION, "features": row.key(), **identity, "seed": row.seed}) for row in rows]
    return zip(rows, outcomes(function, [(row, settings) for row in rows], keys, settings.jobs), strict=True)
