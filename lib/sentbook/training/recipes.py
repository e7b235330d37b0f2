"""Recipes of trained encoders, and their artifacts: found by key, trained where missing, side by side where asked.

An artifact is ``<artifacts>/<key>/encoder.safetensors``; the key is the hash of everything that decides its numbers
(initial vectors, encoder, the stages up to here, seed). Two recipes with a common beginning share its artifact, so
that the cumulative training of table 2 starts from the encoders of table 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentbook.config import Section, digest, parse
from sentbook.data import suites, vectors
from sentbook.data.miniworld import FINGERPRINT
from sentbook.data.text import TOKENISERS, UNKNOWN, Tokenisation, Vocabulary
from sentbook.data.vectors import Vectors
from sentbook.io import CheckpointError, ConfigError
from sentbook.models import FrozenVectors, SentenceEncoder
from sentbook.models.build import Encoder, build
from sentbook.models.encoder_decoder import EncoderDecoder
from sentbook.training import checkpoint, store
from sentbook.training.devices import device_of
from sentbook.training.objectives import AnyObjective, GenerationTraining, Objective, Paper, RelatednessTraining, Start
from sentbook.training.objectives.books import expand
from sentbook.training.store import STANDS_ON, VERSION, Learned, Tensors, Work
from sentbook.training.train import progress, train


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

    def key(self, stages: int | None = None) -> str:
        """The name of the artifact after the first ``stages`` stages (None: all)."""
        values = self.model_dump(mode="json", exclude={"method", "stages"})
        values["stages"] = []
        if own := vectors.digest(self.vectors):  # the contents decide, wherever they lie
            values["vectors"], values["vectors_digest"] = {"name": self.vectors.name}, own
        for stage in self.stages[:stages]:
            values |= (books := stage.digests())
            shown = stage.model_dump(mode="json", exclude={"path"} if books else None)
            values["stages"].append(shown | stage.own_file())
        # Generated data are pinned by their generator, as files are by their digests.
        if any(name.startswith("miniworld") for name in (self.vectors.name, *self.datasets(), *self.texts())):
            values["generator"] = FINGERPRINT
        return digest({"version": VERSION, **values})

    def prefix(self, stages: int) -> Recipe:
        return self.model_copy(update={"stages": self.stages[:stages]})

    def datasets(self) -> tuple[str, ...]:
        """The data sets of scored pairs in the order of the stages."""
        return tuple(dict.fromkeys(name for stage in self.stages for name in stage.datasets()))

    def texts(self) -> tuple[str, ...]:
        """The corpora of the stages that are no scored pairs."""
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
    return [
        Recipe(
            method=method,
            seed=seed,
            vectors=vectors or s.vectors,
            encoder=encoder,
            stages=stages,
            tokenisation=tokenisation or s.tokenisation,
            suite=s.suite,
            random_words=random_words,
        )
        for seed in (s.seeds if seeds is None else seeds)
    ]


@dataclass(frozen=True)
class Trained(Learned):
    """A trained encoder on disk: its recipe, and what its training left. `encoder` reads it when it is wanted, since
    a table's thirty encoders of 90 MB each need not be in memory together."""

    recipe: Recipe
    metadata: dict[str, Any]
    file: Path | None = None

    @property
    def key(self) -> str:
        """Return the name of the artifact."""
        return self.recipe.key()

    def encoder(self, device: str = "cpu") -> SentenceEncoder:
        """The encoder, in evaluation mode on a ``device``, see `device_of`.

        Raises:
            CheckpointError: the artifact is truncated, belongs to another recipe, or was trained with other words.
        """
        encoder, vocabulary = untrained(self.recipe)
        if self.recipe.stages:
            self.put_into(encoder, vocabulary)
        return encoder.eval().to(device_of(device))

    def put_into(self, encoder: SentenceEncoder, vocabulary: Vocabulary) -> None:
        """Give ``encoder``, which may know more words, what was learned; raises as `encoder`."""
        count, known = self.metadata.get("words", (0, ""))
        if known and vocabulary.digest(count) != known:
            raise CheckpointError(
                f"{self.method} was trained with other words than {self.recipe.vectors.name} has here; bring back "
                f"those vectors, or delete {_artifact(self.recipe).parent} and run again."
            )
        for tensors in _left(self.recipe, self.file):
            _apply(encoder, tensors)
        _expand(encoder, self.recipe)

    def at(self, check: int) -> Trained:
        """The encoder as it was at a check of its training, counted from 1, where its stage keeps them."""
        return replace(self, file=_artifact(self.recipe).with_stem(f"check-{check}"))

    def generator(self, device: str = "cpu") -> tuple[EncoderDecoder, Vocabulary]:
        """As `encoder`, over the words of its books and with its decoders; and those words.

        Raises:
            CheckpointError: an artifact is missing, truncated, or belongs to another recipe; or no decoder took part.
        """
        stage = self.recipe.generation
        if stage is None or len(self.recipe.stages) > 1:
            raise CheckpointError(f"{self.method} was not trained with a decoder; choose a CNN-LSTM model.")
        path = self.file or _artifact(self.recipe)
        if not path.with_name("decoders.safetensors").exists():
            raise CheckpointError(f"The decoders beside {path} are missing; delete the folder and run again.")
        found = stage.read(self.recipe.tokenisation)
        encoder = over_books(self.recipe)
        _apply(encoder, *_left(self.recipe, path))
        model = stage.encoder_decoder(encoder, self.recipe.seed)
        tensors, _ = checkpoint.load(path.with_name("decoders.safetensors"), self.recipe.key())
        model.decoders.load_state_dict(tensors)
        return model.eval().to(device_of(device)), found.vocabulary

    def scores(self, split: str, state: Literal["best", "last"] = "best") -> NDArray[np.float64]:
        """(N,) scores in [0, 1] of the last stage's ``trial`` or ``test`` pairs, by the best or the last epoch's state.

        Raises:
            CheckpointError: the stage was not trained on scored pairs, or its scores are damaged.
        """
        path = (self.file or _artifact(self.recipe)).with_name("scores.safetensors")
        if not path.exists():
            raise CheckpointError(f"{path} does not exist; delete its folder and run the experiment again.")
        tensors, _ = checkpoint.load(path, self.recipe.key())
        return np.asarray(tensors[f"{state}.{split}"].numpy())

    @property
    def vocabulary(self) -> Vocabulary:
        return _lexicon(self.recipe)[0]

    @property
    def method(self) -> str:  # type: ignore[override]
        return self.recipe.method

    @property
    def seed(self) -> int:  # type: ignore[override]
        return self.recipe.seed


