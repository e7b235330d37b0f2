r"""Word vectors that know much and confuse some, as GloVe does.

$$x_w = \sum_c a_{wc} (t_c + \sum_l p_{cl} + e_c) + m_w + (b + f_w) u + n_w$$

over the concepts c that word w names: t the domain's topic, p the kinds on c's path in the taxonomy, e what is c's
own; m the inflection, u a direction that all words share and frequent ones more, n noise. Opposites share all but a
trace, hence are close. A word of an idiom has a vector of its own with only a trace of the idiom. Some rarer words
have none.

The scales follow the published 50-d GloVe vectors of the same words, whose value stands in brackets: the mean cosine
of two words is .2 (.2), of opposites .7 (.7), of two forms of a verb .8 (.7), of synonyms .8 (.7); function words are
.7 (1.1) times as long as others. How far a linear map gains over an average depends on them: the more the directions
that words have in common weigh, the more there is to remove.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from miniworld import lexicon
from miniworld.lexicon import Concept, VerbForm
from miniworld.pairs import DOMAINS
from miniworld.randomness import numbers, stable_hash
from miniworld.words import phrases
from sentbook.data.text import tokenise_ptb

FUNCTION_WORDS = phrases("function_words", "words")

TOPIC, KINDS, OWN, DISTINCT = 0.7, (0.45, 0.55, 0.6, 0.5), 0.8, 0.3
COMMON, FREQUENCY, FUNCTION = 0.55, 0.15, 0.35
NOISE, LEMMA, FORM, INFLECTION, IDIOM = 0.6, 0.6, 1.0, 0.4, 0.2
MISSING, OFTEN = 61, 4
SHARED = ("attribute:", "manner:", "kind:")


def _weighted(concept: Concept) -> Iterator[tuple[str, str, str, float]]:
    """(word, lemma, inflection, weight) of each word of each surface."""
    for surface in concept.surfaces:
        if isinstance(surface, VerbForm):
            single = not (surface.before or surface.after)
            forms = {
                "base": surface.base, "third": surface.third, "past": surface.past,
                "participle": surface.participle, "gerund": surface.gerund,
            }  # fmt: skip
            for kind, form in forms.items():
                yield form, surface.base, kind, 1.0 if single else IDIOM
            for word in tokenise_ptb(f"{surface.before} {surface.after}"):
                yield word, word, "base", IDIOM
            continue
        for kind, text in zip(("base", "plural"), surface if isinstance(surface, tuple) else (surface,), strict=False):
            words = tokenise_ptb(text)
            lemmas = tokenise_ptb(surface[0]) if isinstance(surface, tuple) else words
            for word, lemma in zip(words, lemmas, strict=True):
                yield word, lemma, kind if word != lemma else "base", 1.0 if len(words) == 1 else IDIOM


class _Space:
    """Random directions by name, each of expected length 1."""

    def __init__(self, seed: int, dim: int) -> None:
        self.seed, self.dim = seed, dim
        self.known: dict[tuple[object, ...], NDArray[np.float64]] = {}

    def direction(self, *name: object) -> NDArray[np.float64]:
        if name not in self.known:
            self.known[name] = numbers(self.seed, "direction", *name).normal(size=self.dim) / math.sqrt(self.dim)
        return self.known[name]

    def concept(self, concept: Concept, topic: str) -> NDArray[np.float64]:
        # Opposites are said of the same things in the same places: they share most of what is their own.
        company = lexicon.company(concept.name)
        vector = TOPIC * self.direction("topic", topic) + OWN * self.direction("concept", company)
        if company != concept.name:
            vector = vector + DISTINCT * self.direction("concept", concept.name)
        for level, scale in enumerate(KINDS[: len(concept.path)]):
            vector = vector + scale * self.direction("kind", *concept.path[: level + 1])
        return vector


def missing(word: str) -> bool:
    """Whether the word has no vector: one in `MISSING` of those that are not frequent."""
    return stable_hash("missing", word) % MISSING == 0


def build(seed: int, dim: int, extra: dict[str, tuple[str, ...]]) -> tuple[list[str], NDArray[np.float32]]:
    """All words, frequent ones first, and their (V, dim) vectors.

    Args:
        extra: further words by the name of what they share.
    """
    space = _Space(seed, dim)
    weights: dict[str, list[tuple[float, NDArray[np.float64]]]] = defaultdict(list)
    lemma_of: dict[str, tuple[str, str]] = {}
    order: dict[str, int] = {word: -1 for word in FUNCTION_WORDS}
    for name in DOMAINS:
        for concept in lexicon.domain(name).concepts.values():
            if concept.name.startswith("kind:") and name != DOMAINS[0]:
                continue
            topic = name if not concept.name.startswith(SHARED) else concept.path[0]
            vector = space.concept(concept, topic)
            for word, lemma, kind, weight in _weighted(concept):
                weights[word].append((weight, vector))
                if word not in lemma_of or kind == "base":
                    lemma_of[word] = (lemma, kind)
                order[word] = min(order.get(word, concept.rank), concept.rank)
    for kind, group in extra.items():
        path = kind.split("/")
        shared = [space.direction("extra", *path[: level + 1]) for level in range(len(path))]
        for word in tokenise_ptb(" ".join(group)):
            if word not in order:
                weights[word].append((1.0, np.sum(shared, axis=0) * 0.7))
                order[word] = 14
    known = [word for word in order if order[word] < OFTEN or not missing(word)]
    words = sorted(known, key=lambda word: (order[word], stable_hash(word)))
    rows = [
        _vector(space, word, weights.get(word, []), lemma_of.get(word, (word, "base")), at)
        for at, word in enumerate(words)
    ]
    return words, np.asarray(rows, dtype=np.float32)


def _vector(
    space: _Space, word: str, parts: list[tuple[float, NDArray[np.float64]]], form: tuple[str, str], rank: int
) -> NDArray[np.float64]:
    lemma, kind = form
    common = COMMON + FREQUENCY * max(0.0, 7.5 - math.log(rank + 1.5))
    frequency = common * space.direction("frequency")
    if word in FUNCTION_WORDS:
        return FUNCTION * (space.direction("function") + space.direction("word", word)) + frequency
    vector = NOISE * (LEMMA * space.direction("word", lemma) + FORM * space.direction("form", word)) + frequency
    if kind != "base":
        vector = vector + INFLECTION * space.direction("inflection", kind)
    whole = [part for weight, part in parts if weight == 1.0]
    traces = [weight * part for weight, part in parts if weight != 1.0]
    vector = vector + (np.mean(whole, axis=0) if whole else space.direction("literal", lemma))
    if traces:
        vector = vector + np.mean(traces, axis=0)
    return vector
