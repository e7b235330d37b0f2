"""The pool of three-way inference pairs that encoders are pre-trained on, and its held-out part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sentbook.data import published, readers
from sentbook.data.miniworld import World
from sentbook.data.overlap import remove
from sentbook.data.types import LabelledPairs

# The share of pairs that choose the epoch and shrink the learning rate.
HELD_OUT = 0.05


def pool(corpus: str, *, exclude: frozenset[str] = frozenset()) -> tuple[LabelledPairs, LabelledPairs]:
    """Return training and held-out pairs of ``nli``, ``all-nli`` or ``miniworld-entailment``.

    ``nli`` is the three-way sources of `sentbook.data.readers.nli` and SICK's training pairs, in place of SNLI and
    MultiNLI (Bowman et al. 2015; Williams et al. 2017), 943,000 pairs that are not here; ``all-nli`` is these, their
    development pairs held out, for who has them (`sentbook.data.published`).

    Args:
        exclude: keys (`sentbook.data.overlap.key`) of sentences that no pair may hold.
    """
    if corpus == "miniworld-entailment":
        world = World()
        return world.entailment("train"), world.entailment("trial")
    if corpus == "all-nli":
        train, held_out = (remove(published.inference(part), exclude) for part in ("train", "dev"))
        return train, held_out
    pooled, sick = readers.nli(), readers.sick_entailment("train")
    names = [name.lower() for name in sick.classes]
    labels = np.array([pooled.classes.index(names[label]) for label in sick.labels])
    both = LabelledPairs.joined([pooled, replace(sick, labels=labels)])
    allowed = remove(both, exclude)
    order = np.random.default_rng(0).permutation(len(allowed))
    held = round(HELD_OUT * len(order))
    return allowed.take(order[held:]), allowed.take(order[:held])