@lru_cache(maxsize=2)
def _words(config: Vectors) -> tuple[Vocabulary, Tensor]:
    loaded = vectors.load(config.name, config.path)
    return Vocabulary(loaded.words), torch.from_numpy(vectors.embedding_matrix(loaded))


@lru_cache(maxsize=1)
def _book_words(
    stage: GenerationTraining, config: Vectors, tokenisation: Tokenisation, seed: int, identity: str
) -> tuple[Vocabulary, Tensor]:
    found = stage.read(tokenisation)
    return stage.lexicon(found, vectors.load(config.name, config.path), seed)


@lru_cache(maxsize=4)
def _extended(
    config: Vectors, datasets: tuple[str, ...], tokenisation: Tokenisation
) -> tuple[Vocabulary, tuple[int, ...]]:
    """The words of the vectors, then those of each of ``datasets`` that have none, in the order met; how many each."""
    vocabulary, _ = _words(config)
    added: dict[str, None] = {}
    ends = [0]
    for dataset in datasets:
        for split in ("train", "trial", "test"):
            pairs = suites.pairs(dataset, split)
            for sentence in (*pairs.first, *pairs.second):
                added |= dict.fromkeys(
                    word for word in TOKENISERS[tokenisation](sentence) if vocabulary.id(word) == UNKNOWN
                )
        ends.append(len(added))
    return Vocabulary([*vocabulary.words, *added]), tuple(np.diff(ends).tolist())


def _lexicon(recipe: Recipe) -> tuple[Vocabulary, Tensor]:
    """The words of a recipe, and their (V, D) initial vectors."""
    if recipe.generation is not None:
        stage = recipe.generation
        return _book_words(stage, recipe.vectors, recipe.tokenisation, recipe.seed, stage.identity())
    vocabulary, weight = _words(recipe.vectors)
    if datasets := tuple(dict.fromkeys(name for stage in recipe.stages for name in stage.new_words_of())):
        vocabulary, sizes = _extended(recipe.vectors, datasets, recipe.tokenisation)
        generator = torch.Generator().manual_seed(recipe.seed)
        # Data set by data set, so that a later stage's words leave the vectors of an earlier one's as they are.
        new = torch.cat([torch.randn(size, weight.shape[1], generator=generator) for size in sizes])
        # As large as the vectors that are known, so that a new word weighs as much as another.
        weight = torch.cat([weight, weight[2:].mean(dim=0) + weight[2:].std(dim=0) * new])
    return vocabulary, weight


