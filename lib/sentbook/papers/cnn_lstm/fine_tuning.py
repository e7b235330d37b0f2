"""Fine-tuning a CNN with a softmax on top, from pre-trained or from random parameters: figure 3 of Gan et al. 2017.

A cell of the figure is one training: a task, a share of its labels, a start, a run. Each has an artifact of its own, so
that a run that was killed loses only the cells in progress.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from sentbook import records as results
from sentbook.config import digest
from sentbook.data.miniworld.fingerprint import fingerprint
from sentbook.data.tasks import task as task_of
from sentbook.data.text import PADDING, UNKNOWN, TokenIds
from sentbook.evaluation import folds
from sentbook.evaluation.classification import SKIP_THOUGHTS_NESTED
from sentbook.evaluation.statistics import Estimate, from_bootstrap, holm, resample_counts, seed_interval
from sentbook.models.build import build
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.papers.cnn_lstm.classifier import ClassifierProblem, Division, of_share, redraw
from sentbook.papers.cnn_lstm.settings import ClassifierTraining
from sentbook.system.errors import ConfigError
from sentbook.training import store
from sentbook.training.loop import fit, silent
from sentbook.training.problem import Rows
from sentbook.training.recipes import Trained
from sentbook.training.store import Learned, Tensors, Work

# Raise when a change to the code changes the numbers of fine-tuned classifiers.
VERSION = 1
Start = Literal["pre-trained", "random"]
STARTS: tuple[Start, ...] = get_args(Start)
# As the paper's numbers are filed.
METHODS: dict[Start, str] = {"pre-trained": "pretrained-composite", "random": "random-init"}
FOLDS = SKIP_THOUGHTS_NESTED.folds
# Of the labelled sentences of a run every tenth chooses the epoch.
_TRIAL = 10
AVERAGE = "total_avg"


# -- divisions and cells ---------------------------------------------------------------------------------------------


def divide(labels: NDArray[np.int64], run: int, share: float = 1.0, *, tested: int = 0) -> Division:
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
        return dataset_name(self.task, self.share)

    def __str__(self) -> str:
        return f"{self.dataset}, {self.start}, run {self.run}"


def dataset_name(task: str, share: float) -> str:
    """A task and a share of its labels, as tables name them.

    Example:
        >>> dataset_name("TREC", 0.1), dataset_name("TREC", 1)
        ('TREC-10%-labels', 'TREC')
    """
    return task if share == 1 else f"{task}-{100 * share:g}%-labels"


def cells(tasks: Sequence[str], runs: int, shares: Sequence[float] = (1.0,)) -> list[Cell]:
    """Every task, share, start and run."""
    return [
        Cell(task, share, start, run)
        for task in tasks
        for share in shares
        for run in range(1, runs + 1)
        for start in STARTS
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
        return results.Metric(
            method=self.method,
            dataset=self.cell.dataset,
            metric="accuracy",
            protocol=_protocol(official=self.metadata["official"]),
            seed=self.seed,
            value=self.accuracy,
            n=len(self.right),
        )


def _protocol(*, official: bool) -> str:
    judged = "official test set" if official else f"run r on fold r of {FOLDS}"
    return f"fine-tuned encoder and softmax, {judged}, a tenth of the other labels for early stopping"


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

    def encoder(self, cell: Cell, bound: float | None) -> CNN:
        """The encoder that the cell begins with."""
        made = build(self.config, torch.tensor(self.words), seed=cell.run)
        assert isinstance(made, CNN)
        if cell.start == "random":
            redraw(made, cell.run, bound)
        else:
            made.load_state_dict({name: torch.tensor(value) for name, value in self.state.items()}, strict=False)
        return made


def _materials(trained: Trained, tasks: Sequence[str]) -> dict[str, _Material]:
    """Each task for one start; the full table of words, up to a GB, is held no longer than this takes."""
    config = trained.recipe.encoder
    if not isinstance(config, CNNEncoder):
        raise ConfigError(f"Figure 3 fine-tunes a CNN, not an encoder of kind '{config.kind}'.")
    encoder = trained.encoder()
    full = encoder.embedding.weight.detach().cpu().numpy()
    state = {name: value.cpu().numpy() for name, value in encoder.state_dict().items() if name != "embedding.weight"}
    made = {}
    for name in tasks:
        found = task_of(name)
        if found.pairs:
            raise ConfigError(f"{name} is a task of pairs; figure 3 has tasks of single sentences.")
        parts = [found.train] if found.test is None else [found.train, found.test]
        tokens = trained.vocabulary.encode([s for part in parts for s in part.first], trained.recipe.tokenisation)
        words, flat = np.unique(np.concatenate([[PADDING, UNKNOWN], tokens.flat]), return_inverse=True)
        made[name] = _Material(
            config=config,
            words=full[words],
            state=state,
            tokens=TokenIds(flat[2:], tokens.offsets),
            labels=np.concatenate([part.labels for part in parts]),
            classes=len(found.classes),
            tested=0 if found.test is None else len(found.test),
        )
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
        cell, material, settings = self.cell, self.material, of_share(self.settings, self.cell.share)
        assert material is not None
        division = divide(material.labels, cell.run, cell.share, tested=material.tested)
        problem = ClassifierProblem(
            material.encoder(cell, self.bound),
            material.tokens,
            material.labels,
            division,
            settings,
            classes=material.classes,
            seed=cell.run,
        )
        history = fit(problem, settings, seed=cell.run, device=self.device, key=self.key, folder=folder, report=silent)
        right = problem.right(division.test)
        print(f"[{cell}] accuracy {right.mean():.4f}, {history.seconds:.1f} s", flush=True)
        head = sum(parameter.numel() for parameter in problem.head.parameters())
        return {self.file: {"rows": torch.from_numpy(division.test), "right": torch.from_numpy(right)}}, {
            "cell": asdict(cell),
            "official": material.tested > 0,
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
    missing = [work.cell for work in works if not work.path.exists()]
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


# -- numbers ---------------------------------------------------------------------------------------------------------


def metrics(outcomes: Sequence[Outcome]) -> list[results.Metric]:
    """A row an outcome; and, for each start, each run's mean over the tasks with all labels."""
    rows = [outcome.metric() for outcome in outcomes]
    found, whole = _by_cell(outcomes), _whole(outcomes)
    for start in STARTS if len(whole) > 1 else ():
        for run in _runs(found, whole):
            chosen = [found[dataset, start, run] for dataset in whole]
            rows.append(
                results.Metric(
                    method=METHODS[start],
                    dataset=AVERAGE,
                    metric="accuracy",
                    protocol="fine-tuned encoder and softmax, mean of tasks",
                    seed=run,
                    value=float(np.mean([outcome.accuracy for outcome in chosen])),
                    n=sum(len(outcome.right) for outcome in chosen),
                )
            )
    return rows


