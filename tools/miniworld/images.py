"""Scenes as a camera sees them: feature vectors with captions, in the place of images."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from miniworld import lexicon
from miniworld.grammar import Speaker
from miniworld.lexicon import Domain
from miniworld.randomness import Dice, numbers
from miniworld.scene import CORPUS_CELLS, Entity, Scene, draw

FEATURES, CAPTIONS, GRAIN = 64, 5, 0.15


@cache
def _seen(role: str, concept: str) -> NDArray[np.float64]:
    """What a concept in a role adds to a picture; kinds look alike. The camera is the same in every world."""
    path = lexicon.paths()[concept]
    names = ["/".join(path[: level + 1]) for level in range(1, len(path))] + [concept]
    parts = [numbers(0, "camera", role, name).normal(size=FEATURES) for name in names]
    return np.sum(parts, axis=0) / math.sqrt(FEATURES * len(parts))


def features(scene: Scene, noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """(64,) values: the sum of what its parts add, and noise."""
    picture = _seen("agent", scene.agent.noun) + _seen("verb", scene.verb) + GRAIN * noise
    if scene.place:
        picture = picture + 0.7 * _seen("place", scene.place)
    for role, entity in (("agent", scene.agent), ("patient", scene.patient)):
        if entity is None:
            continue
        if role == "patient":
            picture = picture + _seen(role, entity.noun)
        if entity.attribute:
            picture = picture + 0.5 * _seen(f"{role} attribute", entity.attribute)
        if entity.plural:
            picture = picture + 0.5 * _seen(f"{role} many", entity.noun)
    return picture


def picture(domain: Domain, dice: Dice) -> tuple[Scene, list[str]]:
    """A scene of the present and five captions, each of which may leave something out."""
    scene = draw(domain, dice, CORPUS_CELLS, place=0.8, manner=0.0, negated=0.0)._replace(tense="present")
    return scene, [Speaker(dice).say(_glimpse(scene, dice)) for _ in range(CAPTIONS)]


def _glimpse(scene: Scene, dice: Dice) -> Scene:
    def plain(entity: Entity) -> Entity:
        return entity._replace(attribute=None) if dice.random() < 0.3 else entity

    return scene._replace(
        agent=plain(scene.agent),
        patient=plain(scene.patient) if scene.patient else None,
        place=scene.place if dice.random() < 0.7 else None,
    )
