"""Choosing how an encoder is trained: every point of a grid is trained, the development pairs decide."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from sentbook.config import digest, parse
from sentbook.data import suites
from sentbook.io import ConfigError, NumericalError
from sentbook.records import Search
from sentbook.training.objectives import DirectTransfer, Grid, HeadTraining, Objective
from sentbook.training.recipes import Recipe, Trained

Transfer = DirectTransfer | HeadTraining
Values = Mapping[str, Sequence[Any]]
History = Mapping[str, Any]
# An edge that is no better than its neighbour by this much of the validation metric is flat, and no edge.
FLAT = 0.002
# The points that the first seed leaves this close to its best, at most so many of them, are tried with so many seeds.
CLOSE, FINALISTS, DECIDING = 0.01, 3, 3
# What a final training may have other than the trainings that chose its settings.
LENGTH = {"epochs", "checks_per_epoch", "limit", "patience", "keep_checks"}


class Trains(Protocol):
    """Who trains recipes and keeps account of them, such as `sentbook.study.Study`."""

    def attempt(self, recipes: Sequence[Recipe]) -> list[Trained | None]:
        """Return the encoders of ``recipes``; None where the last stage diverged."""

    def train(self, *recipes: Sequence[Recipe]) -> list[Trained]:
        """Return the encoders of all ``recipes``."""

    def histories(self, recipes: Sequence[Recipe]) -> list[dict[str, Any] | None]:
        """Return what training left of ``recipes`` but their encoders; None where the last stage diverged."""


AnyStage = TypeVar("AnyStage", bound=Objective)


def points(stage: AnyStage, values: Values) -> list[AnyStage]:
    """Return ``stage`` with every combination of ``values``, which are named by its settings.

    Example:
        >>> [point.learning_rate for point in points(DirectTransfer(), {"learning_rate": [0.1, 0.01]})]
        [0.1, 0.01]
    """
    combinations = itertools.product(*values.values())
    return [
        parse(type(stage), stage.model_dump() | dict(zip(values, one, strict=True)), type(stage).__name__)
        for one in combinations
    ]


def grid_of(stage: Transfer, grid: Grid) -> tuple[Transfer, Values]:
    """Return a transfer as long as its grid allows, and the values that are tried of its other settings.

    See `sentbook.training.objectives.Grid` for why the numbers of epochs are one point.
    """
    values: dict[str, Sequence[Any]] = {"learning_rate": grid.learning_rates, "batch_size": grid.batch_sizes}
    if isinstance(stage, HeadTraining) and grid.rescale:
        values["rescale"] = grid.rescale
    return stage.model_copy(update={"epochs": max(grid.epochs), "patience": grid.patience}), values


@dataclass
class Descent:
    """A search of one stage's settings step by step: each step trains every point of its own small grid.

    The settings that a step does not name stay as the steps before have chosen them, so that five values each of six
    settings are 30 trainings and not 15,625. What it gives up: a point that is good only in two settings at once.

    The first seed tries every point. Where it leaves several within `CLOSE` of its best, the best `FINALISTS` of them
    are trained with the other seeds too, of which `DECIDING` in all are enough, and the mean over seeds decides.

    A best value at the edge of the last step's grid is followed beyond it: the next value (`next_value`) is tried with
    all else as chosen, until it is no better or ``beyond`` steps are spent.

    Args:
        method: spelt as in the paper's table.
        start: what the stage is trained on top of; its seed is the search's.
        stage: the point at which the first step begins.
        steps: values by the name of a setting; a step of two names trains every pair of their values.
        selected_on: the pairs whose metric decides, in words.
        dataset: on which the choice is made for it alone; empty: for all.
        others: what the stage is trained on top of with the other seeds; none: the first one decides.
        beyond: how many steps may follow the last one.
    """

    method: str
    start: Recipe
    stage: Objective
    steps: Sequence[Values]
    selected_on: str = "development pairs"
    dataset: str = ""
    others: Sequence[Recipe] = ()
    beyond: int = 0
    tried: list[dict[str, Any]] = field(default_factory=list, init=False)

    def recipe(self, stage: Objective, start: Recipe | None = None) -> Recipe:
        """Return the recipe of one point; ``start``: of another seed."""
        start = start or self.start
        return start.model_copy(update={"method": self.method, "stages": (*start.stages, stage)})

    def __post_init__(self) -> None:
        self._planned = len(self.steps)

    def points(self, step: int) -> list[Objective]:
        """Return the points of a step, at the best point so far in all that it does not name."""
        return points(self.stage, self.steps[step]) if step < len(self.steps) else []

    def _go_beyond(self) -> None:
        """Add a step of the best point and of the one beyond it, where it lies at the edge of the last step's grid."""
        values = _named(self.stage, self.steps[-1])
        name = next((name for name in values if self._ends_at_the_edge(name)), None)
        if name is not None and len(self.steps) < self._planned + self.beyond:
            further = next_value(values[name], [point[name] for point in self._tried_of(name)])
            steps = {other: [value] for other, value in values.items()} | {name: [values[name], further]}
            with suppress(ConfigError):  # no setting takes a batch of one
                points(self.stage, steps)
                self.steps = [*self.steps, steps]

    def finalists(self, found: Sequence[History | None]) -> list[int]:
        """Return which points the other seeds try too, by the first one's histories; one point needs no others."""
        values = {at: float(history["best"]) for at, history in enumerate(found) if history is not None}
        close = [at for at, value in values.items() if value > max(values.values()) - CLOSE]
        close = sorted(close, key=lambda at: -values[at])[:FINALISTS]
        return close if self.others and len(close) > 1 else []

    def choose(
        self,
        step: int,
        points: Sequence[Objective],
        found: Sequence[History | None],
        more: Mapping[int, Sequence[History | None]] | None = None,
    ) -> None:
        """Take the best of a step's points by their histories; of equals, the first.

        Args:
            found: the first seed's, None where it diverged.
            more: those of the other seeds, by the places of `finalists`, among which the mean over seeds decides.

        Raises:
            NumericalError: every one of them diverged.
        """
        more = more or {}
        values = [_mean_best([history, *more.get(at, ())]) for at, history in enumerate(found)]
        in_final = {at: values[at] for at in more if values[at] is not None}
        told = [value for value in (in_final.values() if in_final else values) if value is not None]
        if not told:
            rates = sorted({point.learning_rate for point in points}, reverse=True)
            on = f" on {self.dataset}" if self.dataset else ""
            raise NumericalError(
                f"{self.method}{on} diverged at every learning rate of {', '.join(f'{rate:g}' for rate in rates)}; "
                "add a lower one."
            )
        for at, (point, value) in enumerate(zip(points, values, strict=True)):
            row = {"step": step + 1, **_named(point, self.steps[step]), "development": value}
            row |= {"seeds": 1 + len(more[at])} if at in more else {}
            if step < self._planned or at:
                self.tried.append(row)
            elif "seeds" in row:  # the best so far, beside a point beyond it
                next(one for one in self.tried if _named(point, self.steps[step]).items() <= one.items()).update(row)
        best = max(told)
        places = in_final or range(len(points))
        self.stage = next(points[at] for at in sorted(places) if values[at] == best)
        if step == len(self.steps) - 1:
            self._go_beyond()

    def _tried_of(self, name: str) -> list[dict[str, Any]]:
        """Return the points of the last planned step that names a setting, and of those beyond."""
        named = [point for point in self.tried if name in point]
        last = max(min(point["step"], self._planned) for point in named)
        return [point for point in named if point["step"] >= last]

    def _ends_at_the_edge(self, name: str) -> bool:
        """Tell whether the best value of a setting may lie beyond those tried: see `FLAT`."""
        best: dict[Any, float] = {}
        for point in self._tried_of(name):
            value = -math.inf if point["development"] is None else point["development"]
            best[point[name]] = max(value, best.get(point[name], -math.inf))
        value = getattr(self.stage, name)
        if not is_at_edge(value, list(best)):
            return False
        nearest = min((one for one in best if one != value), key=lambda one: abs(one - value))
        return best[value] - best[nearest] > FLAT

    def record(self, gain: float | None = None) -> Search:
        """Return the search as a run records it; ``gain``: what the last quarter of the final training gained."""
        grid: dict[str, list[Any]] = {}
        for name in dict.fromkeys(name for step in self.steps for name in step):
            met = {one[name] for one in self.tried if name in one}
            if len(met) > 1:
                grid[name] = sorted(met)
        chosen = _named(self.stage, grid)
        return Search(
            method=self.method,
            dataset=self.dataset,
            seed=self.start.seed,
            grid=grid,
            chosen=chosen,
            trainings=len(self.tried),
            selected_on=self.selected_on,
            at_edge=[name for name in chosen if self._ends_at_the_edge(name)],
            last_quarter_gain=gain,
            tried=self.tried,
            of=identity(self.recipe(self.stage)),
        )


