"""Fine-tuning a CNN with a softmax on top, from pre-trained or from random parameters: figure 3 of Gan et al. 2017.

A cell of the figure is one training: a task, a share of its labels, a start, a run. Each has an artifact of its own,
``<artifacts>/<key>/outcome.json``, so that a run that was killed loses only the cells in progress.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn
from torch.nn import functional

from sentbook import records as results
from sentbook.config import digest
from sentbook.data import sources
from sentbook.data.miniworld.fingerprint import fingerprint
from sentbook.data.tasks import task as task_of
from sentbook.data.text import PADDING, UNKNOWN, TokenIds, batches_by_tokens
from sentbook.evaluation import folds
from sentbook.evaluation.classification import SKIP_THOUGHTS_NESTED
from sentbook.evaluation.statistics import Estimate, from_bootstrap, holm, resample_counts, seed_interval
from sentbook.models import SentenceEncoder
from sentbook.models.build import build
from sentbook.models.cnn import CNN, CNNEncoder
from sentbook.system import versions
from sentbook.system.errors import CheckpointError, ConfigError
from sentbook.system.files import alone, write_atomically
from sentbook.system.paths import artifacts
from sentbook.training import checkpoint
from sentbook.training.loop import fit, peak_memory_bytes
from sentbook.training.recipes import Trained
from sentbook.training.settings import ClassifierTraining

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

Rows = NDArray[np.int64]


# -- divisions -------------------------------------------------------------------------------------------------------


class Division(NamedTuple):
    """Rows of a task's sentences, its official test sentences standing behind all others."""

    train: Rows
    trial: Rows
    test: Rows


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


# -- the problem -----------------------------------------------------------------------------------------------------


class ClassifierProblem:
    r"""A `sentbook.training.loop.Problem`: a class from a sentence's vector z, encoder and softmax trained together.

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
        labels: NDArray[np.int64],
        division: Division,
        settings: ClassifierTraining,
        *,
        classes: int,
        seed: int,
    ) -> None:
        self.encoder, self.settings, self.division = encoder, settings, division
        self.patience = settings.patience
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            linear = nn.Linear(encoder.dimension, classes)
        self.head = nn.Sequential(nn.Dropout(settings.head_dropout), linear)
        self._tokens, self._labels = tokens, labels
        self.lengths = tokens.lengths[division.train]

    def _logits(self, rows: Rows) -> Tensor:
        device = self.encoder.embedding.weight.device
        ids, lengths = self._tokens.padded(rows, self.encoder.minimum_length)
        logits: Tensor = self.head(self.encoder(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device)))
        return logits

    def loss(self, rows: Rows, rng: np.random.Generator) -> Tensor:
        chosen = self.division.train[rows]
        logits = self._logits(chosen)
        return functional.cross_entropy(logits.float(), torch.from_numpy(self._labels[chosen]).to(logits.device))

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

    def watch(self) -> list[dict[str, Any]]:
        return []

    def penalties(self) -> Iterator[tuple[nn.Parameter, float, Tensor | None]]:
        # Towards 0 from both starts, so that they differ in nothing but where they begin.
        for parameter in self.encoder.composition():
            yield parameter, self.settings.composition_decay, None


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


# -- cells and outcomes ----------------------------------------------------------------------------------------------


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
class Outcome(Cell):
    """What a cell's classifier does on its test rows.

    Attributes:
        rows: (N,) of the task's sentences, see `Division`.
        right: (N,) whether each is given its class.
        metadata: history of the training, parameters, seconds, data, commit.
    """

    rows: Rows
    right: NDArray[np.bool_]
    metadata: dict[str, Any]

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())

    def metric(self) -> results.Metric:
        """The ledger's row; the run is its seed."""
        return results.Metric(
            method=self.method,
            dataset=self.dataset,
            metric="accuracy",
            protocol=_protocol(official=self.metadata["official"]),
            seed=self.run,
            value=self.accuracy,
            n=len(self.right),
        )

    def curve(self) -> list[results.CurvePoint]:
        points = self.metadata["history"]["curve"]
        return [results.CurvePoint(method=f"{self.method}, {self.dataset}", seed=self.run, **point) for point in points]

    def cost(self) -> results.Cost:
        history = self.metadata["history"]
        return results.Cost(
            method=f"{self.method}, {self.dataset}",
            seed=self.run,
            seconds=history["seconds"],
            peak_memory_bytes=history["peak_memory_bytes"],
            parameters=self.metadata["parameters"],
            examples_per_second=history["examples"] / max(history["seconds"], 1e-9),
        )


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
    labels: NDArray[np.int64]
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


def _key(cell: Cell, start: str, settings: ClassifierTraining, bound: float | None) -> str:
    values = {"version": VERSION, "cell": asdict(cell), "start": start, "settings": settings.model_dump(mode="json")}
    if cell.start == "random":
        values["bound"] = bound
    if cell.task.startswith("miniworld"):  # generated data are pinned by their generator
        values["generator"] = fingerprint()
    return digest(values)


def _artifact(key: str) -> Path:
    return artifacts() / key / "outcome.json"


