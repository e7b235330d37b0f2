"""What the experiments of every paper have, and the grid of a transfer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sentbook.config import Profile, Rate, Section, Seeds
from sentbook.data.suites import Suite
from sentbook.data.text import Tokenisation
from sentbook.data.vectors import Vectors
from sentbook.training.objectives.base import added


class Grid(Section):
    """What a transfer chooses among on the development pairs: the paper's grid is the default.

    Every learning rate is trained with every batch size. The numbers of epochs need no training each: the order of an
    epoch does not depend on how many follow, so the longest run passes through the shorter ones, and the best epoch on
    the development pairs is kept.
    """

    learning_rates: tuple[Rate, ...] = Field((0.1, 0.01, 0.001, 0.0001), min_length=1)
    batch_sizes: tuple[Annotated[int, Field(ge=2)], ...] = Field((32, 64), min_length=1)
    epochs: tuple[Annotated[int, Field(ge=1)], ...] = Field((10, 30, 50), min_length=1)
    patience: int | None = Field(5, ge=1, description="epochs without a better one after which training stops")
    pairs: int | None = Field(None, ge=2, description="at most so many training pairs while the grid is searched")
    beyond: int = added(0, "steps beyond a best rate or batch at the edge", ge=0)
    rescale: tuple[bool, ...] = added((), "of heads: vectors as they are, or of size one")


class Paper(Section):
    """What the experiments of every paper have."""

    profile: Profile = "paper"
    seeds: Seeds = (1, 2, 3, 4, 5)
    ablation_seeds: Seeds = (1, 2, 3)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    jobs: int = Field(1, ge=1, le=64, description="trainings side by side, one thread each")
    suite: Suite = "sts"
    tokenisation: Tokenisation = "ptb"
    resamples: int = Field(2000, ge=100, description="of the bootstrap")
    vectors: Vectors = Vectors()
