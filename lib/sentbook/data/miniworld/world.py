"""The mini-world: every kind of data that the papers need, from one seed, with known gold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sentbook.data.miniworld import lexicon, meaning, pairs, vectors
from sentbook.data.miniworld.randomness import Dice
from sentbook.data.miniworld.scene import CORPUS_CELLS, SIMILARITY_CELLS, SPLIT_CELLS
from sentbook.data.types import ParaphrasePairs, ScoredPairs

SIZES = {"train": 450, "trial": 50, "test": 500}


class World:
    """A generator of data sets; every method depends on the seed and its own arguments alone.

    Example:
        >>> world = World(seed=1)
        >>> len(world.sentences(10)), world.similarity("kitchen", 5).name
        (10, 'miniworld/kitchen')
    """

    DOMAINS = pairs.DOMAINS

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def phrases(self, n: int) -> ParaphrasePairs:
        """``n`` pairs of fragments of 1-5 words with one meaning, as in PPDB."""
        dice, domains = Dice(self.seed, "phrases", n), pairs.domains()
        found = [pairs.phrase(dice.choose(domains), dice) for _ in range(n)]
        return ParaphrasePairs("miniworld-phrases", [one for _, one, _ in found], [two for _, _, two in found],
                               ["miniworld-phrases"] * n)

    def sentences(self, n: int) -> ParaphrasePairs:
        """``n`` pairs of sentences with one meaning, as in Simple Wikipedia or photographs' captions."""
        found = self.said_sentences(n)
        return ParaphrasePairs("miniworld-sentences", [pair.first for pair in found], [pair.second for pair in found],
                               ["miniworld-sentences"] * n)

    def said_sentences(self, n: int) -> list[pairs.SaidPair]:
        """`sentences` with their scenes."""
        dice, domains = Dice(self.seed, "sentences", n), pairs.domains()
        return [pairs.paraphrase(dice.choose(domains), dice, CORPUS_CELLS) for _ in range(n)]

    def similarity(self, domain: str, n: int = 250) -> ScoredPairs:
        """``n`` pairs of one of `DOMAINS` with a gold similarity from 0 to 5, as in STS."""
        lexicon_of = lexicon.domain(domain)
        dice = Dice(self.seed, "similarity", domain, n)
        found = [pairs.graded(lexicon_of, dice, SIMILARITY_CELLS)[0] for _ in range(n)]
        return _scored(f"miniworld/{domain}", found, (0.0, 5.0), domain)

    def relatedness(self, split: str) -> ScoredPairs:
        """Pairs of all domains with a gold relatedness from 1 to 5, as in SICK; train 450, trial 50, test 500."""
        dice, domains = Dice(self.seed, "relatedness", split), pairs.domains()
        found = [pairs.graded(dice.choose(domains), dice, SPLIT_CELLS[split])[0] for _ in range(SIZES[split])]
        return _scored("miniworld/relatedness", found, (1.0, 5.0), split)

    def vectors(self, dim: int = 50) -> tuple[list[str], NDArray[np.float32]]:
        """The words, frequent ones first, and their (V, dim) vectors; see `vectors`."""
        return vectors.build(self.seed, dim, {})


def _scored(name: str, found: list[pairs.SaidPair], scale: tuple[float, float], domain: str) -> ScoredPairs:
    gold = [meaning.on_scale(meaning.similarity(pair.one, pair.other), *scale) for pair in found]
    return ScoredPairs(
        name, [pair.first for pair in found], [pair.second for pair in found], np.asarray(gold), scale, domain
    )