def untrained(recipe: Recipe) -> tuple[SentenceEncoder, Vocabulary]:
    """The encoder before its first stage."""
    vocabulary, weight = _lexicon(recipe)
    if recipe.random_words:  # the floor that any learning must beat
        weight = torch.randn(weight.shape, generator=torch.Generator().manual_seed(recipe.seed))
        weight[0] = 0
    return build(recipe.encoder, weight, seed=recipe.seed), vocabulary


def over_books(recipe: Recipe) -> SentenceEncoder:
    """The untrained encoder over the words of its books alone: what decoders predict, and what training touches."""
    assert recipe.generation is not None
    own = len(recipe.generation.read(recipe.tokenisation).vocabulary)
    return build(recipe.encoder, _lexicon(recipe)[1][:own], seed=recipe.seed)


@torch.no_grad()
def _expand(encoder: SentenceEncoder, recipe: Recipe) -> None:
    """Give an encoder that learned its words vectors for all others; the artifact of a later stage holds them."""
    stage = recipe.generation
    if stage is not None and len(recipe.stages) == 1 and stage.embedding_update == "dense":
        found = stage.read(recipe.tokenisation)
        expand(encoder.embedding.weight.data, found, vectors.load(recipe.vectors.name, recipe.vectors.path))


# An artifact holds what its stage moved: of word vectors their rows, since of 400,000 words a task has a few thousand;
# and it names the artifact that it stands on. One of an earlier version holds an encoder's whole composition.
_ROWS, _MOVED, _WORDS = "embedding.rows", "embedding.moved", "embedding.weight"


def _state(encoder: SentenceEncoder, initial: Tensor, before: Sequence[Tensors]) -> dict[str, Tensor]:
    tensors = dict(encoder.state_dict())
    weight = tensors.pop(_WORDS)
    moved = (weight != initial).any(dim=1)
    for earlier in before:
        moved[earlier[_ROWS]] = (weight[earlier[_ROWS]] != earlier[_MOVED]).any(dim=1)
    known = {name: value for earlier in before for name, value in earlier.items()}
    own = {name: value for name, value in tensors.items() if name not in known or not torch.equal(value, known[name])}
    rows = moved.nonzero().squeeze(1)
    return own | {_ROWS: rows, _MOVED: weight[rows]}


@torch.no_grad()
def _apply(encoder: SentenceEncoder, tensors: dict[str, Tensor]) -> None:
    """Put an artifact's tensors into ``encoder``, which may know more words than the one they are from."""
    tensors = dict(tensors)
    weight = encoder.embedding.weight
    if _ROWS in tensors:
        weight[tensors.pop(_ROWS)] = tensors.pop(_MOVED)
    encoder.load_state_dict(encoder.state_dict() | tensors)


def _left(recipe: Recipe, file: Path | None = None) -> list[dict[str, Tensor]]:
    """Read what the stages of a recipe have moved, the first one's tensors first.

    Raises:
        CheckpointError: an artifact is truncated or belongs to another recipe; or what it stands on is not there.
    """
    if not recipe.stages:
        return []
    path, before = file or _artifact(recipe), recipe.prefix(len(recipe.stages) - 1)
    tensors, about = checkpoint.load(path, recipe.key())
    if (words := tensors.pop(_WORDS, None)) is not None:  # of an artifact that holds all words
        tensors |= {_ROWS: torch.arange(len(words)), _MOVED: words}
    if STANDS_ON not in about:
        return [tensors]
    if not _artifact(before).exists() or _stands_on(before) != about[STANDS_ON]:
        raise CheckpointError(
            f"{path} stands on {_artifact(before)}, which is not there or is not as it was; bring it back, or delete "
            f"{path.parent} and run again."
        )
    return [*_left(before), tensors]


def _stands_on(before: Recipe) -> list[str]:
    """Return the key of an artifact and the sum of what is in it: made again, on another machine, it may differ."""
    return [before.key(), checkpoint.read_metadata(_artifact(before), before.key())["sum"]]


def _artifact(recipe: Recipe) -> Path:
    return StageTraining(recipe).path


def load(recipe: Recipe) -> Trained:
    """A recipe whose artifact is there.

    Raises:
        CheckpointError: the artifact is truncated or belongs to another recipe.
    """
    return Trained(recipe, store.read(StageTraining(recipe)).metadata if recipe.stages else {})