def _mean_best(histories: Sequence[History | None]) -> float | None:
    values = [math.nan if history is None else float(history["best"]) for history in histories]
    return None if any(map(math.isnan, values)) else float(np.mean(values))


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


def next_value(value: float, tried: Sequence[float]) -> float:
    """Return the number beyond the edge ``value`` of those tried, as far as its neighbour is; a fraction is 1eN or 3eN.

    Example:
        >>> next_value(0.1, [0.01, 0.03, 0.1]), next_value(0.0003, [0.001, 0.0003]), next_value(64, [32, 64])
        (0.3, 0.0001, 128)
    """
    nearest = min((one for one in tried if one != value), key=lambda one: abs(one - value))
    further = value * value / nearest
    if isinstance(value, int):
        return round(further)
    half_decades = round(2 * math.log10(further))
    return float(f"{3 if half_decades % 2 else 1}e{half_decades // 2}")


def descend(study: Trains, searches: Sequence[Descent], *, keep: bool = False, keep_finalists: bool = False) -> None:
    """Search all ``searches`` side by side, step by step; each holds its choice afterwards.

    Args:
        keep: store the encoders of all points, and not their histories alone.
        keep_finalists: store those that the other seeds train, among which are the chosen point's.

    Raises:
        NumericalError: every point of a step diverged.
    """

    def histories(recipes: Sequence[Recipe], keep: bool) -> Iterator[History | None]:
        if not recipes:
            return iter(())
        if keep:
            return iter([None if item is None else item.metadata["history"] for item in study.attempt(recipes)])
        return iter(study.histories(recipes))

    for step in itertools.count():
        grids = [(search, points) for search in searches if (points := search.points(step))]
        if not grids:
            break
        first = histories([search.recipe(point) for search, points in grids for point in points], keep)
        found = [[next(first) for _ in points] for _, points in grids]
        final = [search.finalists(own) for (search, _), own in zip(grids, found, strict=True)]
        other = histories(
            [
                search.recipe(points[at], start)
                for (search, points), places in zip(grids, final, strict=True)
                for at in places
                for start in search.others
            ],
            keep or keep_finalists,
        )
        for (search, points), own, places in zip(grids, found, final, strict=True):
            search.choose(step, points, own, {at: [next(other) for _ in search.others] for at in places})


