"""Fine-tuning a CNN with a softmax on top, from pre-trained or from random parameters: figure 3 of Gan et al. 2017.

A cell of the figure is one training: a task, a share of its labels, a start, a run. Each has an artifact of its own, so
that a run that was killed loses only the cells in progress.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sentbook import records as results
from sentbook.config import digest
from sentbook.data.miniworld.fingerprint import fingerprint
from sentbook.data.tasks import task as task_of
from sentbook.data.text import PADDING, UNKNOWN, TokenIds, batches_by_tokens
from sentbook.evaluation import folds
from sentbook.evaluation.classification import SKIP_THOUGHTS_NESTED
from sentbook.models import SentenceEncoder
from sentbook.models.base import to_device
from sentbook.models.build import build
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.papers.cnn_lstm.claims import PRETRAINED, RANDOM
from sentbook.papers.cnn_lstm.settings import ClassifierTraining
from sentbook.system.errors import ConfigError
from sentbook.training import store
from sentbook.training.loop import fit, silent
from sentbook.training.problem import Problem, Rows
from sentbook.training.recipes import Trained
from sentbook.training.store import Learned, Tensors, Work

# Raise when a change to the code changes the numbers of fine-tuned classifiers.
VERSION = 1
Start = Literal["pre-trained", "random"]
# As the paper's numbers are filed.
METHODS: dict[Start, str] = {"pre-trained": PRETRAINED, "random": RANDOM}
FOLDS = SKIP_THOUGHTS_NESTED.folds
# Of the labelled sentences of a run every tenth chooses the epoch.
_TRIAL = 10


# -- the classifier --------------------------------------------------------------------------------------------------


class Division(NamedTuple):
    """Rows of a task's sentences, its official test sentences standing behind all others."""

    train: Rows
    trial: Rows
    test: Rows


