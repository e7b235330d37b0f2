"""The rows of Gan et al.'s tables: encoders trained by four kinds of decoders, and what they are measured beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sentbook.config import digest
from sentbook.data import modern
from sentbook.evaluation import classification
from sentbook.evaluation.features import OUTCOME_VERSION, Features, combined
from sentbook.models.average import AverageEncoder
from sentbook.models.cnn import CNNEncoder
from sentbook.models.encoder_decoder import Kind
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
# The protocols of table 3's numbers.
MAJORITY = "the training examples' most frequent class for every example"
SKIP_THOUGHTS = (
    str(classification.SKIP_THOUGHTS_NESTED),
    str(classification.SKIP_THOUGHTS_TREC),
    str(classification.SKIP_THOUGHTS_MSRP),
    MAJORITY,
)


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


def outcomes_of(
    function: Callable[..., Arrays], rows: Sequence[Features], settings: Settings, **identity: object
) -> Iterable[tuple[Features, Arrays]]:
    """What ``function`` gives for each row and the settings, found by all that decides it or made now, side by side.

    Args:
        identity: what decides it beside the row's vectors and its seed.
    """
    keys = [digest({"version": OUTCOME_VERSION, "features": row.key(), **identity, "seed": row.seed}) for row in rows]
    return zip(rows, outcomes(function, [(row, settings) for row in rows], keys, settings.jobs), strict=True)