@dataclass(frozen=True)
class StageTraining(Work):
    """The last stage of a recipe, trained on top of the artifact of the others."""

    recipe: Recipe
    device: str = "auto"
    file: ClassVar[str] = "encoder"

    @cached_property
    def key(self) -> str:
        return self.recipe.key()

    def needs(self) -> Sequence[StageTraining]:
        before = self.recipe.prefix(len(self.recipe.stages) - 1)
        return [StageTraining(before, self.device)] if before.stages else []

    def is_whole(self) -> bool:
        with suppress(CheckpointError):  # of which who reads it is told
            stands_on = checkpoint.read_metadata(self.path, None).get(STANDS_ON)
            return not stands_on or all(
                need.path.exists() and need.is_whole() and _stands_on(need.recipe) == stands_on for need in self.needs()
            )
        return True

    def run(self, folder: Path) -> tuple[dict[str, Tensors], dict[str, Any]]:
        recipe = self.recipe
        problem = prepare_stage(recipe, self.device)
        scores: dict[str, Tensor] = {}
        history = train(
            problem,
            seed=recipe.seed,
            device=self.device,
            key=self.key,
            folder=folder,
            report=progress(f"{recipe.method}, seed {recipe.seed}, stage {len(recipe.stages)}"),
            at_end=lambda: scores.update(_scores(problem, "last")),
        )
        if history.best_step == history.examples:  # the last state is the best one
            scores |= {name.replace("last", "best", 1): values.clone() for name, values in scores.items()}
        else:
            scores |= _scores(problem, "best")
        encoder = problem.encoder.cpu()
        vocabulary, initial = _lexicon(recipe)
        before = recipe.prefix(len(recipe.stages) - 1)
        state = _state(encoder, initial[: len(encoder.embedding.weight)], _left(before))
        files: dict[str, Tensors] = {"scores": scores} if scores else {}
        files |= {name: module.state_dict() for name, module in problem.kept().items()}
        return files | {StageTraining.file: state}, {
            "recipe": recipe.model_dump(mode="json"),
            "parameters": encoder.parameter_count(),
            "moved_words": len(state[_ROWS]),
            "words": (len(vocabulary.words), vocabulary.digest()),
            "history": vars(history),
            "pairs": len(problem.lengths),
            **({STANDS_ON: _stands_on(before)} if before.stages else {}),
        }


@lru_cache(maxsize=4)
def _frozen(recipe: Recipe, device: str) -> FrozenVectors:
    """The vectors of an encoder that feature transfers to several data sets, and their seeds and losses, share."""
    return FrozenVectors(load(recipe).encoder(device))


def prepare_stage(recipe: Recipe, device: str = "cpu") -> Objective:
    """The last stage's problem on top of the artifact of the others.

    Raises:
        CheckpointError: a stage before has no artifact, or was trained with other words.
        DataError: a file is missing or damaged.
    """
    stage, before = recipe.stages[-1], recipe.prefix(len(recipe.stages) - 1)
    if stage.begins and before.stages:
        raise ConfigError("Training with decoders starts an encoder; make it the first stage.")
    if stage.begins:
        encoder, vocabulary = over_books(recipe), _lexicon(recipe)[0]
    else:
        encoder, vocabulary = untrained(recipe)
    if before.stages:
        load(before).put_into(encoder, vocabulary)
    frozen = partial(_frozen, before, device)
    trained = bool(before.stages)
    start = Start(encoder, vocabulary, recipe.seed, recipe.tokenisation, recipe.suite, trained, frozen)
    return stage.bind(start)


def _scores(problem: Objective, state: str) -> dict[str, Tensor]:
    return {f"{state}.{split}": torch.from_numpy(values) for split, values in problem.held_out_scores().items()}


def obtain(recipes: Sequence[Recipe], *, device: str = "auto", jobs: int = 1) -> list[Trained]:
    """The encoders of ``recipes``, in their order; what has no artifact yet is trained.

    Stages are trained level by level, each distinct beginning once.

    Args:
        jobs: how many trainings run side by side, each in a process of its own with one thread.

    Raises:
        SentbookError: as `sentbook.training.train.train`; encoders that were finished keep their artifacts.
    """
    store.make([StageTraining(recipe, device) for recipe in recipes if recipe.stages], jobs=jobs)
    return [load(recipe) for recipe in recipes]


