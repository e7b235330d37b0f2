"""The pool of three-way inference pairs that encoders are pre-trained on, and its held-out part."""

from __future__ import annotations

import numpy as np

from sentbook.data import readers
from sentbook.data.miniworld import World
from sentbook.data.overlap import key
from sentbook.data.types import LabelledPairs

# The share of pairs that choose the epoch and shrink the learning rate.
HELD_OUT = 0.05


def pool(corpus: str, *, exclude: frozenset[str] = frozenset()) -> tuple[LabelledPairs, LabelledPairs]:
    """Training and held-out pairs of ``nli`` or of ``miniworld-entailment``.

    ``nli`` is the three-way sources of `sentbook.data.readers.nli` and SICK's training pairs, in place of SNLI and
    MultiNLI (Bowman et al. 2015; Williams et al. 2017), 943,000 pairs that are not here.

    Args:
        exclude: keys (`sentbook.data.overlap.key`) of sentences that no pair may hold.

    Raises:
        DataError: a file is missing or damaged.
    """
    if corpus == "miniworld-entailment":
        world = World()
        return world.entailment("train"), world.entailment("trial")
    pooled, sick = readers.nli(), readers.sick_entailment("train")
    names = [name.lower() for name in sick.classes]
    labels = np.array([pooled.classes.index(names[label]) for label in sick.labels])
    both = LabelledPairs(
        "NLI",
        pooled.first + sick.first,
        pooled.second + sick.second,
        np.concatenate([pooled.labels, labels]),
        pooled.classes,
    )
    pairs = zip(both.first, both.second, strict=True)
    allowed = [key(one) not in exclude and key(other) not in exclude for one, other in pairs]
    order = np.random.default_rng(0).permutation(np.flatnonzero(allowed))
    held = round(HELD_OUT * len(order))
    return both.take(order[held:]), both.take(order[:held])