def _read(cell: Cell, key: str) -> Outcome:
    path = _artifact(key)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        right = np.array([int(sign) for sign in stored.pop("right")], dtype=bool)
        rows = np.array(stored.pop("rows"), dtype=np.int64)
        if stored["key"] != key or rows.shape != right.shape or stored["cell"] != asdict(cell):
            raise ValueError
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path} is truncated or of another cell; delete it and run again.") from error
    return Outcome(**asdict(cell), rows=rows, right=right, metadata=stored)


def _fine_tune(
    cell: Cell,
    key: str,
    material: _Material,
    settings: ClassifierTraining,
    bound: float | None,
    device: str,
    threads: int | None,
) -> None:
    if threads is not None:
        torch.set_num_threads(threads)
    target = _artifact(key)
    with alone(target.parent):  # another notebook may want the same cell
        if target.exists():
            return
        clock = time.monotonic()
        division = divide(material.labels, cell.run, cell.share, tested=material.tested)
        settings = of_share(settings, cell.share)
        problem = ClassifierProblem(
            material.encoder(cell, bound),
            material.tokens,
            material.labels,
            division,
            settings,
            classes=material.classes,
            seed=cell.run,
        )
        history = fit(
            problem,
            settings,
            seed=cell.run,
            device=device,
            key=key,
            folder=target.parent,
            report=lambda line: None,
        )
        right = problem.right(division.test)
        stored = {
            "key": key,
            "cell": asdict(cell),
            "rows": division.test.tolist(),
            "right": "".join("1" if one else "0" for one in right),
            "official": material.tested > 0,
            "history": vars(history),
            "trained": len(division.train),
            "parameters": sum(parameter.numel() for parameter in problem.head.parameters())
            + problem.encoder.parameter_count(),
            "data": sources.used(),
            "git_commit": versions.git_commit(),
            "wall_seconds": time.monotonic() - clock,
            "peak_memory_bytes": peak_memory_bytes(),
        }
        write_atomically(target, json.dumps(stored) + "\n")
        (target.parent / "checkpoint.safetensors").unlink(missing_ok=True)
        print(f"[{cell}] accuracy {right.mean():.4f}, {stored['wall_seconds']:.1f} s", flush=True)


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
    begun = {start: trained.recipe.key() for start, trained in starts.items()}
    keys = [_key(cell, begun[cell.start], settings, bound) for cell in wanted]
    missing = {key: cell for key, cell in zip(keys, wanted, strict=True) if not checkpoint.is_made(_artifact(key))}
    materials = {
        start: _materials(trained, list(dict.fromkeys(cell.task for cell in missing.values() if cell.start == start)))
        for start, trained in starts.items()
        if any(cell.start == start for cell in missing.values())
    }
    given = [(cell, key, materials[cell.start][cell.task], settings, bound, device) for key, cell in missing.items()]
    if jobs == 1 or len(given) <= 1:
        for one in given:
            _fine_tune(*one, None)
    else:
        Parallel(n_jobs=jobs, batch_size=1)(delayed(_fine_tune)(*one, 1) for one in given)
    return [_read(cell, key) for cell, key in zip(wanted, keys, strict=True)]


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
    datasets = [name for name in dict.fromkeys(outcome.dataset for outcome in outcomes) if _runs(found, [name])]
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
    return [
        results.Test(
            kind=kind,
            a=METHODS["pre-trained"],
            b=METHODS["random"],
            dataset=name,
            metric="accuracy",
            estimate=one.estimate,
            low=one.low,
            high=one.high,
            p=one.p,
            p_holm=adjusted.get((kind, name)),
        )
        for (kind, name), one in estimates.items()
        if kind != "t over runs" or one.p is not None
    ]


def shrinking(outcomes: Sequence[Outcome], task: str) -> results.Test:
    """The gain with the smallest share of the labels minus that with the largest one, over runs.

    Source: Gan et al. 2017, section 4.2: "As the size of the set of labeled sentences grows, the improvement becomes
    smaller".

    Raises:
        ConfigError: fewer than two shares, or than two runs that have both.
    """
    found = _by_cell([outcome for outcome in outcomes if outcome.task == task])
    sizes = sorted({outcome.share for outcome in outcomes if outcome.task == task})
    ends = [dataset_name(task, share) for share in sizes[:1] + sizes[-1:]]
    common = _runs(found, ends)
    if len(sizes) < 2 or len(common) < 2:
        raise ConfigError(f"The change of {task}'s gain needs two shares of its labels, and two runs of each.")
    differences = np.array([_gain(found, ends[0], run) - _gain(found, ends[1], run) for run in common])
    one = _over_runs(differences)
    names = [f"gain with {100 * share:g} % of the labels" for share in (sizes[0], sizes[-1])]
    return results.Test(
        kind="t over runs", a=names[0], b=names[1], dataset=task, metric="accuracy",
        estimate=one.estimate, low=one.low, high=one.high, p=one.p,
    )  # fmt: skip


_Found = Mapping[tuple[str, Start, int], Outcome]


def _by_cell(outcomes: Sequence[Outcome]) -> dict[tuple[str, Start, int], Outcome]:
    return {(outcome.dataset, outcome.start, outcome.run): outcome for outcome in outcomes}


def _whole(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(outcome.task for outcome in outcomes if outcome.share == 1))


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
