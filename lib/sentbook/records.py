"""What a run is: its numbers, tests, findings, curves, costs and provenance, and how it is read and written.

One run is one table or figure of one paper in one profile. A run writes ``build/runs/<profile>/<paper>/<page>.json``
and, where it scored test items, an ``.npz`` next to it with a score per item. `commit` copies both to ``results/``,
which is committed; nothing else writes there. A record holds numbers, settings and provenance, never a sentence of a
data set. Values are on their own scale (correlations in [-1, 1], accuracies in [0, 1]); x100 happens in the renderer
alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sentbook.io import ConfigError, DataError, replacing, root

# Raised when numbers are meant to change. A record with a lower version is stale.
VERSION = 2


class Record(BaseModel):
    """Base of every row: unknown fields and NaN are refused, so that a typo cannot hide a number."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Metric(Record):
    """One number of one seed. ``protocol`` says how it was computed (cosine or trained head, aggregation)."""

    method: str
    dataset: str
    metric: str
    protocol: str
    seed: int | None
    value: float
    n: int


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval and, for a difference, the two-sided p of "it is 0"."""

    estimate: float
    low: float
    high: float
    p: float | None = None


class Test(Record):
    """A comparison of two methods: ``estimate`` is A - B with its 95 % interval."""

    __test__ = False  # not a pytest class

    kind: str
    a: str
    b: str
    dataset: str
    metric: str
    estimate: float
    low: float
    high: float
    p: float | None = None
    p_holm: float | None = None

    @classmethod
    def of(cls, found: Estimate, **names: str) -> Test:
        """Return A - B under its names: ``kind``, ``a``, ``b``, ``dataset`` and ``metric``."""
        return cls(**names, **asdict(found))


class Search(Record):
    """How a method's settings were chosen: what was tried, what was taken, and whether its curve had become flat.

    Attributes:
        dataset: on which its own transfer was chosen; empty: one choice for all data sets.
        seed: with which every point was tried; points close to its best were with the other seeds too.
        grid: the values tried, by setting; empty: nothing was searched.
        chosen: the values taken.
        trainings: how many points were tried.
        selected_on: the pairs that decided, in words.
        at_edge: settings whose chosen value is the least or the largest tried.
        last_quarter_gain: what the best validation value gained in the last quarter of the final trainings, mean over
            seeds; None: not known.
        tried: every point with its validation value, None where it diverged; ``seeds``: of how many it is the mean.
        of: digest of the encoder and the chosen settings, by which other runs know that they use this choice.
    """

    method: str
    dataset: str = ""
    seed: int | None = None
    grid: dict[str, list[bool | float | str]] = Field(default_factory=dict)
    chosen: dict[str, bool | float | str] = Field(default_factory=dict)
    trainings: int = 1
    selected_on: str = ""
    at_edge: list[str] = Field(default_factory=list)
    last_quarter_gain: float | None = None
    tried: list[dict[str, Any]] = Field(default_factory=list)
    of: str = ""


class CurvePoint(Record):
    """One point of a training curve; ``step`` counts training examples seen."""

    method: str
    seed: int
    step: int
    split: str
    metric: str
    value: float


class Cost(Record):
    """What one training cost. ``parameters`` excludes the word vectors.

    ``peak_memory_bytes`` on a processor is that of the process so far, of which earlier trainings are a part.
    """

    method: str
    seed: int
    seconds: float
    peak_memory_bytes: int
    parameters: int
    examples_per_second: float


class Provenance(Record):
    """All that is needed to make the numbers again.

    ``wall_seconds`` is the run's own; ``training_seconds`` sums the trainings whose encoders it used, most of them
    cached by earlier runs; of one that was killed and went on, what came after. ``data`` are the files that the
    process had read by then. ``version`` is the `VERSION` of the code that ran. ``device`` names the processor.
    ``threads`` are the run's own (None: not known); with the settings' ``jobs`` above 1 each training has one.
    """

    git_commit: str
    version: int = VERSION
    config: dict[str, Any]
    config_hash: str
    data: dict[str, str] = Field(default_factory=dict)
    substitutions: list[str] = Field(default_factory=list)
    packages: dict[str, str] = Field(default_factory=dict)
    python: str
    device: str
    threads: int | None = None
    started: str
    wall_seconds: float
    training_seconds: float = 0.0
    peak_memory_bytes: int
    seeds: list[int]


# NaN and infinity, which a file would hold as null, are refused in whatever JSON is.
Plain = Annotated[dict[str, Any], AfterValidator(lambda held: json.dumps(held, allow_nan=False, default=str) and held)]


class Run(Record):
    """One recorded table or figure.

    Attributes:
        findings: numbers that claims are judged on and that fit no row: numbers, intervals
            (``{"estimate", "low", "high", "p", "how"}``), tests as rows, and lists and dictionaries of these.
        extra: what fits nowhere else, such as the counts of an overlap report.
    """

    schema_version: Literal[2] = 2
    paper: str
    experiment: str
    profile: str
    provenance: Provenance
    metrics: list[Metric] = Field(default_factory=list)
    tests: list[Test] = Field(default_factory=list)
    findings: Plain = Field(default_factory=dict)
    curves: list[CurvePoint] = Field(default_factory=list)
    searches: list[Search] = Field(default_factory=list)
    cost: list[Cost] = Field(default_factory=list)
    extra: Plain = Field(default_factory=dict)

    @property
    def name(self) -> str:
        """The page that made it, ``cse/table1``."""
        return f"{self.paper}/{self.experiment}"

    @property
    def stale(self) -> bool:
        """Whether numbers were meant to change since."""
        return self.provenance.version < VERSION


# -- scores per item ---------------------------------------------------------------------------------------------------

Key = tuple[str, int | None, str]


def rounded(values: ArrayLike) -> NDArray[np.float64]:
    """Round to 16 bits of fixed point: the largest keeps 15 bits, all are multiples of one power of two.

    Numbers computed from these scores are the same before and after they are stored. Whole numbers below 32,768 stay
    as they are. A cosine moves by 2e-5 at most. A 16-bit float moves one near 1 by 2e-4, which moves correlations of a
    few hundred close cosines by .001.

    Example:
        >>> [float(value) for value in rounded([3, 0.7, -0.25])]
        [3.0, 0.699951171875, -0.25]
    """
    array = np.asarray(values, dtype=np.float64)
    step = _step(array)
    return np.asarray(np.clip(np.round(array / step), -32767, 32767) * step)


def _step(array: NDArray[np.float64]) -> float:
    return float(2.0 ** max(np.frexp(np.abs(array).max(initial=0.0))[1] - 15, -1000))


@dataclass(frozen=True)
class Scores:
    """Gold and predictions per test item, as one compressed ``.npz`` keeps them: 16-bit predictions and no text.

    An item is named by its place among the scored items of its data set, in the order of the official file, whose
    digest is in the run's ``provenance.data``.

    Attributes:
        gold: data set -> (N,) gold scores or labels.
        predictions: method, seed and data set -> (N,) scores or labels.
        folds: data set -> (N,) the outer fold in which an item was tested.
        layout: what a table makes of it besides: the means of data sets, and how items are resampled.
    """

    gold: Mapping[str, NDArray[Any]]
    predictions: Mapping[Key, NDArray[Any]]
    folds: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    layout: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Round to what the file keeps, see `rounded`."""
        object.__setattr__(self, "predictions", {key: rounded(values) for key, values in self.predictions.items()})

    def joined(self, others: Mapping[str, Scores]) -> Scores:
        """Return these and others, of the same data sets under other protocols, whose words their names take on.

        ``{"SentEval": ...}`` makes ``MR, SentEval`` of ``MR``: the place of a number whose protocol has these words.
        """
        gold, held, folds = dict(self.gold), dict(self.predictions), dict(self.folds)
        layout = {part: dict(of_rows) for part, of_rows in self.layout.items()}
        for words, other in others.items():
            gold |= {f"{name}, {words}": one for name, one in other.gold.items()}
            folds |= {f"{name}, {words}": one for name, one in other.folds.items()}
            held |= {(method, seed, f"{name}, {words}"): one for (method, seed, name), one in other.predictions.items()}
            for part, of_rows in other.layout.items():
                layout[part] |= {f"{row}, {words}": one for row, one in of_rows.items()}
            means = other.layout["means"].items()
            layout["means"] |= {f"{row}, {words}": [f"{name}, {words}" for name in names] for row, names in means}
        return Scores(gold, held, folds, layout)

    def save(self, path: Path) -> None:
        """Write the file; the same scores give the same bytes.

        Raises:
            StorageError: no space or a read-only folder; what was there before is intact.
        """
        sets = list(self.gold)
        rows = [[key for key in self.predictions if key[2] == name] for name in sets]
        index = {"sets": sets, "rows": [[key[:2] for key in keys] for keys in rows], "layout": self.layout}
        arrays = {"index": np.array(json.dumps(index))}
        for place, (name, keys) in enumerate(zip(sets, rows, strict=True)):
            arrays[f"gold_{place}"] = self.gold[name]
            if keys:
                table = np.stack([self.predictions[key] for key in keys])
                steps = np.array([_step(row) for row in table])
                arrays[f"scores_{place}"] = np.round(table / steps[:, None]).astype(np.int16)
                arrays[f"steps_{place}"] = steps
            if name in self.folds:
                arrays[f"folds_{place}"] = self.folds[name].astype(np.int16)
        with replacing(path) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> Scores:
        """Read the file.

        Raises:
            DataError: it is damaged.
        """
        try:
            with np.load(path, allow_pickle=False) as held:
                index = json.loads(str(held["index"]))
                gold = {name: held[f"gold_{place}"] for place, name in enumerate(index["sets"])}
                folds = {name: held[at] for place, name in enumerate(index["sets"]) if (at := f"folds_{place}") in held}
                predictions = {
                    (method, seed, name): held[f"scores_{place}"][row] * held[f"steps_{place}"][row]
                    for place, name in enumerate(index["sets"])
                    for row, (method, seed) in enumerate(index["rows"][place])
                }
            return cls(gold, predictions, folds, index["layout"])
        except Exception as error:  # numpy, zipfile and zlib each raise their own
            raise DataError(f"{path} is damaged ({error}); make it again, or restore it from git.") from error


