"""The steps of an experiment, as a notebook calls them: recipes, training, scores, record."""

import datetime
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from pydantic_core import to_jsonable_python

from sentbook import io, judge, records
from sentbook.config import digest, kind_of, load
from sentbook.data import corpora, sources, suites, vectors
from sentbook.data.text import Tokenisation, Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.evaluation.predictions import Predictions, sts_predictions
from sentbook.evaluation.protocols import Protocol
from sentbook.models import Encoder, SentenceEncoder
from sentbook.models.average import AverageEncoder
from sentbook.models.encode import cosine_scores, tokenise_sets
from sentbook.records import Cost, CurvePoint, Metric, Provenance, Run, Scores, Search, Test
from sentbook.training.devices import described, device_of, peak_memory_bytes
from sentbook.training.recipes import Recipe, recipes, untrained
from sentbook.training.runs import Trained, obtain
from sentbook.training.search import searches_of


class Study:
    """One experiment of one paper under one configuration, from its start to its record.

    Args:
        name: ``<paper>/<experiment>``, as in ``results/<profile>/<paper>/<experiment>.json``.
        profile: ``demo``, ``small`` or ``paper``.
        seeds: one run per seed, of every row; None: the profile's.
        settings: changes to the profile's settings, by name.
        sections: single settings, which go over ``settings``; None and ``{}`` leave the profile's.

    Attributes:
        settings: the configuration: encoders, trainings, seeds.
    """

    def __init__(self, name: str, /, *, profile: str = "demo", **parameters: Any) -> None:
        self.paper, _, self.experiment = name.rpartition("/")
        self.settings: Any = load(self.paper, {"profile": profile, **parameters})
        self.started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._clock = time.monotonic()
        self._trained: dict[str, Trained] = {}

    # -- models -----------------------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the words that have an initial vector, for `sentbook.models.encode`."""
        return untrained(*recipes(self.settings, "words", AverageEncoder(), seeds=[0]))[1]

    def untrained(self, encoder: Encoder | type[SentenceEncoder], seed: int | None = None) -> SentenceEncoder:
        """Build an encoder over the initial word vectors, before any training.

        Args:
            encoder: its options, or a class of your own.
            seed: of its initial values; None: the first of the settings'.
        """
        seed = self.settings.seeds[0] if seed is None else seed
        return untrained(*recipes(self.settings, "untrained", encoder, seeds=[seed]))[0].eval()

    @property
    def curves(self) -> list[CurvePoint]:
        """Return the training curves so far."""
        return [point for item in self._trained.values() if item.metadata for point in item.curve()]

    # -- training ---------------------------------------------------------------------------------------------------

    def train(
        self, *recipes: Recipe | Sequence[Recipe], jobs: int | None = None, encoders: bool = True
    ) -> list[Trained]:
        """Train the encoders of all ``recipes``, or load them from the cache where the recipe is unchanged.

        Args:
            jobs: trainings side by side, in place of the settings'; 1 where their seconds are compared.
            encoders: keep the encoders; False: only their histories and their scores of held-out pairs.
        """
        flat = [one for group in recipes for one in ([group] if isinstance(group, Recipe) else group)]
        trained = obtain(flat, device=self.settings.device, jobs=jobs or self.settings.jobs, encoders=encoders)
        # A method is trained on many data sets, and may be another one's beginning.
        self._trained |= {f"{one.method}/{one.seed}/{one.key}": one for one in trained}
        return trained

    def attempt(self, recipes: Sequence[Recipe]) -> list[Trained | None]:
        """Train for a search: scores and histories are kept, not the encoders; None where the last stage diverged."""
        s = self.settings
        made = obtain(recipes, device=s.device, jobs=s.jobs, encoders=False, may_diverge=True)
        found = {one.recipe: one for one in made}
        return [found.get(one) for one in recipes]

    # -- scores -----------------------------------------------------------------------------------------------------

    def score(
        self,
        trained: Iterable[Trained],
        *,
        sets: Sequence[ScoredPairs] | None = None,
        total: Sequence[str] | None = None,
    ) -> Predictions:
        """Score every pair of every test set by the cosine of its vectors, under every encoder.

        Args:
            sets: in place of the settings'.
            total: the sets that the total average is the mean of, see `sts_predictions`.
        """
        sets = suites.test_sets(self.settings.suite) if sets is None else sets
        found = sts_predictions(sets, total)
        tokens: dict[tuple[Vocabulary, Tokenisation], Any] = {}
        for item in trained:
            key = item.vocabulary, item.recipe.tokenisation
            if key not in tokens:
                tokens[key] = tokenise_sets(sets, *key)
            for dataset, values in cosine_scores(item.encoder(self.settings.device), tokens[key]).items():
                found.add(item.method, item.seed, dataset, values)
        return found

    # -- record -----------------------------------------------------------------------------------------------------

    def _substitutions(self) -> list[str]:
        """Name what stands in for the paper's word vectors and training corpora."""
        made = [one.recipe for one in self._trained.values()]
        used = dict.fromkeys(one.vectors.name for one in made) or [self.settings.vectors.name]
        texts = dict.fromkeys(name for one in made for name in one.texts())
        named = [vectors.substitute(name, self.paper) for name in used]
        return [words for words in [*named, *(corpora.substitute(name, self.paper) for name in texts)] if words]

    def _searches(self, trained: Sequence[Trained]) -> list[Search]:
        """Return how the settings of what was trained were chosen, as the page *tuning* of the paper has recorded it.

        The committed search comes first: a run that others can make again reads nothing else. Profile paper may train
        longer, with what the search of profile small has chosen.
        """
        name, profile = f"{self.paper}/tuning", self.settings.profile
        tuning = records.read(name, profile) or records.read(name, profile, own=True) or records.read(name)
        return searches_of(trained, tuning.searches if tuning else [])

    def record(
        self,
        scores: Predictions | Scores | None = None,
        *,
        protocol: Protocol | str | None = None,
        metrics: Sequence[Metric] | None = None,
        tests: Sequence[Test] = (),
        findings: Mapping[str, Any] | None = None,
        curves: Sequence[CurvePoint] | None = None,
        cost: Sequence[Cost] | None = None,
        searches: Sequence[Search] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Run:
        """Write the run to ``build/runs/<profile>/``, with a score per test item, and return it.

        A run with changed parameters goes to ``build/runs/custom/<hash>/``. What is committed in ``results/`` stays;
        ``sentbook run --record`` alone replaces it.

        Args:
            scores: a score per item, method, seed and data set.
            protocol: how ``metrics`` are computed from ``scores``.
            metrics: the numbers; None: those of ``scores`` under ``protocol``.
            tests: differences of two methods.
            findings: what claims are judged on and fits no row: numbers, intervals, tests, lists and dicts of these.
            curves, cost: None: those of all trainings of this study.
            searches: how the settings of each method were chosen; None: what the paper's page *tuning* recorded.
            extra: what fits nowhere else.

        Raises:
            ConfigError: ``scores`` of pairs without a ``protocol``.
            StorageError: no space or a read-only folder; an earlier run is intact.
        """
        s, trained = self.settings, [item for item in self._trained.values() if item.metadata]
        data = {name: value for item in trained for name, value in item.metadata.get("data", {}).items()}
        if metrics is None:
            metrics = scores.metric_rows(protocol) if isinstance(scores, Predictions) else ()
        run = Run(
            paper=self.paper,
            experiment=self.experiment,
            profile=kind_of(self.paper, s),
            provenance=Provenance(
                git_commit=io.git_commit(),
                config=s.model_dump(mode="json"),
                config_hash=digest(s),
                data=dict(sorted((data | sources.used()).items())),
                substitutions=self._substitutions(),
                packages=io.packages(),
                python=platform.python_version(),
                device=described(device_of(s.device)),
                threads=torch.get_num_threads(),
                started=self.started,
                wall_seconds=round(time.monotonic() - self._clock, 1),
                training_seconds=round(sum(item.metadata["wall_seconds"] for item in trained), 1),
                peak_memory_bytes=max([peak_memory_bytes(), *(item.cost().peak_memory_bytes for item in trained)]),
                seeds=sorted({item.seed for item in trained} or set(s.seeds)),
            ),
            metrics=list(metrics),
            tests=list(tests),
            findings=to_jsonable_python(findings or {}, fallback=lambda array: array.tolist()),
            curves=self.curves if curves is None else list(curves),
            cost=[item.cost() for item in trained] if cost is None else list(cost),
            searches=self._searches(trained) if searches is None else list(searches),
            extra={"artifacts": [_pedigree(item) for item in trained], **(extra or {})},
        )
        stored = scores.stored() if isinstance(scores, Predictions) else scores
        if stored:  # so that a verdict needs the record alone
            run.findings["measured"] = [test.model_dump(mode="json") for test in judge.measured(run, stored)]
        records.write(run, stored)
        return run


def _pedigree(item: Trained) -> dict[str, Any]:
    """Say where an encoder's numbers come from."""
    names = ("git_commit", "started", "wall_seconds", "pairs", "device")
    found = {name: item.metadata[name] for name in names if name in item.metadata}
    return {"method": item.method, "seed": item.seed, "key": item.key, **found}
