"""The word lists as objects: concepts with their place in the taxonomy and their inflected surfaces.

In the files a noun or a modifier is ``name | path in the taxonomy | surfaces``; a verb has its object's class before
the surfaces (``-``: none, ``agents``: whoever acts, else a section of objects). Surfaces of one row mean the same. In a
verb's surface the first word is inflected and ``~`` is the object's place, which follows the verb where it is not
written. A modifier of several words stands after its noun. Rows stand from frequent to rare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from miniworld import morphology
from miniworld.words import phrases, tables, texts

DOMAINS = ("people", "animals", "kitchen", "sport", "headlines", "travel")
NOUNS, ATTRIBUTES = ("agents", "things", "tools"), ("animate", "thing")
Lines = tuple[str, ...]


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


def _concepts(kind: str, lines: Lines, surfaces: Callable[[str], tuple] = texts) -> list[Concept]:
    """One concept a row; a row of verbs has a column more."""
    found = []
    for rank, line in enumerate(lines):
        name, path, *takes, cell = (part.strip() for part in line.split("|"))
        place = (kind, *path.split("/"))
        found.append(Concept(f"{kind}:{name}", place, surfaces(cell), takes[0] if takes else "-", rank))
    return found


def _numbers(cell: str) -> tuple[tuple[str, str], ...]:
    return tuple((text, morphology.plural(text)) for text in texts(cell))


def _verbs(cell: str) -> tuple[VerbForm, ...]:
    return tuple(map(verb_form, texts(cell)))


def _often(items: Sequence[Concept]) -> list[str]:
    """Names repeated by a softened Zipf law: a uniform draw from the list is a draw by frequency."""
    return [item.name for item in items for _ in range(max(1, round(24 / (item.rank + 4))))]


@cache
def attributes() -> dict[str, tuple[Concept, ...]]:
    """What may be said of the ``animate`` and of a ``thing``."""
    return {kind: tuple(_concepts("attribute", tables("modifiers")[kind])) for kind in ATTRIBUTES}


@cache
def manners() -> tuple[Concept, ...]:
    """How something is done."""
    return tuple(_concepts("manner", tables("modifiers")["manners"]))


def _kinds() -> Iterator[Concept]:
    for line in tables("relations")["kinds"]:
        path, cell = line.split(" | ")
        yield Concept(f"kind:{path}", ("noun", *path.split("/")), _numbers(cell))


@cache
def domain(name: str) -> Domain:
    """The lexicon of one domain, with the attributes and manners that all share."""
    rows = tables(name)
    nouns = {kind: _concepts("noun", rows[kind], _numbers) for kind in NOUNS if kind in rows}
    lists: dict[str, Sequence[Concept]] = {
        **nouns,
        "verbs": _concepts("verb", rows["verbs"], _verbs),
        "places": _concepts("place", rows["places"]),
        **attributes(),
        "manners": manners(),
    }
    names = {kind: tuple(item.name for item in items) for kind, items in lists.items()}
    return Domain(
        name=name,
        nouns={kind: names[kind] for kind in nouns},
        verbs=names["verbs"],
        places=names["places"],
        concepts={item.name: item for items in (*lists.values(), _kinds()) for item in items},
        often={kind: _often(items) for kind, items in lists.items()},
        animate=frozenset(item.name for item in nouns["agents"] if item.path[1] in ("person", "animal")),
    )


@cache
def paths() -> dict[str, tuple[str, ...]]:
    """Every concept's path in the taxonomy."""
    return {item.name: item.path for name in DOMAINS for item in domain(name).concepts.values()}


@cache
def antonyms() -> frozenset[frozenset[str]]:
    """Pairs of concepts of one kind that exclude each other."""
    pairs = [pair.split() for pair in phrases("relations", "opposites")]
    kinds = ("noun", "verb", "place", "attribute", "manner")
    named = (frozenset((f"{kind}:{a}", f"{kind}:{b}")) for a, b in pairs for kind in kinds)
    return frozenset(pair for pair in named if pair <= paths().keys())


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
