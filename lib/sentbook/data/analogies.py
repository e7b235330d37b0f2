"""Analogies of sentences, A : B :: D : C: the paper's four, plain English ones from frames, and the mini-world's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sentbook.data.miniworld import World
from sentbook.data.text import TOKENISERS, UNKNOWN, Tokenisation, Vocabulary
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
    return analogies("table 1", [(four, (), "printed") for four in fours])


def analogies(name: str, rows: Sequence[tuple[Sequence[str], tuple[str, ...], str]]) -> Analogies:
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
    return analogies("frames", [(four, more, kind) for four, (kind, more) in found.items()])


def miniworld_analogies(n: int) -> Analogies:
    """Return ``n`` analogies of the mini-world, told as its stories are; each has four `others`, two for either factor.

    The words of either factor are in one piece and the same whatever the other factor is, so that the words of D are
    exactly A - B + C. No corpus and no training split holds one of their scenes.

    Example:
        >>> found = miniworld_analogies(15)
        >>> found.kinds[0], len(set(found.kinds))
        ('agent and verb', 15)
    """
    return Analogies("miniworld/analogies", **World().analogies(n))
