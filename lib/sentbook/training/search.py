"""Choosing how an encoder is trained: every point of a grid is trained, the development pairs decide."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from sentbook.config import digest
from sentbook.data import suites
from sentbook.io import ConfigError, NumericalError
from sentbook.records import Run, Search
from sentbook.training.objectives import DirectTransfer, Grid, HeadTraining, Objective
from sentbook.training.recipes import Recipe
from sentbook.training.runs import Trained

Values = Mapping[str, Sequence[Any]]
# An edge that is no better than its neighbour by this much of the validation metric is flat, and no edge.
FLAT = 0.002
# Points that the first seed leaves this close to its best, by default so many at most, are tried with so many seeds.
CLOSE, FINALISTS, DECIDING = 0.01, 3, 3
# What a final training may have other than the trainings that chose its settings.
LENGTH = {"epochs", "checks_per_epoch", "limit", "patience", "keep_checks"}


class Trains(Protocol):
    """Who trains recipes and keeps account of them, such as `sentbook.study.Study`."""

    def attempt(self, recipes: Sequence[Recipe]) -> list[Trained | None]:
        """Train without keeping the encoders; None where the last stage diverged."""

    def train(self, *recipes: Sequence[Recipe], encoders: bool = True) -> list[Trained]:
        """Return the encoders of all ``recipes``, and record their curves and costs."""


AnyObjective = TypeVar("AnyObjective", bound=Objective)


def points(stage: AnyObjective, values: Values) -> list[AnyObjective]:
    """Return ``stage`` with every combination of ``values``, which are named by its settings.

    Raises:
        ConfigError: a value that the setting does not take.

    Example:
        >>> [point.learning_rate for point in points(DirectTransfer(), {"learning_rate": [0.1, 0.01]})]
        [0.1, 0.01]
    """
    return [stage.changed(**dict(zip(values, one, strict=True))) for one in itertools.product(*values.values())]


@dataclass
class Descent:
    """A search of one stage's settings step by step: each step trains every point of its own small grid.

    The settings that a step does not name stay as the steps before have chosen them, so that five values each of six
    settings are 30 trainings and not 15,625. What it gives up: a point that is good only in two settings at once.

    The first seed tries every point. Where it leaves several within `CLOSE` of its best, the best ``most`` of them are
    trained with the other seeds too, of which ``deciding`` in all are enough, and the mean over seeds decides.

    A best value at the edge of the last step's grid is followed beyond it: the next value (`next_value`) is tried with
    all else as chosen, until it is no better or ``beyond`` steps are spent.

    Args:
        method: spelt as in the paper's table.
        starts: what the stage is trained on top of, one a seed; the first one is the search's.
        stage: an `Objective`, the point at which the first step begins; afterwards the best one.
        steps: values by the name of a setting; a step of two names trains every pair of their values.
        selected_on: the pairs whose metric decides, in words.
        dataset: on which the choice is made for it alone; empty: for all.
        beyond: how many steps may follow the last one.
        pairs: search on at most so many training pairs, a share drawn by the seed; None: on those of the stage.
        most: how many close points the other seeds try; None: all of them.
    """

    method: str
    starts: Sequence[Recipe]
    stage: Any
    steps: Sequence[Values]
    selected_on: str = "development pairs"
    dataset: str = ""
    beyond: int = 0
    deciding: int = DECIDING
    pairs: int | None = None
    most: int | None = FINALISTS
    tried: list[dict[str, Any]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._planned = len(self.steps)
        self._found: Search | None = None  # as a recorded run has it
        self.share: float | None = None  # of the training pairs on which points are tried; None: those of the stage
        if self.pairs is not None:
            share = self.pairs / len(suites.pairs(self.stage.dataset, "train"))
            self.share = share if share < self.stage.share else None

    def changed(self, name: str, **settings: Any) -> Descent:
        """Return this search with other settings of its stage; ``name`` follows the method's."""
        return replace(self, method=f"{self.method}{name}", stage=self.stage.changed(**settings))

    def adopt(self, run: Run | None) -> None:
        """Take what this row's search in a recorded run chose, if its encoder and settings are the same.

        Then no point is tried, and `record` returns that search with the commit that it was made at.
        """
        for one in run.searches if run else ():
            if one.of and (one.method, one.dataset) == (self.method, self.dataset):
                stage = self.stage.changed(**one.chosen)
                if run and one.of == identity(self.starts[0], self._on_few(stage)):
                    words, _, commit = one.selected_on.partition(", at commit ")
                    words = f"{words}, at commit {commit or run.provenance.git_commit[:8]}"
                    self.stage, self.steps, self._found = stage, (), one.model_copy(update={"selected_on": words})

    def _on_few(self, stage: Any) -> Any:
        return stage if self.share is None else stage.changed(share=self.share)

    def recipe(self, stage: Objective, start: Recipe) -> Recipe:
        """Return the recipe of one point on top of ``start``."""
        return start.changed(method=self.method).then(stage)

    def recipes(self) -> list[Recipe]:
        """Return the recipes of the best point, one a seed."""
        return [self.recipe(self.stage, start) for start in self.starts]

    def points(self, step: int) -> list[Objective]:
        """Return the points of a step, at the best point so far in all that it does not name."""
        return points(self._on_few(self.stage), self.steps[step]) if step < len(self.steps) else []

    def finalists(self, values: Sequence[Sequence[float | None]]) -> list[int]:
        """Return which points the other seeds try too, by the first one's values; one point needs no others."""
        known = {at: value for at, (value,) in enumerate(values) if value is not None}
        close = [at for at, value in known.items() if value > max(known.values()) - CLOSE]
        return sorted(close, key=lambda at: -known[at])[: self.most] if len(close) > 1 else []

    def choose(self, step: int, points: Sequence[Objective], values: Sequence[Sequence[float | None]]) -> None:
        """Take the best of a step's points by their validation values; of equals, the first.

        Args:
            values: of each point, one a seed that has tried it, None where it diverged. If several seeds have tried
                some, the mean over seeds decides among these.

        Raises:
            NumericalError: every one of them diverged.
        """
        means = [None if None in own else float(np.mean(own)) for own in values]  # type: ignore[arg-type]
        known = {at: value for at, value in enumerate(means) if value is not None}
        known = {at: value for at, value in known.items() if len(values[at]) > 1} or known
        if not known:
            raise NumericalError(f"{self.method} diverged at every point; add a lower learning rate.")
        for at, (point, own) in enumerate(zip(points, values, strict=True)):
            row = {"step": step + 1, **_named(point, self.steps[step]), "development": means[at]}
            row |= {"seeds": len(own)} if len(own) > 1 else {}
            if step < self._planned or at:
                self.tried.append(row)
            elif "seeds" in row:  # the best so far, beside a point beyond it
                next(one for one in self.tried if _named(point, self.steps[step]).items() <= one.items()).update(row)
        best = points[max(known, key=lambda at: known[at])]  # of equals the first
        self.stage = best if self.share is None else best.changed(share=self.stage.share)
        if step == len(self.steps) - 1:
            self._go_beyond()

    def _go_beyond(self) -> None:
        """Add a step of the best point and of the one beyond it, where it lies at the edge of the last step's grid."""
        values = _named(self.stage, self.steps[-1])
        name = next((name for name in values if self._ends_at_the_edge(name)), None)
        if name is not None and len(self.steps) < self._planned + self.beyond:
            further = next_value(values[name], list(self._best_by(name)))
            steps = {other: [value] for other, value in values.items()} | {name: [values[name], further]}
            with suppress(ConfigError):  # no setting takes a batch of one
                points(self.stage, steps)
                self.steps = [*self.steps, steps]

    def _best_by(self, name: str) -> dict[Any, float]:
        """Return the best value at each of a setting's values, in the last planned step that names it and beyond."""
        named = [point for point in self.tried if name in point]
        last, best = max(min(point["step"], self._planned) for point in named), dict[Any, float]()
        for point in (one for one in named if one["step"] >= last):
            value = -math.inf if point["development"] is None else point["development"]
            best[point[name]] = max(value, best.get(point[name], -math.inf))
        return best

    def _ends_at_the_edge(self, name: str) -> bool:
        """Tell whether the best value of a setting may lie beyond those tried: see `FLAT`."""
        best, value = self._best_by(name), getattr(self.stage, name)
        return is_at_edge(value, list(best)) and best[value] - best[_nearest(value, list(best))] > FLAT

    def record(self, gain: float | None = None) -> Search:
        """Return the search as a run records it; ``gain``: what the last quarter of the final training gained."""
        if self._found:
            return self._found.model_copy(update={"last_quarter_gain": gain})
        met = {name: {one[name] for one in self.tried if name in one} for step in self.steps for name in step}
        grid = {name: sorted(values) for name, values in met.items() if len(values) > 1}
        chosen = _named(self.stage, grid)
        few = "" if self.share is None else f", after training on {self.pairs:,} pairs where there are more"
        return Search(
            method=self.method,
            dataset=self.dataset,
            seed=self.starts[0].seed,
            grid=grid,
            chosen=chosen,
            trainings=len(self.tried),
            selected_on=f"{self.selected_on}{few}",
            at_edge=[name for name in chosen if self._ends_at_the_edge(name)],
            last_quarter_gain=gain,
            tried=self.tried,
            of=identity(self.starts[0], self._on_few(self.stage)),
        )


