"""Runs of recipes: each training is made once and found by its key, side by side with others where asked.

A training is the folder ``<artifacts>/<key>/``. ``run.safetensors`` is written last and says that it has ended: scores
of held-out pairs, and as metadata history, cost and data; a training of a search has the metadata alone, in
``search.safetensors``. Where the encoder is wanted, and not its scores alone, ``encoder.safetensors`` lies beside it,
with the parts that the objective keeps and ``check-N.safetensors``. Each file is whole: none needs another one. A
training that was killed goes on from its checkpoint.

`outcomes` keeps the results of other functions in the same way.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.backend.reduction import dumps
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from sentbook import io
from sentbook.config import parse
from sentbook.data import sources, vectors
from sentbook.data.text import Vocabulary
from sentbook.models import FrozenVectors, SentenceEncoder
from sentbook.models.decoders import EncoderDecoder
from sentbook.records import Cost, CurvePoint
from sentbook.training import checkpoint
from sentbook.training.devices import described, device_of
from sentbook.training.objectives import GenerationTraining, Objective, Start
from sentbook.training.objectives.generation import expand
from sentbook.training.recipes import Recipe, over_books, untrained, words_of
from sentbook.training.train import progress, train

Arrays = dict[str, NDArray[Any]]
# Of 400,000 word vectors a training moves some thousands: it keeps these rows.
_ROWS, _MOVED, _WORDS = "embedding.rows", "embedding.moved", "embedding.weight"


@dataclass(frozen=True)
class Trained:
    """A training that was made: its recipe, and the metadata of its run. `encoder` reads the encoder when it is wanted,
    since a table's thirty encoders of 90 MB each need not be in memory together."""

    recipe: Recipe
    metadata: dict[str, Any]
    file: Path | None = None

    @property
    def key(self) -> str:
        """Return the name of the training's folder."""
        return self.recipe.key()

    @property
    def method(self) -> str:
        """The name of the encoder in tables."""
        return self.recipe.method

    @property
    def seed(self) -> int:
        """The seed of its recipe."""
        return self.recipe.seed

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that its rows of word vectors stand for."""
        return words_of(self.recipe)[0]

    def _tensors(self, name: str) -> dict[str, Tensor]:
        return checkpoint.load((self.file or _file(self.key, "encoder")).with_stem(name), self.key)[0]

    def encoder(self, device: str = "cpu") -> SentenceEncoder:
        """Return the encoder, in evaluation mode on a ``device``, see `device_of`.

        Raises:
            CheckpointError: its file is truncated or of another recipe, or it was trained with other words.
        """
        encoder, vocabulary = untrained(self.recipe)
        if self.recipe.stages:
            self.put_into(encoder, vocabulary)
        return encoder.eval().to(device_of(device))

    @torch.no_grad()
    def put_into(self, encoder: SentenceEncoder, vocabulary: Vocabulary) -> None:
        """Give ``encoder``, which may know more words, what was learned; raises as `encoder`."""
        count, known = self.metadata.get("words", (0, ""))
        if known and vocabulary.digest(count) != known:
            raise io.CheckpointError(
                f"{self.method} was trained with other words than {self.recipe.vectors.name} has here; bring back "
                f"those vectors, or delete {_file(self.key, 'run').parent} and run again."
            )
        self._apply(encoder)
        stage = self.recipe.generation
        if stage is not None and len(self.recipe.stages) == 1 and stage.embedding_update == "dense":
            # It has learned the words of its books; a later stage's file holds the vectors of all others.
            known_words = vectors.load(**dict(self.recipe.vectors))
            expand(encoder.embedding.weight.data, stage.read(self.recipe.tokenisation), known_words)

    @torch.no_grad()
    def _apply(self, encoder: SentenceEncoder) -> None:
        tensors, words = self._tensors(self.file.stem if self.file else "encoder"), encoder.embedding.weight
        if _WORDS in tensors:  # of a check: all words that it trained
            own = tensors.pop(_WORDS)
            words[: len(own)] = own
        if _ROWS in tensors:
            words[tensors.pop(_ROWS)] = tensors.pop(_MOVED)
        encoder.load_state_dict(encoder.state_dict() | tensors)

    def at(self, check: int) -> Trained:
        """Return the encoder as it was at a check of its training, counted from 1, where its stage keeps them."""
        return replace(self, file=_file(self.key, f"check-{check}"))

    def generator(self, device: str = "cpu") -> tuple[EncoderDecoder, Vocabulary]:
        """Return, as `encoder`, the model over the words of its books, with its decoders; and those words.

        Checks keep no decoders: `at` a check the encoder is the check's, and the decoders are those of the best state.

        Raises:
            CheckpointError: a file is missing, truncated, or of another recipe; or no decoder took part.
        """
        stage = self.recipe.generation
        if stage is None or len(self.recipe.stages) > 1:
            raise io.CheckpointError(f"{self.method} was not trained with a decoder; choose a CNN-LSTM model.")
        encoder = over_books(self.recipe)
        self._apply(encoder)
        model = EncoderDecoder(encoder, stage.model, stage, seed=self.seed)
        model.decoders.load_state_dict(self._tensors("decoders"))
        return model.eval().to(device_of(device)), stage.read(self.recipe.tokenisation).vocabulary

    def scores(self, split: str, state: Literal["best", "last"] = "best") -> NDArray[np.float64]:
        """Return (N,) scores of the last stage's ``trial`` or ``test`` pairs, by the best or the last state.

        1 is the most similar; a cosine may be below 0.

        Raises:
            CheckpointError: the stage was not trained on scored pairs, or its scores are damaged.
        """
        tensors = self._tensors("run")
        if f"{state}.{split}" not in tensors:
            raise io.CheckpointError(f"{self.method} was not trained on scored pairs, so it has no scores of them.")
        return np.asarray(tensors[f"{state}.{split}"].numpy())

    def head(self) -> nn.Module:
        """Return the head of the last stage, in evaluation mode.

        Raises:
            CheckpointError: the stage keeps no head, or its file is damaged.
        """
        head, tensors = prepare_stage(self.recipe).head, self._tensors("head")
        head.load_state_dict(tensors)
        return head.eval()

    def curve(self) -> list[CurvePoint]:
        """Return the training curve, empty where nothing was trained."""
        points = self.metadata.get("history", {}).get("curve", [])
        return [CurvePoint(method=self.method, seed=self.seed, **point) for point in points]

    def cost(self) -> Cost:
        """Return seconds, memory, parameters and speed, 0 where nothing was trained."""
        return cost_of(self.method, self.seed, self.metadata)


def cost_of(method: str, seed: int, metadata: Mapping[str, Any]) -> Cost:
    """Return what a training cost by its metadata: ``history`` and ``parameters``."""
    history = metadata.get("history", {})
    seconds = history.get("seconds", 0.0)
    return Cost(
        method=method,
        seed=seed,
        seconds=seconds,
        peak_memory_bytes=history.get("peak_memory_bytes", 0),
        parameters=metadata.get("parameters", 0),
        examples_per_second=history.get("examples", 0) / seconds if seconds else 0.0,
    )


def load(recipe: Recipe) -> Trained:
    """Return the training of a recipe that was made.

    Raises:
        CheckpointError: it was not, or its file is truncated or of another recipe.
    """
    if not recipe.stages:
        return Trained(recipe, {})
    key = recipe.key()
    file = _file(key, "run") if is_made(recipe, False) else _file(key, "search")
    return Trained(recipe, checkpoint.load(file, key)[1])


def from_file(path: Path) -> Trained:
    """Return a trained encoder by its folder or its file, whatever its recipe.

    Raises:
        CheckpointError: no trained encoder there, or it is truncated.
    """
    file = path / "encoder.safetensors" if path.is_dir() else path
    tensors, metadata = checkpoint.load(file, None) if file.is_file() else ({}, {})
    if _ROWS not in tensors:
        raise io.CheckpointError(f"{path} holds no trained encoder; name the folder of a training that kept one.")
    return Trained(parse(Recipe, metadata.get("recipe", {}), str(file)), metadata, file)


# -- making ------------------------------------------------------------------------------------------------------------


def obtain(
    recipes: Sequence[Recipe],
    *,
    device: str = "auto",
    jobs: int = 1,
    encoders: bool = True,
    may_diverge: bool = False,
) -> list[Trained]:
    """Return the trained encoders of ``recipes``, in their order; what is not there is trained, each beginning once.

    Args:
        jobs: how many trainings run side by side, each in a process of its own; one alone runs in this process. Each
            has one thread: sums in another order would make other numbers under the same key.
        encoders: keep the encoders, and not the scores and histories alone.
        may_diverge: for a search, which tries rates that may be too high: leave out those whose last loss was not
            finite, and keep histories alone.

    Raises:
        SentbookError: as `sentbook.training.train.train`; what was finished is kept.
    """
    wanted = {one.key(): one for one in recipes if one.stages and not is_made(one, encoders, not may_diverge)}
    if wanted:
        obtain([one.before for one in wanted.values()], device=device, jobs=jobs)
    calls = [(one, device, encoders, may_diverge) for one in wanted.values()]
    if jobs > 1:
        _in_processes(_train, calls, jobs)
    else:
        with threadpool_limits(1):
            for one in calls:
                _train(*one)
    return [load(one) for one in recipes if not may_diverge or not one.stages or is_made(one, encoders, False)]


def is_made(recipe: Recipe, encoder: bool = True, scores: bool = True) -> bool:
    """Tell whether a recipe was trained, and its encoder and scores were kept where they are asked."""
    key = recipe.key()
    made = _file(key, "run").exists() or (not scores and _file(key, "search").exists())
    return made and (not encoder or _file(key, "encoder").exists())


def _train(recipe: Recipe, device: str, encoder: bool, may_diverge: bool) -> None:
    """Train the last stage of a recipe on top of the others, which are there."""
    key, before = recipe.key(), recipe.before
    run = _file(key, "run")
    with io.locked(run.parent):  # another notebook may want the same
        if is_made(recipe, encoder, not may_diverge):
            return
        began, objective, last = time.time(), prepare_stage(recipe, device), dict[str, Tensor]()
        try:
            history = train(
                objective,
                seed=recipe.seed,
                device=device,
                key=key,
                folder=run.parent,
                report=progress(f"{recipe.method}, seed {recipe.seed}, stage {len(recipe.stages)}"),
                at_end=lambda: None if may_diverge else last.update(_scores(objective)),
            )
        except io.NumericalError:
            if may_diverge:
                return
            raise
        about = {
            "recipe": recipe.model_dump(mode="json"),
            "parameters": objective.encoder.parameter_count(),
            "history": vars(history),
            "pairs": len(objective.lengths),
            "device": described(device_of(device)),
            "data": (load(before).metadata["data"] if before.stages else {}) | sources.used(),
        }
        if may_diverge:
            _write(key, {"search": {}}, began, about)
            return
        best = last if history.best_step == history.examples else _scores(objective)
        vocabulary, initial = words_of(recipe)
        state = _state(objective.encoder.cpu(), initial)
        about |= {"moved_words": len(state[_ROWS]), "words": (len(vocabulary.words), vocabulary.digest())}
        scores = {f"last.{split}": values for split, values in last.items()}
        scores |= {f"best.{split}": values.clone() for split, values in best.items()}
        files = {"run": scores} | ({"encoder": state} if encoder else {})
        if encoder and objective.keeps_head_as:
            files[objective.keeps_head_as] = objective.head.state_dict()
        _write(key, files, began, about)


def prepare_stage(recipe: Recipe, device: str = "cpu") -> Objective:
    """Return the last stage's objective, bound to its data and of the encoder that the others have trained.

    Raises:
        CheckpointError: a stage before was not trained, or with other words.
        DataError: a file is missing or damaged.
    """
    stage, before = recipe.stages[-1], recipe.before
    begins = isinstance(stage, GenerationTraining)
    if begins and before.stages:
        raise io.ConfigError("Training with decoders starts an encoder; make it the first stage.")
    encoder, vocabulary = (over_books(recipe), words_of(recipe)[0]) if begins else untrained(recipe)
    if before.stages:
        load(before).put_into(encoder, vocabulary)
    frozen = partial(_frozen, before, device)
    seed, trained = recipe.seed, bool(before.stages)
    return stage.bind(Start(encoder, vocabulary, seed, recipe.tokenisation, recipe.suite, trained, frozen))


@lru_cache(maxsize=4)
def _frozen(recipe: Recipe, device: str) -> FrozenVectors:
    """Return the vectors of an encoder that feature transfers to several data sets, and their losses, share."""
    return FrozenVectors(load(recipe).encoder(device))


def _scores(objective: Objective) -> dict[str, Tensor]:
    return {split: torch.from_numpy(values) for split, values in objective.held_out_scores().items()}


def _state(encoder: SentenceEncoder, initial: Tensor) -> dict[str, Tensor]:
    """Return an encoder's tensors, of its word vectors the rows that differ from the initial ones."""
    tensors = dict(encoder.state_dict())
    words = tensors.pop(_WORDS)
    rows = (words != initial[: len(words)]).any(dim=1).nonzero().squeeze(1)
    return tensors | {_ROWS: rows, _MOVED: words[rows]}