def attempt(recipes: Sequence[Recipe], *, device: str = "auto", jobs: int = 1) -> list[Trained | None]:
    """As `obtain`, for a search that tries learning rates which may be too high: None where the last stage diverged."""
    works = [StageTraining(recipe, device) for recipe in recipes]
    store.make(works, jobs=jobs, may_diverge=True)
    return [load(work.recipe) if work.path.exists() else None for work in works]


class Trial(StageTraining):
    """The last stage of a recipe for a search: the history is kept, and not the encoder, which may be 90 MB."""

    file: ClassVar[str] = "trial"

    def is_whole(self) -> bool:
        return True  # a history stands on nothing

    @property
    def path(self) -> Path:
        """Return the artifact of the encoder where there is one, since it holds the same history."""
        trained = StageTraining(self.recipe, self.device).path
        return trained if trained.exists() else super().path

    def run(self, folder: Path) -> tuple[dict[str, Tensors], dict[str, Any]]:
        _, about = super().run(folder)
        return {self.file: {}}, about


def histories(recipes: Sequence[Recipe], *, device: str = "auto", jobs: int = 1) -> list[dict[str, Any] | None]:
    """Return what training left of each recipe's last stage but its encoder; None where it diverged."""
    works = [Trial(recipe, device) for recipe in recipes]
    store.make(works, jobs=jobs, may_diverge=True)
    return [store.read(work).metadata["history"] if work.path.exists() else None for work in works]


# -- supervised relatedness --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FineTuned(Learned):
    """Predictions of one fine-tuned encoder on the test pairs, on the scale of the gold scores."""

    method: str
    seed: int
    key: str
    predictions: NDArray[np.float64]
    metadata: dict[str, Any]


@dataclass(frozen=True)
class FineTuning(Work):
    """``start`` updated with a head on graded pairs: with stages ("universal") it is pulled back to them, without
    ("random") to 0."""

    start: Recipe
    settings: RelatednessTraining
    device: str = "auto"
    file: ClassVar[str] = "predictions"

    @cached_property
    def key(self) -> str:
        settings = self.settings.model_dump(mode="json")
        return digest({"version": VERSION, "start": self.start.key(), "settings": settings})

    def needs(self) -> Sequence[Work]:
        return [StageTraining(self.start, self.device)] if self.start.stages else []

    def run(self, folder: Path) -> tuple[dict[str, Tensors], dict[str, Any]]:
        started, settings, seed = load(self.start), self.settings, self.start.seed
        trained, tokenisation = bool(self.start.stages), self.start.tokenisation
        start = Start(started.encoder(), started.vocabulary, seed, tokenisation, trained=trained)
        problem = settings.bind(start)
        history = train(
            problem,
            seed=seed,
            device=self.device,
            key=self.key,
            folder=folder,
            report=progress(f"{self.start.method}, seed {seed}"),
        )
        predictions = torch.from_numpy(problem.predict(problem.tokens(suites.pairs(settings.dataset, "test"))))
        head = sum(value.numel() for value in problem.head.parameters())
        parameters = problem.encoder.parameter_count() + head
        about = {"history": vars(history), "pairs": len(problem.lengths), "parameters": parameters}
        return {self.file: {"test": predictions}}, about


def fine_tune(
    starts: Sequence[Recipe],
    settings: RelatednessTraining | Sequence[RelatednessTraining],
    *,
    device: str = "auto",
    jobs: int = 1,
) -> list[FineTuned]:
    """The predictions of ``starts`` fine-tuned, in their order; what has no artifact yet is trained.

    Args:
        settings: of all, or one of each.

    Raises:
        SentbookError: as `obtain`.
    """
    each = [settings] * len(starts) if isinstance(settings, RelatednessTraining) else settings
    works = [FineTuning(start, one, device) for start, one in zip(starts, each, strict=True)]
    return [
        FineTuned(start.method, start.seed, item.key, item.tensors()["test"].numpy(), item.metadata)
        for start, item in zip(starts, store.obtain(works, jobs=jobs), strict=True)
    ]


# -- by its file -------------------------------------------------------------------------------------------------------


def from_file(path: Path) -> Trained:
    """A trained encoder by the path of its artifact, whatever its recipe.

    Raises:
        CheckpointError: no artifact there, or it is truncated.
    """
    file = path / "encoder.safetensors" if path.is_dir() else path
    if not file.is_file():
        raise CheckpointError(f"There is no trained encoder at {path}; name a folder of build/artifacts.")
    metadata = checkpoint.read_metadata(file, None)
    recipe = parse(Recipe, metadata.get("recipe", {}), str(file))
    return Trained(recipe, metadata, file)
