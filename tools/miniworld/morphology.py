"""English inflection, as much as the mini-world needs."""

from __future__ import annotations

from miniworld.words import phrases

# base: past, participle
IRREGULAR_VERBS = {base: (past, done) for base, past, done in map(str.split, phrases("inflection", "verbs"))}
IRREGULAR_NOUNS = {noun: plural for noun, plural in map(str.split, phrases("inflection", "nouns"))}
# Last consonant doubled before -ed and -ing.
DOUBLED = frozenset(phrases("inflection", "doubled"))
VOWELS = frozenset("aeiou")


def plural(noun: str) -> str:
    """The plural of a noun phrase: of its first noun where ``of``, ``at`` or ``on`` follows, else of its last word."""
    words = noun.split(" ")
    at = next((index - 1 for index, word in enumerate(words) if word in ("of", "at", "on", "or")), len(words) - 1)
    words[at] = _plural(words[at])
    return " ".join(words)


def _plural(word: str) -> str:
    if word in IRREGULAR_NOUNS:
        return IRREGULAR_NOUNS[word]
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh", "potato")) else "s")


def third(verb: str) -> str:
    """he **chases**"""
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def past(verb: str) -> tuple[str, str]:
    """he **took**, it is **taken**"""
    if verb in IRREGULAR_VERBS:
        return IRREGULAR_VERBS[verb]
    if verb.endswith("e"):
        form = verb + "d"
    elif verb.endswith("y") and verb[-2] not in VOWELS:
        form = verb[:-1] + "ied"
    else:
        form = _closed(verb) + "ed"
    return form, form


def gerund(verb: str) -> str:
    """he is **chasing**"""
    if verb == "lie":
        return "lying"
    if verb == "die":
        return "dying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return _closed(verb) + "ing"


def _closed(verb: str) -> str:
    """The stem before -ed and -ing: ``stopp``, ``frolick``."""
    return verb + (verb[-1] if verb in DOUBLED else "k" if verb.endswith("ic") else "")


def article(word: str) -> str:
    """``a`` or ``an``."""
    return "an" if word[0] in "aeiou" and not word.startswith(("uni", "one", "ewe", "use")) else "a"