def _named(stage: Objective, names: Values) -> dict[str, Any]:
    return {name: getattr(stage, name) for name in names}


def is_at_edge(value: Any, values: Sequence[Any]) -> bool:
    """Tell whether the best of some values may lie beyond them: it is the least or the largest number, and not 0.

    A choice between yes and no has no edge, and no setting here can be less than 0.

    Example:
        >>> is_at_edge(0.1, [0.001, 0.01, 0.1]), is_at_edge(0.01, [0.001, 0.01, 0.1]), is_at_edge(0.0, [0.0, 1e-5])
        (True, False, False)
    """
    numbers = [one for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
    return len(numbers) > 1 and value in (min(numbers), max(numbers)) and value != 0


def _nearest(value: float, tried: Sequence[float]) -> float:
    return min((one for one in tried if one != value), key=lambda one: abs(one - value))


def next_value(value: float, tried: Sequence[float]) -> float:
    """Return the number beyond the edge ``value`` of those tried, as far as its neighbour is; a fraction is 1eN or 3eN.

    Where the neighbour is 0, three times the edge; where 1eN or 3eN is not beyond the edge, the number itself.

    Example:
        >>> next_value(0.1, [0.01, 0.03, 0.1]), next_value(0.0003, [0.001, 0.0003]), next_value(64, [32, 64])
        (0.3, 0.0001, 128)
        >>> next_value(0.1, [0.0, 0.1]), next_value(1.0, [0.8, 1.0])
        (0.3, 1.25)
    """
    further = value * value / (_nearest(value, tried) or value / 3)
    if isinstance(value, int):
        return round(further)
    half_decades = round(2 * math.log10(further))
    rounded = float(f"{3 if half_decades % 2 else 1}e{half_decades // 2}")
    return rounded if (rounded - value) * (further - value) > 0 else further


def over_steps(recipes: Sequence[Recipe], steps: Sequence[Values], selected_on: str) -> Descent:
    """Return the search of the last stage of ``recipes``, one a seed; see `Descent`."""
    first, starts = recipes[0], [one.before for one in recipes]
    return Descent(first.method, starts, first.stages[-1], steps, selected_on, beyond=2)


def grid_of(stage: AnyObjective, grid: Grid) -> tuple[AnyObjective, Values]:
    """Return a transfer as long as its grid allows, and the values that are tried of its other settings.

    See `sentbook.training.objectives.Grid` for why the numbers of epochs are one point.
    """
    values: dict[str, Sequence[Any]] = {"learning_rate": grid.learning_rates, "batch_size": grid.batch_sizes}
    if grid.rescale:
        values["rescale"] = grid.rescale
    return stage.changed(epochs=max(grid.epochs), patience=grid.patience), values


def over_grid(
    method: str,
    starts: Sequence[Recipe],
    stage: DirectTransfer | HeadTraining,
    grid: Grid,
    also: Values | None = None,
) -> Descent:
    """Return the search of a transfer over its grid and the values of ``also``, in one step; see `Descent`."""
    stage, values = grid_of(stage, grid)
    steps = [{**(also or {}), **values}]
    return Descent(method, starts, stage, steps, dataset=stage.dataset, beyond=grid.beyond, pairs=grid.pairs)


@dataclass(frozen=True)
class Found:
    """A row whose stage was searched: the best one, trained with every seed, and how it was chosen."""

    method: str
    dataset: str
    trained: list[Trained]
    search: Search


def search(study: Trains, searches: Sequence[Descent], *, encoders: bool = False) -> list[Found]:
    """Search the stage of each row, side by side, then train it with every seed at the best point.

    Test pairs decide nothing. Curves and costs are recorded of the best points.

    Args:
        encoders: keep those of the best points, and not their scores alone.

    Raises:
        NumericalError: every point of a step diverged.
    """
    descend(study, searches)
    groups = [one.recipes() for one in searches]
    trained = iter(study.train(*groups, encoders=encoders))
    found = []
    for one, group in zip(searches, groups, strict=True):
        items = [next(trained) for _ in group]
        found.append(Found(group[0].method, one.dataset, items, one.record(mean_gain(items))))
    return found


def descend(study: Trains, searches: Sequence[Descent]) -> None:
    """Search all ``searches`` side by side, step by step; each holds its choice afterwards. Arguments as `search`."""
    for step in itertools.count():
        rows = [
            (one, points, [list[float | None]() for _ in points]) for one in searches if (points := one.points(step))
        ]
        if not rows:
            break
        tries = [
            (one.recipe(point, one.starts[0]), own)
            for one, points, values in rows
            for point, own in zip(points, values, strict=True)
        ]
        _try(study, tries)
        tries = [
            (one.recipe(points[at], start), values[at])
            for one, points, values in rows
            for at in one.finalists(values)
            for start in one.starts[1 : one.deciding]
        ]
        _try(study, tries)
        for one, points, values in rows:
            one.choose(step, points, values)


def _try(study: Trains, tries: Sequence[tuple[Recipe, list[float | None]]]) -> None:
    """Train recipes, and put the validation value of each into its list, None where it diverged."""
    made = study.attempt([recipe for recipe, _ in tries])
    for (_, values), one in zip(tries, made, strict=True):
        values.append(None if one is None else float(one.metadata["history"]["best"]))


# -- what a run records of it ----------------------------------------------------------------------------------------


def identity(recipe: Recipe, stage: Objective) -> str:
    """Digest the encoder of a recipe and the settings of a stage but for its length: what a search chooses for."""
    encoder, last = recipe.encoder.model_dump(mode="json"), stage.model_dump(mode="json", exclude=LENGTH)
    return digest({"vectors": recipe.vectors.name, "encoder": encoder, "stage": last})


def last_quarter_gain(history: Mapping[str, Any]) -> float | None:
    """Tell what the best validation value gained in the last quarter of a training; None of fewer than four checks.

    A training that stopped because its patience was spent has gained nothing for as long.
    """
    points = [point for point in history.get("curve", ()) if point["split"] == "validation"]
    if len(points) < 4:
        return None
    early = [point["value"] for point in points if point["step"] <= 0.75 * points[-1]["step"]]
    return max(0.0, max(point["value"] for point in points) - max(early)) if early else None


def mean_gain(trained: Sequence[Trained]) -> float | None:
    """Return the mean of the last quarters' gains over trainings; None where none is known."""
    known = [gain for one in trained if (gain := last_quarter_gain(one.metadata.get("history", {}))) is not None]
    return sum(known) / len(known) if known else None


def searches_of(trained: Sequence[Trained], known: Sequence[Search]) -> list[Search]:
    """Record how the settings of each method were chosen, and whether its trainings had converged.

    Args:
        trained: every seed of every method.
        known: searches, those of other runs too: one counts for a method that has it as any of its stages.
    """
    rows = []
    for method in dict.fromkeys(item.method for item in trained if item.metadata):
        items = [item for item in trained if item.method == method and item.metadata]
        own_gain = mean_gain(items)
        wanted = {identity(items[0].recipe, stage) for stage in items[0].recipe.stages}
        found = [search for search in known if search.of in wanted]
        for search in found or [Search(method=method)]:
            # A search may have followed the trainings by a measure that stands nearer to what they are for.
            gain = own_gain if search.last_quarter_gain is None else search.last_quarter_gain
            rows.append(search.model_copy(update={"method": method, "last_quarter_gain": gain}))
    return rows
