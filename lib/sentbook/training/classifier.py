"""Training a CNN together with a softmax on a classification task, from pre-trained or from random filters."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentbook.config import digest
from sentbook.data.miniworld import FINGERPRINT
from sentbook.data.tasks import ClassificationTask, task
from sentbook.data.text import PADDING, UNKNOWN, TokenIds
from sentbook.io import ConfigError
from sentbook.models.build import build
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.training import store
from sentbook.training.objectives import ClassifierTraining, Division, Labelled, Rows, Start
from sentbook.training.recipes import Recipe, StageTraining, load
from sentbook.training.store import Learned, Tensors, Work
from sentbook.training.train import silent, train

# Raise when a change to the code changes the numbers of fine-tuned classifiers.
VERSION = 2


@torch.no_grad()
def redraw(encoder: CNN, seed: int) -> None:
    r"""Give ``encoder`` new filters, uniform in [-b, b], and biases of 0; its word vectors stay.

    The bound of the filters of width h is $b = \sqrt{6 / (h D + F)}$, with h D inputs and F filters: .074 for h = 3 at
    300 dimensions and 200 filters. It keeps products about as large as the word vectors, whatever the sizes, and is
    what Kim's released classifier, the model of theirs, does for tanh; the .01 that Gan et al. draw from before
    pre-training makes sentence vectors some seven times smaller, which training has to make up for first.

    Source: Glorot and Bengio 2010, equation 16.
    Deviations: Gan et al. do not state how the classifier without pre-training starts. Kim's number of outputs also
    counts a filter's cells and the pooled windows, so that his bound depends on the longest sentence.
    """
    generator = torch.Generator().manual_seed(seed)
    for weight, bias in zip(encoder.weights, encoder.biases, strict=True):
        limit = math.sqrt(6 / sum(weight.shape))
        weight.uniform_(-limit, limit, generator=generator)
        bias.zero_()


@dataclass(frozen=True, eq=False)
class Classifier(Work):
    """One training of a classifier, named by all that decides its numbers.

    Args:
        method, dataset: as tables spell them; a share of a task's labels is a data set of its own.
        start: where the words come from and, unless ``random``, the filters.
        task: name of a task of single sentences.
        division: its rows.
        settings: of the training.
        seed: of the softmax, of random filters and of the order of the examples.
        random: draw the filters, see `redraw`.
    """

    method: str
    dataset: str
    start: Recipe
    task: str
    division: Division
    settings: ClassifierTraining
    seed: int
    random: bool = False
    device: str = "auto"
    file: ClassVar[str] = "outcome"

    @cached_property
    def key(self) -> str:
        rows = hashlib.sha256(b"|".join(part.tobytes() for part in self.division)).hexdigest()
        values = {"version": VERSION, "task": self.task, "rows": rows, "seed": self.seed, "random": self.random}
        values |= {"start": self.start.key(), "settings": self.settings.model_dump(mode="json")}
        if self.task.startswith("miniworld"):  # generated data are pinned by their generator
            values["generator"] = FINGERPRINT
        return digest(values)

    def needs(self) -> Sequence[Work]:
        return [StageTraining(self.start, self.device)] if self.start.stages else []

    def run(self, folder: Path) -> tuple[dict[str, Tensors], dict[str, Any]]:
        config, state, words, tokens, labels, classes = _material(self.start, self.task)
        encoder = build(config, words, seed=self.seed)
        assert isinstance(encoder, CNN)
        if self.random:
            redraw(encoder, self.seed)
        else:
            encoder.load_state_dict(state, strict=False)
        start = Start(encoder, load(self.start).vocabulary, self.seed)
        problem = self.settings.bind(start, Labelled(tokens, labels, classes, self.division))
        history = train(
            problem,
            seed=self.seed,
            device=self.device,
            key=self.key,
            folder=folder,
            report=silent,
        )
        right = problem.right(self.division.test)
        print(f"[{self.method}, {self.dataset}, run {self.seed}] accuracy {right.mean():.4f}", flush=True)
        assert problem.head is not None
        head = sum(parameter.numel() for parameter in problem.head.parameters())
        return {self.file: {"right": torch.from_numpy(right)}}, {
            "history": vars(history),
            "parameters": problem.encoder.parameter_count() + head,
        }


@lru_cache(maxsize=16)
def _material(start: Recipe, name: str) -> tuple[CNNEncoder, dict[str, Tensor], Tensor, TokenIds, Rows, int]:
    """Read a start's options, filters, and the vectors of the task's words; its sentences in these words' ids."""
    trained, config = load(start), start.encoder
    if not isinstance(config, CNNEncoder):
        raise ConfigError(f"A CNN is fine-tuned, not an encoder of kind '{config.kind}'.")
    state = dict(trained.encoder().state_dict())
    full = state.pop("embedding.weight")
    found = task(name)
    said, labels = labelled(found)
    tokens = trained.vocabulary.encode(said, start.tokenisation)
    rows, flat = np.unique(np.concatenate([[PADDING, UNKNOWN], tokens.flat]), return_inverse=True)
    ids = TokenIds(flat[2:], tokens.offsets)
    return config, state, full[torch.from_numpy(rows)], ids, labels, len(found.classes)


def labelled(found: ClassificationTask) -> tuple[list[str], Rows]:
    """Return a task's sentences and their classes, those of its official test set last.

    Raises:
        ConfigError: it is a task of pairs.
    """
    if found.pairs:
        raise ConfigError(f"{found.name} is a task of pairs; fine-tuning has tasks of single sentences.")
    parts = [found.train] if found.test is None else [found.train, found.test]
    return [one for part in parts for one in part.first], np.concatenate([part.labels for part in parts])


@dataclass(frozen=True, eq=False)
class ClassifierRun(Learned):
    """What a classifier does on its test rows.

    Attributes:
        right: (N,) whether each of the division's test rows is given its class.
        metadata: history of the training, parameters, seconds, data, commit.
    """

    work: Classifier
    right: NDArray[np.bool_]
    metadata: dict[str, Any]

    @property
    def method(self) -> str:  # type: ignore[override]
        return self.work.method

    @property
    def seed(self) -> int:  # type: ignore[override]
        return self.work.seed

    @property
    def label(self) -> str:
        return f"{self.work.method}, {self.work.dataset}"

    @property
    def accuracy(self) -> float:
        """Return the share of the test rows that are right."""
        return float(self.right.mean())


def classifiers(works: Sequence[Classifier], *, jobs: int = 1) -> list[ClassifierRun]:
    """Return what each classifier does, in order: found by its key, or trained now, ``jobs`` side by side.

    Raises:
        ConfigError: a start is no CNN, or a task one of pairs.
        SentbookError: as `sentbook.training.train.train`; trainings that were finished are kept.
    """
    made = store.obtain(works, jobs=jobs)
    return [
        ClassifierRun(work, item.tensors()["right"].numpy(), item.metadata)
        for work, item in zip(works, made, strict=True)
    ]
