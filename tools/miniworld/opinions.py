"""Labelled sentences: film reviews, product reviews, opinion or fact, phrase polarity, and questions by answer type."""

from __future__ import annotations

from collections.abc import Callable

from miniworld import pairs, scene
from miniworld.grammar import Speaker
from miniworld.morphology import article
from miniworld.randomness import Dice
from miniworld.words import phrases

Texts = tuple[str, ...]

POLARITY = ("negative", "positive")
QUESTION = ("abbreviation", "description", "entity", "human", "location", "number")
KINDS = {"person": "human", "animal": "animal", "food": "food", "thing": "object"}


def _said(section: str) -> Texts:
    return phrases("opinions", section)


def _by_class(section: str) -> tuple[Texts, Texts]:
    return _said(f"{section} negative"), _said(f"{section} positive")


ADJECTIVES, STATES = _by_class("adjectives"), _by_class("states")
FILM_PARTS, FILM_VERDICTS = _said("film parts"), _by_class("film verdicts")
PRODUCT_PARTS, PRODUCT_VERDICTS = _said("product parts"), _by_class("product verdicts")
STRENGTH, JUDGES, MORE, LESS = map(_said, ("strength", "judges", "more", "less"))
NOUNS, DENIALS, LETTERS = map(_said, ("nouns", "denials", "letters"))


def polarity_phrase(dice: Dice, label: int) -> str:
    """``lack of trust``, ``not very clever``, perhaps with whom it concerns."""
    phrase = _polar(dice, label)
    if dice.random() < 0.3:
        return phrase
    domain = dice.choose(pairs.domains())
    noun = Speaker(dice).noun_phrase(domain, scene.Entity(dice.choose(domain.often["agents"])), bare=True)
    return f"{phrase} {dice.choose(('for', 'of', 'from', 'to'))} the {noun}"


def _polar(dice: Dice, label: int) -> str:
    turn = dice.random()
    if turn < 0.4:
        return f"{dice.choose(MORE)} {dice.choose(STATES[label])}"
    if turn < 0.55:
        return f"{dice.choose(LESS)} {dice.choose(STATES[1 - label])}"
    if turn < 0.9:
        return f"{dice.choose(STRENGTH)} {dice.choose(ADJECTIVES[label])} {dice.choose(NOUNS)}"
    return f"{dice.choose(DENIALS[:4])} {dice.choose(STRENGTH[2:])} {dice.choose(ADJECTIVES[1 - label])}"


def _clause(dice: Dice, label: int, parts: Texts, verdicts: tuple[Texts, Texts]) -> str:
    part, turn = dice.choose(parts), dice.random()
    if turn < 0.4:
        return f"the {part} {dice.choose(verdicts[label])}"
    if turn < 0.88:
        return f"the {part} is {dice.choose(STRENGTH)} {dice.choose(ADJECTIVES[label])}"
    return f"the {part} is {dice.choose(DENIALS[1:])} {dice.choose(ADJECTIVES[1 - label])}"


def _review(dice: Dice, label: int, parts: Texts, verdicts: tuple[Texts, Texts]) -> str:
    """One clause, two that agree, or two that do not: then the one after ``but`` decides."""
    turn = dice.random()
    last = _clause(dice, label, parts, verdicts)
    if turn < 0.3:
        return f"{dice.choose(JUDGES)} {last}"
    if turn < 0.75:
        return f"{_clause(dice, label, parts, verdicts)} and {last}"
    if turn < 0.9:
        return f"{_clause(dice, 1 - label, parts, verdicts)} but {last}"
    return f"although {_clause(dice, 1 - label, parts, verdicts)} , {last}"


def sentiment(dice: Dice, label: int) -> str:
    """A film review's sentence."""
    return _review(dice, label, FILM_PARTS, FILM_VERDICTS)


def product(dice: Dice, label: int) -> str:
    """A customer's sentence."""
    return _review(dice, label, PRODUCT_PARTS, PRODUCT_VERDICTS)


def subjectivity(dice: Dice, label: int) -> str:
    """1: an opinion on a film or on who is in it; 0: an event of its plot, or where the film has it."""
    domain = dice.choose(pairs.domains())
    liked, mixed, part = int(dice.random() < 0.5), dice.random() < 0.4, dice.choose(FILM_PARTS)
    if label and not mixed:
        return sentiment(dice, liked)
    event = Speaker(dice).say(scene.draw(domain, dice, range(10)))
    event = event[0].lower() + event[1:]
    if label:
        return f"{event} and the {part} {dice.choose(FILM_VERDICTS[liked])}"
    told = (f"in the {part} {event}", f"it seems that {event}", f"{event} and the {part} ends")
    return dice.choose(told) if mixed else event