def trained_at_best(
    study: Trains,
    rows: Sequence[tuple[Sequence[Recipe], Sequence[Values]]],
    selected_on: str,
    *,
    keep: bool = False,
    beyond: int = 2,
) -> tuple[list[Trained], list[Search]]:
    """Search the last stage of each row, then train it with every seed at the best point.

    Args:
        rows: a row's recipes, one a seed, and the steps of its search.
        selected_on: the pairs whose metric decides, in words.
        keep: store the encoders of all points.
        beyond: how many steps may follow the last one, see `Descent`.

    Returns:
        All encoders, row by row, and each row's search.

    Raises:
        NumericalError: every point of a step diverged.
    """
    searches = []
    for recipes, steps in rows:
        start, *others = (one.prefix(len(one.stages) - 1) for one in recipes)
        stage = recipes[0].stages[-1]
        others = others[: DECIDING - 1]
        searches.append(Descent(recipes[0].method, start, stage, steps, selected_on, others=others, beyond=beyond))
    descend(study, searches, keep=keep, keep_finalists=True)
    groups = [
        [one.model_copy(update={"stages": (*one.stages[:-1], search.stage)}) for one in recipes]
        for (recipes, _), search in zip(rows, searches, strict=True)
    ]
    trained = study.train(*groups)
    ends = np.cumsum([len(group) for group in groups])[:-1]
    gains = [mean_gain(list(items)) for items in np.split(np.array(trained, dtype=object), ends)]
    return trained, [search.record(gain) for search, gain in zip(searches, gains, strict=True)]