class Outcome(NamedTuple):
    """What a function gave: arrays, and what JSON can hold."""

    arrays: Arrays
    metadata: dict[str, Any]


def outcomes(
    function: Callable[..., Outcome], arguments: Sequence[tuple[Any, ...]], keys: Sequence[str], jobs: int = 1
) -> list[Outcome]:
    """Return ``function(*arguments)`` of each, in order: found by a key that holds all that decides it, or made now.

    Args:
        jobs: how many are made side by side, as `obtain`.
    """
    calls = {key: (key, function, given) for key, given in zip(keys, arguments, strict=True)}
    dumps(function)  # one that no other process can take fails with one job too
    _in_processes(_keep, [one for key, one in calls.items() if not _file(key, "run").exists()], jobs)
    found = (checkpoint.load(_file(key, "run"), key) for key in keys)
    return [Outcome({name: one.numpy() for name, one in tensors.items()}, about) for tensors, about in found]


def _keep(key: str, function: Callable[..., Outcome], given: tuple[Any, ...]) -> None:
    with io.locked(_file(key, "run").parent):
        if not _file(key, "run").exists():
            began, (arrays, about) = time.time(), function(*given)
            tensors = {name: torch.from_numpy(np.asarray(one)) for name, one in arrays.items()}
            _write(key, {"run": tensors}, began, about)


