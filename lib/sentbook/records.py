"""The rows of a recorded run: numbers, tests, claims, curves, costs and where they are from.

One run is one table or figure of one paper in one profile: ``results/<profile>/<paper>/<experiment>.json``.
It holds numbers, settings and provenance, never a sentence of a data set. Values are on their own scale
(correlations in [-1, 1], accuracies in [0, 1]); x100 happens in the renderer alone.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal[
    "reproduced",
    "exceeded",
    "not reproduced",
    "inconclusive",
    "out of scale",
    "the paper contradicts itself",
    "not run",
]
# What a claim is about, and so what its intervals are over: new trainings on new items, or new items alone.
Level = Literal["models", "encoders"]
OWN = "not of the paper"


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


class Interval(Protocol):
    """A difference with its 95 % interval and p, such as `sentbook.evaluation.statistics.Estimate`."""

    @property
    def estimate(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def p(self) -> float | None: ...


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
    def of(cls, found: Interval, *, kind: str, a: str, b: str, dataset: str, metric: str) -> Test:
        """What was found of A - B, under its names."""
        numbers = {"estimate": found.estimate, "low": found.low, "high": found.high, "p": found.p}
        return cls(kind=kind, a=a, b=b, dataset=dataset, metric=metric, **numbers)


class Finding(Record):
    """A number that a verdict looked at: a value with its 95 % interval, or a count ``of`` so many.

    ``unit`` is a measure (``pearson``, ``accuracy``, ``mse``, ``share``, in [-1, 1] where it is bounded) or what is
    counted (``sets``, ``parts``, ``seconds``). ``how`` says how the interval was made; of a number that ours is held
    against, where it is from.
    """

    what: str
    unit: str
    value: float
    low: float | None = None
    high: float | None = None
    of: int | None = None
    how: str = ""


class Part(Record):
    """One of several comparisons that a claim makes at once."""

    verdict: Verdict
    printed: Finding | None = None
    ours: Finding | None = None


class Claim(Record):
    """A sentence of the paper with its verdict; ``evidence`` is the sentence of numbers the rule looked at.

    ``printed`` is the paper's number, or the bound of the rule where the paper has none; ``ours`` is what was measured.

    Attributes:
        about: what the intervals are over; None in runs of before.
        notes: what bounds the verdict, a sentence each: one training, an under-tuned side, a smaller scale.
        judged_by: digest of the rule and what it compares; another one in ``claims.yaml`` is a later rule.
    """

    id: str
    text: str
    source: str
    rule: str
    verdict: Verdict
    evidence: str
    printed: Finding | None = None
    ours: Finding | None = None
    parts: list[Part] = Field(default_factory=list)
    about: Level | None = None
    notes: list[str] = Field(default_factory=list)
    judged_by: str = ""

    @property
    def own(self) -> bool:
        """Whether it is a claim of this book, which is not counted with the paper's."""
        return self.source.startswith(OWN)


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
    """What one training cost. ``parameters`` excludes the word vectors."""

    method: str
    seed: int
    seconds: float
    peak_memory_bytes: int
    parameters: int
    examples_per_second: float


class Provenance(Record):
    """All that is needed to make the numbers again.

    ``wall_seconds`` is the run's own; ``training_seconds`` sums the trainings whose encoders it used, most of them
    found by their key and made earlier, side by side. ``sources`` are digests of the notebook, the parameters and the
    code, see `sentbook.runs.lineage`.
    """

    git_commit: str
    config: dict[str, Any]
    config_hash: str
    data: dict[str, str] = Field(default_factory=dict)
    sources: dict[str, str] = Field(default_factory=dict)
    substitutions: list[str] = Field(default_factory=list)
    packages: dict[str, str] = Field(default_factory=dict)
    python: str
    device: str
    started: str
    wall_seconds: float
    training_seconds: float = 0.0
    peak_memory_bytes: int
    seeds: list[int]


class Run(Record):
    """One recorded table or figure. ``extra`` holds what fits no row (e.g. counts of an overlap report)."""

    schema_version: Literal[1] = 1
    paper: str
    experiment: str
    profile: str
    provenance: Provenance
    metrics: list[Metric] = Field(default_factory=list)
    tests: list[Test] = Field(default_factory=list)
    claims: list[Claim] = Field(default_factory=list)
    curves: list[CurvePoint] = Field(default_factory=list)
    searches: list[Search] = Field(default_factory=list)
    cost: list[Cost] = Field(default_factory=list)
    extra: dict[str, Any] = Field(default_factory=dict)
