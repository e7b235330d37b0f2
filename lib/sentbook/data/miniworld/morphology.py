"""English inflection, as much as the mini-world needs."""

from __future__ import annotations

# base: past, participle
IRREGULAR_VERBS = {
    "be": ("was", "been"), "beat": ("beat", "beaten"), "bite": ("bit", "bitten"), "blow": ("blew", "blown"),
    "break": ("broke", "broken"), "bring": ("brought", "brought"), "come": ("came", "come"), "cut": ("cut", "cut"),
    "eat": ("ate", "eaten"), "fall": ("fell", "fallen"), "find": ("found", "found"), "flee": ("fled", "fled"),
    "get": ("got", "got"), "give": ("gave", "given"), "go": ("went", "gone"), "hang": ("hung", "hung"),
    "have": ("had", "had"), "hide": ("hid", "hidden"), "hit": ("hit", "hit"), "hold": ("held", "held"),
    "keep": ("kept", "kept"), "leave": ("left", "left"), "leap": ("leapt", "leapt"), "let": ("let", "let"),
    "lie": ("lay", "lain"), "lose": ("lost", "lost"), "make": ("made", "made"), "meet": ("met", "met"),
    "overtake": ("overtook", "overtaken"), "pay": ("paid", "paid"),
    "put": ("put", "put"), "quit": ("quit", "quit"), "rise": ("rose", "risen"),
    "run": ("ran", "run"), "say": ("said", "said"), "seek": ("sought", "sought"), "set": ("set", "set"),
    "show": ("showed", "shown"), "sink": ("sank", "sunk"), "sleep": ("slept", "slept"), "speed": ("sped", "sped"),
    "spill": ("spilled", "spilled"), "stand": ("stood", "stood"), "sweep": ("swept", "swept"),
    "take": ("took", "taken"), "throw": ("threw", "thrown"), "try": ("tried", "tried"), "weep": ("wept", "wept"),
    "win": ("won", "won"),
}  # fmt: skip
IRREGULAR_NOUNS = {
    "man": "men", "woman": "women", "gentleman": "gentlemen", "seaman": "seamen", "child": "children", "calf": "calves",
    "sheep": "sheep", "swine": "swine", "fish": "fish", "trout": "trout", "hay": "hay", "fodder": "fodder",
    "bread": "bread", "loaf": "loaves", "aircraft": "aircraft", "training": "training", "practice": "practice",
    "water": "water", "wine": "wine", "claret": "claret", "meat": "meat", "beef": "beef", "person": "people",
    "bureaucracy": "bureaucracy", "tape": "tape", "knife": "knives", "sugar": "sugar",
    "floss": "floss", "cheddar": "cheddar", "food": "food", "leather": "leather", "sportsman": "sportsmen",
}  # fmt: skip
# Last consonant doubled before -ed and -ing.
DOUBLED = frozenset(
    {"hit", "get", "let", "put", "run", "set", "cut", "win", "quit", "chop", "nip", "plan", "scrap", "mug", "drop"}
    | {"nod", "sob", "lug", "bin", "lag", "step", "stop", "stir", "rob", "stun", "grab", "scrub", "slam"}
)
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
