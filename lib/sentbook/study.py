"""The steps of an experiment, as a notebook calls them: recipes, training, scores, record."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sentbook import io
from sentbook import records as results
from sentbook.config import digest, from_notebook, is_recorded, load
from sentbook.data import corpora, sources, suites, vectors
from sentbook.data.text import Tokenisation, Vocabulary
from sentbook.data.types import ScoredPairs
from sentbook.data.vectors import Vectors
from sentbook.evaluation.predictions import (
    Predictions,
    sts_predictions,
)
from sentbook.models import Encoder, SentenceEncoder
from sentbook.models.average import AverageEncoder
from sentbook.runs import claims as judged
from sentbook.runs import ledger, lineage
from sentbook.runs.evidence import Evidence
from sentbook.training.cosine import cosine_scores, tokenise_sets
from sentbook.training.devices import described, device_of, peak_memory_bytes
from sentbook.training.recipes import FineTuned, Recipe, Trained, attempt, histories, obtain, recipes, untrained
from sentbook.training.search import searches_of
from sentbook.training.settings import Paper, Stage


class Study:
    """One experiment of one paper under one configuration, from its start to its record.

    Args:
        name: ``<paper>/<experiment>``, as in ``results/<profile>/<paper>/<experiment>.json``.
        profile: ``demo``, ``small`` or ``paper``.
        seeds: one run per seed; None: the profile's.
        settings: changes to the profile's settings, by name.
        sections: single settings, which go over ``settings``; None and ``{}`` leave the profile's.
        given: until each notebook hands over its parameters by name, its ``globals()``, or the paper's ``Settings``.

    Attributes:
        settings: the configuration: encoders, trainings, seeds.
    """

    def __init__(
        self,
        name: str,
        given: Paper | Mapping[str, Any] | None = None,
        *,
        profile: str = "demo",
        seeds: Sequence[int] | None = None,
        settings: Mapping[str, Any] | None = None,
        **sections: Any,
    ) -> None:
        self.paper, self.experiment = name.split("/")
        self._copy = None
        parameters = {**sections, "profile": profile, "seeds": seeds, "settings": settings}
        if given is None:
            self.settings: Any = load(self.paper, parameters)
        elif isinstance(given, Paper):
            self.settings = given
        else:
            self.settings = from_notebook(self.paper, given)
            self._copy = lineage.copied_to(name, given)
        self.started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._clock = time.monotonic()
        self._trained: dict[str, Trained | FineTuned] = {}
        self._data: dict[str, str] = {}
        self._corpora: dict[str, None] = {}
        self._vectors: dict[str, None] = {}
        self._log: list[str] = []
        self._tell(f"{name}, profile {self.profile}, device {device_of(self.settings.device)}")

    def _tell(self, line: str) -> None:
        """Keep a line of what the run did, with the seconds since its start."""
        self._log.append(f"{time.monotonic() - self._clock:.1f} s: {line}")

    # -- models -----------------------------------------------------------------------------------------------------

    @property
    def ablation_seeds(self) -> tuple[int, ...]:
        """The seeds of a page of many variants: the profile's, which are few, or those that the reader has set."""
        return self.seeds_of("ablation_seeds")

    def seeds_of(self, name: str) -> tuple[int, ...]:
        """The seeds that the configuration has under ``name`` for some pages, or those that the reader has set."""
        settings, profile = self.settings, load(self.paper, {"profile": self.settings.profile})
        own: tuple[int, ...] = getattr(settings, name)
        reader_chose = settings.seeds != profile.seeds and own == getattr(profile, name)
        return settings.seeds if reader_chose else own

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that have an initial vector, for `sentbook.models.encode`."""
        return untrained(*recipes(self.settings, "words", AverageEncoder(), seeds=[0]))[1]

    def untrained(self, encoder: Encoder | type[SentenceEncoder], seed: int | None = None) -> SentenceEncoder:
        """Build an encoder over the initial word vectors, before any training.

        Args:
            encoder: its options, or a class of one's own.
            seed: of its initial values; None: the first of the configuration's.
        """
        seed = self.settings.seeds[0] if seed is None else seed
        return untrained(*recipes(self.settings, "untrained", encoder, seeds=[seed]))[0].eval()

    @property
    def curves(self) -> list[results.CurvePoint]:
        """The training curves so far, which `sentbook.report_old.figures.training_curves` draws."""
        return [point for item in self._trained.values() if item.metadata for point in item.curve()]

    # -- training ---------------------------------------------------------------------------------------------------

    def recipes(
        self,
        method: str,
        encoder: Encoder | type[SentenceEncoder],
        *stages: Stage,
        seeds: Sequence[int] | None = None,
        vectors: Vectors | None = None,
        tokenisation: Tokenisation | None = None,
        random_words: bool = False,
    ) -> list[Recipe]:
        """As `sentbook.training.recipes.recipes`, until each notebook calls that."""
        return recipes(
            self.settings,
            method,
            encoder,
            *stages,
            seeds=seeds,
            vectors=vectors,
            tokenisation=tokenisation,
            random_words=random_words,
        )

    def train(self, *recipes: Sequence[Recipe], jobs: int | None = None) -> list[Trained]:
        """The encoders of all ``recipes``: from their artifacts, or trained now.

        Args:
            jobs: trainings side by side, in place of the configuration's; 1 where their seconds are compared.
        """
        flat = [recipe for group in recipes for recipe in group]
        trained = obtain(flat, device=self.settings.device, jobs=self.settings.jobs if jobs is None else jobs)
        self.note(trained)
        return trained

    def attempt(self, recipes: Sequence[Recipe]) -> list[Trained | None]:
        """As `train`; None where the last stage diverged."""
        found = attempt(recipes, device=self.settings.device, jobs=self.settings.jobs)
        self.note([encoder for encoder in found if encoder is not None])
        return found

    def histories(self, recipes: Sequence[Recipe]) -> list[dict[str, Any] | None]:
        """Return what training left of ``recipes`` but their encoders, which are not kept; None where one diverged."""
        found = histories(recipes, device=self.settings.device, jobs=self.settings.jobs)
        self._tell(f"{len(recipes)} trainings of a search: {', '.join(dict.fromkeys(one.method for one in recipes))}")
        return found

    def note(self, encoders: Sequence[Trained | FineTuned], beginnings: Sequence[Recipe] = ()) -> None:
        """Remember encoders, whose cost, curves and pedigree the run records; `train` does so itself.

        Args:
            beginnings: what fine-tuned ones began with, whose data the run names.
        """
        # A method is trained on many data sets, and may be another one's beginning.
        self._trained |= {f"{item.method}/{item.seed}/{item.key}": item for item in encoders}
        for item in encoders:
            self._data |= item.metadata.get("data", {})
        for recipe in (*beginnings, *(item.recipe for item in encoders if isinstance(item, Trained))):
            # Word vectors and corpora may stand in for the paper's.
            self._vectors |= {recipe.vectors.name: None}
            self._corpora |= dict.fromkeys(recipe.texts())
        # ISO times of one zone sort as they follow each other.
        now = [item for item in encoders if item.metadata.get("started", "") >= self.started]
        methods = ", ".join(dict.fromkeys(item.method for item in encoders))
        self._tell(f"{len(encoders)} encoders, {len(now)} of them trained now, the others found: {methods}")

    # -- scores -----------------------------------------------------------------------------------------------------

    def score(
        self, trained: Iterable[Trained], *, sick_in_total: bool = True, sets: Sequence[ScoredPairs] | None = None
    ) -> Predictions:
        """The cosine of every pair of every test set, under every encoder.

        Args:
            sick_in_total: whether the total average counts SICK (table 1) or STS alone (table 5).
            sets: in place of the configuration's.
        """
        sets = suites.test_sets(self.settings.suite) if sets is None else sets
        book = sts_predictions(sets)
        if not sick_in_total:
            book = sts_predictions(sets, [name for name in book.total if not name.startswith("SICK")])
        tokens: dict[tuple[int, Tokenisation], Any] = {}
        for item in trained:
            vocabulary, tokenisation = item.vocabulary, item.recipe.tokenisation
            known = (id(vocabulary), tokenisation)
            if known not in tokens:
                tokens[known] = tokenise_sets(sets, vocabulary, tokenisation)
            for dataset, values in cosine_scores(item.encoder(self.settings.device), tokens[known]).items():
                book.add(item.method, item.seed, dataset, values)
        self._tell(f"cosines of {len(book.methods)} methods on {len(sets)} test sets")
        return book

    # -- record -----------------------------------------------------------------------------------------------------

    def _substitutions(self) -> list[str]:
        """What stands in for the paper's word vectors and training corpora."""
        used = self._vectors or {self.settings.vectors.name: None}
        named = [vectors.substitute(name, self.paper) for name in used]
        named += [corpora.substitute(name, self.paper) for name in self._corpora]
        return [words for words in named if words]

    def _searches(self, trained: Sequence[Trained | FineTuned]) -> list[results.Search]:
        """Return how the settings of what was trained were chosen, as another page of the paper has recorded it.

        Profile paper may train longer, with what the search of profile small has chosen.
        """
        tuning = ledger.read(self.paper, "tuning", self.settings.profile) or ledger.read(self.paper, "tuning", "small")
        known = tuning.searches if tuning else []
        return searches_of([item for item in trained if isinstance(item, Trained)], known)

    @property
    def profile(self) -> str:
        """The profile, or ``custom`` with the configuration's hash where a parameter was changed, or in a copy."""
        settings, copy = self.settings, f"{self._copy.stem}-" if self._copy else ""
        recorded = is_recorded(self.paper, settings) and not copy
        return settings.profile if recorded else f"custom/{copy}{digest(settings)}"

    def record(
        self,
        *,
        metrics: Sequence[results.Metric],
        tests: Sequence[results.Test] = (),
        book: Any = None,
        findings: Mapping[str, Any] | None = None,
        curves: Sequence[results.CurvePoint] | None = None,
        cost: Sequence[results.Cost] | None = None,
        searches: Sequence[results.Search] | None = None,
        extra: dict[str, Any] | None = None,
    ) -> results.Run:
        """Judge the experiment's claims, write the run to the ledger and return it.

        A run with changed parameters never replaces a recorded one. A run on toy data carries no verdict.

        Args:
            book: the predictions that claims are judged on; None: the rows alone.
            findings: numbers for claims that no row and no book holds, by the names that ``claims.yaml`` gives them.
            searches: how each method's settings were chosen; None: what the paper's recorded ``tuning`` says of them.

        Raises:
            StorageError: the ledger cannot be written.
        """
        settings = self.settings
        trained = [item for item in self._trained.values() if item.metadata]
        toy = settings.profile == "demo"  # the mini-world says nothing of a paper
        verdicts = 0 if toy else len(judged.claims(self.paper, self.experiment))
        self._tell(f"{len(metrics)} numbers, {len(tests)} tests and {verdicts} verdicts recorded")
        run = results.Run(
            paper=self.paper,
            experiment=self.experiment,
            profile=self.profile,
            provenance=results.Provenance(
                git_commit=io.git_commit(),
                config=settings.model_dump(mode="json"),
                config_hash=digest(settings),
                data=dict(sorted((self._data | sources.used()).items())),
                substitutions=self._substitutions(),
                packages=io.packages(),
                python=io.python_version(),
                device=described(device_of(settings.device)),
                started=self.started,
                wall_seconds=round(time.monotonic() - self._clock, 1),
                training_seconds=round(sum(item.metadata["wall_seconds"] for item in trained), 1),
                peak_memory_bytes=max([peak_memory_bytes(), *(item.metadata["peak_memory_bytes"] for item in trained)]),
                seeds=sorted({item.seed for item in trained} or set(settings.seeds)),
            ),
            metrics=list(metrics),
            tests=list(tests),
            curves=self.curves if curves is None else list(curves),
            cost=[item.cost() for item in trained] if cost is None else list(cost),
            searches=self._searches(trained) if searches is None else list(searches),
            extra={
                "artifacts": [_pedigree(item) for item in trained],
                "log": self._log,
                **(extra or {}),
            },
        )
        if not toy:
            run.claims = judged.judge(Evidence.of(run, book, settings.resamples, findings))
        ledger.write(run)
        return run


def _pedigree(item: Trained | FineTuned) -> dict[str, Any]:
    """Where an encoder's numbers come from."""
    names = ("git_commit", "started", "wall_seconds", "pairs")
    found = {name: item.metadata[name] for name in names if name in item.metadata}
    return {"method": item.method, "seed": item.seed, "key": item.key, **found}
