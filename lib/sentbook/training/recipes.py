"""Recipes of trained encoders, and their artifacts: found by key, trained where missing, side by side where asked.

An artifact is ``<artifacts>/<key>/encoder.safetensors``; the key is the hash of everything that decides its numbers
(initial vectors, encoder, the stages up to here, seed). Two recipes with a common beginning share its artifact, so
that the cumulative training of table 2 starts from the encoders of table 1.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from torch import Tensor

from sentbook import records as results
from sentbook.config import Section, digest, parse
from sentbook.data import corpora, inference, sources, suites, vectors
from sentbook.data.miniworld.fingerprint import fingerprint
from sentbook.data.splits import share_of
from sentbook.data.text import TOKENISERS, UNKNOWN, Tokenisation, Vocabulary
from sentbook.data.vectors import Vectors
from sentbook.models import FrozenVectors, SentenceEncoder
from sentbook.models.build import Encoder, build, embedding_matrix
from sentbook.models.encoder_decoder import EncoderDecoder
from sentbook.system import versions
from sentbook.system.errors import CheckpointError, ConfigError, NumericalError
from sentbook.system.files import alone, replacing
from sentbook.system.files import folder as make_folder
from sentbook.system.paths import artifacts
from sentbook.training import checkpoint, distributed, pretraining
from sentbook.training.loop import Problem, device_of, fit, peak_memory_bytes
from sentbook.training.problems.entailment import EntailmentProblem
from sentbook.training.problems.generation import GenerationProblem
from sentbook.training.problems.paraphrase import prepare
from sentbook.training.problems.similarity import SimilarityProblem
from sentbook.training.problems.transfer import HeadProblem
from sentbook.training.settings import (
    DirectTransfer,
    EntailmentTraining,
    GenerationTraining,
    HeadTraining,
    MarginTraining,
    SimilarityTraining,
    Stage,
)

# Raise when a change to the code changes the numbers of trained encoders.
ARTIFACT_VERSION = 1


class Recipe(Section):
    """How one encoder comes about. No stage: the untrained encoder over the initial vectors."""

    method: str
    seed: int
    vectors: Vectors
    encoder: Encoder
    stages: tuple[Stage, ...] = ()
    tokenisation: Tokenisation = "ptb"
    suite: suites.Suite = "sts"
    random_words: bool = False

    def key(self, stages: int | None = None) -> str:
        """The name of the artifact after the first ``stages`` stages (None: all)."""
        values = self.model_dump(mode="json", exclude={"method", "stages"})
        values["stages"] = [stage.model_dump(mode="json") for stage in self.stages[:stages]]
        if self.vectors.name == "file":  # the contents decide, not the name
            values["vectors_digest"] = vectors.digest(self.vectors.path)
        if self.generation is not None and self.generation.corpus == "folder":
            values["books_digest"] = pretraining.identity(self.generation)
        # Generated data are pinned by their generator, as files are by their digests.
        if any(name.startswith("miniworld") for name in (self.vectors.name, *self.datasets(), *self.texts())):
            values["generator"] = fingerprint()
        return digest({"version": ARTIFACT_VERSION, **values})

    def prefix(self, stages: int) -> Recipe:
        return self.model_copy(update={"stages": self.stages[:stages]})

    def datasets(self) -> tuple[str, ...]:
        """The data sets of scored pairs in the order of the stages."""
        scored = [stage for stage in self.stages if isinstance(stage, SimilarityTraining | HeadTraining)]
        return tuple(dict.fromkeys(stage.dataset for stage in scored))

    @property
    def generation(self) -> GenerationTraining | None:
        """The stage that decoders take part in: the first one, or None."""
        first = self.stages[0] if self.stages else None
        return first if isinstance(first, GenerationTraining) else None

    def texts(self) -> tuple[str, ...]:
        """The corpora of the stages that are no scored pairs."""
        single = [stage.corpus for stage in self.stages if isinstance(stage, EntailmentTraining | GenerationTraining)]
        mixed = [name for stage in self.stages if isinstance(stage, MarginTraining) for name in stage.corpora]
        return (*single, *mixed)

    def with_new_words(self) -> tuple[str, ...]:
        """Those of the data sets whose words without a vector get one of their own."""
        stages = [stage for stage in self.stages if isinstance(stage, SimilarityTraining)]
        return tuple(dict.fromkeys(stage.dataset for stage in stages if stage.new_words == "random"))


@dataclass(frozen=True)
class Trained:
    """A trained encoder on disk: its recipe, and what its training left. `encoder` reads it when it is wanted, since
    a table's thirty encoders of 90 MB each need not be in memory together."""

    recipe: Recipe
    metadata: dict[str, Any]
    file: Path | None = None

    def encoder(self) -> SentenceEncoder:
        """The encoder, in evaluation mode.

        Raises:
            CheckpointError: the artifact is truncated or belongs to another recipe.
        """
        encoder, _ = untrained(self.recipe)
        if self.recipe.stages:
            tensors, _ = checkpoint.load(self.file or _artifact(self.recipe), self.recipe.key())
            _apply(encoder, tensors)
            _expand(encoder, self.recipe)
        return encoder.eval()

    def generator(self) -> tuple[EncoderDecoder, Vocabulary]:
        """The encoder over the words of its books, with its decoders, in evaluation mode; and those words.

        Raises:
            CheckpointError: an artifact is missing, truncated, or belongs to another recipe; or no decoder took part.
        """
        stage = self.recipe.generation
        if stage is None or len(self.recipe.stages) > 1:
            raise CheckpointError(f"{self.method} was not trained with a decoder; choose a CNN-LSTM model.")
        path = self.file or _artifact(self.recipe)
        if not path.with_name("decoders.safetensors").exists():
            raise CheckpointError(f"The decoders beside {path} are missing; delete the folder and run again.")
        found = pretraining.books(stage, self.recipe.tokenisation)
        encoder = over_books(self.recipe)
        tensors, _ = checkpoint.load(path, self.recipe.key())
        _apply(encoder, tensors)
        model = pretraining.model(encoder, stage, self.recipe.seed)
        tensors, _ = checkpoint.load(path.with_name("decoders.safetensors"), self.recipe.key())
        model.decoders.load_state_dict(tensors)
        return model.eval(), found.vocabulary

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
    def method(self) -> str:
        return self.recipe.method

    @property
    def seed(self) -> int:
        return self.recipe.seed

    def curve(self) -> list[results.CurvePoint]:
        """The last stage's training curve."""
        history = self.metadata.get("history", {})
        return [results.CurvePoint(method=self.method, seed=self.seed, **point) for point in history.get("curve", [])]

    def cost(self) -> results.Cost:
        """Of the last stage."""
        history = self.metadata.get("history", {})
        seconds = history.get("seconds", 0.0)
        return results.Cost(
            method=self.method,
            seed=self.seed,
            seconds=seconds,
            peak_memory_bytes=history.get("peak_memory_bytes", 0),
            parameters=self.metadata.get("parameters", 0),
            examples_per_second=history.get("examples", 0) / seconds if seconds else 0.0,
        )


