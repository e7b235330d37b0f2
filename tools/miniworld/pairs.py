"""Pairs of scenes and how they are said: the same meaning for training, graded meanings for tests."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from miniworld import lexicon
from miniworld.grammar import Speaker
from miniworld.lexicon import Domain
from miniworld.randomness import Dice
from miniworld.scene import MODIFIERS, ROLES, Entity, Scene, cell, change, draw, draw_entity, swap

# How a pair of a test set comes about, and its share: the domains differ in it as real genres do.
KINDS = ("same", "modifier", "one role", "two roles", "swap", "negation", "unrelated")
REGIMES: dict[str, tuple[float, ...]] = {
    "people": (0.22, 0.20, 0.20, 0.10, 0.06, 0.08, 0.14),
    "animals": (0.22, 0.10, 0.22, 0.10, 0.14, 0.08, 0.14),
    "kitchen": (0.26, 0.14, 0.22, 0.14, 0.00, 0.08, 0.16),
    "sport": (0.22, 0.10, 0.20, 0.12, 0.12, 0.12, 0.12),
    "headlines": (0.28, 0.10, 0.20, 0.14, 0.06, 0.10, 0.12),
    "travel": (0.24, 0.16, 0.20, 0.12, 0.06, 0.08, 0.14),
}
DOMAINS = tuple(REGIMES)
# The share of words said differently in the second sentence: hardly any, half, nearly all.
CHANGES = (0.05, 0.5, 0.95)


class SaidPair(NamedTuple):
    """Two scenes and a sentence for each."""

    one: Scene
    other: Scene
    first: str
    second: str


def say_twice(dice: Dice, one: Scene, other: Scene, differently: float) -> tuple[str, str]:
    """A sentence for each scene; ``differently`` is the share of shared choices that change."""
    speaker = Speaker(dice)
    first = speaker.say(one)
    second = Speaker(dice, speaker.memory, differently).say(other)
    while second == first and differently > 0:
        second = Speaker(dice, speaker.memory, 0.9).say(other)
    return first, second


def altered(scene: Scene, kind: str, dice: Dice) -> Scene:
    """A scene at the distance that ``kind`` (of `KINDS`) names."""
    near = dice.random() < 0.4
    if kind == "modifier":
        if dice.random() < 0.4:
            return shortened(scene, dice)
        return change(scene, dice.choose(MODIFIERS), near, dice)
    if kind == "one role":
        return change(scene, dice.choose(ROLES[:3]), near, dice)
    if kind == "two roles":
        skipped = dice.choose(ROLES[:3])
        for role in ROLES[:3]:
            if role != skipped:
                scene = change(scene, role, dice.random() < 0.3, dice)
        return scene
    if kind == "swap":
        return swap(scene) or change(scene, "verb", near, dice)
    if kind == "negation":
        return scene._replace(negated=not scene.negated)
    return scene


def shortened(scene: Scene, dice: Dice) -> Scene:
    """Without its modifiers, or some of them."""
    chance = dice.random
    if chance() < 0.5:
        scene = scene._replace(place=None)
    if chance() < 0.7:
        scene = scene._replace(manner=None)
    if chance() < 0.5:
        scene = scene._replace(agent=scene.agent._replace(attribute=None))
    return scene


def graded(domain: Domain, dice: Dice, cells: Container[int]) -> SaidPair:
    """A pair of a test set, both cores in ``cells``."""
    point, index = dice.random(), 0
    regime = REGIMES[domain.name]
    while point >= regime[index] and index < len(regime) - 1:
        point -= regime[index]
        index += 1
    kind = KINDS[index]
    while True:
        one = draw(domain, dice, cells)
        other = draw(domain, dice, cells) if kind == "unrelated" else altered(one, kind, dice)
        if (other == one) == (kind == "same") and cell(other) in cells:
            break
    # The same meaning is mostly said in other words, another meaning often in the same ones.
    point = dice.random()
    differently = CHANGES[(point > 0.1) + (point > 0.5)] if kind == "same" else CHANGES[(point > 0.2) + (point > 0.55)]
    return SaidPair(one, other, *say_twice(dice, one, other, differently))


def paraphrase(domain: Domain, dice: Dice, cells: Container[int]) -> SaidPair:
    """One scene said twice, in mostly different words."""
    scene = draw(domain, dice, cells)
    return SaidPair(scene, scene, *say_twice(dice, scene, scene, 0.8))


def phrase(domain: Domain, dice: Dice) -> tuple[str, str]:
    """A part of a scene as two fragments."""
    part = _part(domain, dice)
    speaker = Speaker(dice)
    first = speaker.fragment(domain, part)
    second = first
    while second == first:
        second = Speaker(dice, speaker.memory, 0.85).fragment(domain, part)
    return first, second


def _part(domain: Domain, dice: Dice) -> Entity | Scene | str:
    chance = dice.random()
    if chance < 0.4:
        noun = dice.choose(domain.often[dice.choose(tuple(domain.nouns))])
        return draw_entity(domain, noun, dice, attribute=0.6, plural=0.25)
    if chance < 0.75:
        verb = dice.choose(domain.often["verbs"])
        takes = domain.concepts[verb].takes
        patient = draw_entity(domain, dice.choose(domain.often[takes]), dice, 0.15) if takes != "-" else None
        tense = "past" if dice.random() < 0.3 else "present"
        return Scene(domain.name, Entity(""), verb, patient, tense=tense, negated=dice.random() < 0.12)
    kinds = ("places", "manners", "animate", "thing")
    while True:
        name = dice.choose(domain.often[dice.choose(kinds)])
        if len(domain.concepts[name].surfaces) > 1:
            return name


def domains() -> tuple[Domain, ...]:
    """All domains' lexicons."""
    return tuple(lexicon.domain(name) for name in DOMAINS)
