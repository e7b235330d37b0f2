"""What a checkpoint holds besides parameters: the optimiser's moments, and the place inside an epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass
class Midway:
    """A place between two steps of a segment; with it the rest of the segment runs as if nothing had happened.

    Attributes:
        batch: the number in the segment of the next batch.
        losses: (batch,) losses of the steps before.
        numbers: state of the segment's numpy generator.
        random: states of torch's generators, by kind of device.
    """

    batch: int
    losses: Tensor
    numbers: dict[str, Any]
    random: dict[str, Tensor]

    @classmethod
    def now(cls, batch: int, losses: Tensor, rng: np.random.Generator, device: torch.device) -> Midway:
        random = {"cpu": torch.get_rng_state()}
        if device.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state(device)
        return cls(batch, losses, dict(rng.bit_generator.state), random)

    def restore(self, rng: np.random.Generator, device: torch.device) -> None:
        """Put all generators where they were; a device that was not used then keeps the segment's seed."""
        rng.bit_generator.state = self.numbers
        torch.set_rng_state(self.random["cpu"])
        if device.type == "cuda" and "cuda" in self.random:
            torch.cuda.set_rng_state(self.random["cuda"], device)

    def tensors(self) -> dict[str, Tensor]:
        return {"midway.losses": self.losses, **{f"random.{kind}": state for kind, state in self.random.items()}}

    def metadata(self) -> dict[str, Any]:
        return {"batch": self.batch, "numbers": self.numbers}

    @classmethod
    def read(cls, tensors: dict[str, Tensor], metadata: dict[str, Any] | None) -> Midway | None:
        """That of a checkpoint; None where it was written at a segment's end."""
        if metadata is None:
            return None
        return cls(losses=tensors["midway.losses"], random=part(tensors, "random."), **metadata)


def part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Those whose name begins with ``prefix``, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The moments of each parameter, by its number; the rest of the state is ``param_groups``, which JSON can hold."""
    return {
        f"optimiser.{index}.{name}": torch.as_tensor(value)
        for index, moments in optimiser.state_dict()["state"].items()
        for name, value in moments.items()
    }


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], groups: list[dict[str, Any]]) -> None:
    """Put the moments and ``param_groups`` of a checkpoint back."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in part(tensors, "optimiser.").items():
        index, moment = name.split(".", 1)
        state.setdefault(int(index), {})[moment] = value
    optimiser.load_state_dict({"state": state, "param_groups": groups})