# -- files and processes -----------------------------------------------------------------------------------------------


def _file(key: str, name: str) -> Path:
    return io.artifacts() / key / f"{name}.safetensors"


def _write(key: str, files: Mapping[str, Mapping[str, Tensor]], began: float, about: Mapping[str, Any]) -> None:
    """Write the files of a key with their metadata; those by which `is_made` knows it last, in case of a kill.

    ``began``: when it was begun.
    """
    metadata = {
        "key": key,
        "started": datetime.datetime.fromtimestamp(began, datetime.UTC).isoformat(timespec="seconds"),
        "wall_seconds": time.time() - began,
        "git_commit": io.git_commit(),
    }
    for name in sorted(files, key=lambda name: (name == "run", name == "encoder")):
        checkpoint.save(_file(key, name), files[name], {**metadata, **about})
    _file(key, "run").with_name(checkpoint.IN_PROGRESS).unlink(missing_ok=True)


def _in_processes(function: Callable[..., None], calls: Iterable[tuple[Any, ...]], jobs: int) -> None:
    """Make calls in processes of one thread each, or with one job in this process, with one thread too."""
    try:
        with parallel_config("loky", inner_max_num_threads=1), threadpool_limits(1):
            Parallel(n_jobs=jobs, batch_size=1)(delayed(function)(*one) for one in calls)
    except TerminatedWorkerError:
        raise io.StorageError(f"A training was killed, most often for want of memory; {io.SPARING}.") from None
