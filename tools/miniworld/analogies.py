"""Analogies of the mini-world: two elements of a scene exchanged, the four combinations said with the same choices."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

from miniworld import lexicon
from miniworld.grammar import Speaker
from miniworld.lexicon import Domain
from miniworld.randomness import Dice
from miniworld.scene import SIMILARITY_CELLS, SPLIT_CELLS, Entity, Scene, cell, change, draw, kind_of
from miniworld.tasks import STORY_DOMAINS
from sentbook.data.text import tokenise_ptb

# What the stories tell of: all is past, nothing is denied, and of manners there is no word.
FACTORS = ("agent", "verb", "patient", "agent attribute", "patient attribute", "place")
# No corpus and no training split draws from these.
CELLS = SIMILARITY_CELLS | SPLIT_CELLS["trial"] | SPLIT_CELLS["test"]

# The words of one factor, at most: "the small dog" against "the dog that is over the moon".
_WORDS = 5
# Further values of either factor, and how often they are looked for.
_OTHERS, _TRIES = 2, 12
_Block = tuple[list[str], list[str]]


def miniworld_analogies(n: int, seed: int = 0) -> SimpleNamespace:
    """``n`` analogies, every pair of `FACTORS` in turn, told as the stories are: past, with "the", and a full stop.

    A scene is drawn, two of its elements get another value each, and the four combinations are said with the same
    choices of words, voice and order. Only those are kept in which the words of either factor stand in one piece and
    are the same whatever the other factor is, so that the words of D are exactly A - B + C. Each has four `others`, two
    for either factor.

    All cores (agent, action, object) lie in `CELLS`, from which no corpus and no training split draws; their words
    are those of the stories. No D comes twice; a longer set begins with the shorter one.
    """
    dice = Dice(seed, "analogies", *FACTORS)
    domains = [lexicon.domain(name) for name in STORY_DOMAINS]
    found: dict[str, tuple[list[str], tuple[str, ...], str]] = {}
    for pair in itertools.islice(itertools.cycle(itertools.combinations(FACTORS, 2)), n):
        while True:
            said = _said(dice.choose(domains), dice, pair)
            if said is not None and said[0][3] not in found:
                break
        found[said[0][3]] = (*said, " and ".join(pair))
    a, b, c, d = ([four[at] for four, _, _ in found.values()] for at in range(4))
    kinds, others = ([row[at] for row in found.values()] for at in (2, 1))
    return SimpleNamespace(a=a, b=b, c=c, d=d, kinds=kinds, others=others)


def _said(domain: Domain, dice: Dice, pair: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]] | None:
    """A, B, C, D and the others, or None where the scene that was drawn does not give them."""
    place = 1.0 if "place" in pair else 0.2
    scene = draw(domain, dice, CELLS, place=place, manner=0.0, negated=0.0)._replace(tense="past")
    f, g = pair if dice.random() < 0.5 else pair[::-1]
    new_f, new_g = _another(scene, f, dice), _another(scene, g, dice)
    if new_f is None or new_g is None:
        return None
    end = _with(scene, f, new_f)  # the scene of D
    four = [scene, _with(scene, g, new_g), _with(end, g, new_g), end]
    if not all(_allowed(domain, told) for told in four):
        return None
    # "the", as in all but the first sentence of a story
    memory = {"agentdet": 0, "patientdet": 0}
    said = [_say(told, dice, memory) for told in four]
    if not _parallel(*map(tokenise_ptb, said)):
        return None
    others: list[str] = []
    for factor in (f, g):
        more: set[str] = set()
        for _ in range(_TRIES):
            value = _another(end, factor, dice)
            told = end if value is None else _with(end, factor, value)
            if len(more) < _OTHERS and _allowed(domain, told):
                sentence = _say(told, dice, memory)
                if sentence not in said and _short(_block(tokenise_ptb(sentence), tokenise_ptb(said[3]))):
                    more.add(sentence)
        if len(more) < _OTHERS:
            return None
        others += sorted(more)
    return said, tuple(others)


def _say(scene: Scene, dice: Dice, memory: dict[str, int]) -> str:
    """The scene in the words of those that were said before."""
    speaker = Speaker(dice, memory)
    sentence = f"{speaker.say(scene)}."
    memory |= speaker.memory
    return sentence


def _another(scene: Scene, factor: str, dice: Dice) -> str | None:
    """Another value of a factor; None where the scene has none."""
    old = _value(scene, factor)
    new = None if old is None else _value(change(scene, factor, False, dice), factor)
    return None if new == old else new


def _value(scene: Scene, factor: str) -> str | None:
    role, _, attribute = factor.partition(" ")
    filler: Entity | str | None = getattr(scene, role)
    return getattr(filler, attribute or "noun") if isinstance(filler, Entity) else filler


def _with(scene: Scene, factor: str, value: str) -> Scene:
    """The scene with another value of one factor, which it has, and all else as it is."""
    role, _, attribute = factor.partition(" ")
    filler: Entity | str = getattr(scene, role)
    inner: dict[str, Any] = {attribute or "noun": value}
    changed: dict[str, Any] = {role: filler._replace(**inner) if isinstance(filler, Entity) else value}
    return scene._replace(**changed)


def _allowed(domain: Domain, scene: Scene) -> bool:
    """The core is free; nobody acts on himself, the action takes the object, and attributes fit their nouns."""
    if cell(scene) not in CELLS:
        return False
    patient = scene.patient
    if patient is not None:
        takes = domain.concepts[scene.verb].takes
        if patient.noun == scene.agent.noun or takes == "-" or patient.noun not in domain.nouns[takes]:
            return False
    return all(who is None or who.attribute in (None, *_attributes(domain, who)) for who in (scene.agent, patient))


def _attributes(domain: Domain, who: Entity) -> list[str]:
    return [item.name for item in lexicon.attributes()[kind_of(domain, who.noun)]]


def _parallel(a: list[str], b: list[str], c: list[str], d: list[str]) -> bool:
    """Whether each factor exchanges one short piece, the same in both sentences of the other factor's values."""
    edges = [_block(a, b), _block(d, c), _block(a, d), _block(b, c)]
    return all(map(_short, edges)) and edges[0] == edges[1] and edges[2] == edges[3]


def _short(block: _Block) -> bool:
    return 0 < max(map(len, block)) <= _WORDS


def _block(first: list[str], second: list[str]) -> _Block:
    """What is left of two sentences without their common beginning and their common end."""
    start, most = 0, min(len(first), len(second))
    while start < most and first[start] == second[start]:
        start += 1
    end = 0
    while end < most - start and first[-1 - end] == second[-1 - end]:
        end += 1
    return first[start : len(first) - end], second[start : len(second) - end]
