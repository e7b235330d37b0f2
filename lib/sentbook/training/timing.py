"""Speed of training: recipes take turns in one process."""

from __future__ import annotations

from collections.abc import Sequence

from sentbook.records import Cost
from sentbook.training.devices import device_of
from sentbook.training.recipes import Recipe
from sentbook.training.runs import prepare_stage
from sentbook.training.train import train


def take_turns(recipes: Sequence[Recipe], rounds: Sequence[int], *, device: str = "auto") -> list[Cost]:
    """Train the last stage of every recipe once a round, and count the seconds of its training steps.

    The trainings of a table run beside other work, so that their seconds do not compare rows. On a CPU the processor's
    seconds count, which other work moves little; a CUDA device works while the processor waits, so there the clock's.

    Args:
        rounds: numbers of the rounds, which are the seeds of the costs; the training's seed is the recipe's.
    """
    found = []
    for number in rounds:
        for recipe in recipes:
            problem = prepare_stage(recipe, device)
            history = train(problem, seed=recipe.seed, device=device, report=lambda line: None)
            seconds = history.processor_seconds if device_of(device).type == "cpu" else history.seconds
            found.append(
                Cost(
                    method=recipe.method,
                    seed=number,
                    seconds=seconds,
                    peak_memory_bytes=history.peak_memory_bytes,
                    parameters=problem.encoder.parameter_count(),
                    examples_per_second=history.examples / seconds,
                )
            )
    return found
