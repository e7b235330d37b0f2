"""The mini-world: scenes said in many ways, with gold computed from their meaning; every kind of data the papers need.

The data are generated and frozen: ``tools/miniworld`` made `FILE` once. Splits of one task share no scene, and no
training corpus holds a scene of a test set.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sentbook.data.types import Examples, LabelledPairs, ParaphrasePairs, ScoredPairs

FILE = Path(__file__).with_name("miniworld.npz")
# Part of the key of each training on generated data; another name for other data.
FINGERPRINT = "41da7bc560bc73d2"


@cache
def _array(name: str) -> NDArray[Any]:
    with np.load(FILE, allow_pickle=False) as held:
        return np.asarray(held[name])


def _lines(name: str, count: int | None = None) -> list[str]:
    return _array(name).tobytes().decode().split("\n")[:count]


class World:
    """The data sets of the mini-world. A shorter corpus is the beginning of the whole one.

    Example:
        >>> world = World()
        >>> len(world.sentences(10)), world.similarity("kitchen").name
        (10, 'miniworld/kitchen')
    """

    DOMAINS: ClassVar = ("people", "animals", "kitchen", "sport", "headlines", "travel")
    CLASSES: ClassVar[dict[str, tuple[str, ...]]] = {
        **dict.fromkeys(("sentiment", "product", "polarity"), ("negative", "positive")),
        "subjectivity": ("objective", "subjective"),
        "question": ("abbreviation", "description", "entity", "human", "location", "number"),
    }
    TASKS: ClassVar = tuple(CLASSES)

    def phrases(self, n: int | None = None) -> ParaphrasePairs:
        """Return the first ``n`` pairs of fragments of 1-5 words with one meaning, as in PPDB."""
        return self._pairs("phrases", n)

    def sentences(self, n: int | None = None) -> ParaphrasePairs:
        """Return the first ``n`` pairs of sentences with one meaning, as in Simple Wikipedia or captions."""
        return self._pairs("sentences", n)

    def _pairs(self, kind: str, n: int | None) -> ParaphrasePairs:
        return ParaphrasePairs(f"miniworld-{kind}", _lines(f"{kind}/first", n), _lines(f"{kind}/second", n))

    def similarity(self, domain: str) -> ScoredPairs:
        """Return the pairs of one of `DOMAINS` with a gold similarity from 0 to 5, as in STS."""
        return self._scored(domain, f"similarity/{domain}", (0.0, 5.0))

    def relatedness(self, split: str) -> ScoredPairs:
        """Return pairs of all domains with a gold relatedness from 1 to 5, as in SICK: 450, 50 and 500."""
        return self._scored("relatedness", f"relatedness/{split}", (1.0, 5.0))

    def graded_answers(self, split: str) -> ScoredPairs:
        """Return a reference answer and a student's with a grade from 0 to 5; ten answers to each question."""
        return self._scored("answers", f"answers/{split}", (0.0, 5.0), ("reference", "answer", "gold"))

    def paraphrase(self, split: str) -> ScoredPairs:
        """Return paraphrases (1, six in ten) and pairs of much the same words that are none (0), as in MSRP."""
        return self._scored("paraphrase", f"paraphrase/{split}", (0.0, 1.0), ("first", "second", "labels"))

    def _scored(
        self, name: str, at: str, scale: tuple[float, float], columns: Sequence[str] = ("first", "second", "gold")
    ) -> ScoredPairs:
        first, second, gold = (f"{at}/{column}" for column in columns)
        texts = _lines(first), _lines(second)
        return ScoredPairs(f"miniworld/{name}", *texts, _array(gold).astype(np.float64), scale)

    def entailment(self, split: str) -> LabelledPairs:
        """Return premises and hypotheses of three classes in equal numbers, as in SNLI."""
        first, second = (_lines(f"entailment/{split}/{side}") for side in ("first", "second"))
        labels, classes = _array(f"entailment/{split}/labels"), ("entailment", "neutral", "contradiction")
        return LabelledPairs("miniworld/entailment", first, second, labels, classes)

    def classification(self, task: str, split: str) -> Examples:
        """Return labelled sentences of one of `TASKS`, no sentence twice; the classes are of equal size."""
        sentences, labels = _lines(f"{task}/{split}/sentences"), _array(f"{task}/{split}/labels")
        return Examples(sentences, None, labels, self.CLASSES[task])

    def stories(self, n: int | None = None) -> list[list[str]]:
        """Return the first ``n`` stories of 5-9 sentences about two characters, as in novels."""
        return [line.split("\t") for line in _lines("stories/stories", n)]

    def scenes(self) -> tuple[NDArray[np.float32], list[list[str]]]:
        """Return scenes as (N, 64) features, and five captions of each."""
        return _array("scenes/features"), [line.split("\t") for line in _lines("scenes/captions")]

    def vectors(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return the words, frequent ones first, and their (V, 50) vectors. A few rarer words have none."""
        return _lines("vectors/words"), _array("vectors/matrix")

    def analogies(self, n: int | None = None) -> dict[str, list[Any]]:
        r"""Return the first ``n`` analogies: four sentences each that two factors make, each with two values.

        |       | $g_1$ | $g_2$ |
        |-------|-------|-------|
        | $f_1$ | A     | B     |
        | $f_2$ | D     | C     |

        They are worded as the stories are. The words of either factor are in one piece and the same whatever the other
        factor is, so that the words of D are exactly A - B + C. No corpus and no training split holds one of their
        scenes.

        Returns:
            Columns ``a``, ``b``, ``c`` and ``d``; ``kinds``, names of the two factors, such as ``subject and verb``;
            ``others``, sentences that are D but for the value of one factor, which neither A, B nor C has: first two
            with another f, which are to A what D is, then two with another g, which are to C what D is.
        """
        columns: dict[str, list[Any]] = {name: _lines(f"analogies/{name}", n) for name in ("a", "b", "c", "d", "kinds")}
        return columns | {"others": [tuple(line.split("\t")) for line in _lines("analogies/others", n)]}
