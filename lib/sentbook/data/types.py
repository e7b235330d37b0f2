"""The shapes in which data leave this room; readers and the mini-world both return them.

Every class checks its own lengths on construction, so that a misaligned file cannot travel further.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sentbook.system.errors import DataError


def _same_length(name: str, **columns: object) -> None:
    sizes = {key: len(column) for key, column in columns.items()}  # type: ignore[arg-type]
    if len(set(sizes.values())) > 1:
        raise DataError(f"{name} is misaligned ({sizes}); fetch it again with `sentbook data fetch`.")


@dataclass(frozen=True)
class ScoredPairs:
    """Sentence pairs with a gold similarity.

    Attributes:
        name: spelt as in ``papers/*.csv``, e.g. ``STS2012/MSRpar`` or ``SICK2014``.
        first, second: N sentences each, as published (untokenised, case kept).
        gold: (N,) float64 scores on ``scale``.
        scale: the limits of the published scale, e.g. (0, 5) for STS and (1, 5) for SICK.
        domain: the genre or source, where the data set names one.
    """

    name: str
    first: list[str]
    second: list[str]
    gold: NDArray[np.float64]
    scale: tuple[float, float]
    domain: str = ""

    def __post_init__(self) -> None:
        _same_length(self.name, first=self.first, second=self.second, gold=self.gold)

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class ParaphrasePairs:
    """Pairs taken to mean the same, for training with a margin. ``source`` names the corpus of each pair."""

    name: str
    first: list[str]
    second: list[str]
    source: list[str]

    def __post_init__(self) -> None:
        _same_length(self.name, first=self.first, second=self.second, source=self.source)

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class LabelledPairs:
    """Sentence pairs with a class: paraphrase or not (MSRP), or entailment (NLI). ``labels`` index ``classes``."""

    name: str
    first: list[str]
    second: list[str]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        _same_length(self.name, first=self.first, second=self.second, labels=self.labels)

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class LabelledSentences:
    """Sentences with a class (MR, CR, SUBJ, MPQA, TREC). ``labels`` index ``classes``."""

    name: str
    sentences: list[str]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        _same_length(self.name, sentences=self.sentences, labels=self.labels)

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True)
class Stories:
    """Contiguous text: each story is its sentences in order (novels, BookCorpus)."""

    name: str
    stories: list[list[str]]

    def __len__(self) -> int:
        return len(self.stories)


@dataclass(frozen=True)
class CaptionedScenes:
    """Feature vectors (N, F) of images or generated scenes, each with its captions."""

    name: str
    features: NDArray[np.float32]
    captions: list[list[str]]

    def __post_init__(self) -> None:
        _same_length(self.name, features=self.features, captions=self.captions)

    def __len__(self) -> int:
        return len(self.captions)


@dataclass(frozen=True)
class GradedAnswers:
    """Student answers with a reference answer and a mean grade on ``scale``; ``question`` is the question's id."""

    name: str
    question: list[str]
    reference: list[str]
    answer: list[str]
    gold: NDArray[np.float64]
    scale: tuple[float, float]

    def __post_init__(self) -> None:
        _same_length(self.name, question=self.question, reference=self.reference, answer=self.answer, gold=self.gold)

    def __len__(self) -> int:
        return len(self.answer)
