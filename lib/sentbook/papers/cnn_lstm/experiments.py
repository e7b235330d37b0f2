"""The rows of Gan et al.'s tables: encoders trained by four kinds of decoders, and the baselines next to them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from sentbook import records
from sentbook.data import modern
from sentbook.evaluation.features import Features
from sentbook.models.average import AverageEncoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.decoders import Kind
from sentbook.models.recurrent import LSTMEncoder
from sentbook.papers.cnn_lstm.settings import Settings
from sentbook.records import Metric, Search
from sentbook.training.objectives import GenerationTraining
from sentbook.training.recipes import Recipe, recipes
from sentbook.training.runs import Trained
from sentbook.training.search import searches_of

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


def suffixes(s: Settings) -> list[str]:
    """Return the endings of the rows that are trained: ``""`` of learned words, ``+emb.`` of fixed ones."""
    return [{"learned": "", "fixed": FIXED}[kind] for kind in s.word_kinds]


def models(s: Settings, words: Iterable[str] | None = None) -> dict[str, list[Recipe]]:
    """Return the paper's four models by their names in tables, one recipe per seed.

    Args:
        words: endings of the names, see `suffixes`; None: those of the settings.
    """
    return {
        name + suffix: recipes(s, name + suffix, s.encoder, stage_of(s, name + suffix))
        for suffix in (suffixes(s) if words is None else words)
        for name in MODELS
    }


pretrained = models  # what several notebooks share, as `sentbook train` asks for it


def stage_of(s: Settings, row: str, name: str = "", **changes: Any) -> GenerationTraining:
    """Return the training of a row: by its kind, its words, and the learning rate chosen for it.

    Args:
        name: of a row that differs from ``row`` by ``changes``, and may have a rate of its own.
    """
    kind = MODELS[row.removesuffix(FIXED)]
    stage = s.hierarchical if kind == "hierarchical" else s.pretraining
    update = "frozen" if row.endswith(FIXED) else "dense"
    rate = s.rates.get(name or row, s.rates.get(row, stage.learning_rate))
    return stage.changed(model=kind, embedding_update=update, learning_rate=rate, **changes)


def variants(s: Settings) -> dict[str, list[Recipe]]:
    """Return trainings that move one suspected cause each: sentences per paragraph, or the size of the vector.

    With shorter paragraphs a batch holds more of them, so that it has as many sentences.
    """
    if not s.controls:
        return {}
    shorter = {
        f"hierarchical model ({size})": {
            "paragraph": size,
            "batch_size": max(2, s.hierarchical.batch_size * s.hierarchical.paragraph // size),
        }
        for size in s.paragraphs
    }
    rows = [(name, COMBINE[0], s.encoder, changes) for name, changes in shorter.items() if "learned" in s.word_kinds]
    rows += [(WIDE, COMBINE[1] + FIXED, wide(s.encoder), {})] * ("fixed" in s.word_kinds)
    return {
        name: recipes(s, name, encoder, stage_of(s, row, name, **changes), seeds=s.ablation_seeds)
        for name, row, encoder, changes in rows
    }


def lstms(s: Settings, words: Iterable[str] | None = None) -> dict[str, list[Recipe]]:
    """Return an LSTM of as many numbers as the CNN, trained as the autoencoder is: the paper compares its CNN with it.

    Args:
        words: see `models`; None: those of the settings, and none of them without controls.
    """
    if words is None:
        words = suffixes(s) if s.controls else []
    names = {suffix: f"LSTM autoencoder{suffix}" for suffix in words}
    return {
        name: recipes(s, name, as_wide(s.encoder), stage_of(s, f"autoencoder{suffix}"), seeds=s.ablation_seeds)
        for suffix, name in names.items()
    }


def as_wide(encoder: CNNEncoder) -> LSTMEncoder:
    """Return an LSTM whose state has as many numbers as the CNN's vector."""
    return LSTMEncoder(hidden=encoder.filters * len(encoder.widths))


def wide(encoder: CNNEncoder) -> CNNEncoder:
    """Double the filters: as many numbers as *combine* has."""
    return encoder.changed(filters=2 * encoder.filters)


