"""The mini-world: every kind of data that the papers need, from one seed, with known gold."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from miniworld import images, lexicon, meaning, opinions, pairs, stories, tasks, vectors
from miniworld.randomness import Dice, numbers, stable_hash
from miniworld.scene import CORPUS_CELLS, SIMILARITY_CELLS, SPLIT_CELLS
from sentbook.data.types import (
    Examples,
    LabelledPairs,
    ParaphrasePairs,
    ScoredPairs,
)
from sentbook.io import ConfigError

SIZES = {"train": 450, "trial": 50, "test": 500}
SENTENCES = {"train": 600, "trial": 100, "test": 300}
SENTENCE_CELLS = {"train": range(6), "trial": range(6, 7), "test": range(7, 10)}


class World:
    """A generator of data sets; every method depends on the seed and its own arguments alone.

    `phrases`, `sentences`, `similarity`, `stories` and `scenes`: a longer set begins with the shorter one.

    Scenes are split by their core (agent, action, object), under all seeds alike (see `scene`). `sentences`, `stories`
    and `scenes` hold no core of `similarity`, of `relatedness` and `paraphrase`, of an `entailment` premise or of a
    reference answer, and the splits of one task share none; a hypothesis or a student's answer may have any core.
    `classification` is split by whole sentences. Phrases are parts of scenes, never whole sentences.

    Args:
        seed: of what is drawn and of the word vectors; the lexicon and the grammar are fixed.

    Example:
        >>> world = World(seed=1)
        >>> len(world.sentences(10)), world.similarity("kitchen", 5).name
        (10, 'miniworld/kitchen')
    """

    DOMAINS = pairs.DOMAINS
    TASKS = tuple(opinions.MAKERS)

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def phrases(self, n: int) -> ParaphrasePairs:
        """``n`` pairs of fragments of 1-5 words with one meaning, as in PPDB."""
        dice, domains = Dice(self.seed, "phrases"), pairs.domains()
        return ParaphrasePairs.of("miniworld-phrases", (pairs.phrase(dice.choose(domains), dice) for _ in range(n)))

    def sentences(self, n: int) -> ParaphrasePairs:
        """``n`` pairs of sentences with one meaning, as in Simple Wikipedia or photographs' captions."""
        dice, domains = Dice(self.seed, "sentences"), pairs.domains()
        found = (pairs.paraphrase(dice.choose(domains), dice, CORPUS_CELLS) for _ in range(n))
        return ParaphrasePairs.of("miniworld-sentences", (pair[2:] for pair in found))

    def similarity(self, domain: str, n: int = 250) -> ScoredPairs:
        """``n`` pairs of one of `DOMAINS` with a gold similarity from 0 to 5, as in STS."""
        _known("domain", domain, self.DOMAINS)
        lexicon_of = lexicon.domain(domain)
        dice = Dice(self.seed, "similarity", domain)
        found = [pairs.graded(lexicon_of, dice, SIMILARITY_CELLS) for _ in range(n)]
        return _scored(f"miniworld/{domain}", found, (0.0, 5.0))

    def relatedness(self, split: str) -> ScoredPairs:
        """Pairs of all domains with a gold relatedness from 1 to 5, as in SICK; train 450, trial 50, test 500."""
        _known("split", split, SIZES)
        dice, domains = Dice(self.seed, "relatedness", split), pairs.domains()
        found = [pairs.graded(dice.choose(domains), dice, SPLIT_CELLS[split]) for _ in range(SIZES[split])]
        return _scored("miniworld/relatedness", found, (1.0, 5.0))

    def paraphrase(self, split: str) -> LabelledPairs:
        """Paraphrases (six in ten) and pairs of much the same words that are none, as in MSRP."""
        _known("split", split, SIZES)
        dice, domains = Dice(self.seed, "paraphrase", split), pairs.domains()
        labels = _labels(dice, SIZES[split], (0.4, 0.6))
        cells = SPLIT_CELLS[split]
        found = [tasks.paraphrase_or_not(dice.choose(domains), dice, cells, bool(label)) for label in labels]
        return _labelled("miniworld/paraphrase", found, labels, ("not paraphrase", "paraphrase"))

    def entailment(self, split: str) -> LabelledPairs:
        """Premises and hypotheses of three classes in equal numbers, as in SNLI."""
        _known("split", split, SIZES)
        dice, domains = Dice(self.seed, "entailment", split), pairs.domains()
        labels = _labels(dice, SIZES[split], (1 / 3, 1 / 3, 1 / 3))
        cells = SPLIT_CELLS[split]
        found = [tasks.entailment(dice.choose(domains), dice, cells, tasks.ENTAILMENT[label]) for label in labels]
        return _labelled("miniworld/entailment", found, labels, tasks.ENTAILMENT)

    def classification(self, task: str, split: str) -> Examples:
        """Labelled sentences of one of `TASKS`, no sentence twice; the classes are of equal size.

        A sentence's own hash decides its split: six in ten go to train, one to trial, three to test.
        """
        _known("task", task, self.TASKS)
        _known("split", split, SENTENCES)
        classes, make = opinions.MAKERS[task]
        dice = Dice(self.seed, "classification", task, split)
        labels = _labels(dice, SENTENCES[split], (1 / len(classes),) * len(classes))
        found: dict[str, None] = {}
        for label in labels:
            while True:
                text = opinions.clean(make(dice, label))
                if text not in found and stable_hash("split", text.lower()) % 10 in SENTENCE_CELLS[split]:
                    break
            found[text] = None
        return Examples(list(found), None, np.asarray(labels, dtype=np.int64), classes)

    def stories(self, n: int) -> SimpleNamespace:
        """``n`` stories of 5-9 sentences about two characters, as in novels."""
        dice = Dice(self.seed, "stories")
        domains = [lexicon.domain(name) for name in tasks.STORY_DOMAINS]
        return SimpleNamespace(stories=[stories.story(dice.choose(domains), dice)[1] for _ in range(n)])

    def scenes(self, n: int) -> SimpleNamespace:
        """``n`` scenes as (n, 64) features, with five captions each."""
        dice = Dice(self.seed, "scenes")
        domains = [lexicon.domain(name) for name in tasks.STORY_DOMAINS]
        noise = numbers(self.seed, "grain").normal(size=(n, images.FEATURES)) / np.sqrt(images.FEATURES)
        found = [images.picture(dice.choose(domains), dice) for _ in range(n)]
        features = np.asarray([images.features(scene, row) for (scene, _), row in zip(found, noise, strict=True)])
        rows = features.reshape(n, images.FEATURES).astype(np.float32)
        return SimpleNamespace(features=rows, captions=[captions for _, captions in found])

    def graded_answers(self, split: str) -> SimpleNamespace:
        """Columns of question, reference answer, answer and a grade from 0 to 5; ten answers to each question."""
        _known("split", split, SIZES)
        dice = Dice(self.seed, "answers", split)
        domains = [lexicon.domain(name) for name in tasks.STORY_DOMAINS]
        columns: list[tuple[str, str, str, float]] = []
        while len(columns) < SIZES[split]:
            facts, reference, speaker = tasks.question(dice.choose(domains), dice, SPLIT_CELLS[split])
            name = f"{split}.{len(columns) // 10 + 1}"
            for _ in range(10):
                answer = tasks.answer(facts, speaker, dice)
                columns.append((name, reference, answer.text, meaning.on_scale(answer.grade, 0.0, 5.0)))
        question, reference_, text, gold = map(list, zip(*columns, strict=True))
        return SimpleNamespace(question=question, reference=reference_, answer=text, gold=np.asarray(gold))

    def vectors(self, dim: int = 50) -> tuple[list[str], NDArray[np.float32]]:
        """The words, frequent ones first, and their (V, dim) vectors; see `vectors`. A few rarer words have none."""
        return vectors.build(self.seed, dim, opinions.words())


def _known(what: str, value: str, names: Iterable[str]) -> None:
    if value not in names:
        raise ConfigError(f"The mini-world has no {what} '{value}'; choose one of {', '.join(names)}.")


def _labels(dice: Dice, size: int, shares: tuple[float, ...]) -> list[int]:
    """``size`` labels in random order, each class by its share to within one."""
    labels: list[int] = []
    for label in range(len(shares)):
        labels += [label] * (round(size * sum(shares[: label + 1])) - len(labels))
    dice.shuffle(labels)
    return labels


def _labelled(name: str, found: list[pairs.SaidPair], labels: list[int], classes: tuple[str, ...]) -> LabelledPairs:
    first, second = [pair.first for pair in found], [pair.second for pair in found]
    return LabelledPairs(name, first, second, np.asarray(labels, dtype=np.int64), classes)


def _scored(name: str, found: list[pairs.SaidPair], scale: tuple[float, float]) -> ScoredPairs:
    gold = [meaning.on_scale(meaning.similarity(pair.one, pair.other), *scale) for pair in found]
    first, second = [pair.first for pair in found], [pair.second for pair in found]
    return ScoredPairs(name, first, second, np.asarray(gold), scale)
