"""Gold: how close two scenes are in meaning, whatever words are used for them."""

from __future__ import annotations

from functools import cache

from miniworld import lexicon
from miniworld.scene import Entity, Scene

CORE_WEIGHTS = {"agent": 3.0, "verb": 3.5, "patient": 3.0}
MODIFIER_WEIGHTS = {"place": 0.14, "manner": 0.12}
ANTONYM, LEVELS = 0.05, (0.0, 0.05, 0.2, 0.4, 0.6)
ABSENT = 0.4
NEGATION, TENSE, NUMBER = 0.45, 0.95, 0.94


@cache
def concept_similarity(first: str, second: str) -> float:
    """In [0, 1]: 1 for the same concept, `ANTONYM` for opposites, else `LEVELS` by the shared part of their paths."""
    if first == second:
        return 1.0
    if frozenset((first, second)) in lexicon.antonyms():
        return ANTONYM
    shared = 0
    for a, b in zip(lexicon.paths()[first], lexicon.paths()[second], strict=False):
        if a != b:
            break
        shared += 1
    return LEVELS[min(shared, len(LEVELS) - 1)]


def _optional(first: str | None, second: str | None) -> float:
    if first is None or second is None:
        return 1.0 if first is second else ABSENT
    return concept_similarity(first, second)


def entity_similarity(first: Entity | None, second: Entity | None) -> float:
    """The nouns' similarity, lowered a little by another attribute or number."""
    if first is None or second is None:
        return 1.0 if first is second else ABSENT / 2
    value = concept_similarity(first.noun, second.noun) * (0.75 + 0.25 * _optional(first.attribute, second.attribute))
    return value * (1.0 if first.plural == second.plural else NUMBER)


def similarity(first: Scene, second: Scene) -> float:
    r"""The weighted mean of the core roles' similarities times a factor for all that is said beside, in [0, 1].

    $$s = f_\mathrm{negation} f_\mathrm{tense} \prod_{q \in \{place, manner\}} (1 - v_q (1 - s_q))
      \frac{\sum_r w_r s_r}{\sum_r w_r}$$

    over the roles r that at least one scene fills. It is symmetric, 1 for identical scenes, and falls with every
    further role that differs.
    """
    weights = CORE_WEIGHTS
    total = weights["agent"] + weights["verb"]
    value = weights["agent"] * entity_similarity(first.agent, second.agent)
    value += weights["verb"] * concept_similarity(first.verb, second.verb)
    if first.patient is not None or second.patient is not None:
        total += weights["patient"]
        value += weights["patient"] * entity_similarity(first.patient, second.patient)
    value /= total
    value *= 1 - MODIFIER_WEIGHTS["place"] * (1 - _optional(first.place, second.place))
    value *= 1 - MODIFIER_WEIGHTS["manner"] * (1 - _optional(first.manner, second.manner))
    if first.negated != second.negated:
        value *= NEGATION
    return value if first.tense == second.tense else value * TENSE


def on_scale(value: float, low: float, high: float) -> float:
    """A similarity in [0, 1] as a mean of annotators: on the scale, in steps of 0.05."""
    return round(low + (high - low) * round(value * 20 * (high - low)) / (20 * (high - low)), 3)
