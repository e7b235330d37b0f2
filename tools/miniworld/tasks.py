"""Pairs with a class or a grade: paraphrase or not, entailment, and short answers."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from miniworld import lexicon, meaning, pairs
from miniworld.grammar import Speaker
from miniworld.lexicon import Domain
from miniworld.pairs import SaidPair
from miniworld.randomness import Dice
from miniworld.scene import ROLES, Scene, cell, change, draw

ENTAILMENT = ("entailment", "neutral", "contradiction")
ALWAYS = ("place", "manner", "agent attribute")  # what every scene can have
STORY_DOMAINS = tuple(name for name in pairs.DOMAINS if name != "headlines")


def paraphrase_or_not(domain: Domain, dice: Dice, cells: Container[int], same: bool) -> SaidPair:
    """The same event in other words, perhaps told shorter; or another event told in much the same words."""
    while True:
        one = draw(domain, dice, cells)
        if same:
            other = pairs.shortened(one, dice) if dice.random() < 0.3 else one
        else:
            other = pairs.altered(one, dice.choose(("one role", "one role", "two roles", "swap", "negation")), dice)
        if cell(other) in cells and (same or other != one):
            break
    return SaidPair(one, other, *pairs.say_twice(dice, one, other, 0.4 if same else 0.35))


def _general(domain: Domain, scene: Scene) -> Scene | None:
    """The scene with a more general agent (``an animal`` for ``a dog``), or None where there is no word for it."""
    _, *path = domain.concepts[scene.agent.noun].path
    for depth in (2, 1):
        name = f"kind:{'/'.join(path[:depth])}"
        if name in domain.concepts:
            return scene._replace(agent=scene.agent._replace(noun=name, attribute=None))
    return None


def _opposite(domain: Domain, scene: Scene) -> Scene:
    """The scene with an action that excludes its own where there is one with the same object, else denied."""
    takes = domain.concepts[scene.verb].takes
    for name in domain.verbs:
        if domain.concepts[name].takes == takes and frozenset((name, scene.verb)) in lexicon.antonyms():
            return scene._replace(verb=name)
    return scene._replace(negated=not scene.negated)


def entailment(domain: Domain, dice: Dice, cells: Container[int], label: str) -> SaidPair:
    """A premise and a hypothesis that follows from it, is open, or cannot be. Premises are not denied."""
    while True:
        one = draw(domain, dice, cells, place=0.7, manner=0.4, negated=0.0)
        point = dice.random()
        other: Scene | None
        if label == "entailment":
            other = _general(domain, one) if point < 0.4 else pairs.shortened(one, dice) if point < 0.8 else one
        elif label == "contradiction":
            other = one._replace(negated=True) if point < 0.5 else _opposite(domain, one)
            if dice.random() < 0.3:
                other = other._replace(place=None, manner=None)
        elif point < 0.5:  # more is said than is known
            other, one = one, pairs.shortened(one, dice)
        elif point < 0.8 and one.patient is not None:
            other = change(one, "patient", dice.random() < 0.5, dice)
        else:
            other = change(one, dice.choose(ALWAYS), False, dice)
            one = one._replace(place=None, manner=None, agent=one.agent._replace(attribute=None))
        if other is not None and (cell(other) in cells or label != "neutral") and (label != "neutral" or one != other):
            break
    return SaidPair(one, other, *pairs.say_twice(dice, one, other, 0.4))


class Answer(NamedTuple):
    """A student's answer: the events that it names, how it says them, and its grade in [0, 1]."""

    facts: tuple[Scene, ...]
    text: str
    grade: float


def _join(sentences: list[str]) -> str:
    head, *tail = sentences
    return " and ".join([head, *(text[0].lower() + text[1:] for text in tail)])


def question(domain: Domain, dice: Dice, cells: Container[int]) -> tuple[tuple[Scene, Scene], str, Speaker]:
    """What is asked for: two events, the reference answer, and its speaker."""
    facts = (draw(domain, dice, cells, manner=0.0), draw(domain, dice, cells, manner=0.0))
    speaker = Speaker(dice)
    return facts, _join([speaker.say(fact) for fact in facts]), speaker


def answer(facts: tuple[Scene, Scene], speaker: Speaker, dice: Dice) -> Answer:
    """Each event right, nearly right, denied, replaced or left out; the grade is how well the facts are met."""
    given: list[Scene] = []
    for fact in facts:
        point = dice.random()
        if point < 0.45:
            given.append(fact)
        elif point < 0.65:
            given.append(change(fact, dice.choose(ROLES[:3]), dice.random() < 0.5, dice))
        elif point < 0.72:
            given.append(fact._replace(negated=not fact.negated))
        elif point < 0.82:
            given.append(pairs.altered(fact, "two roles", dice))
    if not given:
        given.append(pairs.altered(facts[0], "two roles", dice))
    said = Speaker(dice, speaker.memory, dice.choose((0.2, 0.8)))
    return Answer(tuple(given), _join([said.say(fact) for fact in given]), grade(facts, tuple(given)))


def grade(facts: tuple[Scene, ...], given: tuple[Scene, ...]) -> float:
    """The mean over ``facts`` of the similarity of the nearest of ``given``, in [0, 1]."""
    return sum(max(meaning.similarity(fact, other) for other in given) for fact in facts) / len(facts)
