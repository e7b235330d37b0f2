"""The mini-world: scenes said in many ways, with gold computed from their meaning; every kind of data the papers need.

The data are generated and frozen: ``tools/miniworld`` made `FILE` once. Splits of one task share no scene, and no
training corpus holds a scene of a test set.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sentbook.data.types import (
    Analogies,
    CaptionedScenes,
    Examples,
    GradedAnswers,
    LabelledPairs,
    ParaphrasePairs,
    ScoredPairs,
    Stories,
)
from sentbook.io import ConfigError

FILE = Path(__file__).with_name("miniworld.npz")
# How many of each kind there are.
PAIRS, STORIES, SCENES, ANALOGIES = 8_000, 3_000, 4_200, 240
# Part of the key of each training on generated data; another name for other data.
FINGERPRINT = "41da7bc560bc73d2"


@cache
def _array(name: str) -> NDArray[Any]:
    with np.load(FILE, allow_pickle=False) as held:
        if name not in held:
            kind, part, _ = name.split("/")
            known = dict.fromkeys(key.split("/")[1] for key in held if key.startswith(f"{kind}/"))
            what = "domain" if kind == "similarity" else "split"
            raise ConfigError(f"The mini-world has no {what} '{part}' of {kind}; choose one of {', '.join(known)}.")
        return np.asarray(held[name])


@cache
def _lines(name: str) -> list[str]:
    return _array(name).tobytes().decode().split("\n")


def _first(name: str, count: int) -> list[str]:
    if count > len(_lines(name)):
        raise ConfigError(f"The mini-world has {len(_lines(name)):,} {name.partition('/')[0]}; ask for fewer.")
    return _lines(name)[:count]


class World:
    """The data sets of the mini-world. A shorter corpus is the beginning of the whole one.

    Example:
        >>> world = World()
        >>> len(world.sentences(10)), world.similarity("kitchen").name
        (10, 'miniworld/kitchen')
    """

    DOMAINS: ClassVar = ("people", "animals", "kitchen", "sport", "headlines", "travel")
    CLASSES: ClassVar[dict[str, tuple[str, ...]]] = {
        "sentiment": ("negative", "positive"),
        "product": ("negative", "positive"),
        "subjectivity": ("objective", "subjective"),
        "polarity": ("negative", "positive"),
        "question": ("abbreviation", "description", "entity", "human", "location", "number"),
    }
    TASKS: ClassVar = tuple(CLASSES)

    def phrases(self, n: int = PAIRS) -> ParaphrasePairs:
        """Return ``n`` pairs of fragments of 1-5 words with one meaning, as in PPDB."""
        return self._pairs("phrases", n)

    def sentences(self, n: int = PAIRS) -> ParaphrasePairs:
        """Return ``n`` pairs of sentences with one meaning, as in Simple Wikipedia or photographs' captions."""
        return self._pairs("sentences", n)

    def _pairs(self, kind: str, n: int) -> ParaphrasePairs:
        sides = (_first(f"{kind}/{side}", n) for side in ("first", "second"))
        return ParaphrasePairs.of(f"miniworld-{kind}", zip(*sides, strict=True))

    def similarity(self, domain: str) -> ScoredPairs:
        """Return the pairs of one of `DOMAINS` with a gold similarity from 0 to 5, as in STS."""
        return self._scored(f"miniworld/{domain}", f"similarity/{domain}", (0.0, 5.0), domain)

    def relatedness(self, split: str) -> ScoredPairs:
        """Return pairs of all domains with a gold relatedness from 1 to 5, as in SICK: 450, 50 and 500."""
        return self._scored("miniworld/relatedness", f"relatedness/{split}", (1.0, 5.0), split)

    def _scored(self, name: str, at: str, scale: tuple[float, float], domain: str) -> ScoredPairs:
        first, second = (list(_lines(f"{at}/{side}")) for side in ("first", "second"))
        return ScoredPairs(name, first, second, _array(f"{at}/gold"), scale, domain)

    def paraphrase(self, split: str) -> LabelledPairs:
        """Return paraphrases (six in ten) and pairs of much the same words that are none, as in MSRP."""
        return self._labelled("paraphrase", split, ("not paraphrase", "paraphrase"))

    def entailment(self, split: str) -> LabelledPairs:
        """Return premises and hypotheses of three classes in equal numbers, as in SNLI."""
        return self._labelled("entailment", split, ("entailment", "neutral", "contradiction"))

    def _labelled(self, task: str, split: str, classes: tuple[str, ...]) -> LabelledPairs:
        first, second = (list(_lines(f"{task}/{split}/{side}")) for side in ("first", "second"))
        return LabelledPairs(f"miniworld/{task}", first, second, _array(f"{task}/{split}/labels"), classes)

    def classification(self, task: str, split: str) -> Examples:
        """Return labelled sentences of one of `TASKS`, no sentence twice; the classes are of equal size."""
        sentences, labels = list(_lines(f"{task}/{split}/sentences")), _array(f"{task}/{split}/labels")
        return Examples(sentences, None, labels, f"miniworld/{task}", self.CLASSES[task])

    def stories(self, n: int = STORIES) -> Stories:
        """Return ``n`` stories of 5-9 sentences about two characters, as in novels."""
        return Stories("miniworld/stories", [line.split("\t") for line in _first("stories/stories", n)])

    def scenes(self, n: int = SCENES) -> CaptionedScenes:
        """Return ``n`` scenes as (n, 64) features, with five captions each."""
        captions = [line.split("\t") for line in _first("scenes/captions", n)]
        return CaptionedScenes("miniworld/scenes", _array("scenes/features")[:n], captions)

    def graded_answers(self, split: str) -> GradedAnswers:
        """Return ten answers to each question, with a reference answer and a grade from 0 to 5."""
        at = f"answers/{split}"
        question, reference, answer = (list(_lines(f"{at}/{column}")) for column in ("question", "reference", "answer"))
        return GradedAnswers("miniworld/answers", question, reference, answer, _array(f"{at}/gold"), (0.0, 5.0))

    def vectors(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return the words, frequent ones first, and their (V, 50) vectors. A few rarer words have none."""
        return list(_lines("vectors/words")), _array("vectors/matrix")

    def analogies(self, n: int = ANALOGIES) -> Analogies:
        """Return ``n`` analogies, told as the stories are; each has four `others`, two for either factor.

        The words of either factor are in one piece and the same whatever the other factor is, so that the words of D
        are exactly A - B + C. No corpus and no training split holds one of their scenes.
        """
        a, b, c, d, kinds = (_first(f"analogies/{column}", n) for column in ("a", "b", "c", "d", "kinds"))
        others = [tuple(line.split("\t")) for line in _first("analogies/others", n)]
        return Analogies("miniworld/analogies", a, b, c, d, kinds, others)
