"""Scenes: who does what to whom, where, how and when. Sentences are made of them and gold is computed from them.

Splits are kept apart by the scene's core (agent, action, object): a hash that depends on no seed puts every core
in one of ten cells, and each kind of data draws from its own cells. A core of a test set therefore never occurs in a
training corpus, under any seed; its concepts and their pairs do.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from typing import NamedTuple

from miniworld import lexicon
from miniworld.lexicon import Domain
from miniworld.randomness import Dice, stable_hash

TENSES = ("present", "past", "future")
ROLES = ("agent", "verb", "patient", "place", "manner", "agent attribute", "patient attribute")
MODIFIERS = ROLES[3:]

CORPUS_CELLS = frozenset(range(5))
SIMILARITY_CELLS = frozenset((5, 6))
SPLIT_CELLS = {"train": frozenset((7,)), "trial": frozenset((8,)), "test": frozenset((9,))}


class Entity(NamedTuple):
    """A noun with its number and at most one attribute."""

    noun: str
    plural: bool = False
    attribute: str | None = None


class Scene(NamedTuple):
    """One event."""

    domain: str
    agent: Entity
    verb: str
    patient: Entity | None = None
    place: str | None = None
    manner: str | None = None
    tense: str = "present"
    negated: bool = False


@cache
def _cell(agent: str, verb: str, patient: str) -> int:
    return stable_hash(agent, verb, patient) % 10


def cell(scene: Scene) -> int:
    """The cell 0..9 of the scene's core."""
    return _cell(scene.agent.noun, scene.verb, scene.patient.noun if scene.patient else "-")


def kind_of(domain: Domain, noun: str) -> str:
    """Which attributes the noun takes: ``animate`` or ``thing``."""
    return "animate" if noun in domain.animate else "thing"


def draw_entity(domain: Domain, noun: str, dice: Dice, attribute: float = 0.35, plural: float = 0.2) -> Entity:
    """``noun`` with a drawn number and attribute."""
    chance = dice.random
    many = chance() < plural
    if chance() >= attribute:
        return Entity(noun, many)
    return Entity(noun, many, dice.choose(domain.often["animate" if noun in domain.animate else "thing"]))


def _draw_patient(domain: Domain, verb: str, agent: str, dice: Dice) -> str | None:
    takes = domain.concepts[verb].takes
    if takes == "-":
        return None
    noun = dice.choose(domain.often[takes])
    while noun == agent:
        noun = dice.choose(domain.often[takes])
    return noun


def draw(
    domain: Domain, dice: Dice, cells: Container[int], *, place: float = 0.5, manner: float = 0.2, negated: float = 0.12
) -> Scene:
    """A scene whose core lies in ``cells``."""
    often, choose, chance = domain.often, dice.choose, dice.random
    while True:
        agent, verb = choose(often["agents"]), choose(often["verbs"])
        patient = _draw_patient(domain, verb, agent, dice)
        if _cell(agent, verb, patient or "-") in cells:
            break
    return Scene(
        domain.name,
        draw_entity(domain, agent, dice),
        verb,
        draw_entity(domain, patient, dice) if patient else None,
        choose(often["places"]) if chance() < place else None,
        choose(often["manners"]) if chance() < manner else None,
        "present" if chance() < 0.6 else choose(TENSES),
        chance() < negated,
    )


def swap(scene: Scene) -> Scene | None:
    """Agent and patient exchanged, or None where the patient could not act."""
    if scene.patient is None or scene.patient.noun not in lexicon.domain(scene.domain).nouns["agents"]:
        return None
    return scene._replace(agent=scene.patient, patient=scene.agent)


def _other(domain: Domain, names: tuple[str, ...], old: str | None, near: bool, dice: Dice) -> str:
    """Another of ``names``: one of the same kind where ``near`` (and there is one)."""
    rest = [name for name in names if name != old]
    if near and old is not None:
        path = domain.concepts[old].path
        close = [name for name in rest if domain.concepts[name].path[:3] == path[:3]]
        rest = close or rest
    return dice.choose(rest)


def change(scene: Scene, role: str, near: bool, dice: Dice) -> Scene:
    """The scene with another filler of ``role`` (of `ROLES`); near: a related one where there is one."""
    domain = lexicon.domain(scene.domain)
    if role == "agent":
        names = tuple(name for name in domain.nouns["agents"] if scene.patient is None or name != scene.patient.noun)
        noun = _other(domain, names, scene.agent.noun, near, dice)
        return scene._replace(agent=_fitting(domain, scene.agent._replace(noun=noun)))
    if role == "patient" and scene.patient is not None:
        takes = domain.concepts[scene.verb].takes
        names = tuple(name for name in domain.nouns[takes] if name != scene.agent.noun)
        noun = _other(domain, names, scene.patient.noun, near, dice)
        return scene._replace(patient=_fitting(domain, scene.patient._replace(noun=noun)))
    if role == "place":
        return scene._replace(place=_other(domain, domain.places, scene.place, near, dice))
    if role == "manner":
        names = tuple(item.name for item in lexicon.manners())
        return scene._replace(manner=_other(domain, names, scene.manner, near, dice))
    if role == "patient attribute" and scene.patient is not None:
        return scene._replace(patient=_other_attribute(domain, scene.patient, near, dice))
    if role == "agent attribute":
        return scene._replace(agent=_other_attribute(domain, scene.agent, near, dice))
    takes = domain.concepts[scene.verb].takes  # the verb; also what is left where there is no patient
    names = tuple(name for name in domain.verbs if domain.concepts[name].takes == takes)
    return scene._replace(verb=_other(domain, names, scene.verb, near, dice))


def _other_attribute(domain: Domain, entity: Entity, near: bool, dice: Dice) -> Entity:
    names = tuple(item.name for item in lexicon.attributes()[kind_of(domain, entity.noun)])
    return entity._replace(attribute=_other(domain, names, entity.attribute, near, dice))


def _fitting(domain: Domain, entity: Entity) -> Entity:
    """Without an attribute that its noun cannot have."""
    names = [item.name for item in lexicon.attributes()[kind_of(domain, entity.noun)]]
    return entity if entity.attribute in names else entity._replace(attribute=None)