@lru_cache(maxsize=2)
def _words(config: Vectors) -> tuple[Vocabulary, Tensor]:
    loaded = vectors.load(config.name, config.path)
    return Vocabulary(loaded.words), embedding_matrix(loaded)


@lru_cache(maxsize=1)
def _book_words(
    stage: GenerationTraining, config: Vectors, tokenisation: Tokenisation, seed: int, identity: str
) -> tuple[Vocabulary, Tensor]:
    found = pretraining.books(stage, tokenisation)
    return pretraining.lexicon(stage, found, vectors.load(config.name, config.path), seed)


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
        return _book_words(stage, recipe.vectors, recipe.tokenisation, recipe.seed, pretraining.identity(stage))
    vocabulary, weight = _words(recipe.vectors)
    if datasets := recipe.with_new_words():
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
    own = len(pretraining.books(recipe.generation, recipe.tokenisation).vocabulary)
    return build(recipe.encoder, _lexicon(recipe)[1][:own], seed=recipe.seed)


@torch.no_grad()
def _expand(encoder: SentenceEncoder, recipe: Recipe) -> None:
    """Give an encoder that learned its words vectors for all others; the artifact of a later stage holds them."""
    stage = recipe.generation
    if stage is not None and len(recipe.stages) == 1 and stage.embedding_update == "dense":
        found = pretraining.books(stage, recipe.tokenisation)
        pretraining.expand(encoder.embedding.weight.data, found, vectors.load(recipe.vectors.name, recipe.vectors.path))


# An artifact holds the word vectors that training moved, by their rows: of 400,000 words a task has a few thousand.
_ROWS, _MOVED, _WORDS = "embedding.rows", "embedding.moved", "embedding.weight"


def _state(encoder: SentenceEncoder, initial: Tensor) -> dict[str, Tensor]:
    tensors = dict(encoder.state_dict())
    weight = tensors.pop(_WORDS)
    rows = (weight != initial).any(dim=1).nonzero().squeeze(1)
    return tensors | {_ROWS: rows, _MOVED: weight[rows]}


