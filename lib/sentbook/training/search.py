"""Choosing how an encoder is transferred: every point of a grid is trained, the development pairs decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sentbook.system.errors import NumericalError
from sentbook.training.recipes import Recipe, Trained
from sentbook.training.settings import DirectTransfer, Grid, HeadTraining

Transfer = DirectTransfer | HeadTraining


class Trains(Protocol):
    """Who trains recipes and keeps account of them, such as `sentbook.study.Study`."""

    def attempt(self, recipes: Sequence[Recipe]) -> list[Trained | None]:
        """Return the encoders of ``recipes``; None where the last stage diverged."""

    def train(self, *recipes: Sequence[Recipe]) -> list[Trained]:
        """Return the encoders of all ``recipes``."""


@dataclass(frozen=True)
class Wanted:
    """One row of a table on one data set.

    Args:
        method: spelt as in the paper's table.
        starts: the pre-trained encoders, one a seed; the first one's seed chooses the point of the grid.
        stage: the transfer; its rate, batch size, epochs and patience are the grid's.
    """

    method: str
    starts: Sequence[Recipe]
    stage: Transfer
    grid: Grid

    def changed(self, name: str, **settings: Any) -> Wanted:
        """This row with other settings of its transfer; ``name`` follows the method's."""
        stage = self.stage.model_copy(update=settings)
        return replace(self, method=f"{self.method}{name}", stage=stage)

    def recipes(self, stage: Transfer) -> list[Recipe]:
        """This row's recipes, one a seed, by the transfer ``stage``."""
        return [
            start.model_copy(update={"method": self.method, "stages": (*start.stages, stage)}) for start in self.starts
        ]


@dataclass(frozen=True)
class Found:
    """A row on one data set: the chosen transfer, trained with every seed.

    Attributes:
        tried: every point of the grid with its development value, None where it diverged.
    """

    method: str
    dataset: str
    stage: Transfer
    trained: list[Trained]
    tried: list[dict[str, Any]]

    def development(self) -> float:
        """The development value of the best epoch, mean over seeds; higher is better."""
        values = [float(item.metadata["history"]["best"]) for item in self.trained]
        return sum(values) / len(values)


def points(stage: Transfer, grid: Grid) -> list[Transfer]:
    """``stage`` at every point of ``grid``; see `sentbook.config.Grid` for why the numbers of epochs are one point.

    Example:
        >>> [point.learning_rate for point in points(DirectTransfer(), Grid(batch_sizes=(32,)))]
        [0.1, 0.01, 0.001, 0.0001]
    """
    stopping = {"epochs": max(grid.epochs), "patience": grid.patience}
    return [
        stage.model_copy(update={"learning_rate": rate, "batch_size": size, **stopping})
        for rate in grid.learning_rates
        for size in grid.batch_sizes
    ]


def search(study: Trains, wanted: Sequence[Wanted]) -> list[Found]:
    """Train every point of every grid with the first seed, then the best point with the other seeds.

    The best point is that of the highest development value; of equals, the first. Test pairs decide nothing.

    Raises:
        NumericalError: every point of a grid diverged.
    """
    grids = [points(row.stage, row.grid) for row in wanted]
    flat = [row.recipes(point)[0] for row, grid in zip(wanted, grids, strict=True) for point in grid]
    outcomes = iter(study.attempt(flat))
    chosen: list[tuple[Transfer, list[dict[str, Any]]]] = []
    for row, grid in zip(wanted, grids, strict=True):
        values = [_value(next(outcomes)) for _ in grid]
        told = [value for value in values if value is not None]
        if not told:
            raise NumericalError(
                f"{row.method} on {row.stage.dataset} diverged at every learning rate of "
                f"{', '.join(f'{rate:g}' for rate in row.grid.learning_rates)}; add a lower one."
            )
        tried = [
            {"learning_rate": point.learning_rate, "batch_size": point.batch_size, "development": value}
            for point, value in zip(grid, values, strict=True)
        ]
        chosen.append((grid[values.index(max(told))], tried))
    groups = [row.recipes(stage) for row, (stage, _) in zip(wanted, chosen, strict=True)]
    trained = iter(study.train(*groups))
    return [
        Found(row.method, row.stage.dataset, stage, [next(trained) for _ in group], tried)
        for row, group, (stage, tried) in zip(wanted, groups, chosen, strict=True)
    ]


def _value(outcome: Trained | None) -> float | None:
    return None if outcome is None else float(outcome.metadata["history"]["best"])
