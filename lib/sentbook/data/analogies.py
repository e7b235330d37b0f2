"""Analogies of sentences, A : B :: D : C: the paper's four, plain English ones from frames, and the mini-world's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sentbook.data.miniworld import lexicon
from sentbook.data.miniworld.grammar import Speaker
from sentbook.data.miniworld.lexicon import Domain
from sentbook.data.miniworld.randomness import Dice
from sentbook.data.miniworld.scene import SIMILARITY_CELLS, SPLIT_CELLS, Entity, Scene, cell, change, draw, kind_of
from sentbook.data.miniworld.tasks import STORY_DOMAINS
from sentbook.data.text import TOKENISERS, UNKNOWN, Tokenisation, Vocabulary, tokenise_ptb
from sentbook.data.types import Columns
from sentbook.io import DataError


@dataclass(frozen=True)
class Analogies(Columns):
    r"""N times four sentences that two factors make, each with two values.

    |       | $g_1$ | $g_2$ |
    |-------|-------|-------|
    | $f_1$ | A     | B     |
    | $f_2$ | D     | C     |

    Where a vector is a sum of what the factors give, $z(A) - z(B) + z(C) = z(D)$.

    Attributes:
        a, b, c, d: N sentences each.
        kinds: N names of the two factors, such as ``subject and verb``.
        others: N times sentences that are D but for the value of one factor, which neither A, B nor C has; first those
            with another f, which are to A what D is, then those with another g, which are to C what D is.

    Raises:
        DataError: lists of different lengths, or an analogy of which two sentences are the same.
    """

    name: str
    a: list[str]
    b: list[str]
    c: list[str]
    d: list[str]
    kinds: list[str]
    others: list[tuple[str, ...]] = field(default_factory=list)
    remedy: ClassVar[str] = "give as many A, B, C and D as kinds"

    def __post_init__(self) -> None:
        if not self.others:
            object.__setattr__(self, "others", [()] * len(self.d))
        super().__post_init__()
        for row, (*four, more) in enumerate(zip(self.a, self.b, self.c, self.d, self.others, strict=True)):
            if len({*four, *more}) < 4 + len(more):
                raise DataError(f"Two sentences of analogy {row + 1} of {self.name} are the same; make them differ.")

    def known(self, vocabulary: Vocabulary, tokenisation: Tokenisation = "ptb") -> NDArray[np.int64]:
        """(M,) those without a word that the vocabulary has not; of the others no decoder can write D."""
        tokenise = TOKENISERS[tokenisation]
        fours = zip(self.a, self.b, self.c, self.d, strict=True)
        known = [all(vocabulary.id(word) != UNKNOWN for text in four for word in tokenise(text)) for four in fours]
        return np.flatnonzero(known)


def paper_analogies() -> Analogies:
    """The four that are printed, D as the paper's model wrote it.

    Source: Gan et al. 2017, table 1; hard-coded in the released code as well.
    """
    fours = (
        ("you needed me?", "you got me?", "i got you.", "i needed you."),
        ("this is great.", "this is awesome.", "you are awesome.", "you are great."),
        ("its lovely to see you.", "its great to meet you.", "its great to meet him.", "its lovely to see him."),
        (
            "he had thought he was going crazy.",
            "i felt like i was going crazy.",
            "i felt like to say the right thing.",
            "he had thought to say the right thing.",
        ),
    )
    return _analogies("table 1", [(four, (), "printed") for four in fours])


def _analogies(name: str, rows: Sequence[tuple[Sequence[str], tuple[str, ...], str]]) -> Analogies:
    """Of rows with four sentences, others, and a kind."""
    a, b, c, d = ([four[at] for four, _, _ in rows] for at in range(4))
    return Analogies(name, a, b, c, d, [kind for *_, kind in rows], [more for _, more, _ in rows])


# -- frames ------------------------------------------------------------------------------------------------------------

# A frame, and what may stand in each of its slots; two slots are the factors, the others stay.
_TABLE = """
{subject} {verb} {object}.
    subject: i, you, he, she, we, they
    verb: saw, heard, left, found, loved, knew, wanted, remembered
    object: the house, the old man, a letter, her mother, the child, his voice, the room
{subject} {adjective} {time}.
    subject: i was, you were, he was, she was, we were, they were
    adjective: happy, afraid, alone, tired, angry, silent, ill
    time: at home, in the garden, in the morning, at last, again, in the end
{subject} is {adjective}.
    subject: this, that, it, he, she, everything, the night, my father
    adjective: good, strange, dark, beautiful, terrible, small, old, happy