@torch.no_grad()
def _apply(encoder: SentenceEncoder, tensors: dict[str, Tensor]) -> None:
    """Put an artifact's tensors into ``encoder``, which may know more words than the one they are from."""
    tensors = dict(tensors)
    weight = encoder.embedding.weight
    if _WORDS in tensors:  # of an artifact that holds all words
        words = tensors.pop(_WORDS)
        weight[: len(words)] = words
    else:
        weight[tensors.pop(_ROWS)] = tensors.pop(_MOVED)
    encoder.load_state_dict(tensors | {_WORDS: weight})


def _artifact(recipe: Recipe) -> Path:
    return artifacts() / recipe.key() / "encoder.safetensors"


def load(recipe: Recipe) -> Trained:
    """A recipe whose artifact is there.

    Raises:
        CheckpointError: the artifact is truncated or belongs to another recipe.
    """
    return Trained(recipe, checkpoint.read_metadata(_artifact(recipe), recipe.key()) if recipe.stages else {})


def _train_stage(recipe: Recipe, device: str, threads: int | None) -> None:
    """Train the last stage of ``recipe`` on top of the artifact of the others, unless its artifact is there.

    Under `torchrun` all processes train, and the first one writes.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    target = _artifact(recipe)
    folder = make_folder(target.parent)
    ranks = distributed.join()
    # Another notebook may want the same encoder.
    with alone(folder) if ranks.first else nullcontext():
        if ranks.agree(float(target.exists())):
            return
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        clock = time.monotonic()
        problem, examples = prepare_stage(recipe, device)
        name = f"[{recipe.method}, seed {recipe.seed}, stage {len(recipe.stages)}]"
        scores: dict[str, Tensor] = {}
        history = fit(
            problem,
            recipe.stages[-1],
            seed=recipe.seed,
            device=device,
            key=recipe.key(),
            folder=folder,
            report=lambda line: print(name, line, flush=True),
            at_end=lambda: scores.update(_scores(problem, "last")),
        )
        if history.best_step == history.examples:  # the last state is the best one
            scores |= {name.replace("last", "best", 1): values.clone() for name, values in scores.items()}
        else:
            scores |= _scores(problem, "best")
        if ranks.first:
            about = {"started": started, "wall_seconds": time.monotonic() - clock, "pairs": examples}
            _store(recipe, problem, scores, {"history": vars(history), **about})
        ranks.wait()  # until the artifact is there for all


def _store(recipe: Recipe, problem: Problem, scores: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write what a training leaves, the encoder last: where it is, all is there."""
    target, key = _artifact(recipe), {"key": recipe.key()}
    if scores:
        checkpoint.save(target.with_name("scores.safetensors"), scores, key)
    if isinstance(problem, GenerationProblem):
        decoders = {name: tensor.cpu() for name, tensor in problem.head.state_dict().items()}
        checkpoint.save(target.with_name("decoders.safetensors"), decoders, key)
    encoder = problem.encoder.cpu()
    state = _state(encoder, _lexicon(recipe)[1][: len(encoder.embedding.weight)])
    metadata = {
        **key,
        "recipe": recipe.model_dump(mode="json"),
        "parameters": encoder.parameter_count(),
        "moved_words": len(state[_ROWS]),
        "data": sources.used(),
        "git_commit": versions.git_commit(),
        "peak_memory_bytes": peak_memory_bytes(),
        **about,
    }
    checkpoint.save(target, state, metadata)
    target.with_name("checkpoint.safetensors").unlink(missing_ok=True)


@lru_cache(maxsize=4)
def _frozen(recipe: Recipe, device: str) -> FrozenVectors:
    """The vectors of an encoder that feature transfers to several data sets, and their seeds and losses, share."""
    return FrozenVectors(load(recipe).encoder().to(device_of(device)))