def random_start(s: Settings, *, fixed: bool, twice: bool = False) -> CNNEncoder:
    """Return the encoder before training, with filters of a common size in place of the paper's [-.01, .01]."""
    encoder = wide(s.encoder) if twice else s.encoder
    return encoder.changed(bound=RANDOM_BOUND if fixed else RANDOM_BOUND / RANDOM_WORDS)


def features(made: Mapping[str, Sequence[Recipe]]) -> list[Features]:
    """Return the rows of tables 3 to 5 in the paper's order: each model, and both of ``COMBINE`` joined."""
    rows: list[Features] = []
    for suffix in ("", FIXED):
        block = {name: features_of(made[name + suffix]) for name in MODELS if name + suffix in made}
        rows += [row for group in block.values() for row in group]
        if all(name in block for name in COMBINE):
            pairs = zip(*(block[name] for name in COMBINE), strict=True)
            rows += [Features("combine" + suffix, one.seed, (*one.parts, *other.parts)) for one, other in pairs]
    return rows


def features_of(group: Iterable[Recipe]) -> list[Features]:
    """Return each recipe's vectors under its method's name."""
    return [Features(recipe.method, recipe.seed, (recipe,)) for recipe in group]


def baselines(s: Settings) -> list[Features]:
    """Return what any training must beat, and what later encoders reach: nothing of these is trained here.

    For every width of trained encoders there is a random one, over random words and over fixed ones.
    """
    plain = []
    for twice in (False, True):
        name = f"random {'wide ' if twice else ''}CNN"
        plain += recipes(s, name, random_start(s, fixed=False, twice=twice), random_words=True)
        plain += recipes(s, name + FIXED, random_start(s, fixed=True, twice=twice))
    plain += recipes(s, "random LSTM", as_wide(s.encoder), seeds=s.ablation_seeds, random_words=True)
    plain += recipes(s, f"random LSTM{FIXED}", as_wide(s.encoder), seeds=s.ablation_seeds)
    plain += recipes(s, "average of words", AverageEncoder(), seeds=s.seeds[:1])
    return features_of(plain) + [Features(name, 1, (name,)) for name in s.modern if modern.available(name)]


# -- how the learning rates were chosen --------------------------------------------------------------------------------


def searches(s: Settings, trained: Sequence[Trained]) -> list[Search]:
    """Return how settings were chosen, as the page on tuning recorded it; *combine* has the searches of its halves.

    A model is still improving where tasks read its vectors better and better, as the page on pre-training recorded: the
    log-likelihood of held-out words, which trainings are followed by, rises as long as there is text.
    """
    tuning, along = (_recorded(name, s.profile) for name in ("cnn_lstm/tuning", "cnn_lstm/pretraining"))
    gains = task_gains(along.metrics if along else [])
    found = [
        row.model_copy(update={"last_quarter_gain": gains.get(row.method)})
        for row in searches_of(trained, tuning.searches if tuning else [])
    ]
    of_row = {row.method: row for row in found if row.grid}
    for suffix in ("", FIXED):
        halves = [of_row[name + suffix] for name in COMBINE if name + suffix in of_row]
        if len(halves) == len(COMBINE):
            both = {
                "chosen": {f"{setting}, {row.method}": row.chosen[setting] for row in halves for setting in row.chosen},
                "at_edge": [f"{setting}, {row.method}" for row in halves for setting in row.at_edge],
                "last_quarter_gain": max(row.last_quarter_gain or 0.0 for row in halves),
                "tried": [],
                "of": "",
            }
            names = (f"combine{suffix}", f"projected combine{suffix}")
            found += [halves[0].model_copy(update={"method": name, **both}) for name in names]
    return found


def _recorded(name: str, profile: str) -> records.Run | None:
    return records.read(name, profile) or records.read(name, profile, own=True)


def task_gains(metrics: Sequence[Metric]) -> dict[str, float]:
    """Return what the best mean accuracy over tasks gained in the last quarter of each model's training, over seeds.

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