def gains(outcomes: Sequence[Outcome], *, resamples: int = 2000, seed: int = 0) -> list[results.Test]:
    r"""Pre-trained minus random, for every data set and for the mean of those with all labels.

    Two kinds: ``t over runs``: mean and 95 % t-interval of the runs' differences $d_r$, both starts having the same
    division in a run; and ``paired bootstrap`` over test sentences, each with its mean over the runs that judged it.
    With one run there is the second alone. Holm's p is over the data sets with all labels, and over the others.

    Assumptions: runs are independent. They share training sentences (and, with an official test set, the test), so the
    t-interval is of these sentences, and somewhat short for new ones (Nadeau and Bengio 2003).

    Raises:
        ConfigError: no run of a data set has both starts.
    """
    found = _by_cell(outcomes)
    datasets = [name for name in dict.fromkeys(outcome.cell.dataset for outcome in outcomes) if _runs(found, [name])]
    if not datasets:
        raise ConfigError("No run of a data set was fine-tuned from both starts.")
    whole = [name for name in _whole(outcomes) if name in datasets]
    by_run = {name: np.array([_gain(found, name, run) for run in _runs(found, [name])]) for name in datasets}
    points, resampled = {}, {}
    for index, name in enumerate(datasets):
        gain = _by_item(found, name)
        counts = resample_counts(len(gain), resamples, [seed, index])
        points[name], resampled[name] = float(gain.mean()), counts @ gain / len(gain)
    estimates: dict[tuple[str, str], Estimate] = {}
    for name in datasets:
        estimates["t over runs", name] = _over_runs(by_run[name])
        estimates["paired bootstrap", name] = from_bootstrap(points[name], resampled[name])
    if len(whole) > 1:
        common = _runs(found, whole)
        means = np.array([np.mean([_gain(found, name, run) for name in whole]) for run in common])
        estimates["t over runs", AVERAGE] = _over_runs(means)
        estimates["paired bootstrap", AVERAGE] = from_bootstrap(
            float(np.mean([points[name] for name in whole])), np.mean([resampled[name] for name in whole], axis=0)
        )
    adjusted: dict[tuple[str, str], float] = {}
    for kind in ("t over runs", "paired bootstrap"):
        for family in (whole, [name for name in datasets if name not in whole]):
            known = {(kind, name): estimates[kind, name].p for name in family}
            tried = {place: p for place, p in known.items() if p is not None}
            adjusted |= dict(zip(tried, holm(list(tried.values())), strict=True))
    names = {"a": METHODS["pre-trained"], "b": METHODS["random"]}
    return [
        results.Test.of(one, **names, kind=kind, dataset=name, metric="accuracy").model_copy(
            update={"p_holm": adjusted.get((kind, name))}
        )
        for (kind, name), one in estimates.items()
        if kind != "t over runs" or one.p is not None
    ]