def prepare_stage(recipe: Recipe, device: str = "cpu") -> tuple[Problem, int]:
    """The last stage's problem on top of the artifact of the others, and how many pairs it trains on.

    Raises:
        CheckpointError: a stage before has no artifact.
        DataError: a file is missing or damaged.
    """
    stage, tokens = recipe.stages[-1], recipe.tokenisation
    if isinstance(stage, GenerationTraining):
        if len(recipe.stages) > 1:
            raise ConfigError("Training with decoders starts an encoder; make it the first stage.")
        return pretraining.problem(over_books(recipe), stage, pretraining.books(stage, tokens), recipe.seed)
    encoder, vocabulary = untrained(recipe)
    if len(recipe.stages) > 1:
        before = recipe.prefix(len(recipe.stages) - 1)
        tensors, _ = checkpoint.load(_artifact(before), before.key())
        _apply(encoder, tensors)
        _expand(encoder, before)
    if isinstance(stage, SimilarityTraining | HeadTraining):
        splits = {split: suites.pairs(stage.dataset, split) for split in ("train", "trial", "test")}
        if not isinstance(stage, HeadTraining | DirectTransfer):
            return SimilarityProblem(encoder, vocabulary, stage, splits, tokens), len(splits["train"])
        splits["train"] = share_of(splits["train"], stage.share, recipe.seed)
        size = len(splits["train"])
        if isinstance(stage, DirectTransfer):
            return SimilarityProblem(encoder, vocabulary, stage, splits, tokens), size
        known = _frozen(recipe.prefix(len(recipe.stages) - 1), device) if stage.frozen else None
        problem = HeadProblem(encoder, vocabulary, stage, splits, seed=recipe.seed, tokenisation=tokens, vectors=known)
        return problem, size
    if isinstance(stage, EntailmentTraining):
        exclude = suites.excluded(recipe.suite) if stage.exclude_overlap else frozenset()
        train, held = inference.pool(stage.corpus, exclude=exclude)
        inferring = EntailmentProblem(encoder, vocabulary, stage, train, held, seed=recipe.seed, tokenisation=tokens)
        return inferring, len(train)
    exclude = suites.excluded(recipe.suite) if stage.exclude_overlap else frozenset()
    pairs = corpora.load(stage.corpora, seed=recipe.seed, limit=stage.limit, exclude=exclude)
    validation = suites.validation_sets(stage.validation)
    return prepare(encoder, vocabulary, pairs, stage, validation, recipe.tokenisation), len(pairs)


def _scores(problem: Problem, state: str) -> dict[str, Tensor]:
    """The scores of the pairs that were not trained on, where the problem is one of scored pairs."""
    if not isinstance(problem, SimilarityProblem | HeadProblem):
        return {}
    return {f"{state}.{split}": torch.from_numpy(problem.scores(split)) for split in ("trial", "test")}


def obtain(recipes: Sequence[Recipe], *, device: str = "auto", jobs: int = 1) -> list[Trained]:
    """The encoders of ``recipes``, in their order; what has no artifact yet is trained.

    Stages are trained level by level, each distinct beginning once.

    Args:
        jobs: how many trainings run side by side, each in a process of its own with one thread.

    Raises:
        SentbookError: as `sentbook.training.loop.fit`; encoders that were finished keep their artifacts.
    """
    _run(recipes, _train_stage, device, jobs)
    return [load(recipe) for recipe in recipes]


def attempt(recipes: Sequence[Recipe], *, device: str = "auto", jobs: int = 1) -> list[Trained | None]:
    """As `obtain`, for a search that tries learning rates which may be too high: None where the last stage diverged.

    A divergence is remembered beside the artifacts, and not tried again.
    """
    _run([recipe.prefix(len(recipe.stages) - 1) for recipe in recipes], _train_stage, device, jobs)
    _run(recipes, _attempt_stage, device, jobs)
    return [load(recipe) if _artifact(recipe).exists() else None for recipe in recipes]


def _run(recipes: Sequence[Recipe], train: Callable[..., None], device: str, jobs: int) -> None:
    depth = max((len(recipe.stages) for recipe in recipes), default=0)
    for level in range(1, depth + 1):
        wanted = {recipe.prefix(level).key(): recipe.prefix(level) for recipe in recipes if len(recipe.stages) >= level}
        missing = [recipe for recipe in wanted.values() if not checkpoint.is_made(_artifact(recipe))]
        # Under torchrun all processes train one encoder after the other, together.
        if jobs == 1 or len(missing) == 1 or distributed.is_started():
            for recipe in missing:
                train(recipe, device, None)
        elif missing:
            Parallel(n_jobs=jobs, batch_size=1)(delayed(train)(recipe, device, 1) for recipe in missing)


def _attempt_stage(recipe: Recipe, device: str, threads: int | None) -> None:
    """As `_train_stage`; a divergence is written down instead of raised."""
    note = _artifact(recipe).with_name("diverged.txt")
    if note.exists():
        return
    try:
        _train_stage(recipe, device, threads)
    except NumericalError as error:
        with replacing(note) as temporary:
            temporary.write_text(f"{error}\n", encoding="utf-8")


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