class ClassifierProblem(Problem):
    r"""A class from a sentence's vector z, encoder and softmax trained together.

    $$p(y \mid s) = \mathrm{softmax}(A\,(z \odot m) + a)_y, \qquad L = -\frac{1}{B} \sum_b \log p(y_b \mid s_b),$$

    with m the dropout mask, scaled while training and 1 else.

    Source: Gan et al. 2017, section 4.2: "a CNN encoder with a logistic regression model on top".
    Deviations: optimiser, rate, dropout and batch size are unstated; the settings are Kim 2014's where they apply
    (batches of 50, dropout of one half on the vector), without his limit on the norm of the softmax's weights.

    Args:
        encoder: over the words of ``tokens``.
        tokens, labels: all N sentences of the task and their classes.
        division: rows that are trained on and rows that choose the epoch.
        classes: K.
        seed: of the softmax's initial values, the same whatever the encoder starts from.
    """

    metric = "accuracy"

    def __init__(
        self,
        encoder: SentenceEncoder,
        tokens: TokenIds,
        labels: Rows,
        division: Division,
        settings: ClassifierTraining,
        *,
        classes: int,
        seed: int,
    ) -> None:
        self.encoder, self.settings, self.division = encoder, settings, division
        # Towards 0 from both starts, so that they differ in nothing but where they begin.
        self.patience, self.decay = settings.patience, settings.composition_decay
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            linear = nn.Linear(encoder.dimension, classes)
        self.head: nn.Module = nn.Sequential(nn.Dropout(settings.head_dropout), linear)
        self._tokens, self._labels = tokens, labels
        self.lengths = tokens.lengths[division.train]

    def _logits(self, rows: Rows) -> Tensor:
        logits: Tensor = self.head(self.vectors(self._tokens, rows))
        return logits

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        chosen = self.division.train[rows]
        logits = self._logits(chosen)
        labels = to_device(torch.from_numpy(self._labels[chosen]), logits.device)
        return functional.cross_entropy(logits.float(), labels)

    @torch.inference_mode()
    def right(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether each of ``rows`` is given its class."""
        found = np.empty(len(rows), dtype=np.int64)
        lengths = np.maximum(self._tokens.lengths[rows], self.encoder.minimum_length)
        for part in batches_by_tokens(lengths, self.encoder.tokens_per_batch):
            found[part] = self._logits(rows[part]).argmax(dim=1).cpu().numpy()
        return found == self._labels[rows]

    def validate(self) -> float:
        return float(self.right(self.division.trial).mean())


@torch.no_grad()
def redraw(encoder: CNN, seed: int, bound: float | None = None) -> None:
    r"""Give ``encoder`` new filters, uniform in [-bound, bound], and biases of 0; its word vectors stay.

    The default bound of the filters of width h is $\sqrt{6 / (h D + F)}$, with h D inputs and F filters: .074 for h = 3
    at 300 dimensions and 200 filters. It keeps products about as large as the word vectors, whatever the sizes, and is
    what Kim's released classifier, the model of theirs, does for tanh; the .01 that Gan et al. draw from before
    pre-training makes sentence vectors some seven times smaller, which training has to make up for first.

    Source: Glorot and Bengio 2010, equation 16.
    Deviations: Gan et al. do not state how the classifier without pre-training starts; ``bound=0.01`` is the other
    reading. Kim's number of outputs also counts a filter's cells and the pooled windows, so that his bound depends on
    the longest sentence.
    """
    generator = torch.Generator().manual_seed(seed)
    for weight, bias in zip(encoder.weights, encoder.biases, strict=True):
        limit = math.sqrt(6 / sum(weight.shape)) if bound is None else bound
        weight.uniform_(-limit, limit, generator=generator)
        bias.zero_()


def of_share(settings: ClassifierTraining, share: float) -> ClassifierTraining:
    """``settings`` for a share of the labels: epochs and patience so many times more that updates stay as many.

    A tenth of TREC is ten batches an epoch. With as many epochs as for all labels a classifier from random parameters
    is far from trained on it, and pre-training would seem to gain what training longer gains.

    Source: none; Gan et al. 2017 do not state it.

    Example:
        >>> few = of_share(ClassifierTraining(epochs=4, patience=3), 0.25)
        >>> few.epochs, few.patience
        (16, 12)
    """
    patience = None if settings.patience is None else math.ceil(settings.patience / share)
    return settings.model_copy(update={"epochs": math.ceil(settings.epochs / share), "patience": patience})


# -- divisions and cells ---------------------------------------------------------------------------------------------


def divide(labels: Rows, run: int, share: float = 1.0, *, tested: int = 0) -> Division:
    """The rows of a run: trained on, for early stopping, judged.

    Without an official test set run r is judged on fold r of the division into ten that table 3's protocol uses, runs
    11 to 20 on the folds of another division, and so on. The other rows are put into an order drawn by the run, and the
    first ``share`` of them counts as labelled: every tenth of these is for early stopping, the others are trained on.
    So for one run training and trial rows of a smaller share are among those of a larger one, and no label beyond the
    share is used.

    Source: Gan et al. 2017, figure 3: "10 different runs", "10 different samples of training sets".
    Deviations: what differs between the paper's runs, and what stops its trainings, is not stated. Classes are not
    balanced, neither in folds nor in shares.

    Args:
        labels: (N,) classes of all sentences.
        run: 1, 2, ...
        share: of the labels, in (0, 1].
        tested: how many of the last rows are an official test set; 0: there is none.

    Raises:
        ConfigError: no such run, or too few labelled rows to leave one for early stopping.

    Example:
        >>> train, trial, test = divide(np.zeros(100, dtype=np.int64), run=1)
        >>> len(train), len(trial), len(test)
        (81, 9, 10)
    """
    if run < 1:
        raise ConfigError(f"Runs are counted from 1 (got {run}).")
    if tested:
        rest, test = np.arange(len(labels) - tested), np.arange(len(labels) - tested, len(labels))
    else:
        repeat, fold = divmod(run - 1, FOLDS)
        seed = SKIP_THOUGHTS_NESTED.seed + repeat
        part = folds.assign(labels, folds.ordered("shuffled", labels, seed), FOLDS, False, seed)
        rest, test = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
    labelled = np.random.default_rng([run, len(rest)]).permutation(rest)[: round(share * len(rest))]
    held = np.arange(len(labelled)) % _TRIAL == _TRIAL - 1
    if not held.any():
        raise ConfigError(
            f"A share of {share:g} of {len(rest)} sentences leaves none for early stopping; choose a larger share."
        )
    return Division(labelled[~held], labelled[held], test)


def turn(run: int, starts: int) -> int:
    """Which of several pre-trainings a run begins with: each in turn.

    Example:
        >>> [turn(run, 3) for run in (1, 2, 3, 4)]
        [0, 1, 2, 0]
    """
    return (run - 1) % starts


@dataclass(frozen=True)
class Cell:
    """One training. The run decides the division, the softmax's and a random encoder's values, and the order."""

    task: str
    share: float
    start: Start
    run: int

    @property
    def method(self) -> str:
        return METHODS[self.start]

    @property
    def dataset(self) -> str:
        """The task and the share of its labels, as tables name them: ``TREC``, ``TREC-10%-labels``."""
        return self.task if self.share == 1 else f"{self.task}-{100 * self.share:g}%-labels"

    def __str__(self) -> str:
        return f"{self.dataset}, {self.start}, run {self.run}"


def single_sentences(tasks: Sequence[str]) -> list[str]:
    """Leave out the tasks of pairs.

    Raises:
        ConfigError: no other is left.
    """
    if not (found := [name for name in tasks if not task_of(name).pairs]):
        raise ConfigError("classification holds tasks of pairs alone; add one of single sentences, such as TREC.")
    return found


def cells(tasks: Sequence[str], runs: int, shares: Sequence[float] = (1.0,)) -> list[Cell]:
    """Every task, share, start and run."""
    return [
        Cell(task, share, start, run)
        for task in tasks
        for share in shares
        for run in range(1, runs + 1)
        for start in METHODS
    ]


@dataclass(frozen=True, eq=False)
class Outcome(Learned):
    """What a cell's classifier does on its test rows.

    Attributes:
        rows: (N,) of the task's sentences, see `Division`.
        right: (N,) whether each is given its class.
        metadata: history of the training, parameters, seconds, data, commit.
    """

    cell: Cell
    rows: Rows
    right: NDArray[np.bool_]
    metadata: dict[str, Any]

    @property
    def method(self) -> str:  # type: ignore[override]
        return self.cell.method

    @property
    def seed(self) -> int:  # type: ignore[override]
        return self.cell.run

    @property
    def label(self) -> str:
        return f"{self.cell.method}, {self.cell.dataset}"

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())

    def metric(self) -> results.Metric:
        """The ledger's row; the run is its seed."""
        judged = "official test set" if self.metadata["official"] else f"run r on fold r of {FOLDS}"
        return results.Metric(
            method=self.method,
            dataset=self.cell.dataset,
            metric="accuracy",
            protocol=f"fine-tuned encoder and softmax, {judged}, a tenth of the other labels for early stopping",
            seed=self.seed,
            value=self.accuracy,
            n=len(self.right),
        )


# -- the grid --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Material:
    """A task in the ids of a start's words, as arrays, which worker processes map instead of copying.

    Attributes:
        words: (W, D) vectors of the words that the task has, behind those of padding and of unknown words.
        state: the other parameters.
        tested: rows of the official test set, the last ones.
    """

    config: CNNEncoder
    words: NDArray[np.float32]
    state: dict[str, NDArray[np.float32]]
    tokens: TokenIds
    labels: Rows
    classes: int
    tested: int


def _materials(trained: Trained, tasks: Sequence[str]) -> dict[str, _Material]:
    """Each task for one start; the full table of words, up to a GB, is held no longer than this takes."""
    config = trained.recipe.encoder
    if not isinstance(config, CNNEncoder):
        raise ConfigError(f"Figure 3 fine-tunes a CNN, not an encoder of kind '{config.kind}'.")
    state = {name: value.cpu().numpy() for name, value in trained.encoder().state_dict().items()}
    full = state.pop("embedding.weight")
    made = {}
    for name in tasks:
        found = task_of(name)
        if found.pairs:
            raise ConfigError(f"{name} is a task of pairs; figure 3 has tasks of single sentences.")
        parts = [found.train] if found.test is None else [found.train, found.test]
        labels = np.concatenate([part.labels for part in parts])
        tokens = trained.vocabulary.encode([s for part in parts for s in part.first], trained.recipe.tokenisation)
        words, flat = np.unique(np.concatenate([[PADDING, UNKNOWN], tokens.flat]), return_inverse=True)
        ids = TokenIds(flat[2:], tokens.offsets)
        made[name] = _Material(config, full[words], state, ids, labels, len(found.classes), len(found.test or ()))
    return made


@dataclass(frozen=True, eq=False)
class FineTuning(Work):
    """The training of a cell; `material` is left out where its artifact is there.

    Args:
        start: key of the encoder that the start's words, and of ``pre-trained`` all else, come from.
        bound: of random filters, see `redraw`.
    """

    cell: Cell
    start: str
    settings: ClassifierTraining
    bound: float | None
    device: str
    material: _Material | None = None
    file: ClassVar[str] = "outcome"

    @cached_property
    def key(self) -> str:
        cell, settings = self.cell, self.settings.model_dump(mode="json")
        values = {"version": VERSION, "cell": asdict(cell), "start": self.start, "settings": settings}
        if cell.start == "random":
            values["bound"] = self.bound
        if cell.task.startswith("miniworld"):  # generated data are pinned by their generator
            values["generator"] = fingerprint()
        return digest(values)

    def run(self, folder: Path) -> tuple[dict[str, Tensors], dict[str, Any]]:
        cell, given, settings = self.cell, self.material, of_share(self.settings, self.cell.share)
        assert given is not None
        encoder = build(given.config, torch.tensor(given.words), seed=cell.run)
        assert isinstance(encoder, CNN)
        if cell.start == "random":
            redraw(encoder, cell.run, self.bound)
        else:
            encoder.load_state_dict({name: torch.tensor(value) for name, value in given.state.items()}, strict=False)
        division = divide(given.labels, cell.run, cell.share, tested=given.tested)
        problem = ClassifierProblem(
            encoder, given.tokens, given.labels, division, settings, classes=given.classes, seed=cell.run
        )
        history = fit(problem, settings, seed=cell.run, device=self.device, key=self.key, folder=folder, report=silent)
        right = problem.right(division.test)
        print(f"[{cell}] accuracy {right.mean():.4f}, {history.seconds:.1f} s", flush=True)
        head = sum(parameter.numel() for parameter in problem.head.parameters())
        return {self.file: {"rows": torch.from_numpy(division.test), "right": torch.from_numpy(right)}}, {
            "cell": asdict(cell),
            "official": given.tested > 0,
            "history": vars(history),
            "trained": len(division.train),
            "parameters": problem.encoder.parameter_count() + head,
        }


def fine_tune_grid(
    starts: Mapping[Start, Trained],
    wanted: Sequence[Cell],
    settings: ClassifierTraining,
    *,
    bound: float | None = None,
    device: str = "auto",
    jobs: int = 1,
) -> list[Outcome]:
    """The outcomes of ``wanted``, in their order; cells without an artifact are trained, ``jobs`` side by side.

    Args:
        starts: where each start's words and encoder come from. Both must have the same word vectors, so that
            pre-training alone tells them apart: for learned words give the pre-trained encoder twice. Of ``random``
            nothing else is taken: its filters are drawn anew in each run, see `redraw`.
        settings: of trainings with all labels; see `of_share`.
        bound: of random filters; None: by their number of inputs and outputs.
        jobs: how many trainings run side by side, each in a process of its own with one thread.

    Raises:
        ConfigError: a start is missing or is no CNN, a task is one of pairs, or a share leaves too few sentences.
        CheckpointError: a start has no artifact, or an outcome's file is damaged.
        SentbookError: as `sentbook.training.loop.fit`; cells that were finished keep their artifacts.
    """
    if absent := {cell.start for cell in wanted} - set(starts):
        raise ConfigError(f"No encoder was given for the start '{min(absent)}'.")
    works = [FineTuning(cell, starts[cell.start].key, settings, bound, device) for cell in wanted]
    missing = [work.cell for work in works if not store.is_made(work)]
    materials = {
        start: _materials(trained, list(dict.fromkeys(cell.task for cell in missing if cell.start == start)))
        for start, trained in starts.items()
        if any(cell.start == start for cell in missing)
    }
    works = [replace(work, material=materials.get(work.cell.start, {}).get(work.cell.task)) for work in works]
    made = store.obtain(works, jobs=jobs)
    found = [item.tensors() for item in made]
    return [
        Outcome(cell, one["rows"].numpy(), one["right"].numpy(), item.metadata)
        for cell, one, item in zip(wanted, found, made, strict=True)
    ]