# -- files -------------------------------------------------------------------------------------------------------------


def place(name: str, profile: str = "small", *, own: bool = False) -> Path:
    """Return where the run of a page is committed, or where this checkout writes its ``own``.

    ``profile`` of an own run may be ``custom/<hash>``.
    """
    return root() / ("build/runs" if own else "results") / profile / f"{name}.json"


def read(name: str, profile: str = "small", *, own: bool = False) -> Run | None:
    """Read the committed run of a page, such as ``cse/table1``, or the ``own`` one; None where there is none.

    Raises:
        DataError: the file is no run of this schema.
    """
    return load(place(name, profile, own=own))


def read_scores(name: str, profile: str = "small", *, own: bool = False) -> Scores | None:
    """Read the scores per item of the committed run, or of the ``own`` one; None where there are none.

    Raises:
        DataError: the file is damaged.
    """
    path = place(name, profile, own=own).with_suffix(".npz")
    return Scores.load(path) if path.exists() else None


def load(path: Path) -> Run | None:
    """Read a run from a file; None where there is no such file.

    Raises:
        DataError: the file is no run of this schema.
    """
    if not path.exists():
        return None
    try:
        return Run.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise DataError(f"{path} is no recorded run of schema 2 ({why}); restore it or move it away.") from error


def save(run: Run, path: Path, scores: Scores | None = None) -> Path:
    """Write a run, and its scores per item next to it.

    Raises:
        StorageError: no space or a read-only folder; what was there before is intact.
    """
    # Keys in a fixed order and one row of numbers a line, so that a change reads well in git.
    text = run.model_dump_json(indent=1)
    text = re.sub(r"\{\n\s+([^{}\[\]]*?)\n\s+\}", lambda m: "{" + re.sub(r"\n\s+", " ", m.group(1)) + "}", text)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
        if scores is None:
            path.with_suffix(".npz").unlink(missing_ok=True)
        else:
            scores.save(path.with_suffix(".npz"))
    return path


def write(run: Run, scores: Scores | None = None) -> Path:
    """Write a run to ``build/runs/``.

    Raises:
        StorageError: no space or a read-only folder; what was there before is intact.
    """
    return save(run, place(run.name, run.profile, own=True), scores)


def commit(name: str, profile: str) -> Path:
    """Copy the latest run of this checkout to ``results/``, with its scores.

    Raises:
        ConfigError: there is no such run, or it is one on toy data or with changed parameters.
        DataError: it is no run of this schema.
        StorageError: no space or a read-only folder; what was there before is intact.
    """
    run = read(name, profile, own=True)
    if run is None or profile not in ("small", "paper"):
        raise ConfigError(f"No run of {name} can be recorded; run `sentbook run {name} --profile small` first.")
    return save(run, place(name, profile), read_scores(name, profile, own=True))
