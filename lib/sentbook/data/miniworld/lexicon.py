"""The tables of `concepts` as objects: concepts with their place in the taxonomy and their inflected surfaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from sentbook.data.miniworld import concepts, morphology

NOUN_TABLES = ("agents", "things", "tools")


@dataclass(frozen=True)
class VerbForm:
    """One surface of a verb. ``before`` and ``after`` stand on either side of the object."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str
    before: str
    after: str


@dataclass(frozen=True)
class Concept:
    """A meaning and the words for it in one domain.

    Attributes:
        name: ``noun:dog``; equal names in two domains are one meaning.
        path: from the most general kind down; the concept itself is the leaf below.
        surfaces: nouns: (singular, plural); verbs: `VerbForm`; places and modifiers: text.
        takes: verbs only: the class of the object, or ``-``.
        rank: 0 for the most frequent of its table.
    """

    name: str
    path: tuple[str, ...]
    surfaces: tuple
    takes: str = "-"
    rank: int = 0


@dataclass(frozen=True)
class Domain:
    """One region of the world. ``nouns`` maps a class to its concepts; the ``often`` lists repeat frequent ones."""

    name: str
    nouns: dict[str, tuple[str, ...]]
    verbs: tuple[str, ...]
    places: tuple[str, ...]
    concepts: dict[str, Concept]
    often: dict[str, list[str]] = field(default_factory=dict)
    animate: frozenset[str] = frozenset()


def verb_form(surface: str) -> VerbForm:
    """``turn ~ down`` in all its forms."""
    head, _, rest = surface.partition(" ")
    before, _, after = rest.partition("~") if "~" in rest else (rest, "", "")
    past, participle = morphology.past(head)
    spaced = [f" {part.strip()}" if part.strip() else "" for part in (before, after)]
    return VerbForm(head, morphology.third(head), past, participle, morphology.gerund(head), *spaced)


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def texts(cell: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(text.strip() for text in cell.split(","))


def _numbers(cell: str) -> tuple[tuple[str, str], ...]:
    return tuple((text, morphology.plural(text)) for text in texts(cell))


def _nouns(table: str) -> list[Concept]:
    return [
        Concept(
            f"noun:{name}",
            ("noun", *path.split("/")),
            _numbers(cell),
            rank=rank,
        )
        for rank, (name, path, cell) in enumerate(_rows(table))
    ]


def _modifiers(kind: str, table: str) -> list[Concept]:
    return [
        Concept(f"{kind}:{name}", (kind, *path.split("/")), texts(cell), rank=rank)
        for rank, (name, path, cell) in enumerate(_rows(table))
    ]


def _verbs(table: str) -> list[Concept]:
    return [
        Concept(f"verb:{name}", ("verb", *path.split("/")), tuple(map(verb_form, texts(cell))), takes, rank)
        for rank, (name, path, takes, cell) in enumerate(_rows(table))
    ]


def _often(items: list[Concept]) -> list[str]:
    """Names repeated by a softened Zipf law: a uniform draw from the list is a draw by frequency."""
    return [item.name for item in items for _ in range(max(1, round(24 / (item.rank + 4))))]


@cache
def attributes() -> dict[str, tuple[Concept, ...]]:
    """What may be said of the ``animate`` and of a ``thing``."""
    return {kind: tuple(_modifiers("attribute", table)) for kind, table in concepts.ATTRIBUTES.items()}


@cache
def manners() -> tuple[Concept, ...]:
    """How something is done."""
    return tuple(_modifiers("manner", concepts.MANNERS))


@cache
def domain(name: str) -> Domain:
    """The lexicon of one domain, with the attributes and manners that all share."""
    tables = concepts.DOMAIN_TABLES[name]
    nouns: dict[str, list[Concept]] = {kind: _nouns(tables[kind]) for kind in NOUN_TABLES if kind in tables}
    verbs, places = _verbs(tables["verbs"]), _modifiers("place", tables["places"])
    shared = [item for items in attributes().values() for item in items] + list(manners())
    kinds = [
        Concept(f"kind:{path}", ("noun", *path.split("/")), _numbers(cell)) for path, cell in concepts.HYPERNYMS.items()
    ]
    everything = [item for items in nouns.values() for item in items] + verbs + places + shared + kinds
    lists: dict[str, list[Concept]] = {
        **nouns,
        "verbs": verbs,
        "places": places,
        "manners": list(manners()),
        **{kind: list(items) for kind, items in attributes().items()},
    }
    return Domain(
        name=name,
        nouns={kind: tuple(item.name for item in items) for kind, items in nouns.items()},
        verbs=tuple(item.name for item in verbs),
        places=tuple(item.name for item in places),
        concepts={item.name: item for item in everything},
        often={kind: _often(items) for kind, items in lists.items()},
        animate=frozenset(item.name for item in nouns["agents"] if item.path[1] in ("person", "animal")),
    )


@cache
def paths() -> dict[str, tuple[str, ...]]:
    """Every concept's path in the taxonomy."""
    return {item.name: item.path for name in concepts.DOMAIN_TABLES for item in domain(name).concepts.values()}


@cache
def antonyms() -> frozenset[frozenset[str]]:
    """Pairs of concepts of one kind that exclude each other."""
    known = paths()
    found = set()
    for pair in concepts.ANTONYMS.replace("\n", " ").split(","):
        a, b = pair.split()
        for kind in ("noun", "verb", "place", "attribute", "manner"):
            if f"{kind}:{a}" in known and f"{kind}:{b}" in known:
                found.add(frozenset((f"{kind}:{a}", f"{kind}:{b}")))
    return frozenset(found)


@cache
def _companies() -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in sorted(tuple(sorted(pair)) for pair in antonyms()):
        shared = next((found[name] for name in pair if name in found), pair[0])
        found |= {name: found.get(name, shared) for name in pair}
    return found


def company(name: str) -> str:
    """The concept whose contexts ``name`` shares: of a group of opposites one, else itself."""
    return _companies().get(name, name)
