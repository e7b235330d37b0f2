"""Controlled analogies from the mini-world's scenes: four sentences that differ by two elements of the scene.

It stands beside the mini-world and not in it: nothing here generates data that train, so that it does not belong to
what pins them (`miniworld.fingerprint`).
"""

from __future__ import annotations

import itertools
from typing import Literal, get_args

from sentbook.data.analogies import Analogies
from sentbook.data.miniworld import lexicon
from sentbook.data.miniworld.grammar import Speaker
from sentbook.data.miniworld.lexicon import Domain
from sentbook.data.miniworld.randomness import Dice
from sentbook.data.miniworld.scene import (
    SIMILARITY_CELLS,
    SPLIT_CELLS,
    TENSES,
    Entity,
    Scene,
    cell,
    change,
    draw,
    kind_of,
)
from sentbook.data.miniworld.tasks import STORY_DOMAINS
from sentbook.data.text import tokenise_ptb
from sentbook.system.errors import ConfigError

Factor = Literal[
    "agent", "verb", "patient", "agent attribute", "patient attribute", "place", "manner", "tense", "negation"
]
FACTORS: tuple[Factor, ...] = get_args(Factor)
# What the stories tell of: all is past, nothing is denied, and of manners there is no word.
STORY_FACTORS: tuple[Factor, ...] = FACTORS[:6]
# No corpus and no training split draws from these.
CELLS = SIMILARITY_CELLS | SPLIT_CELLS["trial"] | SPLIT_CELLS["test"]

# The words of one factor, at most: "the small dog" against "the dog that is over the moon".
_WORDS = 5
# Further values that are looked for, where there are not two, and how often.
_OTHERS: dict[Factor, int] = {"tense": 1, "negation": 0}
_TRIES = 12
_Block = tuple[list[str], list[str]]


def miniworld_analogies(n: int, seed: int = 0, factors: tuple[Factor, ...] = STORY_FACTORS) -> Analogies:
    """``n`` analogies, every pair of ``factors`` in turn, told as the stories are: past, with "the", and a full stop.

    A scene is drawn, two of its elements get another value each, and the four combinations are said with the same
    choices of words, voice and order. Only those are kept in which the words of either factor stand in one piece and
    are the same whatever the other factor is, so that the words of D are exactly A - B + C. Of `Analogies.others` there
    are two for either factor, of tense one and of negation none.

    All cores (agent, action, object) lie in `CELLS`, from which no corpus and no training split draws; their words
    are those of the stories. No D comes twice; a longer set begins with the shorter one.

    Args:
        factors: at least two. Negation and verb (or tense) go together only where the verb's form is the same in both.

    Raises:
        ConfigError: an unknown factor, or fewer than two.

    Example:
        >>> found = miniworld_analogies(15)
        >>> found.kinds[0], len(set(found.kinds))
        ('agent and verb', 15)
    """
    for name in factors:
        if name not in FACTORS:
            raise ConfigError(f"The mini-world has no factor '{name}'; choose two or more of {', '.join(FACTORS)}.")
    if len(set(factors)) < 2 or len(set(factors)) < len(factors):
        raise ConfigError("An analogy needs two factors; give two or more different ones.")
    dice = Dice(seed, "analogies", *factors)
    domains = [lexicon.domain(name) for name in STORY_DOMAINS]
    pairs = itertools.cycle(itertools.combinations(factors, 2))
    found: dict[str, tuple[list[str], tuple[str, ...], str]] = {}
    while len(found) < n:
        pair = next(pairs)
        while True:
            said = _said(dice.choose(domains), dice, pair)
            if said is not None and said[0][3] not in found:
                break
        found[said[0][3]] = (*said, " and ".join(pair))
    a, b, c, d = ([four[at] for four, _, _ in found.values()] for at in range(4))
    kinds, others = [kind for *_, kind in found.values()], [more for _, more, _ in found.values()]
    return Analogies("miniworld/analogies", a, b, c, d, kinds, others)


def _said(domain: Domain, dice: Dice, pair: tuple[Factor, ...]) -> tuple[list[str], tuple[str, ...]] | None:
    """A, B, C, D and the others, or None where the scene that was drawn does not give them."""
    place, manner = float("place" in pair), float("manner" in pair)
    scene = draw(domain, dice, CELLS, place=place or 0.2, manner=manner, negated=0.0)._replace(tense="past")
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
            if len(more) < _OTHERS.get(factor, 2) and _allowed(domain, told):
                sentence = _say(told, dice, memory)
                if sentence not in said and _short(_block(tokenise_ptb(sentence), tokenise_ptb(said[3]))):
                    more.add(sentence)
        if len(more) < _OTHERS.get(factor, 2):
            return None
        others += sorted(more)
    return said, tuple(others)


def _say(scene: Scene, dice: Dice, memory: dict[str, int]) -> str:
    """The scene in the words of those that were said before."""
    speaker = Speaker(dice, memory)
    sentence = f"{speaker.say(scene)}."
    memory |= speaker.memory
    return sentence


def _another(scene: Scene, factor: Factor, dice: Dice) -> str | None:
    """Another value of a factor; None where the scene has none."""
    old = _value(scene, factor)
    if old is None:
        return None
    if factor == "tense":
        return dice.choose([tense for tense in TENSES if tense != old])
    if factor == "negation":
        return "no" if old == "yes" else "yes"
    new = _value(change(scene, factor, False, dice), factor)
    return None if new == old else new


def _value(scene: Scene, factor: Factor) -> str | None:
    who = scene.patient if factor.startswith("patient") else scene.agent
    if factor in ("agent", "patient"):
        return who.noun if who else None
    if factor.endswith("attribute"):
        return who.attribute if who else None
    if factor == "negation":
        return "yes" if scene.negated else "no"
    return {"verb": scene.verb, "place": scene.place, "manner": scene.manner, "tense": scene.tense}[factor]


def _with(scene: Scene, factor: Factor, value: str) -> Scene:
    """The scene with another value of one factor and all else as it is."""
    if factor == "negation":
        return scene._replace(negated=value == "yes")
    if factor in ("agent", "agent attribute"):
        return scene._replace(agent=_entity(scene.agent, factor, value))
    if factor in ("patient", "patient attribute"):
        return scene._replace(patient=_entity(scene.patient, factor, value) if scene.patient else None)
    return scene._replace(**{factor: value})  # type: ignore[arg-type]


def _entity(who: Entity, factor: Factor, value: str) -> Entity:
    return who._replace(attribute=value) if factor.endswith("attribute") else who._replace(noun=value)


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