_Found = Mapping[tuple[str, Start, int], Outcome]


def _by_cell(outcomes: Sequence[Outcome]) -> dict[tuple[str, Start, int], Outcome]:
    return {(outcome.cell.dataset, outcome.cell.start, outcome.cell.run): outcome for outcome in outcomes}


def _whole(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(outcome.cell.task for outcome in outcomes if outcome.cell.share == 1))


def _runs(found: _Found, datasets: Sequence[str]) -> list[int]:
    """Runs that all ``datasets`` have from both starts."""
    runs = sorted({run for _, _, run in found})
    return [run for run in runs if all((name, start, run) in found for name in datasets for start in STARTS)]


def _gain(found: _Found, dataset: str, run: int) -> float:
    return found[dataset, "pre-trained", run].accuracy - found[dataset, "random", run].accuracy


def _by_item(found: _Found, dataset: str) -> NDArray[np.float64]:
    """(N,) for each test sentence the mean over runs of right (1) or wrong (0), pre-trained minus random."""
    runs = _runs(found, [dataset])
    rows = np.concatenate([found[dataset, "random", run].rows for run in runs])
    signs = [
        found[dataset, "pre-trained", run].right.astype(float) - found[dataset, "random", run].right for run in runs
    ]
    items = np.unique(rows, return_inverse=True)[1]
    return np.asarray(np.bincount(items, np.concatenate(signs)) / np.bincount(items))


def _over_runs(differences: NDArray[np.float64]) -> Estimate:
    """Mean, t-interval and the p of "it is 0"; no p with fewer than two runs."""
    found = seed_interval(differences)
    if len(differences) < 2:
        return found
    if np.ptp(differences) == 0:  # no spread: the t statistic is 0/0 or infinite
        return Estimate(found.estimate, found.low, found.high, 1.0 if found.estimate == 0 else 0.0)
    return Estimate(found.estimate, found.low, found.high, float(stats.ttest_1samp(differences, 0.0).pvalue))