it is {adjective} to {verb} {object}.
    adjective: good, strange, hard, easy, impossible, necessary
    verb: see, meet, hear, leave, forget, believe
    object: you, him, her, them
{subject} {modal} {verb} {time}.
    subject: i, you, he, she, we, they
    modal: will, must, could, should, will not, could not
    verb: come, go, speak, sleep, return, wait
    time: at home, in the garden, in the morning, at last, again, in the end
why did {subject} {verb} {object}?
    subject: i, you, he, she, we, they
    verb: leave, love, forget, follow, believe, hate
    object: the doctor, the woman, my brother, the girl, her father
"""


def _frames() -> dict[str, dict[str, list[str]]]:
    """Slots of each frame, and their words."""
    found: dict[str, dict[str, list[str]]] = {}
    frame = ""
    for line in _TABLE.strip().split("\n"):
        slot, _, words = line.partition(": ")
        if words:
            found[frame][slot.strip()] = words.split(", ")
        else:
            frame, found[line] = line, {}
    return found


def template_analogies(n: int = 240, seed: int = 0) -> Analogies:
    """``n`` analogies of everyday English: the frames above, two slots of one exchanged, the others filled at random.

    Each has four `others`, two for either slot.

    Frames and their pairs of slots take turns. The words are frequent ones of novels, so that a model trained on novels
    knows them; some sentences may stand in a novel. No analogy comes twice; a longer set begins with the shorter one.

    Raises:
        DataError: more than the frames can make in reasonable time are asked for.

    Example:
        >>> found = template_analogies(240)
        >>> len(found), found.kinds[0]
        (240, 'subject and verb')
    """
    if n > 5000:
        raise DataError(f"The frames give 5000 different analogies at most, not {n}; ask for fewer.")
    rng = np.random.default_rng(seed)
    turns = [(frame, slots, pair) for frame, slots in _frames().items() for pair in itertools.combinations(slots, 2)]
    found: dict[tuple[str, ...], tuple[str, tuple[str, ...]]] = {}
    for frame, slots, pair in itertools.islice(itertools.cycle(turns), 20 * n):
        if len(found) == n:
            break
        fixed = {name: str(rng.choice(words)) for name, words in slots.items() if name not in pair}
        f, g = pair if rng.random() < 0.5 else pair[::-1]
        values = {name: [str(word) for word in rng.choice(slots[name], 4, replace=False)] for name in pair}
        said = [
            frame.format(**fixed, **{f: values[f][at], g: values[g][other]})
            for at, other in ((0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (3, 0), (1, 2), (1, 3))
        ]
        found.setdefault(tuple(said[:4]), (" and ".join(pair), tuple(said[4:])))
    return _analogies("frames", [(four, more, kind) for four, (kind, more) in found.items()])


# -- the mini-world ----------------------------------------------------------------------------------------------------

# What the stories tell of: all is past, nothing is denied, and of manners there is no word.
FACTORS = ("agent", "verb", "patient", "agent attribute", "patient attribute", "place")
# No corpus and no training split draws from these.
CELLS = SIMILARITY_CELLS | SPLIT_CELLS["trial"] | SPLIT_CELLS["test"]

# The words of one factor, at most: "the small dog" against "the dog that is over the moon".
_WORDS = 5
# Further values of either factor, and how often they are looked for.
_OTHERS, _TRIES = 2, 12
_Block = tuple[list[str], list[str]]


def miniworld_analogies(n: int, seed: int = 0) -> Analogies:
    """``n`` analogies, every pair of `FACTORS` in turn, told as the stories are: past, with "the", and a full stop.

    A scene is drawn, two of its elements get another value each, and the four combinations are said with the same
    choices of words, voice and order. Only those are kept in which the words of either factor stand in one piece and
    are the same whatever the other factor is, so that the words of D are exactly A - B + C. Each has four `others`, two
    for either factor.

    All cores (agent, action, object) lie in `CELLS`, from which no corpus and no training split draws; their words
    are those of the stories. No D comes twice; a longer set begins with the shorter one.

    Example:
        >>> found = miniworld_analogies(15)
        >>> found.kinds[0], len(set(found.kinds))
        ('agent and verb', 15)
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
    return _analogies("miniworld/analogies", list(found.values()))


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
