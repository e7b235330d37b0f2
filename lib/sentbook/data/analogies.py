"""Analogies of sentences, A : B :: D : C: the paper's four, and plain English ones made from frames."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sentbook.data.text import TOKENISERS, UNKNOWN, Tokenisation, Vocabulary
from sentbook.system.errors import DataError


@dataclass(frozen=True)
class Analogies:
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
            with another f, which are to A what D is, then those with another g, which are to C what D is. Empty where
            there are none.

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

    def __post_init__(self) -> None:
        others = self.others or [()] * len(self.d)
        if len({len(column) for column in (self.a, self.b, self.c, self.d, self.kinds, others)}) > 1:
            raise DataError(f"{self.name} is misaligned; give as many A, B, C and D as kinds.")
        for row, (*four, more) in enumerate(zip(self.a, self.b, self.c, self.d, others, strict=True)):
            if len({*four, *more}) < 4 + len(more):
                raise DataError(f"Two sentences of analogy {row + 1} of {self.name} are the same; make them differ.")

    def __len__(self) -> int:
        return len(self.d)

    def take(self, rows: NDArray[np.int64]) -> Analogies:
        """Some of them."""
        a, b, c, d, kinds = ([column[row] for row in rows] for column in (self.a, self.b, self.c, self.d, self.kinds))
        return Analogies(self.name, a, b, c, d, kinds, [self.others[row] for row in rows] if self.others else [])

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
    columns = (
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
    a, b, c, d = (list(column) for column in zip(*columns, strict=True))
    return Analogies("table 1", a, b, c, d, ["printed"] * len(columns))


# -- frames ------------------------------------------------------------------------------------------------------------

_PEOPLE = ("i", "you", "he", "she", "we", "they")
_PLACES = ("at home", "in the garden", "in the morning", "at last", "again", "in the end")
_GOOD_OR_BAD = ("good", "strange", "dark", "beautiful", "terrible", "small", "old", "happy")

# A frame, and what may stand in each of its slots; two slots are the factors, the others stay.
_FRAMES: tuple[tuple[str, dict[str, tuple[str, ...]]], ...] = (
    (
        "{subject} {verb} {object}.",
        {
            "subject": _PEOPLE,
            "verb": ("saw", "heard", "left", "found", "loved", "knew", "wanted", "remembered"),
            "object": ("the house", "the old man", "a letter", "her mother", "the child", "his voice", "the room"),
        },
    ),
    (
        "{subject} {adjective} {time}.",
        {
            "subject": ("i was", "you were", "he was", "she was", "we were", "they were"),
            "adjective": ("happy", "afraid", "alone", "tired", "angry", "silent", "ill"),
            "time": _PLACES,
        },
    ),
    (
        "{subject} is {adjective}.",
        {
            "subject": ("this", "that", "it", "he", "she", "everything", "the night", "my father"),
            "adjective": _GOOD_OR_BAD,
        },
    ),
    (
        "it is {adjective} to {verb} {object}.",
        {
            "adjective": ("good", "strange", "hard", "easy", "impossible", "necessary"),
            "verb": ("see", "meet", "hear", "leave", "forget", "believe"),
            "object": ("you", "him", "her", "them"),
        },
    ),
    (
        "{subject} {modal} {verb} {time}.",
        {
            "subject": _PEOPLE,
            "modal": ("will", "must", "could", "should", "will not", "could not"),
            "verb": ("come", "go", "speak", "sleep", "return", "wait"),
            "time": _PLACES,
        },
    ),
    (
        "why did {subject} {verb} {object}?",
        {
            "subject": _PEOPLE,
            "verb": ("leave", "love", "forget", "follow", "believe", "hate"),
            "object": ("the doctor", "the woman", "my brother", "the girl", "her father"),
        },
    ),
)
FRAME_KINDS = sorted({" and ".join(pair) for _, slots in _FRAMES for pair in itertools.combinations(slots, 2)})


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
    turns = [(frame, slots, pair) for frame, slots in _FRAMES for pair in itertools.combinations(slots, 2)]
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
    a, b, c, d = (list(column) for column in zip(*found, strict=True)) if found else ([], [], [], [])
    return Analogies("frames", a, b, c, d, [kind for kind, _ in found.values()], [more for _, more in found.values()])
