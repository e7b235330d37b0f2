"""Recipes of trained encoders: initial vectors, encoder, trainings, seed; and the encoder before its first training.

A recipe's key is the digest of everything that decides its numbers. Two recipes with a common beginning share its key,
so that the cumulative training of table 2 starts from the encoders of table 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from sentbook.config import Section, digest, parse
from sentbook.data import suites, vectors
from sentbook.data.miniworld import FINGERPRINT
from sentbook.data.text import TOKENISERS, UNKNOWN, Tokenisation, Vocabulary
from sentbook.data.vectors import Vectors
from sentbook.models import SentenceEncoder
from sentbook.models.build import Encoder, build
from sentbook.training.objectives import AnyObjective, GenerationTraining, Objective, Paper, SimilarityTraining

# Raise when a change to the code changes the numbers of trainings: it is part of their keys.
VERSION = 2


class Recipe(Section):
    """How one encoder comes about. No stage: the untrained encoder over the initial vectors."""

    method: str
    seed: int
    vectors: Vectors
    encoder: Encoder
    stages: tuple[AnyObjective, ...] = ()
    tokenisation: Tokenisation = "ptb"
    suite: suites.Suite = "sts"
    random_words: bool = False

    def key(self) -> str:
        """Digest all that decides the numbers, except the versions of pretrained packages; 16 hexadecimal digits."""
        values = self.model_dump(mode="json", exclude={"method", "stages"})
        values["stages"] = []
        if own := vectors.digest(self.vectors):  # the contents decide, wherever they lie
            values["vectors"], values["vectors_digest"] = {"name": self.vectors.name}, own
        for stage in self.stages:
            values["stages"].append(stage.model_dump(mode="json") | stage.digests())
        # Generated data are pinned by their generator, as files are by their digests.
        if any(name.startswith("miniworld") for name in (self.vectors.name, *self.texts())):
            values["generator"] = FINGERPRINT
        return digest({"version": VERSION, **values})

    @property
    def before(self) -> Recipe:
        """The recipe without its last stage."""
        return self.model_copy(update={"stages": self.stages[:-1]})

    def then(self, stage: Objective) -> Recipe:
        """Return the recipe that goes on with one more training."""
        return self.changed(stages=(*self.stages, stage))

    def texts(self) -> tuple[str, ...]:
        """The corpora and data sets of the stages, in their order."""
        return tuple(name for stage in self.stages for name in stage.texts())

    @property
    def generation(self) -> GenerationTraining | None:
        """The stage that decoders take part in: the first one, or None."""
        first = self.stages[0] if self.stages else None
        return first if isinstance(first, GenerationTraining) else None


def recipes(
    s: Paper,
    method: str,
    encoder: Encoder | type[SentenceEncoder],
    *stages: Objective,
    seeds: Sequence[int] | None = None,
    vectors: Vectors | None = None,
    tokenisation: Tokenisation | None = None,
    random_words: bool = False,
) -> list[Recipe]:
    """Return one recipe per seed: the encoder, then its trainings, in order; no training leaves it untrained.

    Args:
        s: the settings of a paper, which name the seeds, the word vectors and the tokenisation.
        method: name of the encoder in tables, spelt as in the paper.
        encoder: its options, or a class of your own; see `sentbook.models.custom`.
        vectors, tokenisation: in place of those of the settings.
        random_words: whether word vectors are drawn at random.
    """
    shared = {"method": method, "vectors": vectors or s.vectors, "encoder": encoder, "stages": stages, "suite": s.suite}
    shared |= {"tokenisation": tokenisation or s.tokenisation, "random_words": random_words}
    chosen = s.seeds if seeds is None else seeds
    return [parse(Recipe, {**shared, "seed": seed}, f"the recipe of {method}") for seed in chosen]


@lru_cache(maxsize=2)
def _words(config: Vectors) -> tuple[Vocabulary, Tensor]:
    loaded = vectors.load(**dict(config))
    return Vocabulary(loaded.words), torch.from_numpy(vectors.embedding_matrix(loaded))


@lru_cache(maxsize=1)
def _book_words(
    stage: GenerationTraining, config: Vectors, tokenisation: Tokenisation, seed: int, identity: str
) -> tuple[Vocabulary, Tensor]:
    found = stage.read(tokenisation)
    return stage.lexicon(found, vectors.load(**dict(config)), seed)


@lru_cache(maxsize=4)
def _extended(config: Vectors, datasets: tuple[str, ...], tokenisation: Tokenisation) -> tuple[Vocabulary, list[int]]:
    """The words of the vectors, then those of each of ``datasets`` that have none, in the order met; how many each."""
    vocabulary, _ = _words(config)
    added: dict[str, None] = {}
    sizes: list[int] = []
    for dataset in datasets:
        for split in ("train", "trial", "test"):
            pairs = suites.pairs(dataset, split)
            for sentence in (*pairs.first, *pairs.second):
                added |= dict.fromkeys(
                    word for word in TOKENISERS[tokenisation](sentence) if vocabulary.id(word) == UNKNOWN
                )
        sizes.append(len(added) - sum(sizes))
    return Vocabulary([*vocabulary.words, *added]), sizes


def words_of(recipe: Recipe) -> tuple[Vocabulary, Tensor]:
    """Return the words of a recipe, and their (V, D) initial vectors."""
    if recipe.generation is not None:
        stage = recipe.generation
        return _book_words(stage, recipe.vectors, recipe.tokenisation, recipe.seed, stage.digests().get("path", ""))
    vocabulary, weight = _words(recipe.vectors)
    on_pairs = [stage for stage in recipe.stages if isinstance(stage, SimilarityTraining)]
    if datasets := dict.fromkeys(stage.dataset for stage in on_pairs if stage.new_words == "random"):
        vocabulary, sizes = _extended(recipe.vectors, tuple(datasets), recipe.tokenisation)
        generator = torch.Generator().manual_seed(recipe.seed)
        # Data set by data set, so that a later stage's words leave the vectors of an earlier one's as they are.
        new = torch.cat([torch.randn(size, weight.shape[1], generator=generator) for size in sizes])
        # As large as the vectors that are known, so that a new word weighs as much as another.
        weight = torch.cat([weight, weight[2:].mean(dim=0) + weight[2:].std(dim=0) * new])
    return vocabulary, weight


def untrained(recipe: Recipe) -> tuple[SentenceEncoder, Vocabulary]:
    """The encoder before its first stage."""
    vocabulary, weight = words_of(recipe)
    if recipe.random_words:  # the floor that any learning must beat
        weight = torch.randn(weight.shape, generator=torch.Generator().manual_seed(recipe.seed))
        weight[0] = 0
    return build(recipe.encoder, weight, seed=recipe.seed), vocabulary


def over_books(recipe: Recipe) -> SentenceEncoder:
    """The untrained encoder over the words of its books alone: what decoders predict, and what training touches."""
    assert recipe.generation is not None
    own = len(recipe.generation.read(recipe.tokenisation).vocabulary)
    return build(recipe.encoder, words_of(recipe)[1][:own], seed=recipe.seed)