def question(dice: Dice, label: int) -> str:
    """A question whose answer is of the class ``label`` of `QUESTION`."""
    domain = dice.choose(pairs.domains())
    speaker, said = Speaker(dice), scene.draw(domain, dice, range(10), negated=0.0)
    someone = [name for name in domain.often["agents"] if domain.concepts[name].path[1] in ("person", "group")]
    others = [name for name in domain.nouns["agents"] if name not in someone] or list(domain.nouns["things"])
    drawn = [scene.Entity(dice.choose(names)) for names in (someone, others)]
    who, what = (speaker.noun_phrase(domain, entity, bare=True) for entity in drawn)
    noun = dice.choose((who, what))
    object_ = scene.Entity(dice.choose(domain.often["things"]))
    thing = speaker.noun_phrase(domain, object_, bare=True)
    things = speaker.noun_phrase(domain, object_._replace(plural=True), bare=True)
    verb = speaker.verb(domain, said.verb)
    patient = f"the {speaker.noun_phrase(domain, said.patient, bare=True)}" if said.patient else ""
    does = speaker.predicate(verb, verb.base, patient)
    did = speaker.predicate(verb, verb.past, patient)
    place = speaker.modifier(domain, dice.choose(domain.often["places"]))
    short = dice.choose(LETTERS)
    some = dice.choose(list(KINDS))
    options: tuple[tuple[str, ...], ...] = (
        (f"what does {short} stand for", f"what is {short} short for", f"what do the letters {short} mean",
         f"what is the full form of {short}",
         f"what does the abbreviation {short} on the {thing} mean", f"what is the short name of the {noun}",
         f"what does {short} mean to a {noun}"),
        (f"what is {article(noun)} {noun}", f"why did the {noun} {does}", f"how does {article(noun)} {noun} {does}",
         f"what is the meaning of {thing}", f"what is the reason to {does}", f"what does it mean to {does}"),
        (f"what {KINDS[some]} did the {noun} see {place}", f"what kind of {thing} does the {noun} like",
         f"what {thing} is the best for the {noun}", f"which color is the {thing}",
         f"what did the {noun} bring {place}", f"which {what} {did}", f"what {what} is the first to {does}"),
        (f"who {did}", f"who is the {who} {place}", f"which {who} {did}", f"what is the name of the {who} {place}",
         f"what {who} is the first to {does}", f"what {who} did the {noun} see {place}"),
        (f"where did the {noun} {does}", f"what city has the best {thing}", f"what country is the {noun} from",
         f"where is the {thing}", f"in which town did the {noun} {does}"),
        (f"how many {things} does the {noun} have", f"when did the {noun} {does}", f"how much does the {thing} cost",
         f"what year did the {noun} {does}", f"how old is the {noun} {place}", f"how long did it take to {does}"),
    )  # fmt: skip
    return f"{dice.choose(options[label])} ?"


MAKERS: dict[str, tuple[tuple[str, ...], Callable[[Dice, int], str]]] = {
    "sentiment": (POLARITY, sentiment),
    "product": (POLARITY, product),
    "subjectivity": (("objective", "subjective"), subjectivity),
    "polarity": (POLARITY, polarity_phrase),
    "question": (QUESTION, question),
}


def clean(text: str) -> str:
    """Single spaces, capital first letter."""
    text = " ".join(text.split())
    return text[0].upper() + text[1:]


def words() -> dict[str, tuple[str, ...]]:
    """The phrases used here by what their words share, for the vectors."""
    return {
        "opinion/negative": (*ADJECTIVES[0], *STATES[0]),
        "opinion/positive": (*ADJECTIVES[1], *STATES[1]),
        "review/film": (*FILM_PARTS, *FILM_VERDICTS[0], *FILM_VERDICTS[1]),
        "review/product": (*PRODUCT_PARTS, *PRODUCT_VERDICTS[0], *PRODUCT_VERDICTS[1]),
        "review/say": (*STRENGTH, *JUDGES, *MORE, *LESS, *NOUNS, *DENIALS, "although , ."),
        "letters": tuple(LETTERS),
        "question": (
            "what who where when why how which much many kind color like name city country town year cost old long "
            "take see mean stand short letters full form abbreviation reason meaning best first bring ?",
            *KINDS.values(),
        ),
        "ends": ("ends", "name"),
        "link": ("then later after that so soon",),
    }