# -- transfers of a table ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """One row of a table on one data set.

    Args:
        method: spelt as in the paper's table, or the name of a setting whose row the search chooses.
        starts: the pre-trained encoders, one a seed.
        stage: the transfer; its rate, batch size, epochs and patience are the grid's.
        also: values of further settings, each tried with every point of the grid.
        name: the row by the transfer that was chosen; None: ``method``.
    """

    method: str
    starts: Sequence[Recipe]
    stage: Transfer
    grid: Grid
    also: Values = field(default_factory=dict)
    name: Callable[[Transfer], str] | None = None

    def changed(self, name: str, **settings: Any) -> Wanted:
        """This row with other settings of its transfer; ``name`` follows the method's."""
        own = self.name
        return replace(
            self,
            method=f"{self.method}{name}",
            stage=self.stage.model_copy(update=settings),
            name=own and (lambda stage: f"{own(stage)}{name}"),
        )

    @property
    def share(self) -> float:
        """The share of the training pairs on which the grid is searched: at most ``pairs`` of the grid."""
        if self.grid.pairs is None:
            return self.stage.share
        return min(self.stage.share, self.grid.pairs / len(suites.pairs(self.stage.dataset, "train")))

    def descent(self) -> Descent:
        """Return the search of its grid, in one step."""
        stage, values = grid_of(self.stage, self.grid)
        on = "development pairs"
        if self.share < self.stage.share:
            on += f", after training on {self.grid.pairs:,} pairs where there are more"
        stage = stage.model_copy(update={"share": self.share})
        start, *others = self.starts
        return Descent(
            self.method, start, stage, [{**self.also, **values}], on, self.stage.dataset, others, self.grid.beyond
        )

    def recipes(self, stage: Transfer) -> list[Recipe]:
        """This row's recipes, one a seed, by the transfer ``stage``."""
        method = self.name(stage) if self.name else self.method
        return [start.model_copy(update={"method": method, "stages": (*start.stages, stage)}) for start in self.starts]


@dataclass(frozen=True)
class Found:
    """A row on one data set: the chosen transfer, trained with every seed.

    Attributes:
        search: how it was chosen.
    """

    method: str
    dataset: str
    stage: Transfer
    trained: list[Trained]
    search: Search

    @property
    def tried(self) -> list[dict[str, Any]]:
        """Every point of the grid with its development value, None where it diverged."""
        return self.search.tried

    def development(self) -> float:
        """The development value of the best epoch, mean over seeds; higher is better."""
        values = [float(item.metadata["history"]["best"]) for item in self.trained]
        return sum(values) / len(values)


def search(study: Trains, wanted: Sequence[Wanted]) -> list[Found]:
    """Train every point of every grid, see `Descent`, then the best point with every seed on all its pairs.

    The best point is that of the highest development value; of equals, the first. Test pairs decide nothing.

    Raises:
        NumericalError: every point of a grid diverged.
    """
    descents = [row.descent() for row in wanted]
    whole = [row.share == row.stage.share for row in wanted]
    # What is trained on all pairs is a row's own training too, and kept.
    for keep in (True, False):
        descend(study, [one for one, all_pairs in zip(descents, whole, strict=True) if all_pairs is keep], keep=keep)
    groups = []
    for row, descent in zip(wanted, descents, strict=True):
        assert isinstance(descent.stage, DirectTransfer | HeadTraining)
        groups.append(row.recipes(descent.stage.model_copy(update={"share": row.stage.share})))
    trained = iter(study.train(*groups))
    found = []
    for row, group, descent in zip(wanted, groups, descents, strict=True):
        items = [next(trained) for _ in group]
        stage = group[0].stages[-1]
        assert isinstance(stage, DirectTransfer | HeadTraining)
        found.append(Found(group[0].method, row.stage.dataset, stage, items, descent.record(mean_gain(items))))
    return found


# -- what a run records of it ----------------------------------------------------------------------------------------


def identity(recipe: Recipe) -> str:
    """Digest an encoder and the settings of its last stage but for its length: what a search chooses for."""
    encoder, stage = recipe.encoder.model_dump(mode="json"), recipe.stages[-1].model_dump(mode="json", exclude=LENGTH)
    return digest({"vectors": recipe.vectors.name, "encoder": encoder, "stage": stage})


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
    gains = [last_quarter_gain(item.metadata.get("history", {})) for item in trained]
    known = [gain for gain in gains if gain is not None]
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
        stages = range(1, len(items[0].recipe.stages) + 1)
        wanted = {identity(items[0].recipe.prefix(stage)) for stage in stages}
        found = [search for search in known if search.of in wanted]
        for search in found or [Search(method=method)]:
            # A search may have followed the trainings by a measure that stands nearer to what they are for.
            gain = own_gain if search.last_quarter_gain is None else search.last_quarter_gain
            rows.append(search.model_copy(update={"method": method, "last_quarter_gain": gain}))
    return rows
