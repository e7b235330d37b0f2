"""Stories: two characters, one place and a chain of events, so that a sentence tells something of the next."""

from __future__ import annotations

from miniworld import lexicon
from miniworld.grammar import Speaker
from miniworld.lexicon import Domain
from miniworld.randomness import Dice
from miniworld.scene import CORPUS_CELLS, Entity, Scene, cell, draw_entity

LINKS = ("Then", "Later", "After that", "So", "Soon")


def story(domain: Domain, dice: Dice) -> tuple[list[Scene], list[str]]:
    """5-9 scenes and their sentences. Each event is one of the next few of the domain's chain of verbs.

    The first sentence introduces; later ones keep ``the`` and most words, and may begin with a link.
    """
    agents = domain.nouns["agents"]
    first = dice.choose(domain.often["agents"])
    second = dice.choose([name for name in agents if name != first])
    cast = [draw_entity(domain, name, dice, plural=0.1) for name in (first, second)]
    props = {kind: draw_entity(domain, dice.choose(names), dice, plural=0.2) for kind, names in domain.nouns.items()}
    place = dice.choose(domain.places)
    at, actor = int(dice.random() * len(domain.verbs)), 0
    scenes: list[Scene] = []
    lines: list[str] = []
    memory: dict[str, int] = {}
    for number in range(5 + int(dice.random() * 5)):
        at, scene = _next(domain, at, actor, cast, props)
        actor = 1 - cast.index(scene.agent) if scene.patient in cast else cast.index(scene.agent)
        scene = scene._replace(place=place if number == 0 else None, tense="past")
        speaker = Speaker(dice, memory, 0.2)
        line = speaker.say(scene)
        memory |= speaker.memory
        memory |= {"agentdet": 0, "patientdet": 0}
        if number and dice.random() < 0.4:
            line = f"{dice.choose(LINKS)} {line[0].lower()}{line[1:]}"
        scenes.append(scene)
        lines.append(f"{line}.")
    return scenes, lines


def _next(domain: Domain, at: int, actor: int, cast: list[Entity], props: dict[str, Entity]) -> tuple[int, Scene]:
    """The next event of the chain that these two can do and whose core may stand in a training corpus."""
    for step in range(1, 2 * len(domain.verbs)):
        index = (at + step) % len(domain.verbs)
        takes = domain.concepts[domain.verbs[index]].takes
        for who in (actor, 1 - actor):
            patient = None if takes == "-" else cast[1 - who] if takes == "agents" else props[takes]
            scene = Scene(domain.name, cast[who], domain.verbs[index], patient)
            if cell(scene) in CORPUS_CELLS:
                return index, scene
    return at, Scene(domain.name, cast[actor], lexicon.domain(domain.name).verbs[0])
